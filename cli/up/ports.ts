/**
 * Ports of this machine: whether one is free, and a free one for a private server.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { errorCode, errorText, Failure } from '../failure.ts';

/** Throws a Failure, one line that says which variable moves the service, when nobody can listen there. */
export async function checkPortFree(host: string, port: number, what: string, variable: string): Promise<void> {
  const error = await tryListen(host, port);
  if (error === undefined) return;
  const why = {
    EADDRINUSE: 'is taken by another process',
    EACCES: 'may not be used by this user',
    EADDRNOTAVAIL: 'is not an address of this machine',
  }[errorCode(error)];
  throw new Failure(
    `${host}:${port} (${what}) ${why ?? `cannot be used: ${errorText(error)}`}. Set ${variable} to another one.`,
  );
}

/**
 * A port on loopback on which nobody listens. Below the range that the system draws from for outgoing connections, so
 * that a connection of our own does not take it before the server does.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(20_000, 32_000);
    if ((await tryListen('127.0.0.1', port)) === undefined) return port;
  }
  throw new Failure('There is no free port between 20000 and 32000 on 127.0.0.1.');
}

function tryListen(host: string, port: number): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

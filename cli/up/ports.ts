/** Ports of this machine: checks whether one is free, and finds a free one for a private server. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { errorCode, errorText, exitCodes, Failure } from '../common/failure.ts';

/** An address to listen on: its service, and the variable of its port, SIGNMESH_…_PORT; the one of its host ends in _HOST. */
export interface Listener {
  readonly host: string;
  readonly port: number;
  readonly what: string;
  readonly variable: string;
}

/** Throws a Failure, one line that says which variable moves the service, when the port is not free. */
export async function checkPortFree(listener: Listener): Promise<void> {
  const error = await tryListen(listener.host, listener.port);
  if (error !== undefined) throw listenFailure(listener, error);
}

/** Throws a Failure when two of them have the same address. */
export function checkPortsDiffer(listeners: readonly Listener[]): void {
  for (const [index, one] of listeners.entries()) {
    const other = listeners.slice(0, index).find(({ host, port }) => host === one.host && port === one.port);
    if (other === undefined) continue;
    throw new Failure(
      `${other.variable} and ${one.variable} are both ${one.port}. Set one of them to another port.`,
      exitCodes.usage,
    );
  }
}

/** The reason why a server cannot listen at its address, and the remedy. */
export function listenFailure({ host, port, what, variable }: Listener, error: unknown): Failure {
  const code = errorCode(error);
  if (['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'].includes(code)) {
    const hostVariable = variable.replace(/_PORT$/, '_HOST');
    return new Failure(`${host} (${what}) is not an address of this machine. Set ${hostVariable} to another one.`);
  }
  const why = { EADDRINUSE: 'is taken by another process', EACCES: 'may not be used by this user' }[code];
  return new Failure(
    `${host}:${port} (${what}) ${why ?? `cannot be used: ${errorText(error)}`}. Set ${variable} to another one.`,
  );
}

/**
 * A free port on loopback, below the ephemeral range of outgoing connections, so that a connection of our own does not take it
 * before the server does.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = randomInt(20_000, 32_000);
    if ((await tryListen('127.0.0.1', port)) === undefined) return port;
  }
  throw new Failure('There is no free port between 20000 and 32000 on 127.0.0.1.');
}

/** As many different ones. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}

function tryListen(host: string, port: number): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

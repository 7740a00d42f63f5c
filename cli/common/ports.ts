/** Ports of this machine: whether a configured one is free, and the one line that says why it is not. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { errorCode, errorText, exitCodes, Failure } from './failure.ts';
import { holderOf } from './port-holder.ts';

/** An address to listen on: its service, and the variable of its port, SIGNMESH_…_PORT; the one of its host ends in _HOST. */
export interface Listener {
  readonly host: string;
  /** 0: any. */
  readonly port: number;
  readonly what: string;
  readonly variable: string;
}

/** A listener did not get its address. */
export class ListenFailure extends Failure {
  readonly listener: Listener;
  /** The port is another process's. */
  readonly isTaken: boolean;

  constructor(message: string, listener: Listener, isTaken: boolean) {
    super(message);
    this.listener = listener;
    this.isTaken = isTaken;
  }
}

/** Throws a Failure, one line that says which variable moves the service, when the port is not free. */
export async function checkPortFree(listener: Listener): Promise<void> {
  const error = await tryListen(listener.host, listener.port);
  if (error !== undefined) throw listenFailure(listener, error);
}

/** Throws a Failure when two of them have the same address. */
export function checkPortsDiffer(listeners: readonly Listener[]): void {
  for (const [index, one] of listeners.entries()) {
    const other = listeners
      .slice(0, index)
      .find(({ host, port }) => host === one.host && port === one.port && port !== 0);
    if (other === undefined) continue;
    throw new Failure(
      `${other.variable} and ${one.variable} are both ${one.port}. Set one of them to another port.`,
      exitCodes.usage,
    );
  }
}

/** The reason why a server cannot listen at its address, and the remedy. */
export function listenFailure(listener: Listener, error: unknown): ListenFailure {
  const { host, port, what, variable } = listener;
  const code = errorCode(error);
  if (['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'].includes(code)) {
    const hostVariable = variable.replace(/_PORT$/, '_HOST');
    const message = `${host} (${what}) is not an address of this machine. Set ${hostVariable} to another one.`;
    return new ListenFailure(message, listener, false);
  }
  // gRPC's error has the system's only in its text.
  const isTaken = code === 'EADDRINUSE' || errorText(error).includes('EADDRINUSE');
  const why = isTaken
    ? `is taken by ${holderOf(port) ?? 'another process'}`
    : code === 'EACCES'
      ? 'may not be used by this user'
      : `cannot be used: ${errorText(error)}`;
  return new ListenFailure(`${host}:${port} (${what}) ${why}. Set ${variable} to another one.`, listener, isTaken);
}

/** Servers that must keep their port through a restart take one of these, below the ephemeral range of outgoing connections. */
const lastingPorts = { http: [10_000, 20_000], redis: [20_000, 32_000] } as const;

/** A random one, which is perhaps taken: the server that binds it tells. */
export function lastingPort(of: keyof typeof lastingPorts, reserved: ReadonlySet<number>): number {
  const [from, to] = lastingPorts[of];
  for (;;) {
    const port = randomInt(from, to);
    if (!reserved.has(port)) return port;
  }
}

/** One that is free now; redis-server tells when it is taken after all. */
export async function freePort(reserved: ReadonlySet<number>): Promise<number> {
  for (;;) {
    const port = lastingPort('redis', reserved);
    if ((await tryListen('127.0.0.1', port)) === undefined) return port;
  }
}

function tryListen(host: string, port: number): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

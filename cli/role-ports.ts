/**
 * The ports of a role process. By itself it listens where its settings say. A child of `up` reports every port through its
 * channel once it is bound; where it may choose (port 0) it takes none that is reserved for another listener, and keeps its choice
 * when the role starts again within this process.
 */

import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { bindApart } from '../core/actors/live/bind-apart.ts';
import { type ListensMessage, type PortTakenMessage, reservedPortsVariable } from './common/channel.ts';
import { ListenFailure, lastingPort } from './common/ports.ts';

const attemptsMax = 20;

export class RolePorts {
  readonly reserved: ReadonlySet<number>;
  readonly #bound = new Map<string, number>();

  readonly #send: ((message: ListensMessage | PortTakenMessage) => void) | undefined;

  /** `send`: to `up`; undefined: the role runs by itself. */
  constructor(
    environment: NodeJS.ProcessEnv,
    send: ((message: ListensMessage | PortTakenMessage) => void) | undefined,
  ) {
    this.#send = send;
    this.reserved = new Set((environment[reservedPortsVariable] ?? '').split(',').filter(Boolean).map(Number));
  }

  get isSupervised(): boolean {
    return this.#send !== undefined;
  }

  /** Opens a listener that may move; `open` gets the port, 0 for any. */
  async open<T>(variable: string, configured: number, { open, portOf, close }: Listening<T>): Promise<T> {
    const port = this.#bound.get(variable) ?? configured;
    const bind = () => open(port);
    const opened = port === 0 ? await bindApart(this.reserved, { bind, portOf, release: close }) : await bind();
    this.report({ [variable]: portOf(opened) });
    return opened;
  }

  /**
   * Opens listeners whose ports callers keep; `open` gets one for each of `configured`. For port 0 it tries random ports below the
   * ephemeral range until one is free: the system's own choice would be lost more often while a killed process restarts.
   */
  async openLasting<T>(
    configured: Readonly<Record<string, number>>,
    open: (ports: Readonly<Record<string, number>>) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const chosen = new Set(this.reserved);
      const ports: Record<string, number> = {};
      for (const [variable, port] of Object.entries(configured)) {
        ports[variable] = port !== 0 || !this.isSupervised ? port : lastingPort('http', chosen);
        chosen.add(ports[variable]);
      }
      try {
        const opened = await open(ports);
        this.report(ports);
        return opened;
      } catch (error) {
        const mayChoose = error instanceof ListenFailure && error.isTaken && configured[error.listener.variable] === 0;
        if (!mayChoose || !this.isSupervised || attempt === attemptsMax) throw error;
      }
    }
  }

  /** Tells `up`, if it started us. */
  report(ports: Readonly<Record<string, number>>): void {
    for (const [variable, port] of Object.entries(ports)) this.#bound.set(variable, port);
    this.#send?.({ kind: 'listens', ports });
  }

  /** Returns false when the role runs by itself, or the failure is another. */
  reportTaken(error: unknown): boolean {
    if (!(error instanceof ListenFailure) || !error.isTaken || this.#send === undefined) return false;
    this.#send({ kind: 'portTaken', variable: error.listener.variable, line: error.message });
    return true;
  }
}

export interface Listening<T> {
  readonly open: (port: number) => Promise<T>;
  readonly portOf: (opened: T) => number;
  readonly close: (opened: T) => Promise<unknown>;
}

/** Binds a port long before its server can serve: callers that come too early are refused. `listen` of that server takes it over. */
export function holdPort(host: string, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => resolve(server));
  });
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/**
 * Accepts several connections in one turn of the event loop. libuv accepts one in each
 * (https://github.com/libuv/libuv/pull/3696), so while every turn serves hundreds of open connections, new ones wait for
 * seconds, a health probe among them.
 *
 * Every listening handle accepts one connection a turn, so a busy server gets further handles of its own socket. Node cannot
 * duplicate a descriptor; a process that sends back what it is sent can. It runs for some tenths of a second, with an empty
 * environment, once, and only in a process that was late.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type Server, type Socket } from 'node:net';
import type { Log } from './ports.ts';

/** Handles beside the server's own. */
export const furtherHandles = 15;

const echo = "process.on('message', (_, handle) => process.send('back', handle))";

/** Parts of net.Server that its types hide. */
interface Listening extends Server {
  readonly _handle?: object | null;
  readonly allowHalfOpen: boolean;
  readonly noDelay: boolean;
}

export class Acceptors {
  readonly #server: Listening;
  readonly #log: Log;
  readonly #further: Server[] = [];
  #child: ChildProcess | undefined;
  #isClosed = false;

  /** Before the server listens; its `close` waits for the connections of all handles. */
  constructor(server: Server, log: Log) {
    this.#server = server as Listening;
    this.#log = log;
    const close = server.close.bind(server);
    server.close = (done) => {
      this.#isClosed = true;
      this.#child?.kill();
      const closed = this.#further.map((each) => new Promise((resolve) => each.close(resolve)));
      return close((error) => void Promise.all(closed).then(() => done?.(error)));
    };
  }

  /** How many handles accept connections. */
  get count(): number {
    return 1 + this.#further.length;
  }

  /** Further handles; repeatable, and without effect on a server that does not listen. */
  add(): void {
    const { _handle: handle } = this.#server;
    if (this.#child !== undefined || this.#isClosed || !handle) return;
    const child = spawn(process.execPath, ['-e', echo], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], env: {} });
    this.#child = child;
    // The server then continues with its one handle.
    child.on('error', (error) => this.#log.warn({ reason: error.message }, 'no further handles accept connections'));
    child.on('message', (_message, received) => this.#accept(received as object));
    child.channel?.unref();
    child.unref();
    for (let count = 0; count < furtherHandles; count += 1) {
      child.send('handle', handle as Socket, { keepOpen: true }, (error) => {
        if (error !== null) child.kill();
      });
    }
  }

  #accept(handle: object): void {
    const { allowHalfOpen, noDelay } = this.#server;
    const further = createServer({ allowHalfOpen, noDelay });
    this.#further.push(further);
    further.on('connection', (socket) => this.#server.emit('connection', socket));
    further.listen(handle);
    if (this.#isClosed) further.close();
    if (this.#further.length === furtherHandles || this.#isClosed) this.#child?.kill();
  }
}

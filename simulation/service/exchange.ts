/**
 * One request of a client on a new connection: the way to a gateway, its handling, and the answer on the way back, in pieces if
 * it is a stream. A gateway that dies cuts the connection; a client may leave at any time.
 */

import type { ServeResponse } from '../../gateway/serve/contract.ts';
import { type LeavingRequest, type PlainRequest, plainRequest } from '../../gateway/serve/plain-request.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { VirtualTime } from '../cluster/virtual-time.ts';
import { type ApiFaults, faultOf, faultyServe } from './faulty-serve.ts';
import type { SimGateway } from './gateway-process.ts';
import type { ProcessLife } from './process-life.ts';
import type { RunLoop } from './run-loop.ts';

/** A gateway for its clients; without a life it refuses connections. */
export interface ApiServer {
  readonly name: ProcessName;
  readonly life: ProcessLife | undefined;
  readonly gateway: SimGateway | undefined;
  /** Of open connections: each is called when the gateway dies. */
  readonly callers: Set<() => void>;
}

export interface ExchangeHost {
  readonly time: VirtualTime;
  readonly loop: RunLoop;
  readonly faults: ApiFaults;
  /** A line of the trace. */
  note(text: () => string): void;
}

/** An answer as it reaches the client. */
export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty where the answer has pieces. */
  readonly body: string | Uint8Array;
  readonly pieces: Pieces | undefined;
}

const wayMs = 1;
/** The limit of a stream's unread data, as in the buffers of a socket; beyond it the gateway waits too. */
const unreadCharsMax = 65_536;

export class Exchange {
  /** undefined: the connection was refused, or cut before an answer. */
  readonly answer: Promise<Answered | undefined>;
  readonly #host: ExchangeHost;
  readonly #door: ApiServer;
  readonly #request: LeavingRequest;
  #resolve!: (answer: Answered | undefined) => void;
  #pieces: Pieces | undefined;
  #stream: AsyncIterableIterator<string> | undefined;
  #hasLeft = false;
  #wasRefused = false;

  constructor(host: ExchangeHost, door: ApiServer, request: PlainRequest) {
    this.#host = host;
    this.#door = door;
    this.#request = plainRequest(request);
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    host.note(() => `client -> ${door.name} ${request.method} ${request.target}`);
    host.time.after(wayMs, () => this.#arrive());
  }

  /** No gateway was up: the request had no effect. */
  get wasRefused(): boolean {
    return this.#wasRefused;
  }

  /** The client closes the connection: the gateway learns of it, and the client gets nothing more. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    const { life } = this.#door;
    this.#host.time.after(wayMs, () => {
      if (!this.#door.callers.delete(this.#cut)) return;
      life?.enter(() => {
        this.#request.leave();
        void this.#stream?.return?.();
      });
    });
  }

  #arrive(): void {
    const { life, gateway, callers } = this.#door;
    if (this.#hasLeft) return;
    if (life === undefined || gateway === undefined) {
      this.#wasRefused = true;
      this.#back(undefined);
      return;
    }
    callers.add(this.#cut);
    const { faults, time } = this.#host;
    const serve = faultyServe(gateway.serve, faults, (ms) => time.pause(ms));
    life.enter(() => {
      serve(this.#request).then(
        (response) => {
          if (life.isAlive) this.#served(life, response);
        },
        (error: unknown) => this.#host.loop.failed(error),
      );
    });
  }

  #served(life: ProcessLife, response: ServeResponse): void {
    const { status, headers, body = '', stream } = response;
    const isSevered = faultOf(response) === 'severed';
    if (stream === undefined || isSevered) {
      this.#ended();
      this.#back(isSevered ? undefined : { status, headers, body, pieces: undefined });
      return;
    }
    const pieces = new Pieces(this.#host.time);
    this.#pieces = pieces;
    this.#back({ status, headers, body: '', pieces });
    this.#stream = stream(() => this.#cut());
    this.#pump(life, this.#stream, pieces).catch((error: unknown) => this.#host.loop.failed(error));
  }

  async #pump(life: ProcessLife, stream: AsyncIterableIterator<string>, pieces: Pieces): Promise<void> {
    for (;;) {
      await pieces.room((resume) => life.enter(resume));
      const { done, value } = await stream.next();
      if (this.#hasLeft || !life.isAlive) return;
      if (done === true) break;
      this.#toClient(() => pieces.push(value));
    }
    this.#ended();
    this.#toClient(() => pieces.end(undefined));
  }

  /** The gateway has written all of its answer. */
  #ended(): void {
    this.#door.callers.delete(this.#cut);
    this.#request.leave();
  }

  /** The connection breaks at the gateway's side. */
  readonly #cut = (): void => {
    const { callers } = this.#door;
    if (!callers.delete(this.#cut)) return;
    const pieces = this.#pieces;
    if (pieces === undefined) this.#back(undefined);
    else this.#toClient(() => pieces.end(new Error('the connection was lost')));
  };

  #back(answer: Answered | undefined): void {
    const { name } = this.#door;
    this.#toClient(() => {
      this.#host.note(() => `client <- ${name} ${answer === undefined ? 'lost' : `${answer.status} ${answer.body}`}`);
      this.#host.time.woken();
      this.#resolve(answer);
    });
  }

  #toClient(arrive: () => void): void {
    this.#host.time.after(wayMs, () => {
      if (!this.#hasLeft) arrive();
    });
  }
}

/** The arrived and unread part of a stream. */
export class Pieces {
  readonly #time: VirtualTime;
  readonly #unread: string[] = [];
  #unreadChars = 0;
  #over: { readonly error: Error | undefined } | undefined;
  #take: (() => void) | undefined;
  #resume: (() => void) | undefined;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** The next piece; undefined: there are no more. Rejects when the connection was lost. One call at a time. */
  async next(): Promise<string | undefined> {
    if (this.#unread.length === 0 && this.#over === undefined) {
      await new Promise<void>((resolve) => {
        this.#take = resolve;
      });
    }
    const piece = this.#unread.shift();
    if (piece === undefined) {
      if (this.#over?.error !== undefined) throw this.#over.error;
      return undefined;
    }
    this.#unreadChars -= piece.length;
    if (this.#unreadChars < unreadCharsMax) this.#resume?.();
    return piece;
  }

  push(piece: string): void {
    this.#unread.push(piece);
    this.#unreadChars += piece.length;
    this.#wake();
  }

  end(error: Error | undefined): void {
    this.#over ??= { error };
    this.#wake();
  }

  /** Resolves in the process that writes, when the buffer has space. */
  async room(enter: (resume: () => void) => void): Promise<void> {
    if (this.#unreadChars < unreadCharsMax) return;
    await new Promise<void>((resolve) => {
      this.#resume = () => {
        this.#resume = undefined;
        enter(resolve);
      };
    });
  }

  #wake(): void {
    const take = this.#take;
    if (take === undefined) return;
    this.#take = undefined;
    this.#time.woken();
    take();
  }
}

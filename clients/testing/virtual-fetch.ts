/**
 * The Fetch Standard's `fetch` (https://fetch.spec.whatwg.org/), served by the gateway of a simulated world: requests and answers
 * are Node's own `Request` and `Response`, and a call without an answer rejects as Node's `fetch` does. A call lets virtual time
 * pass until its answer arrives.
 *
 * - A client that polls or retries advances time: the same GET again, with nothing sent in between, and the next request after a
 *   failure (no answer, 429, 5xx) both leave 250 ms later, then 1 s, then 3 s. So a loop that really sleeps between two attempts
 *   needs few of them.
 * - Reading a stream lets 15 s pass without news; then it waits until another call lets time pass. So a stream that a test reads
 *   in the background does not advance the world far beyond the test.
 */
import type { CustodyWorld } from '../../simulation/service/custody-world.ts';
import type { Answered, Exchange, Pieces } from '../../simulation/service/exchange.ts';
import { ClusterStopped } from './stopped.ts';
import type { VirtualDriver } from './virtual-driver.ts';

/** Virtual time after which a call without an answer ends, as in Node. */
const answerMsMax = 300_000;
const repeatPausesMs = [250, 1_000, 3_000] as const;
const quietMsMax = 15_000;
const gateway = 'gateway';
const nullBodies: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

export class VirtualFetch {
  readonly #world: CustodyWorld;
  readonly #driver: VirtualDriver;
  readonly #base: URL;
  readonly #isPassive: boolean;
  /** Reads of a path in a row, without another request in between. */
  readonly #reads = new Map<string, number>();
  /** Failures in a row. */
  #failures = 0;
  readonly #open = new Set<(reason: unknown) => void>();
  #isStopped = false;

  /**
   * `baseUrl`: the only origin that it reaches; relative URLs begin there. `isPassive`: repeated and background reads do not let
   * time pass.
   */
  constructor(world: CustodyWorld, driver: VirtualDriver, baseUrl: string, isPassive = false) {
    this.#world = world;
    this.#driver = driver;
    this.#base = new URL(baseUrl);
    this.#isPassive = isPassive;
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    if (typeof Request !== 'function' || typeof Response !== 'function') {
      throw new TypeError(
        'custody.fetch needs the Request and Response of Node.js: run jest with testEnvironment "node"',
      );
    }
    const request = new Request(this.#absolute(input), init);
    const { signal } = request;
    if (this.#isStopped) throw new ClusterStopped();
    signal.throwIfAborted();
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    signal.throwIfAborted();
    const { pathname, search, host } = new URL(request.url);
    const target = `${pathname}${search}`;
    const pauseMs = this.#pauseMs(request.method, target);
    const headers = { host, accept: '*/*', 'user-agent': 'node', ...Object.fromEntries(request.headers) };
    const call = new VirtualCall(this.#world, this.#driver, signal, this.#open);
    const answer = await call
      .send({ method: request.method, target, headers, body }, pauseMs)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#failures += 1;
        throw error;
      });
    this.#failures = answer.status === 429 || answer.status >= 500 ? this.#failures + 1 : 0;
    return this.#response(request, answer, call);
  };

  /** Fails everything open. Repeatable. */
  stop(): void {
    this.#isStopped = true;
    for (const fail of [...this.#open]) fail(new ClusterStopped());
  }

  #absolute(input: Parameters<typeof globalThis.fetch>[0]): string | Request {
    if (input instanceof Request) {
      this.#needOurs(new URL(input.url));
      return input;
    }
    const text = String(input);
    if (!URL.canParse(text, this.#base.href)) throw new TypeError(`custody.fetch: ${text} is not a URL`);
    const url = new URL(text, this.#base.href);
    this.#needOurs(url);
    return url.href;
  }

  #needOurs({ origin, href }: URL): void {
    if (origin === this.#base.origin) return;
    throw new TypeError(
      `custody.fetch reaches ${this.#base.origin} alone, not ${href}: give your client custody.url as its base URL`,
    );
  }

  #pauseMs(method: string, target: string): number {
    if (this.#isPassive) return 0;
    const reads = this.#reads.get(target) ?? 0;
    if (method === 'GET') this.#reads.set(target, reads + 1);
    else this.#reads.clear();
    const repeats = Math.max(this.#failures, method === 'GET' ? reads : 0);
    return repeats === 0 ? 0 : repeatPausesMs[Math.min(repeats, repeatPausesMs.length) - 1]!;
  }

  #response(request: Request, { status, headers, body, pieces }: Answered, call: VirtualCall): Response {
    const content = () => {
      if (pieces !== undefined) return call.stream(pieces, this.#isPassive ? 0 : quietMsMax);
      return nullBodies.has(status) || request.method === 'HEAD' ? null : body;
    };
    const response = new Response(content(), { status, headers });
    Object.defineProperty(response, 'url', { value: request.url });
    return response;
  }
}

/** One call, until its answer is read. */
class VirtualCall {
  readonly #world: CustodyWorld;
  readonly #driver: VirtualDriver;
  readonly #signal: AbortSignal;
  readonly #open: Set<(reason: unknown) => void>;
  #exchange: Exchange | undefined;
  #fail: (reason: unknown) => void = () => undefined;

  constructor(world: CustodyWorld, driver: VirtualDriver, signal: AbortSignal, open: Set<(reason: unknown) => void>) {
    this.#world = world;
    this.#driver = driver;
    this.#signal = signal;
    this.#open = open;
    signal.addEventListener('abort', this.#aborted, { once: true });
    open.add(this.#end);
  }

  async send(request: Parameters<CustodyWorld['connect']>[1], pauseMs: number): Promise<Answered> {
    const { time } = this.#world.cluster;
    let endTimer = (): void => undefined;
    try {
      const answer = await this.#driver.run(
        new Promise<Answered | undefined>((resolve, reject) => {
          this.#fail = reject;
          const begin = () => {
            if (this.#signal.aborted) return;
            this.#exchange = this.#world.connect(gateway, request);
            void this.#exchange.answer.then(resolve);
          };
          endTimer = time.after(pauseMs + answerMsMax, () => this.#end(unanswered('UND_ERR_HEADERS_TIMEOUT')), true);
          if (pauseMs > 0) time.after(pauseMs, begin);
          else begin();
        }),
      );
      if (answer === undefined)
        throw unanswered(this.#exchange?.wasRefused === true ? 'ECONNREFUSED' : 'UND_ERR_SOCKET');
      if (answer.pieces === undefined) this.#done();
      return answer;
    } catch (error) {
      this.#end(error);
      throw error;
    } finally {
      endTimer();
    }
  }

  stream(pieces: Pieces, quietMs: number): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    let newsMs = this.#world.nowMs;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#fail = (reason) => controller.error(reason);
        },
        pull: async (controller) => {
          try {
            const quietSinceMs = Math.max(newsMs, this.#driver.activeMs);
            const leftMs = Math.max(0, quietSinceMs + quietMs - this.#world.nowMs);
            const next = pieces.next();
            const piece = await (leftMs > 0 ? this.#driver.runBriefly(next, leftMs) : next);
            if (piece === undefined) {
              this.#done();
              controller.close();
              return;
            }
            // A comment of server-sent events: a heartbeat.
            if (!piece.startsWith(':')) newsMs = this.#world.nowMs;
            controller.enqueue(encoder.encode(piece));
          } catch (error) {
            this.#end(error instanceof ClusterStopped ? error : unanswered('UND_ERR_SOCKET', 'terminated'));
          }
        },
        cancel: () => {
          this.#fail = () => undefined;
          this.#end(undefined);
        },
      },
      // Nothing is read, and no time passes, before the test reads.
      { highWaterMark: 0 },
    );
  }

  readonly #aborted = (): void => this.#end(this.#signal.reason);

  /** Drops the client, and rejects the awaited call. */
  readonly #end = (reason: unknown): void => {
    if (!this.#open.has(this.#end)) return;
    this.#done();
    this.#exchange?.leave();
    this.#fail(reason);
  };

  #done(): void {
    this.#open.delete(this.#end);
    this.#signal.removeEventListener('abort', this.#aborted);
  }
}

const meanings = {
  ECONNREFUSED: 'the simulated gateway is down and refuses connections',
  UND_ERR_SOCKET:
    'the simulated gateway closed the connection before it answered: whether the call took effect is unknown',
  UND_ERR_HEADERS_TIMEOUT: `the simulated gateway gave no answer within ${answerMsMax / 1_000} s of virtual time`,
} as const;

/** As Node's fetch reports it: a TypeError whose cause has the code. */
function unanswered(code: keyof typeof meanings, message = 'fetch failed'): TypeError {
  return new TypeError(message, { cause: Object.assign(new Error(meanings[code]), { code }) });
}

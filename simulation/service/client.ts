/** A client of the API in a simulated world: it repeats cut calls, with the same idempotency key, at any gateway. */
import type { RandomBytes } from '../../core/actors/contract.ts';
import type { PlainRequest } from '../../gateway/serve/plain-request.ts';
import { uuidV7 } from '../../proto/ids.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';

/** A whole answer. */
export interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ClientOptions {
  /** The limit of tries of one call; 50 by default. */
  readonly triesMax?: number;
  /** Called before every try. The result gets the answer of the try, also one that the client repeats after. */
  readonly sent?: (method: string, target: string) => (answer: Omit<ClientAnswer, 'tries'>) => void;
}

export interface ClientAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers have every shape.
  readonly body: any;
  readonly headers: Readonly<Record<string, string>>;
  /** The number of tries. */
  readonly tries: number;
}

interface ClientDeps {
  readonly token: string;
  readonly options: ClientOptions;
  readonly gateways: readonly ProcessName[];
  readonly random: RandomBytes;
  readonly send: (gateway: ProcessName, request: PlainRequest) => Promise<Response | undefined>;
  readonly pause: (ms: number) => Promise<void>;
}

/** The first pause between two tries; each is twice the one before, up to the longest. */
const pauseMs = 100;
const pauseMaxMs = 3_000;
const triesDefault = 50;
/** Answers after which a repeat may succeed. */
const passing: ReadonlySet<number> = new Set([429, 500, 503]);

export class Client {
  readonly #deps: ClientDeps;
  #next = 0;

  constructor(deps: ClientDeps) {
    this.#deps = deps;
  }

  pause(ms: number): Promise<void> {
    return this.#deps.pause(ms);
  }

  /** A request as it leaves, whose answer the caller reads by itself. */
  plain(method: string, target: string): PlainRequest {
    this.#deps.options.sent?.(method, target);
    return this.#request(method, target);
  }

  #request(method: string, target: string, body?: unknown, key?: string): PlainRequest {
    const headers = {
      authorization: `Bearer ${this.#deps.token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
    };
    return { method, target, headers, body: body === undefined ? undefined : JSON.stringify(body) };
  }

  /** One try at one gateway; undefined: it was cut before an answer. */
  async once(
    gateway: ProcessName,
    method: string,
    target: string,
    body?: unknown,
    key?: string,
  ): Promise<Omit<ClientAnswer, 'tries'> | undefined> {
    const heard = this.#deps.options.sent?.(method, target);
    const response = await this.#deps.send(gateway, this.#request(method, target, body, key));
    if (response === undefined) return undefined;
    const { status, body: given } = response;
    const answer = { status, headers: response.headers, body: given === '' ? undefined : JSON.parse(given) };
    heard?.(answer);
    return answer;
  }

  /** Repeats until an answer arrives. Throws after the last try without one. */
  async call(method: string, target: string, body?: unknown, givenKey?: string): Promise<ClientAnswer> {
    const { gateways, random, options } = this.#deps;
    const key = givenKey ?? (method === 'POST' ? uuidV7(0, random) : undefined);
    const { triesMax = triesDefault } = options;
    for (let tries = 1; tries <= triesMax; tries += 1) {
      const gateway = gateways[this.#next % gateways.length]!;
      this.#next += 1;
      const answer = await this.once(gateway, method, target, body, key);
      if (answer !== undefined && !isPassing(answer)) return { ...answer, tries };
      await this.pause(Math.min(pauseMaxMs, pauseMs * 2 ** (tries - 1)));
    }
    throw new Error(`${method} ${target} has no answer after ${triesMax} tries`);
  }

  /** Reads until the condition holds. Throws after `withinMs`. */
  async until(target: string, condition: (answer: ClientAnswer) => boolean, withinMs = 120_000): Promise<ClientAnswer> {
    for (let waitedMs = 0, nextMs = pauseMs; waitedMs <= withinMs; waitedMs += nextMs) {
      const answer = await this.call('GET', target);
      if (condition(answer)) return answer;
      nextMs = Math.min(pauseMaxMs, nextMs * 2);
      await this.pause(nextMs);
    }
    throw new Error(`${target} is not as awaited after ${withinMs} ms`);
  }
}

/** A repeat may succeed. */
export function isPassing({ status, body }: Pick<ClientAnswer, 'status' | 'body'>): boolean {
  if (passing.has(status)) return true;
  const details: readonly { readonly issue: string }[] = body?.error?.details ?? [];
  return status === 409 && details.some(({ issue }) => issue === 'request_in_progress');
}

/** A client in virtual time, with randomness that repeats: its waits pass as soon as nothing else is to be done. */
import { type Client, type ClientOptions, createClient } from '../../../clients/client/index.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';

const readingTurns = 12;
const stepMs = 10;

export interface VirtualClient {
  readonly client: Client;
  readonly time: VirtualTimers;
  /** Resolves or rejects as the promise does; time passes while it waits. */
  settle<T>(promise: Promise<T>): Promise<T>;
}

export function virtualClient(
  fetch: typeof globalThis.fetch,
  options: Partial<ClientOptions> = {},
  random: () => number = () => 0.5,
): VirtualClient {
  const time = new VirtualTimers();
  let made = 0;
  const name = (): string => {
    made += 1;
    return `uuid-${made}`;
  };
  const client = createClient({
    baseUrl: 'http://gateway.test/base/',
    token: 'svc_sk_test_secretOfTheTest',
    ...options,
    fetch,
    ports: {
      nowMs: () => time.nowMs(),
      startTimer: (ms, then) => time.start(ms, then),
      random,
      uuid: name,
    },
  });
  const settle = async <T>(promise: Promise<T>): Promise<T> => {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    promise.then(over, over);
    while (!isOver) {
      // Bodies are read in several turns of the event loop, which take no time.
      for (let turn = 0; turn < readingTurns && !isOver; turn += 1) await new Promise(setImmediate);
      if (!isOver) await time.advance(stepMs);
    }
    return promise;
  };
  return { client, time, settle };
}

export function json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });
}

export function refusal(status: number, code: string, issue?: string, headers?: Record<string, string>): Response {
  const details = issue === undefined ? {} : { details: [{ field: '', issue }] };
  return json(status, { error: { code, message: 'refused', ...details, request_id: 'req_1' } }, headers);
}

/** As undici reports a connection that broke. */
export function broken(code = 'UND_ERR_SOCKET'): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error('other side closed'), { code }) });
}

/** An answer whose body breaks after its first half. */
export function cut(body: object): Response {
  const text = JSON.stringify(body);
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(text.slice(0, text.length / 2))),
    pull: (controller) => controller.error(broken()),
  });
  return new Response(stream, { status: 201 });
}

/**
 * Reads GET /v1/sandbox/stream with the token in its header, and reads on from its position when the connection breaks. Runs in
 * the browser.
 */
import type { SandboxStreamBatch, SandboxStreamHello } from '../../../client/generated-api.ts';
import { EventParser } from '../../../client/server-sent-events.ts';
import type { Connection } from './store.ts';

export interface StreamPorts {
  readonly fetch: typeof globalThis.fetch;
  setTimeout(task: () => void, ms: number): number;
  clearTimeout(timer: number): void;
}

export interface StreamReader {
  token(): string;
  /** Where to begin; undefined: now. */
  next(): string | undefined;
  greet(hello: SandboxStreamHello): void;
  take(batch: SandboxStreamBatch): void;
  connected(connection: Connection): void;
}

/** The service writes at least every 15 s. */
const silenceMsMax = 45_000;
const pausesMs = [250, 500, 1_000, 2_000, 5_000] as const;

/** Ends when the returned function is called, or with a refusal that no repeat changes. */
export function followStream(ports: StreamPorts, reader: StreamReader): () => void {
  let scope = new AbortController();
  let ended = false;
  let timer = 0;
  let attempts = 0;
  const connect = async (): Promise<void> => {
    scope = new AbortController();
    try {
      await readOnce(ports, reader, scope, () => {
        attempts = 0;
      });
      again('the service ended the stream');
    } catch (error) {
      if (error instanceof Refusal && !error.passes) {
        reader.connected({ state: 'refused', why: error.message, needsToken: error.needsToken });
        return;
      }
      again(error instanceof Refusal ? error.message : 'the service does not answer');
    }
  };
  const again = (why: string) => {
    if (ended) return;
    reader.connected({ state: 'broken', why });
    timer = ports.setTimeout(() => void connect(), pausesMs[Math.min(attempts, pausesMs.length - 1)]!);
    attempts += 1;
  };
  void connect();
  return () => {
    ended = true;
    ports.clearTimeout(timer);
    scope.abort();
  };
}

class Refusal extends Error {
  readonly needsToken: boolean;
  readonly passes: boolean;
  constructor(status: number, message: string) {
    super(message);
    this.needsToken = status === 401 || status === 403;
    this.passes = status === 429 || status >= 500;
  }
}

async function readOnce(
  ports: StreamPorts,
  reader: StreamReader,
  scope: AbortController,
  opened: () => void,
): Promise<void> {
  const next = reader.next();
  const response = await ports.fetch(
    `/v1/sandbox/stream${next === undefined ? '' : `?after=${encodeURIComponent(next)}`}`,
    {
      headers: { authorization: `Bearer ${reader.token()}`, accept: 'text/event-stream' },
      signal: scope.signal,
    },
  );
  if (!response.ok || response.body === null) throw await refusalOf(response);
  const body = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  let silence = 0;
  const expectWords = () => {
    ports.clearTimeout(silence);
    silence = ports.setTimeout(() => scope.abort(), silenceMsMax);
  };
  try {
    for (;;) {
      expectWords();
      const { done, value } = await body.read();
      if (done) return;
      for (const { data } of parser.push(decoder.decode(value, { stream: true }))) {
        if (data === undefined) continue;
        const message = JSON.parse(data) as SandboxStreamHello | SandboxStreamBatch;
        if (message.kind === 'hello') {
          opened();
          reader.greet(message);
          reader.connected({ state: 'live' });
        } else reader.take(message);
      }
    }
  } finally {
    ports.clearTimeout(silence);
  }
}

async function refusalOf(response: Response): Promise<Refusal> {
  const body = (await response.json().catch(() => ({}))) as { readonly error?: { readonly message?: string } };
  return new Refusal(response.status, body.error?.message ?? `the service answers ${response.status}`);
}

/**
 * HTTP/1.1 over keep-alive connections, one request at a time on each. It uses undici's `dispatch`, its cheapest API, and chooses
 * the connection itself (undici's pool searches all of them): the load generator shares the machine with the measured service.
 */
import { Client } from 'undici';
import { isUsedUp, LoadCallFailed, type LoadCallFailure, rateLimitOf } from './call-failed.ts';

const answerWithinMs = 30_000;

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface LoadHttpAnswer {
  readonly status: number;
  readonly text: string;
  /** Names in lower case. */
  readonly headers: Headers;
}

export interface HttpClient {
  /** Rejects without an answer. `idempotencyKey`: of a call that may be repeated. */
  send(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: string,
    idempotencyKey?: string,
  ): Promise<LoadHttpAnswer>;
  close(): Promise<void>;
}

/** At most `connections` requests are in progress; more wait in the client. */
export function httpClient(url: string, token: string, connections: number): HttpClient {
  const opened: Client[] = [];
  /** The last used first, so that no more are open than are needed. */
  const free: Client[] = [];
  const waiting: ((client: Client) => void)[] = [];
  const open = (): Client => {
    const client = new Client(url, { pipelining: 1, headersTimeout: answerWithinMs, bodyTimeout: answerWithinMs });
    opened.push(client);
    return client;
  };
  const release = (client: Client): void => {
    const next = waiting.shift();
    if (next === undefined) free.push(client);
    else next(client);
  };
  const plain = ['authorization', `Bearer ${token}`];
  const withBody = [...plain, 'content-type', 'application/json'];
  return {
    send: (method, path, body, idempotencyKey) =>
      new Promise((resolve, reject) => {
        let status = 0;
        let headers: Headers = {};
        const chunks: Buffer[] = [];
        const sent = body === undefined ? plain : withBody;
        const request = {
          path,
          method,
          headers: idempotencyKey === undefined ? sent : [...sent, 'idempotency-key', idempotencyKey],
          ...(body !== undefined && { body }),
        };
        const dispatch = (client: Client) =>
          client.dispatch(request, {
            onRequestStart() {},
            onResponseStart(_controller, statusCode, received) {
              status = statusCode;
              headers = received;
            },
            onResponseData(_controller, chunk) {
              chunks.push(chunk);
            },
            onResponseEnd() {
              release(client);
              const text = (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString();
              resolve({ status, text, headers });
            },
            onResponseError(_controller, error) {
              release(client);
              reject(error);
            },
          });
        const ready = free.pop() ?? (opened.length < connections ? open() : undefined);
        if (ready === undefined) waiting.push(dispatch);
        else dispatch(ready);
      }),
    async close() {
      await Promise.all(opened.map((client) => client.close()));
    },
  };
}

/** The JSON of an answer with this status. Throws CallFailed for any other. */
export function answered<T>(answer: LoadHttpAnswer, status: number): T {
  if (answer.status === status) return JSON.parse(answer.text) as T;
  const failure = httpFailure(answer);
  throw new LoadCallFailed(failure, `HTTP ${failure.code}: ${answer.text.slice(0, 300)}`);
}

function httpFailure({ status, text, headers }: LoadHttpAnswer): LoadCallFailure {
  const header = (name: string) => (typeof headers[name] === 'string' ? headers[name] : undefined);
  const effect = status >= 400 && status < 500 && status !== 408 ? 'none' : 'unknown';
  if (status !== 429) return { code: `${status} ${errorCodeIn(text)}`.trim(), effect };
  // A full queue also gives 429, while calls of the window are left.
  if (!isUsedUp(header('ratelimit'))) return { code: '429 OVERLOADED', effect };
  return { code: '429 RATE_LIMITED', effect, limit: rateLimitOf(header('ratelimit-policy')) };
}

function errorCodeIn(text: string): string {
  return /"code":"([a-z_]+)"/.exec(text)?.[1] ?? '';
}

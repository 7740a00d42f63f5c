/** The raw access of tests to the REST API: JSON in, JSON out, whatever the status. `createClient` has a method for each route. */
import { exchange } from '../../clients/client/exchange.ts';
import { patienceMs, until } from './until.ts';

export interface RestAnswer<B = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: B;
}

export interface RestOptions {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
export type JsonReply = any;

export type RestMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export class RestClient {
  readonly #baseUrl: () => string;
  readonly #token: string;

  /** `baseUrl` as a function: asked at every call, since `up` may take another port when it starts again. */
  constructor(baseUrl: string | (() => string), token: string) {
    this.#baseUrl = typeof baseUrl === 'string' ? () => baseUrl : baseUrl;
    this.#token = token;
  }

  /** Rejects only when there is no answer. */
  async call<B = Record<string, unknown>>(
    method: RestMethod,
    path: string,
    body?: object,
    { token = this.#token, headers = {} }: RestOptions = {},
  ): Promise<RestAnswer<B>> {
    const answer = await exchange(fetch, `${this.#baseUrl()}${path}`, {
      ...{ method, token, headers, signal: AbortSignal.timeout(patienceMs()) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const { status, text } = answer;
    return { status, headers: answer.headers, body: (text === '' ? {} : JSON.parse(text)) as B };
  }

  get<B = Record<string, unknown>>(path: string, options?: RestOptions): Promise<RestAnswer<B>> {
    return this.call<B>('GET', path, undefined, options);
  }

  post<B = Record<string, unknown>>(path: string, body: object, options?: RestOptions): Promise<RestAnswer<B>> {
    return this.call<B>('POST', path, body, options);
  }

  /** The body of a POST that must have made something, once a busy service has room for it. */
  async made<B extends { readonly id: string } = Made>(path: string, body: object, options?: RestOptions): Promise<B> {
    // 429: nothing was started.
    const answer = await until(async () => {
      const given = await this.post<B>(path, body, options);
      return given.status !== 429 && given;
    }, `room for POST ${path}`);
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

export interface Made {
  readonly id: string;
  readonly [field: string]: unknown;
}

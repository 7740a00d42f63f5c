/**
 * What this page did: each of its calls that may change something, with its answer, for a scenario of it (saved-scenario.ts). No
 * secret is in it: fields of secrets and texts that look like tokens are replaced before they are kept. Runs in the browser.
 */
import type { ConsoleBrowser } from './dom.ts';
import type { HeldToken } from './tenants.ts';

export interface ConsoleRequest {
  /** By the page's clock, which never jumps. */
  readonly beganMs: number;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Who acted; undefined: the page did not know yet whose the token is. */
  readonly by: Pick<HeldToken, 'tenant' | 'actor'> | undefined;
  /** The Idempotency-Key. */
  readonly key: string | undefined;
  readonly body: unknown;
  /** The client repeated it. */
  isRepeated: boolean;
  /** Of the last answer; undefined: none came. */
  status: number | undefined;
  answer: unknown;
}

export interface ConsoleRequests {
  /** The newest last. */
  readonly list: readonly ConsoleRequest[];
  /** Sends, and takes down what is no read. */
  readonly fetch: typeof globalThis.fetch;
}

/** More make no file that a person reads. */
const requestsMax = 400;
const secretField =
  /^(api_key|api_secret|private_key|secret|password|passphrase|access_token|access_key|(resume_)?token)$/;
const secretText = /svc_sk_|whsec_|rt1_/;
/** In place of a secret; simulated custodians accept it. */
const placeholder = 'scenario';

export function recordRequests(
  page: Pick<ConsoleBrowser, 'fetch' | 'performance' | 'location'>,
  held: () => readonly HeldToken[],
): ConsoleRequests {
  let list: readonly ConsoleRequest[] = [];
  const fetch: ConsoleRequests['fetch'] = async (url, init = {}) => {
    const { method = 'GET', body } = init;
    if (method === 'GET') return page.fetch(url, init);
    const headers = init.headers as Readonly<Record<string, string>>;
    const { authorization, 'idempotency-key': key } = headers;
    const by = held().find(({ token }) => authorization === `Bearer ${token}`);
    const { origin } = page.location;
    const { pathname, search } = new URL(String(url), origin);
    const request: ConsoleRequest = {
      ...{ beganMs: page.performance.now(), method, target: pathname + search, key },
      by: by && { tenant: by.tenant, actor: by.actor },
      body: withoutSecrets(typeof body === 'string' ? body : ''),
      ...{ isRepeated: false, status: undefined, answer: undefined },
    };
    const last = list.at(-1);
    const isAgain = last !== undefined && mayRepeat(last) && textOf(last) === textOf(request);
    const entry = isAgain ? last : request;
    if (isAgain) Object.assign(last, { isRepeated: true, status: undefined, answer: undefined });
    else list = [...list, request].slice(-requestsMax);
    const response = await page.fetch(url, init);
    entry.status = response.status;
    entry.answer = withoutSecrets(await response.clone().text());
    return response;
  };
  return {
    get list() {
      return list;
    },
    fetch,
  };
}

function mayRepeat({ status }: ConsoleRequest): boolean {
  return status === undefined || status === 429 || status >= 500;
}

function textOf({ method, target, key, body, by }: ConsoleRequest): string {
  return JSON.stringify([method, target, key, body, by]);
}

/** The value of a JSON text; undefined: it is none. */
function withoutSecrets(text: string): unknown {
  try {
    return JSON.parse(text, (name, value: unknown) => {
      if (name === 'credentials') return hidden(value);
      const isSecret = typeof value === 'string' && (secretField.test(name) || secretText.test(value));
      return isSecret ? placeholder : value;
    }) as unknown;
  } catch {
    return undefined;
  }
}

function hidden(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.keys(value).map((name) => [name, placeholder]));
}

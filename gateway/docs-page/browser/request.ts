/** What the form sends, and the same as a line for a shell. It knows no page: a test sends every operation with it. */
import { quoted } from '../../../core/pages/shell-word.ts';

export interface Filled {
  /** In capitals. */
  readonly method: string;
  /** With {parameters}. */
  readonly path: string;
  /** An operation that anyone may call takes no token. */
  readonly isPublic: boolean;
  readonly token: string;
  readonly fields: readonly { readonly in: string; readonly name: string; readonly value: string }[];
  /** undefined: the operation takes none. */
  readonly body: string | undefined;
}

export interface PlainCall {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** An empty field of the query or the headers is not sent. */
export function callOf({ method, path, isPublic, token, fields, body }: Filled): PlainCall {
  const filled = (place: string) => fields.filter((field) => field.in === place && field.value !== '');
  const target = path.replace(/\{([^}]+)\}/g, (placeholder, name) => {
    const value = filled('path').find((field) => field.name === name)?.value;
    return value === undefined ? placeholder : encodeURIComponent(value);
  });
  const query = filled('query').map(({ name, value }) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return {
    method,
    target: query.length === 0 ? target : `${target}?${query.join('&')}`,
    headers: {
      ...(isPublic || token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...Object.fromEntries(filled('header').map(({ name, value }) => [name.toLowerCase(), value])),
    },
    body,
  };
}

/** A line for a POSIX shell; the token is read from the environment. */
export function curlLine(origin: string, { method, target, headers, body }: PlainCall): string {
  const options = Object.entries(headers).map(([name, value]) =>
    name === 'authorization' ? `-H "authorization: Bearer $SIGNMESH_TOKEN"` : `-H ${quoted(`${name}: ${value}`)}`,
  );
  const verb = method === 'GET' || (method === 'POST' && body !== undefined) ? [] : [`-X ${method}`];
  const data = body === undefined ? [] : [`--data-raw ${quoted(body)}`];
  return ['curl', ...verb, quoted(`${origin}${target}`), ...options, ...data].join(' ');
}

/** What names the items of a list's answer. */
export function idsIn(answer: unknown): readonly string[] {
  const list = Object.values((answer ?? {}) as object).find(Array.isArray) as
    | readonly Record<string, unknown>[]
    | undefined;
  const ids = (list ?? []).map((item) => item?.id ?? item?.process ?? item?.module ?? item?.name);
  return ids.filter((id): id is string => typeof id === 'string');
}

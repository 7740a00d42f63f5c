/**
 * One request and its whole answer, whatever its status: the only place that writes a request of the REST API. The client's
 * calls, `signmesh/testing` and the project's own tests send through it.
 */
export interface Exchange {
  readonly method: string;
  /** Secret. */
  readonly token?: string | undefined;
  /** JSON. */
  readonly body?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Further headers, which replace those of the other fields. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Exchanged {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Rejects as `fetch` does, also when the answer breaks off. */
export async function exchange(
  fetch: typeof globalThis.fetch,
  url: string,
  { method, token, body, idempotencyKey, headers, signal }: Exchange,
): Promise<Exchanged> {
  const response = await fetch(url, {
    method,
    headers: {
      accept: 'application/json',
      ...bearer(token),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...headers,
    },
    redirect: 'error',
    ...(body !== undefined && { body }),
    ...(signal !== undefined && { signal }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export function bearer(token: string | undefined): { readonly authorization?: string } {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

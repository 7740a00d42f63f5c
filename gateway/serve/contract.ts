/**
 * Requests and responses of `serve`: HTTP without sockets. The HTTP server (http/app.ts) translates them; a simulated world
 * makes them itself.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Cancel } from '../../core/actors/contract.ts';
import type { AccessEntry } from '../access-log/access-log.ts';
import type { Requirement } from '../auth/admission.ts';

export interface ServeRequest {
  /** In capitals. */
  readonly method: string;
  /** Path and query, as the request line has them. */
  readonly target: string;
  /** e.g. "1.1". */
  readonly httpVersion: string;
  /** Names in lower case; repeated ones joined as Node joins them. */
  readonly headers: IncomingHttpHeaders;
  /** Name, value, name, value, … as they came. */
  readonly rawHeaders: readonly string[];
  /** The request's data for log and metrics, filled in while it is served. Without it, `serve` makes one. */
  readonly entry?: AccessEntry | undefined;
  /**
   * The body, asked for once at the most, and never before the caller was admitted. Of a body beyond `bytesMax` it may
   * give the beginning alone, as long as that is longer than `bytesMax`. Rejects when it does not arrive.
   */
  body(bytesMax: number): Promise<Uint8Array>;
  /** Calls back when the client has disconnected, or has its whole answer. The returned function cancels that. */
  onGone(listener: () => void): Cancel;
}

export interface ServeResponse {
  readonly status: number;
  /** Names in lower case, with the content length where there is one. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** Instead of a body. Ask for it once; `return` ends it. `cut` closes the connection to a client that takes nothing. */
  readonly stream?: ((cut: () => void) => AsyncIterableIterator<string>) | undefined;
}

/** Never rejects. */
export type Serve = (request: ServeRequest) => Promise<ServeResponse>;

/** A request before it is served. */
export interface Arrived extends Omit<ServeRequest, 'entry' | 'body' | 'onGone'> {
  readonly entry: AccessEntry;
}

/**
 * The answer that `Serve` would give, if load control refuses the request and that can be told at once; undefined: serve it. It
 * costs a third of a refusal by `Serve`. Never throws.
 */
export type RefuseForLoad = (request: Arrived) => ServeResponse | undefined;

/** What an endpoint answers; the request's own headers and the content length are added. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array | undefined;
  readonly stream?: ServeResponse['stream'];
}

/** A request while it is served. */
export interface ServedCall {
  readonly request: ServeRequest;
  readonly entry: AccessEntry;
  /** Of the path, decoded. */
  readonly params: object;
  readonly query: object;
  /** Headers of the answer, whatever that becomes. */
  readonly headers: Record<string, string>;
}

/** A path under a method. */
export interface Endpoint {
  readonly method: string;
  /** With ":name" parameters; a last segment "*" takes any rest. */
  readonly path: string;
  /** Also answers HEAD, without the body. */
  readonly answersHead?: boolean;
  /** What admission asks of its callers; undefined: it is public. */
  readonly requirement?: Requirement | undefined;
  /** Rejects with what `toServiceError` understands. */
  run(call: ServedCall): Promise<Reply>;
}

export const jsonContentType = 'application/json; charset=utf-8';

/** The value of a header that stands there once. */
export function headerOf({ headers }: ServeRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/**
 * A REST route as data: its scope, its input and output schemas, and the function that decides. Routes, validation, the OpenAPI
 * document, the docs' tables and the tests that walk over all routes are made from it.
 *
 * A handler performs no write: it reads, decides, and answers with a `Change`. `execute` commits it together with the
 * idempotent answer. When the store refuses the change as a conflict, the handler runs again on fresh reads (up to
 * `conflictRetriesMax` times), so it may call only ports that are idempotent by id.
 */
import type { Static, TObject, TSchema } from 'typebox';
import type { Log } from '../../core/actors/live/ports.ts';
import type { IdPrefix } from '../../proto/ids.ts';
import type { Change, CommitRefusal, TenantStore } from '../../wallets/store/contract.ts';
import type { Principal } from './principal.ts';
import type { Scope } from './scopes.ts';
import type { StateChanges } from './state-changes.ts';

/**
 * The classes of calls in load control. `transfers` create work for the gateway's driver. `signing` begins a session;
 * `continuing` continues one: refusing it would waste the session's earlier work, so `signing` is refused first.
 */
export type LoadClass = 'reads' | 'writes' | 'transfers' | 'signing' | 'continuing';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Everything that a handler may use. */
export interface RequestContext {
  readonly tenant: string;
  readonly principal: Principal;
  readonly requestId: string;
  /** The W3C traceparent of the caller, or empty. */
  readonly traceparent: string;
  readonly store: TenantStore;
  readonly log: Log;
  /** The real time of this run of the handler. Ids of a repeated request hold the time of its first attempt instead. */
  readonly nowMs: number;
  /** Keys the cursors of lists: for `readPage`. Secret. */
  readonly cursorKey: Uint8Array;
  /** The same ids again when the request is repeated under its idempotency key, or runs again after a conflict. */
  newId(prefix: IdPrefix): string;
}

/** The checks that a long-running answer may make on its caller. */
export interface StreamCaller {
  /** Whether the caller's token is still valid. Never rejects; true while that is unknown. */
  stillAdmitted(): Promise<boolean>;
  /** Closes the caller's connection at once: the caller does not read, or the answer cannot continue. */
  cut(): void;
}

export interface Answer<B = unknown> {
  readonly status: number;
  /** As the response schema of that status has it; undefined with 204. */
  readonly body?: B;
  /**
   * Instead of a body, and never with a change: text without an end of its own. Called once, when the answer is sent; `return`
   * ends the iterator when the caller disconnects. `headers` give its content type.
   */
  readonly stream?: (caller: StreamCaller) => AsyncIterableIterator<string>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly change?: Change;
  /** The answer when the store refuses the change for another reason than a conflict. May throw ServiceError. */
  readonly onRefusal?: (refusal: CommitRefusal) => Answer;
  /** Called after the commit, never awaited: notifies a driver of new work. */
  readonly afterCommit?: () => void;
}

export interface RouteInput<P extends TSchema, Q extends TSchema, B extends TSchema> {
  readonly params: Static<P>;
  readonly query: Static<Q>;
  readonly body: Static<B>;
  /** The headers that the route declares, by their names in lower case; an empty one is none. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The caller's Idempotency-Key header, if any. */
  readonly idempotencyKey: string | undefined;
}

export interface RouteResponse {
  readonly schema?: TSchema;
  readonly description: string;
  /** Of a stream, e.g. "text/event-stream"; JSON by default. */
  readonly contentType?: string;
}

export interface RouteSpec<P extends TSchema, Q extends TSchema, B extends TSchema> {
  readonly method: Method;
  /** With ":name" parameters, e.g. "/v1/wallets/:id". */
  readonly path: string;
  readonly operationId: string;
  /** Its method of `signmesh/client`, e.g. "wallets.create"; undefined: it has none (`withoutMethod`, tools/docs/client-names.ts). */
  readonly clientName?: string;
  /** The module, as the docs group them, e.g. "Wallets": its maturity says who has access (modules.ts). */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** `any`: of any valid token; undefined: public, no token. */
  readonly scope: Scope | 'any' | undefined;
  /** The rate limit that counts it; `none`: not counted. Default: `reads` for GET, `writes` otherwise. */
  readonly limitClass?: 'reads' | 'writes' | 'none';
  /** Its class in load control, if it differs from `limitClass`. */
  readonly loadClass?: LoadClass;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** A body that a sandbox accepts (gateway/api/examples.ts): the document shows it, the page at /v1/docs sends it. */
  readonly example?: object;
  /** Headers that it reads, by their names in lower case: strings. */
  readonly headers?: TObject;
  /** An absent body counts as {} (POSTs whose body is optional). */
  readonly bodyOptional?: boolean;
  /** Success statuses and their schemas; 204 has none. Errors are the same everywhere and are added by the toolkit. */
  readonly responses: Readonly<Record<number, RouteResponse>>;
  /** Error kinds beyond those of every route (400, 401, 403, 429, 500, 503), for the document: 404, 409, 422. */
  readonly errors?: readonly (404 | 409 | 422)[];
  /** Of the record that it is about. Without it, the operation succeeds in each state and leaves it as it is, or deletes the record. */
  readonly states?: StateChanges;
  /** Takes an Idempotency-Key. Default: true for POST, false otherwise. */
  readonly idempotent?: boolean;
  /** A field of the body that may hold the idempotency key instead of the header. */
  readonly idempotencyField?: string;
  /** True for a POST that changes nothing, e.g. a dry run: it makes no idempotency record. */
  readonly isReadOnly?: (input: RouteInput<P, Q, B>) => boolean;
  /**
   * While the tenant has change control, its change takes a proposal (wallets/companions/changes). What it changes, as events show
   * it, before the change; undefined: it makes a new one. The change has one event, whose resource names the version that it makes.
   */
  readonly controlled?: (context: RequestContext, input: RouteInput<P, Q, B>) => Promise<object | undefined>;
  readonly handle: (context: RequestContext, input: RouteInput<P, Q, B>) => Promise<Answer>;
}

/** A route with erased types, checked where it was defined. */
export type Route = RouteSpec<TSchema, TSchema, TSchema> &
  Required<Pick<RouteSpec<TSchema, TSchema, TSchema>, 'limitClass'>>;

export function route<P extends TSchema, Q extends TSchema, B extends TSchema>(spec: RouteSpec<P, Q, B>): Route {
  return { limitClass: spec.method === 'GET' ? 'reads' : 'writes', ...spec } as unknown as Route;
}

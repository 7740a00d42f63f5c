/**
 * The access log: one line for every request that the HTTP or gRPC server answered, or whose caller disconnected before. A line
 * identifies the request and its result, in a fixed set of fields; it never holds a token, a body, a query or a header other
 * than the caller's ids. Unknown fields are omitted.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Log } from '../../core/actors/live/ports.ts';
import type { Span } from '../../core/telemetry/port.ts';
import type { CallTrace } from '../api/call-trace.ts';
import type { ServiceError } from '../api/errors/service-error.ts';
import type { Principal } from '../api/principal.ts';
import type { ReceiptFacts } from './receipt-facts.ts';
import { withoutSecrets } from './secret-text.ts';

/** The message of every line. */
export const accessMessage = 'request';

const pathCharsMax = 200;
const idCharsMax = 256;

/** The answer of a request. A stream has no body. */
export interface GivenAnswer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

/** The known data of a request, filled in while it is served. */
export class AccessEntry {
  readonly requestId: string;
  readonly startedMs: number;
  /** The pattern of the path that serves it; undefined: there is none. */
  route: string | undefined = undefined;
  principal: Principal | undefined = undefined;
  trace: CallTrace | undefined = undefined;
  /** Of a signing call that was answered in band. */
  receipt: ReceiptFacts | undefined = undefined;
  error: ServiceError | undefined = undefined;
  /** Of this request in its trace. */
  span: Span | undefined = undefined;
  /** Path and query, as the request line has them. */
  target: string | undefined = undefined;
  /** As they came. Secret. */
  headers: IncomingHttpHeaders | undefined = undefined;
  /** The bytes of its body, or of its message, once they were read. Secret. */
  body: Uint8Array | undefined = undefined;
  /** Secret. */
  answer: GivenAnswer | undefined = undefined;

  /** `startedMs`: of the timers port. */
  constructor(requestId: string, startedMs: number) {
    this.requestId = requestId;
    this.startedMs = startedMs;
  }
}

/** The result of a request, as the HTTP or gRPC server saw it. */
export interface Ending {
  readonly door: 'http' | 'grpc';
  readonly method?: string | undefined;
  /** The pattern that served it, or the gRPC method; undefined: there is none. */
  readonly route?: string | undefined;
  /** Of the timers port. */
  readonly endedMs: number;
  /** As the caller wrote it, without the query. */
  readonly path?: string | undefined;
  /** HTTP status; undefined: none was sent. */
  readonly status?: number | undefined;
  /** gRPC status by name; undefined: none was sent. */
  readonly grpcStatus?: string | undefined;
  /** The caller disconnected, or the connection broke, before the answer was sent. */
  readonly aborted: boolean;
  /** A successful probe: logged only at level debug. */
  readonly isProbe: boolean;
}

/** Observes every request of the HTTP and gRPC servers. */
export interface RequestWatcher {
  /** `traceparent`: as the caller's header has it. Returns what stands in its place from now on. */
  begun(entry: AccessEntry, traceparent: string | undefined): string | undefined;
  ended(entry: AccessEntry, ending: Ending): void;
}

/** A line a request. */
export function logRequests(log: Log): RequestWatcher {
  return {
    begun: (_entry, traceparent) => traceparent,
    ended: (entry, ending) => writeAccess(log, entry, ending),
  };
}

/** undefined: none of them is there. */
export function allOf(watchers: readonly (RequestWatcher | undefined)[]): RequestWatcher | undefined {
  const [first, ...others] = watchers.filter((watcher) => watcher !== undefined);
  if (first === undefined || others.length === 0) return first;
  const rest = allOf(others)!;
  return {
    begun: (entry, traceparent) => rest.begun(entry, first.begun(entry, traceparent)),
    ended: (entry, ending) => {
      first.ended(entry, ending);
      rest.ended(entry, ending);
    },
  };
}

function writeAccess(log: Log, entry: AccessEntry, ending: Ending): void {
  const line = accessLine(entry, ending);
  if (ending.isProbe) log.debug(line, accessMessage);
  else log.info(line, accessMessage);
}

/** The fields of a request's line; undefined ones are left out. Those of a probe belong to level debug. */
export function accessLine(entry: AccessEntry, ending: Ending) {
  const { principal, trace, receipt, error } = entry;
  const { grpcStatus } = ending;
  const refusal = grpcStatus === undefined || grpcStatus === 'OK' ? undefined : grpcStatus;
  return {
    request_id: withoutSecrets(entry.requestId),
    door: ending.door,
    method: ending.method,
    route: ending.route,
    path: ending.path === undefined ? undefined : withoutSecrets(ending.path.slice(0, pathCharsMax)),
    status: ending.status,
    grpc_status: grpcStatus,
    aborted: ending.aborted ? true : undefined,
    duration_ms: Math.round((ending.endedMs - entry.startedMs) * 100) / 100,
    tenant: principal?.tenant,
    token_id: principal?.tokenId || undefined,
    error_code: error?.entry.code,
    reason_code: receipt?.reasonCode || error?.entry.reason || refusal,
    issue: error?.details?.[0]?.issue,
    receipt_state: receipt?.state,
    receipt_id: receipt?.receiptId,
    session_id: receipt?.sessionId || undefined,
    correlation_id: trace === undefined ? undefined : withoutSecrets(trace.correlationId.slice(0, idCharsMax)),
    trace_id: traceIdOf(trace),
  };
}

/** The 32 hex digits of a W3C traceparent. */
function traceIdOf(trace: CallTrace | undefined): string | undefined {
  const traceparent = trace?.traceparent ?? '';
  return traceparent === '' ? undefined : /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(traceparent)?.[1];
}

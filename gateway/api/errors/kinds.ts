/**
 * The registry of transport errors: one line a kind, with its HTTP and its gRPC answer. REST bodies carry `code`
 * (docs/wallet-api.md), gRPC carries `reason` in google.rpc.ErrorInfo. docs/http-and-grpc.md quotes this table.
 */
// All of the package would go into processes without gRPC.
import { Status as status } from '@grpc/grpc-js/build/src/constants.js';

export interface ErrorKindEntry {
  readonly http: number;
  /** The `error.code` of a REST body. */
  readonly code: string;
  readonly grpc: status;
  /** The `reason` of google.rpc.ErrorInfo. */
  readonly reason: string;
}

export const errorKinds = {
  /** Undecodable body, wrong type, malformed parameter. */
  invalidRequest: { http: 400, code: 'invalid_request', grpc: status.INVALID_ARGUMENT, reason: 'INVALID_REQUEST' },
  authenticationFailed: {
    http: 401,
    code: 'authentication_failed',
    grpc: status.UNAUTHENTICATED,
    reason: 'AUTHENTICATION_FAILED',
  },
  insufficientScope: {
    http: 403,
    code: 'insufficient_scope',
    grpc: status.PERMISSION_DENIED,
    reason: 'INSUFFICIENT_SCOPE',
  },
  notFound: { http: 404, code: 'not_found', grpc: status.NOT_FOUND, reason: 'NOT_FOUND' },
  /** The path exists, under another method. */
  methodNotAllowed: { http: 405, code: 'invalid_request', grpc: status.UNIMPLEMENTED, reason: 'METHOD_NOT_ALLOWED' },
  requestTimeout: { http: 408, code: 'invalid_request', grpc: status.DEADLINE_EXCEEDED, reason: 'REQUEST_TIMEOUT' },
  conflict: { http: 409, code: 'conflict', grpc: status.ABORTED, reason: 'CONFLICT' },
  /** An idempotency key stands for another request. */
  keyReused: { http: 409, code: 'conflict', grpc: status.ALREADY_EXISTS, reason: 'IDEMPOTENCY_KEY_REUSED' },
  /** A repeat helps once the tenant is unfrozen, which ABORTED would not say. */
  tenantFrozen: { http: 409, code: 'conflict', grpc: status.FAILED_PRECONDITION, reason: 'TENANT_FROZEN' },
  /** Something else than the service changed what is stored: no repeat helps, which ABORTED would invite. */
  tampered: { http: 409, code: 'conflict', grpc: status.DATA_LOSS, reason: 'STORE_TAMPERED' },
  bodyTooLarge: { http: 413, code: 'invalid_request', grpc: status.RESOURCE_EXHAUSTED, reason: 'MESSAGE_TOO_LARGE' },
  unsupportedMediaType: {
    http: 415,
    code: 'invalid_request',
    grpc: status.INVALID_ARGUMENT,
    reason: 'UNSUPPORTED_MEDIA_TYPE',
  },
  providerRejected: {
    http: 422,
    code: 'provider_rejected',
    grpc: status.FAILED_PRECONDITION,
    reason: 'PROVIDER_REJECTED',
  },
  /** The tenant's allowance of this window is used up. */
  rateLimited: { http: 429, code: 'rate_limited', grpc: status.RESOURCE_EXHAUSTED, reason: 'RATE_LIMITED' },
  /** A bounded queue is full: the call had no effect. */
  overloaded: { http: 429, code: 'rate_limited', grpc: status.RESOURCE_EXHAUSTED, reason: 'OVERLOADED' },
  /** The tenant has reached its storage quota: the call had no effect. */
  quotaExceeded: { http: 429, code: 'rate_limited', grpc: status.RESOURCE_EXHAUSTED, reason: 'QUOTA_EXCEEDED' },
  /** The Host is none of a sandbox's: the request may be another site's page (gateway/api/hosts.ts). */
  misdirected: { http: 421, code: 'invalid_request', grpc: status.INVALID_ARGUMENT, reason: 'MISDIRECTED_REQUEST' },
  headersTooLarge: { http: 431, code: 'invalid_request', grpc: status.RESOURCE_EXHAUSTED, reason: 'HEADERS_TOO_LARGE' },
  internalError: { http: 500, code: 'internal_error', grpc: status.INTERNAL, reason: 'INTERNAL_ERROR' },
  /** No coordinator, or a store that does not answer. */
  unavailable: { http: 503, code: 'provider_unavailable', grpc: status.UNAVAILABLE, reason: 'UNAVAILABLE' },
  deadlineExceeded: {
    http: 504,
    code: 'provider_unavailable',
    grpc: status.DEADLINE_EXCEEDED,
    reason: 'DEADLINE_EXCEEDED',
  },
} as const satisfies Record<string, ErrorKindEntry>;

export type ErrorKind = keyof typeof errorKinds;

/** How long a caller should wait before it repeats a call refused for load or for a missing backend. */
export const retryAfterDefaultS = 1;

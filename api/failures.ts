/** Whatever a route, Fastify or a port behind the routes throws, as the ServiceError that the caller is told. */
import { httpBodyBytesMax } from '../proto/limits.ts';
import { ProviderRejected, ProviderUnavailable } from '../providers/port/port.ts';
import { StoreUnavailable } from '../store/contract.ts';
import type { ErrorKind } from './errors/kinds.ts';
import { internalError, ServiceError } from './errors/service-error.ts';

/** Fastify's own refusals, by its error code; what is not listed falls under its status. */
const frameworkKinds: Readonly<Record<string, readonly [ErrorKind, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['bodyTooLarge', `the body is larger than ${httpBodyBytesMax} bytes`],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupportedMediaType', 'the content type must be application/json'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalidRequest', 'the body is not as long as Content-Length says'],
  FST_ERR_BAD_URL: ['invalidRequest', 'the path is not a valid URL'],
  FST_ERR_MAX_PARAM_LENGTH: ['notFound', 'no such resource'],
};

/** Anything thrown on the way, as what the caller is told. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const ours = fromPorts(error);
  if (ours !== undefined) return ours;
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  const known = typeof code === 'string' ? frameworkKinds[code] : undefined;
  if (known !== undefined) return new ServiceError(known[0], known[1]);
  const isCallers = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
  return isCallers ? new ServiceError('invalidRequest', 'the request is malformed') : internalError(error);
}

/** What the ports behind the routes throw. */
function fromPorts(error: unknown): ServiceError | undefined {
  if (error instanceof ProviderRejected) {
    const { field, issue, providerCode, message } = error;
    return new ServiceError('providerRejected', `the provider refused the operation: ${message}`, {
      details: [{ field, issue, message: `${providerCode}: ${message}` }],
    });
  }
  if (error instanceof ProviderUnavailable) {
    const retryAfterS = Math.max(1, Math.ceil(error.retryAfterMs / 1000));
    return new ServiceError('unavailable', error.message, { retryAfterS });
  }
  if (error instanceof StoreUnavailable) {
    const message = 'the store does not answer or takes no writes: nothing was changed, repeat the request';
    return new ServiceError('unavailable', message, { cause: error });
  }
  return undefined;
}

/** What a request has read changes again and again. */
export function keepsChanging(): ServiceError {
  return new ServiceError('conflict', 'the resource keeps changing: repeat the request', {
    details: [{ field: '', issue: 'version_conflict' }],
    retryAfterS: 1,
  });
}

/** Of a change whose commit was sent, and was not answered: it may have taken effect. */
export function outcomeUnknown(error: StoreUnavailable): ServiceError {
  const message = 'the store does not answer, so whether the request took effect is unknown';
  const remedy =
    'Repeat it with the same Idempotency-Key: the answer is that of its effect, and it takes effect once. Without a key, read the resource first.';
  return new ServiceError('unavailable', `${message}: repeat it with the same Idempotency-Key`, {
    details: [{ field: '', issue: 'outcome_unknown', message: remedy }],
    cause: error,
  });
}

/** The tenant stores as many bytes as it may. */
export function quotaExceeded(bytes: number): ServiceError {
  const remedy =
    'Wait until older records expire, or let the operator raise SIGNMESH_TENANT_BYTES. What exists can still be read, approved, cancelled and archived.';
  return new ServiceError('quotaExceeded', `the tenant stores ${bytes} bytes, as much as it may: nothing was made`, {
    details: [{ field: '', issue: 'tenant_quota_exceeded', message: remedy }],
    retryAfterS: 3600,
  });
}

/** Whatever a route or a port behind the routes throws, as the ServiceError that the caller is told. */
import { ProviderRejected, ProviderUnavailable } from '../providers/port/port.ts';
import { StoreUnavailable } from '../store/contract.ts';
import { internalError, ServiceError } from './errors/service-error.ts';

/** Anything thrown on the way, as what the caller is told. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return fromPorts(error) ?? internalError(error);
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
    const message = 'the store does not answer or accepts no writes: nothing was changed, repeat the request';
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
    'Repeat it with the same Idempotency-Key to get its result; it takes effect once. Without a key, read the resource first.';
  return new ServiceError('unavailable', `${message}: repeat it with the same Idempotency-Key`, {
    details: [{ field: '', issue: 'outcome_unknown', message: remedy }],
    cause: error,
  });
}

/** The tenant stores as many bytes as it may. */
export function quotaExceeded(bytes: number): ServiceError {
  const remedy =
    'Wait until older records expire, or let the operator raise SIGNMESH_TENANT_BYTES. Existing records can still be read, approved, cancelled and archived.';
  return new ServiceError(
    'quotaExceeded',
    `the tenant stores ${bytes} bytes and has reached its quota: nothing was created`,
    {
      details: [{ field: '', issue: 'tenant_quota_exceeded', message: remedy }],
      retryAfterS: 3600,
    },
  );
}

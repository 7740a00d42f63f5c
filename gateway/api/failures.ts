/** Translates errors of routes and of the ports behind them into the ServiceError for the caller. */
import { ProviderRejected, ProviderUnavailable } from '../../wallets/providers/port/port.ts';
import { StoreTampered, StoreUnavailable } from '../../wallets/store/contract.ts';
import { internalError, ServiceError } from './errors/service-error.ts';

/** Translates any thrown value into the error for the caller. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return fromPorts(error) ?? internalError(error);
}

/** The errors of the ports behind the routes. */
function fromPorts(error: unknown): ServiceError | undefined {
  if (error instanceof ProviderRejected) {
    const { field, issue, providerCode, message } = error;
    return new ServiceError('providerRejected', `the provider refused the operation: ${message}`, {
      details: [{ field, issue, message: `${providerCode}: ${message}` }],
    });
  }
  if (error instanceof ProviderUnavailable) return providerUnavailable(error);
  if (error instanceof StoreUnavailable) {
    const message = 'the store does not answer or accepts no writes: nothing was changed, repeat the request';
    return new ServiceError('unavailable', message, { cause: error });
  }
  return error instanceof StoreTampered ? tampered(error) : undefined;
}

function tampered(error: StoreTampered): ServiceError {
  const record = error.recordId ?? 'a record';
  return new ServiceError(
    'tampered',
    `${record} cannot be read: something else than this service changed it in Redis`,
    {
      details: [{ field: '', issue: 'store_tampered', message: tamperedRemedy }],
      cause: error,
    },
  );
}

const tamperedRemedy =
  'A repeat does not help. The operator finds `store.tampered` in the log of the gateway, and restores the record from a copy of Redis.';

/** `provider`: its name, where the caller knows it. */
export function providerUnavailable({ message, retryAfterMs, outcomeUnknown }: ProviderUnavailable, provider?: string) {
  const retryAfterS = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  const text = provider === undefined ? message : `${provider} is not available: ${message}`;
  if (!outcomeUnknown) return new ServiceError('unavailable', text, { retryAfterS });
  const remedy =
    'Repeat it with the same Idempotency-Key: it finds what the provider made. Without a key a repeat may make a second one.';
  return new ServiceError('unavailable', `${text}; whether the request took effect is unknown`, {
    details: [{ field: '', issue: 'outcome_unknown', message: remedy }],
    retryAfterS,
  });
}

/** Throws a 409 unless the record is at the version that the caller expects, if any. `what`: "the wallet". */
export function assertVersion(
  what: string,
  { version }: { readonly version: number },
  expected: number | undefined,
): void {
  if (expected === undefined || expected === version) return;
  const message = `${what} is at version ${version}`;
  throw new ServiceError('conflict', message, {
    details: [{ field: 'expected_version', issue: 'version_conflict', message }],
  });
}

/** Data that the request read keeps changing. */
export function keepsChanging(): ServiceError {
  return new ServiceError('conflict', 'the resource keeps changing: repeat the request', {
    details: [{ field: '', issue: 'version_conflict' }],
    retryAfterS: 1,
  });
}

/** For a change whose commit was sent and not answered: it may have taken effect. */
export function outcomeUnknown(error: StoreUnavailable): ServiceError {
  const message = 'the store does not answer, so whether the request took effect is unknown';
  const remedy =
    'Repeat it with the same Idempotency-Key to get its result; it takes effect once. Without a key, read the resource first.';
  return new ServiceError('unavailable', `${message}: repeat it with the same Idempotency-Key`, {
    details: [{ field: '', issue: 'outcome_unknown', message: remedy }],
    cause: error,
  });
}

/** The tenant has reached its storage quota. */
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

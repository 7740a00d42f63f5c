/** The errors of a call whose provider refuses (422) or does not answer (503). */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { providerUnavailable } from '../../../gateway/api/failures.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import { ProviderRejected, ProviderUnavailable } from '../../providers/port/port.ts';

/** ProviderRejected as 422 with the provider's own error in `details`, ProviderUnavailable as 503; the rest as it is. */
export function providerFailure(provider: ProviderKind, error: unknown): unknown {
  if (error instanceof ProviderRejected) {
    return new ServiceError('providerRejected', `${provider} refused: ${error.message}`, {
      details: [
        {
          field: error.field === '' ? 'provider' : error.field,
          issue: error.issue,
          message: `${error.providerCode}: ${error.message}`,
        },
      ],
    });
  }
  return error instanceof ProviderUnavailable ? providerUnavailable(error, provider) : error;
}

/** What the wallet's provider does not do: 422. */
export function refusal(issue: string, message: string): ServiceError {
  return new ServiceError('providerRejected', message, { details: [{ field: '', issue, message }] });
}

/** A call of an adapter while a request waits for it: its refusals leave as what the caller is told. */
export async function askingProvider<T>(provider: ProviderKind, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw providerFailure(provider, error);
  }
}

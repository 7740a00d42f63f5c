/**
 * Calls to coordinators that begin or continue a signature only while their tenant is not frozen. This is the last check before
 * the gateway orders nodes to sign: it reads the store, and no cache. Keys are made, closed and read in a frozen tenant too.
 */
import { readTenant, tenantFrozenError } from '../../wallets/custody/tenant/public.ts';
import { StoreUnavailable, type TenantStore } from '../../wallets/store/contract.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import { toServiceError } from '../api/failures.ts';
import { Calls, type Done, type SigningCall } from './signing-calls.ts';

const signs: ReadonlySet<SigningCall['request']['case']> = new Set([
  'initiateSigning',
  'sign',
  'submitSignatureShare',
  // The partials of enough nodes add up to the signature.
  'previewPartial',
  'resumeSession',
]);

export class UnfrozenCalls extends Calls {
  readonly #calls: Calls;
  readonly #storeOf: () => Pick<TenantStore, 'read'>;

  /** `storeOf`: called for every call, since the store may be made after the calls. */
  constructor(calls: Calls, storeOf: () => Pick<TenantStore, 'read'>) {
    super();
    this.#calls = calls;
    this.#storeOf = storeOf;
  }

  get inFlight(): number {
    return this.#calls.inFlight;
  }

  start(call: SigningCall, done: Done): () => void {
    if (!signs.has(call.request.case)) return this.#calls.start(call, done);
    let cancelled = false;
    let cancel = (): void => {
      cancelled = true;
    };
    readTenant(this.#storeOf(), call.tenant).then(
      ({ status }) => {
        if (cancelled) return;
        if (status === 'frozen') done({ failure: tenantFrozenError() });
        else cancel = this.#calls.start(call, done);
      },
      (error: unknown) => {
        if (!cancelled) done({ failure: unreadable(error) });
      },
    );
    return () => cancel();
  }
}

function unreadable(error: unknown): ServiceError {
  if (!(error instanceof StoreUnavailable)) return toServiceError(error);
  return new ServiceError('unavailable', 'the store does not answer: nothing was ordered, repeat the call', {
    cause: error,
  });
}

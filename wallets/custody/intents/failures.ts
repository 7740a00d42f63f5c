/** How a transfer fails when its provider gave no outcome of its own: refused, or never reachable. */
import type { NewBalance, ProviderRejected } from '../../providers/port/port.ts';
import type { IntentFailure } from './machine.ts';
import type { IntentRecord } from './record.ts';

export function rejection(error: ProviderRejected): IntentFailure {
  return {
    providerTxId: null,
    providerStatus: null,
    subStatus: 'REJECTED_BY_PROVIDER',
    error: { code: error.providerCode, message: error.message },
  };
}

export function providerUnreachable(subStatus: string): IntentFailure {
  return {
    providerTxId: null,
    providerStatus: null,
    subStatus,
    error: {
      code: 'provider_unavailable',
      message: 'the provider stayed unreachable until long after the transfer had expired',
    },
  };
}

/** Whether the provider has said anything of it: then it is followed to its end, however long that takes. */
export function mayBeSubmitted({ status, submission, providerTxId }: IntentRecord): boolean {
  return submission !== null || providerTxId !== null || status !== 'signing';
}

export function noFee({ feeReserve }: IntentRecord): NewBalance {
  return { asset: feeReserve.asset, units: 0n };
}

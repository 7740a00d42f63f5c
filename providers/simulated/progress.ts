/** From where an order stands with a simulated provider to what the port says of it. Pure. */
import type { Progress, Transfer } from '../port/port.ts';
import { networkFee } from './economy.ts';
import type { Standing } from './timeline.ts';

/** A normalized place. 'failed' means on the chain, where the fee is spent. */
export type Stage = 'signing' | 'broadcasting' | 'confirming' | 'completed' | 'failed';

export interface OrderStanding {
  readonly providerTxId: string;
  readonly standing: Standing<string>;
  readonly stage: Stage;
  /** In our words, UPPER_SNAKE, or null. */
  readonly subStatus: string | null;
  /** With 'failed'. */
  readonly error: { readonly code: string; readonly message: string };
  /** What the adapter finds in `submission` next time. */
  readonly memory: Readonly<Record<string, unknown>>;
}

/** How often a final transfer is polled. */
const idleWaitMs = 60_000;

/** A simulated provider needs no numbers, so none is ever used up. */
export function progressOf(transfer: Transfer, order: OrderStanding, nowMs: number): Progress {
  const { providerTxId, standing, stage } = order;
  const providerStatus = standing.status;
  const feePaid = networkFee(transfer.intent.asset);
  if (stage === 'completed') return { stage, providerTxId, providerStatus, feePaid };
  if (stage === 'failed') {
    const { error } = order;
    return { stage, providerTxId, providerStatus, subStatus: 'FAILED_ON_CHAIN', error, feePaid, numberUsed: false };
  }
  return {
    stage,
    providerTxId,
    providerStatus,
    subStatus: order.subStatus,
    submission: order.memory,
    againAtMs: standing.nextAtMs ?? nowMs + idleWaitMs,
  };
}

/** A transfer that the provider did not take: nothing was sent and nothing is spent. */
export function refusedTransfer(
  transfer: Transfer,
  providerStatus: string,
  error: { readonly code: string; readonly message: string },
): Progress {
  return {
    stage: 'failed',
    providerTxId: null,
    providerStatus,
    subStatus: 'REJECTED_BY_PROVIDER',
    error,
    feePaid: { asset: networkFee(transfer.intent.asset).asset, units: 0n },
    numberUsed: false,
  };
}

/** Converts an order's state at a simulated provider to the port's progress. Pure. */
import type { Transfer, TransferProgress } from '../port/port.ts';
import { networkFee } from './economy.ts';
import type { Standing } from './timeline.ts';

/** A normalized stage. 'failed' means on the chain, where the fee is spent. */
export type Stage = 'signing' | 'broadcasting' | 'confirming' | 'completed' | 'failed';

export interface OrderStanding {
  readonly providerTxId: string;
  readonly standing: Standing<string>;
  readonly stage: Stage;
  /** In our terms, UPPER_SNAKE, or null. */
  readonly subStatus: string | null;
  /** With 'failed'. */
  readonly error: { readonly code: string; readonly message: string };
  /** The value of `submission` in the adapter's next call. */
  readonly memory: Readonly<Record<string, unknown>>;
}

/** The poll interval of a final transfer. */
const idleWaitMs = 60_000;

/** A simulated provider needs no numbers, so it never uses one. */
export function progressOf(transfer: Transfer, order: OrderStanding, nowMs: number): TransferProgress {
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

/** A transfer that the provider refused: it sent and spent nothing. */
export function refusedTransfer(
  transfer: Transfer,
  providerStatus: string,
  error: { readonly code: string; readonly message: string },
): TransferProgress {
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

/** From where an order stands with a simulated provider to what the port says of it. */

import type { Progress, Transfer } from '../port.ts';
import { networkFee } from './economy.ts';
import { idleWaitMs, minimumWaitMs, nextStage, reportedStage, type Stage } from './stages.ts';
import type { Standing } from './timeline.ts';

export interface OrderStanding {
  readonly providerTxId: string;
  readonly standing: Standing<string>;
  /** In our words, UPPER_SNAKE, or null. */
  readonly subStatus: string | null;
  /** The normalized place: 'failed' means on the chain, where the fee is spent. */
  readonly reached: Stage | 'completed' | 'failed';
  /** With 'failed'. */
  readonly error?: { readonly code: string; readonly message: string };
  /** What the adapter wants to find in `submission` next time, beside the stage. */
  readonly memory?: Readonly<Record<string, unknown>>;
}

/** One stage further than the last report at most. Needs no numbers, so none is ever used up. */
export function progressOf(transfer: Transfer, order: OrderStanding, nowMs: number): Progress {
  const { providerTxId, standing, reached } = order;
  const next = nextStage(reportedStage(transfer.intent.submission), reached === 'failed' ? 'completed' : reached);
  if (next !== 'end') {
    return {
      stage: next.stage,
      providerTxId,
      providerStatus: standing.status,
      // What holds it up now says nothing about a stage that is past.
      subStatus: next.isBehind ? null : order.subStatus,
      submission: { ...order.memory, stage: next.stage },
      againAtMs: next.isBehind ? nowMs + minimumWaitMs : (standing.nextAtMs ?? nowMs + idleWaitMs),
    };
  }
  const feePaid = networkFee(transfer.intent.asset);
  if (reached !== 'failed') return { stage: 'completed', providerTxId, providerStatus: standing.status, feePaid };
  return {
    stage: 'failed',
    providerTxId,
    providerStatus: standing.status,
    subStatus: 'FAILED_ON_CHAIN',
    error: order.error ?? { code: standing.status, message: 'the transaction was mined and failed' },
    feePaid,
    numberUsed: false,
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

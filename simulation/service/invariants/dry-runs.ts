/** Dry runs: `?dry_run=true` gives the decision that the same request gets when nothing happens in between. */
import type { ToldEvent } from './documented-ledger.ts';
import { found } from './finding.ts';

export interface DryRun {
  /** The last event before it. */
  readonly from: number;
  // biome-ignore lint/suspicious/noExplicitAny: read by its documented fields.
  readonly shown: any;
  /** The intent of the request that followed; null: it was refused for want of money. */
  readonly intentId: string | null;
  /** The last event when that was answered. */
  readonly to: number;
}

/** Throws a Finding. */
export function checkDryRuns(runs: readonly DryRun[], events: readonly ToldEvent[]): void {
  for (const { from, shown, intentId, to } of runs) {
    if (intentId === null) {
      if (from === to && shown.sufficient_funds)
        found('decided-as-written', `a dry run after event ${from} finds enough money`);
      continue;
    }
    const own = events.filter(
      ({ resource, type }) => resource.id === intentId && type.startsWith('transaction_intent.'),
    );
    const between = events.slice(from, own[0]!.sequence - 1);
    if (between.some(({ type }) => type !== 'compliance.screening.completed')) continue;
    const opened = own.find(({ data }) => !['created', 'screening'].includes(data.object.status))!.data.object;
    const told = [shown.status, shown.risk.score, shown.fee.reserved, shown.approvals_required, shown.approvers];
    const made = [opened.status, opened.risk_score, opened.fee.reserved, opened.approvals_required, opened.approvers];
    if (JSON.stringify(told) !== JSON.stringify(made)) {
      found('decided-as-written', `a dry run says ${JSON.stringify(told)}, and ${intentId} is ${JSON.stringify(made)}`);
    }
    if (!shown.sufficient_funds && opened.status !== 'denied') {
      found('decided-as-written', `a dry run finds too little money, and ${intentId} is ${opened.status}`);
    }
  }
}

/**
 * The ends of transfers in a run without faults: each test amount has the outcome of its row in docs/wallet-api.md, and a plain
 * transfer that the policies allow is completed.
 */
import type { ToldEvent } from './documented-ledger.ts';
import { found } from './finding.ts';

/** The status and sub-status of an approved transfer at its end, by its amount. */
const ends: Readonly<Record<string, readonly [status: string, subStatus: string | null]>> = {
  '0.004421': ['failed', 'REJECTED_BY_PROVIDER'],
  '0.00441': ['failed', 'FAILED_ON_CHAIN'],
  '0.00477': ['completed', null],
  '0.004799': ['completed', null],
};
/** Their creation is refused. */
const refused = new Set(['0.004221', '0.004222']);
const slowAmount = '0.004408';
const slowMs = 10_000;
const plain = ['completed', null] as const;

interface Path {
  readonly amount: string;
  approvedMs: number;
  /** A token operation or a trade has its own rules, and a transfer may miss the money of one before. */
  readonly isOfModule: boolean;
}

/** Throws a Finding. */
export function checkOutcomes(events: readonly ToldEvent[]): void {
  const paths = new Map<string, Path>();
  for (const { type, sequence, timestamp, resource, data } of events) {
    if (resource.type !== 'transaction_intent') continue;
    const { amount, status, sub_status: subStatus, kind, origin, token, fee, replaced_by: replacedBy } = data.object;
    const atMs = Date.parse(timestamp);
    const path = paths.get(resource.id) ?? {
      ...{ amount: String(amount), approvedMs: Number.POSITIVE_INFINITY },
      isOfModule: kind !== 'transfer' || origin !== null || token !== null,
    };
    paths.set(resource.id, path);
    if (path.isOfModule) continue;
    const about = `event ${sequence} ${type} of ${resource.id} (${amount})`;
    if (refused.has(path.amount)) found('answers-as-modelled', `${about}: the provider refuses this amount`);
    if (status === 'approved') path.approvedMs = Math.min(path.approvedMs, atMs);
    if (status !== 'completed' && status !== 'failed') continue;
    // "A completed intent has the sub-status `NOT_FINAL` until nothing can undo it"; that it ends is checked at rest.
    if (status === 'completed' && subStatus === 'NOT_FINAL') continue;
    // Its replacement was mined.
    if (status === 'failed' && subStatus === 'REPLACED' && replacedBy !== null) continue;
    const wanted = ends[path.amount] ?? plain;
    if (status !== wanted[0] || subStatus !== wanted[1])
      found('answers-as-modelled', `${about} ends as ${status} ${subStatus}, not as ${wanted.join(' ')}`);
    if (path.amount === slowAmount && atMs - path.approvedMs < slowMs)
      found('answers-as-modelled', `${about} is over ${atMs - path.approvedMs} ms after its approval`);
    if (subStatus === 'FAILED_ON_CHAIN' && Number(fee.paid) === 0)
      found('books-as-documented', `${about} was mined, and shows a fee of ${fee.paid}`);
  }
}

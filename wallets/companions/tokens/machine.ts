/**
 * Every transition of an order from one version to the next, as pure functions. Each returns the earlier record and every
 * status on the way; one change writes all of them, as the next version. If the table in states.ts does not allow a step, the
 * function throws: callers check before.
 */
import { approversOf, type IntentVerdict, type Vote } from '../../custody/intents/public.ts';
import type { OrderRecord, ReserveCheck, TokenFailure } from './record.ts';
import { mayFollow, type OrderStatus } from './states.ts';

export interface OrderMove {
  /** undefined: the order is new. */
  readonly before: OrderRecord | undefined;
  /** At least one; the last one is stored. */
  readonly passed: readonly OrderRecord[];
}

export type OrderDraft = Omit<
  OrderRecord,
  | 'version'
  | 'status'
  | 'subStatus'
  | 'reserveCheck'
  | 'approvals'
  | 'approvalsRequired'
  | 'approvers'
  | 'error'
  | 'statusHistory'
  | 'createdAtMs'
  | 'updatedAtMs'
  | 'expiresAtMs'
>;

export function lastOrder({ passed }: OrderMove): OrderRecord {
  return passed[passed.length - 1]!;
}

/** created → the decision of compliance, risk and policy on its transaction. */
export function openOrder(draft: OrderDraft, verdict: IntentVerdict, nowMs: number): OrderMove {
  const pending = verdict.kind === 'pendingApproval' ? verdict : undefined;
  const created: OrderRecord = {
    ...draft,
    version: 1,
    status: 'created',
    subStatus: null,
    reserveCheck: null,
    approvals: [],
    approvalsRequired: pending?.quorum ?? 0,
    approvers: pending?.approvers ?? [],
    error: null,
    statusHistory: [{ status: 'created', subStatus: null, atMs: nowMs }],
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    expiresAtMs: nowMs + (pending?.timeoutMs ?? 0),
  };
  const entered = (status: OrderStatus, subStatus: string | null): OrderMove => ({
    before: undefined,
    passed: [created, enter(created, status, subStatus, nowMs)],
  });
  switch (verdict.kind) {
    case 'approved':
      return entered('reserve_check', null);
    case 'pendingApproval':
      return entered('pending_approval', 'AWAITING_APPROVAL');
    case 'denied':
      return entered('rejected', verdict.subStatus);
  }
}

/** A vote on an order that awaits approval, by an approver who has not voted this way yet. */
export function voteOnOrder(record: OrderRecord, vote: Vote): OrderMove {
  if (record.status !== 'pending_approval') throw new Error(`an order that is ${record.status} takes no vote`);
  if (vote.by === record.initiator) throw new Error('the initiator of an order has no vote');
  const voted = next(record, { approvals: [...record.approvals, vote] }, vote.atMs);
  if (vote.decision === 'reject') {
    return { before: record, passed: [enter(voted, 'rejected', 'REJECTED_BY_APPROVER', vote.atMs)] };
  }
  if (approversOf(voted).size < record.approvalsRequired) return { before: record, passed: [voted] };
  return { before: record, passed: [enter(voted, 'reserve_check', null, vote.atMs)] };
}

/** Cap and reserve allow it, and its signing begins. */
export function beginOrder(record: OrderRecord, reserveCheck: ReserveCheck, nowMs: number): OrderMove {
  return { before: record, passed: [enter(next(record, { reserveCheck }, nowMs), 'processing', null, nowMs)] };
}

/** Nothing was signed, and nothing will be. `check`: the findings, if the reserve is the reason. */
export function rejectOrder(
  record: OrderRecord,
  subStatus: string,
  error: TokenFailure | null,
  nowMs: number,
  check: ReserveCheck | null = null,
): OrderMove {
  const patched = next(record, { error, reserveCheck: check }, nowMs);
  return { before: record, passed: [enter(patched, 'rejected', subStatus, nowMs)] };
}

export function completeOrder(record: OrderRecord, nowMs: number): OrderMove {
  return { before: record, passed: [enter(next(record, {}, nowMs), 'completed', null, nowMs)] };
}

export function failOrder(record: OrderRecord, subStatus: string, error: TokenFailure, nowMs: number): OrderMove {
  return { before: record, passed: [enter(next(record, { error }, nowMs), 'failed', subStatus, nowMs)] };
}

/** The next version, in the same status. Clocks of two gateways differ: times never go back. */
function next(record: OrderRecord, patch: Partial<OrderRecord>, nowMs: number): OrderRecord {
  return { ...record, ...patch, version: record.version + 1, updatedAtMs: Math.max(record.updatedAtMs, nowMs) };
}

/** Another status in the same version. */
function enter(record: OrderRecord, status: OrderStatus, subStatus: string | null, nowMs: number): OrderRecord {
  if (!mayFollow(record.status, status)) throw new Error(`an order that is ${record.status} cannot become ${status}`);
  const atMs = Math.max(record.updatedAtMs, nowMs);
  return {
    ...record,
    status,
    subStatus,
    statusHistory: [...record.statusHistory, { status, subStatus, atMs }],
    updatedAtMs: atMs,
  };
}

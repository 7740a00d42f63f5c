/**
 * All transitions of an intent from one version to the next, as pure functions. Each returns a `Move`: the previous record, and
 * every status that it passes, in order. A move is written in one change, so all its statuses have one version, one above the
 * last. The table in states.ts must allow each step, else the function throws: callers check before, so that is a bug.
 */
import { isMessage } from '../../providers/port/kinds.ts';
import { type FillerTransaction, notFinal, reorged, type TransferProgress } from '../../providers/port/port.ts';
import { type IntentRecord, isSettled, type StatusChange, type Vote } from './record.ts';
import { type IntentStatus, isFinal, isSubmitted, mayFollow } from './states.ts';

export interface Move {
  /** undefined: the intent is new. */
  readonly before: IntentRecord | undefined;
  /** At least one; the last is what is stored. Where the status differs from the one before, an event says so; where none does, an event says that it was updated. */
  readonly passed: readonly IntentRecord[];
}

/** The data of an intent before its evaluation. */
export type IntentDraft = Omit<
  IntentRecord,
  | 'version'
  | 'status'
  | 'subStatus'
  | 'approvals'
  | 'approvalsRequired'
  | 'approvers'
  | 'feePaid'
  | 'providerTxId'
  | 'providerStatus'
  | 'providerError'
  | 'submission'
  | 'attempts'
  | 'gap'
  | 'filler'
  | 'cancellation'
  | 'replacedBy'
  | 'statusHistory'
  | 'createdAtMs'
  | 'updatedAtMs'
  | 'expiresAtMs'
>;

export type IntentVerdict =
  /** `votes`: those that were given before it became an intent. */
  | { readonly kind: 'approved'; readonly votes?: Pick<IntentRecord, 'approvals' | 'approvalsRequired' | 'approvers'> }
  | {
      readonly kind: 'pendingApproval';
      readonly quorum: number;
      /** Empty: any caller with the scope. */
      readonly approvers: readonly string[];
      readonly timeoutMs: number;
    }
  | { readonly kind: 'denied'; readonly subStatus: string };

export interface IntentFailure {
  readonly providerTxId: string | null;
  readonly providerStatus: string | null;
  readonly subStatus: string;
  readonly error: { readonly code: string; readonly message: string };
  /** What the provider's adapter has left last, if it says so now. */
  readonly submission?: unknown;
}

export interface Fee {
  readonly asset: string;
  readonly units: bigint;
}

/** An approved intent that is not signed expires after a day. */
export const approvedLifetimeMs = 24 * 3_600_000;

/** Entries of an intent's history, and how many of them are never dropped: all of a life without reorganisations. */
const historyMax = 64;
const historyFirst = 10;

const onTheWay = ['signing', 'broadcasting', 'confirming', 'completed'] as const;
const ofMessage = ['signing', 'completed'] as const;

export function lastOf(move: Move): IntentRecord {
  return move.passed[move.passed.length - 1]!;
}

/** created → screening → the result of the evaluators. */
export function openIntent(draft: IntentDraft, verdict: IntentVerdict, nowMs: number): Move {
  const pending = verdict.kind === 'pendingApproval' ? verdict : undefined;
  const created: IntentRecord = {
    ...draft,
    version: 1,
    status: 'created',
    subStatus: null,
    approvals: [],
    approvalsRequired: pending?.quorum ?? 0,
    approvers: pending?.approvers ?? [],
    ...(verdict.kind === 'approved' && verdict.votes),
    feePaid: null,
    providerTxId: null,
    providerStatus: null,
    providerError: null,
    submission: null,
    attempts: 0,
    statusHistory: [{ status: 'created', subStatus: null, atMs: nowMs }],
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    expiresAtMs: nowMs + (pending?.timeoutMs ?? approvedLifetimeMs),
  };
  const screening = enter(created, 'screening', null, nowMs);
  switch (verdict.kind) {
    case 'approved':
      return { before: undefined, passed: [created, screening, enter(screening, 'approved', null, nowMs)] };
    case 'pendingApproval':
      return {
        before: undefined,
        passed: [created, screening, enter(screening, 'pending_approval', 'AWAITING_APPROVAL', nowMs)],
      };
    case 'denied':
      return { before: undefined, passed: [created, screening, enter(screening, 'denied', verdict.subStatus, nowMs)] };
  }
}

/** What has votes: an intent, or what a module lets its approvers decide. */
type Voted = Pick<IntentRecord, 'approvals'>;

/** The approvers; a vote counts once. */
export function approversOf(record: Voted): ReadonlySet<string> {
  return new Set(record.approvals.filter(({ decision }) => decision === 'approve').map(({ by }) => by));
}

/** True when this actor voted so before: then nothing changes. */
export function hasVoted(record: Voted, by: string, decision: Vote['decision']): boolean {
  return record.approvals.some((vote) => vote.by === by && vote.decision === decision);
}

/** A vote on an intent that awaits approval, by an approver who has not voted this way yet. */
export function voteOn(record: IntentRecord, vote: Vote): Move {
  if (record.status !== 'pending_approval') throw new Error(`an intent that is ${record.status} takes no vote`);
  if (vote.by === record.initiator) throw new Error('the initiator of an intent has no vote');
  if (hasVoted(record, vote.by, vote.decision)) throw new Error('a voice counts once');
  const voted = next(record, { approvals: [...record.approvals, vote] }, vote.atMs);
  if (vote.decision === 'reject') return { before: record, passed: [enter(voted, 'rejected', null, vote.atMs)] };
  if (approversOf(voted).size < record.approvalsRequired) return { before: record, passed: [voted] };
  const approved = enter(voted, 'approved', null, vote.atMs);
  return { before: record, passed: [{ ...approved, expiresAtMs: vote.atMs + approvedLifetimeMs }] };
}

export function cancelIntent(record: IntentRecord, by: string, reason: string | null, nowMs: number): Move {
  const cancelled = next(record, { cancellation: { by, reason, atMs: nowMs } }, nowMs);
  return { before: record, passed: [enter(cancelled, 'cancelled', null, nowMs)] };
}

export function expireIntent(record: IntentRecord, nowMs: number): Move {
  if (nowMs < record.expiresAtMs) throw new Error('an intent cannot expire before its time is over');
  return { before: record, passed: [enter(next(record, {}, nowMs), 'expired', null, nowMs)] };
}

/** From here on the provider may act, so only the provider can end the transfer. */
export function beginSigning(record: IntentRecord, nowMs: number): Move {
  return { before: record, passed: [enter(next(record, {}, nowMs), 'signing', null, nowMs)] };
}

/**
 * The provider's progress of a successful transfer; undefined when there is no news. The move passes skipped stages, and returns to
 * an earlier one only when a reorganisation undoes a completed transfer: its fee stays as it was paid.
 */
export function advanceIntent(
  record: IntentRecord,
  progress: Exclude<TransferProgress, { stage: 'failed' }>,
  nowMs: number,
): Move | undefined {
  if (record.status !== 'completed' || isSettled(record)) checkAtProvider(record);
  const stages: readonly IntentStatus[] = isMessage(record.kind) ? ofMessage : onTheWay;
  const from = stages.indexOf(record.status);
  const to = stages.indexOf(progress.stage);
  const completed = progress.stage === 'completed';
  const subStatus = !completed ? progress.subStatus : progress.againAtMs === undefined ? null : notFinal;
  const undone = record.status === 'completed' && subStatus === reorged;
  if (record.status === 'completed' && !completed && !undone) return undefined;
  const updated = next(
    record,
    {
      subStatus,
      attempts: 0,
      providerTxId: progress.providerTxId ?? record.providerTxId,
      providerStatus: progress.providerStatus,
      submission: progress.submission ?? (completed ? record.submission : null),
      // The ledger takes it when the intent completes, once.
      ...(completed && record.status !== 'completed' && { feePaid: feeText(progress.feePaid) }),
    },
    nowMs,
  );
  if (undone) return { before: record, passed: [enter(updated, 'confirming', subStatus, nowMs)] };
  if (to <= from) return saysNothingNew(record, updated) ? undefined : { before: record, passed: [updated] };
  const passed: IntentRecord[] = [];
  let current = updated;
  for (const status of stages.slice(from + 1, to + 1)) {
    current = enter(current, status, status === progress.stage ? subStatus : null, nowMs);
    passed.push(current);
  }
  return { before: record, passed };
}

/**
 * The step failed and will be retried. Undefined when that has been recorded already: an unreachable provider
 * for hours makes no version, and no event, of every attempt (`triedAgain`).
 */
export function holdIntent(record: IntentRecord, subStatus: string, nowMs: number): Move | undefined {
  if (isFinal(record.status)) throw new Error(`an intent that is ${record.status} is final`);
  if (record.subStatus === subStatus) return undefined;
  return { before: record, passed: [next(triedAgain(record), { subStatus }, nowMs)] };
}

/** The same version, with one attempt more: known to the process that makes them, and written with the next version. */
export function triedAgain(record: IntentRecord): IntentRecord {
  return { ...record, attempts: record.attempts + 1 };
}

/** It failed for good; its reservations are released except for the fee. `filler`: the transaction that used its nonce. */
export function failIntent(
  record: IntentRecord,
  failure: IntentFailure,
  feePaid: Fee,
  nowMs: number,
  filler?: FillerTransaction,
): Move {
  const patch = { ...failurePatch(record, failure), feePaid: feeText(feePaid), ...(filler && { filler }) };
  const { gap: _, ...failed } = enter(next(record, patch, nowMs), 'failed', failure.subStatus, nowMs);
  return { before: record, passed: [failed] };
}

/** It failed for good, but its nonce must still be released or filled: it keeps its status and reservations until then. */
export function openGap(record: IntentRecord, failure: IntentFailure, nowMs: number): Move {
  checkAtProvider(record);
  return { before: record, passed: [next(record, { ...failurePatch(record, failure), gap: 'open' }, nowMs)] };
}

/** Another intent is to replace it, from now on. */
export function offerReplacement(record: IntentRecord, replacedBy: string, nowMs: number): Move {
  checkAtProvider(record);
  return { before: record, passed: [next(record, { replacedBy }, nowMs)] };
}

/** Decided: an empty transaction takes the number. */
export function fillGapOf(record: IntentRecord, nowMs: number): Move {
  if (record.gap !== 'open') throw new Error('there is no gap to fill');
  return { before: record, passed: [next(record, { gap: 'filled' }, nowMs)] };
}

/** The failure of an intent with a gap, as `openGap` noted it. */
export function failureOf(record: IntentRecord): IntentFailure {
  const { providerError, providerTxId, providerStatus, subStatus } = record;
  if (record.gap === undefined || providerError === null) throw new Error('this intent has not failed');
  return { providerTxId, providerStatus, subStatus: subStatus ?? 'FAILED', error: providerError };
}

function checkAtProvider({ status, gap }: IntentRecord): void {
  if (!isSubmitted(status)) throw new Error(`an intent that is ${status} is not at its provider`);
  if (gap !== undefined) throw new Error('this intent has failed: nothing but its number is left to settle');
}

function failurePatch(record: IntentRecord, failure: IntentFailure): Partial<IntentRecord> {
  return {
    subStatus: failure.subStatus,
    providerTxId: failure.providerTxId ?? record.providerTxId,
    providerStatus: failure.providerStatus ?? record.providerStatus,
    providerError: failure.error,
    submission: failure.submission ?? record.submission,
  };
}

export function tamperedFailure(message: string): IntentFailure {
  const code = 'RECORD_TAMPERED';
  return { providerTxId: null, providerStatus: null, subStatus: code, error: { code, message } };
}

/** The next version, in the same status. Clocks of two gateways differ: times never go back. */
function next(record: IntentRecord, patch: Partial<IntentRecord>, nowMs: number): IntentRecord {
  return { ...record, ...patch, version: record.version + 1, updatedAtMs: Math.max(record.updatedAtMs, nowMs) };
}

/** Another status in the same version. */
function enter(record: IntentRecord, status: IntentStatus, subStatus: string | null, nowMs: number): IntentRecord {
  if (!mayFollow(record.status, status)) throw new Error(`an intent that is ${record.status} cannot become ${status}`);
  const atMs = Math.max(record.updatedAtMs, nowMs);
  return {
    ...record,
    status,
    subStatus,
    attempts: 0,
    statusHistory: withinHistory([...record.statusHistory, { status, subStatus, atMs }]),
    updatedAtMs: atMs,
  };
}

/** A reorganisation adds two, as often as a sandbox has one: the states of its first life stay, and the newest. */
function withinHistory(history: readonly StatusChange[]): readonly StatusChange[] {
  return history.length <= historyMax ? history : history.toSpliced(historyFirst, 1);
}

function saysNothingNew(before: IntentRecord, after: IntentRecord): boolean {
  return (
    before.subStatus === after.subStatus &&
    before.providerTxId === after.providerTxId &&
    before.providerStatus === after.providerStatus &&
    JSON.stringify(before.submission) === JSON.stringify(after.submission)
  );
}

function feeText({ asset, units }: Fee): { asset: string; units: string } {
  return { asset, units: units.toString() };
}

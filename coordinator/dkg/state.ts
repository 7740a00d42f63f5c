/**
 * The state of a DKG session's actor: the durable record, and the work in hand.
 *
 * The work is volatile and changes in place: nodes keep what they dealt and verified, and answer a repeated request
 * alike, so a coordinator that starts anew asks again. What a write decides is replaced, never changed in place.
 */
import type { Context, Step } from '../../actors/contract.ts';
import type { DkgTerms } from '../../crypto/dkg-transcripts.ts';
import type { Method } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { DkgFinished, DkgOpening, SealedShare } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { rosterDigest } from '../../proto/roster.ts';
import type { SessionConfig } from '../config.ts';
import {
  type ClientCall,
  type CoordinatorEffect,
  type CoordinatorMessage,
  type CoordinatorWrite,
  clusterAddress,
} from '../messages.ts';
import { type Answer, proofOf } from '../session/receipts.ts';
import type { DkgRecord, KeyRecord, SessionOf } from '../session/record.ts';
import { replyEffect, type StepResult } from '../session/replies.ts';
import { isTerminal } from '../session/transitions.ts';

export type DkgSession = SessionOf<DkgRecord>;
export type InitiateDkgCall = Extract<ClientCall, { method: Method.INITIATE_DKG }>;
export type ExchangeCall = Extract<ClientCall, { method: Method.EXCHANGE_DKG_SHARES }>;

/** An ordered pair, "dealer>recipient". */
export type Pair = `${number}>${number}`;

export function pair(dealer: number, recipient: number): Pair {
  return `${dealer}>${recipient}`;
}

/** One call in hand. */
export interface Job {
  readonly call: ExchangeCall;
  /** What it asks for, without the pairs of played dealers. */
  readonly pairs: readonly (readonly [dealer: number, recipient: number])[];
  /** One pair that the caller named: it does not fail the session when a node is away. */
  readonly single: boolean;
  /** The caller plays the dealer. */
  readonly offer: { readonly dealer: number; readonly recipient: number } | undefined;
}

export interface DkgWork {
  readonly inbox: ClientCall[];
  readonly jobs: Job[];
  /** What real dealers opened with in this attempt. */
  readonly openings: Map<number, DkgOpening>;
  readonly boxes: Map<Pair, SealedShare>;
  /** At least what the record has. */
  readonly verified: Set<Pair>;
  readonly finished: Map<number, DkgFinished>;
  readonly confirmed: Set<number>;
  /** Requests under way, "node/kind". */
  readonly flights: Set<string>;
  watching: boolean;
  ready: ReadonlySet<number> | undefined;
}

export type DkgState =
  | { readonly phase: 'unborn' }
  | { readonly phase: 'opening'; readonly call: InitiateDkgCall; readonly record: DkgSession }
  | { readonly phase: 'open'; readonly record: DkgSession; readonly work: DkgWork };

export type OpenDkg = Extract<DkgState, { phase: 'open' }>;
export type DkgStep = Step<DkgState, CoordinatorMessage, CoordinatorWrite>;

export interface DkgTurn {
  state: OpenDkg;
  readonly effects: CoordinatorEffect[];
  persisted: boolean;
  readonly context: Context;
  readonly config: SessionConfig;
}

export function noDkgWork(record: DkgSession): DkgWork {
  return {
    inbox: [],
    jobs: [],
    openings: new Map(),
    boxes: new Map(),
    verified: new Set(record.ceremony.verified as readonly Pair[]),
    finished: new Map(),
    confirmed: new Set(),
    flights: new Set(),
    watching: false,
    ready: undefined,
  };
}

export function waitingDkgCalls(work: DkgWork): ClientCall[] {
  return [...work.jobs.map((job) => job.call), ...work.inbox];
}

export function nodeIds(record: DkgSession): number[] {
  return Array.from({ length: record.ceremony.totalNodes }, (_, index) => index + 1);
}

export function isPlayed(record: DkgSession, dealer: number): boolean {
  return record.ceremony.played[dealer] !== undefined;
}

export function termsOf(record: DkgSession, config: SessionConfig): DkgTerms {
  const { curve, threshold, totalNodes, attempt } = record.ceremony;
  return {
    tenant: record.tenant,
    session: record.sessionId,
    attempt,
    rosterDigest: rosterDigest(config.roster),
    curve,
    threshold,
    totalNodes,
  };
}

export function replyDkg(turn: DkgTurn, call: ClientCall, given: Answer, result: StepResult = {}): void {
  const { record } = turn.state;
  turn.effects.push(replyEffect(call, proofOf(call, given, record, turn.config.resumeKey, turn.context), result));
}

/** Decides the session's next record; answers come after this call. */
export function commitDkg(turn: DkgTurn, record: DkgSession, work: DkgWork, key?: KeyRecord): void {
  if (turn.persisted) throw new Error('a step has one write');
  turn.persisted = true;
  turn.effects.push({ kind: 'persist', write: { kind: 'update', session: record, ...(key ? { key } : {}) } });
  turn.state = { phase: 'open', record, work };
  turn.effects.push(dkgEvent(record));
}

/** No more interest in nodes. */
export function leaveDkgRound(turn: DkgTurn): void {
  const { work } = turn.state;
  if (!work.watching) return;
  turn.effects.push(
    { kind: 'send', to: clusterAddress, message: { kind: 'unwatch' } },
    { kind: 'cancelTimer', name: 'repeat' },
    { kind: 'cancelTimer', name: 'nodes' },
  );
  work.watching = false;
  work.ready = undefined;
  work.flights.clear();
}

export function dkgStepOf(turn: DkgTurn): DkgStep {
  const { record, work } = turn.state;
  const waits = work.inbox.length > 0 || work.jobs.length > 0;
  // Calls that had to wait for the round's end go on, too.
  if ((turn.persisted && waits) || (work.inbox.length > 0 && work.jobs.length === 0)) {
    turn.effects.push({ kind: 'send', to: turn.context.self, message: { kind: 'continue' } });
  } else if (!waits && isTerminal(record.state)) {
    turn.effects.push({ kind: 'stop' });
  }
  return { state: turn.state, effects: turn.effects };
}

export function dkgEvent(record: DkgSession, culprits: readonly number[] = []): CoordinatorEffect {
  const { tenant, sessionId, reasonCode, epoch, ceremony } = record;
  return {
    kind: 'emit',
    event: {
      type: `dkg.session.${ReceiptState[record.state].toLowerCase()}`,
      level: culprits.length > 0 ? 'error' : 'debug',
      fields: { tenant, session: sessionId, reason: reasonCode, epoch, attempt: ceremony.attempt, culprits },
    },
  };
}

/**
 * The state of a DKG session's actor: the durable record, and the volatile work.
 *
 * Nodes store the shares that they dealt and verified, and repeat their answers, so a restarted coordinator asks them again.
 */
import { create } from '@bufbuild/protobuf';
import type { Context, Step } from '../../core/actors/contract.ts';
import type { DkgTerms, RefreshedKey } from '../../core/crypto/dkg-transcripts.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import {
  type DkgFinished,
  DkgFinishedSchema,
  type DkgOpening,
  type SealedShare,
} from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { ownKeysOf } from '../../proto/key-schemes.ts';
import { nodesMax } from '../../proto/limits.ts';
import { rosterDigest } from '../../proto/roster.ts';
import type { SessionConfig } from '../contract/config.ts';
import {
  type ClientCall,
  type CoordinatorMessage,
  type CoordinatorWrite,
  clusterAddress,
  type InspectCall,
  type LocalMessage,
} from '../contract/messages.ts';
import { type DkgRecord, type KeyRecord, type SessionOf, versionOf } from '../contract/record.ts';
import { isOpen } from '../contract/transitions.ts';
import { verifiedPairsOf } from '../session/retained.ts';
import { beginTurn, hasWritten, type SessionStep } from '../session/turn.ts';

export type DkgSession = SessionOf<DkgRecord>;
/** What begins a session. */
export type InitiateDkgCall = Extract<ClientCall, { method: 'initiateDkg' | 'makeKey' }>;
/** What begins the session of a refresh. */
export type RefreshCall = Extract<ClientCall, { method: 'refreshKey' }>;
export type ExchangeCall = Extract<ClientCall, { method: 'exchangeDkgShares' }>;

/** An ordered pair, "dealer>recipient". */
export type Pair = `${number}>${number}`;

/** Names of pairs, by dealer and recipient: a round asks for each of them hundreds of times. */
const pairNames: Pair[][] = [];

export function pair(dealer: number, recipient: number): Pair {
  // A call with an impossible node id stores nothing in memory.
  if (!(dealer >= 0 && dealer <= nodesMax && recipient >= 0 && recipient <= nodesMax)) return `${dealer}>${recipient}`;
  pairNames[dealer] ??= [];
  const names = pairNames[dealer];
  names[recipient] ??= `${dealer}>${recipient}`;
  return names[recipient];
}

/** One call in hand. */
export interface Job {
  readonly call: ExchangeCall;
  /** What it asks for, without the pairs of client-supplied dealers. */
  readonly pairs: readonly (readonly [dealer: number, recipient: number])[];
  /** One pair named by the caller: an unreachable node does not fail the session. */
  readonly single: boolean;
  /** The caller supplies the dealer's share. */
  readonly offer: { readonly dealer: number; readonly recipient: number } | undefined;
}

export type RequestCase = 'dkgOpen' | 'dkgSeal' | 'dkgVerify' | 'dkgConfirm';

/** A request that has no answer yet. */
export interface UnansweredRequest {
  readonly nodeId: number;
  readonly kind: RequestCase;
  /** Of dkgVerify: the dealers whose shares went with it; empty: it asked for the result only. */
  readonly dealers: readonly number[];
  /** Of dkgVerify: the call whose share it carried. */
  readonly job: Job | undefined;
}

/** A turn changes the collections of its own draft (`beginDkgTurn`); their elements never change. */
export interface DkgWork {
  /** Unhandled calls, oldest first. */
  readonly inbox: ClientCall[];
  readonly jobs: Job[];
  /** The openings of real dealers in this attempt, already checked. */
  readonly openings: Map<number, DkgOpening>;
  /** By dealer and recipient. */
  readonly boxes: Map<number, ReadonlyMap<number, SealedShare>>;
  /** At least what the record has. */
  readonly verified: Set<Pair>;
  /** Verified shares that clients gave for nodes other than their dealer: 32 bytes each, secret, in memory only. */
  readonly supplied: Map<Pair, Uint8Array>;
  readonly finished: Map<number, DkgFinished>;
  readonly confirmed: Set<number>;
  /** Nodes that draws select last now; a new attempt begins without them, as far as others can replace them. */
  suspects: readonly number[];
  /** Requests under way, "node/kind". */
  readonly flights: Set<string>;
  /** For nodes that owe an answer: repetitions without a new message from them. */
  readonly silence: Map<number, number>;
  /** Requests without an answer, by their number, oldest first. */
  readonly asked: Map<number, UnansweredRequest>;
  /** 0: no request yet. */
  lastRequest: number;
  /** Real dealers whose share a recipient has: a client can no longer supply them. */
  readonly dealt: Set<number>;
  /** Dealers of which a recipient has a client-supplied share. */
  readonly offered: Set<number>;
  /**
   * This actor sent every request of this attempt. Only then does a contradiction between the relayed messages and a node's
   * claim prove a fault: an actor that was loaded from the record does not know what its predecessor relayed.
   */
  readonly sawAll: boolean;
  watching: boolean;
  ready: ReadonlySet<number> | undefined;
  /** Inspections that wait until the key is loaded. */
  inspections: readonly InspectCall[];
}

/** A call of a client or a gateway about the session. */
export type WaitingCall = Extract<LocalMessage, { kind: 'clientCall' | 'inspectCall' }>;

export type DkgCeremonyState =
  /** `tampered`: its record is not as a coordinator wrote it. */
  | { readonly phase: 'notCreated'; readonly tampered: boolean }
  /** The key of a refresh is loading. `later`: calls that came meanwhile, handled afterwards. */
  | { readonly phase: 'keyLoading'; readonly call: RefreshCall; readonly later: readonly WaitingCall[] }
  | { readonly phase: 'opening'; readonly call: InitiateDkgCall | RefreshCall; readonly record: DkgSession }
  | OpenDkg;

export type OpenDkg = { readonly phase: 'open'; readonly record: DkgSession; readonly work: DkgWork };
export type DkgStep = Step<DkgCeremonyState, CoordinatorMessage, CoordinatorWrite>;

export type DkgSessionStep = SessionStep<DkgSession, DkgWork>;

/** `sawAll`: the record's attempt begins with this work. */
export function noDkgWork(record: DkgSession, sawAll: boolean): DkgWork {
  return {
    inbox: [],
    jobs: [],
    openings: new Map(),
    boxes: new Map(),
    verified: new Set(verifiedPairsOf(record.ceremony) as readonly Pair[]),
    supplied: new Map(),
    finished: new Map(record.ceremony.mayBeFinal ? signedResults(record).map((result) => [result.nodeId, result]) : []),
    confirmed: new Set(),
    suspects: [],
    flights: new Set(),
    silence: new Map(),
    asked: new Map(),
    lastRequest: 0,
    dealt: new Set(),
    offered: new Set(),
    sawAll,
    watching: false,
    ready: undefined,
    inspections: [],
  };
}

/** The number of sealed shares that dealers have made. */
export function boxCount({ boxes }: DkgWork): number {
  return [...boxes.values()].reduce((sum, { size }) => sum + size, 0);
}

/** Every node's signed result, once a node was asked to confirm them. None of a record of an earlier version. */
export function signedResults(record: DkgSession): DkgFinished[] {
  const { confirmation, result = record.ceremony } = record.ceremony;
  if (confirmation === undefined) return [];
  const bytes = (hex: string) => Buffer.from(hex, 'hex');
  return nodeIds(record).map((nodeId, index) =>
    create(DkgFinishedSchema, {
      nodeId,
      publicKey: bytes(result.publicKey),
      verificationShares: confirmation.verificationShares.map(bytes),
      chainCode: bytes(result.chainCode ?? ''),
      transcriptDigest: bytes(confirmation.transcriptDigest),
      signature: bytes(confirmation.signatures[index] ?? ''),
    }),
  );
}

export function waitingDkgCalls(work: DkgWork): ClientCall[] {
  return [...work.jobs.map((job) => job.call), ...work.inbox];
}

/** It does not change the given state, so a refused write changes nothing. */
export function beginDkgTurn({ record, work }: OpenDkg, context: Context, config: SessionConfig): DkgSessionStep {
  const draft: DkgWork = {
    ...work,
    inbox: [...work.inbox],
    jobs: [...work.jobs],
    openings: new Map(work.openings),
    boxes: new Map(work.boxes),
    verified: new Set(work.verified),
    supplied: new Map(work.supplied),
    finished: new Map(work.finished),
    confirmed: new Set(work.confirmed),
    flights: new Set(work.flights),
    silence: new Map(work.silence),
    asked: new Map(work.asked),
    dealt: new Set(work.dealt),
    offered: new Set(work.offered),
  };
  return beginTurn({ phase: 'open', record, work: draft }, context, config);
}

/** The nodes of the attempt, ascending. */
export function nodeIds(record: DkgSession): readonly number[] {
  return participantsOf(record.ceremony);
}

export function isClientSupplied(record: DkgSession, dealer: number): boolean {
  return record.ceremony.played[dealer] !== undefined;
}

/** The opening of a dealer whose commitments a client gave. */
export function suppliedOpening(dealer: number, commitments: Uint8Array[]) {
  const none = new Uint8Array();
  return { dealer, commitments, possession: none, sealingKey: none, signature: none, clientSupplied: true };
}

export function sortedPairs(pairs: ReadonlySet<Pair>): Pair[] {
  const placed = Array.from(pairs, (name) => {
    const [dealer, recipient] = name.split('>');
    return { name, place: Number(dealer) * (nodesMax + 1) + Number(recipient) };
  });
  return placed.sort((a, b) => a.place - b.place).map(({ name }) => name);
}

export function termsOf(record: DkgSession, config: SessionConfig): DkgTerms {
  const { curve, threshold, totalNodes, participants, attempt, scheme = '', refreshes } = record.ceremony;
  return {
    ...(refreshes && { refresh: refreshedKey(refreshes.key) }),
    tenant: record.tenant,
    session: record.sessionId,
    attempt,
    rosterDigest: rosterDigest(config.roster),
    curve,
    threshold,
    totalNodes,
    scheme,
    ownKeys: ownKeysOf(scheme),
    participants,
  };
}

function refreshedKey(key: KeyRecord): RefreshedKey {
  const bytes = (hex: string) => Buffer.from(hex, 'hex');
  return {
    keyId: key.keyId,
    version: versionOf(key) + 1,
    chainCode: bytes(key.chainCode),
    verificationShares: key.verificationShares.map(bytes),
  };
}

/** No more interest in nodes. */
export function leaveDkgRound(turn: DkgSessionStep): void {
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

/** The step of a turn: it continues without a new input when calls wait behind a write, and leaves memory when none waits and the
 * session is not open. */
export function dkgStepOf(turn: DkgSessionStep): DkgStep {
  const { record, work } = turn.state;
  const waits = work.inbox.length > 0 || work.jobs.length > 0;
  // Calls that waited for the round's end continue, too.
  if ((waits && hasWritten(turn)) || (work.inbox.length > 0 && work.jobs.length === 0)) {
    turn.effects.push({ kind: 'send', to: turn.context.self, message: { kind: 'continue' } });
  } else if (!waits && work.inspections.length === 0 && !isOpen(record.state)) {
    turn.effects.push({ kind: 'stop' });
  }
  return { state: turn.state, effects: turn.effects };
}

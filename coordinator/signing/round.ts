/**
 * The signing round: from nonces to enough partial signatures. Everything that determines the state of a round is in this
 * file: the union of its states, the table of its transitions, and one function for each transition.
 *
 * Theory of operation
 * ===================
 *
 * A session needs `threshold` partial signatures over one message with one set of nonces. Nodes make nonces ahead; the
 * cluster actor stores them and gives out each once. The work with one set of drawn nonces is an *attempt* (attempt.ts). A
 * round is the sequence of attempts of one session:
 *
 *                                           ┌──── ask ─────▶
 *     idle ── draw ──▶ drawing ── drawn ──▶ asking        collecting ── end ──▶ done
 *                                           ◀── release ───┘
 *
 * - `idle`: there are no nonces, and no draw is open.
 * - `drawing`: the session has asked the cluster actor for nonces, under a ticket. It answers when enough nodes are ready.
 * - `asking`: the attempt has its nonces, and no node owes it an answer. Either nothing wants a partial yet (nonces are
 *   drawn when the session opens, so that its first call costs one round trip), or the next step asks nodes.
 * - `collecting`: at least one node owes an answer to a request for its partial.
 * - `done`: the session is not open: complete, failed, expired, revoked, denied, or waiting for a human.
 *
 * Three state machines run concurrently, and each has its own file:
 *
 * 1. The session (../session/transitions.ts) is durable. It determines whether a round exists: `done` means that the
 *    session is not open. A resume begins the round anew (`resume`).
 * 2. The round (this file) is only in memory, like its nonces. After a crash, or when an idle session has
 *    left memory, the next call starts from the record: a session that is open is `idle` again.
 * 3. The calls (queue.ts) determine the need: the whole signature, or the partials of single nodes. They arrive and end
 *    independently of the round. Previews of a sandbox (previews.ts) want partials, too, which do not count.
 *
 * Inputs of the session's actor cause transitions in two ways. An *event* moves the round directly: nonces arrive (`drawn`),
 * a node answers or cannot be reached (`release`), a partial counts (`take`). After every event, `advanceRound` (advance.ts)
 * compares the need with the state of the round and takes the next step: it requests a draw, asks nodes, completes the
 * signature, or abandons an attempt that cannot satisfy the need. So no transition depends on the order in which
 * calls and answers arrive.
 *
 * What ends an attempt
 * --------------------
 * `abandon` ends an attempt; another one follows while a call waits. Its nonces are spent. FROST binds the set of
 * signers into the signature, so an attempt is abandoned when a signer cannot answer, when its partial is wrong, or when a
 * call wants a node outside of the set. Mock ECDSA binds no set: other nodes replace those, in the same attempt.
 * `drop` removes partials that proved wrong.
 *
 * A round still records a partial that was received when its attempt ended, since a client was told so. It requests a node's own
 * partial again (`History.askAgain`). A client's is void (`History.voided`): no node can make it again, and the client is told.
 *
 * Invariants
 * ----------
 * - A transition that is not in the table is a bug and throws.
 * - No function changes values in place: each returns a new round, which shares with the old one what did not
 *   change. So a step whose write is refused leaves the round as it was (core/actors/contract.ts).
 * - A round has an attempt in `asking` and `collecting`, and in no other phase.
 * - A node is in `asked` only while it has no partial in the attempt.
 * - A draw's ticket is `History.draws`; nonces that come with another ticket are ignored.
 * - Attempt numbers rise by one, also across restarts (the record has the highest).
 */
import type { SigningRecord } from '../contract/record.ts';
import { isOpen, type SessionState } from '../contract/transitions.ts';
import { type Attempt, changedAttempt, type HeldPartial } from './attempt.ts';

/** The part of a round that outlives its attempts. */
interface History {
  /** The highest attempt number so far. */
  readonly attempts: number;
  /** Draws requested by this actor so far: the ticket of the latest. */
  readonly draws: number;
  /** Nodes whose own partial was lost with an attempt: the session asks them again, until it arrives. */
  readonly askAgain: ReadonlySet<number>;
  /** Nodes whose client-supplied partial was lost with it; the answer to the next accepted one tells clients. */
  readonly voided: ReadonlySet<number>;
}

interface Idle {
  readonly phase: 'idle';
  readonly history: History;
}

interface Drawing {
  readonly phase: 'drawing';
  readonly history: History;
}

interface Asking {
  readonly phase: 'asking';
  readonly history: History;
  readonly attempt: Attempt;
}

interface Collecting {
  readonly phase: 'collecting';
  readonly history: History;
  readonly attempt: Attempt;
  /** Nodes that owe an answer, in the order in which they were asked. Never empty. */
  readonly asked: ReadonlySet<number>;
}

interface Done {
  readonly phase: 'done';
  readonly history: History;
}

export type Round = Idle | Drawing | Asking | Collecting | Done;
export type RoundPhase = Round['phase'];

export type RoundEvent =
  /** The session requests nonces from the cluster. */
  | 'draw'
  /** The cluster gave nonces. */
  | 'drawn'
  /** The nonces do not make a round: a node lied about them. */
  | 'reject'
  /** The session asks nodes for their partials. */
  | 'ask'
  /** Nodes no longer owe an answer: they answered, are unreachable, or were silent for too long. */
  | 'release'
  /** A partial counts. */
  | 'take'
  /** Partials proved wrong. */
  | 'drop'
  /** The attempt cannot satisfy the need. */
  | 'abandon'
  /** No call waits. The attempt's nonces stay. */
  | 'leave'
  /** The session ended, or is paused. */
  | 'end'
  /** A paused session continues. */
  | 'resume';

/** The phases that may follow an event; any other transition is a bug. docs/signing-round.md draws it. */
export const roundTransitions: Readonly<
  Record<RoundPhase, Readonly<{ readonly [E in RoundEvent]?: readonly RoundPhase[] }>>
> = {
  idle: { draw: ['drawing'], end: ['done'] },
  drawing: { drawn: ['asking'], reject: ['idle'], leave: ['idle'], end: ['done'] },
  asking: { ask: ['collecting'], take: ['asking'], drop: ['asking'], abandon: ['idle'], end: ['done'] },
  collecting: {
    ask: ['collecting'],
    release: ['collecting', 'asking'],
    take: ['collecting', 'asking'],
    drop: ['collecting'],
    abandon: ['idle'],
    leave: ['asking'],
    end: ['done'],
  },
  done: { end: ['done'], resume: ['idle'] },
};

/** The phase that a session of this state begins in, or is loaded in. */
export function initialPhase(state: SessionState): 'idle' | 'done' {
  return isOpen(state) ? 'idle' : 'done';
}

const none: ReadonlySet<number> = new Set();

/** The round of a session that begins or was loaded: partials that were acknowledged to clients were lost with their attempt. */
export function newRound(state: SessionState, { attempt, submitted, given }: SigningRecord): Round {
  const phase = initialPhase(state);
  const lost = phase === 'idle' && submitted.length > 0;
  const askAgain = lost ? new Set(submitted.filter((id) => !given.includes(id))) : none;
  const voided = lost ? new Set(given) : none;
  return { phase, history: { attempts: attempt, draws: 0, askAgain, voided } };
}

/** The present attempt, if there is one. */
export function attemptOf(round: Round): Attempt | undefined {
  return round.phase === 'asking' || round.phase === 'collecting' ? round.attempt : undefined;
}

/** Nodes that owe an answer. */
export function askedOf(round: Round): ReadonlySet<number> {
  return round.phase === 'collecting' ? round.asked : none;
}

// --- transitions -------------------------------------------------------------------------------------------------------

function moved(round: Round, event: RoundEvent, next: Round): Round {
  if (!roundTransitions[round.phase][event]?.includes(next.phase)) {
    throw new Error(`a signing round has no transition ${round.phase} -${event}-> ${next.phase}`);
  }
  return next;
}

/** The ticket of the draw is `history.draws` of the returned round. */
export function drawRequested(round: Round): Round {
  const { history } = round;
  return moved(round, 'draw', { phase: 'drawing', history: { ...history, draws: history.draws + 1 } });
}

/** Whether the round waits for nonces with this ticket. */
export function awaitsDraw(round: Round, ticket: number): boolean {
  return round.phase === 'drawing' && round.history.draws === ticket;
}

/** `attempt.number` is the next one. */
export function noncesDrawn(round: Round, attempt: Attempt): Round {
  return moved(round, 'drawn', { phase: 'asking', history: { ...round.history, attempts: attempt.number }, attempt });
}

export function noncesRejected(round: Round): Round {
  return moved(round, 'reject', { phase: 'idle', history: round.history });
}

/** `ids`: at least one. */
export function nodesAsked(round: Round, ids: Iterable<number>, nowMs: number): Round {
  const { history } = round;
  const held = heldAttempt(round);
  const attempt = changedAttempt(held, { partials: held.partials, askedMs: nowMs, heardMs: undefined });
  return moved(round, 'ask', { phase: 'collecting', history, attempt, asked: new Set([...askedOf(round), ...ids]) });
}

/** Those that owe no answer are ignored. */
export function nodesReleased(round: Round, isReleased: (id: number) => boolean): Round {
  if (round.phase !== 'collecting') return round;
  const left = new Set<number>();
  for (const id of round.asked) if (!isReleased(id)) left.add(id);
  if (left.size === round.asked.size) return round;
  return moved(round, 'release', withAsked(round.history, round.attempt, left));
}

export function partialTaken(round: Round, nodeId: number, partial: HeldPartial, nowMs: number): Round {
  const held = heldAttempt(round);
  const attempt = changedAttempt(held, {
    partials: new Map(held.partials).set(nodeId, partial),
    askedMs: held.askedMs,
    heardMs: nowMs,
  });
  const { attempts, draws, askAgain, voided } = round.history;
  const history = {
    attempts,
    draws,
    askAgain: without(askAgain, [nodeId]),
    voided: partial.origin === 'caller' ? without(voided, [nodeId]) : voided,
  };
  return moved(round, 'take', withAsked(history, attempt, without(askedOf(round), [nodeId])));
}

/** Their nodes are excluded, so the session does not ask them again. */
export function partialsDropped(round: Round, ids: readonly number[]): Round {
  const held = heldAttempt(round);
  const partials = new Map([...held.partials].filter(([id]) => !ids.includes(id)));
  const history = { ...round.history, askAgain: without(round.history.askAgain, ids) };
  return moved(round, 'drop', withAsked(history, { ...held, partials }, askedOf(round)));
}

/** Without an attempt it changes nothing. */
export function attemptAbandoned(round: Round): Round {
  const attempt = attemptOf(round);
  if (!attempt) return round;
  const { askAgain, voided } = round.history;
  const ofNodes = [...attempt.partials].filter(([, { origin }]) => origin === 'node').map(([id]) => id);
  const ofCallers = [...attempt.partials].filter(([, { origin }]) => origin === 'caller').map(([id]) => id);
  const history = { ...round.history, askAgain: withAll(askAgain, ofNodes), voided: withAll(voided, ofCallers) };
  return moved(round, 'abandon', { phase: 'idle', history });
}

/** Pending answers count when they arrive; pending nonces do not. */
export function roundLeft(round: Round): Round {
  if (round.phase === 'drawing') return moved(round, 'leave', { phase: 'idle', history: round.history });
  if (round.phase === 'collecting') return moved(round, 'leave', withAsked(round.history, round.attempt, none));
  return round;
}

export function roundEnded(round: Round): Round {
  return moved(round, 'end', { phase: 'done', history: { ...round.history, askAgain: none, voided: none } });
}

export function roundResumed(round: Round): Round {
  return moved(round, 'resume', { phase: 'idle', history: round.history });
}

// --- what a round remembers and knows; the phase stays -----------------------------------------------------------------

/** Clients were told which of their partials are void. */
export function voidedTold(round: Round): Round {
  return { ...round, history: { ...round.history, voided: none } };
}

/** This node will not be able to answer. */
export function notAskedAgain(round: Round, nodeId: number): Round {
  const askAgain = without(round.history.askAgain, [nodeId]);
  return askAgain === round.history.askAgain ? round : { ...round, history: { ...round.history, askAgain } };
}

/** Mock ECDSA: a node that restarted since it made its nonce signs without its part in the nonce. */
export function nonceForgotten(round: Round, nodeId: number): Round {
  if (round.phase !== 'asking' && round.phase !== 'collecting') return round;
  const { attempt } = round;
  return { ...round, attempt: { ...attempt, nonceless: new Set(attempt.nonceless).add(nodeId) } };
}

/** The next attempt gets a number above this. */
export function numberedFrom(round: Round, attempts: number): Round {
  return { ...round, history: { ...round.history, attempts: Math.max(round.history.attempts, attempts) } };
}

/** The record's fields about the received partials; ascending. */
export function partialsIn(attempt: Attempt | undefined): Pick<SigningRecord, 'submitted' | 'given'> {
  const partials = [...(attempt?.partials ?? [])].sort(([a], [b]) => a - b);
  return {
    submitted: partials.map(([id]) => id),
    given: partials.filter(([, { origin }]) => origin === 'caller').map(([id]) => id),
  };
}

/** The same, including those that are requested again. */
export function partialsOf(round: Round): Pick<SigningRecord, 'submitted' | 'given'> {
  const { submitted, given } = partialsIn(attemptOf(round));
  const all = new Set([...submitted, ...round.history.askAgain]);
  return { submitted: [...all].sort((a, b) => a - b), given };
}

function heldAttempt(round: Round): Attempt {
  const attempt = attemptOf(round);
  if (!attempt) throw new Error(`a signing round has no attempt in phase ${round.phase}`);
  return attempt;
}

function withAsked(history: History, attempt: Attempt, asked: ReadonlySet<number>): Asking | Collecting {
  return asked.size === 0 ? { phase: 'asking', history, attempt } : { phase: 'collecting', history, attempt, asked };
}

function without(ids: ReadonlySet<number>, gone: readonly number[]): ReadonlySet<number> {
  return gone.some((id) => ids.has(id)) ? new Set([...ids].filter((id) => !gone.includes(id))) : ids;
}

function withAll(ids: ReadonlySet<number>, more: readonly number[]): ReadonlySet<number> {
  return more.length === 0 ? ids : new Set([...ids, ...more]);
}

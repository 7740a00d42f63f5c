/**
 * What clients were told, and whether it ever stops being true.
 *
 * Kept for every session: each epoch that a checkpoint named, each signature, each group key. Checked with every answer:
 * - no session that a client was reported is lost;
 * - an answer is never older than one that was there before its call began;
 * - one epoch has one state and one checkpoint, and states follow each other along the table;
 * - a signature verifies for the message that was approved, and is the only one of its session and of its intent;
 * - no two signatures share a nonce point (R is public: two messages under one R would give the key away).
 */
import { mayFollow, type SessionState } from '../../../coordinator/contract/transitions.ts';
import { ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Answer } from '../../support/client.ts';

interface Standing {
  readonly epoch: number;
  readonly state: ReceiptState;
  readonly checkpointId: string;
}

interface SessionStory {
  readonly kind: 'dkg' | 'signing';
  readonly intentId: string;
  /** By epoch. */
  readonly standings: Map<number, Standing>;
  latest: number;
  /** Signing: whether a signature is one of the approved message under the right key. */
  readonly verify: (signature: Uint8Array) => boolean;
  /** Signature or group key, as hex, once told. */
  result: string;
}

interface Answered extends Answer {
  readonly isComplete?: boolean;
  readonly fullSignature?: Uint8Array;
}

export class Ledger {
  readonly violations: string[] = [];
  readonly #sessions = new Map<string, SessionStory>();
  readonly #intents = new Map<string, string>();
  readonly #noncePoints = new Map<string, string>();
  readonly #receipts = new Set<string>();
  /** Answers checked. */
  answers = 0;

  get sessionIds(): readonly string[] {
    return [...this.#sessions.keys()];
  }

  sessionsOf(kind: 'dkg' | 'signing'): readonly string[] {
    return [...this.#sessions].filter(([, story]) => story.kind === kind).map(([id]) => id);
  }

  stateOf(sessionId: string): ReceiptState | undefined {
    const story = this.#sessions.get(sessionId);
    return story?.standings.get(story.latest)?.state;
  }

  resultOf(sessionId: string): string {
    return this.#sessions.get(sessionId)?.result ?? '';
  }

  get signatures(): number {
    return this.#noncePoints.size;
  }

  /** A client was told that this session exists. Again: nothing new. */
  told(
    kind: 'dkg' | 'signing',
    sessionId: string,
    intentId = '',
    verify: (signature: Uint8Array) => boolean = () => false,
  ): void {
    if (this.#sessions.has(sessionId)) return;
    this.#sessions.set(sessionId, { kind, intentId, standings: new Map(), latest: 0, verify, result: '' });
  }

  /** Makes a call about a session that was reported, and checks its answer. */
  async ask<T extends Answered>(sessionId: string, call: () => Promise<T>): Promise<T> {
    const before = this.#sessions.get(sessionId)?.latest ?? 0;
    const answer = await call();
    this.#take(sessionId, answer, before);
    return answer;
  }

  /** As `ask`, for the answer that told of the session. */
  first<T extends Answered>(sessionId: string, answer: T): T {
    this.#take(sessionId, answer, 0);
    return answer;
  }

  /** The group key of a completed session, as hex. */
  toldKey(sessionId: string, key: string): void {
    const story = this.#sessions.get(sessionId);
    if (story === undefined) {
      this.#violated(sessionId, 'a key without its session in the ledger');
      return;
    }
    if (story.result !== '' && story.result !== key) this.#violated(sessionId, `two keys: ${story.result} and ${key}`);
    story.result = key;
  }

  #take(sessionId: string, answer: Answered, before: number): void {
    const story = this.#sessions.get(sessionId);
    const { receipt, checkpoint } = answer;
    if (!story || !receipt || !checkpoint) {
      this.#violated(sessionId, `an answer without ${story ? 'receipt or checkpoint' : 'its session in the ledger'}`);
      return;
    }
    this.answers += 1;
    if (this.#receipts.has(receipt.receiptId)) this.#violated(sessionId, `receipt ${receipt.receiptId} came twice`);
    this.#receipts.add(receipt.receiptId);
    const epoch = Number(checkpoint.epoch);
    if (epoch === 0) {
      this.#violated(sessionId, `the session is lost: ${receipt.reasonCode} ${receipt.message}`);
      return;
    }
    if (epoch < before) this.#violated(sessionId, `epoch ${epoch} after epoch ${before} was told`);
    this.#stand(sessionId, story, { epoch, state: checkpoint.state, checkpointId: checkpoint.checkpointId });
    if (story.kind === 'signing') this.#takeSignature(sessionId, story, answer);
  }

  #stand(sessionId: string, story: SessionStory, standing: Standing): void {
    const known = story.standings.get(standing.epoch);
    if (known) {
      const same = known.state === standing.state && known.checkpointId === standing.checkpointId;
      if (!same)
        this.#violated(sessionId, `epoch ${standing.epoch} is told as ${show(known)} and as ${show(standing)}`);
      return;
    }
    story.standings.set(standing.epoch, standing);
    story.latest = Math.max(story.latest, standing.epoch);
    const epochs = [...story.standings.keys()].sort((a, b) => a - b);
    const at = epochs.indexOf(standing.epoch);
    for (const [from, to] of [
      [epochs[at - 1], epochs[at]],
      [epochs[at], epochs[at + 1]],
    ]) {
      if (from === undefined || to === undefined) continue;
      const [a, b] = [story.standings.get(from)!, story.standings.get(to)!];
      if (!reachable(a.state as SessionState, b.state as SessionState, to - from)) {
        this.#violated(sessionId, `${show(b)} cannot follow ${show(a)}`);
      }
    }
  }

  #takeSignature(sessionId: string, story: SessionStory, { isComplete, fullSignature, checkpoint }: Answered): void {
    if (isComplete === undefined || fullSignature === undefined) return;
    const hex = Buffer.from(fullSignature).toString('hex');
    if (!isComplete) {
      if (hex !== '') this.#violated(sessionId, 'an answer that is not complete carries a signature');
      return;
    }
    if (checkpoint?.state !== ReceiptState.BACKEND_COMPLETED) {
      this.#violated(sessionId, `a signature in state ${ReceiptState[checkpoint?.state ?? 0]}`);
    }
    if (story.result !== '') {
      if (story.result !== hex) this.#violated(sessionId, `two signatures: ${story.result} and ${hex}`);
      return;
    }
    story.result = hex;
    if (!story.verify(fullSignature)) this.#violated(sessionId, `the signature ${hex} does not verify`);
    const other = this.#intents.get(story.intentId);
    if (other !== undefined) this.#violated(sessionId, `intent ${story.intentId} was signed in session ${other} too`);
    this.#intents.set(story.intentId, sessionId);
    const noncePoint = hex.slice(0, 64);
    const twin = this.#noncePoints.get(noncePoint);
    if (twin !== undefined) this.#violated(sessionId, `its nonce point is that of session ${twin}`);
    this.#noncePoints.set(noncePoint, sessionId);
  }

  #violated(sessionId: string, what: string): void {
    this.violations.push(`${sessionId}: ${what}`);
  }
}

/** Whether `to` can be reached from `from` in at most so many changes; a step may leave the state as it was. */
function reachable(from: SessionState, to: SessionState, changes: number): boolean {
  if (from === to) return true;
  if (changes === 0) return false;
  const states = [
    ReceiptState.ACCEPTED,
    ReceiptState.RESUMED,
    ReceiptState.BACKEND_FAILED,
    ReceiptState.BACKEND_COMPLETED,
    ReceiptState.EXPIRED,
    ReceiptState.REVOKED,
    ReceiptState.DENIED,
  ] as const;
  return states.some((next) => mayFollow(from, next) && reachable(next, to, changes - 1));
}

function show({ epoch, state, checkpointId }: Standing): string {
  return `${ReceiptState[state]} (epoch ${epoch}, ${checkpointId})`;
}

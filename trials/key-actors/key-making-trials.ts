/**
 * Trials of the coordinator's part in a key generation: honest nodes make a key, and before and after their answers come false ones.
 * What ends the attempt is tried in a fork; what must change nothing stays, and the key must be made nevertheless.
 */
import { participantsOf } from '../../core/crypto/participants.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WriteFate } from '../../simulation/cluster/memory-stores.ts';
import type { KeyKind } from '../support/key-transcripts.ts';
import { changed, must, type Trial, trialTenant } from '../support/trial.ts';
import { type Failure, type FalseAnswer, falseAnswers, lateAnswers } from './false-key-answers.ts';
import { KeyMaking, type KeySession, type Side, type Told, waits } from './key-making.ts';
import { absence, answersTwice, falseResult, refusedResume } from './key-making-faults.ts';
import {
  alter,
  alterKey,
  answered,
  completed,
  failed,
  isOpenSession,
  unavailable,
  unchanged,
} from './key-making-rules.ts';

/** The frames of a round, and some repetitions. */
const answersMax = 200;
/** Answers of a round that say nothing new. */
const silencesMax = 2;

export function keyMakingTrial(trial: Trial, kind: KeyKind): void {
  const { draw, nodesTotal } = trial;
  const name = `${draw.chance(0.5) ? 'wal_' : ''}${trial.name}`;
  const making = new KeyMaking(trial, kind, name, Math.min(nodesTotal, draw.pick([2, 2, 3])));
  const round = new Round(making);
  round.begin();
  if (draw.chance(0.12) && making.isShared && making.totalNodes > 1) round.complain();
  if (draw.chance(0.12) && making.totalNodes === 2) round.runSlowly();
  else round.run();
  completed(making, round.calls);
  alterKey(making, making.side);
}

/** A whole round: the calls that wait for it, and what the present process of the coordinator knows. */
class Round {
  readonly making: KeyMaking;
  calls: bigint[] = [];
  #attempt = 1;
  /** This process has made every request of the attempt. */
  #sawAll = true;
  /** No request of this process was repeated: no node counts as silent. */
  #isPrompt = true;
  #silences = 0;
  /** Nodes whose result this process has. */
  #results = new Set<number>();

  constructor(making: KeyMaking) {
    this.making = making;
  }

  get #draw() {
    return this.making.trial.draw;
  }

  begin(): void {
    const { making } = this;
    const { side, isWallet } = making;
    const first = making.begin();
    must(side.record !== undefined, () => `a right ${isWallet ? 'MakeKey' : 'InitiateDkg'} begins no session`);
    if (isWallet) this.calls = [first];
    else {
      answered(side, [first], 'SESSION_ACCEPTED', 'its beginning');
      this.calls = [making.exchange()];
    }
    if (this.#draw.chance(0.2)) this.calls.push(isWallet ? making.begin() : making.exchange());
    making.deliver();
  }

  run(): void {
    const { making } = this;
    for (let heard = 0; isOpenSession(making.record); heard += 1) {
      must(heard < answersMax, () => 'the round of honest nodes has no end');
      if (making.answers.length === 0) this.#wait();
      if (making.attempt !== this.#attempt) this.#newAttempt();
      if (making.answers.length > 0)
        this.#hear(making.answers.splice(this.#draw.int(0, making.answers.length - 1), 1)[0]!);
    }
  }

  /** Each answer comes within its time, and the whole round takes longer than the wait for one: no node is given up. */
  runSlowly(): void {
    const { making } = this;
    const beganMs = making.side.actor.nowMs;
    const { attempt } = making;
    while (isOpenSession(making.record)) {
      const told = making.answers.shift();
      must(told !== undefined, () => 'the coordinator asks no node for the next step of a slow round');
      making.side.pass(0.45 * waits.partialMs);
      // What was asked again in the meantime is lost.
      making.side.requests = [];
      this.#heard(told, told.body);
      making.deliver();
    }
    const tookMs = making.side.actor.nowMs - beganMs;
    must(making.attempt === attempt, () => `a slow round of ${tookMs} ms begins attempt ${making.attempt}`);
  }

  /** Silent nodes were replaced, or the attempt failed. */
  #newAttempt(): void {
    const { making } = this;
    this.#attempt = making.attempt;
    this.#sawAll = true;
    this.#isPrompt = true;
    this.#results.clear();
    making.answers.splice(
      0,
      making.answers.length,
      ...making.answers.filter(({ attempt }) => attempt === this.#attempt),
    );
  }

  /** Every request has its answer: what a lost frame needs, comes again. */
  #wait(): void {
    const { making } = this;
    this.#isPrompt = false;
    making.side.pass(waits.partialMs + 1);
    making.deliver();
    must(
      making.answers.length > 0,
      () => 'the coordinator asks no node for the next step, and does not repeat a request',
    );
  }

  #hear(told: Told): void {
    const { making } = this;
    const { side } = making;
    if (this.#draw.chance(told.body.case === 'dkgOpened' ? 0.08 : 0.04)) {
      this.#restart(told);
      return;
    }
    if (this.#isPrompt && this.#draw.chance(0.05)) absence(making, this.calls);
    if (this.#draw.chance(0.05)) this.#fenced(told);
    if (this.#isPrompt && this.#draw.chance(0.1)) answersTwice(making, told, this.calls);
    if (this.#draw.chance(0.3)) {
      falseResult(making, told, { results: this.#results, pending: making.answers, sawAll: this.#sawAll }, this.calls);
    }
    for (let left = this.#draw.pick([0, 1, 1, 2]); left > 0; left -= 1) {
      const one = this.#draw.pick(falseAnswers(making, told, this.#sawAll));
      // Time passes until it is asked again, and calls wait for nodes for some time only.
      if (one.effect === 'asked again' && this.#silences >= silencesMax) continue;
      if (one.effect !== 'right' && one.effect !== 'asked again') {
        this.#say(told, one);
        continue;
      }
      if (one.effect === 'asked again') {
        this.#silences += 1;
        unchanged(side, one.what, () => side.hear({ ...told, body: one.body }));
      } else this.#heard(told, one.body);
      making.deliver();
      return;
    }
    const before = side.record!;
    if (this.#draw.chance(0.06)) {
      this.#refused(told);
      return;
    }
    if (this.#draw.chance(0.05)) this.#overtaken(told);
    this.#heard(told, told.body);
    making.deliver();
    const isLater = isOpenSession(making.record) && making.attempt === told.attempt;
    if (isLater && this.#draw.chance(0.5)) {
      const late = this.#draw.pick(lateAnswers(making, told));
      if (late.effect === 'ignored' || this.#sawAll) this.#say(told, late);
    }
    must(before.epoch <= making.record.epoch, () => 'the epoch of a session decreases');
  }

  #heard(told: Told, body: Told['body']): void {
    this.making.side.hear({ ...told, body });
    if (body.case === 'dkgVerified' && body.value.finished) this.#results.add(told.id);
    if (body.case === 'dkgRefused') this.#results = new Set(this.making.ids);
  }

  /** A false answer: in a fork, if it ends the attempt. */
  #say(told: Told, { what, body, attempt = told.attempt, effect }: FalseAnswer): void {
    const { side } = this.making;
    const text = `${what} of node ${told.id}`;
    if (effect === 'ignored') {
      unchanged(side, text, () => side.hear({ id: told.id, attempt, body }));
      return;
    }
    if (typeof effect === 'string') return;
    const fork = side.fork();
    const before = side.record!;
    fork.hear({ id: told.id, attempt, body });
    this.#ends(fork, before, effect, text);
    unchanged(fork, `an answer after ${text}`, () => fork.hear(told));
  }

  /** It fails, and a resume begins the next attempt, or asks again for the confirmations. */
  #ends(fork: Side, before: KeySession, failure: Failure, text: string): void {
    const { making } = this;
    failed(making, fork, before, this.calls, failure, text);
    if (!this.#draw.chance(0.3)) return;
    if (this.#draw.chance(0.5)) refusedResume(making, fork);
    fork.requests = [];
    making.again(fork);
    const { record } = fork;
    const { attempt } = record!.ceremony;
    const participants = participantsOf(record!.ceremony);
    must(record!.state === ReceiptState.RESUMED, () => `a failed session is ${record!.reasonCode} after its resume`);
    const opens = before.ceremony.mayBeFinal
      ? fork.requests
      : fork.requests.filter(({ body }) => body.case === 'dkgOpen');
    const asked = opens.filter((one) => one.attempt === attempt).map(({ id }) => id);
    must(
      asked.join() === participants.join(),
      () => `after ${text} and a resume nodes ${asked} are asked, and attempt ${attempt} is of ${participants}`,
    );
  }

  /** The process dies, or its store refuses a write: the calls come again. */
  #again(): void {
    const { making } = this;
    this.#sawAll = false;
    this.#isPrompt = true;
    this.#results.clear();
    making.answers.length = 0;
    this.calls = [making.isWallet ? making.begin() : making.exchange()];
    making.deliver();
  }

  #restart(told: Told): void {
    const { making } = this;
    const late = [told, ...making.answers];
    making.side.actor.restart();
    for (const one of late.slice(-1)) {
      unchanged(making.side, 'an answer to an earlier process', () => making.side.hear(one));
    }
    this.#again();
    // Nor do they count as answers to this one, which has asked the same.
    const fork = making.side.fork();
    fork.requests = [];
    unchanged(fork, 'answers to an earlier process', () => {
      for (const one of late) fork.hear(one);
    });
    must(fork.requests.length === 0, () => 'answers to an earlier process advance the round');
  }

  /** The write that an answer brings about is refused. */
  #refused(told: Told): void {
    const { making } = this;
    const { side } = making;
    const fate = this.#draw.pick<WriteFate>(['lost', 'unanswered']);
    side.actor.fates.push(fate);
    const before = making.record;
    this.#heard(told, told.body);
    const isRefused = side.actor.fates.length === 0;
    side.actor.fates.length = 0;
    if (isRefused) {
      unavailable(side, this.calls, `a write that was ${fate}`);
      const { epoch } = making.record;
      must(
        epoch === before.epoch + (fate === 'lost' ? 0 : 1),
        () => `the store has epoch ${epoch} after a ${fate} write`,
      );
      this.#again();
    } else making.deliver();
  }

  /** Another process of the coordinator hears an answer first: what it wrote stands, and the calls here continue. */
  #overtaken(told: Told): void {
    const { making } = this;
    const { side } = making;
    const twin = side.twin();
    const { epoch } = making.record;
    twin.hear(told);
    if (making.record.epoch === epoch) return;
    // If it began another attempt, this process knows nothing of that either.
    this.#attempt = making.attempt;
    this.#sawAll = false;
    // Until its next write, this process does not know what the other one wrote.
    this.#isPrompt = false;
    this.#results.clear();
    if (!this.#draw.chance(0.3)) return;
    // Meanwhile its record was altered at rest.
    const fork = side.fork();
    alter(this.making, fork);
    fork.hear(told);
    answered(fork, this.calls, 'STORE_TAMPERED', 'a conflict with an altered record');
    must(fork.actor.writes.length === 0, () => 'an altered record is written over');
  }

  /** A later start of the coordinator has written for the tenant: this one writes nothing more. */
  #fenced(told: Told): void {
    const { making } = this;
    const fork = making.side.fork();
    fork.actor.store.write({ kind: 'closeKey', tenant: trialTenant, keyId: 'wal_other' }, 2);
    fork.actor.writes.length = 0;
    fork.hear(told);
    must(fork.actor.writes.length === 0, () => 'a coordinator that was replaced writes');
    if (fork.replies.size > 0) unavailable(fork, this.calls, 'a write behind the fence');
  }

  /** A dealer's boxes that recipients complain about with evidence: the attempt ends, and the next one makes a key. */
  complain(): void {
    const { making } = this;
    const { side } = making;
    const dealer = this.#draw.pick(making.ids);
    while (!making.answers.some(({ id, body }) => id === dealer && body.case === 'dkgSealed')) {
      const told = making.answers.shift();
      must(told !== undefined, () => `dealer ${dealer} is not asked for its boxes`);
      this.#heard(told, told.body);
      making.deliver();
    }
    const at = making.answers.findIndex(({ id, body }) => id === dealer && body.case === 'dkgSealed');
    const [told] = making.answers.splice(at, 1);
    const how = this.#draw.pick(['unsigned', 'broken', 'wrong'] as const);
    const shares = told!.body.value.shares.map((box: { recipient: number; box: Uint8Array }) => {
      const bytes =
        how === 'wrong' ? making.sealed(dealer, box.recipient, new Uint8Array(32).fill(3)) : changed(box.box);
      const given = { ...box, dealer, box: bytes, signature: new Uint8Array(64) };
      return how === 'unsigned' ? given : making.signedBox(given);
    });
    const before = making.record;
    side.hear({ ...told!, body: { case: 'dkgSealed', value: { ...told!.body.value, shares } } });
    making.deliver();
    while (isOpenSession(making.record) && making.answers.length > 0) {
      const next = making.answers.shift()!;
      this.#heard(next, next.body);
      making.deliver();
    }
    const { ceremony } = making.record;
    must(
      making.record.reasonCode === 'DEALER_MISBEHAVED' && ceremony.culprits?.join() === `${dealer}`,
      () => `dealer ${dealer} deals ${how} boxes: ${making.record.reasonCode}, blamed ${ceremony.culprits}`,
    );
    must(ceremony.attempt === before.ceremony.attempt + 1, () => 'a failed attempt continues');
    this.calls = [making.again()];
    making.deliver();
  }
}

/**
 * Trials of the coordinator in a key generation step by step, with a dealer whose shares a client supplies: docs/signing-api.md,
 * "Making a key".
 */
import { groupOf } from '../../core/crypto/group.ts';
import { randomPolynomial } from '../../core/crypto/polynomial.ts';
import { commitTo, shareFor } from '../../core/crypto/vss.ts';
import { keyKinds } from '../support/key-transcripts.ts';
import { changed, must, type Trial } from '../support/trial.ts';
import { blames, stalls } from './false-key-answers.ts';
import { KeyMaking, type Told, waits } from './key-making.ts';
import { absentAfterSteps, absentAtEnd, falseResult, type Knowledge } from './key-making-faults.ts';
import { answered, completed, failed, isOpenSession, unchanged } from './key-making-rules.ts';

type Pair = readonly [dealer: number, recipient: number];

export function suppliedTrial(trial: Trial): void {
  const { draw } = trial;
  const kind = draw.pick(keyKinds.filter(({ holder }) => holder === ''));
  const making = new KeyMaking(trial, kind, trial.name, Math.min(trial.nodesTotal, draw.pick([2, 3])));
  const supplying = new Supplying(making);
  if (supplying.begin()) supplying.run();
}

class Supplying {
  readonly making: KeyMaking;
  readonly #dealer: number;
  readonly #polynomial: readonly bigint[];
  readonly #commitments: Uint8Array[];
  /** Pairs that have verified, as calls were told. */
  readonly #verified = new Set<string>();
  /** Recipients whose share of the dealer this process of the coordinator has in memory. */
  readonly #held = new Set<number>();
  #isSupplied = false;
  #sawAll = true;
  /** Nodes whose opening, and whose result, this process of the coordinator has. */
  readonly #opened = new Set<number>();
  readonly #results = new Set<number>();

  constructor(making: KeyMaking) {
    const { trial, kind, threshold } = making;
    this.making = making;
    this.#dealer = trial.draw.int(1, making.totalNodes);
    this.#polynomial = randomPolynomial(kind.curve, threshold, trial.random);
    this.#commitments = commitTo(kind.curve, this.#polynomial);
  }

  get #draw() {
    return this.making.trial.draw;
  }

  #share(recipient: number): Uint8Array {
    const { curve } = this.making.kind;
    return groupOf(curve).encodeScalar(shareFor(curve, this.#polynomial, recipient));
  }

  #terms(recipient: number) {
    const share = { encryptedShare: this.#share(recipient), commitments: this.#commitments };
    return { senderNodeId: this.#dealer, recipientNodeId: recipient, ...share };
  }

  /** Returns whether the nodes take client-supplied dealers. */
  begin(): boolean {
    const { making } = this;
    answered(making.side, [making.begin()], 'SESSION_ACCEPTED', 'its beginning');
    if (making.trial.allowsDealers) return true;
    const [recipient] = making.others(this.#dealer);
    const call = making.exchange(this.#terms(recipient!));
    this.#flush();
    answered(making.side, [call], 'CLIENT_DEALERS_NOT_ALLOWED', 'its nodes take no dealer of a client');
    must(making.record.epoch === 1, () => 'a refused share changes the session');
    return false;
  }

  run(): void {
    const { making } = this;
    const left: Pair[] = making.ids.flatMap((dealer) => making.others(dealer).map((to) => [dealer, to] as const));
    while (isOpenSession(making.record)) {
      const own = this.#missing().includes(`${this.#dealer}>${this.#dealer}`);
      if (left.length === 0 && own) left.push([this.#dealer, this.#dealer]);
      must(left.length > 0, () => `every pair has verified, and the session is ${making.record.reasonCode}`);
      if (this.#draw.chance(0.12)) this.#restart();
      if (this.#draw.chance(0.08) && this.#verified.size > 0 && !making.record.ceremony.mayBeFinal)
        absentAfterSteps(making);
      const at = this.#draw.int(0, left.length - 1);
      const [dealer, recipient] = left.splice(at, 1)[0]!;
      if (dealer === this.#dealer) {
        if (this.#draw.chance(0.6)) this.#wrong(recipient);
        this.#offer(recipient);
      } else this.#step(dealer, recipient);
    }
  }

  /** The pairs that still need a call. */
  #missing(): string[] {
    const { making } = this;
    const names = making.ids.flatMap((dealer) => making.others(dealer).map((to) => `${dealer}>${to}`));
    const missing = names.filter((name) => !this.#verified.has(name));
    const own = `${this.#dealer}>${this.#dealer}`;
    if (!this.#isSupplied || this.#verified.has(own)) return missing;
    const coming = missing.filter((name) => name.startsWith(`${this.#dealer}>`)).length;
    return this.#held.size + coming < making.threshold ? [...missing, own] : missing;
  }

  /** The nodes answer, and the coordinator hears them. */
  #flush(hear: (told: Told, pending: readonly Told[]) => void = (told) => this.making.side.hear(told)): void {
    const { making } = this;
    for (let round = 0; round < 40; round += 1) {
      making.deliver();
      if (making.answers.length === 0) return;
      const said = making.answers.splice(0);
      for (const [index, told] of said.entries()) {
        hear(told, said.slice(index + 1));
        if (told.body.case === 'dkgOpened') this.#opened.add(told.id);
        if (told.body.value.finished) this.#results.add(told.id);
      }
    }
    must(false, () => 'a step has no end');
  }

  #verify(call: bigint, pairs: readonly string[], what: string): void {
    const { making } = this;
    for (const name of pairs) this.#verified.add(name);
    const missing = this.#missing();
    if (missing.length === 0) {
      completed(making, [call]);
      return;
    }
    answered(making.side, [call], 'SHARE_VERIFIED', what);
    const { message } = making.side.replies.get(call)!.value.receipt;
    const total = making.totalNodes * (making.totalNodes - 1);
    const done = [...this.#verified].filter((name) => new Set(name.split('>')).size > 1).length;
    const named = /missing ([^;]*)/.exec(message)?.[1]?.split(', ').sort().join();
    must(
      message.startsWith(`${done} of ${total} pairs have verified`) && named === missing.sort().join(),
      () => `${done} pairs have verified, ${missing} are missing, and the receipt says: ${message}`,
    );
    const { verified, played } = making.record.ceremony;
    must(
      [...verified].sort().join() === [...this.#verified].sort().join() &&
        Object.keys(played).join() === (this.#isSupplied ? `${this.#dealer}` : ''),
      () =>
        `pairs ${[...this.#verified]} were acknowledged, and the record has ${verified}; supplied: ${Object.keys(played)}`,
    );
  }

  #step(dealer: number, recipient: number): void {
    const { making } = this;
    if (this.#draw.chance(0.15)) this.#absent(dealer, recipient);
    const call = making.exchange({ senderNodeId: dealer, recipientNodeId: recipient });
    this.#finish((told) => making.side.hear(told));
    this.#verify(call, [`${dealer}>${recipient}`], `a step of pair ${dealer}>${recipient}`);
  }

  #offer(recipient: number): void {
    const { making } = this;
    const { side } = making;
    const call = making.exchange(this.#terms(recipient));
    must(!side.replies.has(call), () => 'a share is answered before its node has verified it');
    const isRepeated = this.#draw.chance(0.25);
    if (this.#draw.chance(0.25)) this.#besides(recipient);
    if (this.#draw.chance(0.3)) this.#refuses(call, recipient);
    if (isRepeated) {
      making.deliver();
      side.pass(waits.partialMs + 1);
    }
    let taken = false;
    this.#finish((told) => {
      // The call has its answer: what comes for it now changes nothing.
      const isLate = taken && side.replies.has(call) && told.id === recipient && isOpenSession(making.record);
      if (isLate)
        unchanged(side, 'a second answer about a share', () =>
          side.hear(this.#draw.chance(0.5) ? told : this.#refusal(told)),
        );
      else side.hear(told);
      taken ||= told.body.case === 'dkgVerified';
    });
    this.#isSupplied = true;
    if (recipient !== this.#dealer) this.#held.add(recipient);
    this.#verify(call, [`${this.#dealer}>${recipient}`], `a right share for node ${recipient}`);
  }

  #refusal(told: Told): Told {
    const { request } = told.body.value;
    const value = { nodeId: told.id, code: 'FINISH_FAILED', message: '', culprits: [], results: [], request };
    return { ...told, body: { case: 'dkgRefused', value } };
  }

  /** The last answers: a false one about its own share or its result ends the attempt. */
  #finish(hear: (told: Told) => void): void {
    const { making } = this;
    const { side } = making;
    this.#flush((told, pending) => {
      if (told.body.case === 'dkgConfirmed' && this.#draw.chance(0.1)) absentAtEnd(making);
      const own = told.body.value.verdicts?.find((one: { dealer: number }) => one.dealer === told.id);
      const isOwn = own !== undefined && told.id === this.#dealer && !this.#verified.has(`${told.id}>${told.id}`);
      const isCalled = this.#missing().includes(`${told.id}>${told.id}`);
      if (isOwn && !isCalled && this.#isSupplied && this.#draw.chance(0.4)) {
        const fork = side.fork();
        const verdict = { ...own, verified: false, code: 'SHARE_INVALID', message: 'as it says' };
        const body = { case: 'dkgVerified', value: { ...told.body.value, verdicts: [verdict], finished: undefined } };
        fork.hear({ ...told, body });
        failed(making, fork, making.record, [], stalls(told.id), 'a false verdict about its own share');
      }
      const { finished } = told.body.value;
      if (finished && this.#draw.chance(0.2)) {
        const fork = side.fork();
        const unsigned = { ...finished, chainCode: changed(finished.chainCode) };
        fork.hear({ ...told, body: { ...told.body, value: { ...told.body.value, finished: unsigned } } });
        must(
          fork.record?.reasonCode === 'DEALER_MISBEHAVED' && fork.record.ceremony.culprits?.join() === `${told.id}`,
          () => `node ${told.id} does not sign its result, and the session is ${fork.record?.reasonCode}`,
        );
      }
      if (finished && this.#draw.chance(0.3)) falseResult(making, told, this.#knowledge(pending), []);
      hear(this.#more(told));
    });
  }

  #knowledge(pending: readonly Told[]): Knowledge {
    return { results: this.#results, pending, sawAll: this.#sawAll };
  }

  /** It also claims a pair that it was not asked about: that does not count. */
  #more(told: Told): Told {
    const { value } = told.body;
    const other = this.making.ids.find((one) => !this.#verified.has(`${one}>${told.id}`));
    if (told.body.case !== 'dkgVerified' || value.finished || other === undefined || !this.#draw.chance(0.3))
      return told;
    if (value.verdicts.some(({ dealer }: { dealer: number }) => dealer === other)) return told;
    const claim = { dealer: other, verified: true, code: '', message: '', revealedSealingKey: new Uint8Array(0) };
    return { ...told, body: { ...told.body, value: { ...value, verdicts: [...value.verdicts, claim] } } };
  }

  /** While a share is being verified, no other call acts. */
  #besides(recipient: number): void {
    const { making } = this;
    const fork = making.side.fork();
    fork.requests = [];
    const others = making.others(recipient).filter((id) => id !== this.#dealer);
    const call =
      this.#draw.chance(0.5) || others.length === 0
        ? making.exchange({}, fork)
        : making.exchange(this.#terms(others[0]!), fork);
    must(
      fork.requests.length === 0 && !fork.replies.has(call),
      () => 'a call acts while another’s share is being verified, whose dealer is not decided',
    );
  }

  /** The recipient refuses the share: its call fails alone. */
  #refuses(call: bigint, recipient: number): void {
    const { making } = this;
    const fork = making.side.fork();
    making.deliver();
    const at = making.answers.findIndex(({ id, body }) => id === recipient && body.case === 'dkgVerified');
    const told = making.answers[at];
    if (told === undefined) return;
    const refusal = this.#refusal(told);
    const code = this.#draw.pick(['FINISH_FAILED', 'CLIENT_DEALERS_NOT_ALLOWED'] as const);
    refusal.body.value.code = code;
    fork.actor.writes.length = 0;
    fork.hear(refusal);
    const reason = code === 'FINISH_FAILED' ? 'SHARE_VERIFICATION_FAILED' : code;
    answered(fork, [call], reason, `a refusal ${code} of a share`);
    must(fork.actor.writes.length === 0, () => 'a refused share changes the session');
    // Another dealer's fault in the same answer ends the attempt, and the share is not taken.
    const [other] = making.others(recipient).filter((id) => id !== this.#dealer);
    if (other === undefined) return;
    const false_ = {
      dealer: other,
      verified: false,
      code: 'OPENING_INVALID',
      message: '',
      revealedSealingKey: new Uint8Array(0),
    };
    const both = making.side.fork();
    const verdicts = [false_, ...told.body.value.verdicts];
    both.hear({ ...told, body: { ...told.body, value: { ...told.body.value, verdicts, finished: undefined } } });
    // A process that has not seen the opening proves nothing.
    const isProven = this.#sawAll || this.#opened.has(other);
    failed(
      making,
      both,
      making.record,
      [],
      isProven ? blames(recipient) : stalls(recipient, other),
      'a false complaint',
    );
  }

  /** Calls that are refused: the session is unchanged, and the right share still follows. */
  #wrong(recipient: number): void {
    const { making } = this;
    const { side } = making;
    const right = this.#terms(recipient);
    const other = making
      .others(this.#dealer)
      .find((id) => [...this.#verified].some((name) => name.startsWith(`${id}>`)));
    const isDealt = other !== undefined;
    const short = { ...right, encryptedShare: right.encryptedShare.subarray(1) };
    const wrong: (readonly [string, object])[] = [
      ['INVALID_REQUEST', { ...right, commitments: right.commitments.slice(1) }],
      ['INVALID_REQUEST', { ...right, commitments: right.commitments.map((point) => new Uint8Array(point.length)) }],
      ['INVALID_REQUEST', { ...right, encryptedShare: new Uint8Array(0) }],
      ['INVALID_REQUEST', { ...right, recipientNodeId: 0 }],
      ['INVALID_REQUEST', short],
      ['NODE_NOT_PARTICIPANT', { ...right, recipientNodeId: making.trial.nodesTotal + 1 }],
      ['SHARE_VERIFICATION_FAILED', { ...right, encryptedShare: this.#share(recipient + 50) }],
    ];
    const reversed = { ...right, commitments: [...right.commitments].reverse() };
    if (this.#isSupplied) {
      wrong.push(['COMMITMENT_MISMATCH', reversed], ['COMMITMENT_MISMATCH', reversed]);
      const isOpenPair = !this.#verified.has(`${this.#dealer}>${recipient}`);
      const bare = { senderNodeId: this.#dealer, recipientNodeId: recipient };
      if (isOpenPair) wrong.push(['INVALID_REQUEST', bare], ['INVALID_REQUEST', bare]);
    }
    if (isDealt) wrong.push(['COMMITMENT_MISMATCH', { ...right, senderNodeId: other }]);
    const [reason, terms] = this.#draw.pick(wrong);
    const { epoch } = making.record;
    const call = making.exchange(terms);
    this.#flush();
    answered(side, [call], reason, 'a share or commitments that are wrong');
    must(making.record.epoch === epoch, () => `a call that gets ${reason} changes the session`);
  }

  /** A node of a step is gone: the call fails alone, and the session stays open. */
  #absent(dealer: number, recipient: number): void {
    const { making } = this;
    const fork = making.side.fork();
    fork.take(fork.actor.link(making.rosterIds.filter((id) => id !== recipient)));
    fork.actor.writes.length = 0;
    const call = making.exchange({ senderNodeId: dealer, recipientNodeId: recipient }, fork);
    fork.pass(waits.nodesMs + 1);
    answered(fork, [call], 'NODES_UNAVAILABLE', `node ${recipient} is gone`);
    must(fork.actor.writes.length === 0, () => 'a step whose node is gone changes the session');
  }

  /** The shares that the client gave were in memory alone. */
  #restart(): void {
    this.making.side.actor.restart();
    this.#held.clear();
    this.#opened.clear();
    this.#results.clear();
    this.#sawAll = false;
  }
}

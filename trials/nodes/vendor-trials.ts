/**
 * Trials of a node's order at the vendor of its key: what the vendor answers, late, twice, or not; repeated requests, cancellations,
 * callbacks and crashes. Written from docs/protocol.md and the table of nodes/vendor/record.ts.
 */
import type { WireBodyInit } from '../../proto/wire.ts';
import type { WriteFate } from '../../simulation/cluster/memory-stores.ts';
import { vendorRequestsOf } from '../../simulation/cluster/node-copy.ts';
import { changed, must, trialTenant } from '../support/trial.ts';
import type { Signer } from './signer.ts';
import { externalIdOf, lastsMs, none, order, VendorOrder } from './vendor-order.ts';

const patienceMs = 150;
const tellMs = 5_000;
const pollMs = 15_000;
const retentionMs = 7 * 86_400_000;

export function vendorTrial(signer: Signer): void {
  new VendorTrial(signer).run();
}

class VendorTrial extends VendorOrder {
  run(): void {
    this.unknown();
    this.place();
    const draw = this.draw;
    if (draw.chance(0.3)) this.asks('while the vendor has not answered', 0);
    if (draw.chance(0.3)) this.strangeAnswer();
    if (draw.chance(0.2)) this.silent(this.copy.pass(patienceMs), 'before the vendor has answered');
    if (draw.chance(0.3)) this.fails();
    if (draw.chance(0.6)) this.opens();
    this.settles();
  }

  // --- until the vendor decides --------------------------------------------------------------------------------------

  /** Messages to the address of no order. */
  unknown(): void {
    const { id } = this.signer;
    const body = { case: this.draw.pick(['vendorNoted', 'vendorCancel'] as const), value: {} } as WireBodyInit;
    const frame = { tenant: trialTenant, session: 'sig_trial', attempt: 0, body };
    this.silent(this.copy.tell(`node/${id}/vendor/${trialTenant}/${'0'.repeat(32)}`, frame), 'when it does not exist');
  }

  place(): void {
    const { id } = this.signer;
    const fate = this.draw.chance(0.2) ? this.draw.pick<WriteFate>(['lost', 'unanswered']) : undefined;
    // The first write is the signer's, the second the order's.
    if (fate !== undefined) this.copy.fates.push('answered', fate);
    let sent = this.signer.ask(this.wanted).sent;
    if (fate !== undefined) {
      this.silent(sent, `and the write of its order was ${fate}`);
      sent = this.signer.ask(this.wanted).sent;
    }
    const [asked] = vendorRequestsOf(sent);
    must(asked !== undefined && sent.length === 1, () => `node ${id} does not order a signature, or says more`);
    this.address = asked.from;
    this.took(sent);
    this.externalId = externalIdOf(asked);
    this.stands('placing', 'when the vendor gets the order');
    this.waiting = 1;
  }

  /** An answer about an order that it does not have. */
  strangeAnswer(): void {
    const { from } = this.asked!;
    const outcome = order('rejected', this.copy.nowMs);
    this.copy.writes.length = 0;
    const message = { kind: 'vendorAnswered' as const, externalId: `${this.externalId}x`, outcome };
    this.silent(this.copy.tell(from, message, 'vendor'), 'at an answer about another order');
    this.unwritten('an answer about another order');
  }

  /** The vendor does not answer as agreed: every request gets the reason, and the order may still exist. */
  fails(): void {
    const fault = this.draw.pick(['VENDOR_UNAVAILABLE', 'VENDOR_UNCONFIGURED'] as const);
    const sent = this.answers({ kind: 'failed', fault, message: 'as the trial says' });
    this.refusals(sent, fault, this.waiting);
    this.waiting = 0;
    if (this.draw.chance(0.3)) this.silent(this.copy.pass(2 * patienceMs), 'after a failure');
    this.asks('after a failure', 1);
    must(
      externalIdOf(this.asked!) === this.externalId,
      () => `${this.self} orders again under another id after a failure`,
    );
  }

  opens(): void {
    const draw = this.draw;
    this.silent(this.answers(order('open', this.copy.nowMs + 60_000)), 'when the vendor has not decided');
    this.stands('open', 'when the vendor has the order');
    const replies = this.copy.pass(patienceMs);
    this.vendorOrders(replies);
    for (let left = draw.int(0, 4); left > 0; left -= 1) {
      draw
        .pick([
          this.polled,
          this.calledBack,
          this.askedAgain,
          this.askedByAnother,
          this.cancelled,
          this.takenOver,
          this.crashed,
        ])
        .call(this);
    }
    // An answer for the settling.
    if (this.asked === undefined) this.took(this.news());
  }

  /** It polls an open order from time to time. */
  polled(): void {
    if (this.asked !== undefined) return;
    // In some trials for longer than an idle actor stays in memory.
    for (let polls = this.draw.pick([1, 1, 6]); polls > 0; polls -= 1) {
      this.only(this.copy.pass(pollMs), 1, 'at its poll');
      this.open();
    }
  }

  /** A callback only triggers a poll; several during one only one more. */
  calledBack(): void {
    if (this.asked !== undefined) return;
    this.only(this.news(), 1, 'at a callback');
    const isBusy = this.draw.chance(0.5);
    if (isBusy) for (let again = 0; again < 2; again += 1) this.only(this.news(), 0, 'at a callback during its poll');
    this.copy.writes.length = 0;
    const sent = this.answers(order('open', this.copy.nowMs + 60_000));
    this.only(sent, isBusy ? 1 : 0, 'after a poll');
    this.unwritten('the poll of an open order');
    if (isBusy) this.open();
  }

  askedAgain(): void {
    if (this.asked !== undefined) return;
    this.asks('of an open order', 1);
    if (this.draw.chance(0.5)) this.asks('of an open order that is polled', 0);
    this.open();
    this.vendorOrders(this.copy.pass(patienceMs));
  }

  askedByAnother(): void {
    if (this.asked !== undefined) return;
    this.asks('by another session', 1, `${this.session}x`);
    this.open();
    this.vendorOrders(this.copy.pass(patienceMs));
  }

  /** Only its session cancels it. The vendor decides. */
  cancelled(): void {
    if (this.asked !== undefined) return;
    this.copy.writes.length = 0;
    this.only(this.says('vendorCancel', 'sig_stranger'), 0, 'at the cancellation of another session');
    const isBusy = this.draw.chance(0.4);
    if (isBusy) this.only(this.news(), 1, 'at a callback');
    this.only(this.says('vendorCancel'), isBusy ? 0 : 1, 'at its cancellation');
    if (isBusy)
      this.only(this.answers(order('open', this.copy.nowMs + 60_000)), 1, 'when it was cancelled during a poll');
    const { message } = this.asked!;
    must(
      'request' in message && message.request.kind === 'cancel',
      () => `${this.self} is cancelled, and does not tell the vendor`,
    );
    this.unwritten('a cancellation');
    // The vendor does not cancel it. A new request ends the wish.
    this.open();
    this.askedAgain();
  }

  /** Another session wants the order that its session has cancelled: it gets one of its own. */
  takenOver(): void {
    if (this.asked !== undefined) return;
    this.only(this.says('vendorCancel'), 1, 'at its cancellation');
    this.asks('after its cancellation', 0, `${this.session}z`);
    const before = this.externalId;
    this.only(this.answers(order('cancelled', this.copy.nowMs)), 1, 'when it was cancelled and another session waits');
    this.externalId = externalIdOf(this.asked!);
    must(this.externalId !== before, () => `${this.self} orders again under the id of an order that was cancelled`);
    this.stands('placing', 'when the vendor gets another order');
    // The timer of its polls still runs.
    if (this.draw.chance(0.5)) this.silent(this.copy.pass(pollMs), 'before the vendor has answered its new order');
    this.open();
    this.vendorOrders(this.copy.pass(patienceMs));
  }

  crashed(): void {
    this.copy.restart();
    this.asked = undefined;
    this.waiting = 0;
    // The runtime gives it news at a start; any other input starts its timers too.
    if (this.draw.chance(0.5)) this.only(this.news(), 1, 'after a restart');
    else {
      this.silent(this.says('vendorNoted', 'sig_stranger'), 'at the note of another session');
      this.only(this.copy.pass(pollMs), 1, 'at its poll after a restart');
    }
    must(
      externalIdOf(this.asked!) === this.externalId,
      () => `${this.self} orders again under another id after a restart`,
    );
    this.open();
  }

  /** The vendor says that it has not decided. */
  open(): void {
    this.only(this.answers(order('open', this.copy.nowMs + 60_000)), 0, 'of an open order');
  }

  // --- the vendor has decided ----------------------------------------------------------------------------------------

  settles(): void {
    const draw = this.draw;
    const { message } = this.asked!;
    const place = 'request' in message && message.request.kind === 'place' ? message.request : undefined;
    const label = place?.label as string;
    const signature = this.copy.held.sign(label, this.wanted.message)!;
    const [state, given, code] = draw.pick([
      ['signed', signature, ''],
      ['signed', signature, ''],
      ['signed', changed(signature), 'VENDOR_SIGNATURE_INVALID'],
      ['rejected', none, 'VENDOR_REJECTED'],
      ['cancelled', none, 'VENDOR_CANCELLED'],
      ['expired', none, 'VENDOR_EXPIRED'],
    ] as const);
    const sent = this.answers({ ...order(state, this.copy.nowMs), signature: given });
    const isSigned = code === '';
    this.decided(sent, code, this.waiting + 1);
    this.waiting = 0;
    this.stands(isSigned ? 'signed' : 'ended', 'when it says what the vendor decided');
    const isNoted = isSigned || this.draw.chance(0.6);
    if (isNoted) this.told(code);
    this.copy.writes.length = 0;
    this.only(this.says('vendorCancel'), 0, 'at the cancellation of an order that has ended');
    if (draw.chance(0.5)) this.only(this.news(), 0, 'at a callback of an order that has ended');
    const late = {
      kind: 'vendorAnswered' as const,
      externalId: this.externalId,
      outcome: order('rejected', this.copy.nowMs),
    };
    this.silent(this.copy.tell(this.address, late, 'vendor'), 'at a second answer of the vendor');
    this.unwritten('news of an order that has ended');
    if (isSigned) this.signedOnce();
    else this.ordersAnew(isNoted);
  }

  /** It repeats the outcome until its session has noted it. */
  told(code: string): void {
    const draw = this.draw;
    if (draw.chance(0.3)) {
      this.copy.restart();
      this.only(this.news(), 0, 'after a restart, of an order that has ended');
    }
    for (let times = draw.int(1, 2); times > 0; times -= 1) this.decided(this.copy.pass(tellMs), code, 1);
    this.only(this.says('vendorNoted', 'sig_stranger'), 0, 'at the note of another session');
    this.decided(this.copy.pass(tellMs), code, 1);
    this.only(this.says('vendorNoted'), 0, 'at its note');
    must(this.stored?.noted === true, () => `${this.self} was noted, and its record does not say so`);
    this.silent(this.copy.pass(2 * tellMs), 'after its outcome was noted');
  }

  /** The one signature of its intent. */
  signedOnce(): void {
    const draw = this.draw;
    this.copy.writes.length = 0;
    const again = this.signer.ask({ ...this.wanted, session: this.session });
    must(
      again.kind === 'partial' && again.sent.length === 1,
      () => `${this.self} has a signature, and gives ${again.code || again.kind}`,
    );
    this.unwritten('a repeated request of a signed order');
    if (draw.chance(0.5)) {
      this.session = `${this.session}y`;
      const other = { ...this.wanted, session: this.session };
      this.decided(this.copy.tell(`node/${this.signer.id}`, this.signer.frameOf(other)), '', 2);
      this.decided(this.copy.pass(tellMs), '', 1);
      this.only(this.says('vendorNoted'), 0, 'at its note');
    }
    if (draw.chance(0.3)) this.otherMessage();
    else if (draw.chance(0.5)) this.deleted();
  }

  /** The order of its gateway is over, and the vendor's signature stays the only one. */
  otherMessage(): void {
    this.copy.pass(lastsMs);
    const expiresMs = this.copy.nowMs + lastsMs;
    const other = {
      ...this.wanted,
      message: changed(this.wanted.message),
      order: { ...this.wanted.order!, expiresMs },
    };
    const { code, kind } = this.signer.ask(other);
    must(
      code === 'INTENT_MESSAGE_CHANGED',
      () => `${this.self} has signed for an intent, and gives ${code || kind} for another message`,
    );
  }

  /** The record stays for a time after its last use. */
  deleted(): void {
    this.copy.pass(retentionMs - 1_000);
    this.copy.writes.length = 0;
    this.only(this.news(), 0, 'of an order that is kept');
    this.unwritten('a callback of an order that is kept');
    this.copy.pass(lastsMs + 1_000);
    this.only(this.news(), 0, 'of an order that is over');
    must(this.stored === undefined, () => `${this.self} keeps its record for longer than it must`);
    this.only(this.news(), 0, 'of no order');
  }

  /** An ended order is followed by another, when it is asked for. */
  ordersAnew(isNoted: boolean): void {
    const before = this.externalId;
    const { sent } = this.signer.ask(this.wanted);
    this.only(sent, 1, 'after an order that has ended');
    this.externalId = externalIdOf(this.asked!);
    must(this.externalId !== before, () => `${this.self} orders again under the id of an order that has ended`);
    this.stands('placing', 'when the vendor gets another order');
    const old = { kind: 'vendorAnswered' as const, externalId: before, outcome: order('rejected', this.copy.nowMs) };
    this.silent(this.copy.tell(this.address, old, 'vendor'), 'at a late answer about its earlier order');
    if (!isNoted) this.silent(this.copy.pass(tellMs), 'of an outcome that a new order has replaced');
    // Requests that the earlier order has answered are not answered again.
    this.session = this.wanted.session;
    this.decided(this.answers(order('rejected', this.copy.nowMs)), 'VENDOR_REJECTED', 2);
  }
}

/**
 * One order of a trial at the vendor of a node's key: what was asked for, the vendor's open request, and the comparison of what the
 * order's actor sends and stores with what it should.
 */
import type { WireBodyInit, WireMessage } from '../../proto/wire.ts';
import {
  type NodeCopy,
  type VendorOutcome,
  vendorRequestsOf,
  wireMessagesOf,
} from '../../simulation/cluster/node-copy.ts';
import { must, trialTenant } from '../support/trial.ts';
import type { Sent, Signer, Wanted } from './signer.ts';

/** Of the gateway's order: longer than a trial. */
export const lastsMs = 3_600_000;

type State = Extract<VendorOutcome, { kind: 'order' }>['state'];
interface Stored {
  readonly phase: string;
  readonly externalId: string;
  readonly session: string;
  readonly noted: boolean;
}

export class VendorOrder {
  readonly signer: Signer;
  readonly copy: NodeCopy;
  readonly wanted: Wanted;
  address = '';
  externalId = '';
  /** The session that asked last. */
  session: string;
  /** Requests without an answer. */
  waiting = 0;
  /** The vendor's open request. */
  asked: Sent[number] | undefined;

  constructor(signer: Signer) {
    this.signer = signer;
    this.copy = signer.copy;
    // Orders of earlier trials wait for an answer, and their timers run.
    this.copy.restart();
    const wanted = signer.wanted();
    this.wanted = { ...wanted, order: { ...wanted.order!, expiresMs: this.copy.nowMs + lastsMs } };
    this.session = this.wanted.session;
  }

  get draw() {
    return this.signer.trial.draw;
  }

  get self(): string {
    return `the order of node ${this.signer.id}`;
  }

  get stored(): Stored | undefined {
    const record = this.copy.record(this.address.replace(/^node\/\d+\//, ''));
    return record === undefined ? undefined : (JSON.parse(Buffer.from(record).toString()) as Stored);
  }

  stands(phase: string, when: string): void {
    const { phase: stored, externalId } = this.stored ?? { phase: 'missing', externalId: '' };
    const isSo = stored === phase && externalId === this.externalId;
    must(
      isSo,
      () => `${this.self} is stored as ${stored} (${externalId}) ${when}, not as ${phase} (${this.externalId})`,
    );
  }

  news(): Sent {
    return this.copy.tell(this.address, { kind: 'vendorNews' }, 'vendor');
  }

  /** A message of the coordinator, in the name of a session. */
  says(what: 'vendorNoted' | 'vendorCancel', session = this.session): Sent {
    const body = { case: what, value: {} } as WireBodyInit;
    return this.copy.tell(this.address, { tenant: trialTenant, session, attempt: 0, body });
  }

  answers(outcome: VendorOutcome): Sent {
    const asked = this.asked!;
    this.asked = undefined;
    const sent = this.copy.vendorAnswers(asked, outcome);
    this.took(sent);
    return sent;
  }

  took(sent: Sent): void {
    const [asked, more] = vendorRequestsOf(sent);
    must(
      more === undefined && (asked === undefined || this.asked === undefined),
      () => `${this.self} asks its vendor twice at once`,
    );
    this.asked ??= asked;
    must(this.copy.bugs.length === 0, () => `${this.self} threw: ${this.copy.bugs.join('; ')}`);
  }

  /** Nothing leaves but this number of requests to the vendor. */
  only(sent: Sent, requests: 0 | 1, when: string): void {
    const isTaken = this.asked !== undefined && sent.includes(this.asked);
    if (!isTaken) this.took(sent);
    const asked = vendorRequestsOf(sent).length;
    must(asked === requests, () => `${this.self} asks its vendor ${asked} times ${when}`);
    must(sent.length === requests, () => `${this.self} says something ${when}`);
  }

  silent(sent: Sent, when: string): void {
    this.only(sent, 0, when);
  }

  unwritten(what: string): void {
    must(this.copy.writes.length === 0, () => `${this.self} changes its store at ${what}`);
  }

  refusals(sent: Sent, code: string, count: number): void {
    const replies = this.signer.outcomes(sent);
    must(
      replies.length === count && replies.every((one) => one.code === code),
      () =>
        `${this.self} gives ${replies.map((one) => one.code || one.kind).join() || 'nothing'} to ${count} requests, not ${code}`,
    );
  }

  /** Replies, and the message to its session: each with the outcome; '' is a signature. */
  decided(sent: Sent, code: string, count: number): void {
    const replies = this.signer.outcomes(sent);
    const isRight = replies.every((one) => one.code === code && (code !== '' || one.kind === 'partial'));
    must(
      replies.length === count && isRight && sent.length === count,
      () =>
        `${this.self} says ${replies.map((one) => one.code || one.kind).join() || 'nothing'}, not ${count} times ${code || 'its signature'}`,
    );
    const settled = wireMessagesOf(sent).filter(({ body }) => body.case === 'vendorSettled');
    must(
      settled.length === 1 && settled[0]!.session === this.session,
      () => `${this.self} tells ${settled.length} sessions of its outcome, or another than the last that asked`,
    );
  }

  /** A repeated request, or one of another session of the intent: it waits. */
  asks(when: string, requests: 0 | 1, session = this.session): void {
    this.copy.writes.length = 0;
    const { sent } = this.signer.ask({ ...this.wanted, session });
    if (session === this.session) this.unwritten(`a repeated request, ${when}`);
    this.session = session;
    this.waiting += 1;
    this.only(sent, requests, when);
    must(
      this.stored?.session === session,
      () => `${this.self} is asked by ${session}, and its record names ${this.stored?.session}`,
    );
  }

  vendorOrders(sent: Sent): void {
    const replies = outcomesOf(sent);
    must(
      replies.length === this.waiting && replies.every((one) => one.case === 'vendorOrder'),
      () =>
        `${this.self} lets ${this.waiting} requests wait, and then says ${replies.map((one) => one.case).join() || 'nothing'}`,
    );
    this.waiting = 0;
  }
}

export const none = new Uint8Array(0);

export function order(state: State, expiresMs: number): Extract<VendorOutcome, { kind: 'order' }> {
  return { kind: 'order', state, signature: none, expiresMs, detail: 'as the trial says' };
}

export function externalIdOf({ message }: Sent[number]): string {
  return 'kind' in message && message.kind === 'vendorAsked' ? message.request.externalId : '';
}

function outcomesOf(sent: Sent): { readonly case: string }[] {
  return wireMessagesOf(sent).map(({ body }: WireMessage) => (body.value as { outcome: { case: string } }).outcome);
}

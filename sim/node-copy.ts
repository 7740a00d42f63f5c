/**
 * A second process of a node, over a copy of its store as it is now: for trials of checkers. Nothing that it does reaches the run,
 * and it draws no randomness of the run. It handles every input at once; its time passes by `pass` alone.
 */
import type { Address, Envelope, RandomBytes } from '../actors/contract.ts';
import { noTrace } from '../actors/contract.ts';
import { safeErrorText } from '../actors/error-text.ts';
import type { Timer } from '../actors/kernel/cell.ts';
import type { PendingLoad } from '../actors/kernel/host.ts';
import { Kernel } from '../actors/kernel/kernel.ts';
import { type NodeIdentity, nodeBehaviours } from '../nodes/behaviours.ts';
import { type HsmOutcome, hsmAddress } from '../nodes/records/hsm-port.ts';
import type { NodeMessage } from '../nodes/records/messages.ts';
import type { NodeRecord, NodeWrite } from '../nodes/records/records.ts';
import { type VendorOutcome, vendorAddress } from '../nodes/records/vendor-port.ts';
import type { WireMessage } from '../proto/wire.ts';
import { HeldKeys } from '../providers/vendor/public.ts';
import type { SyncStore, WriteFate } from './memory-stores.ts';

type NodeKernel = Kernel<NodeMessage, NodeWrite, NodeRecord>;
type Sent = Envelope<NodeMessage>;

export type { HsmOutcome } from '../nodes/records/hsm-port.ts';
export type { VendorOutcome } from '../nodes/records/vendor-port.ts';

export interface NodeCopyOptions {
  readonly identity: Omit<NodeIdentity, 'boot'>;
  readonly store: Pick<SyncStore<NodeWrite, NodeRecord>, 'loadNow'>;
  readonly nowMs: number;
  readonly random: RandomBytes;
}

const unavailable = { kind: 'unavailable', message: 'the trial refuses it' } as const;

export class NodeCopy {
  readonly nodeId: number;
  /** Of its present start. */
  boot = '';
  nowMs: number;
  /** The fate of its next writes; `answered` for those after them. */
  readonly fates: WriteFate[] = [];
  /** Writes that took effect, since the trial last cleared them. */
  readonly writes: NodeWrite[] = [];
  /** Texts of what its actors threw. */
  readonly bugs: string[] = [];
  /** The keys of its token and vendor: only those made here. */
  readonly held: HeldKeys;
  /** Reads are answered by `answerReads` alone, each with the record as it was when it was asked for. */
  holdsReads = false;
  readsFail = false;
  readonly #options: NodeCopyOptions;
  /** By record key; undefined: deleted. */
  readonly #records = new Map<string, NodeRecord | undefined>();
  readonly #timers = new Map<Timer<NodeMessage, NodeWrite, NodeRecord>, number>();
  #sent: Sent[] = [];
  #heldReads: (() => void)[] = [];
  #tasks: (() => void)[] = [];
  #kernel: NodeKernel;
  #starts = 0;

  constructor(options: NodeCopyOptions) {
    this.#options = options;
    this.nodeId = options.identity.nodeId;
    this.nowMs = options.nowMs;
    this.held = new HeldKeys(options.random);
    this.#kernel = this.#start();
  }

  /** Its process dies and starts again. */
  restart(): void {
    this.#kernel.end();
    this.#timers.clear();
    this.#heldReads = [];
    this.#tasks = [];
    this.#kernel = this.#start();
  }

  /** The record as it stands in the copy. */
  record(key: string): NodeRecord | undefined {
    return this.#records.has(key) ? this.#records.get(key) : this.#options.store.loadNow(key);
  }

  put(key: string, record: NodeRecord | undefined): void {
    this.#records.set(key, record);
  }

  /** Delivers a message, and handles all that follows. Returns what left the process since the last such call. */
  tell(to: Address, message: NodeMessage, from: Address = 'trial'): readonly Sent[] {
    this.#kernel.deliver({ from, to, message, trace: noTrace });
    return this.settle();
  }

  /** The messages to other processes among what `tell` returns. */
  ask(to: Address, message: WireMessage, from: Address = 'trial'): WireMessage[] {
    return wireMessagesOf(this.tell(to, message, from));
  }

  /** Answers the token's request for a key, or for a signature. */
  tokenAnswers({ from, to, message }: Sent, outcome?: HsmOutcome): readonly Sent[] {
    if (!('kind' in message) || message.kind !== 'hsmAsked') throw new Error('this is no request to the token');
    const { request, about } = message;
    return this.tell(from, { kind: 'hsmAnswered', outcome: outcome ?? this.#outcomeOf(request), about }, to);
  }

  vendorAnswers({ from, message }: Sent, outcome: VendorOutcome): readonly Sent[] {
    if (!('kind' in message) || message.kind !== 'vendorAsked') throw new Error('this is no order to the vendor');
    return this.tell(from, { kind: 'vendorAnswered', externalId: message.request.externalId, outcome }, vendorAddress);
  }

  answerReads(): readonly Sent[] {
    for (const answer of this.#heldReads.splice(0)) answer();
    return this.settle();
  }

  /** Time passes: timers that fall due fire, in their order. */
  pass(ms: number): readonly Sent[] {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const due = [...this.#timers].filter(([, atMs]) => atMs <= untilMs).sort(([, a], [, b]) => a - b)[0];
      if (due === undefined) break;
      const [timer, atMs] = due;
      this.#timers.delete(timer);
      this.nowMs = Math.max(this.nowMs, atMs);
      this.#kernel.fired(timer);
      this.#drain();
    }
    this.nowMs = untilMs;
    return this.settle();
  }

  settle(): readonly Sent[] {
    this.#drain();
    const sent = this.#sent;
    this.#sent = [];
    return sent;
  }

  #drain(): void {
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) task();
  }

  #start(): NodeKernel {
    this.#starts += 1;
    const { identity, random } = this.#options;
    this.boot = `node/${identity.nodeId}#copy-${this.#starts}`;
    const kernel: NodeKernel = new Kernel(
      {
        nowMs: () => this.nowMs,
        random,
        ready: (cell) => void this.#tasks.push(() => kernel.turn(cell)),
        write: (pending) => {
          const fate = this.fates.shift() ?? 'answered';
          this.#tasks.push(() => {
            if (fate !== 'lost') this.#written(pending.write);
            kernel.written(pending, fate === 'answered' ? { kind: 'written' } : unavailable);
          });
        },
        load: (pending) => this.#load(kernel, pending),
        startTimer: (timer, afterMs) => void this.#timers.set(timer, this.nowMs + afterMs),
        cancelTimer: (timer) => void this.#timers.delete(timer),
        send: (envelope) => {
          this.#sent.push(envelope);
          return undefined;
        },
        emit: () => undefined,
        describe: () => '',
        threw: (_, error) => void this.bugs.push(safeErrorText(error)),
        deadLetter: () => undefined,
        stepped: undefined,
      },
      Object.values(nodeBehaviours({ ...identity, boot: this.boot })),
    );
    return kernel;
  }

  #load(kernel: NodeKernel, pending: PendingLoad<NodeMessage, NodeWrite, NodeRecord>): void {
    const found = this.readsFail ? unavailable : { record: this.record(pending.key) };
    const answer = () => kernel.found(pending, found);
    if (this.holdsReads) this.#heldReads.push(answer);
    else this.#tasks.push(answer);
  }

  #written(write: NodeWrite): void {
    this.writes.push(write);
    for (const { key, record } of write.puts) this.#records.set(key, record);
    for (const key of write.deletes) this.#records.set(key, undefined);
  }

  #outcomeOf(request: Extract<NodeMessage, { kind: 'hsmAsked' }>['request']): HsmOutcome {
    if (request.kind === 'destroy') {
      this.held.delete(request.label);
      return { kind: 'destroyed' };
    }
    const made = request.kind === 'make' ? this.held.make(request.label, request.curve) : undefined;
    const signature = this.held.sign(request.label, request.kind === 'make' ? request.challenge : request.message);
    if (signature === undefined) return { kind: 'failed', fault: 'HSM_TOKEN_ABSENT', message: 'no such key' };
    return made ? { kind: 'made', publicKey: made, signature } : { kind: 'signed', signature };
  }
}

export function wireMessagesOf(sent: readonly Sent[]): WireMessage[] {
  return sent.flatMap(({ message }) => ('kind' in message ? [] : [message]));
}

/** Requests of signatures or keys to the token, or to the vendor for a key. */
export function tokenRequestsOf(sent: readonly Sent[]): Sent[] {
  return sent.filter(({ to, message }) => [hsmAddress, vendorAddress].includes(to) && isKind(message, 'hsmAsked'));
}

export function vendorRequestsOf(sent: readonly Sent[]): Sent[] {
  return sent.filter(({ message }) => isKind(message, 'vendorAsked'));
}

function isKind(message: NodeMessage, kind: string): boolean {
  return 'kind' in message && message.kind === kind;
}

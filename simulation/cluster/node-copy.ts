/**
 * A second process of a node, over a copy of its store as it is now (process-copy.ts). A read shows the record as it was when the
 * read was asked for.
 */
import type { Address, Envelope, RandomBytes } from '../../core/actors/contract.ts';
import { type NodeIdentity, nodeBehaviours } from '../../nodes/behaviours.ts';
import { type HsmOutcome, hsmAddress } from '../../nodes/records/hsm-port.ts';
import type { NodeMessage } from '../../nodes/records/messages.ts';
import type { NodeRecord, NodeWrite } from '../../nodes/records/records.ts';
import { type VendorOutcome, vendorAddress } from '../../nodes/records/vendor-port.ts';
import type { WireMessage } from '../../proto/wire.ts';
import { HeldKeys } from '../../wallets/providers/vendor/public.ts';
import type { SyncStore } from './memory-stores.ts';
import { ProcessCopy, unavailable } from './process-copy.ts';

type Sent = Envelope<NodeMessage>;

export type { HsmOutcome } from '../../nodes/records/hsm-port.ts';
export type { VendorOutcome } from '../../nodes/records/vendor-port.ts';

export interface NodeCopyOptions {
  readonly identity: Omit<NodeIdentity, 'boot'>;
  readonly store: Pick<SyncStore<NodeWrite, NodeRecord>, 'loadNow'>;
  readonly nowMs: number;
  readonly random: RandomBytes;
}

export class NodeCopy extends ProcessCopy<NodeMessage, NodeWrite, NodeRecord> {
  readonly nodeId: number;
  /** The keys of its token and vendor: only those made here. */
  readonly held: HeldKeys;
  readonly #options: NodeCopyOptions;
  /** By record key; undefined: deleted. */
  readonly #records = new Map<string, NodeRecord | undefined>();

  constructor(options: NodeCopyOptions) {
    const { identity, nowMs, random } = options;
    super(`node/${identity.nodeId}`, nowMs, random);
    this.#options = options;
    this.nodeId = identity.nodeId;
    this.held = new HeldKeys(random);
    this.start();
  }

  protected behaviours() {
    return Object.values(nodeBehaviours({ ...this.#options.identity, boot: this.boot }));
  }

  protected outcomeOf({ puts, deletes }: NodeWrite) {
    for (const { key, record } of puts) this.#records.set(key, record);
    for (const key of deletes) this.#records.set(key, undefined);
    return { kind: 'written' } as const;
  }

  protected read(key: string) {
    const found = this.readsFail ? unavailable : { record: this.record(key) };
    return () => found;
  }

  /** The record as it stands in the copy. */
  record(key: string): NodeRecord | undefined {
    return this.#records.has(key) ? this.#records.get(key) : this.#options.store.loadNow(key);
  }

  put(key: string, record: NodeRecord | undefined): void {
    this.#records.set(key, record);
  }

  /** The messages to other processes among what `tell` returns. */
  ask(to: Address, message: WireMessage, from: Address = 'trial'): WireMessage[] {
    return wireMessagesOf(this.tell(to, message, from));
  }

  /** Answers the token's request for a key, or for a signature. */
  tokenAnswers({ from, to, message }: Sent, outcome?: HsmOutcome): readonly Sent[] {
    if (!('kind' in message) || message.kind !== 'hsmAsked') throw new Error('this is no request to the token');
    const { request, about } = message;
    return this.tell(from, { kind: 'hsmAnswered', outcome: outcome ?? this.#tokenOutcome(request), about }, to);
  }

  vendorAnswers({ from, message }: Sent, outcome: VendorOutcome): readonly Sent[] {
    if (!('kind' in message) || message.kind !== 'vendorAsked') throw new Error('this is no order to the vendor');
    return this.tell(from, { kind: 'vendorAnswered', externalId: message.request.externalId, outcome }, vendorAddress);
  }

  #tokenOutcome(request: Extract<NodeMessage, { kind: 'hsmAsked' }>['request']): HsmOutcome {
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

/** A signing session of a coordinator alone (alone.ts), under a key of nodes 1 to 3 of which two sign. */
import { expect } from 'vitest';
import type { SessionConfig } from '../../../coordinator/contract/config.ts';
import { keyRecordKey } from '../../../coordinator/contract/messages.ts';
import type { KeyRecord, SessionRecord, SigningRecord } from '../../../coordinator/contract/record.ts';
import type { PartialRefusalCode, PartialRequest } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { type KeyScheme, schemeFacts, wireScheme } from '../../../proto/key-schemes.ts';
import { type Caller, CoordinatorAlone, type Frame } from './alone.ts';
import { tenant } from './steered-store.ts';

export const walletId = 'wal_1';
export const nodeIds = [1, 2, 3];
/** A scheme of each kind: its nodes share a key and any of them sign, a round binds its signers, or each node has its own key. */
export const schemes = ['mock_ecdsa', 'frost_bip340', 'owner_ecdsa'] as const;

export class SigningAlone extends CoordinatorAlone {
  readonly scheme: KeyScheme;
  /** Of the session that `opens` began last. */
  id = '';
  #intents = 0;

  constructor(scheme: KeyScheme = 'mock_ecdsa', options: Partial<SessionConfig> = {}) {
    super(3, options);
    this.scheme = scheme;
    const terms = { sessionId: walletId, threshold: 2, totalNodes: 3 };
    const { curve } = schemeFacts(scheme);
    const caller = { walletService: true, keyScheme: wireScheme(scheme) };
    const made = this.call('makeKey', { ...terms, derivation: { curve } }, caller);
    this.serve();
    expect(this.code(made)).toBe('DKG_COMPLETED');
  }

  /** The wallet's key is another one. */
  setKey(changes: Partial<KeyRecord>): void {
    const name = keyRecordKey(tenant, walletId);
    const snapshot = this.store.memory.snapshot();
    const known = snapshot.records.get(name);
    if (known?.kind !== 'key') throw new Error('the wallet has no key');
    const record = { kind: 'key', key: { ...known.key, ...changes } } as const;
    this.store.memory.restore({ ...snapshot, records: new Map(snapshot.records).set(name, record) });
  }

  /** A right request for a new intent, but for these changes. */
  begin(changes: object = {}, caller: Caller = {}): bigint {
    this.#intents += 1;
    const request = { walletId, messageHash: new Uint8Array(32).fill(5), transactionIntentId: `i${this.#intents}` };
    const keystoreType = schemeFacts(this.scheme).keystoreTypes[0];
    return this.call('initiateSigning', { ...request, keystoreType, ...changes }, caller);
  }

  /** Returns the call that began the session. */
  opens(changes: object = {}, code = 'SESSION_ACCEPTED', caller: Caller = {}): bigint {
    const begun = this.begin(changes, caller);
    expect(this.code(begun)).toBe(code);
    this.id = this.answer(begun).signingSessionId;
    return begun;
  }

  get address(): string {
    return `signing/${tenant}/${this.id}`;
  }

  get bindsSigners(): boolean {
    return this.scheme.startsWith('frost');
  }

  /** All nodes; of one node with `nodeId`. */
  gather(changes: object = {}): bigint {
    return this.call('submitSignatureShare', { signingSessionId: this.id, ...changes });
  }

  step(nodeId: number, changes: object = {}): bigint {
    return this.gather({ nodeId, ...changes });
  }

  preview(nodeId: number): bigint {
    return this.call('previewPartial', { sessionId: this.id, nodeId });
  }

  resume(resumeToken: string, changes: object = {}): bigint {
    return this.call('resumeSession', { sessionId: this.id, resumeToken, ...changes });
  }

  /** The token in the answer to this call. */
  tokenOf(call: bigint): string {
    return this.answer(call).checkpoint!.resumeToken;
  }

  get record(): SessionRecord & { readonly ceremony: SigningRecord } {
    return this.store.session(this.id) as SessionRecord & { readonly ceremony: SigningRecord };
  }

  /** The requests of the session's latest attempt that no node has answered. */
  get requests(): Frame[] {
    const own = this.asked.filter(({ names, body }) => names.session === this.id && body.case === 'partialRequest');
    const latest = Math.max(...own.map(({ names }) => names.attempt));
    return own.filter(({ names }) => names.attempt === latest);
  }

  get askedNodes(): number[] {
    return this.requests.map(({ node }) => node);
  }

  /** Takes the request to this node, and gives the node's right answer. */
  answerOf(nodeId: number): Frame {
    const mine = this.requests.filter(({ node }) => node === nodeId);
    const others = this.asked.filter((frame) => !mine.includes(frame));
    this.asked = mine;
    this.deliver();
    this.asked = others;
    expect(this.answers.length).toBe(1);
    return this.answers.pop()!;
  }

  /** The request to this node is answered with a refusal. */
  refuses(nodeId: number, code: PartialRefusalCode): void {
    const frame = this.answerOf(nodeId);
    this.hear(frame, refusalOf(frame, code));
  }

  /** Its latest request. */
  requestTo(nodeId: number): PartialRequest | undefined {
    return this.requests.find(({ node }) => node === nodeId)?.body.value as PartialRequest | undefined;
  }

  /** It signs, with honest nodes. */
  signs(): void {
    const call = this.gather();
    this.serve();
    expect(this.code(call)).toBe('SIGNATURE_COMPLETED');
  }
}

interface Reply {
  readonly attemptTag: bigint;
  readonly outcome: { readonly case: string; readonly value: Uint8Array };
}

function replyOf({ body }: Frame): Reply {
  expect(body.case).toBe('partialReply');
  return body.value as unknown as Reply;
}

export function refusalOf(frame: Frame, code: PartialRefusalCode): object {
  const outcome = { case: 'refusal', value: { code, message: 'as it says' } };
  return { case: 'partialReply', value: { nodeId: frame.node, attemptTag: replyOf(frame).attemptTag, outcome } };
}

export function partialOf(frame: Frame): Uint8Array {
  const { outcome } = replyOf(frame);
  expect(outcome.case).toBe('partial');
  return outcome.value;
}

/** The node's answer with another partial: by default one of the right form that does not verify. */
export function partialBody(frame: Frame, partial: Uint8Array = wrongPartial(partialOf(frame))): object {
  const { body } = frame;
  return { ...body, value: { ...body.value, outcome: { case: 'partial', value: partial } } };
}

/** In the lowest byte of a scalar, and inside s of a signature. */
export function wrongPartial(right: Uint8Array): Uint8Array {
  const at = right.length === 32 ? 31 : 40;
  return right.map((byte, index) => (index === at ? byte ^ 1 : byte));
}

/**
 * The coordinator in a trial: one process of its own (simulation/cluster/coordinator-copy.ts), a key, and gateways and nodes that the trial plays.
 * Nodes deal nonces at once; what else they answer, and when, the trial decides.
 */
import type { LocalMessage } from '../../coordinator/contract/messages.ts';
import { keyKey, sessionKey } from '../../coordinator/contract/messages.ts';
import type { SessionRecord } from '../../coordinator/contract/record.ts';
import { CryptoError } from '../../core/crypto/errors.ts';
import type { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { PartialRefusalCode, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type KeyBinding, schemeFacts, wireScheme } from '../../proto/key-schemes.ts';
import type { CallCase, WireBodyInit, WireMessage } from '../../proto/wire.ts';
import type { CoordinatorCopy } from '../../simulation/cluster/coordinator-copy.ts';
import { emptyCoordinatorSnapshot } from '../../simulation/cluster/memory-stores.ts';
import { must, type Trial, trialTenant } from '../support/trial.ts';
import { type PartialAsked, PlayedKey, type PlayedPartial } from './played-key.ts';

export const gateway = 'gateway/trial';
export const lifetimesMs = { signingMs: 60_000, pendingMs: 90_000, dkgMs: 60_000 } as const;
export const nodesWaitMs = 4_000;
export const partialTimeoutMs = 1_000;
export const callsWaitingMax = 3;
/** The coordinator draws a faulty node last for so long at most. */
const suspectsMs = 320_000;

/** A request for a partial that reached a node. */
export interface Asked extends PartialAsked {
  readonly node: number;
  readonly session: string;
  readonly attempt: number;
  readonly attemptTag: bigint;
  readonly keySession: string;
  readonly order?: { readonly mac: Uint8Array; readonly witnessMac: Uint8Array };
}

/** The answer to a call: its response, or an error with its code's name. */
export interface Reply {
  readonly case: string;
  // biome-ignore lint/suspicious/noExplicitAny: the case names the type of the value, which no lookup expresses.
  readonly value: any;
}

export interface Call {
  readonly id: bigint;
  readonly method: CallCase;
}

export interface Caller {
  readonly walletService?: boolean;
  readonly walletTerms?: object;
  readonly order?: object | undefined;
  readonly witnessMacs?: Uint8Array;
}

/** What else left the process. */
export interface Said {
  readonly to: string;
  readonly case: string;
}

export class CoordinatorInTrial {
  readonly trial: Trial;
  readonly copy: CoordinatorCopy;
  readonly key: PlayedKey;
  readonly ids: readonly number[];
  /** Requests that no node has answered, oldest first. */
  asked: Asked[] = [];
  said: Said[] = [];
  /** Nodes deal no nonces until `release`. */
  withholds = false;
  #withheld: (() => void)[] = [];
  readonly #replies = new Map<bigint, Reply>();
  #calls = 0n;
  #sessions = 0;

  constructor(trial: Trial, binding: KeyBinding, copy: CoordinatorCopy, random: (length: number) => Uint8Array) {
    const { draw, nodesTotal, name } = trial;
    this.trial = trial;
    this.copy = copy;
    const holder = binding === '' ? undefined : schemeFacts(binding).ownKeys;
    const isSingle = holder === 'hsm' || holder === 'vendor';
    const all = Array.from({ length: nodesTotal }, (_, index) => index + 1);
    this.ids = draw.some(all, isSingle ? 1 : 3);
    this.key = new PlayedKey({
      ...{ tenant: trialTenant, keyId: `${draw.chance(0.4) ? 'wal_' : ''}${name}`, binding, random },
      ...{ threshold: isSingle ? 1 : 2, ids: this.ids, nowMs: copy.nowMs },
      account: draw.chance(0.5) ? [44] : [],
    });
    const { record } = this.key;
    const records = new Map([[keyKey(trialTenant, record.keyId), { kind: 'key', key: record } as const]]);
    copy.store.restore({ ...emptyCoordinatorSnapshot, records });
    this.linksUp();
  }

  /** Every node that has a share, and the gateway, are linked. */
  linksUp(): void {
    this.tellCluster({ kind: 'peerUp', address: gateway, role: 'gateway', nodeId: 0, boot: 'trial' });
    for (const id of this.ids) this.linkUp(id);
  }

  linkUp(id: number): void {
    this.copy.unlinked.delete(`node/${id}`);
    this.tellCluster({ kind: 'peerUp', address: `node/${id}`, role: 'node', nodeId: id, boot: bootOf(id) });
  }

  linkDown(id: number): void {
    this.copy.unlinked.add(`node/${id}`);
    this.tellCluster({ kind: 'peerDown', address: `node/${id}`, role: 'node', nodeId: id, boot: bootOf(id) });
  }

  /** Every node is linked and deals again, no node is passed over any more, and no request is left. */
  calm(): void {
    this.took(this.copy.pass(suspectsMs));
    this.release();
    for (const id of this.ids) if (this.copy.unlinked.has(`node/${id}`)) this.linkUp(id);
    this.asked = [];
    this.said = [];
  }

  /** Nodes deal what they have withheld. */
  release(): void {
    this.withholds = false;
    for (const deal of this.#withheld.splice(0)) deal();
  }

  restart(): void {
    this.copy.restart();
    this.asked = [];
    this.linksUp();
  }

  tellCluster(message: LocalMessage): void {
    this.took(this.copy.tell('cluster', message, 'runtime'));
  }

  /** Plays the nodes' part of what left the process. */
  took(sent: ReturnType<CoordinatorCopy['settle']>): void {
    must(this.copy.bugs.length === 0, () => `the coordinator threw: ${this.copy.bugs.join('; ')}`);
    for (const { to, message } of sent) {
      if ('kind' in message) this.said.push({ to, case: message.kind });
      else this.#received(to, message);
    }
  }

  #received(to: string, message: WireMessage): void {
    const { body } = message;
    const value = body.value as Record<string, unknown>;
    const node = Number(to.split('/')[1]);
    if (body.case === 'callReply') this.#replied(to, value);
    else if (body.case === 'dealNonces') {
      const deal = () => this.#deal(node, value as never);
      if (this.withholds) this.#withheld.push(deal);
      else deal();
    } else if (body.case === 'partialRequest') {
      const asked = { ...(value as unknown as Asked), node, session: message.session, attempt: message.attempt };
      this.asked.push(asked);
    } else if (body.case !== 'clusterStatus') this.said.push({ to, case: body.case });
  }

  #replied(to: string, { callId, outcome }: Record<string, unknown>): void {
    const { case: kind, value } = outcome as Reply;
    must(to === gateway, () => `an answer goes to ${to}`);
    must(!this.#replies.has(callId as bigint), () => `call ${callId} is answered twice`);
    this.#replies.set(callId as bigint, { case: kind, value });
  }

  #deal(node: number, { scheme, count, coordinatorBoot }: { scheme: Scheme; count: number; coordinatorBoot: string }) {
    const { curve, record } = this.key;
    const isForCurve = (scheme === Scheme.FROST_ED25519) === (curve === 'ed25519');
    const isForKey = isForCurve && (record.scheme === '' || wireScheme(record.scheme) === scheme);
    if (!isForKey || !this.ids.includes(node)) return;
    const nonces = this.key.deal(node, scheme, count);
    this.says(node, { case: 'noncesDealt', value: { scheme, nodeBoot: bootOf(node), coordinatorBoot, nonces } });
  }

  /** A message of a node to an actor; to the cluster by default. */
  says(node: number, body: WireBodyInit, to = 'cluster', session = '', from = `node/${node}`): void {
    this.took(this.copy.tell(to, { tenant: trialTenant, session, attempt: 0, body }, from));
  }

  // --- calls ---------------------------------------------------------------------------------------------------------

  /** A gateway's call. */
  call(method: CallCase, value: object, { order, ...caller }: Caller = {}): Call {
    const call = this.post(method, value, { order, ...caller });
    this.took(this.copy.settle());
    return call;
  }

  /** The same, and nothing handles it yet. */
  post(method: CallCase, value: object, { order, ...caller }: Caller = {}): Call {
    this.#calls += 1n;
    const id = this.#calls;
    const sent = { callId: id, request: { case: method, value }, ...caller, ...(order && { order }) };
    const body = { case: 'call', value: sent } as unknown as WireBodyInit;
    this.copy.deliver('coordinator', { tenant: trialTenant, session: '', attempt: 0, body }, gateway);
    return { id, method };
  }

  reply({ id }: Call): Reply | undefined {
    return this.#replies.get(id);
  }

  /** Its response, or its error; none contradicts the contract. */
  anyReply(call: Call, why: string): Reply {
    const reply = this.reply(call);
    must(reply !== undefined, () => `${call.method} is not answered ${why}`);
    return reply;
  }

  waits(call: Call, why: string): void {
    must(this.reply(call) === undefined, () => `${call.method} is answered ${shown(this.reply(call))} ${why}`);
  }

  failed(call: Call, codes: readonly CallErrorCode[], why: string): void {
    const reply = this.reply(call);
    must(
      reply?.case === 'error' && codes.includes(reply.value.code),
      () => `${call.method} is answered ${shown(reply)} ${why}, not with error ${codes.join(' or ')}`,
    );
  }

  /** Its receipt has this code; its checkpoint is that of the stored session. Returns the response. */
  answered(call: Call, code: string, why: string, isWithChange = false): Reply['value'] {
    const reply = this.reply(call);
    const receipt = reply?.value?.receipt;
    must(receipt?.reasonCode === code, () => `${call.method} is answered ${shown(reply)} ${why}, not ${code}`);
    const { checkpoint } = reply!.value;
    const record = this.record(receipt.sessionId);
    const { epoch = 0, checkpointId = checkpoint.checkpointId } = record ?? {};
    // An answer may leave together with the next change.
    if (Number(checkpoint.epoch) === epoch - 1 && isWithChange) return reply!.value;
    must(
      Number(checkpoint.epoch) === epoch && checkpoint.checkpointId === checkpointId,
      () => `${call.method} is answered with epoch ${checkpoint.epoch}, and its session is in epoch ${epoch}`,
    );
    const isPaused = record !== undefined && paused.has(record.state);
    must(
      (checkpoint.resumeToken !== '') === isPaused && receipt.resumable === isPaused,
      () => `${call.method} is answered with a token, or without, and its session is in state ${record?.state}`,
    );
    return reply!.value;
  }

  /** `act` changes nothing that is stored. */
  unchanged<T>(what: string, act: () => T): T {
    this.copy.writes.length = 0;
    const result = act();
    must(this.copy.writes.length === 0, () => `the coordinator writes at ${what}, which changes nothing`);
    return result;
  }

  // --- sessions ------------------------------------------------------------------------------------------------------

  record(sessionId: string): SessionRecord | undefined {
    const found = this.copy.store.as(1).loadNow(sessionKey(trialTenant, sessionId));
    return found?.kind === 'session' ? found.session : undefined;
  }

  /** The scheme of the stored key; empty: none yet. */
  get binding(): KeyBinding {
    const found = this.copy.store.as(1).loadNow(keyKey(trialTenant, this.key.record.keyId));
    return found?.kind === 'key' ? found.key.scheme : '';
  }

  /** A name that no session has. */
  newSession(): string {
    this.#sessions += 1;
    return `sig_00000000-0000-7000-8000-${String(this.#sessions).padStart(12, '0')}`;
  }

  order(sessionId: string, needsWitness = false): object {
    const macs = new Uint8Array(16 * this.trial.nodesTotal).map((_, index) => 1 + Math.floor(index / 16));
    return { sessionId, expiresEpochMs: BigInt(this.copy.nowMs + 1_000_000), needsWitness, macs };
  }

  /** An answer of a node to its request. */
  replies(
    { node, session, attemptTag }: Pick<Asked, 'node' | 'session' | 'attemptTag'>,
    outcome: PlayedPartial | { readonly code: PartialRefusalCode } | { readonly vendorOrder: object },
    from = `node/${node}`,
  ): void {
    this.asked = this.asked.filter((other) => other.node !== node || other.attemptTag !== attemptTag);
    const value =
      'partial' in outcome
        ? { outcome: { case: 'partial', value: outcome.partial }, noncePoint: outcome.noncePoint }
        : 'code' in outcome
          ? { outcome: { case: 'refusal', value: { code: outcome.code, message: 'as the trial says' } } }
          : { outcome: { case: 'vendorOrder', value: outcome.vendorOrder } };
    const body = { case: 'partialReply', value: { nodeId: node, attemptTag, ...value } } as unknown as WireBodyInit;
    this.says(node, body, `signing/${trialTenant}/${session}`, session, from);
  }

  #honest(asked: Asked): PlayedPartial | { readonly code: PartialRefusalCode } {
    try {
      return this.key.partial(asked.node, asked);
    } catch (error) {
      if (error instanceof CryptoError) return { code: PartialRefusalCode.REQUEST_INVALID };
      throw error;
    }
  }

  /** Honest nodes answer all that they were asked, until they are asked no more. */
  serve(): void {
    for (let left = 40; this.asked.length > 0 && left > 0; left -= 1) {
      const [first] = this.asked;
      this.replies(first!, this.#honest(first!));
    }
  }
}

export function bootOf(id: number): string {
  return `node/${id}#trial`;
}

const paused: ReadonlySet<ReceiptState> = new Set([ReceiptState.PENDING_HUMAN_APPROVAL, ReceiptState.BACKEND_FAILED]);

export function shown(reply: Reply | undefined): string {
  if (reply === undefined) return 'not at all';
  if (reply.case === 'error') return `with error ${reply.value.code} (${reply.value.message})`;
  return `with ${reply.value.receipt?.reasonCode ?? reply.value.reasonCode ?? reply.case} (${reply.value.receipt?.message ?? ''})`;
}

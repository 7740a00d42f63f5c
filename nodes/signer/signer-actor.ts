/**
 * The actor "node/<id>": makes nonces ahead and answers with partial signatures (proto/signmesh/wire/v1/signing.proto).
 *
 * Theory of operation
 * - DealNonces fills a pool bound to the coordinator's boot; the first one of a new boot voids everything before.
 * - PartialRequest: the actor checks the request by itself and against the gateway's order, finds or loads its key (others for
 *   that key wait meanwhile), checks the request against the key, takes its nonce from the pool, and only then computes. So the
 *   nonce is deleted before anything that depends on it exists, and a duplicate gets NONCE_UNKNOWN.
 * - A request that is refused for any other reason burns the nonce that it names: an honest coordinator never asks for it again.
 * - A key signs with one scheme. The first partial under an unbound key binds it: the record of the binding is
 *   durable before the partial leaves. Such partials wait in `pending`, and a message to itself writes them. During a
 *   write the runtime gives this actor no input, so that all requests that arrive meanwhile share the next write.
 * - An intent has one message: the node records its signature in the same way (intent-memory.ts), and refuses another message
 *   for it with INTENT_MESSAGE_CHANGED, even if the coordinator's store was rolled back.
 * - DeleteKey, ordered by a gateway, deletes a key permanently; the deletion waits for a write like a binding.
 * - A refused write releases nothing. The actor drops its pending answers, and reads the records again when needed, since the
 *   write may have taken effect. The coordinator gets no answer.
 *
 * A step without a write changes the state in place, as the actor contract allows: a step that copied pools and caches would
 * cost more than the signature, and no such step is ever undone. The one step with a write (`flush`) leaves the old state as
 * it is. After a bug the supervisor restarts the actor with empty pools, while the numbers continue.
 *
 * Secrets (shares, nonces, the hedge) stay in the state; events carry none.
 */
import type { Address, Context, Refusal, Trace } from '../../core/actors/contract.ts';
import { CryptoError } from '../../core/crypto/errors.ts';
import { hsmSignature } from '../../core/crypto/hsm.ts';
import { deletionDigest, macHolds } from '../../core/crypto/order-macs.ts';
import {
  type DealNonces,
  type DeleteKey,
  PartialRefusalCode,
  type PartialRequest,
  Scheme,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { isSharedKey, keyBinding, wireScheme } from '../../proto/key-schemes.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import { hsmAddress, hsmLabel } from '../records/hsm-port.ts';
import { decodeKeyRecord, encodeKeyRecord } from '../records/key-record.ts';
import type {
  SigningAsked as Asked,
  HsmAnswered,
  NodeBehaviour,
  NodeEffect,
  NodeInput,
  NodeMessageInput,
  NodeStep,
} from '../records/messages.ts';
import { isLocal, receivedBody } from '../records/messages.ts';
import {
  dkgRecordKey,
  isIntentBucket,
  isRecordName,
  keyRecordKey,
  type NodeRecord,
  type NodeWrite,
} from '../records/records.ts';
import { vendorAddress, vendorOrderAddress } from '../records/vendor-port.ts';
import { IntentMemory, type NamedIntent, namedIntent, signedDigest } from './intent-memory.ts';
import type { NonceHedge } from './nonce-hedge.ts';
import { NonceNumbers, NoncePools, type TakenNonce } from './nonce-secrets.ts';
import { orderFault } from './order-check.ts';
import { computePartial, keyFault, requestFault } from './partials.ts';
import { PendingNodeWrite } from './pending-write.ts';
import { isDealtScheme, isHsmScheme, isVendorScheme } from './schemes.ts';
import { type SigningKey, SigningKeys } from './signing-keys.ts';
import { WaitingRequests } from './waiting-requests.ts';

const signerMailboxMax = 8_192;
const noPoint = new Uint8Array(0);

export interface SignerIdentity {
  readonly nodeId: number;
  /** A fresh id for every start of the process; part of every nonce's id. */
  readonly boot: string;
  readonly hedge: NonceHedge;
  /** Secret, 32 bytes: shared with the gateways, whose orders it proves. */
  readonly orderKey: Uint8Array;
}

/** A request in progress that a gateway ordered for an intent. */
interface Ordered extends Asked {
  readonly intent: NamedIntent;
}

/** See above: owned by the actor, changed in place by steps without a write. */
export interface SignerState {
  readonly pools: NoncePools;
  readonly keys: SigningKeys;
  readonly intents: IntentMemory;
  /** Requests that wait for a record to be loaded: their key's, or their intent's. */
  readonly waiting: WaitingRequests<Ordered>;
  /** Partials that wait until their records are durable. */
  readonly pending: PendingNodeWrite;
  /** Records that were written while they were loading: the load may return the earlier content. */
  readonly stale: Set<string>;
}

export function signerBehaviour(identity: SignerIdentity): NodeBehaviour<SignerState> {
  const numbers = new NonceNumbers();
  return {
    prefix: `node/${identity.nodeId}`,
    mailboxMax: signerMailboxMax,
    durableKey: () => undefined,
    start: () => ({
      state: {
        pools: new NoncePools(numbers, identity.hedge),
        keys: new SigningKeys(),
        intents: new IntentMemory(),
        waiting: new WaitingRequests(),
        pending: new PendingNodeWrite(),
        stale: new Set(),
      },
      effects: [],
    }),
    receive: (state, input, context) => {
      if (input.kind === 'message' && isLocal(input.message) && input.message.kind === 'flush') return flush(state);
      if (input.kind === 'persistRefused') return writeRefused(state, input.write, input.refusal);
      return { state, effects: receive(identity, state, input, context) };
    },
  };
}

function receive(
  identity: SignerIdentity,
  state: SignerState,
  input: Exclude<NodeInput, { kind: 'persistRefused' }>,
  context: Context,
): NodeStep<SignerState>['effects'] {
  switch (input.kind) {
    case 'message': {
      const { message } = input;
      if (!isLocal(message)) return handle(identity, state, { ...input, message }, context);
      return message.kind === 'hsmAnswered' ? tokenAnswered(identity, message) : [];
    }
    case 'loaded':
      return loaded(identity, state, input.key, input.record, context);
    case 'loadFailed': {
      const waiting = state.waiting.take(input.key);
      state.stale.delete(input.key);
      // The state of these keys and intents is unknown. Silence is no fault: the coordinator asks another node.
      return [event('signer.record.unavailable', 'error', { requests: waiting.length, reason: input.message })];
    }
    case 'undelivered':
      // The mailbox was full: send again, behind its content.
      return isLocal(input.message) && input.message.kind === 'flush'
        ? [{ kind: 'send', to: input.to, message: input.message }]
        : [];
    case 'timer':
      return [];
  }
}

function handle(
  identity: SignerIdentity,
  state: SignerState,
  input: NodeMessageInput,
  context: Context,
): NodeStep<SignerState>['effects'] {
  const { tenant, session, attempt } = input.message;
  const body = receivedBody(input.message);
  switch (body.case) {
    case 'dealNonces':
      return dealNonces(identity, state, body.value, input, context);
    case 'partialRequest': {
      const { from, trace } = input;
      const asked = { from, trace, tenant, session, attempt, request: body.value };
      return partialRequested(identity, state, asked, context);
    }
    case 'deleteKey':
      return deleteKey(identity, state, body.value, input, context.self);
    default:
      return [event('signer.message.unexpected', 'warn', { from: input.from, message: body.case })];
  }
}

function dealNonces(
  { boot }: SignerIdentity,
  { pools }: SignerState,
  { scheme, count, coordinatorBoot, request }: DealNonces,
  { message: { tenant, session, attempt } }: NodeMessageInput,
  context: Context,
): NodeEffect[] {
  const possible = isDealtScheme(scheme) && coordinatorBoot !== '';
  const nonces = possible ? pools.deal(scheme, coordinatorBoot, count, context, request) : [];
  if (nonces === undefined) return [];
  const body: WireBodyInit = { case: 'noncesDealt', value: { scheme, nodeBoot: boot, coordinatorBoot, nonces } };
  return [
    { kind: 'reply', message: { tenant, session, attempt, body } },
    event('signer.nonces.dealt', 'debug', { scheme: Scheme[scheme] ?? '', count: nonces.length }),
  ];
}

function partialRequested(identity: SignerIdentity, state: SignerState, asked: Asked, context: Context): NodeEffect[] {
  const { request, tenant } = asked;
  const fault = requestFault(request, tenant, identity.nodeId);
  if (fault !== undefined) {
    return refuseAndBurn(identity, state, asked, PartialRefusalCode.REQUEST_INVALID, fault);
  }
  const unordered = orderFault(request, asked, identity.orderKey, context.nowMs);
  if (unordered !== undefined) return refuseAndBurn(identity, state, asked, unordered.code, unordered.message);
  return proceed(identity, state, { ...asked, intent: namedIntent(tenant, request.order!) }, context);
}

/** Continues a request when its key and its intent are loaded; otherwise it waits for them. */
function proceed(identity: SignerIdentity, state: SignerState, asked: Ordered, context: Context): NodeEffect[] {
  const { request, tenant, intent } = asked;
  const keyRecord = keyRecordKey(tenant, request.keySession);
  const hasKey = state.keys.has(keyRecord);
  if (hasKey && state.intents.has(intent)) return answer(identity, state, asked, keyRecord, context);
  const missing = hasKey ? intent.recordKey : keyRecord;
  switch (state.waiting.add(missing, asked, request.message.length)) {
    case 'first':
      return [{ kind: 'load', key: missing }];
    case 'queued':
      return [];
    case 'full':
      // Silence again: the coordinator asks another node, or this one later.
      return [event('signer.request.dropped', 'warn', { waiting: state.waiting.count })];
  }
}

function loaded(
  identity: SignerIdentity,
  state: SignerState,
  recordKey: string,
  record: NodeRecord | undefined,
  context: Context,
): NodeEffect[] {
  if (state.stale.delete(recordKey)) return [{ kind: 'load', key: recordKey }];
  const waiting = state.waiting.take(recordKey);
  // No newer content waits to be written: a record is changed while it is cached, and is not loaded then.
  if (isIntentBucket(recordKey)) {
    state.intents.add(recordKey, record);
  } else if (record === undefined || state.pending.deletes(recordKey)) {
    const { KEY_UNKNOWN } = PartialRefusalCode;
    return waiting.flatMap((asked) => refuseAndBurn(identity, state, asked, KEY_UNKNOWN, 'no final key of that name'));
  } else {
    state.keys.add(recordKey, decodeKeyRecord(record));
  }
  return waiting.flatMap((asked) => proceed(identity, state, asked, context));
}

/** The key and the intent are loaded. */
function answer(
  identity: SignerIdentity,
  state: SignerState,
  asked: Ordered,
  recordKey: string,
  { self, nowMs }: Context,
): NodeEffect[] {
  const { request, intent } = asked;
  const { NONCE_UNKNOWN, REQUEST_INVALID, KEYSTORE_MISMATCH, INTENT_MESSAGE_CHANGED } = PartialRefusalCode;
  let key: SigningKey;
  try {
    key = state.keys.find(recordKey, request.derivationPath);
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    return refuseAndBurn(identity, state, asked, REQUEST_INVALID, error.message);
  }
  const fault = keyFault(request, key);
  if (fault !== undefined) return refuseAndBurn(identity, state, asked, REQUEST_INVALID, fault);
  const bound = state.keys.schemeOf(recordKey);
  if (bound !== '' && wireScheme(bound) !== request.scheme) {
    return refuseAndBurn(identity, state, asked, KEYSTORE_MISMATCH, `the key signs with ${bound} alone`);
  }
  const scheme = keyBinding(request.scheme) ?? '';
  if (bound === '' && !isSharedKey(scheme)) {
    return refuseAndBurn(identity, state, asked, KEYSTORE_MISMATCH, 'the nodes share this key');
  }
  const digest = signedDigest(request.scheme, key.publicKey, request.message);
  const before = state.intents.digestOf(intent, nowMs);
  if (before !== undefined && before !== digest) {
    const text = 'this node has signed something else for the intent';
    return refuseAndBurn(identity, state, asked, INTENT_MESSAGE_CHANGED, text);
  }

  // From here on the nonce is spent, in every outcome.
  const nonce = takeNonce(identity, state, request);
  if (nonce === undefined && request.nonceNumber !== 0n) {
    return [refusal(identity, asked, NONCE_UNKNOWN, 'this nonce does not exist, or was used already')];
  }
  const outcome = isVendorScheme(request.scheme)
    ? vendorAsked(identity, asked, key, digest)
    : isHsmScheme(request.scheme)
      ? tokenAsked(asked, key)
      : computePartial(request, key, nonce, identity.nodeId);
  if (outcome.kind === 'fault') return [refusal(identity, asked, REQUEST_INVALID, outcome.message)];
  const effects =
    outcome.kind === 'asked'
      ? [outcome.effect]
      : [partialReply(identity, asked, outcome.partial, outcome.noncePoint), signed(identity, asked)];
  const begins = state.pending.isEmpty;
  if (bound === '' && scheme !== '') state.pending.put(recordKey, encodeKeyRecord(state.keys.bind(recordKey, scheme)));
  const bucket = state.intents.remember(intent, digest, nowMs);
  if (bucket !== undefined) state.pending.put(intent.recordKey, bucket);
  if (!state.pending.holds(recordKey) && !state.pending.holds(intent.recordKey)) return effects;
  state.pending.after(effects);
  return begins ? [{ kind: 'send', to: self, message: { kind: 'flush' } }] : [];
}

/** The node's token makes the signature. The actor asks it once the records for the signature are durable. */
function tokenAsked(asked: Asked, { curve, publicKey }: SigningKey): { kind: 'asked'; effect: NodeEffect } {
  const { from, trace, tenant, session, attempt, request } = asked;
  const message = { tenant, session, attempt, body: { case: 'partialRequest' as const, value: request } };
  const label = hsmLabel(tenant, request.keySession);
  const wanted = { kind: 'sign' as const, label, curve, message: request.message };
  const about = { from, trace, message, publicKey };
  return {
    kind: 'asked',
    effect: { kind: 'send', to: hsmAddress, message: { kind: 'hsmAsked', request: wanted, about } },
  };
}

/** The actor of the intent's order asks the vendor, and answers. It gets the request once the records for it are durable. */
function vendorAsked(
  { nodeId }: SignerIdentity,
  { intent, ...asked }: Ordered,
  { curve, publicKey }: SigningKey,
  digest: string,
): { kind: 'asked'; effect: NodeEffect } {
  const to = vendorOrderAddress(nodeId, asked.tenant, intent.intent);
  return {
    kind: 'asked',
    effect: { kind: 'send', to, message: { kind: 'vendorSign', asked, curve, publicKey, digest } },
  };
}

function tokenAnswered(identity: SignerIdentity, { outcome, about }: HsmAnswered): NodeEffect[] {
  const { from, trace, message, publicKey } = about;
  const body = receivedBody(message);
  if (body.case !== 'partialRequest' || publicKey === undefined) {
    if (outcome.kind !== 'failed' || outcome.fault.endsWith('_UNCONFIGURED')) return [];
    return [event('signer.token.key_left', 'error', { fault: outcome.fault, reason: outcome.message })];
  }
  const { tenant, session, attempt } = message;
  const asked = { from, trace, tenant, session, attempt, request: body.value };
  if (outcome.kind === 'failed') {
    return [refusal(identity, asked, PartialRefusalCode[outcome.fault], outcome.message)];
  }
  const { scheme, message: signedMessage } = body.value;
  const curve = scheme === Scheme.HSM_ED25519 ? 'ed25519' : 'secp256k1';
  const partial =
    outcome.kind === 'signed' ? hsmSignature(curve, outcome.signature, signedMessage, publicKey) : undefined;
  if (partial !== undefined) return [partialReply(identity, asked, partial), signed(identity, asked)];
  return [refusal(identity, asked, PartialRefusalCode.HSM_FAILED, 'what the token gave does not verify under its key')];
}

function partialReply(
  { nodeId }: SignerIdentity,
  asked: Asked,
  partial: Uint8Array,
  noncePoint: Uint8Array = noPoint,
): NodeEffect {
  const { attemptTag } = asked.request;
  return send(asked, {
    case: 'partialReply',
    value: { nodeId, attemptTag, outcome: { case: 'partial', value: partial }, noncePoint },
  });
}

/** Writes the pending records; the waiting effects follow once they are durable. */
function flush(state: SignerState): NodeStep<SignerState> {
  if (state.pending.isEmpty) return { state, effects: [] };
  const { write, effects } = state.pending.content();
  return { state: withoutPending(state, write), effects: [{ kind: 'persist', write }, ...effects] };
}

/** The state once a write has been made, or refused: records loaded meanwhile may be the replaced ones. */
function withoutPending(state: SignerState, { puts, deletes }: NodeWrite): SignerState {
  const written = [...puts.map(({ key }) => key), ...deletes];
  const stale = new Set([...state.stale, ...written.filter((key) => state.waiting.has(key))]);
  return { ...state, pending: new PendingNodeWrite(), stale };
}

/**
 * An archived wallet's key: the share and the record of its generation go in one write, and the answer after it. Without the
 * gateway's order it deletes nothing and does not answer: the coordinator cannot end a key by itself.
 */
function deleteKey(
  { nodeId, orderKey }: SignerIdentity,
  state: SignerState,
  { keySession, mac }: DeleteKey,
  { from, trace, message: { tenant } }: NodeMessageInput,
  self: Address,
): NodeEffect[] {
  const terms = { tenant, keyId: keySession };
  if (!isRecordName(tenant, keySession) || !macHolds(orderKey, deletionDigest(terms), mac)) {
    return [event('signer.deletion.unordered', 'warn', { from, tenant, key: keySession })];
  }
  const begins = state.pending.isEmpty;
  const recordKey = keyRecordKey(tenant, keySession);
  state.keys.evict(recordKey);
  state.pending.delete(recordKey);
  state.pending.delete(dkgRecordKey(tenant, keySession));
  const body: WireBodyInit = { case: 'keyDeleted', value: { nodeId, keySession } };
  state.pending.after([
    { kind: 'send', to: from, message: { tenant, session: '', attempt: 0, body }, trace },
    event('signer.key.deleted', 'info', { tenant, key: keySession }),
    ...tokenCleared(from, trace, tenant, keySession),
  ]);
  return begins ? [{ kind: 'send', to: self, message: { kind: 'flush' } }] : [];
}

/** Also deletes the key at the token and the vendor, if any, on every curve. */
function tokenCleared(from: Address, trace: Trace, tenant: string, keySession: string): NodeEffect[] {
  const label = hsmLabel(tenant, keySession);
  const body = { case: 'keyDeleted' as const, value: { keySession } };
  const about = { from, trace, message: { tenant, session: '', attempt: 0, body } };
  const request = { kind: 'destroy' as const, label };
  const message = { kind: 'hsmAsked' as const, request, about };
  return [hsmAddress, vendorAddress].map((to) => ({ kind: 'send', to, message }));
}

function writeRefused(state: SignerState, write: NodeWrite, refusal: Refusal<NodeRecord>): NodeStep<SignerState> {
  const { puts } = write;
  for (const { key } of puts) {
    if (isIntentBucket(key)) state.intents.evict(key);
    else state.keys.evict(key);
  }
  const reason = refusal.kind === 'unavailable' ? refusal.message : refusal.code;
  const failed = event('signer.write.failed', 'error', { records: puts.length, reason });
  return { state: withoutPending(state, write), effects: [failed] };
}

function takeNonce({ boot }: SignerIdentity, { pools }: SignerState, request: PartialRequest): TakenNonce | undefined {
  const { scheme, nodeBoot, coordinatorBoot, nonceNumber } = request;
  if (nonceNumber === 0n || nodeBoot !== boot || !isDealtScheme(scheme)) return undefined;
  return pools.take(scheme, coordinatorBoot, nonceNumber);
}

function refuseAndBurn(
  identity: SignerIdentity,
  state: SignerState,
  asked: Asked,
  code: PartialRefusalCode,
  message: string,
): NodeEffect[] {
  takeNonce(identity, state, asked.request);
  return [refusal(identity, asked, code, message)];
}

function refusal({ nodeId }: SignerIdentity, asked: Asked, code: PartialRefusalCode, message: string): NodeEffect {
  const { attemptTag } = asked.request;
  const outcome = { case: 'refusal' as const, value: { code, message } };
  return send(asked, { case: 'partialReply', value: { nodeId, attemptTag, outcome } });
}

/** Not `reply`: a request may have waited for its key, so the present input may be another one. */
function send({ from, trace, tenant, session, attempt }: Asked, body: WireBodyInit): NodeEffect {
  return { kind: 'send', to: from, message: { tenant, session, attempt, body }, trace };
}

/** For checkers: the nonce of a signature, and its purpose. No nonce may appear twice. */
function signed({ boot }: SignerIdentity, { tenant, session, attempt, request }: Asked): NodeEffect {
  const { scheme, coordinatorBoot, nonceNumber } = request;
  const nonce = Number(nonceNumber);
  return event('signer.partial.signed', 'debug', { tenant, session, attempt, scheme, boot, coordinatorBoot, nonce });
}

function event(
  type: string,
  level: 'debug' | 'info' | 'warn' | 'error',
  fields: Readonly<Record<string, string | number>>,
): NodeEffect {
  return { kind: 'emit', event: { type, level, fields } };
}

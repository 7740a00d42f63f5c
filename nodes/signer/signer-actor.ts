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
 * - A refresh replaces a key's record (dkg/dkg-actor.ts): the actor evicts what it read of it, and only then is the refresh
 *   confirmed. A request names the version of the share that it wants, and gets KEY_UNKNOWN for another one.
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
import type { Context, Refusal } from '../../core/actors/contract.ts';
import { CryptoError } from '../../core/crypto/errors.ts';
import {
  type DealNonces,
  PartialRefusalCode,
  type PartialRequest,
  Scheme,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { isSharedKey, keyBinding, wireScheme } from '../../proto/key-schemes.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import { decodeKeyRecord, encodeKeyRecord } from '../records/key-record.ts';
import type {
  SigningAsked as Asked,
  KeyReplaced,
  NodeBehaviour,
  NodeEffect,
  NodeInput,
  NodeMessageInput,
  NodeStep,
} from '../records/messages.ts';
import { isLocal, receivedBody } from '../records/messages.ts';
import { isIntentBucket, keyRecordKey, type NodeRecord, type NodeWrite } from '../records/records.ts';
import { IntentMemory, namedIntent, signedDigest } from './intent-memory.ts';
import { deleteKey } from './key-deletion.ts';
import { NonceNumbers, NoncePools, type TakenNonce } from './nonce-secrets.ts';
import { orderFault } from './order-check.ts';
import { tokenAnswered, tokenAsked, vendorAsked } from './outside-signers.ts';
import { computePartial, keyFault, requestFault } from './partials.ts';
import { PendingNodeWrite } from './pending-write.ts';
import { event, partialReply, refusal, signed } from './replies.ts';
import { isDealtScheme, isHsmScheme, isVendorScheme } from './schemes.ts';
import type { Ordered, SignerIdentity, SignerState } from './signer-state.ts';
import { type SigningKey, SigningKeys } from './signing-keys.ts';
import { WaitingRequests } from './waiting-requests.ts';

const signerMailboxMax = 8_192;

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
      if (message.kind === 'keyReplaced') return keyReplaced(state, message);
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

/** The answer follows what waits to be written: no older record of the key is written after it. */
function keyReplaced(state: SignerState, { recordKey, answer }: KeyReplaced): NodeEffect[] {
  state.keys.evict(recordKey);
  if (state.waiting.has(recordKey)) state.stale.add(recordKey);
  const effects: NodeEffect[] = [{ kind: 'send', ...answer }];
  if (state.pending.isEmpty) return effects;
  state.pending.after(effects);
  return [];
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
  const { NONCE_UNKNOWN, REQUEST_INVALID, KEY_UNKNOWN, KEYSTORE_MISMATCH, INTENT_MESSAGE_CHANGED } = PartialRefusalCode;
  const version = state.keys.versionOf(recordKey);
  if (version !== (request.keyVersion || 1)) {
    return refuseAndBurn(identity, state, asked, KEY_UNKNOWN, `the share here is of version ${version} of the key`);
  }
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

/**
 * The actor "node/<id>/vendor/<tenant>/<reference>": the order of one transaction intent at the vendor of its key.
 *
 * Theory of operation
 * - The signer has checked the request (a gateway's order, the key's record, one message for an intent) and passes it on.
 * - The record is `placing` before the vendor gets the order, so that no crash creates a second one: the external id
 *   follows from the record, and placing an order again returns the existing one.
 * - A vendor that decides within `patienceMs` answers the request. Otherwise the answer is that the order is open, and
 *   VendorSettled follows when the vendor has decided, until the session acknowledges it.
 * - A callback only triggers a poll of the order; the vendor's own answer counts. So callbacks may be
 *   lost, repeated, reordered or forged: the actor polls an open order every `pollMs`, and at each start of the process.
 * - An intent has one order that is not ended, whichever session asks: a later session waits for it too, and gets its
 *   signature. A signed order is the last one of its intent.
 * - A signature leaves only if it verifies under the key.
 */
import type { Address, Context } from '../../core/actors/contract.ts';
import { toHex, transcriptHash, u32be, utf8 } from '../../core/crypto/bytes.ts';
import { hsmSignature } from '../../core/crypto/hsm.ts';
import { vendorOrderLifetimeMaxMs } from '../../proto/limits.ts';
import { hsmLabel } from '../records/hsm-port.ts';
import {
  isLocal,
  type NodeBehaviour,
  type NodeEffect,
  type NodeInput,
  type NodeStep,
  receivedBody,
  type VendorSign,
} from '../records/messages.ts';
import { vendorRecordKey } from '../records/records.ts';
import { type VendorOrderState, type VendorOutcome, vendorAddress } from '../records/vendor-port.ts';
import {
  event,
  nameOf,
  outcomeOf,
  partialReply,
  refusal,
  tell,
  tellMs,
  type VendorOrders,
  writeOf,
} from './messages.ts';
import { decodeVendorOrder, isSettled, type VendorEnd, type VendorOrderRecord } from './record.ts';

/** The time that a request waits for a quick vendor. Well below the coordinator's time for a partial. */
const patienceMs = 150;
/** The poll interval of an open order without callbacks. */
export const pollMs = 15_000;
/** The time that an actor without an open order stays in memory. */
const idleMs = 60_000;
/** The time that the record of a settled order stays after its last use. */
const retentionMs = 7 * 86_400_000;
/** The most waiting requests of one order; later ones replace them. */
const waitingMax = 32;

export interface VendorOrderActorState {
  readonly record: VendorOrderRecord | undefined;
  /** Requests that have no answer yet. */
  readonly waiting: readonly VendorSign[];
  /** A request to the vendor is in progress. */
  readonly asking: boolean;
  /** Ask again after it. */
  readonly again: boolean;
  /** The session no longer wants a signature: the actor asks the vendor to cancel, until it has decided. */
  readonly cancels: boolean;
  /** The actor has asked the vendor to cancel; later requests for the order do not change that. */
  readonly cancelAsked: boolean;
}

type State = VendorOrderActorState;
type Step = NodeStep<State>;

const nothing: State = {
  record: undefined,
  waiting: [],
  asking: false,
  again: false,
  cancels: false,
  cancelAsked: false,
};
const none = new Uint8Array();

export function vendorOrderBehaviour(orders: VendorOrders): NodeBehaviour<State> {
  const prefix = `node/${orders.nodeId}/${vendorAddress}`;
  return {
    prefix,
    mailboxMax: 256,
    durableKey: (self) => {
      const name = nameOf(self);
      return name && vendorRecordKey(name.tenant, name.reference);
    },
    start: (stored) => {
      const record = stored && decodeVendorOrder(stored);
      return { state: { ...nothing, record }, effects: timersOf(record) };
    },
    receive: (state, input, context) => receive(orders, state, input, context),
  };
}

/** The timers by the state of an order: it waits for the vendor, for its session's acknowledgement, or for nothing. */
function timersOf(record: VendorOrderRecord | undefined): NodeEffect[] {
  if (record?.phase === 'open') return [{ kind: 'startTimer', name: 'poll', afterMs: pollMs }];
  const name = record !== undefined && isSettled(record) && !record.noted ? 'tell' : 'idle';
  return [{ kind: 'startTimer', name, afterMs: name === 'tell' ? tellMs : idleMs }];
}

function receive(orders: VendorOrders, state: State, input: NodeInput, context: Context): Step {
  switch (input.kind) {
    case 'message': {
      const { message } = input;
      if (!isLocal(message)) return told(state, receivedBody(message).case, message.session, context.self);
      switch (message.kind) {
        case 'vendorSign':
          return asked(orders, state, message, context);
        case 'vendorAnswered':
          return message.externalId === state.record?.externalId
            ? answered(orders, state, message.outcome, context)
            : { state, effects: [] };
        case 'vendorNews':
          return look(state, context);
        default:
          return { state, effects: [] };
      }
    }
    case 'timer':
      return timer(orders, state, input.name, context);
    case 'persistRefused':
      // The outcome of the write is unknown. The old state uses the same external ids at the vendor again.
      return {
        state: { ...state, asking: false, waiting: [] },
        effects: [event('vendor.write.failed', 'error', context.self, {}), ...timersOf(state.record)],
      };
    default:
      return { state, effects: [] };
  }
}

// --- the signer asks ---------------------------------------------------------------------------------------------------

function asked(orders: VendorOrders, state: State, sign: VendorSign, context: Context): Step {
  const { record } = state;
  const { session } = sign.asked;
  const waiting = [...state.waiting, sign].slice(-waitingMax);
  if (record === undefined || record.phase === 'ended') {
    return place(orders, { ...state, waiting, cancels: false }, sign, context);
  }
  if (record.digest !== sign.digest) {
    const text = 'this node has ordered something else for the intent';
    return { state, effects: [refusal(orders, sign.asked, 'INTENT_MESSAGE_CHANGED', text)] };
  }
  const next = { ...record, session, retainUntilMs: retention(sign, context) };
  const changed = record.session !== session;
  if (record.phase === 'signed') {
    const reply = partialReply(orders, sign.asked, { case: 'partial', value: record.partial });
    if (!changed) return { state, effects: [reply] };
    return store(state, { ...next, noted: false }, context, [reply, ...tell(orders, next, context.self)]);
  }
  const asking = { ...state, waiting, cancels: false };
  // Repeated requests do not postpone the answer.
  const patience: NodeEffect[] =
    state.waiting.length > 0 ? [] : [{ kind: 'startTimer', name: 'patience', afterMs: patienceMs }];
  const effects = [...patience, ...(state.asking ? [] : [askVendor(next, context.self, false)])];
  if (!changed) return { state: { ...asking, asking: true }, effects };
  return store({ ...asking, asking: true }, next, context, effects);
}

/** A new order of the intent. The vendor gets it once the record is durable. */
function place(orders: VendorOrders, state: State, sign: VendorSign, context: Context): Step {
  const { request, session } = sign.asked;
  const name = nameOf(context.self);
  if (name === undefined) throw new Error(`${context.self} names no order`);
  const ordinal = (state.record?.ordinal ?? 0) + 1;
  const { clusterId, nodeId } = orders;
  const parts = [utf8(clusterId), u32be(nodeId), utf8(name.tenant), utf8(name.reference), u32be(ordinal)];
  const record: VendorOrderRecord = {
    phase: 'placing',
    ordinal,
    externalId: toHex(transcriptHash('signmesh/vendor-order/v1', ...parts)).slice(0, 32),
    session,
    keySession: request.keySession,
    curve: sign.curve,
    publicKey: sign.publicKey,
    message: request.message,
    digest: sign.digest,
    expiresMs: 0,
    partial: none,
    end: '',
    detail: '',
    noted: false,
    retainUntilMs: retention(sign, context),
  };
  return store({ ...state, asking: true, again: false }, record, context, [
    { kind: 'startTimer', name: 'patience', afterMs: patienceMs },
    askVendor(record, context.self, false),
    event('vendor.order.placed', 'info', context.self, { external_id: record.externalId, session }),
  ]);
}

function retention({ asked: { request } }: VendorSign, { nowMs }: Context): number {
  return Math.max(nowMs, Number(request.order?.expiresEpochMs ?? 0n)) + retentionMs;
}

function askVendor(record: VendorOrderRecord, self: Address, cancels: boolean): NodeEffect {
  const { externalId, keySession, curve, message } = record;
  const { tenant, reference } = nameOf(self)!;
  const request = cancels
    ? { kind: 'cancel' as const, externalId }
    : { kind: 'place' as const, externalId, label: hsmLabel(tenant, keySession), curve, message, tenant, reference };
  return { kind: 'send', to: vendorAddress, message: { kind: 'vendorAsked', request } };
}

// --- the vendor answers ------------------------------------------------------------------------------------------------

function answered(orders: VendorOrders, state: State, outcome: VendorOutcome, context: Context): Step {
  const record = state.record!;
  const idle = { ...state, asking: false, again: false };
  if (isSettled(record)) return { state: idle, effects: [] };
  if (outcome.kind === 'order' && outcome.state !== 'open') return settle(orders, idle, record, outcome, context);
  const more = state.again ? look(idle, context) : { state: idle, effects: [] };
  if (outcome.kind === 'failed') {
    // An open order stays open: the next poll may reach the vendor.
    const replies = state.waiting.map(({ asked: one }) => refusal(orders, one, outcome.fault, outcome.message));
    const failed = event('vendor.unreachable', 'warn', context.self, { fault: outcome.fault, reason: outcome.message });
    return { state: { ...more.state, waiting: [] }, effects: [...replies, failed, ...more.effects] };
  }
  const expiresMs = Math.min(outcome.expiresMs, context.nowMs + vendorOrderLifetimeMaxMs);
  const effects: NodeEffect[] = [{ kind: 'startTimer', name: 'poll', afterMs: pollMs }, ...more.effects];
  if (record.phase === 'open') return { state: more.state, effects };
  return store(more.state, { ...record, phase: 'open', expiresMs }, context, effects);
}

/** The vendor has decided. */
function settle(
  orders: VendorOrders,
  state: State,
  record: VendorOrderRecord,
  outcome: VendorOrderState,
  context: Context,
): Step {
  // The order of an ended session has ended: a session that waits for that gets its own order.
  const next = state.cancelAsked && outcome.state === 'cancelled' && state.waiting.at(-1);
  if (next) return place(orders, { ...state, cancels: false, cancelAsked: false }, next, context);
  const partial =
    outcome.state === 'signed'
      ? hsmSignature(record.curve, outcome.signature, record.message, record.publicKey)
      : undefined;
  const end = partial ? '' : endOf(outcome);
  const detail = partial ? '' : detailOf(outcome, end);
  const phase = partial ? ('signed' as const) : ('ended' as const);
  const settled: VendorOrderRecord = { ...record, phase, partial: partial ?? none, end, detail, noted: false };
  const replies = state.waiting.map(({ asked: one }) => partialReply(orders, one, outcomeOf(settled)));
  const { externalId, session } = record;
  return store({ ...state, waiting: [], cancels: false, cancelAsked: false }, settled, context, [
    ...replies,
    ...tell(orders, settled, context.self),
    { kind: 'cancelTimer', name: 'poll' },
    { kind: 'cancelTimer', name: 'patience' },
    event('vendor.order.settled', end === 'VENDOR_SIGNATURE_INVALID' ? 'error' : 'info', context.self, {
      external_id: externalId,
      session,
      outcome: end || 'SIGNED',
    }),
  ]);
}

function endOf({ state }: VendorOrderState): VendorEnd {
  if (state === 'rejected') return 'VENDOR_REJECTED';
  if (state === 'cancelled') return 'VENDOR_CANCELLED';
  return state === 'expired' ? 'VENDOR_EXPIRED' : 'VENDOR_SIGNATURE_INVALID';
}

function detailOf({ detail }: VendorOrderState, end: VendorEnd | ''): string {
  if (end === 'VENDOR_SIGNATURE_INVALID') return 'what the vendor gave does not verify under its key';
  return `the vendor says ${detail.slice(0, 100)}`;
}

// --- the coordinator, timers, callbacks --------------------------------------------------------------------------------

/** Handles a message of the order's session. */
function told(state: State, said: string | undefined, session: string, self: Address): Step {
  const { record } = state;
  if (record === undefined) return { state, effects: [{ kind: 'stop' }] };
  if (record.session !== session) return { state, effects: [] };
  if (said === 'vendorNoted' && isSettled(record) && !record.noted) {
    const timers: NodeEffect[] = [
      { kind: 'cancelTimer', name: 'tell' },
      { kind: 'startTimer', name: 'idle', afterMs: idleMs },
    ];
    const next = { ...record, noted: true };
    return { state: { ...state, record: next }, effects: [{ kind: 'persist', write: writeOf(next, self) }, ...timers] };
  }
  if (said !== 'vendorCancel' || isSettled(record)) return { state, effects: [] };
  const next = { ...state, cancels: true, cancelAsked: true };
  if (state.asking) return { state: { ...next, again: true }, effects: [] };
  return { state: { ...next, asking: true }, effects: [askVendor(record, self, true)] };
}

/** Polls an order that is open, or may be; reports the outcome of a settled one; deletes an expired one. */
function look(state: State, context: Context): Step {
  const { record } = state;
  if (record === undefined) return { state, effects: [{ kind: 'stop' }] };
  if (isSettled(record)) {
    if (!record.noted || context.nowMs < record.retainUntilMs) return { state, effects: [] };
    const { tenant, reference } = nameOf(context.self)!;
    const write = { puts: [], deletes: [vendorRecordKey(tenant, reference)] };
    return { state: nothing, effects: [{ kind: 'persist', write }, { kind: 'stop' }] };
  }
  if (state.asking) return { state: { ...state, again: true }, effects: [] };
  return { state: { ...state, asking: true }, effects: [askVendor(record, context.self, state.cancels)] };
}

function timer(orders: VendorOrders, state: State, name: string, context: Context): Step {
  const { record, waiting } = state;
  switch (name) {
    case 'patience': {
      if (waiting.length === 0 || record === undefined || isSettled(record)) return { state, effects: [] };
      // Waits longer for the answer to placing the order, since it contains the order's expiry.
      if (record.phase === 'placing') return { state, effects: [{ kind: 'startTimer', name, afterMs: patienceMs }] };
      const { reference } = nameOf(context.self)!;
      const value = { reference, expiresEpochMs: BigInt(record.expiresMs) };
      const replies = waiting.map(({ asked: one }) => partialReply(orders, one, { case: 'vendorOrder', value }));
      return { state: { ...state, waiting: [] }, effects: replies };
    }
    case 'poll': {
      if (record?.phase !== 'open') return { state, effects: [] };
      const step = look(state, context);
      return { ...step, effects: [...step.effects, { kind: 'startTimer', name: 'poll', afterMs: pollMs }] };
    }
    case 'tell':
      if (record === undefined || !isSettled(record) || record.noted) return { state, effects: [] };
      return { state, effects: tell(orders, record, context.self) };
    default:
      // The order waits for the vendor or the session: the other timers continue.
      if (record?.phase === 'open' || (record && isSettled(record) && !record.noted)) return { state, effects: [] };
      return state.asking || waiting.length > 0
        ? { state, effects: [{ kind: 'startTimer', name: 'idle', afterMs: idleMs }] }
        : { state, effects: [{ kind: 'stop' }] };
  }
}

function store(state: State, record: VendorOrderRecord, { self }: Context, effects: readonly NodeEffect[]): Step {
  return { state: { ...state, record }, effects: [{ kind: 'persist', write: writeOf(record, self) }, ...effects] };
}

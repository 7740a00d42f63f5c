/** The messages of an order's actor (order-actor.ts) to sessions, and its writes. */
import type { Address } from '../../core/actors/contract.ts';
import { PartialRefusalCode } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import type { NodeEffect, SigningAsked } from '../records/messages.ts';
import { type NodeWrite, vendorRecordKey, vendorRecordName } from '../records/records.ts';
import { encodeVendorOrder, type VendorOrderRecord } from './record.ts';

/** The interval at which the actor reports an order's outcome to its session, until the session acknowledges it. */
export const tellMs = 5_000;

export interface VendorOrders {
  readonly nodeId: number;
  /** Part of every external id: clusters may share a vendor. */
  readonly clusterId: string;
}

/** Tenant and reference of an actor's address; undefined: it names no order. */
export function nameOf(self: Address): { readonly tenant: string; readonly reference: string } | undefined {
  const [, , ...rest] = self.split('/');
  return vendorRecordName(rest.join('/'));
}

export function writeOf(record: VendorOrderRecord, self: Address): NodeWrite {
  const { tenant, reference } = nameOf(self)!;
  return { puts: [{ key: vendorRecordKey(tenant, reference), record: encodeVendorOrder(record) }], deletes: [] };
}

/** To the session: the outcome of its order; and the timer that repeats the message. */
export function tell({ nodeId }: VendorOrders, record: VendorOrderRecord, self: Address): NodeEffect[] {
  const { tenant } = nameOf(self)!;
  const { session } = record;
  const body: WireBodyInit = { case: 'vendorSettled', value: { nodeId, outcome: outcomeOf(record) } };
  const to = `signing/${tenant}/${session}`;
  return [
    { kind: 'send', to, message: { tenant, session, attempt: 0, body } },
    { kind: 'startTimer', name: 'tell', afterMs: tellMs },
  ];
}

/** The outcome of a settled order, in the form of PartialReply and VendorSettled. */
export function outcomeOf({ phase, partial, end, detail }: VendorOrderRecord) {
  if (phase === 'signed') return { case: 'partial' as const, value: partial };
  if (end === '') throw new Error('an order that is not settled has no outcome');
  return { case: 'refusal' as const, value: { code: PartialRefusalCode[end], message: detail } };
}

export function refusal(
  orders: VendorOrders,
  request: SigningAsked,
  code: keyof typeof PartialRefusalCode,
  message: string,
): NodeEffect {
  return partialReply(orders, request, { case: 'refusal', value: { code: PartialRefusalCode[code], message } });
}

type ReplyOutcome =
  | ReturnType<typeof outcomeOf>
  | { readonly case: 'vendorOrder'; readonly value: { readonly reference: string; readonly expiresEpochMs: bigint } };

export function partialReply({ nodeId }: VendorOrders, request: SigningAsked, outcome: ReplyOutcome): NodeEffect {
  const { from, trace, tenant, session, attempt } = request;
  const { attemptTag } = request.request;
  const body: WireBodyInit = { case: 'partialReply', value: { nodeId, attemptTag, outcome } };
  return { kind: 'send', to: from, message: { tenant, session, attempt, body }, trace };
}

export function event(
  type: string,
  level: 'info' | 'warn' | 'error',
  self: Address,
  fields: Readonly<Record<string, string | number>>,
): NodeEffect {
  return { kind: 'emit', event: { type, level, fields: { ...fields, tenant: nameOf(self)?.tenant ?? '' } } };
}

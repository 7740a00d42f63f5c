/**
 * Passes orders from gateways to nodes. The coordinator stores them with the session and gives each node its own;
 * it can neither forge nor change one (core/crypto/order-macs.ts).
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { macFor } from '../../proto/call-orders.ts';
import { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { type NodeOrderSchema, PartialRefusalCode } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { ClientCall, CoordinatorEffect } from '../contract/messages.ts';
import type { GatewayOrderRecord, SigningRecord } from '../contract/record.ts';
import { nodeList } from '../session/message-text.ts';
import { errorEffect } from '../session/replies.ts';
import { type NodesSeen, orderRefusers } from './nodes-seen.ts';

/** The order of the gateway in the record of a new session. */
export function orderOf({ order, witnessMacs }: ClientCall): GatewayOrderRecord | undefined {
  if (!order) return undefined;
  return {
    expiresMs: Number(order.expiresEpochMs),
    needsWitness: order.needsWitness,
    macs: base64(order.macs),
    witnessMacs: base64(witnessMacs),
  };
}

/** A resume may contain the order of the gateway that admitted its witness. */
export function withWitness(
  order: GatewayOrderRecord | undefined,
  { witnessMacs }: ClientCall,
): GatewayOrderRecord | undefined {
  return order && witnessMacs.length > 0 ? { ...order, witnessMacs: base64(witnessMacs) } : order;
}

/** The order for one node. undefined: no gateway ordered the session, and the node will refuse. */
export function nodeOrder(
  { facts, order }: SigningRecord,
  nodeId: number,
): MessageInitShape<typeof NodeOrderSchema> | undefined {
  if (!order) return undefined;
  return {
    transactionIntentId: facts.intentId,
    walletService: facts.walletService,
    keystoreType: facts.keystoreType,
    curve: facts.curve,
    expiresEpochMs: BigInt(order.expiresMs),
    needsWitness: order.needsWitness,
    mac: macFor(nodeId, Buffer.from(order.macs, 'base64')),
    witnessMac: macFor(nodeId, Buffer.from(order.witnessMacs, 'base64')),
  };
}

const { ORDER_MISSING, ORDER_INVALID, ORDER_EXPIRED, WITNESS_MISSING } = PartialRefusalCode;

/** Whether a node refused to sign without a gateway's order. */
export function isOrderRefusal(code: PartialRefusalCode | undefined): code is PartialRefusalCode {
  return code === ORDER_MISSING || code === ORDER_INVALID || code === ORDER_EXPIRED || code === WITNESS_MISSING;
}

/** The nodes that refused, and their codes. Empty: none. */
export function orderRefusals(nodes: NodesSeen): string {
  const refusers = orderRefusers(nodes);
  if (refusers.size === 0) return '';
  const codes = [...new Set(refusers.values())].sort().join(', ');
  return `${nodeList(refusers.keys())} refused the order of this session (${codes})`;
}

/** A gateway names every session that it orders, and never reuses an id. */
export function namedTwice(call: ClientCall): CoordinatorEffect {
  return errorEffect(call, CallErrorCode.MALFORMED, 'a session of this name was begun before');
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

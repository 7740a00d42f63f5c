/**
 * This gateway's signing orders: with every admitted signing call it sends a MAC for each node, under keys agreed from the
 * identities of the roster. All gateways of a cluster share one identity, so nodes accept any gateway's order.
 */
import type { RandomBytes } from '../../core/actors/contract.ts';
import { identityFromSeed } from '../../core/crypto/identity.ts';
import { gatewayMacs } from '../../core/crypto/order-macs.ts';
import { type CallOrders, type OrderedCall, ordersOf } from '../../proto/call-orders.ts';
import type { Roster } from '../../proto/roster.ts';

/** The orders of a call; none for calls that do not sign. */
export type OrderIssuer = (call: OrderedCall, nowMs: number) => CallOrders;

export interface OrderIssuerOptions {
  readonly roster: Roster;
  /** 32 bytes: the seed of the gateways' identity. Secret. */
  readonly identitySeed: Uint8Array;
  readonly random: RandomBytes;
}

export function orderIssuer({ roster, identitySeed, random }: OrderIssuerOptions): OrderIssuer {
  const macs = gatewayMacs(roster, identityFromSeed(identitySeed).secretKey);
  return (call, nowMs) => ordersOf(call, macs, { nowMs, random });
}

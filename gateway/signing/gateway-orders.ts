/**
 * What this gateway orders of the nodes: with every signing call it admits go MACs for them, under keys agreed from the
 * identities of the roster. All gateways of a cluster share one identity, so that an order is any gateway's.
 */
import type { RandomBytes } from '../../actors/contract.ts';
import { gatewayMacs } from '../../crypto/gateway-orders.ts';
import { identityFromSeed } from '../../crypto/identity.ts';
import { type CallOrders, type OrderedCall, ordersOf } from '../../proto/gateway-orders.ts';
import type { Roster } from '../../proto/roster.ts';

/** The orders that go with a call; for calls that order nothing, none. */
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

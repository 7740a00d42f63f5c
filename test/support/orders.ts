/** For tests that play the gateway: the orders that nodes want to see. */

import { identityFromSeed } from '../../core/crypto/identity.ts';
import { gatewayMacs, type OrderTerms } from '../../core/crypto/order-macs.ts';
import { type OrderIssuer, orderIssuer } from '../../gateway/signing/order-issuer.ts';
import { macFor } from '../../proto/call-orders.ts';
import type { NodeOrder, PartialRequest } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { Roster } from '../../proto/roster.ts';

/** Far beyond the clocks of tests. */
const expiresMs = 4_000_000_000_000;

/** The fields of an order that are not in the request, and whether a witness was admitted. */
export interface OrderWish {
  readonly intentId?: string;
  readonly walletService?: boolean;
  readonly keystoreType?: number;
  readonly curve?: string;
  readonly expiresMs?: number;
  readonly needsWitness?: boolean;
  readonly witness?: boolean;
}

/** What a gateway with this seed orders of a node, so that exactly this request is signed in this session. */
export function orderFor(
  { roster, gatewaySeed }: { readonly roster: Roster; readonly gatewaySeed: Uint8Array },
  nodeId: number,
  { tenant, session }: { readonly tenant: string; readonly session: string },
  request: Partial<Pick<PartialRequest, 'keySession' | 'derivationPath' | 'message'>>,
  wish: OrderWish = {},
): NodeOrder {
  const macs = gatewayMacs(roster, identityFromSeed(gatewaySeed).secretKey);
  const terms: OrderTerms = {
    tenant,
    sessionId: session,
    keyId: request.keySession ?? '',
    keystoreType: wish.keystoreType ?? 0,
    curve: wish.curve ?? '',
    derivationPath: request.derivationPath ?? '',
    message: request.message ?? new Uint8Array(),
    intentId: wish.intentId ?? 'intent-1',
    walletService: wish.walletService ?? false,
    needsWitness: wish.needsWitness ?? false,
    expiresMs: wish.expiresMs ?? expiresMs,
  };
  const { intentId, walletService, keystoreType, curve, needsWitness } = terms;
  return {
    $typeName: 'signmesh.wire.v1.NodeOrder',
    transactionIntentId: intentId,
    walletService,
    keystoreType,
    curve,
    expiresEpochMs: BigInt(terms.expiresMs),
    needsWitness,
    mac: macFor(nodeId, macs.order(terms)),
    witnessMac: wish.witness === true ? macFor(nodeId, macs.witness(terms)) : new Uint8Array(),
  };
}

const nowhereKey = (id: number) => identityFromSeed(new Uint8Array(32).fill(id)).publicKey;

/** A roster that no node has. */
export const nowhere: Roster = {
  clusterId: 'cl_nowhere',
  nodes: [1, 2, 3, 4, 5].map((id) => ({ id, publicKey: nowhereKey(id) })),
  coordinator: nowhereKey(201),
  gateway: nowhereKey(202),
};

/** The orders of a gateway whose coordinator is not a real one. */
export function unheededOrders(): OrderIssuer {
  let drawn = 0;
  const random = (length: number) => {
    drawn += 1;
    return new Uint8Array(length).fill(drawn);
  };
  return orderIssuer({ roster: nowhere, identitySeed: new Uint8Array(32).fill(202), random });
}

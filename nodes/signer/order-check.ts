/**
 * Checks that a gateway ordered a request: the order's MAC for this node covers tenant and session of the frame, key, path,
 * scheme and message of the request, and the intent. So a coordinator can only get signatures that a gateway admitted.
 * core/crypto/order-macs.ts explains what the MAC proves.
 */
import { macHolds, orderDigest, witnessDigest } from '../../core/crypto/order-macs.ts';
import {
  type NodeOrder,
  PartialRefusalCode,
  type PartialRequest,
  type Scheme,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { keyBinding, schemeFacts } from '../../proto/key-schemes.ts';
import { isSigningScheme, schemes } from './schemes.ts';

export interface OrderFault {
  readonly code: PartialRefusalCode;
  /** Public text. */
  readonly message: string;
}

const { ORDER_MISSING, ORDER_INVALID, ORDER_EXPIRED, WITNESS_MISSING } = PartialRefusalCode;

/** The reason why this node does not sign, or undefined. `key`: shared with the gateways. */
export function orderFault(
  request: PartialRequest,
  { tenant, session }: { readonly tenant: string; readonly session: string },
  key: Uint8Array,
  nowMs: number,
): OrderFault | undefined {
  const { order } = request;
  if (order === undefined) return fault(ORDER_MISSING, 'no gateway ordered this');
  const expiresMs = Number(order.expiresEpochMs);
  const digest = orderDigest({
    tenant,
    sessionId: session,
    keyId: request.keySession,
    keystoreType: order.keystoreType,
    curve: order.curve,
    derivationPath: request.derivationPath,
    message: request.message,
    intentId: order.transactionIntentId,
    walletService: order.walletService,
    needsWitness: order.needsWitness,
    expiresMs,
  });
  if (!macHolds(key, digest, order.mac)) {
    return fault(ORDER_INVALID, 'what is asked for is not what a gateway ordered');
  }
  // From here on the order is authentic.
  if (nowMs >= expiresMs) return fault(ORDER_EXPIRED, 'the time of the order is over');
  if (!isOrdered(request.scheme, order)) {
    return fault(ORDER_INVALID, 'the scheme is not one that the gateway ordered');
  }
  if (order.needsWitness && !macHolds(key, witnessDigest({ tenant, sessionId: session }), order.witnessMac)) {
    return fault(WITNESS_MISSING, 'the order needs a witness, and no gateway admitted one for this session');
  }
  return undefined;
}

/** Whether an order permits a scheme; for an unspecified one, the key decides. */
function isOrdered(scheme: Scheme, { keystoreType, curve }: NodeOrder): boolean {
  if (curve !== '' && !(isSigningScheme(scheme) && schemes[scheme].curve === curve)) return false;
  if (keystoreType === KeystoreType.UNSPECIFIED) return true;
  const name = keyBinding(scheme);
  return name !== undefined && name !== '' && schemeFacts(name).keystoreTypes.includes(keystoreType);
}

function fault(code: PartialRefusalCode, message: string): OrderFault {
  return { code, message };
}

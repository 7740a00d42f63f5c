/**
 * What a gateway puts beside a call so that nodes will sign for it: the order of an InitiateSigning or Sign, and of a
 * call with a witness the order for that. crypto/gateway-orders.ts says what is authenticated and why.
 *
 * The same for every gateway, the live ones and those of simulations and tests: the MACs come from a port.
 */

import type { Call } from './gen/signmesh/wire/v1/cluster_pb.ts';
import { ApprovalMode, type InitiateSigningRequest } from './gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId } from './ids.ts';
import { isVaultKey, orderLifetimeMs } from './limits.ts';
import type { CallRequest } from './wire.ts';

/** MACs for every node of the roster, one after the other. */
export interface OrderMacs {
  order(terms: OrderedTerms): Uint8Array;
  witness(terms: Pick<OrderedTerms, 'tenant' | 'sessionId'>): Uint8Array;
  deletion(terms: Pick<OrderedTerms, 'tenant' | 'keyId'>): Uint8Array;
}

/** `OrderTerms` of crypto/gateway-orders.ts, which this room cannot name. */
export interface OrderedTerms {
  readonly tenant: string;
  readonly sessionId: string;
  readonly keyId: string;
  readonly keystoreType: number;
  readonly curve: string;
  readonly derivationPath: string;
  readonly message: Uint8Array;
  readonly intentId: string;
  readonly walletService: boolean;
  readonly needsWitness: boolean;
  readonly expiresMs: number;
}

/** The call that an order is for, as its gateway admitted it. */
export interface OrderedCall {
  readonly tenant: string;
  readonly request: CallRequest;
  readonly walletService: boolean;
  /** Of a client's call that names a wallet. */
  readonly walletTerms: OrderedWallet | undefined;
}

/** `WalletTerms` of the gateway. */
interface OrderedWallet {
  readonly approvalMode: ApprovalMode;
  readonly intentsOnly?: boolean;
  readonly archived?: boolean;
  readonly custodian?: string;
}

export interface OrderMoment {
  readonly nowMs: number;
  readonly random: (length: number) => Uint8Array;
}

/** What of a Call frame is about orders; empty for calls that order nothing. */
export type CallOrders = Partial<Pick<Call, 'witnessMacs' | 'deletionMacs'>> & {
  readonly order?: {
    readonly sessionId: string;
    readonly expiresEpochMs: bigint;
    readonly needsWitness: boolean;
    readonly macs: Uint8Array;
  };
};

/** Bytes of a MAC. */
const macBytes = 16;

/** The MAC for a node of those for all; empty when there is none. A view. */
export function macFor(nodeId: number, macs: Uint8Array): Uint8Array {
  return macs.subarray((nodeId - 1) * macBytes, nodeId * macBytes);
}

const nothing: CallOrders = {};

/** The orders of one call. Names the session that an InitiateSigning or Sign begins. */
export function ordersOf(call: OrderedCall, macs: OrderMacs, moment: OrderMoment): CallOrders {
  const { request } = call;
  switch (request.case) {
    case 'initiateSigning':
    case 'sign':
      if (isForWalletService(call, request.value)) return nothing;
      return signingOrders(call, request.value, macs, moment);
    case 'resumeSession': {
      const { sessionId, humanApprovalWitness } = request.value;
      if (humanApprovalWitness.length === 0) return nothing;
      return { witnessMacs: macs.witness({ tenant: call.tenant, sessionId }) };
    }
    case 'closeKey': {
      const { keyId, revokeOnly } = request.value;
      // A client that calls it is refused by the coordinator; nothing is ordered for it either.
      if (revokeOnly || !call.walletService) return nothing;
      return { deletionMacs: macs.deletion({ tenant: call.tenant, keyId }) };
    }
    default:
      return nothing;
  }
}

/**
 * Whether a client asks for what the wallet service alone may sign: with a vault's key, or past the intents of a wallet. The
 * coordinator refuses it and says why; without an order no node would sign it for a coordinator that does not.
 */
function isForWalletService(
  { walletService, walletTerms }: OrderedCall,
  { walletId }: InitiateSigningRequest,
): boolean {
  if (walletService) return false;
  if (isVaultKey(walletId)) return true;
  return Boolean(walletTerms?.intentsOnly || walletTerms?.archived || walletTerms?.custodian);
}

function signingOrders(
  { tenant, walletService, walletTerms }: OrderedCall,
  request: InitiateSigningRequest,
  macs: OrderMacs,
  { nowMs, random }: OrderMoment,
): CallOrders {
  const { HUMAN_REQUIRED } = ApprovalMode;
  const sessionId = newId('sig', Math.floor(nowMs), random);
  const needsWitness = request.approvalMode === HUMAN_REQUIRED || walletTerms?.approvalMode === HUMAN_REQUIRED;
  const expiresMs = Math.floor(nowMs) + orderLifetimeMs;
  const order = {
    sessionId,
    expiresEpochMs: BigInt(expiresMs),
    needsWitness,
    macs: macs.order({
      tenant,
      sessionId,
      keyId: request.walletId,
      keystoreType: request.keystoreType,
      curve: request.derivation?.curve ?? '',
      derivationPath: request.derivation?.derivationPath ?? '',
      message: request.messageHash,
      intentId: request.transactionIntentId,
      walletService,
      needsWitness,
      expiresMs,
    }),
  };
  if (!needsWitness || request.humanApprovalWitness.length === 0) return { order };
  return { order, witnessMacs: macs.witness({ tenant, sessionId }) };
}

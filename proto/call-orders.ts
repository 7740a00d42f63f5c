/**
 * The orders that a gateway adds to a call so that nodes will sign for it: an order for InitiateSigning or Sign, and for a call
 * with a witness the order for that. core/crypto/order-macs.ts explains the authenticated content.
 *
 * The same code for live gateways, simulations and tests: the MACs come from a port.
 */

import type { Message } from '@bufbuild/protobuf';
import type { Call, WalletTerms as WalletTermsMessage } from './gen/signmesh/wire/v1/cluster_pb.ts';
import { ApprovalMode, type InitiateSigningRequest } from './gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId } from './ids.ts';
import { isVaultKey, orderLifetimeMs } from './limits.ts';
import type { CallRequest } from './wire.ts';

/** MACs for every node of the roster, concatenated. */
export interface OrderMacs {
  order(terms: OrderedTerms): Uint8Array;
  witness(terms: Pick<OrderedTerms, 'tenant' | 'sessionId'>): Uint8Array;
  deletion(terms: Pick<OrderedTerms, 'tenant' | 'keyId'>): Uint8Array;
}

/** `OrderTerms` of core/crypto/order-macs.ts, which proto/ cannot import. */
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

/** The call of an order, as its gateway admitted it. */
export interface OrderedCall {
  readonly tenant: string;
  readonly request: CallRequest;
  readonly walletService: boolean;
  /** For a client's call that names a wallet. */
  readonly walletTerms: Partial<WalletTerms> | undefined;
  /** The session that the call begins, where its gateway derived it from an idempotency key; undefined: a fresh one. */
  readonly sessionId?: string | undefined;
}

/** What a wallet asks for of a client's call that names it: the fields of the message. */
export type WalletTerms = Readonly<Omit<WalletTermsMessage, keyof Message>>;

export interface OrderMoment {
  readonly nowMs: number;
  readonly random: (length: number) => Uint8Array;
}

/** The order fields of a Call frame; empty for calls without an order. */
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

/** The MAC of one node from the MACs of all; empty if none. A view. */
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
      // The coordinator refuses a client's call, so it gets no order either.
      if (revokeOnly || !call.walletService) return nothing;
      return { deletionMacs: macs.deletion({ tenant: call.tenant, keyId }) };
    }
    default:
      return nothing;
  }
}

/**
 * Whether a client requests a signature that only the wallet service may order: with a vault's key, or without a wallet's
 * intent. The coordinator refuses it with a reason; without an order no node would sign it, even if a coordinator does not
 * refuse.
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
  { tenant, walletService, walletTerms, sessionId: named }: OrderedCall,
  request: InitiateSigningRequest,
  macs: OrderMacs,
  { nowMs, random }: OrderMoment,
): CallOrders {
  const { HUMAN_REQUIRED } = ApprovalMode;
  const sessionId = named ?? newId('sig', Math.floor(nowMs), random);
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

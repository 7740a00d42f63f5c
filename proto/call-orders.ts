/**
 * The orders that a gateway adds to a call so that nodes will sign for it: an order for InitiateSigning or Sign, and for a call
 * with a witness the order for that. core/crypto/order-macs.ts explains the authenticated content.
 *
 * The same code for live gateways, simulations and tests: the MACs come from a port.
 */

import type { Message } from '@bufbuild/protobuf';
import type { Call, RefreshKeyRequest, WalletTerms as WalletTermsMessage } from './gen/signmesh/wire/v1/cluster_pb.ts';
import { ApprovalMode, type InitiateSigningRequest } from './gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId } from './ids.ts';
import { isVaultKey, orderLifetimeMs } from './limits.ts';
import type { CallRequest } from './wire.ts';

/** MACs for every node of the roster, concatenated: GatewayMacs of core/crypto/order-macs.ts, which says what each term is. */
export interface OrderMacs {
  order(terms: ReturnType<typeof orderTerms>): Uint8Array;
  witness(terms: { readonly tenant: string; readonly sessionId: string }): Uint8Array;
  deletion(terms: { readonly tenant: string; readonly keyId: string }): Uint8Array;
  refresh(terms: ReturnType<typeof refreshTerms>): Uint8Array;
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
    case 'refreshKey': {
      const terms = refreshTerms(call, request.value, moment);
      const expiresEpochMs = BigInt(terms.expiresMs);
      return { order: { sessionId: '', expiresEpochMs, needsWitness: false, macs: macs.refresh(terms) } };
    }
    default:
      return nothing;
  }
}

function refreshTerms({ tenant }: OrderedCall, request: RefreshKeyRequest, { nowMs }: OrderMoment) {
  const { keyId, version, scheme } = request;
  return { tenant, keyId, version, scheme, expiresMs: Math.floor(nowMs) + orderLifetimeMs };
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
  call: OrderedCall,
  request: InitiateSigningRequest,
  macs: OrderMacs,
  moment: OrderMoment,
): CallOrders {
  const terms = orderTerms(call, request, moment);
  const { sessionId, needsWitness, expiresMs } = terms;
  const order = { sessionId, expiresEpochMs: BigInt(expiresMs), needsWitness, macs: macs.order(terms) };
  if (!needsWitness || request.humanApprovalWitness.length === 0) return { order };
  return { order, witnessMacs: macs.witness({ tenant: call.tenant, sessionId }) };
}

/** The terms exactly as the request stated them, and the session that it begins. */
function orderTerms(
  { tenant, walletService, walletTerms, sessionId: named }: OrderedCall,
  request: InitiateSigningRequest,
  { nowMs, random }: OrderMoment,
) {
  const { HUMAN_REQUIRED } = ApprovalMode;
  return {
    tenant,
    sessionId: named ?? newId('sig', Math.floor(nowMs), random),
    keyId: request.walletId,
    keystoreType: request.keystoreType,
    curve: request.derivation?.curve ?? '',
    derivationPath: request.derivation?.derivationPath ?? '',
    message: request.messageHash,
    intentId: request.transactionIntentId,
    walletService,
    needsWitness: request.approvalMode === HUMAN_REQUIRED || walletTerms?.approvalMode === HUMAN_REQUIRED,
    expiresMs: Math.floor(nowMs) + orderLifetimeMs,
  };
}

/**
 * The ClusterSigner on the coordinator: keys and signatures through the same sessions that clients use, as the wallet
 * service (Call.wallet_service).
 *
 * Everything here may be repeated, also by another gateway after this one died between two calls: a key is found by its session
 * id, a signature by its purpose. The coordinator's store replaces a session that can no longer sign (expired, revoked,
 * abandoned) by a new one in one atomic step, so that a purpose never gets two signatures.
 */
import { create } from '@bufbuild/protobuf';
import { deriveTweak, parsePath } from '../../core/crypto/derivation.ts';
import { CloseKeyRequestSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import {
  ApprovalMode,
  type DiagnosticReceipt,
  InitiateDkgRequestSchema,
  InitiateSigningRequestSchema,
  ReceiptState,
  type SessionCheckpoint,
  SignatureShareRequestSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type KeyScheme, walletKeySchemes, wireScheme } from '../../proto/key-schemes.ts';
import type { RequestOf, ResponseOf } from '../../proto/wire.ts';
import { frozenRetryMs } from '../../wallets/custody/tenant/public.ts';
import { type CallMeta, ProviderRejected, ProviderUnavailable } from '../../wallets/providers/port/port.ts';
import type {
  ClusterSignature,
  ClusterSigner,
  SignerCurve,
  SigningOrder,
} from '../../wallets/providers/self-hosted/cluster-signer.ts';
import type { Calls } from './signing-calls.ts';

/** A key generation that failed is resumed this often within one call. */
const resumesMax = 2;
/** How often one call begins a new session after its session ended. */
const sessionsMax = 3;
/** When nodes that were unreachable are asked again to delete what is left of an archived wallet. */
const pendingDeletionMs = 15_000;
const clientName = 'signmesh-wallet-service';

/** What every answer says of its call. */
interface Answered {
  readonly receipt?: DiagnosticReceipt | undefined;
}

export function makeClusterSigner({ calls }: { readonly calls: Calls }): ClusterSigner {
  return {
    createKey: (meta, walletId, curve, networkId) => createKey(calls, meta, walletId, curve, networkId),
    childKey: (meta, walletId, networkId, path) => childKey(calls, meta, walletId, networkId, path),
    sign: (meta, order) => sign(calls, meta, order),
    closeKey: (meta, walletId) => closeKey(calls, meta, walletId),
    revokeSessions: async (meta, walletId) => {
      const request = create(CloseKeyRequestSchema, { keyId: walletId, revokeOnly: true });
      await ask(calls, meta, 'closeKey', request);
    },
  };
}

/** Throws ProviderUnavailable until every node has confirmed that it deleted its share. */
export async function closeKey(calls: Calls, meta: CallMeta, keyId: string): Promise<void> {
  const { pendingNodes } = await ask(calls, meta, 'closeKey', create(CloseKeyRequestSchema, { keyId }));
  if (pendingNodes.length === 0) return;
  const text = `nodes ${pendingNodes.join(', ')} have not deleted their shares of an archived key yet`;
  throw new ProviderUnavailable(`the signer cluster: ${text}`, pendingDeletionMs);
}

async function createKey(
  calls: Calls,
  meta: CallMeta,
  walletId: string,
  curve: SignerCurve,
  networkId: string,
): Promise<Uint8Array> {
  return (await walletKey(calls, meta, walletId, curve, networkId)).publicKey;
}

/** Repeated, it answers with the same key. */
function walletKey(calls: Calls, meta: CallMeta, walletId: string, curve: SignerCurve, networkId: string) {
  const derivation = { curve, networkId };
  const request = create(InitiateDkgRequestSchema, { sessionId: walletId, derivation, context: contextOf(meta) });
  return obtainKey(calls, meta, request, walletKeySchemes[curve]);
}

async function childKey(
  calls: Calls,
  meta: CallMeta,
  walletId: string,
  networkId: string,
  path: string,
): Promise<Uint8Array> {
  const curve = 'secp256k1';
  const { publicKey, chainCode } = await walletKey(calls, meta, walletId, curve, networkId);
  return deriveTweak({ curve, publicKey, chainCode, path: parsePath(path).normal }).publicKey;
}

/** The answer to a MakeKey that has a key. Throws ProviderUnavailable or ProviderRejected. */
export async function obtainKey(
  calls: Calls,
  meta: CallMeta,
  request: RequestOf<'makeKey'>,
  scheme: KeyScheme,
): Promise<ResponseOf<'makeKey'>> {
  for (let resumes = 0; ; resumes += 1) {
    const made = await ask(calls, meta, 'makeKey', request, wireScheme(scheme));
    if (made.publicKey.length > 0 || made.ownerKeys.length > 0) return made;
    if (made.receipt?.state !== ReceiptState.BACKEND_FAILED) throw refused(made);
    // The cluster has waited for its nodes in this very call: the caller comes back later.
    if (resumes === resumesMax || made.receipt.reasonCode === 'NODES_UNAVAILABLE') throw unavailable(made);
  }
}

async function sign(calls: Calls, meta: CallMeta, order: SigningOrder): Promise<ClusterSignature> {
  const request = create(InitiateSigningRequestSchema, {
    transactionIntentId: order.purpose,
    walletId: order.walletId,
    derivation: { networkId: order.networkId, derivationPath: order.path ?? '' },
    messageHash: order.message,
    policyApprovalToken: Buffer.from(order.policyReceipt),
    approvalMode: ApprovalMode.DIRECT_ALLOWED,
    context: contextOf(meta),
  });
  const signed = await signFor(calls, meta, request);
  if (signed.signature.length === 0) throw refused(signed);
  const { receipt, signature, recoveryId } = signed;
  return { sessionId: receipt?.sessionId ?? '', signature, recoveryId: recoveryId[0] };
}

/**
 * The signature of a purpose, or the answer of a session that gives none for now. Throws ProviderUnavailable when the same
 * request may be repeated later.
 */
export async function signFor(calls: Calls, meta: CallMeta, request: RequestOf<'sign'>): Promise<Signed> {
  for (let sessions = 0; sessions < sessionsMax; sessions += 1) {
    const signed = await signOnce(calls, meta, request);
    const state = signed.receipt?.state;
    if (signed.signature.length > 0) return signed;
    // Given up, it makes way for the session of a later call.
    if (state === ReceiptState.BACKEND_FAILED) throw unavailable(signed);
    if (state !== ReceiptState.EXPIRED && state !== ReceiptState.REVOKED) return signed;
  }
  throw new ProviderUnavailable('the signing sessions of this purpose ended before they signed');
}

export interface Signed extends Answered {
  readonly checkpoint?: SessionCheckpoint | undefined;
  /** Empty: none. */
  readonly signature: Uint8Array;
  readonly recoveryId: Uint8Array;
}

async function signOnce(calls: Calls, meta: CallMeta, request: RequestOf<'sign'>): Promise<Signed> {
  const begun = await ask(calls, meta, 'sign', request);
  if (begun.receipt?.reasonCode !== 'DUPLICATE_INTENT') return begun;
  // Another call began before (of this gateway before it died, say): its session continues.
  const { context } = request;
  const share = create(SignatureShareRequestSchema, { signingSessionId: begun.receipt.sessionId, context });
  const answered = await ask(calls, meta, 'submitSignatureShare', share);
  const { receipt, checkpoint, fullSignature, recoveryId } = answered;
  return { receipt, checkpoint, signature: fullSignature, recoveryId };
}

/** One call as the wallet service. Throws ProviderUnavailable when there is no answer: its effect is unknown then. */
export async function ask<K extends 'makeKey' | 'sign' | 'submitSignatureShare' | 'closeKey'>(
  calls: Calls,
  { tenant, correlationId, traceparent }: CallMeta,
  asked: K,
  request: RequestOf<K>,
  keyScheme = Scheme.UNSPECIFIED,
): Promise<ResponseOf<K>> {
  const about = { tenant, correlationId, traceparent, walletService: true, keyScheme };
  const outcome = await calls.ask(asked, request, about);
  if (outcome.failure === undefined) return outcome.response;
  const { kind, message: text, retryAfterS } = outcome.failure;
  switch (kind) {
    case 'unavailable':
    case 'overloaded':
      throw new ProviderUnavailable(`the signer cluster: ${text}`, (retryAfterS ?? 1) * 1_000);
    case 'tenantFrozen':
      throw new ProviderUnavailable(text, frozenRetryMs);
    case 'deadlineExceeded':
      throw new ProviderUnavailable(`the signer cluster: ${text}`, undefined, true);
    default:
      throw outcome.failure;
  }
}

export function contextOf({ correlationId, traceparent }: CallMeta) {
  return { correlationId, traceparent, client: { clientName } };
}

function unavailable({ receipt }: Answered): ProviderUnavailable {
  return new ProviderUnavailable(`the signer cluster: ${receipt?.reasonCode ?? ''}: ${receipt?.message ?? ''}`);
}

/** The cluster's own words: the reason code is the provider's code, and in lower case the issue. */
export function refused({ receipt }: Answered): ProviderRejected {
  const providerCode = receipt?.reasonCode ?? '';
  return new ProviderRejected(`the signer cluster refused: ${receipt?.message ?? 'no receipt'}`, {
    issue: providerCode.toLowerCase(),
    providerCode,
  });
}

/**
 * The ClusterSigner on the coordinator: keys and signatures through the same sessions that clients use, as the wallet
 * service (Call.wallet_service).
 *
 * Everything here may be repeated, also by another gateway after this one died between two calls: a key is found by its
 * session id, a signature by its purpose. A session that cannot sign any more (expired, revoked, given up) makes way for
 * a new one in the coordinator's store, in one atomic step, so that a purpose never gets two signatures.
 */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { CloseKeyRequestSchema, CloseKeyResponseSchema, Method } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import {
  ApprovalMode,
  type DiagnosticReceipt,
  DkgShareExchangeRequestSchema,
  DkgShareExchangeResponseSchema,
  InitiateDkgRequestSchema,
  InitiateDkgResponseSchema,
  InitiateSigningRequestSchema,
  ReceiptState,
  ResumeSessionRequestSchema,
  ResumeSessionResponseSchema,
  type SessionCheckpoint,
  SignatureShareRequestSchema,
  SignatureShareResponseSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { walletKeySchemes, wireScheme } from '../../proto/key-schemes.ts';
import { type CallMeta, ProviderRejected, ProviderUnavailable } from '../../providers/port/port.ts';
import type {
  ClusterSignature,
  ClusterSigner,
  Curve,
  SigningOrder,
} from '../../providers/self-hosted/cluster-signer.ts';
import type { SigningCalls } from './signing-calls.ts';

/** A key generation that failed is resumed this often within one call. */
const resumesMax = 2;
/** A session that ended while this call was at it is followed by a new one this often. */
const sessionsMax = 3;
/** When nodes that were unreachable are asked again to delete what is left of an archived wallet. */
const pendingDeletionMs = 15_000;
const clientName = 'signmesh-wallet-service';
const publicKeyBytes: Readonly<Record<Curve, number>> = { secp256k1: 33, ed25519: 32 };

/** What every answer says of its call and its session. */
interface Answered {
  readonly receipt?: DiagnosticReceipt | undefined;
  readonly checkpoint?: SessionCheckpoint | undefined;
}

interface Exchange<Q extends DescMessage, A extends DescMessage> {
  readonly method: Method;
  readonly request: Q;
  readonly response: A;
}

const initiateDkg = {
  method: Method.INITIATE_DKG,
  request: InitiateDkgRequestSchema,
  response: InitiateDkgResponseSchema,
};
const exchangeShares = {
  method: Method.EXCHANGE_DKG_SHARES,
  request: DkgShareExchangeRequestSchema,
  response: DkgShareExchangeResponseSchema,
};
const resumeSession = {
  method: Method.RESUME_SESSION,
  request: ResumeSessionRequestSchema,
  response: ResumeSessionResponseSchema,
};
const signing = {
  method: Method.SIGN,
  request: InitiateSigningRequestSchema,
  response: SignatureShareResponseSchema,
};
const submitShare = {
  method: Method.SUBMIT_SIGNATURE_SHARE,
  request: SignatureShareRequestSchema,
  response: SignatureShareResponseSchema,
};
const closing = { method: Method.CLOSE_KEY, request: CloseKeyRequestSchema, response: CloseKeyResponseSchema };

export function makeClusterSigner({ calls }: { readonly calls: SigningCalls }): ClusterSigner {
  return {
    createKey: (meta, walletId, curve, networkId) => createKey(calls, meta, walletId, curve, networkId),
    sign: (meta, order) => sign(calls, meta, order),
    closeKey: async (meta, walletId) => {
      const { pendingNodes } = await ask(calls, meta, closing, { keyId: walletId });
      if (pendingNodes.length === 0) return;
      const text = `nodes ${pendingNodes.join(', ')} have not deleted their shares of an archived key yet`;
      throw new ProviderUnavailable(`the signer cluster: ${text}`, pendingDeletionMs);
    },
    revokeSessions: async (meta, walletId) => {
      await ask(calls, meta, closing, { keyId: walletId, revokeOnly: true });
    },
  };
}

async function createKey(
  calls: SigningCalls,
  meta: CallMeta,
  walletId: string,
  curve: Curve,
  networkId: string,
): Promise<Uint8Array> {
  const context = contextOf(meta);
  const making = { sessionId: walletId, derivation: { curve, networkId }, context };
  let answer: Answered = await ask(calls, meta, initiateDkg, making, wireScheme(walletKeySchemes[curve]));
  // A session that is known already stands in its checkpoint; this call's receipt says no more than that it is known.
  const known = answer.receipt?.reasonCode === 'DUPLICATE_SESSION';
  if (!known && answer.receipt?.state !== ReceiptState.ACCEPTED) throw refused(answer);
  let waited = false;
  for (let resumes = 0; ; ) {
    if (answer.checkpoint?.state === ReceiptState.BACKEND_FAILED) {
      // The cluster has waited for its nodes in this very call: the caller comes back later.
      if (resumes === resumesMax || (waited && answer.receipt?.reasonCode === 'NODES_UNAVAILABLE')) {
        throw unavailable(answer);
      }
      resumes += 1;
      const { resumeToken } = answer.checkpoint;
      // Another caller may resume it at the same time: the round shows the result.
      await ask(calls, meta, resumeSession, { sessionId: walletId, resumeToken, context });
    }
    const round = await ask(calls, meta, exchangeShares, { sessionId: walletId, context });
    if (round.verified) return publicKeyOf(round, curve);
    answer = round;
    waited = true;
    if (round.checkpoint?.state !== ReceiptState.BACKEND_FAILED) throw refused(round);
  }
}

async function sign(calls: SigningCalls, meta: CallMeta, order: SigningOrder): Promise<ClusterSignature> {
  for (let sessions = 0; sessions < sessionsMax; sessions += 1) {
    const begun = await ask(calls, meta, signing, {
      transactionIntentId: order.purpose,
      walletId: order.walletId,
      derivation: { networkId: order.networkId },
      messageHash: order.message,
      policyApprovalToken: Buffer.from(order.policyReceipt),
      approvalMode: ApprovalMode.DIRECT_ALLOWED,
      context: contextOf(meta),
    });
    const sessionId = begun.receipt?.sessionId ?? '';
    // Another process began before us (for example this gateway before it died): continue its session.
    const known = begun.receipt?.reasonCode === 'DUPLICATE_INTENT';
    const share = known
      ? await ask(calls, meta, submitShare, { signingSessionId: sessionId, context: contextOf(meta) })
      : begun;
    if (share.isComplete) {
      const [recoveryId] = share.recoveryId;
      return { sessionId, signature: share.fullSignature, recoveryId };
    }
    const state = share.receipt?.state;
    // Given up, it makes way for the session of a later call.
    if (state === ReceiptState.BACKEND_FAILED) throw unavailable(share);
    if (state !== ReceiptState.EXPIRED && state !== ReceiptState.REVOKED) throw refused(share);
  }
  throw new ProviderUnavailable('the signing sessions of this purpose ended before they signed');
}

/** One call as the wallet service. Throws ProviderUnavailable when there is no answer: its effect is unknown then. */
async function ask<Q extends DescMessage, A extends DescMessage>(
  calls: SigningCalls,
  meta: CallMeta,
  { method, request, response }: Exchange<Q, A>,
  init: MessageInitShape<Q>,
  keyScheme = Scheme.UNSPECIFIED,
): Promise<MessageShape<A>> {
  const { tenant, correlationId, traceparent } = meta;
  const message = create(request, init);
  const outcome = await calls.call({
    method: { method },
    request: toBinary(request, message),
    message,
    tenant,
    correlationId,
    traceparent,
    walletService: true,
    keyScheme,
  });
  if (outcome.failure === undefined) return fromBinary(response, outcome.response);
  const { kind, message: text, retryAfterS } = outcome.failure;
  switch (kind) {
    case 'unavailable':
    case 'overloaded':
    case 'deadlineExceeded':
      throw new ProviderUnavailable(`the signer cluster: ${text}`, (retryAfterS ?? 1) * 1_000);
    default:
      throw outcome.failure;
  }
}

function contextOf({ correlationId, traceparent }: CallMeta) {
  return { correlationId, traceparent, client: { clientName } };
}

/** The receipt's message is `group public key <compressed hex>`, with no other long hex string before it. */
function publicKeyOf({ receipt }: Answered, curve: Curve): Uint8Array {
  const hex = /group public key ([0-9a-f]+)/.exec(receipt?.message ?? '')?.[1] ?? '';
  const publicKey = Buffer.from(hex, 'hex');
  if (publicKey.length !== publicKeyBytes[curve]) {
    throw new Error(`the key of this wallet has a public key of ${publicKey.length} bytes, which is not ${curve}`);
  }
  return publicKey;
}

function unavailable({ receipt }: Answered): ProviderUnavailable {
  return new ProviderUnavailable(`the signer cluster: ${receipt?.reasonCode ?? ''}: ${receipt?.message ?? ''}`);
}

/** The cluster's own words: the reason code is the provider's code, and in lower case the issue. */
function refused({ receipt }: Answered): ProviderRejected {
  const providerCode = receipt?.reasonCode ?? '';
  return new ProviderRejected(`the signer cluster refused: ${receipt?.message ?? 'no receipt'}`, {
    issue: providerCode.toLowerCase(),
    providerCode,
  });
}

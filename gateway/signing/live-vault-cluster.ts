/**
 * The VaultCluster on the coordinator: keys and messages of vaults, through the sessions of the wallet service, as
 * live-cluster-signer.ts does for wallets. Everything may be repeated: a key is found by its id, a signature by its purpose.
 */
import { create, type DescMessage, type MessageShape, toJson } from '@bufbuild/protobuf';
import {
  ApprovalMode,
  DiagnosticReceiptSchema,
  InitiateDkgRequestSchema,
  InitiateSigningRequestSchema,
  KeystoreType,
  ReceiptState,
  SessionCheckpointSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { schemeOfKeystore } from '../../proto/key-schemes.ts';
import type { Sharing } from '../../proto/roster.ts';
import type {
  KeyOrder,
  KeystoreName,
  MadeKey,
  MessageOrder,
  MessageSignature,
  VaultCluster,
} from '../../wallets/companions/vaults/public.ts';
import { type CallMeta, ProviderRejected } from '../../wallets/providers/port/port.ts';
import { closeKey, contextOf, obtainKey, refused, signFor } from './live-cluster-signer.ts';
import type { Calls } from './signing-calls.ts';

const wireTypes: Readonly<Record<KeystoreName, KeystoreType>> = {
  mock_threshold: KeystoreType.MOCK_THRESHOLD,
  mpc_frost: KeystoreType.MPC_FROST,
  multisig_evm_wallet: KeystoreType.MULTISIG_EVM_WALLET,
  mpc_vendor: KeystoreType.MPC_VENDOR,
  hsm_pkcs11: KeystoreType.HSM_PKCS11,
};

const statuses: ReadonlyMap<ReceiptState | undefined, MessageSignature['status']> = new Map([
  [ReceiptState.PENDING_HUMAN_APPROVAL, 'pending_human_approval'],
  [ReceiptState.ACCEPTED, 'accepted'],
  [ReceiptState.RESUMED, 'accepted'],
]);

export function makeVaultCluster({
  calls,
  sharing,
}: {
  readonly calls: Calls;
  readonly sharing?: Sharing | undefined;
}): VaultCluster {
  return {
    ...(sharing && { usualSharing: sharing }),
    makeKey: (meta, order) => makeKey(calls, meta, order),
    sign: (meta, order) => sign(calls, meta, order),
    closeKey: (meta, keyId) => closeKey(calls, meta, keyId),
  };
}

async function makeKey(calls: Calls, meta: CallMeta, order: KeyOrder): Promise<MadeKey> {
  const { keyId, keystoreType, curve, threshold, totalNodes } = order;
  const scheme = schemeOfKeystore(wireTypes[keystoreType], curve);
  if (scheme === undefined) {
    throw new ProviderRejected(`no keys of keystore type ${keystoreType} are made on ${curve}`, {
      field: 'keystore_type',
      issue: 'unsupported_keystore',
      providerCode: 'UNSUPPORTED_KEYSTORE',
    });
  }
  const request = create(InitiateDkgRequestSchema, {
    sessionId: keyId,
    threshold,
    totalNodes,
    derivation: { curve },
    context: contextOf(meta),
  });
  const { publicKey, ownerKeys, chainCode, participants } = await obtainKey(calls, meta, request, scheme);
  return { scheme, publicKey, ownerKeys, chainCode, participants };
}

async function sign(calls: Calls, meta: CallMeta, order: MessageOrder): Promise<MessageSignature> {
  const request = create(InitiateSigningRequestSchema, {
    transactionIntentId: order.purpose,
    walletId: order.keyId,
    derivation: { derivationPath: order.derivationPath },
    messageHash: order.message,
    policyApprovalToken: Buffer.from(order.policyReceipt),
    humanApprovalWitness: order.witness,
    approvalMode: order.needsHuman ? ApprovalMode.HUMAN_REQUIRED : ApprovalMode.DIRECT_ALLOWED,
    keystoreType: wireTypes[order.keystoreType],
    context: contextOf(meta),
  });
  const answered = await signFor(calls, meta, request);
  const { signature, recoveryId, receipt, checkpoint } = answered;
  const status = signature.length > 0 ? 'completed' : statuses.get(checkpoint?.state);
  if (status === undefined || receipt === undefined || checkpoint === undefined) throw refused(answered);
  return {
    sessionId: receipt.sessionId,
    status,
    signature,
    recoveryId: recoveryId[0],
    receipt: jsonOf(DiagnosticReceiptSchema, receipt),
    checkpoint: jsonOf(SessionCheckpointSchema, checkpoint),
  };
}

/** As the signing API writes it: every field, in snake_case. */
function jsonOf<D extends DescMessage>(schema: D, message: MessageShape<D>): object {
  return toJson(schema, message, { useProtoFieldName: true, alwaysEmitImplicit: true }) as object;
}

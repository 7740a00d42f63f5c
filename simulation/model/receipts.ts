/** The reference model of receipts and checkpoints: the content of every answer about its call and its session, for all codes. */
import type { SessionRecord } from '../../coordinator/contract/record.ts';
import type { MakeKeyResponse, SignResponse } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  type DiagnosticReceipt,
  KeystoreType,
  type OrchestrationContext,
  ReceiptState,
  type SessionCheckpoint,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { signatureIn } from '../cluster/invariants/answer-parts.ts';
import { hexOf, isSigning } from '../cluster/invariants/sessions.ts';
import { isPaused, type Promised } from './answer-facts.ts';
import { holdersOf } from './history.ts';

const S = ReceiptState;
const textMax = 256;

/** The fault of receipt and checkpoint. `record`: the version of the session that the checkpoint names; undefined: none that is durable. */
export function receiptFault(
  call: Promised,
  receipt: DiagnosticReceipt,
  checkpoint: SessionCheckpoint,
  record: SessionRecord | undefined,
): string | undefined {
  if (receipt.epoch !== checkpoint.epoch) return 'its receipt and its checkpoint name two epochs';
  if (receipt.checkpointId !== checkpoint.checkpointId) return 'its receipt and its checkpoint name two checkpoints';
  const { client, correlationId = '' } = (call.request as { readonly context?: OrchestrationContext }).context ?? {};
  if (receipt.clientName !== (client?.clientName ?? '').slice(0, textMax)) return 'its receipt names another client';
  if (receipt.clientVersion !== (client?.clientVersion ?? '').slice(0, textMax))
    return 'its receipt names another version of its client';
  const asked = correlationId.slice(0, textMax);
  const correlation = asked === '' ? record?.correlationId : asked;
  if (correlation !== undefined && receipt.correlationId !== correlation) return 'it names another correlation';
  if (record === undefined) {
    return checkpoint.epoch !== 0n || checkpoint.resumeToken !== ''
      ? 'it tells of a session that is not durable'
      : undefined;
  }
  if (receipt.sessionId !== record.sessionId) return 'its receipt names another session';
  if (checkpoint.state !== record.state) return 'its checkpoint names another state';
  if (receipt.resumable !== isPaused(record.state)) return 'it is wrong about whether its session is resumable';
  if ((checkpoint.resumeToken !== '') !== receipt.resumable) return 'it has a token, or none, in the wrong state';
  if (receipt.approvalMode !== record.approvalMode) return 'it names another approval mode';
  if (receipt.keystoreType !== record.keystoreType) return 'it names another keystore type';
  const route = routeOf(record);
  if (receipt.backendRoute !== route) return `it names the route ${receipt.backendRoute} in place of ${route}`;
  if (checkpoint.createdAtEpochMs !== BigInt(record.checkpointMs)) return 'it names another time of its checkpoint';
  const signed = signatureIn(call.response);
  if (signed && (record.state !== S.BACKEND_COMPLETED || !isSigning(record)))
    return 'it has a signature of a session that is not complete';
  return resultFault(call, record);
}

/** The fields of MakeKey and Sign about their key and their signers. */
function resultFault({ method, response }: Promised, { ceremony, state }: SessionRecord): string | undefined {
  if (method === 'sign' && ceremony.kind === 'signing') {
    const { signers, culprits, signature } = response as SignResponse;
    if (culprits.join() !== ceremony.excluded.join()) return 'it names other culprits than its session';
    const expected = signature.length > 0 ? ceremony.submitted : [];
    return signers.join() === expected.join() ? undefined : 'it names other signers than its session';
  }
  if ((method === 'makeKey' || method === 'refreshKey') && ceremony.kind === 'dkg') {
    const { publicKey, participants, culprits, confirmation } = response as MakeKeyResponse;
    if (hexOf(publicKey) !== ceremony.publicKey) return 'it names another key than its session';
    if (participants.join() !== holdersOf(ceremony).join()) return 'it names other nodes than its session';
    if (culprits.join() !== (ceremony.culprits ?? []).join()) return 'it names other culprits than its session';
    if ((confirmation !== undefined) !== (state === S.BACKEND_COMPLETED))
      return 'it has a proof, or none, in the wrong state';
  }
  return undefined;
}

/** The backend of a session: mode, ceremony, curve. docs/keystores.md lists them. */
export function routeOf({ ceremony, keystoreType }: SessionRecord): string {
  const { curve } = ceremony;
  const names: Readonly<Partial<Record<KeystoreType, readonly [key: string, signing: string]>>> = {
    [KeystoreType.HSM_PKCS11]: [`hsm-keys/${curve}`, `hsm-pkcs11/${curve}`],
    [KeystoreType.MPC_VENDOR]: [`vendor-keys/${curve}`, `mpc-vendor/${curve}`],
    [KeystoreType.MULTISIG_EVM_WALLET]: ['owner-keys', 'multisig-evm'],
  };
  const own = names[keystoreType];
  if (ceremony.kind === 'dkg') return `m0/${own?.[0] ?? `dkg/${curve}`}`;
  if (curve === '') return 'm0/mock-directive';
  if (own) return `m0/${own[1]}`;
  if (curve === 'ed25519') return 'm0/frost-ed25519';
  return keystoreType === KeystoreType.MPC_FROST ? 'm0/frost-bip340' : 'm0/mock-ecdsa-secp256k1';
}

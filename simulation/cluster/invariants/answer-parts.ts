/** Reads the parts that all answers to calls share, for checkers. */
import type { SignResponse } from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type {
  DiagnosticReceipt,
  SessionCheckpoint,
  SignatureShareResponse,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

/** The receipt and checkpoint of an answer; undefined for answers that have none (a closed key, a sandbox's question). */
export function proofIn(
  response: unknown,
): { readonly receipt: DiagnosticReceipt; readonly checkpoint: SessionCheckpoint } | undefined {
  const { receipt, checkpoint } = response as { receipt?: DiagnosticReceipt; checkpoint?: SessionCheckpoint };
  return receipt && checkpoint ? { receipt, checkpoint } : undefined;
}

/** The full signature in an answer, if there is one. */
export function signatureIn(
  response: unknown,
): { readonly sessionId: string; readonly signature: Uint8Array } | undefined {
  const answer = response as Partial<SignatureShareResponse & Pick<SignResponse, 'signature'>>;
  const signature = answer.fullSignature ?? answer.signature;
  return signature && signature.length > 0 ? { sessionId: answer.receipt?.sessionId ?? '', signature } : undefined;
}

/** The nodes that an answer blames: MakeKey, Sign and inspections name them. */
export function culpritsIn(response: unknown): readonly number[] {
  return (response as { culprits?: readonly number[] }).culprits ?? [];
}

/** The public key in a MakeKey's answer, if there is one. */
export function publicKeyIn(response: unknown): Uint8Array | undefined {
  const { publicKey } = response as { publicKey?: Uint8Array };
  return publicKey && publicKey.length > 0 ? publicKey : undefined;
}

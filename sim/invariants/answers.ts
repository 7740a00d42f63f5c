/** What the answers to the five calls have in common, as checkers read them. */
import type {
  DiagnosticReceipt,
  SessionCheckpoint,
  SignatureShareResponse,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

/** The receipt and checkpoint of an answer; undefined for answers that have none (a closed key, a sandbox's question). */
export function proofIn(
  response: unknown,
): { readonly receipt: DiagnosticReceipt; readonly checkpoint: SessionCheckpoint } | undefined {
  const { receipt, checkpoint } = response as { receipt?: DiagnosticReceipt; checkpoint?: SessionCheckpoint };
  return receipt && checkpoint ? { receipt, checkpoint } : undefined;
}

/** The full signature in an answer, if there is one. */
export function signatureIn(response: unknown): SignatureShareResponse | undefined {
  const { fullSignature } = response as { fullSignature?: Uint8Array };
  return fullSignature && fullSignature.length > 0 ? (response as SignatureShareResponse) : undefined;
}

/**
 * The measured ceremonies, over any API, and their evidence: every signature, with the data that it must verify for. The evidence
 * is checked after the measurement (clients/load/verdict/signatures.ts), so that checking costs the service nothing.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { SigningCaller, SigningCurve } from '../../../clients/load/calls/signing-caller.ts';
import type { ClusterKey, Evidence } from '../../../clients/load/verdict/signatures.ts';

/** Makes the intents and sessions of each run unique. */
const run = randomUUID().slice(0, 8);
let serial = 0;

function freshName(): string {
  serial += 1;
  return `bench-${run}-${serial}`;
}

/** InitiateSigning, then SubmitSignatureShare with node 0: one signature. */
export async function signOnce(door: SigningCaller, key: ClusterKey, evidence: Evidence[]): Promise<void> {
  const text = randomBytes(32);
  const message = key.curve === 'ed25519' ? text : createHash('sha256').update(text).digest();
  const begun = await door.initiateSigning(freshName(), key.walletId, message);
  if (begun.reasonCode !== 'SESSION_ACCEPTED') throw new Error(`InitiateSigning: ${begun.reasonCode}`);
  const signed = await door.submitShare(begun.sessionId);
  if (signed.reasonCode !== 'SIGNATURE_COMPLETED') throw new Error(`SubmitSignatureShare: ${signed.reasonCode}`);
  const { signature, recoveryId, sessionId } = signed;
  evidence.push({ key, text, message, sessionId, signature, recoveryId });
}

/** InitiateDkg, then the whole round: one key, 3 of 5. */
export async function makeKey(
  door: SigningCaller,
  curve: SigningCurve,
  keys: Omit<ClusterKey, 'publicKey'>[],
): Promise<void> {
  const walletId = freshName();
  const begun = await door.initiateDkg(walletId, curve);
  if (begun.reasonCode !== 'SESSION_ACCEPTED') throw new Error(`InitiateDkg: ${begun.reasonCode}`);
  const made = await door.exchangeShares(walletId);
  if (made.reasonCode !== 'DKG_COMPLETED') throw new Error(`ExchangeDkgShares: ${made.reasonCode}`);
  keys.push({ walletId, curve });
}

/**
 * What a session that has ended keeps stored, and in memory: what a client or an operator may still ask of it, and no more.
 * It is applied to the record of every change into a terminal state, after the event of that change was made.
 *
 * - A signing session gives up the gateway's order, and a message longer than its SHA-256: no node is asked any more, and
 *   whether a repeated order names the same message shows by the digest. It keeps its signature, its signers and its
 *   culprits: a repeated SubmitSignatureShare answers them.
 * - A key generation of n nodes gives up the list of its n² verified pairs once all have verified; it keeps the commitments
 *   of client-supplied dealers, which a repeated share is compared with.
 */
import { realSha256 } from '../../crypto/hashing.ts';
import { participantsOf } from '../../crypto/participants.ts';
import { digestBytes } from '../../proto/limits.ts';
import type { DkgRecord, SessionRecord, SigningRecord } from '../contract/record.ts';
import { isTerminal } from '../contract/transitions.ts';

const digestHexChars = 2 * digestBytes;

/** The record as it is stored: the same one while the session may go on. */
export function retained<R extends SessionRecord>(record: R): R {
  if (!isTerminal(record.state)) return record;
  const { ceremony } = record;
  return { ...record, ceremony: ceremony.kind === 'signing' ? retainedSigning(ceremony) : retainedDkg(ceremony) };
}

function retainedSigning(ceremony: SigningRecord): SigningRecord {
  const { messageHash } = ceremony.facts;
  if (messageHash.length <= digestHexChars) return { ...ceremony, order: undefined };
  const facts = { ...ceremony.facts, messageHash: '', messageSha256: messageSha256(Buffer.from(messageHash, 'hex')) };
  return { ...ceremony, facts, order: undefined };
}

function retainedDkg(ceremony: DkgRecord): DkgRecord {
  const isWhole = ceremony.verified.length === participantsOf(ceremony).length ** 2;
  return isWhole ? { ...ceremony, verified: [], allVerified: true } : ceremony;
}

/** Whether a session is, or was, to sign these bytes. */
export function signsMessage({ facts }: SigningRecord, message: Uint8Array): boolean {
  if (facts.messageSha256 !== undefined) return facts.messageSha256 === messageSha256(message);
  return facts.messageHash === Buffer.from(message).toString('hex');
}

/** The pairs of nodes that have verified, as "dealer>recipient": those of a whole session are not listed in its record. */
export function verifiedPairsOf(ceremony: DkgRecord): readonly string[] {
  if (!ceremony.allVerified) return ceremony.verified;
  const ids = participantsOf(ceremony);
  return ids.flatMap((dealer) => ids.map((recipient) => `${dealer}>${recipient}`));
}

/** Lowercase hex. */
export function messageSha256(message: Uint8Array): string {
  return Buffer.from(realSha256(message)).toString('hex');
}

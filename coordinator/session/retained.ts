/**
 * The record of an ended session, stored and in memory: only the data that a client or an operator may still request. The actor
 * reduces the record at every change into a terminal state, after creating the event of that change.
 *
 * - A signing session drops the gateway's order, and replaces a long message by its SHA-256: it asks no more nodes, and the
 *   digest shows whether a repeated order names the same message. It retains its signature, signers and culprits, to answer a
 *   repeated SubmitSignatureShare.
 * - A key generation of n nodes drops the list of its n² verified pairs once all have verified; it retains the commitments of
 *   client-supplied dealers, to compare a repeated share with them.
 */
import { realSha256 } from '../../core/crypto/hashing.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import { digestBytes } from '../../proto/limits.ts';
import type { DkgRecord, SessionRecord, SigningRecord } from '../contract/record.ts';
import { isTerminal } from '../contract/transitions.ts';

const digestHexChars = 2 * digestBytes;

/** The record to store: unchanged while the session may continue. */
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

/** Whether a session signs, or signed, these bytes. */
export function signsMessage({ facts }: SigningRecord, message: Uint8Array): boolean {
  if (facts.messageSha256 !== undefined) return facts.messageSha256 === messageSha256(message);
  return facts.messageHash === Buffer.from(message).toString('hex');
}

/** The pairs of nodes that have verified, as "dealer>recipient": the record of a whole session does not list them. */
export function verifiedPairsOf(ceremony: DkgRecord): readonly string[] {
  if (!ceremony.allVerified) return ceremony.verified;
  const ids = participantsOf(ceremony);
  return ids.flatMap((dealer) => ids.map((recipient) => `${dealer}>${recipient}`));
}

/** Lowercase hex. */
export function messageSha256(message: Uint8Array): string {
  return Buffer.from(realSha256(message)).toString('hex');
}

/**
 * The cryptography of the handshake: identities (Ed25519, RFC 8032), the transcript that both sides prove themselves
 * over, and the two proofs. Secret: identity seeds and the join secret.
 */
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto';

const keyBytes = 32;
export const nonceBytes = 32;
const macBytes = 32;
const signatureBytes = 64;

/** An Ed25519 key pair; the private half does not leave the object. */
export interface LinkIdentity {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  /** 64 bytes. */
  readonly sign: (message: Uint8Array) => Uint8Array;
}

/** RFC 8410: what stands before a raw Ed25519 seed in PKCS #8, and before a raw public key in SubjectPublicKeyInfo. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** `seed`: 32 bytes, secret. Throws RangeError on another length. */
export function identityFromSeed(seed: Uint8Array): LinkIdentity {
  if (seed.length !== keyBytes) throw new RangeError(`an identity seed has ${keyBytes} bytes`);
  const der = Buffer.concat([pkcs8Prefix, seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  der.fill(0);
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  const publicKey = new Uint8Array(spki.subarray(spkiPrefix.length));
  return { publicKey, sign: (message) => new Uint8Array(sign(null, message, privateKey)) };
}

/** Whether the signature is that of the raw public key over the message. False for anything malformed. */
export function verifyIdentity(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== keyBytes || signature.length !== signatureBytes) return false;
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.concat([spkiPrefix, publicKey]), format: 'der', type: 'spki' });
  } catch {
    return false;
  }
  return verify(null, message, key, signature);
}

/** Everything that both sides must agree on. Lengths are checked by the caller; the encoding is injective anyhow. */
interface TranscriptParts {
  readonly protocolVersion: number;
  readonly offeredVersions: readonly number[];
  readonly clusterId: string;
  readonly coordinatorBoot: string;
  readonly serverNonce: Uint8Array;
  readonly role: number;
  readonly nodeId: number;
  readonly peerBoot: string;
  readonly peerPublicKey: Uint8Array;
  readonly peerNonce: Uint8Array;
  /** The channel binding of the TLS connection below; empty: the link is plain. */
  readonly binding: Uint8Array;
}

const transcriptLabel = 'signmesh/handshake/v1';

/** SHA-256 over every part in order, each behind its length in four bytes, big-endian; numbers are four bytes. */
export function transcriptDigest(parts: TranscriptParts): Uint8Array {
  const hash = createHash('sha256');
  const add = (part: Uint8Array) => hash.update(uint32(part.length)).update(part);
  add(Buffer.from(transcriptLabel));
  add(uint32(parts.protocolVersion));
  add(Buffer.concat(parts.offeredVersions.map(uint32)));
  add(Buffer.from(parts.clusterId));
  add(Buffer.from(parts.coordinatorBoot));
  add(parts.serverNonce);
  add(uint32(parts.role));
  add(uint32(parts.nodeId));
  add(Buffer.from(parts.peerBoot));
  add(parts.peerPublicKey);
  add(parts.peerNonce);
  if (parts.binding.length > 0) add(parts.binding);
  return new Uint8Array(hash.digest());
}

/** Numbers off the wire are uint32 already. */
function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}

type Side = 'peer' | 'coordinator';

/** The text that a side signs and authenticates: with its own label, so that neither side's proof is valid for the other. */
function proofMessage(side: Side, transcript: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${transcriptLabel}/${side}\0`), transcript]);
}

interface Proof {
  readonly joinMac: Uint8Array;
  readonly signature: Uint8Array;
}

export function prove(side: Side, transcript: Uint8Array, joinSecret: Uint8Array, identity: LinkIdentity): Proof {
  const message = proofMessage(side, transcript);
  return { joinMac: joinMacOf(joinSecret, message), signature: identity.sign(message) };
}

/** It always checks both halves, the MAC in constant time, so that neither answer nor timing reveals which was wrong. */
export function proofHolds(
  side: Side,
  transcript: Uint8Array,
  joinSecret: Uint8Array,
  publicKey: Uint8Array,
  proof: Proof,
): boolean {
  const message = proofMessage(side, transcript);
  const macHolds = proof.joinMac.length === macBytes && timingSafeEqual(proof.joinMac, joinMacOf(joinSecret, message));
  const signatureHolds = verifyIdentity(publicKey, message, proof.signature);
  return macHolds && signatureHolds;
}

function joinMacOf(joinSecret: Uint8Array, message: Uint8Array): Uint8Array {
  return new Uint8Array(createHmac('sha256', joinSecret).update(message).digest());
}

/**
 * The transcripts that the parties of a distributed key generation sign, seal and prove over, and their checks.
 *
 * Nodes build these bytes and the coordinator checks the same ones, so the code is here, where both can import it.
 *
 * - The *session context* names tenant, session, attempt, roster, curve, threshold, participants and, if given, the scheme.
 *   Every other transcript and every proof of possession begins with it, so that no message of one session, attempt or
 *   cluster is valid in another.
 * - An *opening* is a dealer's public part; the dealer's identity signs its transcript. An opening that a client supplies
 *   has commitments only: its proof, sealing key and signature count as empty, even if they are set.
 * - A *refresh* makes new shares of a key that exists: every node deals λ_i·x_i, its part of the secret, so that the new shares are
 *   of the same secret. What a dealer commits to first must be that part, by the verification shares of the present shares.
 *   Herzberg et al. 1995; the same sum as frost-core's resharing among all holders.
 * - A *sealed share* is bound to (context, sender, recipient) as associated data, and signed by its dealer, so that a
 *   complaint about it is evidence against a node (`evaluateComplaint`).
 * - The *finish digest* covers all openings and all results; equal digests at all nodes are the echo that finds a dealer
 *   that sent two nodes different openings. Each node signs the session context, its own id, the digest and the result, so
 *   that a signed result is valid only in its attempt, and a relaying node cannot change it.
 *
 * All are `transcriptHash` values: injective in their parts, 32 bytes, each with its own tag. Sources: Pedersen
 * 1991, Feldman 1987; Komlo and Goldberg 2020 ("FROST"), figure 1, for the proof of possession.
 */
import { Variant } from './backend.ts';
import { equalBytes, latin1, transcriptHash, u32be, utf8 } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { type Curve, groupOf } from './group.ts';
import { verifyHsmPossession } from './hsm.ts';
import { verify } from './identity.ts';
import { isHeldOutside, type OwnKeys } from './key-package.ts';
import { BoundedMemo } from './memo.ts';
import { type KeyHolders, participantsOf, placeOf } from './participants.ts';
import { lagrangeCoefficient } from './polynomial.ts';
import { verifyPossession } from './possession.ts';
import { open, sealingKeyMatches } from './sealing.ts';
import type { SealingKeyPair } from './sealing-x25519.ts';
import { validateCommitments, verifyShare } from './vss.ts';

/** The terms of one attempt of a DKG session. All of them are public and fixed for the attempt. */
export interface DkgTerms extends KeyHolders {
  readonly tenant: string;
  readonly session: string;
  readonly attempt: number;
  /** 32 bytes, of the pinned roster. */
  readonly rosterDigest: Uint8Array;
  readonly curve: Curve;
  readonly threshold: number;
  /** The name of the only scheme that the key will sign with; absent or empty: its first signature decides. */
  readonly scheme?: string;
  /** Follows from the scheme: every node makes its own key, and none is shared. Its holder: see key-package.ts. */
  readonly ownKeys?: OwnKeys | undefined;
  /** Absent: the session makes a key. */
  readonly refresh?: RefreshedKey | undefined;
}

/** The key whose shares a session replaces, for the same nodes. */
export interface RefreshedKey {
  readonly keyId: string;
  /** Of the new shares. */
  readonly version: number;
  readonly chainCode: Uint8Array;
  /** Of the shares that are replaced, by participant. */
  readonly verificationShares: readonly Uint8Array[];
}

/** λ_i·x_i of a node, its part of the key's secret. Secret. */
export function partOfSecret(terms: DkgTerms, nodeId: number, share: bigint): bigint {
  const { curve } = terms;
  return (lagrangeCoefficient(curve, participantsOf(terms), nodeId) * share) % groupOf(curve).order;
}

/** A dealer of a refresh must commit to its part of the key's secret. */
function partFault(terms: DkgTerms, { dealer, commitments }: DealerOpening): OpeningFault | undefined {
  const { curve, refresh } = terms;
  if (refresh === undefined) return undefined;
  const present = refresh.verificationShares[placeOf(terms, dealer)]!;
  const part = groupOf(curve).multiply(present, lagrangeCoefficient(curve, participantsOf(terms), dealer));
  return equalBytes(part, commitments[0]!) ? undefined : 'PART_INVALID';
}

/** The number of points that a dealer commits to: the whole polynomial, or only its own public key. */
export function commitmentCount({ threshold, ownKeys }: Pick<DkgTerms, 'threshold' | 'ownKeys'>): number {
  return ownKeys ? 1 : threshold;
}

/** A dealer's public part; has the fields of the wire's DkgOpening. */
export interface DealerOpening {
  readonly dealer: number;
  /** `commitmentCount` compressed points, constant term first. */
  readonly commitments: readonly Uint8Array[];
  readonly possession: Uint8Array;
  /** X25519, 32 bytes. */
  readonly sealingKey: Uint8Array;
  /** Ed25519, 64 bytes, over `openingTranscript`. */
  readonly signature: Uint8Array;
  readonly clientSupplied: boolean;
}

/** A sealed share; has the fields of the wire's SealedShare. */
export interface SealedDkgShare {
  readonly dealer: number;
  readonly recipient: number;
  readonly box: Uint8Array;
  /** Ed25519, 64 bytes, over `sealedShareTranscript`. */
  readonly signature: Uint8Array;
}

/** A node's result; has the fields of the wire's DkgFinished. */
export interface FinishedDkg {
  readonly nodeId: number;
  readonly publicKey: Uint8Array;
  readonly verificationShares: readonly Uint8Array[];
  readonly chainCode: Uint8Array;
  /** 32 bytes, `finishDigest`. */
  readonly transcriptDigest: Uint8Array;
  /** Ed25519, 64 bytes, over `finishTranscript`. */
  readonly signature: Uint8Array;
}

/** The session contexts; every transcript of an attempt begins with one. */
const contexts = new Variant(new WeakMap<DkgTerms, Uint8Array>(), new WeakMap<DkgTerms, Uint8Array>());

/** 32 bytes that name one attempt of one session; also the context of every proof of possession. Treat as read-only. */
export function sessionContext(terms: DkgTerms): Uint8Array {
  const known = contexts.current.get(terms);
  if (known !== undefined) return known;
  const context = transcriptHash(
    'signmesh/dkg/context/v2',
    utf8(terms.tenant),
    utf8(terms.session),
    u32be(terms.attempt),
    terms.rosterDigest,
    utf8(terms.curve),
    u32be(terms.threshold),
    u32be(terms.totalNodes),
    ...participantsOf(terms).map(u32be),
    utf8(terms.scheme ?? ''),
    ...(terms.refresh ? [utf8(terms.refresh.keyId), u32be(terms.refresh.version)] : []),
  );
  contexts.current.set(terms, context);
  return context;
}

type UnsignedOpening = Omit<DealerOpening, 'signature'>;

interface TranscriptInContext {
  readonly context: Uint8Array;
  readonly transcript: Uint8Array;
}

/** The transcripts by opening: checking an opening needs its transcript several times. */
const openingTranscripts = new Variant(
  new WeakMap<UnsignedOpening, TranscriptInContext>(),
  new WeakMap<UnsignedOpening, TranscriptInContext>(),
);

const none = new Uint8Array(0);

/**
 * The bytes of its opening that a dealer signs; they exclude the signature. The opening must never change afterwards;
 * treat the result as read-only.
 */
export function openingTranscript(context: Uint8Array, opening: UnsignedOpening): Uint8Array {
  const known = openingTranscripts.current.get(opening);
  if (known !== undefined && equalBytes(known.context, context)) return known.transcript;
  const transcript = transcriptHash(
    'signmesh/dkg/opening/v1',
    context,
    u32be(opening.dealer),
    Uint8Array.of(opening.clientSupplied ? 1 : 0),
    opening.clientSupplied ? none : opening.possession,
    opening.clientSupplied ? none : opening.sealingKey,
    u32be(opening.commitments.length),
    ...opening.commitments,
  );
  openingTranscripts.current.set(opening, { context, transcript });
  return transcript;
}

/** The associated data of the box that carries `sender`'s share for `recipient`. */
export function sealingAssociatedData(context: Uint8Array, sender: number, recipient: number): Uint8Array {
  return transcriptHash('signmesh/dkg/seal/v1', context, u32be(sender), u32be(recipient));
}

/** The bytes of a sealed share that a dealer signs. */
export function sealedShareTranscript(context: Uint8Array, share: Omit<SealedDkgShare, 'signature'>): Uint8Array {
  return transcriptHash(
    'signmesh/dkg/sealed-share/v1',
    context,
    u32be(share.dealer),
    u32be(share.recipient),
    share.box,
  );
}

/** The digest over all openings (sorted by dealer here) and the results that follow from them. */
export function finishDigest(
  context: Uint8Array,
  input: Pick<FinishedDkg, 'publicKey' | 'verificationShares' | 'chainCode'> & {
    readonly openings: readonly UnsignedOpening[];
  },
): Uint8Array {
  const openings = [...input.openings].sort((a, b) => a.dealer - b.dealer);
  return transcriptHash(
    'signmesh/dkg/finish-digest/v1',
    context,
    u32be(openings.length),
    ...openings.map((opening) => openingTranscript(context, opening)),
    input.publicKey,
    input.chainCode,
    u32be(input.verificationShares.length),
    ...input.verificationShares,
  );
}

/** The bytes that a node signs once it has finished; they exclude the signature. */
export function finishTranscript(context: Uint8Array, result: Omit<FinishedDkg, 'signature'>): Uint8Array {
  return transcriptHash(
    'signmesh/dkg/finished/v2',
    context,
    u32be(result.nodeId),
    result.transcriptDigest,
    result.publicKey,
    result.chainCode,
    u32be(result.verificationShares.length),
    ...result.verificationShares,
  );
}

/**
 * The reason to refuse an opening. OPENING_INVALID: malformed or not signed by the dealer; POSSESSION_INVALID: signed, without
 * a right proof; PART_INVALID: signed and proven, but of a refresh, and not the dealer's part of the key.
 */
export type OpeningFault = 'OPENING_INVALID' | 'POSSESSION_INVALID' | 'PART_INVALID';

/**
 * Checks a dealer's opening: commitments, signature, proof of possession. A client-supplied opening is checked for well-formed
 * commitments only (mock mode asks no proof of a client).
 *
 * @param identityKey the dealer's Ed25519 public key from the roster
 * @returns undefined when it is valid. OPENING_INVALID proves no fault of the dealer: a bad signature may be the fault of the
 *   process that relayed it.
 */
export function verifyOpening(
  terms: DkgTerms,
  opening: DealerOpening,
  identityKey: Uint8Array,
): OpeningFault | undefined {
  if (!participantsOf(terms).includes(opening.dealer)) return 'OPENING_INVALID';
  if (!opening.clientSupplied && !isSignedOpening(terms, opening, identityKey)) return 'OPENING_INVALID';
  const name = opening.clientSupplied ? '' : openingName(terms, opening, identityKey);
  if (name !== '' && goodOpenings.current.get(name) === 'proven') return partFault(terms, opening);
  if (!areValidCommitments(terms, opening.commitments)) return 'OPENING_INVALID';
  if (opening.clientSupplied) return undefined;
  const verify = isHeldOutside(terms.ownKeys) ? verifyHsmPossession : verifyPossession;
  const proven = verify({
    curve: terms.curve,
    context: sessionContext(terms),
    dealerId: opening.dealer,
    proof: opening.possession,
    publicKey: opening.commitments[0]!,
  });
  if (!proven) return 'POSSESSION_INVALID';
  goodOpenings.current.set(name, 'proven');
  return partFault(terms, opening);
}

function areValidCommitments(terms: DkgTerms, commitments: readonly Uint8Array[]): boolean {
  try {
    validateCommitments(terms.curve, commitments, commitmentCount(terms));
    return true;
  } catch (error) {
    if (error instanceof CryptoError) return false;
    throw error;
  }
}

/** The valid openings and their level of validity: an opening arrives several times, with requests to seal and to verify. */
const goodOpenings = new Variant(newGoodOpenings(), newGoodOpenings());

function newGoodOpenings(): BoundedMemo<string, 'signed' | 'proven'> {
  return new BoundedMemo(1024);
}

/** A name for all inputs of the check of a real dealer's opening: the dealer's key, the opening in its context, its signature. */
function openingName(terms: DkgTerms, opening: DealerOpening, identityKey: Uint8Array): string {
  const transcript = openingTranscript(sessionContext(terms), opening);
  return latin1(identityKey, transcript, opening.signature);
}

/** Whether a real dealer's opening has a sealing key and its dealer's signature: the only conditions of a sealing dealer. */
export function isSignedOpening(terms: DkgTerms, opening: DealerOpening, identityKey: Uint8Array): boolean {
  if (opening.clientSupplied || opening.sealingKey.length !== 32 || opening.signature.length !== 64) return false;
  const name = openingName(terms, opening, identityKey);
  if (goodOpenings.current.get(name) !== undefined) return true;
  const transcript = openingTranscript(sessionContext(terms), opening);
  if (!verify(identityKey, transcript, opening.signature)) return false;
  goodOpenings.current.set(name, 'signed');
  return true;
}

/** Whether a sealed share has its dealer's valid signature. `identityKey` is the dealer's. */
export function verifySealedShare(terms: DkgTerms, share: SealedDkgShare, identityKey: Uint8Array): boolean {
  return verify(identityKey, sealedShareTranscript(sessionContext(terms), share), share.signature);
}

/** Whether a result of this attempt has its node's valid signature. `identityKey` is the node's. */
export function verifyFinished(terms: DkgTerms, finished: FinishedDkg, identityKey: Uint8Array): boolean {
  return verify(identityKey, finishTranscript(sessionContext(terms), finished), finished.signature);
}

/** Whether two results agree on the key and the transcript; node id and signature aside. */
export function sameResult(a: FinishedDkg, b: FinishedDkg): boolean {
  return (
    equalBytes(a.transcriptDigest, b.transcriptDigest) &&
    equalBytes(a.publicKey, b.publicKey) &&
    equalBytes(a.chainCode, b.chainCode) &&
    a.verificationShares.length === b.verificationShares.length &&
    a.verificationShares.every((share, index) => equalBytes(share, b.verificationShares[index]!))
  );
}

/** The outcome of opening a sealed share: the share (secret), or the fault. */
export type OpenedShare =
  | { readonly kind: 'share'; readonly share: bigint }
  | { readonly kind: 'fault'; readonly code: 'BOX_BROKEN' | 'SHARE_INVALID' };

/** A sealed share, and the recipient's sealing keys. */
interface BoxedShare {
  readonly terms: DkgTerms;
  readonly sealed: SealedDkgShare;
  readonly recipient: SealingKeyPair;
}

/** Opens a sealed share and does not compare it with its dealer's commitments: the caller checks the sum of all dealers' shares. */
export function unsealShare({ terms, sealed, recipient }: BoxedShare): OpenedShare {
  const associatedData = sealingAssociatedData(sessionContext(terms), sealed.dealer, sealed.recipient);
  let plaintext: Uint8Array;
  try {
    plaintext = open({ recipient, box: sealed.box, associatedData });
  } catch (error) {
    if (error instanceof CryptoError) return { kind: 'fault', code: 'BOX_BROKEN' };
    throw error;
  }
  const share = decodeShare(terms.curve, plaintext);
  return share === undefined ? { kind: 'fault', code: 'SHARE_INVALID' } : { kind: 'share', share };
}

/** Opens a sealed share and checks it against its dealer's commitments. */
export function openSealedShare(input: BoxedShare & { readonly commitments: readonly Uint8Array[] }): OpenedShare {
  const { terms, sealed, commitments } = input;
  const opened = unsealShare(input);
  if (opened.kind === 'fault') return opened;
  const right = verifyShare(terms.curve, opened.share, sealed.recipient, commitments);
  return right ? opened : { kind: 'fault', code: 'SHARE_INVALID' };
}

/** A share from its 32 bytes (big-endian for secp256k1, little-endian for ed25519); undefined when they are not a share. */
export function decodeShare(curve: Curve, bytes: Uint8Array): bigint | undefined {
  try {
    return groupOf(curve).decodeNonZeroScalar(bytes);
  } catch (error) {
    if (error instanceof CryptoError) return undefined;
    throw error;
  }
}

/**
 * The culprit of a complaint about a sealed share, from public values and the revealed key: the dealer whose signed box opens
 * to no valid share, or the recipient that complained about a valid one or revealed another key.
 * Undefined when the box lacks the dealer's signature: then it is no evidence against any node.
 *
 * Both openings must have passed `verifyOpening`.
 */
export function evaluateComplaint(input: {
  readonly terms: DkgTerms;
  readonly dealerOpening: DealerOpening;
  readonly recipientOpening: DealerOpening;
  readonly sealed: SealedDkgShare;
  readonly revealedSealingKey: Uint8Array;
  /** The dealer's Ed25519 public key. */
  readonly dealerIdentityKey: Uint8Array;
}): number | undefined {
  const { terms, dealerOpening, recipientOpening, sealed, revealedSealingKey } = input;
  if (sealed.dealer !== dealerOpening.dealer || sealed.recipient !== recipientOpening.dealer) return undefined;
  if (!verifySealedShare(terms, sealed, input.dealerIdentityKey)) return undefined;
  if (!sealingKeyMatches(revealedSealingKey, recipientOpening.sealingKey)) return sealed.recipient;
  const { commitments } = dealerOpening;
  const recipient = { publicKey: recipientOpening.sealingKey, secretKey: revealedSealingKey };
  const opened = openSealedShare({ terms, sealed, commitments, recipient });
  return opened.kind === 'fault' ? sealed.dealer : sealed.recipient;
}

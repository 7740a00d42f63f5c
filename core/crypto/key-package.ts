/**
 * The outcome of a distributed key generation: what one node stores in secret, and what is public.
 *
 * Node i's signing share is x_i = Σ_j f_j(i) over all dealers j, a point of the group polynomial F = Σ f_j; the group
 * secret F(0) exists nowhere. The chain code is a hash of the public transcript and nothing else (no identities, session
 * ids or attempts), so that the same polynomials give the same key, addresses and xpub on every start.
 */
import { Variant } from './backend.ts';
import { equalBytes, latin1, transcriptHash, u32be, utf8 } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { type Curve, groupOf } from './group.ts';
import { BoundedMemo } from './memo.ts';
import { assertParticipants, type KeyHolders, participantsOf, placeOf } from './participants.ts';
import { assertThreshold } from './polynomial.ts';
import { combineCommitments, validateCommitments, verificationShares } from './vss.ts';

/** The public part of a key. All arrays are read-only by convention. */
export interface PublicKeyPackage {
  readonly curve: Curve;
  readonly threshold: number;
  readonly totalNodes: number;
  /** The ids of the nodes that hold a share, ascending. */
  readonly participants: readonly number[];
  /** The group public key, an encoded point; empty if several nodes have separate keys. */
  readonly publicKey: Uint8Array;
  /** X_i = x_i·G for every participant, in their order: of shares, or of the nodes' own keys. */
  readonly verificationShares: readonly Uint8Array[];
  /** 32 bytes: the BIP-32 chain code of the key. */
  readonly chainCode: Uint8Array;
  /** The group polynomial in the exponent, `threshold` points; the first is the public key. Empty without a group key. */
  readonly groupCommitments: readonly Uint8Array[];
}

/** The holder of a node's own key: the node itself, its PKCS#11 token, or a remote vendor. */
export type OwnKeys = 'node' | 'hsm' | 'vendor';

/** Whether a token or a vendor holds the secret key, and not the node. */
export function isHeldOutside(ownKeys: OwnKeys | undefined): boolean {
  return ownKeys === 'hsm' || ownKeys === 'vendor';
}

/** The record that one node stores of a key. */
export interface KeyPackage extends PublicKeyPackage {
  readonly nodeId: number;
  /** x_i, in [1, order). Secret. 0: the node's PKCS#11 token holds it. */
  readonly signingShare: bigint;
}

/** The public inputs of a finished DKG: `commitmentsByDealer` are those of the participants, in their order. */
export interface DkgTranscript extends KeyHolders {
  readonly curve: Curve;
  readonly threshold: number;
  /** Every node makes its own key. */
  readonly ownKeys?: OwnKeys | undefined;
  /** Of a key that exists; absent: it follows from the commitments. */
  readonly chainCode?: Uint8Array | undefined;
  readonly commitmentsByDealer: readonly (readonly Uint8Array[])[];
}

/**
 * The public half of the key, from the commitments of all dealers.
 *
 * @throws INVALID_THRESHOLD; INVALID_COMMITMENTS (naming the dealer); IDENTITY_POINT if the dealers' keys cancel out.
 *   Own keys: INVALID_COMMITMENTS if two nodes have the same one
 */
export function publicKeyPackage(transcript: DkgTranscript): PublicKeyPackage {
  const { curve, threshold, totalNodes, ownKeys, commitmentsByDealer } = transcript;
  const participants = participantsOf(transcript);
  if (!ownKeys || totalNodes > 1) assertThreshold(threshold, totalNodes);
  assertParticipants(transcript);
  if (commitmentsByDealer.length !== totalNodes) {
    throw new CryptoError('INVALID_COMMITMENTS', `expected the commitments of ${totalNodes} dealers`);
  }
  if (ownKeys || commitmentsByDealer.some(({ length }) => length !== threshold)) validateEach(transcript);
  const chainCode = chainCodeOf(transcript);
  if (ownKeys) {
    const ownKeysOfNodes = ownPublicKeys(participants, commitmentsByDealer);
    return {
      curve,
      threshold,
      totalNodes,
      participants,
      // A token's key has one node, which holds the whole key.
      publicKey: isHeldOutside(ownKeys) ? ownKeysOfNodes[0]! : new Uint8Array(0),
      verificationShares: ownKeysOfNodes,
      chainCode,
      groupCommitments: [],
    };
  }
  // The chain code is a hash of all other inputs.
  const name = latin1(chainCode, ...participants.map(u32be));
  const known = groupKeys.current.get(name);
  if (known !== undefined) return withChainCode(known, transcript);
  const groupCommitments = groupPolynomial(transcript);
  const made: PublicKeyPackage = {
    curve,
    threshold,
    totalNodes,
    participants,
    publicKey: groupCommitments[0]!,
    verificationShares: verificationShares(curve, groupCommitments, participants),
    chainCode,
    groupCommitments,
  };
  groupKeys.current.set(name, made);
  return withChainCode(made, transcript);
}

function withChainCode(made: PublicKeyPackage, { chainCode }: DkgTranscript): PublicKeyPackage {
  return chainCode === undefined ? made : { ...made, chainCode };
}

/**
 * The latest results: nodes that share a process get the same commitments, and 100 nodes with threshold 51 would each spend half a
 * second on the same sums.
 */
const groupKeys = new Variant(newGroupKeys(), newGroupKeys());

function newGroupKeys(): BoundedMemo<string, PublicKeyPackage> {
  return new BoundedMemo(16);
}

function validateEach(transcript: DkgTranscript): void {
  const { curve, threshold, ownKeys, commitmentsByDealer } = transcript;
  const participants = participantsOf(transcript);
  for (const [index, commitments] of commitmentsByDealer.entries()) {
    try {
      validateCommitments(curve, commitments, ownKeys ? 1 : threshold);
    } catch (error) {
      if (!(error instanceof CryptoError)) throw error;
      const dealer = participants[index]!;
      throw new CryptoError(error.code, `dealer ${dealer}: ${error.message}`, [dealer]);
    }
  }
}

/** The sums of the commitments, which are checked in them; where one fails, dealer by dealer. */
function groupPolynomial(transcript: DkgTranscript): Uint8Array[] {
  try {
    return combineCommitments(transcript.curve, transcript.commitmentsByDealer);
  } catch (error) {
    // With the dealers' own numbers, which are not always their places.
    if (error instanceof CryptoError && error.code === 'INVALID_COMMITMENTS') validateEach(transcript);
    throw error;
  }
}

/** The single commitment of every node. They must differ, since a wallet counts owners. */
function ownPublicKeys(
  ids: readonly number[],
  commitmentsByDealer: DkgTranscript['commitmentsByDealer'],
): Uint8Array[] {
  const keys = commitmentsByDealer.map(([key]) => key!);
  for (const [index, key] of keys.entries()) {
    const first = keys.findIndex((other) => equalBytes(other, key));
    if (first === index) continue;
    const culprits = [ids[first]!, ids[index]!];
    throw new CryptoError('INVALID_COMMITMENTS', `nodes ${culprits.join(' and ')} have the same key`, culprits);
  }
  return keys;
}

/**
 * Finishes the DKG at one node: sums the verified shares and checks the sum against the commitments.
 *
 * @param sharesByDealer the shares dealt to this node, in the participants' order, its own included; each already
 *   verified. If every node makes its own key: only that key, and none if its token holds it. Secret.
 * @throws as `publicKeyPackage`; INVALID_SHARE if the sum does not fit the commitments, or a share is missing
 */
export function finishDkg(
  input: DkgTranscript & { readonly nodeId: number; readonly sharesByDealer: readonly bigint[] },
): KeyPackage {
  const { curve, totalNodes, nodeId, ownKeys, sharesByDealer } = input;
  const shared = publicKeyPackage(input);
  const place = placeOf(shared, nodeId);
  if (isHeldOutside(ownKeys)) return { ...shared, nodeId, signingShare: 0n };
  const dealers = ownKeys ? 1 : totalNodes;
  if (sharesByDealer.length !== dealers) {
    throw new CryptoError('INVALID_SHARE', `expected the shares of ${dealers} dealers`);
  }
  const group = groupOf(curve);
  let signingShare = 0n;
  for (const share of sharesByDealer) signingShare = (signingShare + share) % group.order;
  if (signingShare <= 0n || !equalBytes(group.baseMultiply(signingShare), shared.verificationShares[place]!)) {
    throw new CryptoError('INVALID_SHARE', 'the sum of the shares does not fit the commitments');
  }
  const { threshold, participants, publicKey, verificationShares, chainCode, groupCommitments } = shared;
  return {
    curve,
    threshold,
    totalNodes,
    participants,
    publicKey,
    verificationShares,
    chainCode,
    groupCommitments,
    nodeId,
    signingShare,
  };
}

function chainCodeOf({ curve, threshold, totalNodes, commitmentsByDealer }: DkgTranscript): Uint8Array {
  return transcriptHash(
    'signmesh/chain-code/v1',
    utf8(curve),
    u32be(threshold),
    u32be(totalNodes),
    ...commitmentsByDealer.flat(),
  );
}

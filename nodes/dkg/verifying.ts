/**
 * The recipient's part: verify dealers' shares, complain about wrong ones, and finish when all have arrived.
 *
 * Invariants
 * - A share is durable here before the node answers `verified`. If the shares of all dealers are there, only their sum is
 *   checked, which is what the node keeps: shares whose faults cancel out harm no party. If it is wrong, each share is checked.
 * - A dealer is real or client-supplied from its first verified share on, always with the same opening.
 * - A complaint about a sealed share reveals this attempt's sealing key, so that the coordinator can evaluate it; the attempt
 *   has ended here before the key leaves, and holds no more secrets.
 * - The node complains only about a box that its dealer signed: a relay that changes boxes learns no sealing key. The signature
 *   serves only as evidence: a share that verifies needs none.
 * - A fault in a client-supplied share changes nothing: the right one can still follow.
 * - A client-supplied dealer proves and signs nothing, so the node accepts one only if its own configuration allows it, and
 *   never for a wallet's key or for the nodes' own keys. A party that supplied all dealers would know the key.
 *
 * Feldman 1987; Pedersen 1991; Komlo and Goldberg 2020 ("FROST"), figure 1, round 2.
 */
import { equalBytes } from '../../core/crypto/bytes.ts';
import {
  type DealerOpening,
  type DkgTerms,
  decodeShare,
  type FinishedDkg,
  finishDigest,
  finishTranscript,
  openingTranscript,
  openSealedShare,
  sessionContext,
  unsealShare,
  verifyOpening,
  verifySealedShare,
} from '../../core/crypto/dkg-transcripts.ts';
import { CryptoError } from '../../core/crypto/errors.ts';
import { sign } from '../../core/crypto/identity.ts';
import { finishDkg, isHeldOutside, type KeyPackage } from '../../core/crypto/key-package.ts';
import { shareFor, verifyShare } from '../../core/crypto/vss.ts';
import type { DkgOpening, DkgVerify, SealedShare } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import { ownCopy } from '../records/messages.ts';
import { type DkgFaultCode, dkgFaults } from './codes.ts';
import { allowsClientDealers, type DkgParty, identityKeyOf, idFault, type PartyOutcome, refused } from './party.ts';
import type { Broken, DealerMark, DealerVerdict, DealingState, Final, Provisional, VerifiedDealer } from './state.ts';
import { marksOf } from './state.ts';

/** One dealer of a request: its opening with the share that came for it, if any. */
interface Exchange {
  readonly opening: DealerOpening;
  readonly sealed: SealedShare | undefined;
  /** The bytes that a client gave. */
  readonly clientSupplied: Uint8Array | undefined;
}

/** The result of one exchange: a verdict, and its addition to the state when it is new. */
interface Examined {
  readonly verdict: DealerVerdict;
  readonly added?: VerifiedDealer;
}

/** DkgVerify in an attempt that is open or done. */
export function verifyShares(
  state: DealingState | Provisional | Final,
  request: DkgVerify,
  party: DkgParty,
): PartyOutcome {
  const supplied = request.clientSupplied.length > 0 || request.dealers.some(({ clientSupplied }) => clientSupplied);
  const { session, ownKeys, refresh } = state.terms;
  if (supplied && (ownKeys || refresh || !allowsClientDealers(party, session))) {
    const ofWallet = party.allowClientDealers ? 'the key is a wallet’s' : 'its configuration does not allow it';
    const ofNodes = ownKeys ? 'every node has a key of its own' : 'every node deals its part of the key';
    const why = ownKeys || refresh ? ofNodes : ofWallet;
    return refused('CLIENT_DEALERS_NOT_ALLOWED', why);
  }
  const exchanges = exchangesOf(state.terms, request, party.nodeId);
  if (typeof exchanges === 'string') return refused('REQUEST_INVALID', exchanges);
  const together = finishTogether(state, exchanges, party);
  if (together !== undefined) return together;
  const examined = exchanges.map((exchange) => examine(state, exchange, party, 'each'));
  const verdicts = examined.map(({ verdict }) => verdict);
  if (state.phase !== 'dealing') return { kind: 'answered', body: answer(party, verdicts, state.finished) };

  if (verdicts.some(({ revealedSealingKey }) => revealedSealingKey.length > 0)) {
    const broken: Broken = { phase: 'broken', terms: state.terms, verdicts };
    return { kind: 'advanced', state: broken, body: answer(party, verdicts, undefined) };
  }
  const added = examined.flatMap((one) => one.added ?? []);
  const dealers = withAdded(state, added);
  if (dealers.length === state.terms.totalNodes) return finish(state, dealers, verdicts, party);
  const body = answer(party, verdicts, undefined);
  return added.length === 0 ? { kind: 'answered', body } : { kind: 'advanced', state: { ...state, dealers }, body };
}

/**
 * The result of an attempt whose last shares these are, by one check of the sum of all shares. undefined: it is none, or something is wrong, and each dealer must be examined.
 */
function finishTogether(
  state: DealingState | Provisional | Final,
  exchanges: readonly Exchange[],
  party: DkgParty,
): PartyOutcome | undefined {
  if (state.phase !== 'dealing' || state.dealers.length + exchanges.length < state.terms.totalNodes) return undefined;
  const examined = exchanges.map((exchange) => examine(state, exchange, party, 'sum'));
  const dealers = withAdded(
    state,
    examined.flatMap((one) => one.added ?? []),
  );
  if (dealers.length !== state.terms.totalNodes || !examined.every(({ verdict }) => verdict.verified)) return undefined;
  const verdicts = examined.map(({ verdict }) => verdict);
  const outcome = finish(state, dealers, verdicts, party);
  return outcome.kind === 'refused' ? undefined : outcome;
}

function withAdded(state: DealingState, added: readonly VerifiedDealer[]): VerifiedDealer[] {
  return [...state.dealers, ...added].sort((a, b) => a.dealer - b.dealer);
}

/** DkgVerify in a broken attempt: the complaint, again. */
export function complainAgain(state: Broken, party: DkgParty): PartyOutcome {
  return { kind: 'answered', body: answer(party, state.verdicts, undefined) };
}

function answer(party: DkgParty, verdicts: readonly DealerVerdict[], finished: FinishedDkg | undefined) {
  const recipient = party.nodeId;
  if (finished === undefined) {
    return { case: 'dkgVerified', value: { recipient, verdicts: [...verdicts] } } as const satisfies WireBodyInit;
  }
  const value = { recipient, verdicts: [...verdicts], finished: wireResult(finished) };
  return { case: 'dkgVerified', value } as const satisfies WireBodyInit;
}

/** The wire's form, whose arrays are mutable. */
export function wireResult(finished: FinishedDkg) {
  const { nodeId, publicKey, chainCode, transcriptDigest, signature } = finished;
  return {
    nodeId,
    publicKey,
    verificationShares: [...finished.verificationShares],
    chainCode,
    transcriptDigest,
    signature,
  };
}

/** The request's exchanges, ascending by dealer, or its fault. A real dealer's own share needs no box. */
function exchangesOf(terms: DkgTerms, request: DkgVerify, nodeId: number): Exchange[] | string {
  const { dealers, sealed, clientSupplied } = request;
  const ids = (list: readonly { readonly dealer: number }[]) => list.map(({ dealer }) => dealer);
  const fault =
    idFault('dealer', ids(dealers), terms) ??
    idFault('the dealer of a sealed share', ids(sealed), terms) ??
    idFault('the dealer of a client-supplied share', ids(clientSupplied), terms);
  if (fault !== undefined) return fault;
  if (sealed.some(({ recipient }) => recipient !== nodeId)) return `a sealed share is not for node ${nodeId}`;

  const exchanges = [...dealers]
    .sort((a, b) => a.dealer - b.dealer)
    .map((opening) => ({
      opening: copyOfOpening(opening),
      sealed: sealed.find(({ dealer }) => dealer === opening.dealer),
      clientSupplied: clientSupplied.find(({ dealer }) => dealer === opening.dealer)?.share,
    }));
  if (exchanges.filter((one) => one.sealed).length !== sealed.length) return 'a sealed share lacks its opening';
  if (exchanges.filter((one) => one.clientSupplied).length !== clientSupplied.length)
    return 'a client-supplied share lacks its opening';
  for (const { opening, sealed: box, clientSupplied: share } of exchanges) {
    const complete = opening.clientSupplied
      ? box === undefined && share !== undefined
      : share === undefined && (terms.ownKeys ? box === undefined : box !== undefined || opening.dealer === nodeId);
    if (!complete) return `dealer ${opening.dealer} lacks its one share, client-supplied or sealed as its opening is`;
  }
  return exchanges;
}

function copyOfOpening(opening: DkgOpening): DealerOpening {
  const { dealer, clientSupplied } = opening;
  return {
    dealer,
    commitments: opening.commitments.map(ownCopy),
    // A client-supplied opening has neither, even if the frame held one.
    possession: clientSupplied ? new Uint8Array(0) : ownCopy(opening.possession),
    sealingKey: clientSupplied ? new Uint8Array(0) : ownCopy(opening.sealingKey),
    signature: clientSupplied ? new Uint8Array(0) : ownCopy(opening.signature),
    clientSupplied,
  };
}

/** 'sum': shares are checked in their sum afterwards. */
type Checks = 'each' | 'sum';

function examine(
  state: DealingState | Provisional | Final,
  exchange: Exchange,
  party: DkgParty,
  checks: Checks,
): Examined {
  const { terms } = state;
  const { opening } = exchange;
  const { dealer, clientSupplied } = opening;
  const openingDigest = openingTranscript(sessionContext(terms), opening);
  const mark: DealerMark | undefined = state.dealers.find((known) => known.dealer === dealer);
  const known =
    mark !== undefined && mark.clientSupplied === clientSupplied && equalBytes(mark.openingDigest, openingDigest);
  if (known && !clientSupplied) return { verdict: verified(dealer) };
  if (!known) {
    // The signature comes first: an opening without it is no evidence about the dealer.
    const fault = isOwnOpening(state, opening, openingDigest, party)
      ? undefined
      : verifyOpening(terms, opening, identityKeyOf(party, dealer));
    if (fault !== undefined) return { verdict: faulty(dealer, fault) };
    if (mark !== undefined) return { verdict: faulty(dealer, 'COMMITMENT_MISMATCH') };
  }

  const found = clientSupplied
    ? clientSuppliedShare(terms, exchange, party)
    : realShare(state, exchange, openingDigest, party, checks);
  if (typeof found === 'object') return { verdict: found };
  if (known) return { verdict: verified(dealer) };
  return { verdict: verified(dealer), added: { dealer, clientSupplied, openingDigest, opening, share: found } };
}

/** This node's own opening, with its own proof: it needs no check. A token's proof is not the node's own. */
function isOwnOpening(
  state: DealingState | Provisional | Final,
  { dealer, signature }: DealerOpening,
  openingDigest: Uint8Array,
  party: DkgParty,
): boolean {
  const { terms } = state;
  if (state.phase !== 'dealing' || dealer !== party.nodeId || isHeldOutside(terms.ownKeys)) return false;
  const { opening } = state.dealing;
  return (
    equalBytes(opening.signature, signature) &&
    equalBytes(openingTranscript(sessionContext(terms), opening), openingDigest)
  );
}

function clientSuppliedShare(
  terms: DkgTerms,
  { opening, clientSupplied }: Exchange,
  party: DkgParty,
): bigint | DealerVerdict {
  const share = decodeShare(terms.curve, clientSupplied!);
  const right = share !== undefined && verifyShare(terms.curve, share, party.nodeId, opening.commitments);
  return right ? share : faulty(opening.dealer, 'SHARE_INVALID');
}

/** Of a real dealer that is new here, so that the attempt is still dealing. */
function realShare(
  state: DealingState | Provisional | Final,
  { opening, sealed }: Exchange,
  openingDigest: Uint8Array,
  party: DkgParty,
  checks: Checks,
): bigint | undefined | DealerVerdict {
  if (state.phase !== 'dealing') throw new Error('an attempt that has finished knows all its dealers');
  const { terms, dealing } = state;
  if (opening.dealer === party.nodeId) {
    // This node's own share needs no box, only the check that no other opening was shown in its name.
    const own = openingTranscript(sessionContext(terms), dealing.opening);
    if (!equalBytes(own, openingDigest)) return faulty(opening.dealer, 'COMMITMENT_MISMATCH');
    return isHeldOutside(terms.ownKeys) ? undefined : shareFor(terms.curve, dealing.polynomial, party.nodeId);
  }
  // Its opening proves possession of its key: nothing else needs verification.
  if (terms.ownKeys) return undefined;
  const { sealingSeed } = dealing;
  const recipient = { publicKey: dealing.opening.sealingKey, secretKey: sealingSeed };
  const boxed = { terms, sealed: sealed!, recipient };
  const opened =
    checks === 'sum' ? unsealShare(boxed) : openSealedShare({ ...boxed, commitments: opening.commitments });
  // A share that verifies is the share that the dealer committed to, even if another process sealed it. Its signature is
  // evidence for a complaint alone, and is checked only then.
  if (opened.kind === 'share') return opened.share;
  if (!verifySealedShare(terms, sealed!, identityKeyOf(party, opening.dealer))) {
    return faulty(opening.dealer, 'SHARE_UNSIGNED');
  }
  return faulty(opening.dealer, opened.code, sealingSeed);
}

function verified(dealer: number): DealerVerdict {
  return { dealer, verified: true, code: '', message: '', revealedSealingKey: new Uint8Array(0) };
}

function faulty(dealer: number, code: DkgFaultCode, revealedSealingKey: Uint8Array = new Uint8Array(0)): DealerVerdict {
  return { dealer, verified: false, code, message: `dealer ${dealer}: ${dkgFaults[code]}`, revealedSealingKey };
}

/** All shares have arrived: the key package, provisional until the echo, and the signed result. */
function finish(
  state: DealingState,
  dealers: readonly VerifiedDealer[],
  verdicts: readonly DealerVerdict[],
  party: DkgParty,
): PartyOutcome {
  const { terms, dealing } = state;
  let keyPackage: KeyPackage;
  try {
    keyPackage = finishDkg({
      curve: terms.curve,
      threshold: terms.threshold,
      totalNodes: terms.totalNodes,
      participants: terms.participants,
      nodeId: party.nodeId,
      ownKeys: terms.ownKeys,
      chainCode: terms.refresh?.chainCode,
      sharesByDealer: dealers.flatMap(({ share }) => share ?? []),
      commitmentsByDealer: dealers.map(({ opening }) => opening.commitments),
    });
  } catch (error) {
    // Client-supplied dealers prove nothing and can choose polynomials that cancel out. Then the node refuses the last shares.
    if (error instanceof CryptoError) return refused('FINISH_FAILED', error.message, error.culprits);
    throw error;
  }
  const { publicKey, verificationShares, chainCode } = keyPackage;
  const openings = dealers.map(({ opening }) => opening);
  const transcriptDigest = finishDigest(sessionContext(terms), { openings, publicKey, verificationShares, chainCode });
  const unsigned = { nodeId: party.nodeId, publicKey, verificationShares, chainCode, transcriptDigest };
  const signature = sign(party.secretKey, finishTranscript(sessionContext(terms), unsigned));
  const finished = { ...unsigned, signature };
  const provisional: Provisional = {
    phase: 'provisional',
    terms,
    dealing,
    dealers: marksOf(dealers),
    keyPackage,
    finished,
  };
  return { kind: 'advanced', state: provisional, body: answer(party, verdicts, finished) };
}

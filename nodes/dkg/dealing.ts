/**
 * The dealer's part: open a session (deal a polynomial, prove possession, sign) and seal shares for recipients. If every node
 * has its own key, that key replaces the polynomial, and the node seals nothing.
 *
 * Invariants
 * - The polynomial, the sealing key and the opening of an attempt are durable before the opening leaves; the same
 *   attempt is never dealt twice.
 * - Sealing the same share for the same signed sealing key gives the same box: the ephemeral key is derived, by HKDF, from a
 *   secret of the attempt and from everything that the box depends on. The node seals only to keys that the recipient signed
 *   for this attempt.
 *
 * Komlo and Goldberg 2020 ("FROST"), figure 1, round 1 and the sending half of round 2.
 */
import { encodeParts, equalBytes, type RandomSource, takeRandom, u32be, utf8 } from '../../core/crypto/bytes.ts';
import {
  type DealerOpening,
  type DkgTerms,
  isSignedOpening,
  openingTranscript,
  sealedShareTranscript,
  sealingAssociatedData,
  sessionContext,
} from '../../core/crypto/dkg-transcripts.ts';
import { CryptoError } from '../../core/crypto/errors.ts';
import { type Curve, groupOf } from '../../core/crypto/group.ts';
import { hkdfSha256 } from '../../core/crypto/hashing.ts';
import { hsmChallenge } from '../../core/crypto/hsm.ts';
import { sign } from '../../core/crypto/identity.ts';
import { isHeldOutside } from '../../core/crypto/key-package.ts';
import { areParticipants, participantsOf } from '../../core/crypto/participants.ts';
import { type Polynomial, polynomialFromSeed, randomPolynomial } from '../../core/crypto/polynomial.ts';
import { provePossession } from '../../core/crypto/possession.ts';
import { seal, sealingKeyPair } from '../../core/crypto/sealing.ts';
import { commitTo, shareFor } from '../../core/crypto/vss.ts';
import type { DkgOpen, DkgSeal } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { bindingAtMaking, fixedSharing, keyBinding, ownKeysOf } from '../../proto/key-schemes.ts';
import { thresholdMin } from '../../proto/limits.ts';
import { hsmAddress, hsmLabel } from '../records/hsm-port.ts';
import { vendorAddress } from '../records/vendor-port.ts';
import { alreadyFinal } from './confirming.ts';
import { type DkgWorld, identityKeyOf, idFault, isReadyMade, type PartyOutcome, refused } from './party.ts';
import { beginRefresh, namesRefresh, type Refreshing } from './refreshing.ts';
import { attemptOf, type Dealing, type DealingState, type DkgState, type Provisional } from './state.ts';

/** The names in a request's frame. */
export interface AttemptName {
  readonly tenant: string;
  readonly session: string;
  readonly attempt: number;
}

/** DkgOpen: answers the stored opening, or deals. The attempt is not a stale one. */
export function open(state: DkgState, name: AttemptName, request: DkgOpen, world: DkgWorld): PartyOutcome {
  const { party } = world;
  const { curve, threshold, totalNodes } = request;
  const participants = participantsOf({
    totalNodes: Math.min(totalNodes, party.identityKeys.length),
    participants: request.participants.length > 0 ? request.participants : undefined,
  });
  if (!isCurve(curve)) return refused('REQUEST_INVALID', 'the curve is none of secp256k1 and ed25519');
  const scheme = keyBinding(request.scheme);
  if (scheme === undefined || bindingAtMaking(curve, scheme) === undefined) {
    return refused('REQUEST_INVALID', `the scheme is none for a key on ${curve}`);
  }
  const fixed = fixedSharing(scheme);
  if (fixed && (threshold !== fixed.threshold || totalNodes !== fixed.totalNodes)) {
    return refused('REQUEST_INVALID', 'a token’s key has one node');
  }
  if (
    threshold < (fixed?.threshold ?? thresholdMin) ||
    threshold > totalNodes ||
    totalNodes > party.identityKeys.length
  ) {
    return refused('REQUEST_INVALID', `no ${threshold} of ${totalNodes} among ${party.identityKeys.length} nodes`);
  }
  if (!areParticipants(participants, totalNodes, party.identityKeys.length)) {
    return refused('REQUEST_INVALID', `the participants are not ${totalNodes} nodes of the cluster, ascending`);
  }
  if (!participants.includes(party.nodeId)) {
    return refused('REQUEST_INVALID', `node ${party.nodeId} is outside the session`);
  }
  if (!namesRefresh(name.session, request)) {
    return refused('REQUEST_INVALID', 'the session is not named after the key and the version of its new shares');
  }
  if (state.phase === 'final' && name.attempt !== attemptOf(state)) return alreadyFinal(state);
  if (name.attempt > attemptOf(state)) {
    const { tenant, session, attempt } = name;
    const { rosterDigest } = party;
    const ownKeys = ownKeysOf(scheme);
    const terms = {
      tenant,
      session,
      attempt,
      rosterDigest,
      curve,
      threshold,
      totalNodes,
      participants,
      scheme,
      ownKeys,
    };
    if (request.refresh !== undefined) {
      const begun = beginRefresh(state, terms, request, world);
      return begun.kind === 'refreshing' ? deal(begun.terms, world, begun) : begun;
    }
    const changed =
      'terms' in state && state.terms && isReadyMade(party, tenant, session) && changedTerms(state.terms, terms);
    return changed
      ? refused('PARAMETERS_CHANGED', `a ready-made key has one polynomial: ${changed}`)
      : deal(terms, world);
  }

  switch (state.phase) {
    case 'unopened':
      throw new Error('an attempt is never below the first');
    case 'discarded':
      return refused('ATTEMPT_DISCARDED');
    case 'broken':
      return refused('ATTEMPT_BROKEN');
    case 'dealing':
    case 'provisional':
    case 'final': {
      const { terms } = state;
      const changed = changedTerms(terms, { ...terms, curve, threshold, participants, scheme });
      if (changed) return refused('PARAMETERS_CHANGED', changed);
      return opened(state.phase === 'final' ? state.opening : state.dealing.opening);
    }
  }
}

/** What the terms were, if others follow; undefined: they are the same. */
function changedTerms(was: DkgTerms, now: DkgTerms): string | undefined {
  const known = participantsOf(was);
  const others = participantsOf(now);
  const same = known.length === others.length && known.every((id, index) => id === others[index]);
  const sameRoster = equalBytes(was.rosterDigest, now.rosterDigest);
  const sameKind = was.curve === now.curve && (was.scheme ?? '') === (now.scheme ?? '');
  if (same && sameRoster && sameKind && was.threshold === now.threshold) return undefined;
  const bound = was.scheme ? ` for ${was.scheme}` : '';
  const roster = sameRoster ? '' : ', of another roster';
  return `it was ${was.threshold} of ${was.totalNodes} on ${was.curve}${bound}, nodes ${known.join(', ')}${roster}`;
}

function isCurve(curve: string): curve is Curve {
  return curve === 'secp256k1' || curve === 'ed25519';
}

function opened(opening: DealerOpening): PartyOutcome {
  return { kind: 'answered', body: { case: 'dkgOpened', value: { opening: wireOpening(opening) } } };
}

/** The wire's form, whose arrays are mutable. */
export function wireOpening(opening: DealerOpening) {
  const { dealer, commitments, possession, sealingKey, signature, clientSupplied } = opening;
  return { dealer, commitments: [...commitments], possession, sealingKey, signature, clientSupplied };
}

function deal(terms: DkgTerms, world: DkgWorld, refreshing?: Refreshing): PartyOutcome {
  const { token } = world;
  if (isHeldOutside(terms.ownKeys) && token?.kind !== 'made') return askToken(terms, world);
  const dealing = dealingOf(terms, world, refreshing?.part);
  return {
    kind: 'advanced',
    state: { phase: 'dealing', terms, dealing, dealers: [] },
    body: { case: 'dkgOpened', value: { opening: wireOpening(dealing.opening) } },
    ...(refreshing?.binds && { finalKey: refreshing.binds }),
  };
}

/** The key is made in the token, or at the vendor, and stays there. */
function askToken(terms: DkgTerms, { party, token }: DkgWorld): PartyOutcome {
  const { curve, tenant, session } = terms;
  if (token?.kind === 'failed') return refused(token.fault, token.message);
  if (token !== undefined) return refused(terms.ownKeys === 'vendor' ? 'VENDOR_UNAVAILABLE' : 'HSM_FAILED');
  const challenge = hsmChallenge({ curve, context: sessionContext(terms), dealerId: party.nodeId });
  const to = terms.ownKeys === 'vendor' ? vendorAddress : hsmAddress;
  return { kind: 'waits', to, request: { kind: 'make', label: hsmLabel(tenant, session), curve, challenge } };
}

function dealingOf(terms: DkgTerms, { party, random, token }: DkgWorld, part: bigint | undefined): Dealing {
  const { curve } = terms;
  const context = sessionContext(terms);
  const made = token?.kind === 'made' ? token : undefined;
  const drawn = made ? [] : polynomialOf(terms, party, random);
  const polynomial = part === undefined ? drawn : [part, ...drawn.slice(1)];
  const sealingSeed = takeRandom(random, 32);
  const dealer = party.nodeId;
  const commitments = made ? [made.publicKey] : commitTo(curve, polynomial);
  const possession = made
    ? made.signature
    : provePossession({ curve, secret: polynomial[0]!, publicKey: commitments[0]!, context, dealerId: dealer, random });
  const sealingKey = sealingKeyPair(sealingSeed).publicKey;
  const clientSupplied = false;
  const signature = sign(
    party.secretKey,
    openingTranscript(context, { dealer, commitments, possession, sealingKey, clientSupplied }),
  );
  const opening = { dealer, commitments, possession, sealingKey, signature, clientSupplied };
  return { polynomial, sealingSeed, boxSeed: takeRandom(random, 32), opening };
}

function polynomialOf(terms: DkgTerms, party: DkgWorld['party'], random: RandomSource): Polynomial {
  const { curve, threshold, tenant, session, ownKeys } = terms;
  // Only the constant term: this node's own key, which it deals to no other node.
  if (ownKeys) return [groupOf(curve).randomScalar(random)];
  return party.sandbox && isReadyMade(party, tenant, session)
    ? polynomialFromSeed(curve, threshold, party.sandbox.seed, party.nodeId, session)
    : randomPolynomial(curve, threshold, random);
}

/** DkgSeal: this dealer's shares, sealed for the recipients and signed, ascending by recipient. */
export function sealShares(state: DealingState | Provisional, request: DkgSeal, { party }: DkgWorld): PartyOutcome {
  const { terms, dealing } = state;
  const { curve } = terms;
  if (terms.ownKeys) return refused('REQUEST_INVALID', 'the nodes have keys of their own: nothing is shared');
  const recipients = [...request.recipients].sort((a, b) => a.dealer - b.dealer);
  const fault = idFault(
    'recipient',
    recipients.map(({ dealer }) => dealer),
    terms,
  );
  if (fault !== undefined) return refused('REQUEST_INVALID', fault);
  if (recipients.some(({ clientSupplied }) => clientSupplied)) {
    return refused('REQUEST_INVALID', 'a client-supplied opening has no sealing key: send the recipient’s own');
  }

  const context = sessionContext(terms);
  const shares = [];
  for (const recipient of recipients) {
    const { dealer: recipientId, sealingKey } = recipient;
    if (!isSignedOpening(terms, recipient, identityKeyOf(party, recipientId))) {
      // The coordinator may have changed it in transit, so it alone proves no fault.
      return refused('OPENING_INVALID', `node ${recipientId}`);
    }
    const info = encodeParts(utf8('signmesh/dkg/box/v1'), context, u32be(recipientId), sealingKey);
    const box = sealOrUndefined({
      recipientPublicKey: sealingKey,
      plaintext: groupOf(curve).encodeScalar(shareFor(curve, dealing.polynomial, recipientId)),
      associatedData: sealingAssociatedData(context, party.nodeId, recipientId),
      random: (length) => hkdfSha256(dealing.boxSeed, new Uint8Array(0), info, length),
    });
    if (box === undefined) return refused('OPENING_INVALID', `the sealing key of node ${recipientId}`, [recipientId]);
    const dealer = party.nodeId;
    const signature = sign(party.secretKey, sealedShareTranscript(context, { dealer, recipient: recipientId, box }));
    shares.push({ dealer, recipient: recipientId, box, signature });
  }
  return { kind: 'answered', body: { case: 'dkgSealed', value: { shares } } };
}

/** Undefined for a sealing key of small order; its owner signed it and is at fault. */
function sealOrUndefined(input: Parameters<typeof seal>[0]): Uint8Array | undefined {
  try {
    return seal(input);
  } catch (error) {
    if (error instanceof CryptoError) return undefined;
    throw error;
  }
}

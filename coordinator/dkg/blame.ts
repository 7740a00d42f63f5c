/**
 * Finds the node that broke the protocol, by evidence alone. A complaint is no evidence by itself: the coordinator checks the
 * signed messages, and blames the dealer or the complaining node; without proof it blames no node.
 *
 * Only frames from a node's own authenticated link count as messages of that node.
 */

import {
  evaluateComplaint,
  finishDigest,
  sameResult,
  sessionContext,
  verifyFinished,
  verifyOpening,
  verifySealedShare,
} from '../../core/crypto/dkg-transcripts.ts';
import { CryptoError } from '../../core/crypto/errors.ts';
import { publicKeyPackage } from '../../core/crypto/key-package.ts';
import { seal } from '../../core/crypto/sealing.ts';
import type { DkgFinished, DkgOpening, DkgVerdict } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { ReasonCode } from '../../proto/reason-codes.ts';

import { answer } from '../contract/call-answer.ts';
import { advance } from '../contract/record.ts';
import { isOpen } from '../contract/transitions.ts';
import { nodeList } from '../session/message-text.ts';
import type { Persisted } from '../session/turn.ts';
import { discardAttempt, finalizeDkg } from './finalize.ts';
import { nodesAfter } from './replacing.ts';
import { type DkgSessionStep, isClientSupplied, nodeIds, sortedPairs, suppliedOpening, termsOf } from './state.ts';

/** Whether two openings of one dealer are the same bytes. */
export function sameOpening(a: DkgOpening, b: DkgOpening): boolean {
  return Buffer.compare(a.signature, b.signature) === 0 && Buffer.compare(a.sealingKey, b.sealingKey) === 0;
}

/** The fault of an opening that came over its dealer's own link; undefined: it is valid. */
export function openingFault(turn: DkgSessionStep, opening: DkgOpening): string | undefined {
  switch (verifyOpening(termsOf(turn.state.record, turn.config), opening, identityOf(turn, opening.dealer))) {
    case undefined:
      return isUsableSealingKey(turn, opening.sealingKey) ? undefined : 'its sealing key is of small order';
    case 'OPENING_INVALID':
      return 'its opening is malformed or not signed by it';
    case 'POSSESSION_INVALID':
      return 'it does not prove possession of its constant term';
    case 'PART_INVALID':
      return 'it does not deal its part of the key';
  }
}

/** An unusable sealing key would stop the dealers, and blame them. */
function isUsableSealingKey(turn: DkgSessionStep, recipientPublicKey: Uint8Array): boolean {
  const none = new Uint8Array(0);
  try {
    seal({ recipientPublicKey, plaintext: none, associatedData: none, random: turn.context.random });
    return true;
  } catch (error) {
    if (error instanceof CryptoError) return false;
    throw error;
  }
}

/** Whether a result that came over a node's own link has that node's valid signature. */
export function isOwnResult(turn: DkgSessionStep, nodeId: number, finished: DkgFinished): boolean {
  return (
    finished.nodeId === nodeId &&
    verifyFinished(termsOf(turn.state.record, turn.config), finished, identityOf(turn, nodeId))
  );
}

/**
 * The culprit when a recipient refuses a real dealer's share; undefined: nothing is provable. The coordinator has checked all
 * openings, so a recipient that complains about one is wrong.
 */
export function evaluateVerdict(turn: DkgSessionStep, recipient: number, verdict: DkgVerdict): number | undefined {
  const { record, work } = turn.state;
  const { dealer } = verdict;
  const dealerOpening = work.openings.get(dealer);
  const recipientOpening = work.openings.get(recipient);
  // This actor cannot evaluate messages that it did not relay to the recipient itself.
  const unshown = work.sawAll && !work.offered.has(dealer) ? recipient : undefined;
  if (!dealerOpening || !recipientOpening) return unshown;
  const terms = termsOf(record, turn.config);
  const sealed = work.boxes.get(dealer)?.get(recipient);
  const dealerIdentityKey = identityOf(turn, dealer);
  switch (verdict.code) {
    case 'OPENING_INVALID':
    case 'POSSESSION_INVALID':
    case 'PART_INVALID':
      return recipient;
    case 'SHARE_UNSIGNED':
      if (!sealed) return unshown;
      return verifySealedShare(terms, sealed, dealerIdentityKey) ? recipient : dealer;
    case 'BOX_BROKEN':
    case 'SHARE_INVALID': {
      if (!sealed) return unshown;
      const { revealedSealingKey } = verdict;
      const evaluated = { terms, dealerOpening, recipientOpening, sealed, revealedSealingKey, dealerIdentityKey };
      return evaluateComplaint(evaluated);
    }
    default:
      // COMMITMENT_MISMATCH: it got only one opening of this dealer.
      return unshown;
  }
}

/** Nodes whose result does not follow from the openings that they got. Empty: none, or those openings are unknown. */
export function falseResults(turn: DkgSessionStep): number[] {
  const { record, work } = turn.state;
  if (!work.sawAll || [...work.offered].some((dealer) => !isClientSupplied(record, dealer))) return [];
  const { curve, threshold, totalNodes, participants, played } = record.ceremony;
  const terms = termsOf(record, turn.config);
  const { ownKeys } = terms;
  const openings = nodeIds(record).map((dealer) => {
    const commitments = played[dealer]?.map((point) => Buffer.from(point, 'hex'));
    if (commitments) return suppliedOpening(dealer, commitments);
    return work.openings.get(dealer);
  });
  if (openings.some((opening) => opening === undefined)) return [];
  const complete = openings.map((opening) => opening!);
  const commitmentsByDealer = complete.map((opening) => opening.commitments);
  const chainCode = terms.refresh?.chainCode;
  const sharing = { curve, threshold, totalNodes, participants, ownKeys };
  const expected = publicKeyPackage({ ...sharing, chainCode, commitmentsByDealer });
  const transcriptDigest = finishDigest(sessionContext(terms), { openings: complete, ...expected });
  return [...work.finished]
    .filter(
      ([nodeId, result]) => !sameResult(result, { ...expected, nodeId, transcriptDigest, signature: result.signature }),
    )
    .map(([nodeId]) => nodeId)
    .sort((a, b) => a - b);
}

/**
 * Ends this attempt: nodes discard its shares and packages, and a resume begins the next one. Once the coordinator has asked
 * nodes to confirm, some node may have made its key final: then the attempt stays, and a resume asks the others again.
 * `stalledBy`: nodes that stopped it, without evidence against them.
 */
export function failAttempt(
  turn: DkgSessionStep,
  culprits: readonly number[],
  detail: string,
  stalledBy: readonly number[] = [],
  unprovenReason: ReasonCode = stalledBy.length > 0 ? 'NODE_REFUSED' : 'TRANSCRIPT_MISMATCH',
): Persisted | undefined {
  const { record, work } = turn.state;
  if (!isOpen(record.state)) return undefined;
  const stalled = [...new Set(stalledBy)].sort((a, b) => a - b);
  const reason = culprits.length > 0 ? 'DEALER_MISBEHAVED' : unprovenReason;
  const why = culprits.length > 0 ? `${nodeList(culprits)} broke the protocol: ${detail}` : detail;
  const failedWith = (text: string) => ({ ...answer(reason, text), state: ReceiptState.BACKEND_FAILED as const });
  if (record.ceremony.mayBeFinal) {
    const failed = failedWith(why);
    const kept = { verified: sortedPairs(work.verified), culprits, stalledBy: stalled };
    return finalizeDkg(turn, advance(record, failed, turn.context, kept), { culprits });
  }
  const { attempt } = record.ceremony;
  const next = nodesAfter(turn, [...culprits, ...stalled]);
  const others = next.participants?.some((id) => !nodeIds(record).includes(id));
  const failed = failedWith(others ? `${why}; the next attempt is of ${nodeList(next.participants!)}` : why);
  const changes = {
    attempt: attempt + 1,
    fresh: true,
    played: {},
    verified: [],
    culprits,
    stalledBy: stalled,
    ...next,
  };
  const written = finalizeDkg(turn, advance(record, failed, turn.context, changes), { culprits });
  discardAttempt(turn, record);
  return written;
}

/** Of a node of the session, which is in the roster. */
export function identityOf(turn: DkgSessionStep, nodeId: number): Uint8Array {
  return turn.config.roster.nodes[nodeId - 1]!.publicKey;
}

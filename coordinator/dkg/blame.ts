/**
 * Who broke the protocol, by evidence alone. A complaint never condemns by itself: the coordinator checks what was
 * signed, and finds the dealer or the complainer guilty; where nothing is provable, nobody is.
 *
 * Only frames that came over a node's own authenticated link count as that node's word.
 */

import {
  finishDigest,
  judgeComplaint,
  sameResult,
  sessionContext,
  verifyOpening,
  verifySealedShare,
} from '../../crypto/dkg-transcripts.ts';
import { publicKeyPackage } from '../../crypto/key-package.ts';
import type { DkgVerdict } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { ReasonCode } from '../../proto/reason-codes.ts';
import { nodeDkgAddress, wire } from '../messages.ts';
import { answer } from '../session/receipts.ts';
import { advance } from '../session/record.ts';
import { isOpen } from '../session/transitions.ts';
import { nodeList } from '../session/wording.ts';
import { concludeDkg } from './round.ts';
import { type DkgTurn, dkgEvent, nodeIds, pair, termsOf } from './state.ts';

/** The one to blame for a real dealer's share that a recipient refuses; undefined: nothing is provable. */
export function judgeVerdict(turn: DkgTurn, recipient: number, verdict: DkgVerdict): number | undefined {
  const { record, work } = turn.state;
  const { dealer } = verdict;
  const terms = termsOf(record, turn.config);
  const dealerOpening = work.openings.get(dealer);
  const recipientOpening = work.openings.get(recipient);
  const dealerKey = identityOf(turn, dealer);
  if (!dealerOpening || !recipientOpening || !dealerKey) return undefined;
  if (verifyOpening(terms, dealerOpening, dealerKey)) return dealer;
  const sealed = work.boxes.get(pair(dealer, recipient));
  switch (verdict.code) {
    case 'OPENING_INVALID':
    case 'POSSESSION_INVALID':
      // It is valid, as was just seen.
      return recipient;
    case 'SHARE_UNSIGNED':
      if (!sealed) return undefined;
      return verifySealedShare(terms, sealed, dealerKey) ? recipient : dealer;
    case 'BOX_BROKEN':
    case 'SHARE_INVALID':
      if (!sealed) return undefined;
      return judgeComplaint({
        terms,
        dealerOpening,
        recipientOpening,
        sealed,
        revealedSealingKey: verdict.revealedSealingKey,
        dealerIdentityKey: dealerKey,
      });
    default:
      return undefined;
  }
}

/** Nodes whose result is not what the openings give. Empty: all are equal to it, or it cannot be computed here. */
export function falseResults(turn: DkgTurn): number[] {
  const { record, work } = turn.state;
  const { curve, threshold, totalNodes, played } = record.ceremony;
  const terms = termsOf(record, turn.config);
  const openings = nodeIds(record).map((dealer) => {
    const commitments = played[dealer]?.map((point) => Buffer.from(point, 'hex'));
    const none = new Uint8Array();
    if (commitments) return { dealer, commitments, possession: none, sealingKey: none, signature: none, played: true };
    return work.openings.get(dealer);
  });
  if (openings.some((opening) => opening === undefined)) return [];
  const complete = openings.map((opening) => opening!);
  const commitmentsByDealer = complete.map((opening) => opening.commitments);
  const expected = publicKeyPackage({ curve, threshold, totalNodes, commitmentsByDealer });
  const transcriptDigest = finishDigest(sessionContext(terms), { openings: complete, ...expected });
  return [...work.finished]
    .filter(
      ([nodeId, result]) => !sameResult(result, { ...expected, nodeId, transcriptDigest, signature: result.signature }),
    )
    .map(([nodeId]) => nodeId)
    .sort((a, b) => a - b);
}

/** Whether two signed openings of one dealer exist for one attempt. */
export function isEquivocation(turn: DkgTurn, dealer: number, second: Parameters<typeof verifyOpening>[1]): boolean {
  const first = turn.state.work.openings.get(dealer);
  const key = identityOf(turn, dealer);
  const terms = termsOf(turn.state.record, turn.config);
  if (!first || !key) return false;
  return (
    verifyOpening(terms, first, key) !== 'OPENING_INVALID' && verifyOpening(terms, second, key) !== 'OPENING_INVALID'
  );
}

/** This attempt is over: its shares and packages are discarded everywhere; a resume begins the next one. */
export function failAttempt(turn: DkgTurn, culprits: readonly number[], detail: string): void {
  const { record } = turn.state;
  if (turn.persisted || !isOpen(record.state)) return;
  const reason: ReasonCode = culprits.length > 0 ? 'DEALER_MISBEHAVED' : 'TRANSCRIPT_MISMATCH';
  const text = culprits.length > 0 ? `${nodeList(culprits)} broke the protocol: ${detail}` : detail;
  const { attempt } = record.ceremony;
  const failed = { ...answer(reason, text), state: ReceiptState.BACKEND_FAILED as const };
  concludeDkg(turn, advance(record, failed, turn.context, { attempt: attempt + 1, played: {}, verified: [] }));
  if (culprits.length > 0) turn.effects.push(dkgEvent(turn.state.record, culprits));
  const { tenant, sessionId } = record;
  for (const id of nodeIds(record)) {
    turn.effects.push({
      kind: 'send',
      to: nodeDkgAddress(id, tenant, sessionId),
      message: wire({ tenant, session: sessionId, attempt }, { case: 'dkgDiscard', value: {} }),
    });
  }
}

function identityOf(turn: DkgTurn, nodeId: number): Uint8Array | undefined {
  return turn.config.roster.nodes.find((node) => node.id === nodeId)?.publicKey;
}

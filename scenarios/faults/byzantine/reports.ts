/** A recipient that lies: about a dealer's share, about the key, or about the openings that it got. */
import { finishDigest, finishTranscript, sessionContext } from '../../../core/crypto/dkg-transcripts.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import { sign } from '../../../core/crypto/identity.ts';
import type { DkgFinished, DkgVerdict, DkgVerified } from '../../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { WireBody } from '../../../proto/wire.ts';
import { type Dealer, rememberedLie } from './dealing.ts';

/** A complaint if there is a dealer to blame; otherwise another key in the result. Undefined: neither exists. */
export function falseReport(liar: Dealer, said: DkgVerified, about: number | undefined): WireBody | undefined {
  const others = said.verdicts.filter(({ dealer, verified }) => verified && dealer !== liar.nodeId);
  const dealer = about ?? Math.min(...others.map((verdict) => verdict.dealer));
  if (others.some((verdict) => verdict.dealer === dealer)) {
    const verdicts = said.verdicts.map((verdict) => (verdict.dealer === dealer ? complaint(verdict) : verdict));
    const { finished: _, ...rest } = said;
    return { case: 'dkgVerified', value: { ...rest, verdicts } };
  }
  const { finished } = said;
  if (finished === undefined) return undefined;
  const { generator, add } = groupOf(liar.terms.curve);
  // If the nodes share no key, their results contain none.
  const publicKey = finished.publicKey.length === 0 ? generator : add(finished.publicKey, generator);
  const value = { ...said, finished: signedResult(liar, { ...finished, publicKey } as DkgFinished, []) };
  return { case: 'dkgVerified', value };
}

/** It cannot reveal the key that opens the box, which would prove an honest share. */
function complaint(verdict: DkgVerdict): DkgVerdict {
  const { dealer } = verdict;
  const message = `dealer ${dealer}: the share does not verify against its dealer’s commitments`;
  return { ...verdict, verified: false, code: 'SHARE_INVALID', message, revealedSealingKey: new Uint8Array(32) };
}

/** Its result over a transcript with its other opening. Undefined before it has finished. */
export function equivocalResult(dealer: Dealer, said: DkgVerified): WireBody | undefined {
  const { finished } = said;
  const opening = dealer.attempt.openings.get(dealer.nodeId);
  if (finished === undefined || opening === undefined) return undefined;
  const other = rememberedLie(dealer, 'other', opening);
  return { case: 'dkgVerified', value: { ...said, finished: signedResult(dealer, finished, [other]) } };
}

/** `instead`: openings instead of the received ones. */
function signedResult(
  { terms, attempt, nodeId, secretKey }: Dealer,
  finished: DkgFinished,
  instead: readonly ReturnType<typeof rememberedLie>[],
): DkgFinished {
  const openings = new Map(attempt.openings);
  for (const opening of instead) openings.set(opening.dealer, opening);
  const context = sessionContext(terms);
  const digest = finishDigest(context, { ...finished, openings: [...openings.values()] });
  const result = { ...finished, nodeId, transcriptDigest: Uint8Array.from(digest) };
  return { ...result, signature: Uint8Array.from(sign(secretKey, finishTranscript(context, result))) };
}

/** A dealer that lies: openings and sealed shares, signed as the dealer signs. */
import { concatBytes, type RandomBytes } from '../../crypto/bytes.ts';
import {
  type DealerOpening,
  type DkgTerms,
  openingTranscript,
  sealedShareTranscript,
  sealingAssociatedData,
  sessionContext,
} from '../../crypto/dkg-transcripts.ts';
import { CryptoError } from '../../crypto/errors.ts';
import { groupOf } from '../../crypto/group.ts';
import { sign } from '../../crypto/identity.ts';
import { seal } from '../../crypto/sealing.ts';
import type { DkgOpened, DkgSealed } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { WireBody } from '../../proto/wire.ts';
import type { AttemptMemory } from './memory.ts';

/** A node that lies in one attempt of a DKG. `secretKey`: its Ed25519 identity's, secret. */
export interface Dealer {
  readonly nodeId: number;
  readonly terms: DkgTerms;
  readonly attempt: AttemptMemory;
  readonly secretKey: Uint8Array;
  readonly random: RandomBytes;
}

/** An opening with one thing changed, the same whenever it is asked for in this attempt. */
export function falseOpening(
  dealer: Dealer,
  lie: 'bad_commitment' | 'bad_proof',
  { opening, ...rest }: DkgOpened,
): WireBody | undefined {
  if (opening === undefined) return undefined;
  const told = rememberedLie(dealer, lie, opening);
  return { case: 'dkgOpened', value: { ...rest, opening: told } } as WireBody;
}

export function rememberedLie(dealer: Dealer, lie: 'bad_commitment' | 'bad_proof', opening: DealerOpening) {
  const { attempt, terms, nodeId } = dealer;
  const key = `${lie} ${nodeId}`;
  const known = attempt.falseOpenings.get(key);
  if (known !== undefined) return known;
  const changes = lie === 'bad_proof' ? otherProof(dealer, opening) : otherPolynomial(dealer, opening);
  const unsigned = { ...opening, ...changes };
  const told = { ...unsigned, signature: sign(dealer.secretKey, openingTranscript(sessionContext(terms), unsigned)) };
  attempt.falseOpenings.set(key, told);
  return told;
}

/** The last coefficient is another; the constant term, and so the proof of possession, stays. */
function otherPolynomial({ terms, random }: Dealer, { commitments }: DealerOpening): Partial<DealerOpening> {
  const group = groupOf(terms.curve);
  return { commitments: [...commitments.slice(0, -1), group.baseMultiply(group.randomScalar(random))] };
}

function otherProof({ terms, random }: Dealer, { possession }: DealerOpening): Partial<DealerOpening> {
  const group = groupOf(terms.curve);
  const response = group.encodeScalar(group.randomScalar(random));
  return { possession: concatBytes(possession.subarray(0, group.pointBytes), response) };
}

/** Random shares in place of the dealt ones, for some recipients or all. Undefined when none could be sealed. */
export function wrongShares(dealer: Dealer, sealed: DkgSealed, recipients?: readonly number[]): WireBody | undefined {
  const { terms, nodeId, secretKey } = dealer;
  let lies = 0;
  const shares = sealed.shares.map((share) => {
    const { recipient } = share;
    if (recipients?.includes(recipient) === false) return share;
    const box = wrongBox(dealer, recipient);
    if (box === undefined) return share;
    lies += 1;
    const unsigned = { dealer: nodeId, recipient, box };
    const signature = sign(secretKey, sealedShareTranscript(sessionContext(terms), unsigned));
    return { ...share, ...unsigned, signature };
  });
  return lies === 0 ? undefined : ({ case: 'dkgSealed', value: { ...sealed, shares } } as WireBody);
}

function wrongBox({ terms, nodeId, attempt, random }: Dealer, recipient: number): Uint8Array | undefined {
  const recipientPublicKey = attempt.openings.get(recipient)?.sealingKey;
  if (recipientPublicKey === undefined) return undefined;
  const group = groupOf(terms.curve);
  const plaintext = group.encodeScalar(group.randomScalar(random));
  const associatedData = sealingAssociatedData(sessionContext(terms), nodeId, recipient);
  try {
    return seal({ recipientPublicKey, plaintext, associatedData, random });
  } catch (error) {
    // Nothing can be sealed to this key, right or wrong.
    if (error instanceof CryptoError) return undefined;
    throw error;
  }
}

/** A byzantine dealer: false openings and sealed shares, with the dealer's signature. */
import { concatBytes, type RandomSource, takeRandom } from '../../../core/crypto/bytes.ts';
import {
  type DealerOpening,
  type DkgTerms,
  openingTranscript,
  sealedShareTranscript,
  sealingAssociatedData,
  sessionContext,
} from '../../../core/crypto/dkg-transcripts.ts';
import { CryptoError } from '../../../core/crypto/errors.ts';
import { type Curve, groupOf } from '../../../core/crypto/group.ts';
import { sign } from '../../../core/crypto/identity.ts';
import { seal, sealingKeyPair } from '../../../core/crypto/sealing.ts';
import type { DkgOpened, DkgSealed } from '../../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { WireBody } from '../../../proto/wire.ts';
import type { FaultOf } from '../vocabulary/fault.ts';
import type { AttemptMemory } from './memory.ts';

/** Less than a box's ephemeral key. */
const cutBoxBytes = 16;

/** A node that lies in one attempt of a DKG. `secretKey`: its Ed25519 identity's, secret. */
export interface Dealer {
  readonly nodeId: number;
  readonly terms: DkgTerms;
  readonly attempt: AttemptMemory;
  readonly secretKey: Uint8Array;
  readonly random: RandomSource;
}

/** The fault of an opening: its proof of possession, or its commitments as in `bad_commitment`. */
export type OpeningLie = 'proof' | NonNullable<FaultOf<'bad_commitment'>['how']>;

/** An opening with one thing changed, the same for every request in this attempt. */
export function falseOpening(dealer: Dealer, lie: OpeningLie, { opening, ...rest }: DkgOpened): WireBody | undefined {
  if (opening === undefined) return undefined;
  const shown = rememberedLie(dealer, lie, opening);
  return { case: 'dkgOpened', value: { ...rest, opening: shown } } as WireBody;
}

export function rememberedLie(dealer: Dealer, lie: OpeningLie, opening: DealerOpening) {
  const { attempt, terms, nodeId } = dealer;
  const key = `${lie} ${nodeId}`;
  const known = attempt.falseOpenings.get(key);
  if (known !== undefined) return known;
  const changes = lie === 'proof' ? otherProof(dealer, opening) : otherCommitments(dealer, lie, opening);
  const unsigned = { ...opening, ...changes };
  const falseOpening = {
    ...unsigned,
    signature: sign(dealer.secretKey, openingTranscript(sessionContext(terms), unsigned)),
  };
  attempt.falseOpenings.set(key, falseOpening);
  return falseOpening;
}

function otherCommitments(
  { terms, random }: Dealer,
  how: Exclude<OpeningLie, 'proof'>,
  { commitments }: DealerOpening,
): Partial<DealerOpening> {
  const group = groupOf(terms.curve);
  const fewer = commitments.slice(0, -1);
  switch (how) {
    case 'other':
      // The constant term, and so the proof of possession, stays.
      return { commitments: [...fewer, group.baseMultiply(group.randomScalar(random))] };
    case 'too_few':
      return { commitments: fewer };
    case 'too_many':
      return { commitments: [...commitments, group.baseMultiply(group.randomScalar(random))] };
    case 'malformed':
      // Another lie may have left none.
      return { commitments: [...fewer, commitments.at(-1)?.slice(1) ?? new Uint8Array()] };
    case 'identity': {
      // A proof for the secret zero: its response is its nonce. So only the check of the point itself can detect it.
      const nonce = group.randomScalar(random);
      const possession = concatBytes(group.baseMultiply(nonce), group.encodeScalar(nonce));
      return { commitments: [identityOf(terms.curve), ...commitments.slice(1)], possession };
    }
  }
}

/** As an unchecked decoder might accept it: (0, 1) on edwards25519, and zeros where SEC 1 has one zero byte. */
function identityOf(curve: Curve): Uint8Array {
  return curve === 'ed25519' ? Uint8Array.of(1, ...new Uint8Array(31)) : new Uint8Array(33);
}

function otherProof({ terms, random }: Dealer, { possession }: DealerOpening): Partial<DealerOpening> {
  const group = groupOf(terms.curve);
  const response = group.encodeScalar(group.randomScalar(random));
  return { possession: concatBytes(possession.subarray(0, group.pointBytes), response) };
}

/** Wrong boxes instead of the dealt ones, for some recipients or all. Undefined if none could be sealed. */
export function wrongShares(
  dealer: Dealer,
  sealed: DkgSealed,
  { for: recipients, how = 'random' }: FaultOf<'bad_share'>,
): WireBody | undefined {
  const { terms, nodeId, secretKey } = dealer;
  let lies = 0;
  const shares = sealed.shares.map((share) => {
    const { recipient } = share;
    if (recipients?.includes(recipient) === false) return share;
    const box = how === 'malformed' ? share.box.slice(0, cutBoxBytes) : wrongBox(dealer, recipient, how);
    if (box === undefined) return share;
    lies += 1;
    const unsigned = { dealer: nodeId, recipient, box };
    const signature = sign(secretKey, sealedShareTranscript(sessionContext(terms), unsigned));
    return { ...share, ...unsigned, signature };
  });
  return lies === 0 ? undefined : ({ case: 'dkgSealed', value: { ...sealed, shares } } as WireBody);
}

function wrongBox(
  { terms, nodeId, attempt, random }: Dealer,
  recipient: number,
  how: 'random' | 'zero' | 'unopenable',
): Uint8Array | undefined {
  const sealingKey = attempt.openings.get(recipient)?.sealingKey;
  if (sealingKey === undefined) return undefined;
  const group = groupOf(terms.curve);
  const plaintext = how === 'zero' ? new Uint8Array(32) : group.encodeScalar(group.randomScalar(random));
  const recipientPublicKey = how === 'unopenable' ? sealingKeyPair(takeRandom(random, 32)).publicKey : sealingKey;
  const associatedData = sealingAssociatedData(sessionContext(terms), nodeId, recipient);
  try {
    return seal({ recipientPublicKey, plaintext, associatedData, random });
  } catch (error) {
    // No share, valid or invalid, can be sealed to this key.
    if (error instanceof CryptoError) return undefined;
    throw error;
  }
}

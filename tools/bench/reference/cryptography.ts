/**
 * The floor under the service: only its own mathematics, all parties one after the other on this one thread. The service adds
 * processes, messages, sealing, identities' signatures, checks and durable writes.
 */
import { createHash, randomBytes } from 'node:crypto';
import { frostContext, isValidFrostCommitment } from '../../../core/crypto/frost/context.ts';
import { dealFrostNonce, frostAggregate, frostPartial, verifySchnorr } from '../../../core/crypto/frost/frost.ts';
import type { Curve } from '../../../core/crypto/group.ts';
import { finishDkg, type KeyPackage } from '../../../core/crypto/key-package.ts';
import {
  aggregateMockEcdsa,
  combineMockNonces,
  dealMockNonce,
  mockEcdsaPartial,
  verifyEcdsa,
} from '../../../core/crypto/mock-ecdsa.ts';
import { randomPolynomial } from '../../../core/crypto/polynomial.ts';
import { provePossession, verifyPossession } from '../../../core/crypto/possession.ts';
import { commitTo, shareFor, verifyShare } from '../../../core/crypto/vss.ts';
import { type Rate, repeat } from './repeat.ts';

const threshold = 3;
const totalNodes = 5;
const nodeIds = [1, 2, 3, 4, 5];
const suite = 'FROST-ED25519-SHA512-v1';
const possessionContext = createHash('sha256').update('signmesh bench').digest();

export interface CryptographyRates {
  readonly mockEcdsa: Rate;
  readonly frostEd25519: Rate;
  readonly dkg: Readonly<Record<Curve, Rate>>;
}

export function cryptographyRates(forMs: number): CryptographyRates {
  const secp256k1 = makeKey('secp256k1');
  const ed25519 = makeKey('ed25519');
  return {
    mockEcdsa: repeat(() => signEcdsa(secp256k1), forMs),
    frostEd25519: repeat(() => signEd25519(ed25519), forMs),
    dkg: {
      secp256k1: repeat(() => makeKey('secp256k1'), forMs),
      ed25519: repeat(() => makeKey('ed25519'), forMs),
    },
  };
}

/** Polynomials, proofs of possession, every pair's share verified, the key finished by every node. */
export function makeKey(curve: Curve): KeyPackage[] {
  const polynomials = nodeIds.map(() => randomPolynomial(curve, threshold, randomBytes));
  const commitmentsByDealer = polynomials.map((polynomial) => commitTo(curve, polynomial));
  const proofs = polynomials.map(([secret], index) =>
    provePossession({
      curve,
      dealerId: index + 1,
      context: possessionContext,
      secret: secret!,
      publicKey: commitmentsByDealer[index]![0]!,
      random: randomBytes,
    }),
  );
  return nodeIds.map((nodeId) => {
    const sharesByDealer = polynomials.map((polynomial, index) => {
      const share = shareFor(curve, polynomial, nodeId);
      const commitments = commitmentsByDealer[index]!;
      const statement = { curve, dealerId: index + 1, context: possessionContext, publicKey: commitments[0]! };
      if (!verifyPossession({ ...statement, proof: proofs[index]! })) throw new Error('a proof does not hold');
      if (!verifyShare(curve, share, nodeId, commitments)) throw new Error('a share does not verify');
      return share;
    });
    return finishDkg({ curve, threshold, totalNodes, nodeId, commitmentsByDealer, sharesByDealer });
  });
}

/** Only FROST-ed25519: the reference for the service's signatures. */
export function frostRate(forMs: number): Rate {
  const keys = makeKey('ed25519');
  return repeat(() => signEd25519(keys), forMs);
}

function signEcdsa(keys: readonly KeyPackage[]): void {
  const digest = randomBytes(32);
  const quorum = keys.slice(0, threshold);
  const { kInverse, R, r } = combineMockNonces(quorum.map(() => dealMockNonce(randomBytes)));
  const partials = quorum.map(({ nodeId, signingShare }) => ({
    nodeId,
    partial: mockEcdsaPartial({ kInverse, r, digest, signingShare }),
  }));
  const { signature } = aggregateMockEcdsa({ R, r, partials });
  if (!verifyEcdsa({ signature, digest, publicKey: keys[0]!.publicKey })) throw new Error('a signature is wrong');
}

function signEd25519(keys: readonly KeyPackage[]): void {
  const message = randomBytes(32);
  const hedges = { hiding: randomBytes(32), binding: randomBytes(32) };
  const quorum = keys.slice(0, threshold);
  const dealt = quorum.map(() => dealFrostNonce({ suite, random: randomBytes, hedges }));
  const commitments = dealt.map((deal, index) => ({ nodeId: quorum[index]!.nodeId, ...deal.commitments }));
  if (!commitments.every((commitment) => isValidFrostCommitment(suite, commitment))) throw new Error('a bad nonce');
  const round = { suite, groupPublicKey: keys[0]!.publicKey, message, commitments } as const;
  const partials = quorum.map(({ nodeId, signingShare }, index) => ({
    nodeId,
    partial: frostPartial({ ...round, nodeId, signingShare, nonces: dealt[index]!.nonces }),
  }));
  const signature = frostAggregate({ ...round, context: frostContext(round), partials });
  if (!verifySchnorr(suite, signature, message, keys[0]!.publicKey)) throw new Error('a signature is wrong');
}

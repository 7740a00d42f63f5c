/**
 * Byte for byte against @noble/curves: its nonces and partials enter our rounds and the other way about.
 * The library changes the objects that it is given (it zeroes used nonces), so everything is copied first.
 */
import type { FROST } from '@noble/curves/abstract/frost.js';
import { ed25519_FROST } from '@noble/curves/ed25519.js';
import { schnorr_FROST, secp256k1_FROST } from '@noble/curves/secp256k1.js';
import { describe, expect, it } from 'vitest';
import { toHex } from '../../../../core/crypto/bytes.ts';
import { type AnyFrostSuite, ciphersuite } from '../../../../core/crypto/frost/ciphersuite.ts';
import { frostContext } from '../../../../core/crypto/frost/context.ts';
import {
  dealFrostNonce,
  frostAggregate,
  frostPartial,
  verifyFrostPartial,
  verifySchnorr,
} from '../../../../core/crypto/frost/frost.ts';
import { generateKey, seededRandom } from '../support.ts';

const SUITES: readonly [AnyFrostSuite, FROST][] = [
  ['FROST-ED25519-SHA512-v1', ed25519_FROST],
  ['FROST-secp256k1-SHA256-TR-v1', schnorr_FROST],
  ['FROST-secp256k1-SHA256-v1', secp256k1_FROST],
];
const SIGNERS = [1, 3, 4];

describe.each(SUITES)('%s beside @noble/curves', (suite, theirs) => {
  const { group, curve } = ciphersuite(suite);
  const random = seededRandom(`interop ${suite}`);
  const id = (nodeId: number) => theirs.Identifier.fromNumber(nodeId);

  it('makes the same partials and the same signature from the same nonces', () => {
    const signRules = new Set<string>();
    for (let run = 0; run < (suite === 'FROST-secp256k1-SHA256-TR-v1' ? 20 : 2); run++) {
      const keys = generateKey(curve, 3, 4, random);
      const shared = keys[0]!;
      const message = random(32);
      const dealt = SIGNERS.map((nodeId) => ({
        nodeId,
        ...dealFrostNonce({ suite, random, hedges: { hiding: random(32), binding: random(32) } }),
      }));
      const commitments = dealt.map((entry) => ({ nodeId: entry.nodeId, ...entry.commitments }));
      const round = { suite, groupPublicKey: shared.publicKey, message, commitments };
      const partials = dealt.map(({ nodeId, nonces }) => ({
        nodeId,
        partial: frostPartial({ ...round, nodeId, signingShare: keys[nodeId - 1]!.signingShare, nonces }),
      }));
      const signature = frostAggregate({ ...round, partials });

      const publicPackage = () => ({
        signers: { min: 3, max: 4 },
        commitments: shared.groupCommitments.map((point) => point.slice()),
        verifyingShares: Object.fromEntries(
          shared.verificationShares.map((point, index) => [id(index + 1), point.slice()]),
        ),
      });
      const theirCommitments = () =>
        commitments.map(({ nodeId, hiding, binding }) => ({
          identifier: id(nodeId),
          hiding: hiding.slice(),
          binding: binding.slice(),
        }));
      for (const [index, { nodeId, nonces }] of dealt.entries()) {
        const partial = theirs.signShare(
          { identifier: id(nodeId), signingShare: group.encodeScalar(keys[nodeId - 1]!.signingShare) },
          publicPackage(),
          { hiding: group.encodeScalar(nonces.hiding), binding: group.encodeScalar(nonces.binding) },
          theirCommitments(),
          message.slice(),
        );
        expect(toHex(partial)).toBe(toHex(group.encodeScalar(partials[index]!.partial)));
      }
      const shares = Object.fromEntries(
        partials.map(({ nodeId, partial }) => [id(nodeId), group.encodeScalar(partial)]),
      );
      expect(toHex(theirs.aggregate(publicPackage(), theirCommitments(), message.slice(), shares))).toBe(
        toHex(signature),
      );
      expect(theirs.verify(signature.slice(), message.slice(), shared.publicKey.slice())).toBe(true);
      const { negateKey, negateNonces } = frostContext(round);
      signRules.add(`${negateKey} ${negateNonces}`);
    }
    // BIP-340 asks for an even group key and an even R: all four cases must have occurred.
    expect(signRules.size).toBe(suite === 'FROST-secp256k1-SHA256-TR-v1' ? 4 : 1);
  });

  it('uses nonces and partials that @noble/curves made', () => {
    const keys = generateKey(curve, 3, 4, random);
    const shared = keys[0]!;
    const message = random(32);
    const secrets = SIGNERS.map((nodeId) => ({
      identifier: id(nodeId),
      signingShare: group.encodeScalar(keys[nodeId - 1]!.signingShare),
    }));
    const dealt = secrets.map((secret) => theirs.commit(secret, (length = 32) => new Uint8Array(random(length))));
    const commitments = dealt.map((entry, index) => ({
      nodeId: SIGNERS[index]!,
      hiding: entry.commitments.hiding.slice(),
      binding: entry.commitments.binding.slice(),
    }));
    const round = { suite, groupPublicKey: shared.publicKey, message, commitments };
    const partials = secrets.map((secret, index) => {
      const bytes = theirs.signShare(
        secret,
        {
          signers: { min: 3, max: 4 },
          commitments: shared.groupCommitments.map((point) => point.slice()),
          verifyingShares: {},
        },
        { hiding: dealt[index]!.nonces.hiding.slice(), binding: dealt[index]!.nonces.binding.slice() },
        dealt.map((entry) => ({ ...entry.commitments })),
        message.slice(),
      );
      return { nodeId: SIGNERS[index]!, partial: group.decodeScalar(bytes) };
    });
    for (const { nodeId, partial } of partials) {
      const verificationShare = shared.verificationShares[nodeId - 1]!;
      expect(verifyFrostPartial({ ...round, nodeId, partial, verificationShare })).toBe(true);
    }
    const signature = frostAggregate({ ...round, partials });
    expect(verifySchnorr(suite, signature, message, shared.publicKey)).toBe(true);
  });
});

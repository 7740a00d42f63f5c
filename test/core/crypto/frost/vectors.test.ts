/**
 * The test vectors of RFC 9591, appendix E.1 (Ed25519) and E.5 (secp256k1), as the Zcash Foundation's frost repository
 * holds them (frost-ed25519/tests/helpers/vectors.json and frost-secp256k1/tests/helpers/vectors.json).
 */
import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../../../../core/crypto/bytes.ts';
import { type AnyFrostSuite, ciphersuite } from '../../../../core/crypto/frost/ciphersuite.ts';
import { frostContext } from '../../../../core/crypto/frost/context.ts';
import {
  dealFrostNonce,
  frostAggregate,
  frostPartial,
  verifyFrostPartial,
  verifySchnorr,
} from '../../../../core/crypto/frost/frost.ts';
import { evaluate } from '../../../../core/crypto/polynomial.ts';

const message = fromHex('74657374');

interface Vector {
  readonly suite: AnyFrostSuite;
  readonly groupSecret: string;
  readonly groupPublicKey: string;
  readonly coefficient: string;
  readonly signature: string;
  readonly signers: readonly {
    readonly nodeId: number;
    readonly share: string;
    readonly hidingRandomness: string;
    readonly bindingRandomness: string;
    readonly hidingNonce: string;
    readonly bindingNonce: string;
    readonly hiding: string;
    readonly binding: string;
    readonly bindingFactor: string;
    readonly partial: string;
  }[];
}

const VECTORS: readonly Vector[] = [
  {
    suite: 'FROST-ED25519-SHA512-v1',
    groupSecret: '7b1c33d3f5291d85de664833beb1ad469f7fb6025a0ec78b3a790c6e13a98304',
    groupPublicKey: '15d21ccd7ee42959562fc8aa63224c8851fb3ec85a3faf66040d380fb9738673',
    coefficient: '178199860edd8c62f5212ee91eff1295d0d670ab4ed4506866bae57e7030b204',
    signature:
      '154fb694ee7fcb37bf2381d94488c2a84b03b3352ad085feca81ad26d45852b7ecfe971ce4da95c4a95db93ac376b053897fca212ef85f99cf696bffeb178f07',
    signers: [
      {
        nodeId: 1,
        share: '929dcc590407aae7d388761cddb0c0db6f5627aea8e217f4a033f2ec83d93509',
        hidingRandomness: '06894e04ee4aceec8619d5f6a0a180e2f47194d2ac306cba586b555e7c48d765',
        bindingRandomness: '40d6f879ff22e22409f7d808fed81f37118e7d3e4af71c0f44c60207553bcbce',
        hidingNonce: 'ef6599dea4010581a72b3018c37c29a4341d7cab0773e8687ca74dcf14009701',
        bindingNonce: '2baadfa0c69aa60d517ad4751de372a73f9d89cfc39026601f18458cdec12605',
        hiding: '9b116f12589591a7e23fe8048059ab10ab48e67739e7a2fb3890f61a7999478c',
        binding: 'c39b66b7dfccb122da24f13587f9a08c4347cae70046ca15169adf90ba65854d',
        bindingFactor: 'ff960a65374e216a0918729b153466016664fa980d409bc3f308daa7acb30d0d',
        partial: '60997f0142e43e8005027fe5ab7447dac00d22c2d7ddd9571a02613ba7d81c08',
      },
      {
        nodeId: 3,
        share: 'd3cb090a075eb154e82fdb4b3cb507f110040905468bb9c46da8bdea643a9a02',
        hidingRandomness: 'fa5d950626782aade9e33fa781376d4888c2d1de7c37518bc248eb818ed0cdde',
        bindingRandomness: '7459a4d14ded0e365b085271be8dc6600d5b88f3978a2174297ffa32001a5afc',
        hidingNonce: '80f8d9a4b8f9366e1a0b618107c907cd3ee29fa9bb40b4691cc1bde696240005',
        bindingNonce: '2610b664a5a187b4855e87d2ff485bebdf043dc2f161fcd4854cd01dc0276404',
        hiding: 'e679a2a971748ccfaabead4dbe8ac1def61275c186c79d471e1e45091ad1e687',
        binding: 'b2a942478453fabb6bd3181c56ba657413447b4136e1daea2484d396d1a516b3',
        bindingFactor: '279d48ec56f16d234c09ea62f3d02ab776ee38e03f66b20f939f1316e13df10f',
        partial: '79390e78bc59699c7af831f8f5fb478ec871a85f561a8641b5670ac4443f720f',
      },
    ],
  },
  {
    suite: 'FROST-secp256k1-SHA256-v1',
    groupSecret: '0d004150d27c3bf2a42f312683d35fac7394b1e9e318249c1bfe7f0795a83114',
    groupPublicKey: '02f37c34b66ced1fb51c34a90bdae006901f10625cc06c4f64663b0eae87d87b4f',
    coefficient: 'fbf85eadae3058ea14f19148bb72b45e4399c0b16028acaf0395c9b03c823579',
    signature:
      '024c1ad4e031872661fa6ebd05dfc7fb30db08b38d79f0edbc82051ae931381bc6a46881e25c7989d3816eae32074f1ab0d49ee908a59713ed5284c6bade7cfb02',
    signers: [
      {
        nodeId: 1,
        share: '08f89ffe80ac94dcb920c26f3f46140bfc7f95b493f8310f5fc1ea2b01f4254c',
        hidingRandomness: 'bda8e748e599187762cff956f03dc6ea13fc8e04491a0427b7e6e78600f41c52',
        bindingRandomness: '2ca682429bf05df435b9927b8edb1d748278f3e42fa11ef358e49bbf4a1b780d',
        hidingNonce: '09764379667f9a9fa61928947bd925a7f162b21886b750d3b11c226d16b32f58',
        bindingNonce: 'b2d3f8cb9da70984354c3fc3511b1f6ed21b7205941cb5553565d2ecade8c694',
        hiding: '0305e62a1d3f57a0b17ade569a3a4043e2a1fc3bd0b102614a8d8cc68e3322ad89',
        binding: '03b634c2aed7f85b8eec22e97e5f916ab43a3518821480e15da2af7cffcb060a30',
        bindingFactor: '9bee5aef4012de4b94c9fc1a9a9572181079e293bf1d7545a5af0ef86f824a91',
        partial: 'ca54b18d7449377cfa680760a5770b9e64e201f7ea36b068effeca5fce2155e5',
      },
      {
        nodeId: 3,
        share: '00e95d59dd0d46b0e303e500b62b7ccb0e555d49f5b849f5e748c071da8c0dbc',
        hidingRandomness: '70818dd5170672c4a4285fd593d4f222417f941f3118e1244955e7a1098a35d8',
        bindingRandomness: '74ca2da071ed4a2a6cad5087d6758b48a558ab5861c61117fee05757e4b1309e',
        hidingNonce: '0d92e255e5b42ebc2863f8198d946fc10f388c4983073c18cbb77b88e3bf2e34',
        bindingNonce: '1c7243ce00a499b1e7ce3403e7b731d0c820cf108feb8c5ee7c29b4ef43be5e0',
        hiding: '036f878da0dc19ba7da9f2d9e795e2674e62ff06c990fc4464cc1ed55a2acce46b',
        binding: '025350e2a9e32e7b1fe0161e990623600b2d301b3307641469129cff7936c4d2ce',
        bindingFactor: 'cfe0db2197c94cc355b6ab05610f27f4a874898009c8bf007f2a4e2ce2c8306d',
        partial: 'da13d054e83052568706a6d161d80f112a6bc3f76aa903c022585ae7e091e65e',
      },
    ],
  },
];

describe.each(VECTORS)('RFC 9591 vectors of $suite', (vector) => {
  const { suite } = vector;
  const { group, curve } = ciphersuite(suite);
  const scalar = (hex: string) => group.decodeScalar(fromHex(hex));
  const groupPublicKey = fromHex(vector.groupPublicKey);
  const commitments = vector.signers.map(({ nodeId, hiding, binding }) => ({
    nodeId,
    hiding: fromHex(hiding),
    binding: fromHex(binding),
  }));
  const round = { suite, groupPublicKey, message, commitments };

  it('share the group secret as published', () => {
    const polynomial = [scalar(vector.groupSecret), scalar(vector.coefficient)];
    expect(toHex(group.baseMultiply(polynomial[0]!))).toBe(vector.groupPublicKey);
    for (const { nodeId, share } of vector.signers) expect(evaluate(curve, polynomial, nodeId)).toBe(scalar(share));
  });

  it('deal the published nonces from the published randomness, the share standing for the hedge', () => {
    for (const signer of vector.signers) {
      const answers = [fromHex(signer.hidingRandomness), fromHex(signer.bindingRandomness)];
      const dealt = dealFrostNonce({
        suite,
        random: () => answers.shift()!,
        hedges: { hiding: fromHex(signer.share), binding: fromHex(signer.share) },
      });
      expect(dealt.nonces).toEqual({ hiding: scalar(signer.hidingNonce), binding: scalar(signer.bindingNonce) });
      expect(toHex(dealt.commitments.hiding)).toBe(signer.hiding);
      expect(toHex(dealt.commitments.binding)).toBe(signer.binding);
    }
  });

  it('give the published binding factors, partials and signature', () => {
    const context = frostContext(round);
    const partials = vector.signers.map(({ nodeId, share, hidingNonce, bindingNonce, bindingFactor, partial }) => {
      expect(context.bindingFactors.get(nodeId)).toBe(scalar(bindingFactor));
      const nonces = { hiding: scalar(hidingNonce), binding: scalar(bindingNonce) };
      const made = frostPartial({ ...round, nodeId, signingShare: scalar(share), nonces });
      expect(made).toBe(scalar(partial));
      const verificationShare = group.baseMultiply(scalar(share));
      expect(verifyFrostPartial({ ...round, nodeId, verificationShare, partial: made })).toBe(true);
      return { nodeId, partial: made };
    });
    const signature = frostAggregate({ ...round, context, partials });
    expect(toHex(signature)).toBe(vector.signature);
    expect(verifySchnorr(suite, signature, message, groupPublicKey)).toBe(true);
  });
});

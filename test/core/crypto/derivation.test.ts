import { createHmac } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { HDKey } from '@scure/bip32';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { base58, base58Check } from '../../../core/crypto/base58.ts';
import { fromHex, toHex, utf8 } from '../../../core/crypto/bytes.ts';
import { deriveTweak, encodeXpub, parsePath, tweakPoint, tweakShare } from '../../../core/crypto/derivation.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import { CURVES, expectRefusal, generateKey, refusalOf, seededRandom } from './support.ts';

/** Public steps of BIP-32's test vectors 1 and 2 (bitcoin/bips, bip-0032.mediawiki): parent xpub, index, child xpub. */
const PUBLIC_STEPS = [
  [
    'xpub68Gmy5EdvgibQVfPdqkBBCHxA5htiqg55crXYuXoQRKfDBFA1WEjWgP6LHhwBZeNK1VTsfTFUHCdrfp1bgwQ9xv5ski8PX9rL2dZXvgGDnw',
    1,
    'xpub6ASuArnXKPbfEwhqN6e3mwBcDTgzisQN1wXN9BJcM47sSikHjJf3UFHKkNAWbWMiGj7Wf5uMash7SyYq527Hqck2AxYysAA7xmALppuCkwQ',
  ],
  [
    'xpub6ASAVgeehLbnwdqV6UKMHVzgqAG8Gr6riv3Fxxpj8ksbH9ebxaEyBLZ85ySDhKiLDBrQSARLq1uNRts8RuJiHjaDMBU4Zn9h8LZNnBC5y4a',
    1,
    'xpub6DF8uhdarytz3FWdA8TvFSvvAh8dP3283MY7p2V4SeE2wyWmG5mg5EwVvmdMVCQcoNJxGoWaU9DCWh89LojfZ537wTfunKau47EL2dhHKon',
  ],
  [
    'xpub661MyMwAqRbcFW31YEwpkMuc5THy2PSt5bDMsktWQcFF8syAmRUapSCGu8ED9W6oDMSgv6Zz8idoc4a6mr8BDzTJY47LJhkJ8UB7WEGuduB',
    0,
    'xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6r1D3tgFxHmwMkQTPH',
  ],
  [
    'xpub6ERApfZwUNrhLCkDtcHTcxd75RbzS1ed54G1LkBUHQVHQKqhMkhgbmJbZRkrgZw4koxb5JaHWkY4ALHY2grBGRjaDMzQLcgJvLJuZZvRcEL',
    2,
    'xpub6FnCn6nSzZAw5Tw7cgR9bi15UV96gLZhjDstkXXxvCLsUXBGXPdSnLFbdpq8p9HmGsApME5hQTZ3emM2rnY5agb9rXpVGyy3bdW6EEgAtqt',
  ],
] as const;

const indices = fc.array(fc.integer({ min: 0, max: 0x7fffffff }), { maxLength: 4 });

describe('BIP-32 public derivation', () => {
  it.each(PUBLIC_STEPS)('meets the published chain of %s', (parent, index, child) => {
    const { publicKey, chainCode } = HDKey.fromExtendedKey(parent);
    const derived = deriveTweak({ curve: 'secp256k1', publicKey: publicKey!, chainCode: chainCode!, path: [index] });
    const expected = HDKey.fromExtendedKey(child);
    expect(derived.publicKey).toEqual(expected.publicKey);
    expect(derived.chainCode).toEqual(expected.chainCode);
  });

  it('goes from m/0h/1/2h to m/0h/1/2h/2/1000000000 of test vector 1 in one call', () => {
    const parent = HDKey.fromExtendedKey(
      'xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu4trkrX7x7DogT5Uv6fcLW5',
    );
    const leaf = HDKey.fromExtendedKey(
      'xpub6H1LXWLaKsWFhvm6RVpEL9P4KfRZSW7abD2ttkWP3SSQvnyA8FSVqNTEcYFgJS2UaFcxupHiYkro49S8yGasTvXEYBVPamhGW6cFJodrTHy',
    );
    const derived = deriveTweak({
      curve: 'secp256k1',
      publicKey: parent.publicKey!,
      chainCode: parent.chainCode!,
      path: [2, 1000000000],
    });
    expect(derived.publicKey).toEqual(leaf.publicKey);
    expect(derived.chainCode).toEqual(leaf.chainCode);
  });

  it('exports an xpub from which @scure/bip32 derives the same children', () => {
    const [key] = generateKey('secp256k1', 2, 3, seededRandom('xpub'), [1]);
    const root = HDKey.fromExtendedKey(encodeXpub(key!));
    expect([root.depth, root.parentFingerprint, root.index]).toEqual([0, 0, 0]);
    fc.assert(
      fc.property(indices, (path) => {
        const theirs = root.derive(['m', ...path].join('/'));
        const ours = deriveTweak({ ...key!, path });
        expect(toHex(ours.publicKey)).toBe(toHex(theirs.publicKey!));
        expect(toHex(ours.chainCode)).toBe(toHex(theirs.chainCode!));
      }),
      { numRuns: 10 },
    );
    const test = HDKey.fromExtendedKey(encodeXpub({ ...key!, network: 'test' }), {
      private: 0x04358394,
      public: 0x043587cf,
    });
    expect(toHex(test.publicKey!)).toBe(toHex(key!.publicKey));
  });

  it('writes the root of test vector 1 as published', () => {
    const xpub =
      'xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8';
    const { publicKey, chainCode } = HDKey.fromExtendedKey(xpub);
    expect(encodeXpub({ publicKey: publicKey!, chainCode: chainCode! })).toBe(xpub);
  });
});

describe.each(CURVES)('additive derivation on %s', (curve) => {
  const random = seededRandom(`derivation ${curve}`);
  const [key] = generateKey(curve, 2, 3, random, [1]);
  const group = groupOf(curve);

  it('moves shares and verification shares to those of the child key', () => {
    fc.assert(
      fc.property(indices, (path) => {
        const child = deriveTweak({ ...key!, path });
        expect(child.publicKey).toEqual(tweakPoint(curve, key!.publicKey, child.tweak));
        expect(group.baseMultiply(tweakShare(curve, key!.signingShare, child.tweak))).toEqual(
          tweakPoint(curve, key!.verificationShares[0]!, child.tweak),
        );
        expect(group.isValidPoint(child.publicKey)).toBe(true);
        if (path.length === 0)
          expect(child).toMatchObject({ tweak: 0n, publicKey: key!.publicKey, chainCode: key!.chainCode });
      }),
      { numRuns: 15 },
    );
  });

  it('goes the same way in one call as step by step', () => {
    const whole = deriveTweak({ ...key!, path: [4, 0, 9] });
    const first = deriveTweak({ ...key!, path: [4, 0] });
    const second = deriveTweak({ ...first, curve, path: [9] });
    expect(whole).toEqual({ ...second, tweak: (first.tweak + second.tweak) % group.order });
  });

  it('gives siblings, cousins and other chain codes different keys', () => {
    const paths = [[], [0], [1], [0, 0], [0, 1]];
    const seen = paths.map((path) => toHex(deriveTweak({ ...key!, path }).publicKey));
    seen.push(toHex(deriveTweak({ ...key!, chainCode: random(32), path: [0] }).publicKey));
    expect(new Set(seen).size).toBe(6);
  });

  it('refuses parents, chain codes and indices that are none', () => {
    expectRefusal('INVALID_POINT', () => deriveTweak({ ...key!, publicKey: new Uint8Array(33), path: [] }));
    expectRefusal('INVALID_BYTES', () => deriveTweak({ ...key!, chainCode: new Uint8Array(31), path: [] }));
    for (const index of [-1, 0.5, 2 ** 31, Number.NaN]) {
      expectRefusal('INVALID_PATH', () => deriveTweak({ ...key!, path: [index] }));
    }
    expectRefusal('INVALID_PATH', () => deriveTweak({ ...key!, path: new Array(256).fill(0) }));
  });
});

it('derives ed25519 children by the formula of docs/protocol.md', () => {
  const parent = ed25519.Point.BASE.multiply(9n);
  const chainCode = new Uint8Array(32).fill(7);
  const mac = (part: string) =>
    createHmac('sha512', chainCode)
      .update(`signmesh/ed25519-ckd/v1${part}`)
      .update(parent.toBytes())
      .update(Buffer.from('00000005', 'hex'))
      .digest();
  const tweak = BigInt(`0x${mac('\x01').reverse().toString('hex')}`) % ed25519.Point.Fn.ORDER;
  const derived = deriveTweak({ curve: 'ed25519', publicKey: parent.toBytes(), chainCode, path: [5] });
  expect(derived.tweak).toBe(tweak);
  expect(toHex(derived.publicKey)).toBe(parent.add(ed25519.Point.BASE.multiply(tweak)).toHex());
  expect(toHex(derived.chainCode)).toBe(mac('\x02').subarray(0, 32).toString('hex'));
  // Fixed: keys that exist must not move.
  expect(toHex(derived.publicKey)).toBe('e2af98c52b971ae8d61920d4aa9aa0dc9ef0688035b9d7165dc6b573f4eec422');
});

it('has no xpub for an ed25519 key', () => {
  const publicKey = groupOf('ed25519').baseMultiply(9n);
  expectRefusal('INVALID_POINT', () => encodeXpub({ publicKey, chainCode: new Uint8Array(32) }));
  expectRefusal('INVALID_BYTES', () =>
    encodeXpub({ publicKey: groupOf('secp256k1').baseMultiply(9n), chainCode: new Uint8Array(31) }),
  );
});

describe('derivation paths', () => {
  it('split into the account prefix and the rest', () => {
    expect(parsePath('')).toEqual({ hardened: [], normal: [] });
    expect(parsePath('m')).toEqual({ hardened: [], normal: [] });
    expect(parsePath("m/44'/60'/0'/0/5")).toEqual({ hardened: [44, 60, 0], normal: [0, 5] });
    expect(parsePath('0/7')).toEqual({ hardened: [], normal: [0, 7] });
    expect(parsePath("44'/0")).toEqual({ hardened: [44], normal: [0] });
    expect(parsePath('m/84h/1H/0')).toEqual({ hardened: [84, 1], normal: [0] });
    expect(parsePath('m/2147483647')).toEqual({ hardened: [], normal: [2147483647] });
    expect(parsePath(`m${'/1'.repeat(255)}`).normal).toHaveLength(255);
  });

  it('are refused, with the reason, when they cannot be meant', () => {
    const wrong = ['M', 'm/', '/', '/0', 'x/1', '0/', 'm//0', 'm/0/', 'm/-1', 'm/+1', 'm/01', 'm/1 ', 'm/0x1', "m/0''"];
    for (const path of [
      ...wrong,
      'm/x',
      'm/1e3',
      'm/2147483648',
      "m/2147483648'",
      'm/99999999999',
      "m/0/1'",
      `m${'/1'.repeat(256)}`,
    ]) {
      expectRefusal('INVALID_PATH', () => parsePath(path));
    }
    expect(refusalOf(() => parsePath("m/44'/0/1'")).message).toContain('hardened and follows a non-hardened one');
    expect(refusalOf(() => parsePath('m/2147483648')).message).toContain('not below 2^31');
  });

  it('never throw anything but a CryptoError', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^m(\/[0-9]{1,12}['hH]?){0,6}$/)), (path) => {
        try {
          const { hardened, normal } = parsePath(path);
          expect([...hardened, ...normal].every((index) => index < 2 ** 31)).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_PATH' });
        }
      }),
    );
  });
});

describe('base 58', () => {
  // draft-msporny-base58-03, section 5.
  it.each([
    ['Hello World!', '2NEpo7TZRRrLZSi2U'],
    ['The quick brown fox jumps over the lazy dog.', 'USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z'],
  ])('writes %j as published', (text, expected) => {
    expect(base58(utf8(text))).toBe(expected);
  });

  it('keeps leading zeros', () => {
    expect(base58(fromHex('0000287fb4cd'))).toBe('11233QC4');
    expect(base58(new Uint8Array(3))).toBe('111');
    expect(base58(new Uint8Array(0))).toBe('');
  });

  it('adds the checksum of double SHA-256', () => {
    // The address of the genesis block's coinbase: version 0 and the hash of its key.
    expect(base58Check(fromHex('0062e907b15cbf27d5425399ebf6f0fb50ebb88f18'))).toBe(
      '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
    );
  });
});

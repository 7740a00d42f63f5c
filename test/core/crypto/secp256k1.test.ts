/** Both implementations of secp256k1's operations give the same bytes, and throw for the same arguments. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, constantFrom, integer, property, uint8Array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nativeSecp256k1, secp256k1Backend } from '../../../core/crypto/secp256k1.ts';
import { javascriptSecp256k1, type Secp256k1 } from '../../../core/crypto/secp256k1-js.ts';
import { temporaryFolder } from '../../cli/support/temporary.ts';
import { runs } from '../../support/thorough.ts';

const native = nativeSecp256k1();
const order = Buffer.from('fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141', 'hex');
const bytes = (hex: string) => new Uint8Array(Buffer.from(hex.padStart(64, '0'), 'hex'));
const negative = (bytes_: Uint8Array) =>
  bytes((BigInt(`0x${order.toString('hex')}`) - BigInt(`0x${Buffer.from(bytes_).toString('hex')}`)).toString(16));

/** Scalars, among them 0, 1, the order and what is around it. */
const scalars = constantFrom('0', '1', '2', order.toString('hex'), 'f'.repeat(64)).map(bytes);
const anyScalar = integer({ min: 0, max: 3 }).chain((kind) =>
  kind === 0 ? scalars : uint8Array({ minLength: 32, maxLength: 32 }),
);
const secret = uint8Array({ minLength: 32, maxLength: 32 }).filter(
  (key) => key[0]! < 255 && key.some((byte) => byte > 0),
);

describe.runIf(native !== undefined)('libsecp256k1 and JavaScript', () => {
  /** The result, or that it throws: the messages differ. */
  const outcome = (call: () => unknown) => {
    try {
      const result = call();
      return result instanceof Uint8Array ? Buffer.from(result).toString('hex') : result;
    } catch {
      return 'throws';
    }
  };
  const same = (operation: (library: Secp256k1) => unknown) =>
    expect(outcome(() => operation(javascriptSecp256k1))).toEqual(outcome(() => operation(native!)));

  test('agree on points', () => {
    assert(
      property(secret, secret, anyScalar, uint8Array({ minLength: 33, maxLength: 33 }), (one, two, tweak, noise) => {
        const [p, q] = [one, two].map((key) => native!.publicKeyCreate(key)) as [Uint8Array, Uint8Array];
        noise[0] = 2 + (noise[0]! % 2);
        for (const compressed of [true, false]) {
          same((library) => library.publicKeyCreate(tweak, compressed));
          same((library) => library.publicKeyTweakAdd(p, tweak, compressed));
          same((library) => library.publicKeyTweakMul(p, tweak, compressed));
          same((library) => library.publicKeyConvert(noise, compressed));
          same((library) => library.publicKeyCombine([p, q, native!.publicKeyConvert(q, false)], compressed));
        }
        same((library) => library.publicKeyVerify(noise));
        // Sums that are the point at infinity.
        same((library) => library.publicKeyTweakAdd(p, negative(one)));
        same((library) => library.publicKeyCombine([p, native!.publicKeyCreate(negative(one))]));
      }),
      { numRuns: runs(20, 500) },
    );
  });

  test('agree on signatures', () => {
    assert(
      property(
        secret,
        anyScalar,
        uint8Array({ minLength: 32, maxLength: 32 }),
        integer({ min: 0, max: 3 }),
        (key, part, digest, id) => {
          const publicKey = native!.publicKeyCreate(key, false);
          same((library) => library.ecdsaSign(digest, key).recid);
          same((library) => library.ecdsaSign(digest, key).signature);
          const { signature } = native!.ecdsaSign(digest, key);
          const high = new Uint8Array([...signature.subarray(0, 32), ...negative(signature.subarray(32))]);
          const planted = new Uint8Array([...signature.subarray(0, 32), ...part]);
          for (const candidate of [signature, high, planted]) {
            same((library) => outcome(() => library.ecdsaVerify(candidate, digest, publicKey)) === true);
            same((library) => library.ecdsaRecover(candidate, id, digest));
          }
        },
      ),
      { numRuns: runs(20, 500) },
    );
  });
});

describe('the choice of the implementation', () => {
  test('is native where a binary loads', () => {
    expect(secp256k1Backend).toBe(native === undefined ? 'js' : 'native');
  });

  test('is JavaScript for a platform without a binary, and for one whose binary does not load', () => {
    const folder = temporaryFolder();
    expect(nativeSecp256k1(folder)).toBeUndefined();
    mkdirSync(join(folder, 'linux-x64'));
    writeFileSync(join(folder, 'linux-x64', 'secp256k1.glibc.node'), 'no library');
    expect(nativeSecp256k1(folder)).toBeUndefined();
  });
});

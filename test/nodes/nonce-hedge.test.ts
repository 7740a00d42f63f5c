/** A random source that repeats itself repeats no nonce: what is hashed in beside it differs for each. */
import { expect, test } from 'vitest';
import { nonceHedge } from '../../nodes/signer/nonce-hedge.ts';
import { NonceNumbers, NoncePools } from '../../nodes/signer/nonce-secrets.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';

/** A generator that gives the same bytes for ever. */
const stuck = (length: number) => new Uint8Array(length).fill(7);
const seed = new Uint8Array(32).fill(1);

function commitments(options: { seed?: Uint8Array; boot?: string; nowMs?: number; scheme?: Scheme } = {}): string[] {
  const pools = new NoncePools(new NonceNumbers(), nonceHedge(options.seed ?? seed, options.boot ?? 'boot-1'));
  const context = { random: stuck, nowMs: options.nowMs ?? 1000 };
  const scheme = (options.scheme ?? Scheme.FROST_ED25519) as Scheme.FROST_ED25519 | Scheme.FROST_BIP340;
  const dealt = pools.deal(scheme, 'coordinator-1', 8, context) ?? [];
  return dealt.flatMap(({ hiding, binding }) => [hiding, binding].map((point) => Buffer.from(point).toString('hex')));
}

test.each([Scheme.FROST_ED25519, Scheme.FROST_BIP340])('no nonce of scheme %s comes twice within a boot', (scheme) => {
  const dealt = commitments({ scheme });
  expect(dealt).toHaveLength(16);
  expect(new Set(dealt).size).toBe(16);
});

test('another boot, another time after the same boot id, and another node deal other nonces', () => {
  const all = [
    commitments(),
    commitments({ boot: 'boot-2' }),
    commitments({ nowMs: 1001 }),
    commitments({ seed: new Uint8Array(32).fill(2) }),
  ].flat();
  expect(new Set(all).size).toBe(4 * 16);
});

test('the hedge is not all of it: other random bytes give other nonces', () => {
  const pools = (byte: number) => {
    const random = (length: number) => new Uint8Array(length).fill(byte);
    const dealt = new NoncePools(new NonceNumbers(), nonceHedge(seed, 'boot-1'));
    return dealt.deal(Scheme.FROST_ED25519, 'coordinator-1', 1, { random, nowMs: 1000 })![0]!.hiding;
  };
  expect(pools(1)).not.toEqual(pools(2));
});

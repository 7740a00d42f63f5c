/** The nonces that a node has made ahead: which requests are served, how many are kept, and that each is taken once. */
import { expect, test } from 'vitest';
import { NonceNumbers, NoncePools, noncesDealtMax, poolNoncesMax } from '../../nodes/signer/nonce-secrets.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';

const { MOCK_ECDSA, FROST_BIP340 } = Scheme;
const context = { random: (length: number) => new Uint8Array(length).fill(7), nowMs: 0 };

function somePools() {
  const pools = new NoncePools(new NonceNumbers(), () => ({ hiding: new Uint8Array(32), binding: new Uint8Array(32) }));
  const deal = (
    count: number,
    request = 0n,
    boot = 'c-1',
    scheme: typeof MOCK_ECDSA | typeof FROST_BIP340 = MOCK_ECDSA,
  ) => pools.deal(scheme, boot, count, context, request)?.map(({ number }) => Number(number));
  return { pools, deal, takes: (number: number, boot = 'c-1') => pools.take(MOCK_ECDSA, boot, BigInt(number)) };
}

test('a request is served once, and none before a later one, until the coordinator starts again', () => {
  const { deal } = somePools();
  expect([deal(2, 5n), deal(2, 5n), deal(2, 4n), deal(2, 6n)]).toEqual([[1, 2], undefined, undefined, [3, 4]]);
  // Each scheme has requests of its own, and those without a number are all served.
  expect([deal(1, 5n, 'c-1', FROST_BIP340), deal(1), deal(1)]).toEqual([[5], [6], [7]]);
  // The new coordinator counts from the beginning.
  expect([deal(1, 1n, 'c-2'), deal(1, 1n, 'c-2'), deal(1, 1n, 'c-2', FROST_BIP340)]).toEqual([[8], undefined, [9]]);
});

test('one answer has 1,000 nonces at most, and a pool keeps the latest 4,096', () => {
  expect([noncesDealtMax, poolNoncesMax]).toEqual([1_000, 4_096]);
  const { pools, deal, takes } = somePools();
  for (let batch = 0; batch < 4; batch += 1) expect(deal(1_001)).toHaveLength(1_000);
  deal(96);
  expect(pools.waiting(MOCK_ECDSA)).toBe(4_096);
  deal(1);
  expect(pools.waiting(MOCK_ECDSA)).toBe(4_096);
  expect([takes(1), takes(2)]).toEqual([undefined, { kind: 'mock' }]);
});

test('a nonce is taken once, by its own coordinator, and a new one voids all of them', () => {
  const { pools, deal, takes } = somePools();
  deal(3);
  expect([takes(1, 'c-2'), takes(1), takes(1), takes(4)]).toEqual([undefined, { kind: 'mock' }, undefined, undefined]);
  expect(pools.take(FROST_BIP340, 'c-1', 2n)).toBeUndefined();
  deal(1, 0n, 'c-2', FROST_BIP340);
  expect([takes(2), takes(2, 'c-2'), pools.waiting(MOCK_ECDSA)]).toEqual([undefined, undefined, 0]);
});

/**
 * A test of your own with vitest: a cluster, a fault, and what your client sees. This one runs simulated, so that it takes
 * about a second; `cluster({ live: true })` runs the same against real processes.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { CeremonyFailed, cluster, type Key, type TestCluster } from 'signmesh/testing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

let custody: TestCluster;
let key: Key;

beforeAll(async () => {
  custody = await cluster({ nodes: 5 });
  key = await custody.makeKey({ threshold: 3, totalNodes: 5 });
});
afterEach(() => custody.heal());
afterAll(() => custody.stop());

test('a signer that dies before it answers is replaced', async () => {
  const crash = await custody.crash('node/*', { at: { point: 'partial_reply' } });

  const { signature, signed } = await custody.sign(key, 'pay 5 to alice');

  expect(await crash.triggerCount()).toBe(1);
  expect(secp256k1.verify(signature, signed, key.publicKey, { prehash: false })).toBe(true);
});

test('a signer that lies is named', async () => {
  await custody.inject({ fault: 'bad_partial', target: 'node/2' });
  const blamed = async () =>
    (await custody.events()).flatMap(({ object }) => (object as { culprits: number[] }).culprits);

  // The coordinator draws signers in turn: within a few signatures node 2 signs.
  for (let count = 0; count < 5; count += 1) await custody.sign(key, `payment ${count}`);

  expect(new Set(await blamed())).toEqual(new Set([2]));
});

test('one node fewer than the threshold signs nothing, and says so', async () => {
  for (const node of ['node/1', 'node/2', 'node/3']) await custody.crash(node, { restart_after_ms: null });

  const refused = await custody.sign(key, 'pay 5 to bob').catch((error: unknown) => error);

  expect(refused).toBeInstanceOf(CeremonyFailed);
  expect((refused as CeremonyFailed).receipt.reasonCode).toBe('QUORUM_UNAVAILABLE');
});

test('a session expires without a wait', async () => {
  const { signingSessionId } = await custody.initiateSigning({
    transactionIntentId: 'slow-human',
    walletId: key.id,
    messageHash: new Uint8Array(32).fill(7),
  });
  await custody.advance(16 * 60_000);

  const late = await custody.submitSignatureShare({ signingSessionId });

  expect(late.receipt?.reasonCode).toBe('SESSION_EXPIRED');
});

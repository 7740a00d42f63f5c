/** What a transfer of our own cluster comes to, by the state of its transaction on the chain. */
import { expect, test } from 'vitest';
import type { ChainTransaction } from '../../../../wallets/providers/chains/chain.ts';
import { notSubmitted, onChain, readSubmission } from '../../../../wallets/providers/self-hosted/progress.ts';
import { sepolia } from './support.ts';

const made = { signingSessionIds: ['sig_1'], rawTransaction: '0x01' };

function progress(over: Partial<ChainTransaction>, blockMs = 1_500) {
  const mined = { reorganizations: 0, finalAtMs: 5_000 };
  const known = { id: '0xab', network: sepolia, feeUnits: 21n, succeeded: true, uncovered: false, ...mined };
  const transaction = { ...known, ...over };
  return onChain(transaction as ChainTransaction, made, { nowMs: 5_000, blockMs });
}

test('a transaction that was dropped spends nothing, and its number stays free', () => {
  expect(progress({ state: 'dropped', succeeded: false })).toMatchObject({
    stage: 'failed',
    error: { code: 'TRANSACTION_DROPPED' },
    feePaid: { asset: 'ETH', units: 0n },
    numberUsed: false,
    submission: { hash: '0xab', ...made },
  });
});

test.each([
  [false, 'TRANSACTION_REVERTED'],
  [true, 'INSUFFICIENT_FUNDS'],
])('one that was mined and failed (uncovered: %s) used its number and its fee', (uncovered, code) => {
  expect(progress({ state: 'confirmed', succeeded: false, uncovered })).toMatchObject({
    ...{ stage: 'failed', error: { code }, feePaid: { asset: 'ETH', units: 21n }, numberUsed: true },
  });
});

test('one that waits is asked for again soon, one in a block when it is final', () => {
  expect(progress({ state: 'queued' })).toMatchObject({
    ...{ stage: 'broadcasting', subStatus: 'AWAITING_EARLIER_TRANSACTION', againAtMs: 5_100 },
  });
  expect(progress({ state: 'queued' }, 40)).toMatchObject({ againAtMs: 5_040 });
  expect(progress({ state: 'confirming', confirmedAtMs: 7_000 })).toMatchObject({
    ...{ stage: 'confirming', subStatus: null, againAtMs: 7_000 },
  });
  // A reorganisation that moves it is seen within two blocks.
  expect(progress({ state: 'confirming', confirmedAtMs: 99_000 })).toMatchObject({ againAtMs: 8_000 });
  expect(progress({ state: 'confirmed' })).toMatchObject({ stage: 'completed', feePaid: { asset: 'ETH', units: 21n } });
});

test('one that is confirmed and not final is asked for at each block; one whose block was undone says so first', () => {
  const confirmed = { state: 'confirmed', confirmedAtMs: 4_000, finalAtMs: 9_000 } as const;
  expect(progress(confirmed)).toMatchObject({ stage: 'completed', againAtMs: 6_500 });
  expect(progress({ ...confirmed, finalAtMs: 5_001 })).toMatchObject({ againAtMs: 5_001 });
  expect(progress({ ...confirmed, finalAtMs: 5_000 })).not.toHaveProperty('againAtMs');
  expect(progress({ ...confirmed, reorganizations: 1 })).toMatchObject({
    ...{ stage: 'confirming', providerStatus: 'CONFIRMING', subStatus: 'REORGED' },
    submission: { reorganizations: 1 },
  });
});

test('what never reached the chain spent nothing, and used no number unless it says so', () => {
  const error = { code: 'X', message: 'no' };
  const refused = { stage: 'failed', providerTxId: null, error, feePaid: { asset: 'ETH', units: 0n } };
  expect(notSubmitted('ETH', error, { subStatus: 'S' })).toMatchObject({ ...refused, numberUsed: false });
  expect(notSubmitted('ETH', error, { subStatus: 'S', numberUsed: true })).toMatchObject({ numberUsed: true });
});

test('a stored submission is one only with its hash and its sessions', () => {
  const stored = { hash: '0xab', ...made };
  expect(readSubmission(stored)).toEqual(stored);
  for (const other of [null, undefined, {}, { hash: '0xab' }, { ...stored, hash: 1 }])
    expect(readSubmission(other)).toBeUndefined();
});

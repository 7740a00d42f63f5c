/** What the search finds wrong with a wallet's movements: numbers, sums, and differences to its chain. */
import { expect, test } from 'vitest';
import {
  type BookedWallet,
  checkSums,
  otherMovement,
  type ShownMovement,
} from '../../../simulation/service/invariants/providers.ts';
import type { Movement } from '../../../wallets/providers/port/statement.ts';

const wallet = { id: 'wal_1', assets: [{ symbol: 'ETH', balance: '0.9' }] } as unknown as BookedWallet;
const moved = (number: number, amount: string, balance: string, txId: string | null): ShownMovement => ({
  ...{ number, asset: 'ETH', amount, balance, tx_id: txId },
});
/** Newest first. */
const right = [moved(2, '-0.1', '0.9', '0x1'), moved(1, '1', '1', null)];
const theirs = {
  ...{ key: '0x1', direction: 'out', asset: 'ETH', units: 99n * 10n ** 15n, settledAtMs: 1, hasMoved: true },
  fee: { asset: 'ETH', units: 10n ** 15n },
} as unknown as Movement;

test.each<[string, readonly ShownMovement[]]>([
  ['a number that is missing', [right[0]!]],
  ['one that is listed twice', [right[0]!, ...right]],
  ['a balance that is not the sum', [moved(2, '-0.1', '0.8', '0x1'), right[1]!]],
])('%s is found', (_, movements) => {
  expect(() => checkSums(wallet, movements)).toThrow(/of wal_1/);
  expect(() => checkSums(wallet, right)).not.toThrow();
});

test('movements are what the chain lists, with fees, and leave what the wallet has', () => {
  expect(otherMovement(wallet, [theirs], right)).toBeUndefined();
  expect(otherMovement(wallet, [], right)).toContain('0x1 ETH');
  expect(otherMovement(wallet, [theirs, { ...theirs, key: '0x2' }], right)).toContain('0x2 ETH');
  expect(otherMovement(wallet, [theirs], [right[1]!])).toContain('leave 1');
});

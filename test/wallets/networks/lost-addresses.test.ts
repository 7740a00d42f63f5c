/** Addresses where money is lost: no transfer goes there. */
import { expect, test } from 'vitest';
import { isLostAddress } from '../../../wallets/networks/addresses.ts';
import { networkIds } from '../../../wallets/networks/networks.ts';

test('the zero address of EVM and the system program of Solana, each on its own network', () => {
  const [evm, bitcoin, solana] = networkIds;
  const [zero, program] = [`0x${'0'.repeat(40)}`, '1'.repeat(32)];
  expect([evm, bitcoin, solana].map((network) => isLostAddress(network!, zero))).toEqual([true, false, false]);
  expect([evm, bitcoin, solana].map((network) => isLostAddress(network!, program))).toEqual([false, false, true]);
  expect(isLostAddress(evm!, `0x${'0'.repeat(39)}1`)).toBe(false);
});

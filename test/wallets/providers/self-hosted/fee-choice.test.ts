/** A fee by level is one that the network takes and that its blocks let in, wherever the market stands. */
import { describe, expect, test } from 'vitest';
import { bitcoinLimits, evmLimits } from '../../../../wallets/providers/chains/public.ts';
import { feeLevels } from '../../../../wallets/providers/port/kinds.ts';
import { chooseBitcoinRate, chooseEvmFees } from '../../../../wallets/providers/self-hosted/fee-choice.ts';

describe.each([undefined, ...feeLevels])('the level %s', (fee_level) => {
  const choice = fee_level === undefined ? {} : { fee_level };

  test.each([evmLimits.min, evmLimits.initial, evmLimits.max / 2n, evmLimits.max])('EVM at %s', (market) => {
    const fee = BigInt(chooseEvmFees(choice, market).max_fee_per_gas!);
    expect(fee >= market && fee <= evmLimits.max).toBe(true);
  });

  test.each([bitcoinLimits.min, bitcoinLimits.max / 2n + 1n, bitcoinLimits.max])('Bitcoin at %s', (market) => {
    const rate = BigInt(chooseBitcoinRate(choice, market).sats_per_vbyte!);
    expect(rate >= market && rate <= bitcoinLimits.max).toBe(true);
  });
});

test('a level is not raised above what the network takes: nothing replaces the highest fee', () => {
  const highest = { fee_level: null, max_fee_per_gas: String(evmLimits.max), max_priority_fee_per_gas: '0' };
  expect(() => chooseEvmFees({}, evmLimits.initial, highest)).toThrow('takes at most');
  expect(() => chooseBitcoinRate({}, bitcoinLimits.initial, bitcoinLimits.max + 1n)).toThrow('takes at most');
});

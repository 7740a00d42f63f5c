import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amountTakes, formatAmount, parseAmount } from '../../../wallets/networks/amounts.ts';
import { assetOf, assets, assetsOn } from '../../../wallets/networks/assets.ts';
import { networkIds, networkOf, networks } from '../../../wallets/networks/networks.ts';

describe('amounts', () => {
  it.each([
    ['1', 6, 1_000_000n],
    ['0.000001', 6, 1n],
    ['1.50', 6, 1_500_000n],
    ['10', 0, 10n],
    ['0.1', 18, 100_000_000_000_000_000n],
    [`${'9'.repeat(30)}.${'9'.repeat(18)}`, 18, BigInt('9'.repeat(48))],
  ])('reads %s with %i decimals', (text, decimals, units) => {
    expect(parseAmount(text, decimals)).toBe(units);
  });

  it.each([
    ['', 'invalid_format'],
    ['1e3', 'invalid_format'],
    ['-1', 'invalid_format'],
    ['+1', 'invalid_format'],
    ['NaN', 'invalid_format'],
    ['Infinity', 'invalid_format'],
    ['0x10', 'invalid_format'],
    ['1,5', 'invalid_format'],
    ['.5', 'invalid_format'],
    ['5.', 'invalid_format'],
    ['01', 'invalid_format'],
    [' 1', 'invalid_format'],
    ['1\n', 'invalid_format'],
    ['١', 'invalid_format'],
    ['0', 'must_be_positive'],
    ['0.000', 'must_be_positive'],
    ['0.0000001', 'too_many_decimals'],
    ['1.0000000', 'too_many_decimals'],
    ['1'.repeat(31), 'too_large'],
    ['1'.repeat(40), 'too_large'],
  ])('refuses %j as %s', (text, problem) => {
    expect(parseAmount(text, 6)).toBe(problem);
  });

  it('says of a refused amount which limit it exceeds', () => {
    expect(amountTakes('too_large', 6)).toBe('takes up to 30 digits before the decimal point');
    expect(amountTakes('too_many_decimals', 6)).toBe('takes a decimal above 0 with up to 6 decimals');
    expect(amountTakes('invalid_format', undefined)).toBe('takes a decimal above 0');
  });

  const units = fc.bigInt({ min: 1n, max: 10n ** 30n - 1n });
  const decimals = fc.integer({ min: 0, max: 18 });

  it('reads back whatever it writes', () => {
    fc.assert(
      fc.property(units, decimals, (amount, digits) => parseAmount(formatAmount(amount, digits), digits) === amount),
    );
  });

  it('writes no needless zero, and a sign only below zero', () => {
    fc.assert(
      fc.property(units, decimals, (amount, digits) => {
        const text = formatAmount(amount, digits);
        expect(text).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/);
        expect(formatAmount(-amount, digits)).toBe(`-${text}`);
      }),
    );
    expect(formatAmount(0n, 6)).toBe('0');
    expect(formatAmount(1_500_000n, 6)).toBe('1.5');
  });

  it('takes any text without throwing', () => {
    fc.assert(fc.property(fc.string(), decimals, (text, digits) => parseAmount(text, digits) !== undefined));
  });
});

describe('the registry', () => {
  it('has every asset on a network that knows it', () => {
    expect(new Set(assets.map(({ symbol }) => symbol)).size).toBe(assets.length);
    for (const asset of assets) {
      expect(assetsOn(asset.network)).toContain(asset);
      expect(assetOf(asset.symbol)).toBe(asset);
    }
    expect(assetOf('eth')).toBeUndefined();
  });

  it('pays fees of each network in a coin of that network', () => {
    for (const network of networks) {
      expect(networkOf(network.id)).toBe(network);
      expect(assetOf(network.nativeAsset)).toMatchObject({ network: network.id, contract: null });
    }
    expect(networkIds).toHaveLength(networks.length);
    expect(() => networkOf('eip155:1' as never)).toThrow(/not registered/);
  });
});

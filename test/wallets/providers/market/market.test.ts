/** The simulated market: prices that a replay repeats, and a venue whose orders have one outcome each. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type MarketConditions, noConditions } from '../../../../wallets/providers/market/conditions.ts';
import { simulatedPrices } from '../../../../wallets/providers/market/prices.ts';
import { outcomeOf, simulatedVenue, venueTerms } from '../../../../wallets/providers/market/venue.ts';
import { walkAt } from '../../../../wallets/providers/market/walk.ts';
import { ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';

const atMs = Date.parse('2026-11-22T12:00:00Z');
const walk = { seed: 'one', name: 'ETH', base: 3_000, volatility: 0.04 };
const meta = { tenant: 'tn_a', nowMs: atMs, correlationId: 'req', traceparent: '' };

function market(over: Partial<MarketConditions> = {}, seed = 'one') {
  let conditions: MarketConditions = { ...noConditions, ...over };
  const prices = simulatedPrices({ read: async () => conditions as never }, seed);
  const stored = new Map<string, unknown>();
  const venue = simulatedVenue(
    {
      find: async (_tenant, _family, id) =>
        stored.has(id) ? { value: JSON.parse(stored.get(id) as string), number: 1 } : undefined,
      putOnce: async (_tenant, _family, id, value) => {
        if (!stored.has(id)) stored.set(id, JSON.stringify(value));
        return { value: JSON.parse(stored.get(id) as string), number: 1 };
      },
    },
    prices,
    { exchange: async () => undefined },
  );
  const set = (next: Partial<MarketConditions>): void => {
    conditions = { ...conditions, ...next };
  };
  return { prices, venue, set };
}

describe('the walk', () => {
  it('gives the same price for the same second, whatever was asked before', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 7 }), (second) => {
        const at = atMs + second * 1_000;
        expect(walkAt(walk, at)).toBe(walkAt(walk, at + 999));
      }),
    );
  });

  it('moves by little within a second, and by more in a day', () => {
    const logs = (stepS: number) =>
      Array.from({ length: 400 }, (_, index) => {
        const at = atMs + index * 7_919_000;
        return Math.abs(Math.log(walkAt(walk, at + stepS * 1_000) / walkAt(walk, at)));
      });
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const [second, hour, day] = [mean(logs(1)), mean(logs(3_600)), mean(logs(86_400))];
    expect(second).toBeLessThan(0.001);
    expect(hour).toBeGreaterThan(5 * second);
    expect(day).toBeGreaterThan(1.5 * hour);
  });

  it('follows from its seed', () => {
    expect(walkAt({ ...walk, seed: 'two' }, atMs)).not.toBe(walkAt(walk, atMs));
  });
});

describe('the price source', () => {
  it('quotes the assets that it knows, and none that are missing', async () => {
    const { prices, set } = market();
    const [eth, unknown] = await prices.quotes('tn_a', ['ETH', 'DOGE'], atMs + 400);
    expect(eth).toMatchObject({ asset: 'ETH', asOfMs: atMs });
    expect(unknown).toBeUndefined();
    set({ prices: { ETH: { kind: 'missing' } } });
    expect(await prices.quotes('tn_a', ['ETH'], atMs)).toEqual([undefined]);
  });

  it('gives a price that was set, as made now, and a stale one as old as it is', async () => {
    const { prices, set } = market({ prices: { ETH: { kind: 'set', price: '123' } } });
    expect(await prices.quotes('tn_a', ['ETH'], atMs)).toEqual([{ asset: 'ETH', price: 123n, asOfMs: atMs }]);
    const then = (await market().prices.quotes('tn_a', ['ETH'], atMs - 600_000))[0];
    set({ prices: { ETH: { kind: 'stale', ageMs: 600_000 } } });
    expect(await prices.quotes('tn_a', ['ETH'], atMs)).toEqual([then]);
  });

  it('knows no asset by the name of a property', async () => {
    expect(await market().prices.quotes('tn_a', ['constructor', '__proto__'], atMs)).toEqual([undefined, undefined]);
  });
});

describe('the venue', () => {
  const order = {
    id: 'ord_1',
    sell: { asset: 'ETH', units: 10n ** 18n },
    buy: { asset: 'USDC', unitsMin: 2_900_000_000n },
  };
  const conditions = (venue: Partial<MarketConditions['venue']> = {}): Partial<MarketConditions> => ({
    prices: {
      ETH: { kind: 'set', price: String(3_000n * 10n ** 8n) },
      USDC: { kind: 'set', price: String(10n ** 8n) },
    },
    venue: { ...noConditions.venue, slippageBps: 0, ...venue },
  });

  it('gives the price less its fee', async () => {
    const { venue } = market(conditions());
    expect(await venue.trade(meta, order)).toEqual({
      kind: 'filled',
      soldUnits: 10n ** 18n,
      boughtUnits: (3_000_000_000n * BigInt(10_000 - venueTerms.feeBps)) / 10_000n,
    });
  });

  it('takes a fee of 10 basis points and expects a slippage of 20; exactly the minimum is enough', async () => {
    expect(venueTerms).toEqual({ feeBps: 10, slippageBps: 20 });
    const { venue } = market(conditions());
    const atLeast = (id: string, unitsMin: bigint) =>
      venue.trade(meta, { ...order, id, buy: { ...order.buy, unitsMin } });
    expect(await atLeast('a', 2_997_000_000n)).toMatchObject({ kind: 'filled', boughtUnits: 2_997_000_000n });
    expect(await atLeast('b', 2_997_000_001n)).toEqual({ kind: 'refused', reason: 'below_minimum' });
  });

  it('gives an order one outcome, whatever becomes of the market', async () => {
    const { venue, set } = market(conditions());
    const first = await venue.trade(meta, order);
    set(conditions({ mode: 'refuse' }));
    expect(await venue.trade({ ...meta, nowMs: atMs + 60_000 }, order)).toEqual(first);
    expect(await venue.trade(meta, { ...order, id: 'ord_2' })).toEqual({ kind: 'refused', reason: 'refused' });
  });

  it('fills a part, refuses what falls below the minimum, and stays silent', async () => {
    const { venue, set } = market(conditions({ mode: 'partial', fillBps: 2_500 }));
    expect(await venue.trade(meta, order)).toMatchObject({ kind: 'filled', soldUnits: 10n ** 18n / 4n });
    set(conditions({ slippageBps: 500 }));
    expect(await venue.trade(meta, { ...order, id: 'b' })).toEqual({ kind: 'refused', reason: 'below_minimum' });
    set({ prices: { ETH: { kind: 'missing' } } });
    expect(await venue.trade(meta, { ...order, id: 'c' })).toEqual({ kind: 'refused', reason: 'no_price' });
    set(conditions({ mode: 'silent' }));
    await expect(venue.trade(meta, { ...order, id: 'd' })).rejects.toBeInstanceOf(ProviderUnavailable);
  });

  it('never sells more than it was offered, nor gives less than the minimum for it', () => {
    const quote = (asset: string, price: bigint) => ({ asset, price, asOfMs: atMs });
    fc.assert(
      fc.property(
        fc.bigInt(1n, 10n ** 24n),
        fc.bigInt(0n, 10n ** 14n),
        fc.bigInt(1n, 10n ** 13n),
        fc.bigInt(1n, 10n ** 13n),
        fc.nat(10_000),
        fc.string(),
        (units, unitsMin, from, to, fillBps, id) => {
          const outcome = outcomeOf(
            { id, sell: { asset: 'ETH', units }, buy: { asset: 'USDC', unitsMin } },
            { mode: 'partial', fillBps, slippageBps: null },
            quote('ETH', from),
            quote('USDC', to),
          );
          if (outcome.kind === 'refused') return;
          expect(outcome.soldUnits <= units).toBe(true);
          expect(outcome.boughtUnits * units >= unitsMin * outcome.soldUnits).toBe(true);
          // Worth no more than what was sold: ETH has 18 decimals, USDC 6.
          expect(outcome.boughtUnits * to * 10n ** 12n <= outcome.soldUnits * from).toBe(true);
        },
      ),
    );
  });
});

/**
 * The simulated venue: it exchanges a caller's funds at the price source's prices, minus a fee and a slippage derived from the
 * order's id. Every order has one outcome, stored before the answer, so an order may be repeated.
 */
import { assetOf } from '../../networks/assets.ts';
import { ProviderUnavailable } from '../port/port.ts';
import type { CustodianBook } from '../simulated/custodian-book.ts';
import type { CustodianRecords } from '../simulated/custodian-records.ts';
import { simulatedHash } from '../simulated/simulated-keys.ts';
import type { MarketConditions } from './conditions.ts';
import type { PriceQuote, Venue, VenueOrder, VenueOutcome, VenueTerms } from './port.ts';
import type { SimulatedPrices } from './prices.ts';

export const venueTerms: VenueTerms = { feeBps: 10, slippageBps: 20 };

/** The stored form: JSON has no big integers. */
type StoredOutcome =
  | { readonly kind: 'filled'; readonly soldUnits: string; readonly boughtUnits: string }
  | Extract<VenueOutcome, { kind: 'refused' }>;

const bpsAll = 10_000n;
/** The most smallest units of an asset at the venue. */
const unitsMax = 10n ** 36n;
const family = 'venue-orders';
/** Much longer than the period of repetitions of any order. */
const keepMs = 30 * 24 * 3_600_000;

/** `book`: the book of the custodian of the venue's wallets. */
export function simulatedVenue(
  records: Pick<CustodianRecords, 'putOnce' | 'find'>,
  prices: SimulatedPrices,
  book: Pick<CustodianBook, 'exchange'>,
): Venue {
  return {
    terms: venueTerms,
    async trade(meta, order) {
      const { tenant, nowMs } = meta;
      const known = await records.find<StoredOutcome>(tenant, family, order.id);
      if (known !== undefined) return opened(known.value);
      const { venue } = await prices.conditions(tenant);
      if (venue.mode === 'silent') throw new ProviderUnavailable('the venue does not answer');
      const [sold, bought] = await prices.quotes(tenant, [order.sell.asset, order.buy.asset], nowMs);
      const outcome = outcomeOf(order, venue, sold, bought);
      const { value } = await records.putOnce<StoredOutcome>(tenant, family, order.id, stored(outcome), keepMs);
      return opened(value);
    },
    async settle({ tenant, nowMs: atMs }, { id, entries }) {
      for (const wallet of new Set(entries.map((entry) => entry.wallet))) {
        await book.exchange(tenant, { wallet, id, effect: entries.filter((entry) => entry.wallet === wallet), atMs });
      }
    },
  };
}

/** Pure. */
export function outcomeOf(
  { id, sell, buy }: VenueOrder,
  { mode, fillBps, slippageBps }: MarketConditions['venue'],
  sold: PriceQuote | undefined,
  bought: PriceQuote | undefined,
): VenueOutcome {
  if (mode === 'refuse') return { kind: 'refused', reason: 'refused' };
  const [from, to] = [assetOf(sell.asset), assetOf(buy.asset)];
  if (sold === undefined || bought === undefined || from === undefined || to === undefined) {
    return { kind: 'refused', reason: 'no_price' };
  }
  const soldUnits = mode === 'partial' ? (sell.units * BigInt(fillBps)) / bpsAll : sell.units;
  // Up to twice the expected slippage, and the same for the same order.
  const slippage = slippageBps ?? (simulatedHash('slippage', id)[0]! * 2 * venueTerms.slippageBps) / 255;
  const kept = bpsAll - BigInt(Math.round(slippage)) - BigInt(venueTerms.feeBps);
  // In smallest units: units × price, over the power of ten by which the two assets' decimals differ.
  const numerator = soldUnits * sold.price * kept * 10n ** BigInt(to.decimals);
  const boughtUnits = numerator / (bought.price * bpsAll * 10n ** BigInt(from.decimals));
  if (boughtUnits > unitsMax) return { kind: 'refused', reason: 'refused' };
  if (soldUnits === 0n || boughtUnits === 0n || boughtUnits * sell.units < buy.unitsMin * soldUnits) {
    return { kind: 'refused', reason: 'below_minimum' };
  }
  return { kind: 'filled', soldUnits, boughtUnits };
}

function stored(outcome: VenueOutcome): StoredOutcome {
  if (outcome.kind === 'refused') return outcome;
  return { kind: 'filled', soldUnits: String(outcome.soldUnits), boughtUnits: String(outcome.boughtUnits) };
}

function opened(outcome: StoredOutcome): VenueOutcome {
  if (outcome.kind === 'refused') return outcome;
  return { kind: 'filled', soldUnits: BigInt(outcome.soldUnits), boughtUnits: BigInt(outcome.boughtUnits) };
}

/** The market settings of a sandbox's tenant: prices, and the behaviour of the venue. One record per tenant. */
import type { RecordType, Versioned } from '../../store/contract.ts';

export type PriceCondition =
  /** Always this price, with the present time. 10⁻⁸ US dollars, a decimal integer. */
  | { readonly kind: 'set'; readonly price: string }
  | { readonly kind: 'missing' }
  /** The price of the walk at this age. */
  | { readonly kind: 'stale'; readonly ageMs: number };

export const venueModes = ['normal', 'partial', 'refuse', 'silent'] as const;
export type VenueMode = (typeof venueModes)[number];

export interface MarketConditions extends Versioned {
  readonly prices: Readonly<Record<string, PriceCondition>>;
  readonly venue: {
    readonly mode: VenueMode;
    /** With `partial`: the share of an order that is filled. */
    readonly fillBps: number;
    /** How much worse than the quoted price every trade is; null: by the simulated slippage. */
    readonly slippageBps: number | null;
  };
}

export const marketConditionsId = 'market-conditions';

export const noConditions: MarketConditions = {
  id: marketConditionsId,
  version: 0,
  prices: {},
  venue: { mode: 'normal', fillBps: 10_000, slippageBps: null },
};

export const marketConditionsType: RecordType<MarketConditions> = {
  name: 'market_conditions',
  status: () => '',
  indices: () => [],
};

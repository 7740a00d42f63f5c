/**
 * The two ports of a treasury to the outside: the source of prices, and the venue that exchanges assets.
 * A simulated price source and a simulated venue implement them.
 */
import type { CallMeta } from '../port/port.ts';

export interface PriceQuote {
  readonly asset: string;
  /** 10⁻⁸ US dollars for one whole unit. Above zero. */
  readonly price: bigint;
  /** The time of the price, which may be long ago. */
  readonly asOfMs: number;
}

export interface PriceSource {
  /** In the order of the assets; undefined without a price. Throws StoreUnavailable. */
  quotes(tenant: string, assets: readonly string[], nowMs: number): Promise<readonly (PriceQuote | undefined)[]>;
}

export interface VenueTerms {
  /** Fee on the sold amount, in basis points. */
  readonly feeBps: number;
  /** The expected slippage of a trade from the quoted price. */
  readonly slippageBps: number;
}

export interface VenueOrder {
  /** The caller's own id: the same id, the same order and the same outcome. */
  readonly id: string;
  readonly sell: { readonly asset: string; readonly units: bigint };
  /** `unitsMin`: for all of `sell`; in proportion for a smaller part. */
  readonly buy: { readonly asset: string; readonly unitsMin: bigint };
}

export type VenueOutcome =
  | {
      readonly kind: 'filled';
      /** At most the offered amount; the caller keeps the rest. */
      readonly soldUnits: bigint;
      readonly boughtUnits: bigint;
    }
  | { readonly kind: 'refused'; readonly reason: VenueRefusal };

export const venueRefusals = ['below_minimum', 'no_price', 'refused'] as const;
/** The market gives less than the order's minimum; an asset has no price; the venue accepts no orders. */
export type VenueRefusal = (typeof venueRefusals)[number];

export interface VenueExchange {
  /** The order's id. */
  readonly id: string;
  /** `wallet`: the venue's own id for it. `units`: below zero if they leave the wallet. */
  readonly entries: readonly { readonly wallet: string; readonly asset: string; readonly units: bigint }[];
}

export interface Venue {
  readonly terms: VenueTerms;
  /** May be repeated. Throws ProviderUnavailable while the venue does not answer. */
  trade(meta: CallMeta, order: VenueOrder): Promise<VenueOutcome>;
  /** Books an exchange in the wallets of the caller's account there. May be repeated. Throws ProviderUnavailable. */
  settle(meta: CallMeta, exchange: VenueExchange): Promise<void>;
}

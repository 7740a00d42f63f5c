/** The exports of the market: its two ports, their simulations, and a tenant's settings. */
export {
  type MarketConditions,
  marketConditionsType,
  noConditions,
  type PriceCondition,
  venueModes,
} from './conditions.ts';
export type { PriceQuote, PriceSource, Venue, VenueRefusal } from './port.ts';
export { pricedAssets, type SimulatedPrices, simulatedPrices } from './prices.ts';
export { simulatedVenue } from './venue.ts';

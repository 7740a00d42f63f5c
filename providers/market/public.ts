/** What other modules use of the market: its two ports, their simulated sides, and what a tenant may set of them. */
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

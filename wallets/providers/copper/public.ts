/** The exports of the adapter to Copper. */
export { copperAdapter, copperWords } from './adapter.ts';
export { SimulatedCopper } from './custodian.ts';

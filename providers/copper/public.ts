/** What is used of the adapter to Copper. */
export { copperAdapter } from './adapter.ts';
export { SimulatedCopper } from './custodian.ts';

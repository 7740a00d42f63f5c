/** What is used of the adapter to BitGo. */
export { bitgoAdapter } from './adapter.ts';
export { SimulatedBitgo } from './custodian.ts';

/** The exports of the adapter to BitGo. */
export { bitgoAdapter, bitgoWords } from './adapter.ts';
export { SimulatedBitgo } from './custodian.ts';

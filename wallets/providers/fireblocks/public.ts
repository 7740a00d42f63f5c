/** The exports of the adapter to Fireblocks. */
export { fireblocksAdapter, fireblocksWords } from './adapter.ts';
export { SimulatedFireblocks } from './custodian.ts';

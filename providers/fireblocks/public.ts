/** What is used of the adapter to Fireblocks. */
export { fireblocksAdapter } from './adapter.ts';
export { SimulatedFireblocks } from './custodian.ts';

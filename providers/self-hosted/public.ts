/** What other modules use of the adapter to our own cluster. */
export { makeSelfHosted } from './adapter.ts';
export type { ClusterSignature, ClusterSigner, Curve, SigningOrder } from './cluster-signer.ts';

/** The exports of the adapter to this service's own cluster. */
export { makeSelfHosted } from './adapter.ts';
export type { ClusterSignature, ClusterSigner, SignerCurve, SigningOrder } from './cluster-signer.ts';

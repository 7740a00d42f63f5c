/** What other modules use of policy receipts: their claims, their signer. */
export { receiptClaims } from './claims.ts';
export { receiptRoutes } from './routes.ts';
export { type ReceiptSigner, receiptSigner } from './signer.ts';

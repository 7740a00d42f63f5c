/** What other modules use of wallets. */
export { closeKey, closeKeyPrefix, revokeOfConnection, revokeSessions, revokeSessionsPrefix } from './close-key.ts';
export { assertPolicy } from './create.ts';
export { creditDeposit } from './deposits.ts';
export { defaultSigningApi, walletCreatedChange, walletFrom } from './make.ts';
export { openIntentsIndex, type WalletApprovalMode, type WalletRecord, walletType } from './record.ts';
export { walletRoutes } from './routes.ts';
export { Wallet } from './schemas.ts';
export { testWalletMaker } from './test-wallets.ts';

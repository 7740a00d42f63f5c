/** What other modules use of wallets. */
export { closeKey, closeKeyPrefix, revokeOfConnection, revokeSessions, revokeSessionsPrefix } from './close-key.ts';
export { correctionChange, type LedgerCorrection } from './corrections.ts';
export { assertPolicy } from './create.ts';
export {
  type DepositRecord,
  type DepositStanding,
  depositId,
  depositStandings,
  depositsIndex,
  depositType,
  withdrawalId,
} from './deposit-record.ts';
export { creditDeposit } from './deposits.ts';
export { defaultSigningApi, walletCreatedChange, walletFrom } from './new-wallet.ts';
export { readWallet, type WalletRead } from './read.ts';
export { openIntentsIndex, type WalletApprovalMode, type WalletRecord, walletStates, walletType } from './record.ts';
export { walletRoutes } from './routes.ts';
export { Wallet } from './schemas.ts';
export { testWalletMaker } from './test-wallets.ts';
export { debitWithdrawal } from './withdrawals.ts';

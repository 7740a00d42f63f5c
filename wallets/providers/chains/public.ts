/** The exports of the simulated chains: the chains, their transactions, and the port to their ledgers. */
export type { BitcoinChain } from './bitcoin.ts';
export {
  dustSats,
  inputsMax,
  largestFee,
  paymentFee,
  readUnsignedBitcoin,
  signedBitcoin,
  unsignedBitcoin,
} from './bitcoin-transaction.ts';
export { type Chain, ChainRejected, type ChainTransaction, ChainUnavailable, type SubmitOptions } from './chain.ts';
export { type Chains, openChains } from './chains.ts';
export type { EvmChain, EvmReceipt } from './evm.ts';
export { type EvmAction, gasOf, maxFeePerGas, readUnsignedEvm, signedEvm, unsignedEvm } from './evm-transaction.ts';
export type { ChainLedgers } from './ledger.ts';
export { toDigits } from './lua-units.ts';
export type { SolanaChain } from './solana.ts';
export { readSolanaMessage, signatureFee, signedSolana, solanaMessage } from './solana-transaction.ts';
export { chainStatements } from './statements.ts';

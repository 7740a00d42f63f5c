/** The exports of the simulated chains: the chains, their transactions, and the port to their ledgers. */
export type { BitcoinChain } from './bitcoin.ts';
export {
  type BitcoinPayment,
  type Coin,
  dustSats,
  feeOfPayment,
  inputsMax,
  largestFee,
  paymentFee,
  paymentVbytes,
  readUnsignedBitcoin,
  signedBitcoin,
  unsignedBitcoin,
} from './bitcoin-transaction.ts';
export { type Chain, ChainRejected, type ChainTransaction, ChainUnavailable, type SubmitOptions } from './chain.ts';
export { type Chains, openChains } from './chains.ts';
export type { EvmChain, EvmReceipt } from './evm.ts';
export {
  type EvmAction,
  gasMax,
  gasOf,
  intrinsicGas,
  readUnsignedEvm,
  signedEvm,
  unsignedEvm,
} from './evm-transaction.ts';
export {
  bitcoinLevel,
  bitcoinLimits,
  defaultLevel,
  type EvmFees,
  evmLevel,
  evmLimits,
  type FeeLimits,
  feeLimitsOf,
  leastEvmReplacement,
} from './fees.ts';
export type { ChainLedgers } from './ledger.ts';
export { toDigits } from './lua-units.ts';
export type { SolanaChain } from './solana.ts';
export { readSolanaMessage, rentExempt, signatureFee, signedSolana, solanaMessage } from './solana-transaction.ts';
export { chainStatements } from './statements.ts';

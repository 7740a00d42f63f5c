/**
 * The port to what the simulated chains store, one ledger a chain. A ledger knows neither signatures nor encodings: the
 * chain has checked a transaction before it hands it over. Every method is one atomic step over the state of its chain,
 * and may be repeated: the same transaction or faucet key changes nothing twice. All throw ChainUnavailable.
 *
 * Amounts are smallest units. Transactions that were mined are kept for `retentionMs` (chain.ts), everything else for ever.
 */

import type { NetworkId } from '../../networks/networks.ts';
import type { Direction, StatementQuery } from '../port/statement.ts';
import type { Coin } from './bitcoin-transaction.ts';
import type { FundedBy } from './chain.ts';
import type { EvmEffect, TokenConstructor } from './token-contract.ts';

/** A transaction as it is stored: its block follows from `minedAtMs` and the time. */
export interface LedgerTransaction {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  readonly units: bigint;
  /** Of the EVM chain's. */
  readonly effect?: EvmEffect;
  readonly feeUnits: bigint;
  readonly failed: boolean;
  /** Its account could not pay for it when its turn came. */
  readonly uncovered: boolean;
  /** It waited for its turn too long. */
  readonly dropped: boolean;
  /** undefined: it waits, or was dropped. */
  readonly minedAtMs: number | undefined;
}

/** What a chain hands over to be mined in the block that comes at `minedAtMs`. */
export interface NewTransaction {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  readonly units: bigint;
  readonly feeUnits: bigint;
  /** It is mined, costs its fee, and moves nothing. */
  readonly fails: boolean;
  readonly minedAtMs: number;
}

/** What a mined transaction did to one address. One that pays its own sender is two movements. */
export interface LedgerMovement {
  readonly direction: Direction;
  readonly transaction: LedgerTransaction;
  /** What it brought to the address, or was to take from it, without the fee. */
  readonly units: bigint;
}

export interface Ledger {
  transaction(id: string): Promise<LedgerTransaction | undefined>;
  /** The index of mined transactions by address: by the time of their blocks, then by direction and id. */
  movements(address: string, query: StatementQuery): Promise<readonly LedgerMovement[]>;
  movement(address: string, direction: Direction, id: string): Promise<LedgerMovement | undefined>;
  /** Of every asset of the network, by symbol. */
  balances(address: string): Promise<ReadonlyMap<string, bigint>>;
}

export interface AccountLedger extends Ledger {
  /** Adds units to an account, once a `key`. `by`: it is a movement of the account. */
  fund(key: string, address: string, asset: string, units: bigint, by?: FundedBy): Promise<void>;
}

/** How far ahead of its account's nonce a transaction may wait. */
export const queuedAheadMax = 10_000;
/** How long a transaction may wait for an earlier one. */
export const queuedMaxMs = 6 * 3_600_000;

export interface NewEvmTransaction extends NewTransaction {
  readonly effect: EvmEffect;
  /** With `deploy`. */
  readonly token?: TokenConstructor;
  /** It is refused where no contract was deployed at `asset`. */
  readonly needsContract: boolean;
  readonly nonce: number;
  /** What its account must hold of the native asset. */
  readonly coinNeeded: bigint;
  readonly nowMs: number;
}

/** A deployed contract. */
export interface TokenContract extends TokenConstructor {
  /** Lower case. */
  readonly owner: string;
  readonly supply: bigint;
}

export type EvmRefusal = 'no_contract' | 'nonce_too_low' | 'nonce_too_high' | 'nonce_used' | 'insufficient_funds';

/** Accounts with a nonce: see evm.ts for what waits, is mined, and is dropped. */
export interface EvmLedger extends AccountLedger {
  /** `contract`: lower case. */
  token(contract: string): Promise<TokenContract | undefined>;
  /** Accepts the transaction, then mines the next ones of its account. */
  submit(transaction: NewEvmTransaction): Promise<LedgerTransaction | EvmRefusal>;
  /** Mines what is next of a waiting transaction's account; drops the transaction if it has waited too long. */
  advance(id: string, from: string, nowMs: number, minedAtMs: number): Promise<LedgerTransaction>;
  /** How many transactions of the account were mined. */
  nonce(address: string): Promise<number>;
}

export interface NewSolanaTransaction extends NewTransaction {
  /** Hex: what makes two transactions the same. */
  readonly messageHash: string;
}

export interface SolanaLedger extends AccountLedger {
  /** The first transaction of this message; undefined: its account cannot pay transfer and fee. */
  submit(transaction: NewSolanaTransaction): Promise<LedgerTransaction | undefined>;
}

export interface Output {
  readonly address: string;
  readonly sats: bigint;
}

export interface NewBitcoinTransaction extends NewTransaction {
  /** "<txid>:<index>" of what it spends. */
  readonly outpoints: readonly string[];
  readonly outputs: readonly Output[];
}

export type Holding =
  | { readonly kind: 'held'; readonly coins: readonly Coin[] }
  /** Other payments hold too much of the address: ask again when they are through. */
  | { readonly kind: 'wait' }
  /** `release` has given the payment up: it holds nothing any more. */
  | { readonly kind: 'released' }
  | { readonly kind: 'insufficient' }
  /** The largest `inputsMax` outputs are not enough. */
  | { readonly kind: 'tooManyInputs' };

export interface HoldRequest {
  readonly paymentId: string;
  readonly address: string;
  /** Needed without inputs, and more for each of them. */
  readonly sats: bigint;
  readonly satsPerInput: bigint;
  readonly inputsMax: number;
  readonly nowMs: number;
  readonly untilMs: number;
}

/** Unspent outputs of addresses, and which payment holds them. */
export interface BitcoinLedger extends Ledger {
  /** Unspent outputs, in the order of the outpoints; undefined where there is none. */
  outputs(outpoints: readonly string[]): Promise<readonly (Output | undefined)[]>;
  /** undefined: an input is spent. */
  submit(transaction: NewBitcoinTransaction): Promise<LedgerTransaction | undefined>;
  /**
   * Takes the largest free outputs until they cover what is needed. The same payment gets the same outputs again. What
   * another payment has held past its time is free.
   */
  hold(request: HoldRequest): Promise<Holding>;
  /** Sats of the `count` + 1 largest free outputs, and of all that are held. */
  largest(address: string, count: number): Promise<readonly bigint[]>;
  /** Frees what the payment holds and did not spend. */
  release(paymentId: string): Promise<void>;
  /** Makes the outputs of a faucet transaction, once a `key`. */
  fund(
    key: string,
    txid: string,
    asset: string,
    address: string,
    sats: readonly bigint[],
    by?: FundedBy,
  ): Promise<void>;
}

/** One ledger for each chain. */
export interface ChainLedgers {
  readonly evm: (network: NetworkId) => EvmLedger;
  readonly bitcoin: (network: NetworkId) => BitcoinLedger;
  readonly solana: (network: NetworkId) => SolanaLedger;
}

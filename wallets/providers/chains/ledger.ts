/**
 * The port to the state of the simulated chains, one ledger per chain. A ledger knows neither signatures nor encodings: the
 * chain checks a transaction before it passes it on. Every method is one atomic step over the state of its chain,
 * and may be repeated: the same transaction or faucet key takes effect once. All throw ChainUnavailable.
 *
 * Amounts are smallest units. Mined transactions stay for `retentionMs` (chain.ts), all other data forever.
 */

import type { NetworkId } from '../../networks/networks.ts';
import type { TokenAllowance } from '../port/port.ts';
import type { MovementDirection, StatementQuery } from '../port/statement.ts';
import type { Coin } from './bitcoin-transaction.ts';
import type { Depths, FundedBy, Reorg } from './chain.ts';
import type { EvmFees } from './fees.ts';
import type { EvmEffect, TokenConstructor } from './token-contract.ts';

/** A stored transaction: its block follows from `minedAtMs` and the time. */
export interface LedgerTransaction {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  readonly units: bigint;
  /** Only on the EVM chain. */
  readonly effect?: EvmEffect;
  /** Of `transferFrom`: whose units it moves. */
  readonly owner?: string;
  /** Of `approve`. */
  readonly allowance?: bigint;
  readonly feeUnits: bigint;
  readonly failed: boolean;
  /** Its account could not pay for it when its turn came. */
  readonly uncovered: boolean;
  /** Its gas limit was below what it needs. */
  readonly outOfGas: boolean;
  /** It waited for its turn too long. */
  readonly dropped: boolean;
  /** Another transaction has its place. */
  readonly replaced: boolean;
  /** It waits, because its fee is below the market. */
  readonly underpriced: boolean;
  /** How many reorganisations have undone its block: it is in a later one since. */
  readonly reorganizations: number;
  /** undefined: those of the chain's default. */
  readonly depths: Depths | undefined;
  /** undefined: it waits, or never was and never will be mined. */
  readonly minedAtMs: number | undefined;
}

/** A transaction for the block at `minedAtMs`. */
export interface NewTransaction {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  readonly units: bigint;
  /** EVM: at most. */
  readonly feeUnits: bigint;
  /** It is mined, costs its fee, and moves nothing. */
  readonly fails: boolean;
  readonly minedAtMs: number;
}

/** The effect of a mined transaction on one address. A payment to its own sender has two movements. */
export interface LedgerMovement {
  readonly direction: MovementDirection;
  readonly transaction: LedgerTransaction;
  /** The amount that it adds to the address, or would take from it, without the fee. */
  readonly units: bigint;
  /** What the address paid for it. */
  readonly feeUnits: bigint;
}

export interface Ledger {
  transaction(id: string): Promise<LedgerTransaction | undefined>;
  /** undefined: it was never moved. */
  market(): Promise<bigint | undefined>;
  moveMarket(price: bigint): Promise<void>;
  /** Of transactions that are mined from now on; undefined: they were never set. */
  depths(): Promise<Depths | undefined>;
  setDepths(depths: Depths): Promise<void>;
  reorganize(request: ReorgRequest): Promise<Reorg>;
  /** The index of mined transactions by address: by the time of their blocks, then by direction and id. */
  movements(address: string, query: StatementQuery): Promise<readonly LedgerMovement[]>;
  movement(address: string, direction: MovementDirection, id: string): Promise<LedgerMovement | undefined>;
  /** Of every asset of the network, by symbol. */
  balances(address: string): Promise<ReadonlyMap<string, bigint>>;
}

export interface ReorgRequest {
  /** The time of the first block to undo. */
  readonly fromMs: number;
  readonly nowMs: number;
  /** The time of the block that takes the transactions. */
  readonly nextMs: number;
  readonly blockMs: number;
  /** Of a transaction without its own number. */
  readonly finality: number;
}

export interface AccountLedger extends Ledger {
  /** Adds units to an account, once per `key`. `by`: as a movement of the account. */
  fund(key: string, address: string, asset: string, units: bigint, by?: FundedBy): Promise<void>;
}

/** The largest distance of a waiting transaction's nonce from its account's nonce. */
export const queuedAheadMax = 10_000;
/** The longest time that a transaction waits for an earlier one. */
export const queuedMaxMs = 6 * 3_600_000;

export interface NewEvmTransaction extends NewTransaction {
  readonly effect: EvmEffect;
  /** With `deploy`. */
  readonly token?: TokenConstructor;
  /** With `transferFrom`: whose units it moves, lower case. */
  readonly owner?: string;
  /** With `approve`: any uint256. */
  readonly allowance?: bigint;
  /** The ledger refuses it unless a contract exists at `asset`. */
  readonly needsContract: boolean;
  readonly nonce: number;
  /** What it uses of its limit. */
  readonly gas: bigint;
  /** The limit is too low: it uses all of it, and has no effect. */
  readonly outOfGas: boolean;
  readonly fees: EvmFees;
  /** The amount of the native asset that its account must have. */
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

/** Accounts with a nonce: evm.ts defines when transactions wait, are mined, or are dropped. */
export interface EvmLedger extends AccountLedger {
  /** `contract`: lower case. */
  token(contract: string): Promise<TokenContract | undefined>;
  /** What others may move of an account's units. `owner`: lower case. */
  allowances(owner: string): Promise<readonly TokenAllowance[]>;
  /** Accepts the transaction, in the place of one with its nonce and lower fees, then mines the next ones of its account. */
  submit(transaction: NewEvmTransaction): Promise<LedgerTransaction | EvmRefusal>;
  /** Mines the next transactions of a waiting transaction's account; drops the transaction if it has waited too long. */
  advance(id: string, from: string, nowMs: number, minedAtMs: number): Promise<LedgerTransaction>;
  /** The number of the account's mined transactions. */
  nonce(address: string): Promise<number>;
}

export interface NewSolanaTransaction extends NewTransaction {
  /** Hex: two transactions with the same hash are the same. */
  readonly messageHash: string;
}

export type SolanaRefusal = 'insufficient_funds' | 'below_rent_exemption';

export interface SolanaLedger extends AccountLedger {
  /** The first transaction of this message. */
  submit(transaction: NewSolanaTransaction): Promise<LedgerTransaction | SolanaRefusal>;
}

export interface Output {
  readonly address: string;
  readonly sats: bigint;
}

export interface NewBitcoinTransaction extends NewTransaction {
  readonly vbytes: bigint;
  readonly nowMs: number;
  /** "<txid>:<index>" of its inputs. */
  readonly outpoints: readonly string[];
  readonly outputs: readonly Output[];
}

export type BitcoinRefusal = 'missing_input' | 'input_used' | 'too_long_chain';

export interface WaitingBitcoin {
  readonly coins: readonly Coin[];
  readonly feeUnits: bigint;
}

export type HeldCoins =
  | { readonly kind: 'held'; readonly coins: readonly Coin[] }
  /** Other payments hold too much of the address: ask again when they are complete. */
  | { readonly kind: 'wait' }
  /** `release` has abandoned the payment: it holds nothing. */
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

/** Unspent outputs of addresses, and the payments that hold them. */
export interface BitcoinLedger extends Ledger {
  /** Unspent outputs, in the order of the outpoints; undefined where none exists. */
  outputs(outpoints: readonly string[]): Promise<readonly (Output | undefined)[]>;
  /** Accepts the transaction, in the place of waiting ones that it pays enough more than, and mines it unless it must wait. */
  submit(transaction: NewBitcoinTransaction): Promise<LedgerTransaction | BitcoinRefusal>;
  /** Mines a waiting transaction if the market has fallen. */
  advance(id: string, minedAtMs: number): Promise<LedgerTransaction>;
  waiting(id: string): Promise<WaitingBitcoin | undefined>;
  /**
   * Reserves the largest free outputs until they cover the need. The same payment gets the same outputs again. Expired
   * reservations of other payments are free.
   */
  hold(request: HoldRequest): Promise<HeldCoins>;
  /** Sats of the `count` + 1 largest free outputs, and of all held ones. */
  largest(address: string, count: number): Promise<readonly bigint[]>;
  /** From now on the coins of `address` are `account`'s, another address of the same wallet. May be repeated. */
  watch(address: string, account: string): Promise<void>;
  /** Those that ever had a coin, of addresses that are watched. */
  used(addresses: readonly string[]): Promise<readonly boolean[]>;
  /** Frees the unspent outputs of the payment. */
  release(paymentId: string): Promise<void>;
  /** Makes the outputs of a faucet transaction, once per `key`. */
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

/**
 * The common types of the simulated chains: the state of a transaction, and the refusals of a chain.
 *
 * Each network has one chain, shared by all tenants. Its blocks are a pure function of time (block-time.ts): no
 * process mines them. Balances include an accepted transaction at once; it is confirmed after
 * `confirmations` blocks, and never undone after `finality` blocks. Fees are burned.
 */
import type { NetworkId } from '../../networks/networks.ts';
import type { MovementDirection, StatementQuery } from '../port/statement.ts';
import type { EvmEffect } from './token-contract.ts';

export interface ChainTransaction {
  /** In the form of explorers: 0x… hash, txid, or base58 signature. */
  readonly id: string;
  readonly network: NetworkId;
  readonly from: string;
  readonly to: string;
  /** Symbol; of a contract that is not in the registry its address, lower case. */
  readonly asset: string;
  /** Smallest units of `asset`. */
  readonly units: bigint;
  /** EVM: its effect, besides paying its fee. */
  readonly effect?: EvmEffect;
  /** Of `transferFrom`: whose units it moves. */
  readonly owner?: string;
  /** Of `approve`. */
  readonly allowance?: bigint;
  /** Smallest units of the network's native asset; the charged fee, also for a failed transfer. At most, until it is mined. */
  readonly feeUnits: bigint;
  /**
   * queued: waits for an earlier nonce. underpriced: waits for a lower market. dropped: waited for its nonce too long, and was never
   * mined. replaced: another transaction has its place. pending: its block does not exist yet.
   */
  readonly state: 'queued' | 'underpriced' | 'dropped' | 'replaced' | 'pending' | 'confirming' | 'confirmed';
  /** False if it was dropped or replaced, or was mined and only cost its fee. */
  readonly succeeded: boolean;
  /** It failed because its account could not pay for it when its turn came. */
  readonly uncovered: boolean;
  /** It failed because its gas limit was below what it needs. */
  readonly outOfGas: boolean;
  /** How many reorganisations have undone its block: it is in a later one since. */
  readonly reorganizations: number;
  /** The remaining fields are undefined until it is mined. */
  readonly block: number | undefined;
  readonly minedAtMs: number | undefined;
  readonly confirmedAtMs: number | undefined;
  /** From then on nothing undoes it. */
  readonly finalAtMs: number | undefined;
  /** 0 before its block. */
  readonly confirmations: number;
}

/** The effect of a mined transaction on one address. A payment to its own sender has two movements. */
export interface ChainMovement {
  readonly direction: MovementDirection;
  readonly transaction: ChainTransaction;
  /** The amount that it adds to the address, or would take from it, without the fee. */
  readonly units: bigint;
  /** What the address paid for it. */
  readonly feeUnits: bigint;
}

/** Money from outside of the chain, in the form of its network's transaction. */
export interface FundedBy {
  readonly txId: string;
  readonly from: string;
  readonly atMs: number;
}

export interface SubmitOptions {
  /** Mined without effect: it costs the fee and moves nothing. Lets a sandbox show a failure on demand. */
  readonly fails?: boolean;
}

/** How deep a block must be, itself among them. */
export interface Depths {
  /** Its transactions are confirmed: their transfers complete. A failed one is confirmed when it is final. */
  readonly confirmations: number;
  /** Nothing undoes it; at least `confirmations`. */
  readonly finality: number;
}

export type Reorg =
  /** How many were moved. */
  | { readonly kind: 'done'; readonly transactions: number }
  /** A transaction of these blocks is final; none is in the last `depth` blocks. */
  | { readonly kind: 'final'; readonly depth: number };

export interface Chain {
  readonly network: NetworkId;
  readonly blockMs: number;
  /**
   * Takes a raw signed transaction. The same bytes get the same answer. Throws ChainRejected or ChainUnavailable.
   */
  submit(raw: Uint8Array, nowMs: number, options?: SubmitOptions): Promise<ChainTransaction>;
  /** undefined: unknown, or older than `retentionMs`. Throws ChainUnavailable. */
  transaction(id: string, nowMs: number): Promise<ChainTransaction | undefined>;
  /**
   * The balances of the address, smallest units: every asset of the network by symbol, EVM: other tokens by contract,
   * lower case. Throws ChainUnavailable.
   */
  balances(address: string): Promise<ReadonlyMap<string, bigint>>;
  /** The effects of mined transactions on an address, in the order of their blocks. Throws ChainUnavailable. */
  movements(address: string, query: StatementQuery, nowMs: number): Promise<readonly ChainMovement[]>;
  /** undefined: this transaction has no such movement at the address, or is older than `keptMs`. Throws ChainUnavailable. */
  movement(
    address: string,
    direction: MovementDirection,
    id: string,
    nowMs: number,
  ): Promise<ChainMovement | undefined>;
  /** undefined: the network has none. Throws ChainUnavailable. */
  market(): Promise<bigint | undefined>;
  /** From now on. `price`: within `feeLimitsOf`. Throws ChainUnavailable. */
  moveMarket(price: bigint): Promise<void>;
  /** Of transactions that are mined from now on. Throws ChainUnavailable. */
  depths(): Promise<Depths>;
  setDepths(depths: Depths): Promise<void>;
  /** The number of the newest block. */
  head(nowMs: number): number;
  /**
   * Undoes the newest `depth` blocks: the next block has their transactions, as they were signed. It never undoes a transaction that is
   * final. Throws ChainUnavailable.
   */
  reorganize(depth: number, nowMs: number): Promise<Reorg>;
  /** Creates money, once per `key`; `by`: as a movement of the address. Throws ChainUnavailable. */
  fund(key: string, address: string, asset: string, units: bigint, by?: FundedBy): Promise<void>;
}

/** The time that the chains store a mined transaction. Balances and nonces stay forever. */
export const retentionMs = 31 * 24 * 3_600_000;

export type ChainRejection =
  | 'invalid_transaction'
  | 'unsupported_transaction'
  | 'invalid_signature'
  | 'wrong_chain'
  | 'gas_too_low'
  | 'gas_too_high'
  | 'fee_too_low'
  | 'fee_too_high'
  | 'nonce_too_low'
  /** Another transaction with this nonce is already waiting, and this one's fees are not high enough to replace it. */
  | 'nonce_used'
  | 'nonce_too_high'
  | 'insufficient_funds'
  /** Solana: an account would hold less than the least that it may. */
  | 'below_rent_exemption'
  /** An input is spent, or never existed. */
  | 'missing_input'
  /** An input is in a waiting transaction, and this one does not pay enough to replace it. */
  | 'input_used'
  /** Bitcoin: it descends from too many transactions that are not mined yet. Submit it again when they are. */
  | 'too_long_chain';

/** The chain refuses the transaction permanently. */
export class ChainRejected extends Error {
  override readonly name = 'ChainRejected';
  readonly code: ChainRejection;

  constructor(code: ChainRejection, message: string) {
    super(message);
    this.code = code;
  }
}

/** The chain does not answer; whether it took a transaction is unknown. Submit it again. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable';
}

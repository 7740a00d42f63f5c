/**
 * What the simulated chains have in common: how a transaction stands, and how a chain says no.
 *
 * There is one chain a network, shared by all tenants. Its blocks are a pure function of time (block-time.ts): no
 * process mines them. A transaction that a chain took counts at once in the balances it answers with; it is final after
 * `confirmationsNeeded` blocks. Fees are burned.
 */
import type { NetworkId } from '../../networks/networks.ts';
import type { Direction, StatementQuery } from '../port/statement.ts';
import type { EvmEffect } from './token-contract.ts';

export interface ChainTransaction {
  /** As explorers name it: 0x… hash, txid, or base58 signature. */
  readonly id: string;
  readonly network: NetworkId;
  readonly from: string;
  readonly to: string;
  /** Symbol; of a contract that is not in the registry its address, lower case. */
  readonly asset: string;
  /** Smallest units of `asset`. */
  readonly units: bigint;
  /** EVM: what it does beside paying its fee. */
  readonly effect?: EvmEffect;
  /** Smallest units of the network's native asset; what is charged, also when the transfer failed. Nothing, if dropped. */
  readonly feeUnits: bigint;
  /** queued: waits for an earlier nonce. dropped: waited too long, and was never mined. pending: its block is not there yet. */
  readonly state: 'queued' | 'dropped' | 'pending' | 'confirming' | 'confirmed';
  /** False for one that was dropped, or mined, cost its fee and moved nothing. */
  readonly succeeded: boolean;
  /** It failed since its account could not pay for it when its turn came. */
  readonly uncovered: boolean;
  /** The rest is undefined while it is queued, and when it was dropped. */
  readonly block: number | undefined;
  readonly minedAtMs: number | undefined;
  readonly confirmedAtMs: number | undefined;
  /** 0 before its block. */
  readonly confirmations: number;
}

/** What a mined transaction did to one address. One that pays its own sender is two movements. */
export interface ChainMovement {
  readonly direction: Direction;
  readonly transaction: ChainTransaction;
  /** What it brought to the address, or was to take from it, without the fee. */
  readonly units: bigint;
}

/** Money that comes from outside of the chain, as the transaction that it is on its network. */
export interface FundedBy {
  readonly txId: string;
  readonly from: string;
  readonly atMs: number;
}

export interface SubmitOptions {
  /** Mined without effect: the fee is gone, nothing moved. So a sandbox can show it on demand. */
  readonly fails?: boolean;
}

export interface Chain {
  readonly network: NetworkId;
  readonly blockMs: number;
  /**
   * Takes a raw signed transaction. The same bytes again are the same answer. Throws ChainRejected or ChainUnavailable.
   */
  submit(raw: Uint8Array, nowMs: number, options?: SubmitOptions): Promise<ChainTransaction>;
  /** undefined: unknown, or older than `retentionMs`. Throws ChainUnavailable. */
  transaction(id: string, nowMs: number): Promise<ChainTransaction | undefined>;
  /**
   * What the address holds, smallest units: of every asset of the network by symbol, EVM: of other tokens by contract,
   * lower case. Throws ChainUnavailable.
   */
  balances(address: string): Promise<ReadonlyMap<string, bigint>>;
  /** What mined transactions did to an address, in the order of their blocks. Throws ChainUnavailable. */
  movements(address: string, query: StatementQuery, nowMs: number): Promise<readonly ChainMovement[]>;
  /** undefined: this transaction did no such thing to the address, or is older than `keptMs`. Throws ChainUnavailable. */
  movement(address: string, direction: Direction, id: string, nowMs: number): Promise<ChainMovement | undefined>;
  /** Money from nowhere, once a `key`; `by`: it is a movement of the address. Throws ChainUnavailable. */
  fund(key: string, address: string, asset: string, units: bigint, by?: FundedBy): Promise<void>;
}

/** How long the chains remember a transaction that was mined. Balances and nonces stay for ever. */
export const retentionMs = 31 * 24 * 3_600_000;

export type ChainRejection =
  | 'invalid_transaction'
  | 'unsupported_transaction'
  | 'invalid_signature'
  | 'wrong_chain'
  | 'gas_too_low'
  | 'fee_too_low'
  | 'nonce_too_low'
  /** Another transaction with this nonce waits already. */
  | 'nonce_used'
  | 'nonce_too_high'
  | 'insufficient_funds'
  /** An input is spent, or was never there. */
  | 'missing_input';

/** The chain refuses the transaction, now and for ever. */
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

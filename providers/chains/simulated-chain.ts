/** What the simulated chains share: a ledger, blocks by the time, and how a stored transaction stands now. */
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import { blockMsDefault, depthOf, nextBlockMs } from './block-time.ts';
import type { ChainTransaction } from './chain.ts';
import type { Ledger, LedgerTransaction } from './ledger.ts';

export abstract class SimulatedChain<L extends Ledger> {
  readonly network: NetworkId;
  readonly nativeAsset: string;
  readonly blockMs: number;
  protected readonly ledger: L;
  /** Blocks, its own among them, after which a transaction is final. */
  protected abstract readonly confirmationsNeeded: number;

  constructor(network: NetworkId, ledger: L, blockMs = blockMsDefault) {
    this.network = network;
    this.nativeAsset = networkOf(network).nativeAsset;
    this.ledger = ledger;
    this.blockMs = blockMs;
  }

  async transaction(id: string, nowMs: number): Promise<ChainTransaction | undefined> {
    const stored = await this.ledger.transaction(id);
    return stored && this.asOf(stored, nowMs);
  }

  balances(address: string): Promise<ReadonlyMap<string, bigint>> {
    return this.ledger.balances(address);
  }

  protected nextBlockMs(nowMs: number): number {
    return nextBlockMs(nowMs, this.blockMs);
  }

  protected asOf(stored: LedgerTransaction, nowMs: number): ChainTransaction {
    const { failed, dropped, minedAtMs, ...rest } = stored;
    const common = { ...rest, network: this.network, succeeded: !failed, minedAtMs };
    if (minedAtMs === undefined) {
      const state = dropped ? 'dropped' : 'queued';
      return { ...common, state, block: undefined, confirmedAtMs: undefined, confirmations: 0 };
    }
    return { ...common, ...depthOf(minedAtMs, nowMs, this.blockMs, this.confirmationsNeeded) };
  }
}

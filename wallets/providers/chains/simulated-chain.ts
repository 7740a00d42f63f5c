/** The common part of the simulated chains: a ledger, blocks by time, and the present state of a stored transaction. */
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import type { MovementDirection, StatementQuery } from '../port/statement.ts';
import { blockMsDefault, depthOf, headOf, nextBlockMs } from './block-time.ts';
import type { ChainMovement, ChainTransaction, Depths, Reorg } from './chain.ts';
import type { Ledger, LedgerMovement, LedgerTransaction } from './ledger.ts';

export abstract class SimulatedChain<L extends Ledger> {
  readonly network: NetworkId;
  readonly nativeAsset: string;
  readonly blockMs: number;
  protected readonly ledger: L;
  /** Blocks, its own among them, after which a transaction is confirmed and final, unless a sandbox sets other numbers. */
  protected abstract readonly depthNeeded: number;

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

  /** Only a chain with a market has one. */
  async market(): Promise<bigint | undefined> {
    return undefined;
  }

  moveMarket(price: bigint): Promise<void> {
    return this.ledger.moveMarket(price);
  }

  async depths(): Promise<Depths> {
    return (await this.ledger.depths()) ?? this.#depthsDefault;
  }

  setDepths(depths: Depths): Promise<void> {
    return this.ledger.setDepths(depths);
  }

  head(nowMs: number): number {
    return headOf(nowMs, this.blockMs).block;
  }

  async reorganize(depth: number, nowMs: number): Promise<Reorg> {
    const { blockMs, depthNeeded: finality } = this;
    const most = (await this.depths()).finality - 1;
    if (depth > most) return { kind: 'final', depth: most };
    const fromMs = headOf(nowMs, blockMs).atMs - (depth - 1) * blockMs;
    return this.ledger.reorganize({ fromMs, nowMs, nextMs: this.nextBlockMs(nowMs), blockMs, finality });
  }

  balances(address: string): Promise<ReadonlyMap<string, bigint>> {
    return this.ledger.balances(this.accountOf(address));
  }

  async movements(address: string, query: StatementQuery, nowMs: number): Promise<readonly ChainMovement[]> {
    const found = await this.ledger.movements(this.accountOf(address), query);
    return found.map((movement) => this.#movementAsOf(movement, nowMs));
  }

  async movement(
    address: string,
    direction: MovementDirection,
    id: string,
    nowMs: number,
  ): Promise<ChainMovement | undefined> {
    const found = await this.ledger.movement(this.accountOf(address), direction, id);
    return found && this.#movementAsOf(found, nowMs);
  }

  #movementAsOf({ transaction, ...effect }: LedgerMovement, nowMs: number): ChainMovement {
    return { ...effect, transaction: this.shown(this.asOf(transaction, nowMs)) };
  }

  get #depthsDefault(): Depths {
    return { confirmations: this.depthNeeded, finality: this.depthNeeded };
  }

  /** A transaction of the ledger in the registry's terms. */
  protected shown(transaction: ChainTransaction): ChainTransaction {
    return transaction;
  }

  /** The ledger's name for the account of an address. */
  protected accountOf(address: string): string {
    return address;
  }

  protected nextBlockMs(nowMs: number): number {
    return nextBlockMs(nowMs, this.blockMs);
  }

  protected asOf(stored: LedgerTransaction, nowMs: number): ChainTransaction {
    const { failed, dropped, replaced, underpriced, minedAtMs, depths = this.#depthsDefault, ...rest } = stored;
    const common = { ...rest, network: this.network, succeeded: !failed, minedAtMs };
    if (minedAtMs === undefined) {
      const state = dropped ? 'dropped' : replaced ? 'replaced' : underpriced ? 'underpriced' : 'queued';
      return { ...common, state, block: undefined, confirmedAtMs: undefined, finalAtMs: undefined, confirmations: 0 };
    }
    // What fails ends its transfer for good, so it is told when nothing undoes it.
    const needed = failed ? { ...depths, confirmations: depths.finality } : depths;
    return { ...common, ...depthOf(minedAtMs, nowMs, this.blockMs, needed) };
  }
}

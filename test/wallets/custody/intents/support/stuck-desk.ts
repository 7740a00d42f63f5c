/** A desk whose wallet lies on a simulated chain with a fee market: everything in memory, and steps as a test takes them. */
import { systemRandom } from '../../../../../core/actors/live/ports.ts';
import type { IntentDependencies } from '../../../../../wallets/custody/intents/dependencies.ts';
import { type IntentRecord, intentType, isSettled } from '../../../../../wallets/custody/intents/record.ts';
import { IntentSteps } from '../../../../../wallets/custody/intents/steps.ts';
import type { NetworkId } from '../../../../../wallets/networks/networks.ts';
import { type Chains, openChains } from '../../../../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../../../../wallets/providers/chains/redis-ledgers.ts';
import { makeSelfHosted } from '../../../../../wallets/providers/self-hosted/adapter.ts';
import type { Balance, TenantStore } from '../../../../../wallets/store/contract.ts';
import { collectLog } from '../../../../support/log.ts';
import { startMemoryStore } from '../../../../support/memory-store.ts';
import { VirtualTimers } from '../../../../support/virtual-timers.ts';
import { connection, type FakeSigner, fakeSigner, metaAt, sepolia } from '../../../providers/self-hosted/support.ts';
import { IntentDesk, startMs } from './desk.ts';

export const gwei = 1_000_000_000n;

export class StuckDesk extends IntentDesk {
  readonly chains: Chains;
  readonly signer: FakeSigner;
  readonly network: NetworkId;
  address = '';

  private constructor(
    store: TenantStore,
    over: Partial<IntentDependencies>,
    { chains, signer, network }: { readonly chains: Chains; readonly signer: FakeSigner; readonly network: NetworkId },
  ) {
    super(store, over);
    this.chains = chains;
    this.signer = signer;
    this.network = network;
  }

  static async start(network: NetworkId = sepolia, more: Partial<IntentDependencies> = {}): Promise<StuckDesk> {
    const memory = startMemoryStore();
    const chains = openChains({ ledgers: redisLedgers(memory.redis) });
    const signer = fakeSigner();
    const adapter = makeSelfHosted({ signer, chains });
    const clock = { nowMs: () => desk.nowMs };
    const over = {
      adapters: new Map([['self_hosted', adapter]]),
      fillGap: adapter.fillGap,
      addressBook: { ownerOf: async () => undefined },
      arrive: async () => {},
      clock,
      timers: new VirtualTimers(),
      random: systemRandom,
      log: collectLog().log,
      environment: 'sandbox',
      ...more,
    } as unknown as IntentDependencies;
    const desk: StuckDesk = new StuckDesk(await memory.open(clock as never), over, { chains, signer, network });
    const order = { walletId: 'wal_1', name: 'w', network };
    const made = await adapter.createWallet(metaAt(startMs), connection(), order);
    desk.address = made.addresses[0]!.address;
    const held = Object.fromEntries(made.balances.map(({ asset, units }) => [asset, units]));
    await desk.open(held, { made, network });
    return desk;
  }

  get chain() {
    return this.chains.of(this.network);
  }

  intent(id: string): Promise<IntentRecord> {
    return this.store.read(this.tenant, intentType, id) as Promise<IntentRecord>;
  }

  /** Lets every intent take its steps, `rounds` blocks long. */
  async run(rounds = 4, deps: IntentDependencies = this.deps): Promise<void> {
    const steps = new IntentSteps(deps);
    for (let round = 0; round < rounds; round += 1) {
      for (const id of await this.#open()) await this.step(id, steps);
      this.nowMs += this.chain.blockMs;
    }
  }

  /** Lets one take its steps. */
  async step(id: string, steps = new IntentSteps(this.deps)): Promise<void> {
    const task = { tenant: this.tenant, id, record: undefined, wallet: undefined, number: null, dueAtMs: 0 };
    await steps.run(task, () => false);
  }

  async #open(): Promise<readonly string[]> {
    const { items } = await this.store.list(this.tenant, intentType, {
      indices: ['intents'],
      order: 'oldest',
      limit: 100,
    });
    return items.filter((intent) => !isSettled(intent)).map(({ id }) => id);
  }

  /** What the wallet has on its chain, in the words of its ledger here when nothing is open. */
  async onChain(asset: string): Promise<Balance> {
    return { available: (await this.chain.balances(this.address)).get(asset)!, reserved: 0n };
  }
}

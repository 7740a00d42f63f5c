/** The receiver of a completed transfer: which wallets are credited, and which holders are brought the money first. */
import { beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../../core/actors/live/ports.ts';
import type { IntentDependencies } from '../../../../wallets/custody/intents/dependencies.ts';
import { creditReceiver } from '../../../../wallets/custody/intents/receiver-credit.ts';
import type { IntentRecord } from '../../../../wallets/custody/intents/record.ts';
import type { Loaded } from '../../../../wallets/custody/intents/step-context.ts';
import type { Arrival } from '../../../../wallets/providers/incoming-transfers.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { startMemoryStore } from '../../../support/memory-store.ts';
import { IntentDesk, network, own, startMs } from './support/desk.ts';

let store: TenantStore;
beforeAll(async () => {
  store = await startMemoryStore().open({ nowMs: () => startMs });
});

const token = { symbol: 'GOLD', name: 'Gold', decimals: 2, network, contract: '0x3', supplyCap: '1000' } as const;
type Kind = 'self_hosted' | 'bitgo';

/** What the wallet of a tenant and its holder get of a transfer of 100 units; `of`: the sender's tenant, by default the same. */
async function credited(from: Kind, to: Kind, over: Partial<IntentRecord>, of?: string) {
  const desk = await new IntentDesk(store).open();
  await desk.changeWallet({ provider: to });
  const arrivals: Arrival[] = [];
  const deps = {
    store,
    adapters: new Map([
      ['self_hosted', { info: { hosting: 'self_hosted' } }],
      ['bitgo', { info: { hosting: 'hosted' } }],
    ]),
    addressBook: { ownerOf: async () => ({ tenant: desk.tenant, walletId: 'wal_1' }) },
    arrive: async (arrival: Arrival) => void arrivals.push(arrival),
    clock: { nowMs: () => startMs },
    random: systemRandom,
  } as unknown as IntentDependencies;
  const record = {
    ...{ id: 'txi_1', kind: 'transfer', provider: from, network, asset: 'ETH', units: '100', fromAddress: '0x2' },
    ...{ destination: { address: own.toUpperCase() }, ...over },
  };
  const credit = () => creditReceiver(deps, { tenant: of ?? desk.tenant, record } as unknown as Loaded, 'tx_1');
  await credit();
  const once = (await desk.balance(record.asset)).available;
  await credit();
  // A step that is repeated credits nothing more.
  expect((await desk.balance(record.asset)).available).toBe(once);
  return [once, arrivals.slice(arrivals.length / 2).map(({ address, units }) => [address, units])];
}

describe('the wallet that a transfer has as its destination', () => {
  const brought = [[own, 100n]];
  it.each([
    ['on the chain of its sender', 'self_hosted', 'self_hosted', []],
    ['of a custodian, from the chain', 'self_hosted', 'bitgo', brought],
    ['on the chain, from a custodian', 'bitgo', 'self_hosted', brought],
    ['of the same custodian', 'bitgo', 'bitgo', brought],
  ] as const)('%s, is credited once; its holder gets what no chain has brought it', async (_, from, to, arrivals) => {
    expect(await credited(from, to, {})).toEqual([100n, arrivals]);
    expect(await credited(from, to, {}, 'tn_other')).toEqual([100n, arrivals]);
  });

  it('is credited units of a tenant’s token if it is that tenant’s and on the chain, and of no deployment or burn', async () => {
    const gold = { asset: 'GOLD', token };
    expect(await credited('self_hosted', 'self_hosted', gold)).toEqual([100n, []]);
    expect(await credited('self_hosted', 'self_hosted', { ...gold, kind: 'mint' })).toEqual([100n, []]);
    expect(await credited('self_hosted', 'self_hosted', gold, 'tn_other')).toEqual([0n, []]);
    expect(await credited('self_hosted', 'bitgo', gold)).toEqual([0n, []]);
    for (const kind of ['deploy', 'burn'] as const) {
      expect(await credited('self_hosted', 'self_hosted', { ...gold, kind })).toEqual([0n, []]);
    }
  });
});

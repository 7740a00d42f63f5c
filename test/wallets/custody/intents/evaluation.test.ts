/** The data of a transfer that its provider and each evaluator get, their order, and the transfers that are refused before. */
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type TokenAssetRecord,
  termsOf,
  tokenAssetId,
  tokenAssetType,
} from '../../../../wallets/custody/assets/token-assets.ts';
import { tokensCapability } from '../../../../wallets/providers/port/port.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { done, startMemoryStore } from '../../../support/memory-store.ts';
import { refusal } from '../../companions/support/handlers.ts';
import { IntentDesk, network, own, somewhere, startMs } from './support/desk.ts';

let store: TenantStore;
beforeAll(async () => {
  store = await startMemoryStore().open({ nowMs: () => startMs });
});

describe('a transfer', () => {
  it('is quoted, screened, scored and decided, each with the facts and the earlier results', async () => {
    const desk = await new IntentDesk(store).open({ ETH: 5_000n });
    const metadata = { order: '7' };
    await desk.transfer({ asset: 'ETH', amount: '0.00000000000000100', policy: 'hot', metadata });
    const shared = { asset: 'ETH', amount: '0.000000000000001', units: 1_000n, toAddress: somewhere, kind: 'transfer' };
    const facts = {
      ...{ ...shared, walletId: 'wal_1', walletName: 'w', connectionId: 'pcn_1', provider: 'self_hosted', network },
      ...{ decimals: 18, fromAddress: own, availableUnits: 5_000n, initiator: 'tok_1', metadata, nowMs: startMs },
      history: { intentsLastHour: 0, intentsLastDay: 0, intentsToDestination: 0 },
    };
    const screened = { id: 'scr_1', decision: 'clear' };
    expect(desk.asked).toMatchObject([
      ['quote', shared],
      ['screen', facts],
      ['assess', facts, screened],
      ['decide', facts, screened, { score: 7 }, ['cold', 'hot']],
    ]);
  });

  it.each([
    ['unspecified', false],
    ['direct_allowed', false],
    ['human_required', true],
  ] as const)('of a wallet in approval mode %s: that a human must approve is %s', async (mode, wantsHuman) => {
    const desk = await new IntentDesk(store).open({}, { approvalMode: mode });
    await desk.transfer({ asset: 'ETH', amount: '1' }, { dry_run: 'true' });
    expect(desk.asked.slice(1)).toHaveLength(3);
    for (const [, facts] of desk.asked.slice(1)) expect(facts).toMatchObject({ wantsHuman });
  });
});

describe('a transfer of a token of the tenant', () => {
  const gold: TokenAssetRecord = {
    ...{ id: tokenAssetId('GOLD'), version: 1, status: 'active', symbol: 'GOLD', name: 'Gold', decimals: 2 },
    ...{ network, contract: somewhere, supplyCap: '1000' },
  };
  const order = { asset: 'GOLD', amount: '1' };

  async function deskOf(token: TokenAssetRecord): Promise<IntentDesk> {
    const desk = await new IntentDesk(store).open({ GOLD: 100n, ETH: 42n });
    desk.capabilities.push(tokensCapability);
    await done(store, desk.tenant, { puts: [create(tokenAssetType, token)] });
    return desk;
  }
  const freeze = ({ tenant }: IntentDesk) =>
    done(store, tenant, { puts: [update(tokenAssetType, gold, { ...gold, version: 2, status: 'frozen' })] });

  it('is quoted with the terms of the token, which a transfer of a listed asset has not', async () => {
    const desk = await deskOf(gold);
    expect(await desk.transfer(order)).toMatchObject({
      status: 'approved',
      token: { symbol: 'GOLD', supply_cap: '10' },
    });
    expect(desk.asked[0]).toMatchObject(['quote', { asset: 'GOLD', units: 100n, token: termsOf(gold) }]);
    expect(await desk.balance('GOLD')).toEqual({ available: 0n, reserved: 100n });
    await desk.transfer({ asset: 'ETH', amount: '1' }, { dry_run: 'true' });
    expect(desk.asked[4]).toMatchObject(['quote', { asset: 'ETH' }]);
    expect(desk.asked[4]![1]).not.toHaveProperty('token');
  });

  it('is refused before any evaluation where it cannot move: with a provider without tokens, frozen, or not deployed', async () => {
    const without = await deskOf(gold);
    without.capabilities.length = 0;
    await expect(without.transfer(order)).rejects.toEqual(refusal('providerRejected', 'asset', 'unsupported_asset'));
    const frozen = await deskOf({ ...gold, status: 'frozen' });
    await expect(frozen.transfer(order)).rejects.toEqual(refusal('conflict', 'asset', 'frozen'));
    const early = await deskOf({ ...gold, status: 'deploying' });
    await expect(early.transfer(order)).rejects.toEqual(refusal('invalidRequest', 'asset', 'unknown_asset'));
    expect([without.asked, frozen.asked, early.asked]).toEqual([[], [], []]);
  });

  it('that is frozen while the policies decide is not created', async () => {
    const desk = await deskOf(gold);
    desk.deciding = () => freeze(desk);
    await expect(desk.transfer(order)).rejects.toThrow('conflict');
    expect(await desk.balance('GOLD')).toEqual({ available: 100n, reserved: 0n });
  });
});

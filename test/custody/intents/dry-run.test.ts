/** What a dry run says of a wallet's funds, to the last unit, and of the policies that decide. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type ConnectionRecord, connectionType } from '../../../custody/connections/record.ts';
import type { IntentDependencies } from '../../../custody/intents/dependencies.ts';
import { intentRoutes } from '../../../custody/intents/routes.ts';
import { walletFrom } from '../../../custody/wallets/new-wallet.ts';
import { walletType } from '../../../custody/wallets/record.ts';
import { create } from '../../../store/changes.ts';
import type { TenantStore } from '../../../store/contract.ts';
import { call, contextAt, refusal } from '../../modules/support/handlers.ts';
import { done, newTenant, startMemoryStore } from '../../support/memory-store.ts';

const startMs = Date.UTC(2026, 5, 15, 12);
const network = 'eip155:11155111';
const fee = { asset: 'ETH', units: 42n };
const somewhere = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
let store: TenantStore;
beforeAll(async () => {
  store = await startMemoryStore().open({ nowMs: () => startMs });
});

/** The answer to a dry run of a wallet that holds so many units, and the names of policies that were asked. */
async function dryRun(held: Readonly<Record<string, bigint>>, body: object, decision: object = { decision: 'allow' }) {
  const tenant = newTenant();
  const times = { createdAtMs: startMs, updatedAtMs: startMs };
  const connection: ConnectionRecord = {
    ...{ id: 'pcn_1', version: 1, provider: 'self_hosted', name: 'c', environment: 'sandbox', status: 'connected' },
    ...{ capabilities: [], credentials: '', credentialFingerprint: '', metadata: {}, lastSyncedAtMs: null, ...times },
  };
  const addresses = [{ network, address: `0x${'1'.repeat(40)}` }] as const;
  const made = { providerWalletId: 'wal_1', publicKey: null, addresses, balances: [] };
  const order = { id: 'wal_1', name: 'w', connection, network, made, nowMs: startMs, policy: 'cold' } as const;
  await done(store, tenant, {
    puts: [create(connectionType, connection), create(walletType, walletFrom({ ...order, signingApi: 'allowed' }))],
    ledger: Object.entries(held).map(([asset, available]) => ({ walletId: 'wal_1', asset, available, reserved: 0n })),
  });
  const asked: (readonly string[])[] = [];
  const deps = {
    adapters: new Map([['self_hosted', { info: { capabilities: [] }, quote: async () => ({ fee }) }]]),
    evaluators: {
      screen: async () => ({ result: { id: 'scr_1', decision: 'clear', riskScore: 0, matches: [] }, change: {} }),
      assess: async () => ({
        result: { txId: 'txi_1', score: 7, level: 'low', action: 'allow', factors: [] },
        change: {},
      }),
      decide: async (...[, , , , names]: readonly unknown[]) => {
        asked.push(names as readonly string[]);
        const policy = { name: 'cold', id: 'pol_1', version: 2 };
        return {
          result: { id: 'dec_1', policy, matchedRules: ['r'], trace: [], reason: 'why', ...decision },
          change: {},
        };
      },
    },
  };
  const routes = intentRoutes(deps as unknown as IntentDependencies, { enqueue: () => {} } as never);
  const answer = await call(routes, 'createTransactionIntent', contextAt(startMs, store, { tenant }), {
    params: { id: 'wal_1' },
    query: { dry_run: 'true' },
    body: { destination: { address: somewhere }, ...body },
  });
  return { answer, asked };
}

const wei = { asset: 'ETH', amount: '0.000000000000001' };
const usdc = { asset: 'USDC', amount: '0.001' };

describe('a dry run', () => {
  it.each([
    ['an amount and its fee of one asset', wei, { ETH: 1_042n }, true],
    ['one unit less', wei, { ETH: 1_041n }, false],
    ['an amount and a fee of two assets', usdc, { USDC: 1_000n, ETH: 42n }, true],
    ['one unit less of the amount', usdc, { USDC: 999n, ETH: 42n }, false],
    ['one unit less of the fee', usdc, { USDC: 1_000n, ETH: 41n }, false],
    ['nothing', wei, {}, false],
  ] as const)('says whether a wallet covers it that holds %s', async (_, body, held, sufficient) => {
    expect((await dryRun(held, body)).answer.sufficient_funds).toBe(sufficient);
  });

  it('asks the policy of the wallet and that of the request, and shows what each evaluator said', async () => {
    expect((await dryRun({}, wei)).asked).toEqual([['cold']]);
    const approvals = { quorum: 2, approvers: ['tok_8', 'tok_9'], timeoutS: 60 };
    const { answer, asked } = await dryRun({}, { ...wei, policy: 'hot' }, { decision: 'require_approval', approvals });
    expect(asked).toEqual([['cold', 'hot']]);
    expect(answer).toMatchObject({
      ...{ dry_run: true, decision: 'require_approval', status: 'pending_approval', reason: 'why' },
      ...{ approvals_required: 2, approvers: ['tok_8', 'tok_9'], matched_rules: ['r'], dry_run_policy: null },
      ...{ asset: 'ETH', amount: '0.000000000000001', fee: { asset: 'ETH', reserved: '0.000000000000000042' } },
      ...{ policy: { name: 'cold', id: 'pol_1', version: 2 }, also_policies: [], risk: { score: 7, level: 'low' } },
    });
    expect((await dryRun({}, wei, { decision: 'deny' })).answer).toMatchObject({
      status: 'denied',
      approvals_required: 0,
    });
  });

  it('names every fault of a transfer at once', async () => {
    const faults = dryRun({}, { asset: 'BTC', amount: '1e3', destination: { address: '0x1' } });
    for (const [field, issue] of [
      ['asset', 'not_allowed_value'],
      ['amount', 'invalid_format'],
      ['destination.address', undefined],
    ] as const) {
      await expect(faults).rejects.toEqual(refusal('invalidRequest', field, issue));
    }
    await expect(dryRun({}, { ...wei, asset: 'NONE' })).rejects.toEqual(
      refusal('invalidRequest', 'asset', 'unknown_asset'),
    );
    await expect(dryRun({}, { ...usdc, amount: '0.0000001' })).rejects.toEqual(
      refusal('invalidRequest', 'amount', 'too_many_decimals'),
    );
  });
});

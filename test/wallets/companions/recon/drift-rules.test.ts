/** Which drifts a sandbox takes, to their edges: over a store in memory, and a provider's statements that the test writes. */
import { beforeAll, describe, expect, it } from 'vitest';
import { systemPorts } from '../../../../core/actors/live/ports.ts';
import { driftRoutes } from '../../../../wallets/companions/recon/drift-routes.ts';
import { type ConnectionRecord, connectionType } from '../../../../wallets/custody/connections/record.ts';
import { type IntentRecord, intentType } from '../../../../wallets/custody/intents/record.ts';
import { walletFrom } from '../../../../wallets/custody/wallets/new-wallet.ts';
import { walletType } from '../../../../wallets/custody/wallets/record.ts';
import type { Movement, ProviderStatements, StatementPage } from '../../../../wallets/providers/port/statement.ts';
import type { Drift } from '../../../../wallets/providers/simulated/drift.ts';
import { create } from '../../../../wallets/store/changes.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { done, newTenant, startMemoryStore } from '../../../support/memory-store.ts';
import { type Caller, call, contextAt, refusal } from '../support/handlers.ts';

const nowMs = Date.UTC(2026, 5, 15, 12);
const time = (ms: number) => new Date(ms).toISOString();
const network = 'eip155:11155111';
let store: TenantStore;
beforeAll(async () => {
  store = await startMemoryStore().open({ nowMs: () => nowMs });
});

// biome-ignore lint/suspicious/noExplicitAny: the service's own JSON, of which a test reads a field or two
type Json = any;

const movement = (key: string, asset = 'ETH', direction = 'in') => ({ key, asset, direction }) as Movement;

/** A tenant with the connections pcn_1 and pcn_2, a wallet of each, and a transfer of the first. */
class Desk {
  readonly tenant = newTenant();
  drifts: Drift[] = [];
  joinsBy: ProviderStatements['joinsBy'] = 'reference';
  pages: readonly (readonly Movement[])[] = [[]];
  /** Movements by their key. */
  readonly found = new Map<string, Movement>();

  async open(): Promise<this> {
    const puts = ['1', '2'].flatMap((of) => {
      const connection: ConnectionRecord = {
        ...{
          id: `pcn_${of}`,
          version: 1,
          provider: of === '1' ? 'sandbox' : 'bitgo',
          name: of,
          environment: 'sandbox',
        },
        ...{ status: 'connected', capabilities: [], credentials: '', credentialFingerprint: '', metadata: {} },
        ...{ lastSyncedAtMs: null, createdAtMs: nowMs, updatedAtMs: nowMs },
      };
      const made = { providerWalletId: 'p', publicKey: null, addresses: [], balances: [] };
      const wallet = { id: `wal_${of}`, name: of, connection, network, made, nowMs, signingApi: 'allowed' } as const;
      return [create(connectionType, connection), create(walletType, walletFrom(wallet))];
    });
    const intents = [
      ['txi_1', 'wal_1', '0xtx'],
      ['txi_2', 'wal_2', '0xtx'],
      ['txi_new', 'wal_1', null],
    ].map(([id, walletId, providerTxId]) =>
      create(intentType, {
        id,
        version: 1,
        walletId,
        providerTxId,
        ...{ destination: {}, metadata: {} },
        status: 'signing',
      } as unknown as IntentRecord),
    );
    await done(store, this.tenant, { puts: [...puts, ...intents] });
    return this;
  }

  call(operation: string, input: object, who: Omit<Caller, 'tenant'> = {}): Promise<Json> {
    const statements: Pick<ProviderStatements, 'joinsBy' | 'page' | 'find'> = {
      joinsBy: this.joinsBy,
      page: async (_meta, _wallet, { after = '0' }): Promise<StatementPage> => {
        const next = Number(after) + 1;
        return { movements: this.pages[next - 1]!, next: next < this.pages.length ? String(next) : undefined };
      },
      find: async (_meta, _wallet, direction, keys) =>
        keys.map((key) => [this.found.get(key) ?? []].flat().filter((each) => each.direction === direction)),
    };
    const drifts = {
      put: async (_: string, drift: Drift) => void this.drifts.push(drift),
      list: async () => this.drifts,
      remove: async (_: string, ids: readonly string[]) => {
        this.drifts = this.drifts.filter(({ id }) => !ids.includes(id));
      },
    };
    const deps = {
      drifts,
      statements: new Map([['sandbox', statements]]),
      timers: systemPorts.timers,
      isSandbox: true,
    };
    const routes = driftRoutes(deps as unknown as Parameters<typeof driftRoutes>[0]);
    return call(routes, operation, contextAt(nowMs, store, { tenant: this.tenant, ...who }), input);
  }

  add(body: object, id = 'pcn_1', who: Omit<Caller, 'tenant'> = {}): Promise<Json> {
    return this.call('addReconDrift', { params: { id }, body: { wallet_id: 'wal_1', ...body } }, who);
  }
}

const open = () => new Desk().open();

it('outside of a sandbox there are no drifts', () => {
  expect(driftRoutes({ isSandbox: false } as Parameters<typeof driftRoutes>[0])).toEqual([]);
});

it('a drift is of a wallet of the named connection, which the token sees and whose provider gives statements', async () => {
  const desk = await open();
  for (const [id, wallet_id, who] of [
    ['pcn_3', 'wal_1', {}],
    ['wal_1', 'wal_1', {}],
    ['pcn_2', 'wal_1', {}],
    ['pcn_2', 'wal_2', {}],
    ['pcn_1', 'wal_3', {}],
    ['pcn_1', 'wal_1', { providerConnectionIds: ['pcn_2'] }],
  ] as const) {
    await expect(desk.add({ kind: 'silent', wallet_id }, id, who)).rejects.toEqual(refusal('notFound'));
  }
  expect(desk.drifts).toEqual([]);
  await desk.add({ kind: 'silent' }, 'pcn_1', { providerConnectionIds: ['pcn_1'] });
  expect(desk.drifts).toHaveLength(1);
});

it('a tenant has at most 1,000 of them', async () => {
  const desk = await open();
  desk.drifts = Array.from({ length: 999 }, () => ({}) as Drift);
  await desk.add({ kind: 'silent' });
  await expect(desk.add({ kind: 'silent' })).rejects.toEqual(refusal('conflict'));
  expect(desk.drifts).toHaveLength(1_000);
});

it.each([
  [{ kind: 'extra' }, { asset: 'ETH', amount: '1', until: null, direction: 'out' }],
  [
    { kind: 'extra', asset: 'USDC', amount: '2.5' },
    { asset: 'USDC', amount: '2.5', until: null, direction: 'out' },
  ],
  [
    { kind: 'silent', asset: 'USDC', amount: '2.5' },
    { asset: 'USDC', amount: null, until: null },
  ],
  [
    { kind: 'amount', amount: '0.5' },
    { movement: 'k', direction: 'in', amount: '0.5', until: null },
  ],
  [
    { kind: 'missing', asset: 'USDC' },
    { movement: 'k', direction: 'in', asset: 'ETH', amount: null, until: null },
  ],
  [{ kind: 'late' }, { movement: 'k', amount: null, until: time(nowMs + 3_600_000) }],
  [{ kind: 'late', delay_s: 5 }, { until: time(nowMs + 5_000) }],
])('%j is shown as %j', async (body, expected) => {
  const desk = await open();
  desk.pages = [[movement('k')]];
  const made = await desk.add(body);
  expect(made).toMatchObject({ kind: body.kind, wallet_id: 'wal_1', created_at: time(nowMs), ...expected });
  const ofItsOwn = body.kind === 'extra' || body.kind === 'silent';
  expect(made.movement).toBe(ofItsOwn ? `drift-${made.id}` : 'k');
});

it.each([
  [{ kind: 'extra', asset: 'BTC' }, 'asset', 'unknown_asset'],
  [{ kind: 'extra', asset: 'GOLD' }, 'asset', 'unknown_asset'],
  [{ kind: 'extra', amount: '0' }, 'amount', 'must_be_positive'],
  [{ kind: 'extra', asset: 'USDC', amount: '0.0000001' }, 'amount', 'too_many_decimals'],
])('%j is not taken', async (body, field, issue) => {
  await expect((await open()).add(body)).rejects.toEqual(refusal('invalidRequest', field, issue));
});

describe('the movement that a drift changes', () => {
  it('is the newest one of all pages, without tokens of tenants', async () => {
    const desk = await open();
    desk.pages = [
      [movement('a'), movement('b')],
      [movement('b2'), movement('c'), movement('d', 'GOLD')],
      [movement('e', 'TIN')],
    ];
    expect((await desk.add({ kind: 'missing' })).movement).toBe('c');
    desk.pages = [[movement('d', 'GOLD')], []];
    await expect(desk.add({ kind: 'missing' })).rejects.toEqual(refusal('conflict'));
  });

  it.each([
    ['reference', 'txi_1'],
    ['tx_id', '0xtx'],
  ] as const)('is that of a named transfer, by its %s', async (joinsBy, key) => {
    const desk = await open();
    desk.joinsBy = joinsBy;
    const named = (transaction_intent_id: string) => desk.add({ kind: 'status', transaction_intent_id });
    await expect(named('txi_1')).rejects.toEqual(refusal('conflict'));
    desk.found.set(key, movement(key, 'USDC', 'out'));
    expect(await named('txi_1')).toMatchObject({ movement: key, asset: 'USDC', direction: 'out' });
    for (const id of ['txi_2', 'txi_none']) await expect(named(id)).rejects.toEqual(refusal('notFound'));
    await expect(named('txi_new')).rejects.toEqual(refusal('conflict'));
    desk.found.set(key, movement(key, 'GOLD', 'out'));
    await expect(named('txi_1')).rejects.toEqual(refusal('conflict'));
  });
});

it('the drifts of one connection are listed and removed, and no others', async () => {
  const desk = await open();
  await desk.add({ kind: 'silent' });
  desk.drifts.push({ ...desk.drifts[0]!, id: 'rcd_other', connectionId: 'pcn_2' });
  const listed = async (id: string) =>
    (await desk.call('listReconDrifts', { params: { id } })).drifts.map((drift: Json) => drift.id);
  expect([await listed('pcn_1'), await listed('pcn_2')]).toEqual([[desk.drifts[0]!.id], ['rcd_other']]);
  await desk.call('removeReconDrifts', { params: { id: 'pcn_1' } });
  expect(desk.drifts.map(({ id }) => id)).toEqual(['rcd_other']);
  for (const operation of ['listReconDrifts', 'removeReconDrifts']) {
    await expect(desk.call(operation, { params: { id: 'pcn_3' } })).rejects.toEqual(refusal('notFound'));
  }
});

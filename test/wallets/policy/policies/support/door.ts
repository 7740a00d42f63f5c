/** The judges' routes behind a real HTTP door, on a real Redis. Every door is a gateway of its own. */

import type { FastifyInstance } from 'fastify';
import { silentLog } from '../../../../../core/actors/live/ports.ts';
import type { RequestContext, Route } from '../../../../../gateway/api/route.ts';
import { newId } from '../../../../../proto/ids.ts';
import { type IntentRecord, intentType } from '../../../../../wallets/custody/intents/record.ts';
import { type WalletRecord, walletType } from '../../../../../wallets/custody/wallets/record.ts';
import { eventRoutes } from '../../../../../wallets/delivery/events/routes.ts';
import { complianceRoutes } from '../../../../../wallets/policy/compliance/routes.ts';
import { policyRoutes } from '../../../../../wallets/policy/policies/routes.ts';
import { receiptRoutes } from '../../../../../wallets/policy/receipts/routes.ts';
import { receiptSigner } from '../../../../../wallets/policy/receipts/signer.ts';
import { riskRoutes } from '../../../../../wallets/policy/risk/routes.ts';
import type { RecordType, TenantStore, Versioned } from '../../../../../wallets/store/contract.ts';
import { callJson, type JsonAnswer, type MemoryTokens } from '../../../../support/gateway.ts';
import { ledgerEntry } from '../../../../support/ledger-entry.ts';
import { restApp } from '../../../../support/rest-app.ts';
import { type StoreUnderTest, startStore } from '../../../../support/store.ts';

export const signer = receiptSigner(new Uint8Array(32).fill(9));

export const judgeRoutes: readonly Route[] = [
  ...policyRoutes(signer),
  ...riskRoutes(),
  ...complianceRoutes(),
  ...receiptRoutes(signer),
  ...eventRoutes(),
];

export interface Door {
  readonly app: FastifyInstance;
  readonly tokens: MemoryTokens;
  readonly store: TenantStore;
  call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object, token?: string): Promise<JsonAnswer>;
  get(path: string, token?: string): Promise<JsonAnswer>;
  post(path: string, body: object, token?: string): Promise<JsonAnswer>;
}

export interface World {
  readonly under: StoreUnderTest;
  /** A new tenant and its token; the default token of every door that is opened afterwards. */
  open(): Promise<Door>;
  readonly tenant: string;
  readonly token: string;
  newTenant(): void;
  stop(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  const under = await startStore();
  const apps: FastifyInstance[] = [];
  let count = 0;
  const world = {
    under,
    tenant: '',
    token: '',
    newTenant: () => {
      count += 1;
      world.tenant = `tn_${count}`;
      world.token = `svc_sk_test_judge${String(count).padStart(12, '0')}`;
    },
    open: async (): Promise<Door> => {
      const store = await under.open();
      const { app, tokens } = await restApp({ routes: judgeRoutes, store });
      apps.push(app);
      tokens.put(world.token, { id: 'tok_admin', tenant: world.tenant });
      const own = world.token;
      const call: Door['call'] = (method, url, body, token = own) => callJson(app, { method, url, token, body });
      return {
        app,
        tokens,
        store,
        call,
        get: (path, token) => call('GET', path, undefined, token),
        post: (path, body, token) => call('POST', path, body, token),
      };
    },
    stop: async () => {
      for (const app of apps) await app.close();
      await under.stop();
    },
  };
  world.newTenant();
  return world;
}

let made = 0;

export function idOf(prefix: Parameters<typeof newId>[0]): string {
  made += 1;
  const bytes = Buffer.alloc(10);
  bytes.writeUInt32BE(made * 16, 6);
  return newId(prefix, Date.now(), () => new Uint8Array(bytes));
}

/** A funded wallet, put straight into the store. */
export async function putWallet(
  store: TenantStore,
  tenant: string,
  over: Partial<WalletRecord> = {},
): Promise<WalletRecord> {
  const wallet: WalletRecord = {
    id: idOf('wal'),
    version: 1,
    name: 'treasury',
    provider: 'sandbox',
    connectionId: idOf('pcn'),
    providerWalletId: 'w1',
    status: 'active',
    environment: 'sandbox',
    network: 'eip155:11155111',
    addresses: [{ network: 'eip155:11155111', address: '0x1111111111111111111111111111111111111111' }],
    publicKey: null,
    assets: ['ETH'],
    approvalMode: 'unspecified',
    signingApi: 'allowed',
    policy: null,
    externalId: null,
    metadata: {},
    createdAtMs: 0,
    updatedAtMs: 0,
    archivedAtMs: null,
    archiveReason: null,
    ...over,
  };
  const outcome = await store.commit(tenant, {
    puts: [{ type: walletType as unknown as RecordType<Versioned>, before: undefined, after: wallet }],
    ledger: [ledgerEntry(wallet.id, 'ETH', 10n ** 20n)],
  });
  if (!outcome.committed) throw new Error('the wallet was refused');
  return wallet;
}

/** An intent of the wallet that was approved, put straight into the store. */
export async function putIntent(
  store: TenantStore,
  tenant: string,
  wallet: WalletRecord,
  over: Partial<IntentRecord> = {},
): Promise<IntentRecord> {
  const now = Date.now();
  const intent: IntentRecord = {
    id: idOf('txi'),
    version: 1,
    kind: 'transfer',
    walletId: wallet.id,
    connectionId: wallet.connectionId,
    provider: wallet.provider,
    network: wallet.network,
    status: 'approved',
    subStatus: null,
    asset: 'ETH',
    amount: '1',
    units: (10n ** 18n).toString(),
    fromAddress: wallet.addresses[0]!.address,
    destination: { address: '0x52908400098527886E0F7030069857D2E4169EE7' },
    feeReserve: { asset: 'ETH', units: '0' },
    feePaid: null,
    policy: { name: 'default', id: 'pol_1', version: 1 },
    decisionId: 'dec_1',
    policyReceipt: null,
    riskScore: 0,
    screeningId: null,
    initiator: 'tok_maker',
    approvals: [],
    approvalsRequired: 0,
    approvers: [],
    providerTxId: null,
    providerStatus: null,
    providerError: null,
    submission: null,
    attempts: 0,
    metadata: { purpose: 'payroll' },
    correlationId: 'cor_1',
    statusHistory: [],
    createdAtMs: now,
    updatedAtMs: now,
    expiresAtMs: now + 1_000,
    ...over,
  };
  const type = intentType as unknown as RecordType<Versioned>;
  const outcome = await store.commit(tenant, { puts: [{ type, before: undefined, after: intent }] });
  if (!outcome.committed) throw new Error('the intent was refused');
  return intent;
}

/** What the judges are called with when no HTTP door is between. */
export function contextOf(store: TenantStore, tenant: string, over: Partial<RequestContext> = {}): RequestContext {
  return {
    tenant,
    principal: {
      tenant,
      environment: 'sandbox',
      scopes: new Set(),
      tokenId: 'tok_maker',
      actorId: 'tok_maker',
      providerConnectionIds: undefined,
    },
    requestId: 'req_1',
    traceparent: '',
    store,
    log: silentLog,
    nowMs: Date.now(),
    cursorKey: new Uint8Array(32),
    newId: (prefix) => idOf(prefix),
    ...over,
  };
}

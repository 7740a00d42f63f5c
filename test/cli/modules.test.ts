/** `signmesh modules`, on a real Redis. */
import { rmSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { ensureClusterMaterial, readSecret, secretFiles } from '../../cli/cluster-files/cluster-material.ts';
import { run } from '../../cli/modules.ts';
import { systemPorts } from '../../core/actors/live/ports.ts';
import { newId } from '../../proto/ids.ts';
import { ask } from '../../wallets/companions/access/decide.ts';
import { moduleRefusal } from '../../wallets/companions/access/gate.ts';
import { readAccess } from '../../wallets/companions/access/record.ts';
import { RedisTenantStore } from '../../wallets/store/redis-tenant-store.ts';
import { openDatabase, type RedisDatabase } from '../support/redis-database.ts';
import { storePorts } from '../support/store-ports.ts';
import { keptFolder } from './support/temporary.ts';

let server: RedisDatabase;
let redis: Redis;
let store: RedisTenantStore;
let dataDir: string;
let out = '';

beforeAll(async () => {
  server = await openDatabase();
  redis = new Redis(server.url);
  dataDir = keptFolder();
  ensureClusterMaterial(dataDir, 3, 5, 'sandbox');
  store = new RedisTenantStore(redis, { ...storePorts, recordKey: readSecret(dataDir, secretFiles.gatewayRecord) });
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});
beforeEach(() => {
  out = '';
  vi.stubEnv('REDIS_URL', server.url);
  vi.stubEnv('SIGNMESH_DATA_DIR', dataDir);
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await redis.flushdb();
});

/** As a tenant of a sandbox whose operator decides by hand. */
async function asked(tenant: string, module: 'vaults' | 'tokens', isAutomatic = false): Promise<string> {
  const { clock, random } = systemPorts;
  const nowMs = clock.nowMs();
  const reporter = { nowMs, requestId: 'req_1', newId: (prefix: 'acr') => newId(prefix, nowMs, random) } as never;
  const { request, change } = ask(await readAccess(store, tenant), module, 'to try it', isAutomatic, reporter);
  expect((await store.commit(tenant, change ?? {})).committed).toBe(true);
  return request.status;
}

const access = { isAutomatic: false, openTenant: undefined };
const isOpen = async (tenant: string) => (await moduleRefusal(access, store, tenant, 'vaults')) === undefined;
const statusOf = async (tenant: string) => (await readAccess(store, tenant)).requests.map(({ status }) => status);

test('lists the requests of all tenants, and of one', async () => {
  await asked('tn_b', 'tokens');
  await asked('tn_a', 'vaults');
  expect(await run(['list'])).toBe(0);
  expect(out).toMatch(/^tn_a {2}vaults {2}pending {2}acr_\S+ {2}\S+Z {2}"to try it"\ntn_b {2}tokens {2}pending /);
  out = '';
  await run(['list', '--tenant', 'tn_b', '--json']);
  expect(JSON.parse(out).access_requests).toMatchObject([{ tenant: 'tn_b', module: 'tokens', status: 'pending' }]);
});

test('grants and takes back, and gateways follow at once', async () => {
  await asked('tn_a', 'vaults');
  expect(await isOpen('tn_a')).toBe(false);
  await run(['grant', 'vaults', '--tenant', 'tn_a', '--note', 'welcome']);
  expect(await isOpen('tn_a')).toBe(true);
  await run(['grant', 'vaults', '--tenant', 'tn_a']);
  await run(['deny', 'vaults', '--tenant', 'tn_a']);
  expect(await isOpen('tn_a')).toBe(false);
  const { events } = await store.events('tn_a', { afterSequence: 0, limit: 10, types: [] });
  expect(events.map(({ type }) => type.split('.')[1])).toEqual(['requested', 'granted', 'denied']);
});

test('what was denied by hand is not granted automatically afterwards', async () => {
  expect(await asked('tn_a', 'vaults', true)).toBe('granted');
  await run(['deny', 'vaults', '--tenant', 'tn_a']);
  expect(await asked('tn_a', 'vaults', true)).toBe('pending');
});

test('grants without a request, and denies none that was never made', async () => {
  await run(['grant', 'vaults', '--tenant', 'tn_c']);
  expect(await isOpen('tn_c')).toBe(true);
  await expect(run(['deny', 'tokens', '--tenant', 'tn_c'])).rejects.toThrow('has no request for tokens');
  expect(await statusOf('tn_c')).toEqual(['granted']);
});

test.each([
  [['grant', 'vaults'], '--tenant'],
  [['grant', 'risk', '--tenant', 'tn_a'], 'vaults, treasury, tokens'],
  [['grant', 'vaults', '--tenant', 'a b'], '64 characters'],
])('refuses %j', async (args, words) => {
  await expect(run(args)).rejects.toThrow(words);
});

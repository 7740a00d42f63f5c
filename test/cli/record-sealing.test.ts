/** The data directory says whether what an earlier version stored still has to get its MACs; Redis does not. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ensureClusterMaterial, readSecret, secretFiles } from '../../cli/cluster-files/cluster-material.ts';
import { dataFormat } from '../../cli/cluster-files/data-format.ts';
import { isToSeal } from '../../cli/cluster-files/record-sealing.ts';
import { readSandbox, sandboxTenant } from '../../cli/cluster-files/sandbox.ts';
import { sealOnce } from '../../cli/redis/seal-records.ts';
import { Snapshots } from '../../cli/up/snapshots.ts';
import { hashToken } from '../../gateway/auth/token-format.ts';
import { TokenStore } from '../../gateway/auth/token-store.ts';
import { IntentDriver } from '../../wallets/custody/intents/driver.ts';
import type { Evaluators } from '../../wallets/custody/intents/evaluators.ts';
import { intentType } from '../../wallets/custody/intents/record.ts';
import { VoteSeal } from '../../wallets/custody/intents/votes.ts';
import { receiptSigner } from '../../wallets/policy/receipts/public.ts';
import { openChains } from '../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../wallets/providers/chains/redis-ledgers.ts';
import { makeSelfHosted } from '../../wallets/providers/self-hosted/adapter.ts';
import { RedisAddressBook } from '../../wallets/store/redis-address-book.ts';
import { RedisTenantStore } from '../../wallets/store/redis-tenant-store.ts';
import { collectLog } from '../support/log.ts';
import { startRedis } from '../support/redis.ts';
import { startStore } from '../support/store.ts';
import { storePorts } from '../support/store-ports.ts';
import { until } from '../support/until.ts';
import { fakeSigner } from '../wallets/providers/self-hosted/support.ts';
import { temporaryFolder } from './support/temporary.ts';

const six = fileURLToPath(new URL('./fixtures/data-format-6', import.meta.url));

test('a new directory has its key, and takes nothing without a MAC', () => {
  const dataDir = temporaryFolder();
  ensureClusterMaterial(dataDir, 2, 5, 'sandbox');
  expect(readSecret(dataDir, secretFiles.gatewayRecord)).toHaveLength(32);
  expect(isToSeal(dataDir)).toBe(false);
});

test('a directory of format 6 seals at its first start alone', async () => {
  const under = await startStore();
  const dataDir = join(temporaryFolder(), 'six');
  cpSync(six, dataDir, { recursive: true });
  ensureClusterMaterial(dataDir, undefined, 5, 'sandbox');
  expect(JSON.parse(readFileSync(join(dataDir, 'cluster.json'), 'utf8'))).toMatchObject({ data_format: dataFormat });
  expect(isToSeal(dataDir)).toBe(true);
  const tokenKey = readSecret(dataDir, secretFiles.gatewayToken);
  const tokens = new TokenStore(under.redis, tokenKey, storePorts);
  const old = async () => {
    const { token } = await tokens.issueToken({ tenant: 'acme', environment: 'sandbox', scopes: ['wallets:read'] });
    const hash = hashToken(token, tokenKey);
    await under.redis.hdel(`sm:tok:${hash}`, 'mac');
    return hash;
  };
  const first = await old();
  expect(await sealOnce(dataDir, under.redis)).toEqual({ tokens: 1, records: 0 });
  expect(await tokens.lookup(first)).toMatchObject({ tenant: 'acme' });
  // Another start, and an emptied Redis, change nothing.
  const later = await old();
  ensureClusterMaterial(dataDir, undefined, 5, 'sandbox');
  expect(await sealOnce(dataDir, under.redis)).toBeUndefined();
  await expect(tokens.lookup(later)).rejects.toThrow('revoke it');
  // Without the note nothing is taken either.
  rmSync(join(dataDir, 'gateway/records.json'));
  expect(isToSeal(dataDir)).toBe(false);
  await under.stop();
});

test('a snapshot of format 6 is restored: its tokens count, and its open transfers fail by name, unsigned', async () => {
  const server = await startRedis();
  const under = await startStore(server);
  const dataDir = join(temporaryFolder(), 'six');
  cpSync(six, dataDir, { recursive: true });
  mkdirSync(join(dataDir, 'run'));
  ensureClusterMaterial(dataDir, undefined, 5, 'sandbox');
  await sealOnce(dataDir, under.redis);
  const [id = ''] = readdirSync(join(dataDir, 'snapshots'));
  const snapshots = new Snapshots({
    ...{ dataDir, nodes: ['node/1', 'node/2'], redisUrl: server.url },
    // No process of the cluster runs.
    processes: { names: [], of: () => [], list: () => [] } as never,
    ...{ untilLinked: async () => undefined, makeReadyKeys: async () => undefined },
  });
  const { takenMs } = snapshots.list()[0]!;
  // Soon after it was taken: later its transfers would be over.
  const now = vi.spyOn(Date, 'now').mockImplementation(() => takenMs + Math.floor(performance.now()));
  onTestFinished(() => now.mockRestore());
  await snapshots.restore(id);

  const [tokenKey, recordKey, receiptKey] = [
    readSecret(dataDir, secretFiles.gatewayToken),
    readSecret(dataDir, secretFiles.gatewayRecord),
    readSecret(dataDir, secretFiles.gatewayReceipt),
  ];
  const { token } = readSandbox(dataDir)!;
  const tokens = new TokenStore(under.redis, tokenKey, storePorts);
  expect(await tokens.lookup(hashToken(token, tokenKey))).toMatchObject({ tenant: sandboxTenant });

  const redis = await under.connect();
  const store = new RedisTenantStore(redis, { ...storePorts, recordKey });
  const signer = fakeSigner();
  const adapter = makeSelfHosted({ signer, chains: openChains({ ledgers: redisLedgers(redis) }) });
  const driver = new IntentDriver(
    {
      ...{ ...storePorts, store, environment: 'sandbox', log: collectLog().log },
      adapters: new Map([['self_hosted', adapter]]),
      evaluators: { readReceipt: (receipt) => receiptSigner(receiptKey).read(receipt) } as Evaluators,
      votes: new VoteSeal(receiptKey),
      addressBook: new RedisAddressBook(redis),
      fillGap: adapter.fillGap,
      arrive: async () => undefined,
    },
    { sweepEveryMs: 20 },
  );
  const shown = async () => {
    const { items } = await store.list(sandboxTenant, intentType, { order: 'oldest', limit: 10, indices: ['intents'] });
    return items.map(({ amount, status, subStatus }) => [amount, status, subStatus]);
  };
  expect(await shown()).toEqual([
    ['0.1', 'completed', null],
    ['0.2', 'signing', null],
    ['0.3', 'pending_approval', 'AWAITING_APPROVAL'],
  ]);
  driver.start();
  const ended = [
    ['0.1', 'completed', null],
    ['0.2', 'failed', 'RECORD_TAMPERED'],
    ['0.3', 'failed', 'RECORD_TAMPERED'],
  ];
  await until(
    async () => (await shown()).every(([, status]) => status === 'completed' || status === 'failed'),
    'the end of both',
  );
  expect(await shown()).toEqual(ended);
  expect(signer.orders).toEqual([]);
  await driver.stop();
  await under.stop();
});

/** Every adapter and its statements pass the same suites, over a real Redis; then what only the simulated custodians do. */
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { providerAdapters } from '../../../wallets/providers/adapters.ts';
import { type BooksOf, custodianBooks } from '../../../wallets/providers/books.ts';
import { openChains } from '../../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../../wallets/providers/chains/redis-ledgers.ts';
import { type Arrival, arrivals } from '../../../wallets/providers/incoming-transfers.ts';
import { type ProviderKind, providerKinds } from '../../../wallets/providers/port/kinds.ts';
import { type ProviderAdapter, ProviderUnavailable } from '../../../wallets/providers/port/port.ts';
import type { StatementsByKind } from '../../../wallets/providers/port/statement.ts';
import { makeSelfHosted } from '../../../wallets/providers/self-hosted/adapter.ts';
import { latencyMs } from '../../../wallets/providers/simulated/latency.ts';
import { RedisCustodianBooks } from '../../../wallets/providers/simulated/redis-custodian-books.ts';
import { RedisCustodianRecords } from '../../../wallets/providers/simulated/redis-custodian-records.ts';
import { providerStatements } from '../../../wallets/providers/statements.ts';
import { useDatabase } from '../../support/redis-database.ts';
import { dumpRedis } from '../../support/redis-dump.ts';
import { providerConformance } from './conformance.ts';
import { connection, fakeSigner, intentOf, makeWallet, metaAt, startMs } from './self-hosted/support.ts';
import { statementConformance } from './statement-conformance.ts';

let redis: Redis;
let adapters: ReadonlyMap<ProviderKind, ProviderAdapter>;
let statements: StatementsByKind;
let arrive: (arrival: Arrival) => Promise<void>;
const slept: number[] = [];
const sleep = async (ms: number): Promise<void> => {
  slept.push(ms);
};

useDatabase((opened) => {
  redis = opened;
  slept.length = 0;
  const chains = openChains({ ledgers: redisLedgers(redis) });
  const books: BooksOf = (kind) => new RedisCustodianBooks(redis, kind);
  const selfHosted = makeSelfHosted({ signer: fakeSigner(), chains });
  const records = (kind: ProviderKind) => new RedisCustodianRecords(redis, kind);
  adapters = providerAdapters({ selfHosted, records, books, sleep });
  statements = providerStatements({ books, chains });
  arrive = arrivals({ chains, books: custodianBooks(books) });
});

for (const kind of providerKinds) {
  const subject = () => ({ adapter: adapters.get(kind)!, dump: () => dumpRedis(redis) });
  providerConformance(kind, subject);
  statementConformance(kind, () => ({ ...subject(), statements: statements.get(kind)!, arrive }));
}

const hosted = ['fireblocks', 'bitgo', 'copper'] as const;

describe.each(hosted)('the simulated %s', (kind) => {
  it('answers after 5 to 60 ms, always the same for the same call', async () => {
    const order = { walletId: 'wal_1', name: 'One', network: 'eip155:11155111' } as const;
    await adapters.get(kind)!.createWallet(metaAt(startMs), connection(), order);
    await adapters.get(kind)!.createWallet(metaAt(startMs), connection(), order);
    expect(slept).toHaveLength(2);
    expect(slept[0]).toBe(slept[1]);
    expect(slept[0]).toBeGreaterThanOrEqual(5);
    expect(slept[0]).toBeLessThanOrEqual(60);
  });

  it('keeps what it was given under its tenant’s tag, and apart from other tenants', async () => {
    const adapter = adapters.get(kind)!;
    const order = { walletId: 'wal_1', name: 'One', network: 'eip155:11155111' } as const;
    await adapter.createWallet(metaAt(startMs), connection(), order);
    const keys = await redis.keys('*');
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) expect(key.startsWith(`sm:{t:acme}:cust:${kind}:`)).toBe(true);
  });

  it('begins production wallets with nothing', async () => {
    const adapter = adapters.get(kind)!;
    const order = { walletId: 'wal_1', name: 'One', network: 'eip155:11155111' } as const;
    const { balances } = await adapter.createWallet(metaAt(startMs), connection('production'), order);
    expect(balances).toEqual([
      { asset: 'ETH', units: 0n },
      { asset: 'USDC', units: 0n },
    ]);
  });

  it('stores the first order of an id, also when it is sent a second time', async () => {
    const adapter = adapters.get(kind)!;
    const wallet = await makeWallet(adapter, 'wal_1', 'eip155:11155111');
    const to = '0x000000000000000000000000000000000000dEaD';
    const intent = intentOf(wallet, { id: 'txi_1', asset: 'ETH', amount: '0.25', to });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => adapter.advance(metaAt(startMs), { intent, wallet, number: undefined })),
    );
    expect(new Set(answers.map(({ providerTxId }) => providerTxId)).size).toBe(1);
    const orders = (await redis.keys(`sm:{t:acme}:cust:${kind}:*:txi_1`)).length;
    expect(orders).toBe(1);
  });

  it('is unavailable while its Redis is away', async () => {
    const gone = new Redis({
      host: '127.0.0.1',
      port: 1,
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      retryStrategy: null,
    });
    gone.on('error', () => {});
    const away = providerAdapters({
      selfHosted: adapters.get('self_hosted')!,
      records: (of) => new RedisCustodianRecords(gone, of),
      books: (of) => new RedisCustodianBooks(gone, of),
      sleep,
    }).get(kind)!;
    const order = { walletId: 'wal_1', name: 'One', network: 'eip155:11155111' } as const;
    await expect(away.createWallet(metaAt(startMs), connection(), order)).rejects.toBeInstanceOf(ProviderUnavailable);
    gone.disconnect();
  });
});

it('spreads the latencies over the whole range', () => {
  const all = Array.from({ length: 2_000 }, (_, index) => latencyMs('call', `id${index}`));
  expect(Math.min(...all)).toBe(5);
  expect(Math.max(...all)).toBe(60);
});

it('has order ids of Copper that are unique among tenants: a wallet that two of them paid tells their transfers apart', async () => {
  const copper = adapters.get('copper')!;
  const wallet = await makeWallet(copper, 'wal_1', 'eip155:11155111');
  const to = '0x000000000000000000000000000000000000dEaD';
  const ids: (string | null)[] = [];
  for (const tenant of ['tn_one', 'tn_two']) {
    for (const id of ['first', 'second', 'first']) {
      const intent = intentOf(wallet, { id, asset: 'ETH', amount: '0.1', to });
      const meta = { ...metaAt(startMs), tenant };
      ids.push((await copper.advance(meta, { intent, wallet, number: undefined })).providerTxId);
    }
  }
  expect(new Set(ids).size).toBe(4);
  expect(ids[2]).toBe(ids[0]);
  for (const id of ids) expect(id).toMatch(/^\d{7,15}$/);
});

/** A gateway as it runs, with streams open: it stops at once and loses none of their events. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { identityFromSeed } from '../../../../core/actors/live/handshake-crypto.ts';
import type { GatewayConfig } from '../../../../gateway/config.ts';
import { runGateway } from '../../../../gateway/main.ts';
import { openDatabase, type RedisDatabase } from '../../../support/redis-database.ts';
import { RestClient } from '../../../support/rest.ts';
import { testRecordKey } from '../../../support/store-ports.ts';
import { until } from '../../../support/until.ts';
import { type Reader, read } from './sse.ts';

const token = 'svc_sk_test_bannertoken01';
const seed = (byte: number) => new Uint8Array(32).fill(byte);
const keys = mkdtempSync(join(tmpdir(), 'signmesh-keys-'));
let redis: RedisDatabase;
let config: GatewayConfig;

beforeAll(async () => {
  writeFileSync(join(keys, '1.key'), '06'.repeat(32));
  redis = await openDatabase();
  config = {
    environment: 'sandbox',
    httpHost: '127.0.0.1',
    httpPort: 0,
    grpcHost: '127.0.0.1',
    grpcPort: 0,
    // No coordinator runs; events need none.
    coordinatorUrl: 'ws://127.0.0.1:1',
    redisUrl: redis.url,
    roster: {
      clusterId: 'test-cluster',
      nodes: [],
      coordinator: identityFromSeed(seed(2)).publicKey,
      gateway: identityFromSeed(seed(1)).publicKey,
    },
    identitySeed: seed(1),
    joinSecret: seed(3),
    tokenKey: seed(4),
    receiptSeed: seed(5),
    credentialKeysDir: keys,
    recordKey: testRecordKey,
    chainBlockMs: 1_000,
    rateLimit: false,
    acceptAnyTestToken: true,
    bannerToken: { token, tenant: 'sandbox' },
    accessLog: true,
    logLevel: 'silent',
  };
});
afterAll(async () => {
  await redis.stop();
  rmSync(keys, { recursive: true, force: true });
});

it('ends its streams and stops; their readers go on at another gateway', async () => {
  const [one, two] = [await runGateway(config), await runGateway(config)];
  const [url, otherUrl] = [`http://${one.httpAddress}`, `http://${two.httpAddress}`];
  const api = new RestClient(otherUrl, token);
  await until(async () => (await api.get('/v1/events')).status === 200, 'Redis');
  const connect = (name: string) => api.made('/v1/providers/connect', { type: 'sandbox', name, credentials: {} });
  const readers: Reader[] = await Promise.all(Array.from({ length: 5 }, () => read(url, { token })));
  await connect('before');
  await until(() => readers.every(({ messages }) => messages.length > 0), 'the first event at every reader');
  await one.stop();
  // They end whole: the stop neither waits for them nor cuts them.
  await until(() => readers.every(({ ended }) => ended), 'the end of every stream');
  expect(readers.map(({ complete }) => complete)).toEqual(readers.map(() => true));
  await connect('after');
  const [reader] = readers;
  const next = await read(otherUrl, { token, lastEventId: reader!.lastId });
  await until(() => next.messages.some(({ data }) => data.includes('"name":"after"')), 'what came behind');
  const sequences = [...reader!.sequences(), ...next.sequences()];
  expect(sequences).toEqual(sequences.map((_, index) => index + 1));
  next.cut();
  await two.stop();
});

/** Connection routes behind the HTTP door: every provider, a real Redis, a real key ring on disk. */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { systemPorts } from '../../../../core/actors/live/ports.ts';
import { allScopes, type Scope } from '../../../../gateway/api/scopes.ts';
import { newToken } from '../../../../gateway/auth/token-format.ts';
import type { ClusterEnvironment } from '../../../../proto/roster.ts';
import { connectionRoutes } from '../../../../wallets/custody/connections/routes.ts';
import { testWalletMaker } from '../../../../wallets/custody/wallets/test-wallets.ts';
import { providerAdapters } from '../../../../wallets/providers/adapters.ts';
import { openChains } from '../../../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../../../wallets/providers/chains/redis-ledgers.ts';
import type { ProviderKind } from '../../../../wallets/providers/port/kinds.ts';
import type { ProviderAdapter } from '../../../../wallets/providers/port/port.ts';
import { makeSelfHosted } from '../../../../wallets/providers/self-hosted/adapter.ts';
import { RedisCustodianBooks } from '../../../../wallets/providers/simulated/redis-custodian-books.ts';
import { RedisCustodianRecords } from '../../../../wallets/providers/simulated/redis-custodian-records.ts';
import { RedisAddressBook } from '../../../../wallets/store/redis-address-book.ts';
import { RedisTenantStore } from '../../../../wallets/store/redis-tenant-store.ts';
import { answerSeal } from '../../../../wallets/store/secrets/answer-seal.ts';
import { fileKeyRing } from '../../../../wallets/store/secrets/file-key-ring.ts';
import type { KeyRing } from '../../../../wallets/store/secrets/key-ring.ts';
import { callJson, type JsonAnswer } from '../../../support/gateway.ts';
import type { LogLine } from '../../../support/log.ts';
import { openDatabase } from '../../../support/redis-database.ts';
import { dumpRedis } from '../../../support/redis-dump.ts';
import { restApp } from '../../../support/rest-app.ts';
import { storePorts } from '../../../support/store-ports.ts';
import { fakeSigner } from '../../providers/self-hosted/support.ts';

export interface Caller {
  readonly tenant: string;
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<JsonAnswer>;
}

export interface World {
  readonly redis: Redis;
  readonly store: RedisTenantStore;
  readonly addressBook: RedisAddressBook;
  readonly ring: KeyRing;
  readonly keyDirectory: string;
  readonly adapters: Map<ProviderKind, ProviderAdapter>;
  /** Everything that was logged. */
  readonly lines: LogLine[];
  /** The text of every answer. */
  readonly answers: string[];
  /** A caller of a tenant, by default a new one, with every scope. */
  caller(options?: CallerOptions): Caller;
  dump(): Promise<string>;
  stop(): Promise<void>;
}

export interface CallerOptions {
  readonly tenant?: string;
  readonly scopes?: readonly Scope[];
  readonly connectionIds?: readonly string[];
}

export async function startWorld(environment: ClusterEnvironment = 'sandbox'): Promise<World> {
  const server = await openDatabase();
  const redis = new Redis(server.url);
  const keyDirectory = mkdtempSync(join(tmpdir(), 'signmesh-keys-'));
  addKey(keyDirectory, 1);
  const ring = fileKeyRing(keyDirectory, systemPorts);
  const store = new RedisTenantStore(redis, storePorts);
  const addressBook = new RedisAddressBook(redis);
  const selfHosted = makeSelfHosted({ signer: fakeSigner(), chains: openChains({ ledgers: redisLedgers(redis) }) });
  const adapters = new Map(
    providerAdapters({
      selfHosted,
      records: (kind) => new RedisCustodianRecords(redis, kind),
      books: (kind) => new RedisCustodianBooks(redis, kind),
      sleep: async () => {},
    }),
  );
  const routes = connectionRoutes({
    adapters,
    ring,
    fingerprintKey: randomBytes(32),
    makeTestWallets: testWalletMaker({ adapters, addressBook }),
  });
  const { app, tokens, lines } = await restApp({ routes, store, environment, seal: answerSeal(ring) });
  const answers: string[] = [];
  let callers = 0;
  return {
    redis,
    store,
    addressBook,
    ring,
    keyDirectory,
    adapters,
    lines,
    answers,
    caller({ tenant = `tn_${++callers}`, scopes = allScopes, connectionIds } = {}) {
      const token = newToken(environment, (length) => randomBytes(length));
      tokens.put(token, { tenant, environment, scopes, providerConnectionIds: connectionIds });
      return {
        tenant,
        async call(method, path, body, headers = {}) {
          const reply = await callJson(app, { method, url: path, token, body, headers });
          answers.push(JSON.stringify(reply.headers), JSON.stringify(reply.body));
          return reply;
        },
      };
    },
    dump: () => dumpRedis(redis),
    async stop() {
      await app.close();
      redis.disconnect();
      await server.stop();
      rmSync(keyDirectory, { recursive: true, force: true });
    },
  };
}

export function addKey(directory: string, number: number): void {
  writeFileSync(join(directory, `${number}.key`), `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
}

export const goodCredentials: Readonly<Record<'fireblocks' | 'bitgo' | 'copper', Record<string, string>>> = {
  fireblocks: { api_key: 'fb-api-key-Zq81', private_key: '-----BEGIN PRIVATE KEY----- kTz7 -----END PRIVATE KEY-----' },
  bitgo: { api_key: 'v2x-bitgo-token-77aa', wallet_passphrase: 'correct horse battery staple' },
  copper: { api_key: 'copper-key-0091', api_secret: 'copper-secret-5Yt2' },
};

/** Connection routes behind the HTTP door: every provider, a real Redis, a real key ring on disk. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { allScopes, type Scope } from '../../../gateway/auth/scopes.ts';
import { newToken, type TokenEnvironment } from '../../../gateway/auth/token-format.ts';
import { openChains } from '../../../gateway/chain/chains.ts';
import { connectionRoutes } from '../../../gateway/connections/routes.ts';
import type { ProviderKind } from '../../../gateway/providers/kinds.ts';
import type { ProviderAdapter } from '../../../gateway/providers/port.ts';
import { providerAdapters } from '../../../gateway/providers/registry.ts';
import { makeSelfHosted } from '../../../gateway/providers/self-hosted/adapter.ts';
import { answerSeal } from '../../../gateway/secrets/answer-seal.ts';
import { fileKeyRing, type KeyRing } from '../../../gateway/secrets/key-ring.ts';
import { RedisAddressBook } from '../../../gateway/store/redis-address-book.ts';
import { RedisTenantStore } from '../../../gateway/store/redis-tenant-store.ts';
import { startRedis } from '../../support/redis.ts';
import { fakeSigner } from '../providers/self-hosted/support.ts';
import { restApp } from '../rest/support/app.ts';
import type { LogLine } from '../support/gateway.ts';
import { dumpRedis } from '../support/redis-dump.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** As it was parsed: tests look at it field by field. */
  readonly body: ReturnType<typeof JSON.parse>;
}

export interface Caller {
  readonly tenant: string;
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>;
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

export async function startWorld(environment: TokenEnvironment = 'sandbox'): Promise<World> {
  const server = await startRedis();
  const redis = new Redis(server.url);
  const keyDirectory = mkdtempSync(join(tmpdir(), 'signmesh-keys-'));
  addKey(keyDirectory, 1);
  const ring = fileKeyRing(keyDirectory);
  const store = new RedisTenantStore(redis);
  const addressBook = new RedisAddressBook(redis);
  const selfHosted = makeSelfHosted({ signer: fakeSigner(), chains: openChains({ redis }) });
  const adapters = new Map(providerAdapters({ selfHosted, redis, sleep: async () => {} }));
  const routes = connectionRoutes({ adapters, ring, fingerprintKey: randomBytes(32), addressBook });
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
          const response = await app.inject({
            method: method as 'GET',
            url: path,
            headers: { authorization: `Bearer ${token}`, ...headers },
            ...(body !== undefined && { payload: body as object }),
          });
          answers.push(JSON.stringify(response.headers), response.body);
          return { status: response.statusCode, headers: response.headers, body: JSON.parse(response.body) };
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

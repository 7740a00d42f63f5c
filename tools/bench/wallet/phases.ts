/**
 * The wallet API under load: reads of one wallet and of a page, with tenants of few and of very many wallets; intents to the
 * sandbox provider; intents of a self_hosted wallet, each through policy, cluster signature and chain to its provider_tx_id; and
 * the companion modules: messages of a vault, orders of a token, plans of the treasury. Accepted intents must succeed: their ends
 * are counted after their load.
 */
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { readSecret, secretFiles } from '../../../cli/cluster-files/cluster-material.ts';
import type { Intent, Wallet } from '../../../clients/client/generated-api.ts';
import { answered, type HttpClient, httpClient } from '../../../clients/load/calls/http.ts';
import { makeWallets } from '../../../clients/load/operations/wallets.ts';
import { systemPorts } from '../../../core/actors/live/ports.ts';
import { hashToken, newToken, tenantOfHash } from '../../../gateway/auth/token-format.ts';
import { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import type { BenchCluster } from '../cluster/cluster.ts';
import type { Phase, WalletPhase } from '../report/results.ts';
import { IntentFollower } from './follow.ts';
import { mint, treasury, vaultSigner } from './modules.ts';
import { seedWallets } from './seed.ts';

export interface WalletBenchOptions {
  readonly inFlight: readonly number[];
  /** Wallets of the large tenant. */
  readonly walletsMany: number;
  readonly phase: (what: string, inFlight: number, ceremony: () => Promise<void>) => Promise<Phase>;
  readonly say: (line: string) => void;
}

export interface WalletBenchResult {
  readonly phases: readonly WalletPhase[];
  /** The violations of the API's promises; empty: none. */
  readonly faults: readonly string[];
}

/** So many wallets that intents rarely wait for each other's balance and numbers, as with many customers. */
const walletsSigning = 8;
const walletsFew = 10;
const destination = '0x00000000000000000000000000000000000b0b00';
const endingsWithinMs = 60_000;

export async function walletPhases(cluster: BenchCluster, options: WalletBenchOptions): Promise<WalletBenchResult> {
  const { inFlight, phase, say } = options;
  const callers = Math.max(...inFlight);
  const phases: WalletPhase[] = [];
  const measure = async (name: string, counts: readonly number[], ceremony: () => Promise<void>) => {
    for (const count of counts) phases.push({ name, ...(await phase(name, count, ceremony)) });
  };

  const few = await tenantWith(cluster, walletsFew, callers);
  await measure('GET one wallet', inFlight, () => read(few.client, `/v1/wallets/${few.walletId}`));
  await measure(`GET 10 of ${walletsFew} wallets`, [callers], () => read(few.client, '/v1/wallets?limit=10'));
  say(`bench: ${options.walletsMany} wallets in one tenant …`);
  const many = await tenantWith(cluster, options.walletsMany, callers);
  await measure(`GET 10 of ${options.walletsMany} wallets`, [callers], () => read(many.client, '/v1/wallets?limit=10'));
  await measure(`GET 50 of ${options.walletsMany} wallets`, [callers], () => read(many.client, '/v1/wallets?limit=50'));
  await Promise.all([few.client.close(), many.client.close()]);

  const acting = httpClient(cluster.httpUrl, cluster.token, callers);
  const follower = new IntentFollower();
  await follower.open(cluster.httpUrl, cluster.token);
  const made: string[] = [];
  const create = async (wallet: string) => {
    const body = `{"asset":"ETH","amount":"0.00001","destination":{"address":"${destination}"}}`;
    const intent = answered<Intent>(await acting.send('POST', `/v1/wallets/${wallet}/transaction-intents`, body), 201);
    if (intent.status !== 'approved') throw new Error(`an intent is ${intent.status}`);
    made.push(intent.id);
    return intent.id;
  };
  const sandboxWallets = await makeWallets(cluster.client, 'sandbox', walletsSigning);
  await measure('create an intent (sandbox provider)', inFlight, async () => {
    await create(next(sandboxWallets).id);
  });
  const ownWallets = await makeWallets(cluster.client, 'self_hosted', walletsSigning);
  await measure('an intent to its provider_tx_id (self_hosted)', inFlight, async () => {
    await follower.providerTook(await create(next(ownWallets).id));
  });
  const faults = await endingFaults(follower, made);

  const sign = await vaultSigner(cluster.client, acting);
  await measure('sign a message of a vault (FROST Ed25519)', inFlight, sign);
  await measure('a mint until it is signed', inFlight, await mint(cluster.client, acting, follower, next(ownWallets)));
  await follower.close();
  const { plan, execute } = await treasury(cluster.client, acting, next(sandboxWallets).id);
  await measure('plan a rebalance', inFlight, plan);
  await measure('a rebalance to its end (sandbox provider)', [1], execute);
  await acting.close();
  return { phases, faults };
}

let turn = 0;
function next(wallets: readonly Wallet[]): Wallet {
  turn += 1;
  return wallets[turn % wallets.length]!;
}

interface Seeded {
  readonly client: HttpClient;
  readonly walletId: string;
}

async function tenantWith(cluster: BenchCluster, wallets: number, callers: number): Promise<Seeded> {
  const token = newToken('sandbox', randomBytes);
  const tokenKey = readSecret(cluster.dataDir, secretFiles.gatewayToken);
  const recordKey = readSecret(cluster.dataDir, secretFiles.gatewayRecord);
  const tenant = tenantOfHash(hashToken(token, tokenKey));
  const redis = new Redis(cluster.redisUrl, { enableAutoPipelining: true });
  try {
    const store = new RedisTenantStore(redis, { ...systemPorts, recordKey });
    const walletId = await seedWallets(store, tenant, wallets);
    return { client: httpClient(cluster.httpUrl, token, callers), walletId };
  } finally {
    redis.disconnect();
  }
}

async function read(client: HttpClient, path: string): Promise<void> {
  const { status } = await client.send('GET', path);
  if (status !== 200) throw new Error(`HTTP ${status}`);
}

/** Every approved intent must complete. */
async function endingFaults(follower: IntentFollower, made: readonly string[]): Promise<string[]> {
  const deadlineMs = performance.now() + endingsWithinMs;
  for (;;) {
    const endings = follower.endings();
    const over = Object.values(endings).reduce((sum, count) => sum + count, 0);
    const completed = endings['transaction_intent.completed'] ?? 0;
    if (over >= made.length || performance.now() > deadlineMs) {
      if (completed === made.length) return [];
      return [`of ${made.length} approved intents ${completed} completed: ${JSON.stringify(endings)}`];
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

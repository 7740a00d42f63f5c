/**
 * Operations of the load generator (clients/load/operations/) in phases of the bench: reads of one wallet and of a page, beside few
 * and very many wallets; transfers, from the order to the transaction; messages of a vault; changes and their webhooks, alone,
 * beside a receiver that hangs, and the deliveries of a backlog.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { readSecret, secretFiles } from '../../../cli/cluster-files/cluster-material.ts';
import { answered, type HttpClient, httpClient } from '../../../clients/load/calls/http.ts';
import type { Operation } from '../../../clients/load/operations/operation.ts';
import { transferOperation } from '../../../clients/load/operations/transfer.ts';
import { webhookOperation } from '../../../clients/load/operations/webhook.ts';
import { systemPorts } from '../../../core/actors/live/ports.ts';
import { hashToken, newToken, tenantOfHash } from '../../../gateway/auth/token-format.ts';
import { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import type { BenchCluster } from '../cluster/cluster.ts';
import { ceremonyOf } from '../load/load.ts';
import type { DrainRate, OperationPhase, Phase } from '../report/results.ts';
import { seedWallets } from './seed.ts';

export interface OperationBench {
  readonly cluster: BenchCluster;
  readonly inFlight: readonly number[];
  readonly phase: (what: string, inFlight: number, ceremony: () => Promise<void>) => Promise<Phase>;
  /** Settles an operation, and gives its checks this name. */
  readonly verify: (name: string, operation: Operation) => Promise<void>;
}

const walletsFew = 10;
const drainWithinMs = 120_000;

export async function walletPhases(bench: OperationBench, walletsMany: number): Promise<readonly OperationPhase[]> {
  const { cluster, inFlight, verify } = bench;
  const callers = Math.max(...inFlight);
  const phases: OperationPhase[] = [];
  const measure = measuring(bench, phases);
  for (const [count, paths] of [
    [walletsFew, ['one', 'page']],
    [walletsMany, ['page']],
  ] as const) {
    const { client, walletId } = await tenantWith(cluster, count, callers);
    const read = (path: string) => async () => {
      answered(await client.send('GET', path), 200);
    };
    for (const path of paths) {
      if (path === 'one') await measure('GET one wallet', inFlight, read(`/v1/wallets/${walletId}`));
      else await measure(`GET 10 of ${count} wallets`, [callers], read('/v1/wallets?limit=10'));
    }
    await client.close();
  }
  const http = httpClient(cluster.httpUrl, cluster.token, callers);
  const target = { url: cluster.httpUrl, grpc: undefined, token: cluster.token };
  const orders = await transferOperation(http, cluster.client, target, randomUUID, {
    ...{ provider: 'sandbox', ordersOnly: true },
  });
  await measure('create an intent (sandbox provider)', inFlight, ceremonyOf(orders));
  await verify('create an intent', orders);
  const transfers = await transferOperation(http, cluster.client, target, randomUUID);
  const signed = ceremonyOf(transfers, 'until the provider took it');
  await measure('an intent to its provider_tx_id (self_hosted)', inFlight, signed);
  await verify('transfers', transfers);
  await measure('sign a message of a vault (FROST Ed25519)', inFlight, await vaultSigner(cluster, http));
  await http.close();
  return phases;
}

export interface EventRates {
  readonly phases: readonly OperationPhase[];
  readonly drain: DrainRate;
}

export async function eventPhases(bench: OperationBench): Promise<EventRates> {
  const { cluster, inFlight, verify } = bench;
  const callers = Math.max(...inFlight);
  const phases: OperationPhase[] = [];
  const measure = measuring(bench, phases);
  const http = httpClient(cluster.httpUrl, cluster.token, callers);
  const hanging = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  try {
    const webhook = await webhookOperation(http, cluster.client);
    // The worker handles a tenant's first webhook within a second or two, which is not measured.
    await ceremonyOf(webhook)();
    await measure('from a change to its receipt', [1], ceremonyOf(webhook));
    const url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/`;
    await cluster.client.webhooks.create({ url, events: ['wallet.updated'] });
    await measure('the same, beside a webhook that hangs', [1], ceremonyOf(webhook));
    await measure('change a wallet (one event)', [callers], ceremonyOf(webhook, 'PATCH /v1/wallets/:id'));
    const deliveries = webhook.open;
    const beganMs = performance.now();
    await webhook.settle(beganMs + drainWithinMs);
    const seconds = (performance.now() - beganMs) / 1000;
    await verify('webhooks', webhook);
    return { phases, drain: { deliveries, seconds, perSecond: deliveries / seconds } };
  } finally {
    hanging.closeAllConnections();
    hanging.close();
    await http.close();
  }
}

function measuring({ phase }: OperationBench, phases: OperationPhase[]) {
  return async (name: string, counts: readonly number[], ceremony: () => Promise<void>): Promise<void> => {
    for (const count of counts) phases.push({ name, ...(await phase(name, count, ceremony)) });
  };
}

/** Signs with a new key of a new vault, a different message each time. */
async function vaultSigner({ client }: BenchCluster, http: HttpClient): Promise<() => Promise<void>> {
  const vault = await client.vaults.create({ name: 'bench', keystore_type: 'mpc_frost', curve: 'ed25519' });
  const fields = { key_id: vault.primary_key_id, message_type: 'raw' };
  return async () => {
    const body = JSON.stringify({ ...fields, message: randomBytes(32).toString('base64') });
    const answer = await http.send('POST', `/v1/vaults/${vault.id}/sign`, body);
    const { status } = answered<{ readonly status: string }>(answer, 200);
    if (status !== 'completed') throw new Error(`a message is ${status}`);
  };
}

/** Reads of a wallet of a new tenant. */
export async function walletReader(cluster: BenchCluster, callers: number) {
  const { client, walletId } = await tenantWith(cluster, walletsFew, callers);
  const one = async () => {
    answered(await client.send('GET', `/v1/wallets/${walletId}`), 200);
  };
  return { one, close: () => client.close() };
}

/** A new tenant with so many wallets, and the id of one of them. */
async function tenantWith(cluster: BenchCluster, wallets: number, callers: number) {
  const token = newToken('sandbox', randomBytes);
  const tokenKey = readSecret(cluster.dataDir, secretFiles.gatewayToken);
  const recordKey = readSecret(cluster.dataDir, secretFiles.gatewayRecord);
  const redis = new Redis(cluster.redisUrl, { enableAutoPipelining: true });
  try {
    const store = new RedisTenantStore(redis, { ...systemPorts, recordKey });
    const walletId = await seedWallets(store, tenantOfHash(hashToken(token, tokenKey)), wallets);
    return { client: httpClient(cluster.httpUrl, token, callers), walletId };
  } finally {
    redis.disconnect();
  }
}

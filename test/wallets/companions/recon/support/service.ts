/** The wallet API and a worker that runs reconciliation jobs, in this process, over a real Redis and BullMQ. */
import { silentLog, systemPorts } from '../../../../../core/actors/live/ports.ts';
import { BullReconQueue } from '../../../../../wallets/companions/recon/bull-queue.ts';
import type { RunnerDeps } from '../../../../../wallets/companions/recon/runner.ts';
import { type ReconWorker, startReconWorker } from '../../../../../wallets/companions/recon/worker.ts';
import { openQueueRedis } from '../../../../../wallets/delivery/deliveries/bull-queue.ts';
import { openChains } from '../../../../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../../../../wallets/providers/chains/redis-ledgers.ts';
import { withDrifts } from '../../../../../wallets/providers/simulated/drift.ts';
import { RedisCustodianBooks } from '../../../../../wallets/providers/simulated/redis-custodian-books.ts';
import { RedisDrifts } from '../../../../../wallets/providers/simulated/redis-drifts.ts';
import { providerStatements } from '../../../../../wallets/providers/statements.ts';
import { until } from '../../../../support/until.ts';
import { startWalletService, type WalletService } from '../../../../support/wallet-service.ts';

export interface View {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: the service's own JSON, of which a test reads a field or two
  readonly [field: string]: any;
}

export const sepolia = 'eip155:11155111';
/** The second account of the usual test mnemonic: no wallet of ours. */
export const outside = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

export interface ReconService {
  readonly service: WalletService;
  readonly deps: RunnerDeps;
  /** Fails the test unless it is answered below 300. */
  call(method: string, path: string, body?: object, token?: string): Promise<View>;
  status(method: string, path: string, body?: object, token?: string): Promise<{ status: number; body: View }>;
  connect(provider: string): Promise<View>;
  wallet(connectionId: string): Promise<View>;
  /** A transfer that has come to its end. */
  transfer(walletId: string, amount: string, more?: object): Promise<View>;
  /** A job that has come to its end. */
  job(body: object): Promise<View>;
  exceptions(query?: string): Promise<readonly View[]>;
  stop(): Promise<void>;
}

const credentials: Readonly<Record<string, object>> = {
  fireblocks: { api_key: 'key', private_key: 'secret' },
  bitgo: { api_key: 'key' },
  copper: { api_key: 'key', api_secret: 'secret' },
  sandbox: {},
  self_hosted: {},
};
const ended = /^(completed|failed|cancelled|denied|rejected|expired)$/;

/** `worker` false: jobs wait for one that the test starts. */
export async function startReconService({ worker: works = true } = {}): Promise<ReconService> {
  const service = await startWalletService();
  const queueRedis = openQueueRedis(service.redisServer.url);
  const books = (kind: ConstructorParameters<typeof RedisCustodianBooks>[1]) =>
    new RedisCustodianBooks(service.redis, kind);
  const chains = openChains({ ledgers: redisLedgers(service.redis), blockMs: 20 });
  const clock = { nowMs: () => systemPorts.clock.nowMs() + service.clock.offsetMs };
  const deps: RunnerDeps = {
    ...systemPorts,
    clock,
    store: service.api.store,
    statements: withDrifts(providerStatements({ books, chains }), new RedisDrifts(service.redis)),
    log: silentLog,
  };
  const queue = new BullReconQueue({ redis: queueRedis, log: silentLog });
  const worker: ReconWorker | undefined = works ? startReconWorker(deps, queue) : undefined;
  const status = (method: string, path: string, body?: object, token?: string) =>
    service.call(method, path, { ...(body && { body }), ...(token && { token }) }) as Promise<{
      status: number;
      body: View;
    }>;
  const call = async (method: string, path: string, body?: object, token?: string): Promise<View> => {
    const answer = await status(method, path, body, token);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const settled = async (path: string): Promise<View> => {
    let view = await call('GET', path);
    await until(async () => {
      view = await call('GET', path);
      return ended.test(view.status as string);
    }, `the end of ${path}`);
    return view;
  };
  return {
    service,
    deps,
    call,
    status,
    connect: (provider) =>
      call('POST', provider === 'sandbox' ? '/v1/providers/connect' : '/v1/provider-connections', {
        [provider === 'sandbox' ? 'type' : 'provider']: provider,
        name: provider,
        credentials: credentials[provider]!,
      }),
    wallet: (id) => call('POST', '/v1/wallets', { name: 'one', provider_connection_id: id, network: sepolia }),
    async transfer(walletId, amount, more = {}) {
      const path = `/v1/wallets/${walletId}/transaction-intents`;
      const made = await call('POST', path, { asset: 'ETH', amount, destination: { address: outside }, ...more });
      return settled(`${path}/${made.id}`);
    },
    job: async (body) => settled(`/v1/recon/jobs/${(await call('POST', '/v1/recon/jobs', body)).id}`),
    exceptions: async (query = '') => (await call('GET', `/v1/recon/exceptions${query}`)).exceptions as View[],
    async stop() {
      await worker?.stop();
      queueRedis.disconnect();
      await service.stop();
    },
  };
}

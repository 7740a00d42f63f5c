/**
 * The wallet control plane, put together: every module's routes, what they stand on, and the work that goes on behind
 * them. Any number of gateways run it over one Redis.
 */
import type { Redis } from 'ioredis';
import type { Ports } from '../actors/contract.ts';
import { type Log, systemPorts } from '../actors/live/ports.ts';
import { pause } from '../actors/waiting.ts';
import type { Route } from '../api/route.ts';
import { evictLists } from '../controls/compliance/load.ts';
import { complianceRoutes } from '../controls/compliance/routes.ts';
import { makeEvaluators } from '../controls/policies/evaluators.ts';
import { evictPolicies, findPolicy } from '../controls/policies/load.ts';
import { policyRoutes } from '../controls/policies/routes.ts';
import { receiptRoutes } from '../controls/receipts/routes.ts';
import { receiptSigner } from '../controls/receipts/signer.ts';
import { evictRiskRules } from '../controls/risk/load.ts';
import { riskRoutes } from '../controls/risk/routes.ts';
import { revokeConnectionPrefix } from '../custody/connections/revoking.ts';
import { connectionRoutes } from '../custody/connections/routes.ts';
import { IntentDriver } from '../custody/intents/driver.ts';
import { intentRoutes } from '../custody/intents/routes.ts';
import {
  closeKey,
  closeKeyPrefix,
  revokeOfConnection,
  revokeSessions,
  revokeSessionsPrefix,
} from '../custody/wallets/close-key.ts';
import { walletRoutes } from '../custody/wallets/routes.ts';
import { testWalletMaker } from '../custody/wallets/test-wallets.ts';
import { RedisHookStore } from '../delivery/deliveries/hook-store.ts';
import { deliveryRoutes } from '../delivery/deliveries/routes.ts';
import { WebhookService } from '../delivery/deliveries/webhook-service.ts';
import type { StreamTimes } from '../delivery/events/event-stream.ts';
import { type FeedLimits, LiveFeed } from '../delivery/events/live-feed.ts';
import { RedisWakes } from '../delivery/events/redis-wakes.ts';
import { eventRoutes } from '../delivery/events/routes.ts';
import { eventStreamRoutes } from '../delivery/events/stream-routes.ts';
import { webhookRoutes } from '../delivery/webhooks/routes.ts';
import { accessRoutes } from '../modules/access/routes.ts';
import { providerAdapters } from '../providers/adapters.ts';
import { arrivals } from '../providers/chains/arrivals.ts';
import { openChains } from '../providers/chains/chains.ts';
import type { CallMeta } from '../providers/port/port.ts';
import { makeSelfHosted } from '../providers/self-hosted/adapter.ts';
import type { ClusterSigner } from '../providers/self-hosted/cluster-signer.ts';
import { CustodianRecords } from '../providers/simulated/custodian-records.ts';
import type { TenantStore } from '../store/contract.ts';
import { RedisAddressBook } from '../store/redis-address-book.ts';
import { RedisTenantStore } from '../store/redis-tenant-store.ts';
import { answerSeal } from '../store/secrets/answer-seal.ts';
import { fileKeyRing } from '../store/secrets/key-ring.ts';
import type { Admission } from './auth/admission.ts';
import type { GatewayConfig } from './config.ts';
import type { RestDeps } from './http/mount.ts';
import type { SandboxDeps } from './sandbox/deps.ts';
import { sandboxRoutes } from './sandbox/routes.ts';

export type WalletApiConfig = Pick<
  GatewayConfig,
  | 'environment'
  | 'tokenKey'
  | 'receiptSeed'
  | 'credentialKeysDir'
  | 'chainBlockMs'
  | 'intentConcurrency'
  | 'bannerToken'
  | 'modulesByOperator'
>;

type WalletJob = (deps: { store: TenantStore; signer: ClusterSigner }, meta: CallMeta, member: string) => Promise<void>;

export interface WalletApiOptions extends Partial<Ports> {
  readonly config: WalletApiConfig;
  readonly redis: Redis;
  readonly admission: Admission;
  /** The cluster that makes and uses the keys of self_hosted wallets. */
  readonly signer: ClusterSigner;
  readonly log: Log;
  /** In a sandbox alone: its routes are there. */
  readonly sandbox?: Omit<SandboxDeps, 'timers'>;
  /** For tests: answers that do not match their schemas are errors. */
  readonly checkResponses?: boolean;
  /** For tests: shorter times and fewer places for event streams. */
  readonly streams?: { readonly limits?: Partial<FeedLimits>; readonly times?: Partial<StreamTimes> };
}

export interface WalletApi {
  readonly routes: readonly Route[];
  readonly deps: RestDeps;
  readonly store: TenantStore;
  /** Begins the work that falls due. */
  start(): void;
  /** What is stored was put back to an earlier state: nothing that is remembered of it counts any more. */
  restored(): Promise<void>;
  /** Takes on nothing more and waits for what is in hand, up to a limit. */
  stop(): Promise<void>;
}

/** Throws an Error when the credential keys cannot be read. */
export function buildWalletApi(options: WalletApiOptions): WalletApi {
  const { config, redis, admission, signer, log } = options;
  const { checkResponses = false } = options;
  const { clock = systemPorts.clock, timers = systemPorts.timers, random = systemPorts.random } = options;
  const { environment, chainBlockMs: blockMs, intentConcurrency } = config;
  const store = new RedisTenantStore(redis, { clock, random });
  const addressBook = new RedisAddressBook(redis);
  const webhookService = new WebhookService(new RedisHookStore(redis), store, clock);
  const ring = fileKeyRing(config.credentialKeysDir, { clock, random });
  const seal = answerSeal(ring);
  const receipts = receiptSigner(config.receiptSeed);
  const chains = openChains({ redis, blockMs });
  const selfHosted = makeSelfHosted({ signer, chains });
  const adapters = providerAdapters({
    selfHosted,
    records: (kind) => new CustodianRecords(redis, kind),
    sleep: (ms) => pause(timers, ms),
  });
  const intents = {
    store,
    adapters,
    evaluators: makeEvaluators({ signer: receipts }),
    addressBook,
    fillGap: selfHosted.fillGap,
    arrive: arrivals(chains),
    clock,
    timers,
    random,
    log,
    environment,
  };
  const jobOf = (job: WalletJob) => (tenant: string, member: string) =>
    job({ store, signer }, { tenant, nowMs: clock.nowMs(), correlationId: member, traceparent: '' }, member);
  const driver = new IntentDriver(intents, {
    ...(intentConcurrency !== undefined && { perProviderMax: intentConcurrency }),
    jobs: new Map([
      [closeKeyPrefix, jobOf(closeKey)],
      [revokeSessionsPrefix, jobOf(revokeSessions)],
      [revokeConnectionPrefix, jobOf(revokeOfConnection)],
    ]),
  });
  const feed = new LiveFeed({ wakes: new RedisWakes(redis), store, timers, log }, options.streams?.limits);
  const access = { isAutomatic: !config.modulesByOperator, openTenant: config.bannerToken?.tenant };
  const routes: Route[] = [
    ...connectionRoutes({
      adapters,
      ring,
      fingerprintKey: config.tokenKey,
      makeTestWallets: testWalletMaker({ adapters, addressBook }),
    }),
    ...walletRoutes({
      adapters,
      addressBook,
      policyExists: async (context, name) => (await findPolicy(context, name)) !== undefined,
      wake: (tenant) => driver.wake(tenant),
    }),
    ...intentRoutes(intents, driver),
    ...eventRoutes(),
    ...eventStreamRoutes({ feed, store, timers, log, ...(options.streams?.times && { times: options.streams.times }) }),
    ...webhookRoutes({ environment, seal, random, webhookService }),
    ...deliveryRoutes({ webhookService }),
    ...complianceRoutes(),
    ...riskRoutes(),
    ...policyRoutes(receipts),
    ...receiptRoutes(receipts),
    ...accessRoutes({ ...access, servedTags: () => new Set([...routes.map(({ tag }) => tag), 'Signing', 'Service']) }),
    ...(options.sandbox === undefined ? [] : sandboxRoutes({ ...options.sandbox, timers })),
  ];
  return {
    routes,
    deps: {
      admission,
      store,
      environment,
      log,
      seal,
      hashKey: config.tokenKey,
      clock,
      timers,
      random,
      checkResponses,
      access,
    },
    store,
    start: () => driver.start(),
    restored: async () => {
      store.restored();
      evictPolicies(store);
      evictRiskRules(store);
      evictLists(store);
      feed.restored();
      await driver.restored();
    },
    stop: () => {
      feed.stop();
      return driver.stop();
    },
  };
}

/**
 * The wallet control plane, put together: every module's routes, what they stand on, and the work that goes on behind
 * them. Any number of gateways run it over one Redis.
 */
import type { Redis } from 'ioredis';
import type { Clock, RandomBytes } from '../actors/contract.ts';
import { type Log, systemClock, systemRandom } from '../actors/live/ports.ts';
import type { Admission } from './auth/admission.ts';
import { arrivals } from './chain/arrivals.ts';
import { openChains } from './chain/chains.ts';
import { forgetLists } from './compliance/load.ts';
import { complianceRoutes } from './compliance/routes.ts';
import type { GatewayConfig } from './config.ts';
import { connectionRoutes } from './connections/routes.ts';
import { WebhookDesk } from './deliveries/desk.ts';
import { deliveryRoutes } from './deliveries/routes.ts';
import type { StreamTimes } from './events/event-stream.ts';
import { type FeedLimits, LiveFeed } from './events/live-feed.ts';
import { eventRoutes } from './events/routes.ts';
import { eventStreamRoutes } from './events/stream-routes.ts';
import { IntentDriver } from './intents/driver.ts';
import { intentRoutes } from './intents/routes.ts';
import { makeDeciders } from './policies/deciders.ts';
import { findPolicy, forgetPolicies } from './policies/load.ts';
import { policyRoutes } from './policies/routes.ts';
import type { CallMeta } from './providers/port.ts';
import { providerAdapters } from './providers/registry.ts';
import { makeSelfHosted } from './providers/self-hosted/adapter.ts';
import { receiptRoutes } from './receipts/routes.ts';
import { receiptSigner } from './receipts/signer.ts';
import type { RestDeps } from './rest/mount.ts';
import type { Route } from './rest/route.ts';
import { forgetRiskRules } from './risk/load.ts';
import { riskRoutes } from './risk/routes.ts';
import type { SandboxDeps } from './sandbox/deps.ts';
import { sandboxRoutes } from './sandbox/routes.ts';
import { answerSeal } from './secrets/answer-seal.ts';
import { fileKeyRing } from './secrets/key-ring.ts';
import type { ClusterSigner } from './signing/cluster-signer.ts';
import type { TenantStore } from './store/contract.ts';
import { RedisAddressBook } from './store/redis-address-book.ts';
import { RedisTenantStore } from './store/redis-tenant-store.ts';
import {
  closeKey,
  closeKeyPrefix,
  revokeConnectionPrefix,
  revokeOfConnection,
  revokeSessions,
  revokeSessionsPrefix,
} from './wallets/close-key.ts';
import { walletRoutes } from './wallets/routes.ts';
import { webhookRoutes } from './webhooks/routes.ts';

export type WalletApiConfig = Pick<
  GatewayConfig,
  'environment' | 'tokenKey' | 'receiptSeed' | 'credentialKeysDir' | 'chainBlockMs' | 'intentConcurrency'
>;

type WalletJob = (deps: { store: TenantStore; signer: ClusterSigner }, meta: CallMeta, member: string) => Promise<void>;

export interface WalletApiOptions {
  readonly config: WalletApiConfig;
  readonly redis: Redis;
  readonly admission: Admission;
  /** The cluster that makes and uses the keys of self_hosted wallets. */
  readonly signer: ClusterSigner;
  readonly log: Log;
  /** In a sandbox alone: its routes are there. */
  readonly sandbox?: SandboxDeps;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
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
  const { clock = systemClock, random = systemRandom, checkResponses = false } = options;
  const { environment, chainBlockMs: blockMs, intentConcurrency } = config;
  const store = new RedisTenantStore(redis, clock, random);
  const addressBook = new RedisAddressBook(redis);
  const desk = new WebhookDesk(redis, store, clock);
  const ring = fileKeyRing(config.credentialKeysDir, clock);
  const seal = answerSeal(ring);
  const receipts = receiptSigner(config.receiptSeed);
  const chains = openChains({ redis, blockMs });
  const selfHosted = makeSelfHosted({ signer, chains });
  const adapters = providerAdapters({ selfHosted, redis });
  const intents = {
    store,
    adapters,
    deciders: makeDeciders({ signer: receipts }),
    addressBook,
    fillGap: selfHosted.fillGap,
    arrive: arrivals(chains),
    clock,
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
  const feed = new LiveFeed(redis, store, log, options.streams?.limits);
  const routes = [
    ...connectionRoutes({ adapters, ring, fingerprintKey: config.tokenKey, addressBook }),
    ...walletRoutes({
      adapters,
      addressBook,
      policyExists: async (context, name) => (await findPolicy(context, name)) !== undefined,
      wake: (tenant) => driver.wake(tenant),
    }),
    ...intentRoutes(intents, driver),
    ...eventRoutes(),
    ...eventStreamRoutes({ feed, store, log, ...(options.streams?.times && { times: options.streams.times }) }),
    ...webhookRoutes({ environment, seal, random, desk }),
    ...deliveryRoutes({ desk }),
    ...complianceRoutes(),
    ...riskRoutes(),
    ...policyRoutes(receipts),
    ...receiptRoutes(receipts),
    ...(options.sandbox === undefined ? [] : sandboxRoutes(options.sandbox)),
  ];
  return {
    routes,
    deps: { admission, store, environment, log, seal, hashKey: config.tokenKey, clock, random, checkResponses },
    store,
    start: () => driver.start(),
    restored: async () => {
      store.restored();
      forgetPolicies();
      forgetRiskRules();
      forgetLists();
      feed.restored();
      await driver.restored();
    },
    stop: () => {
      feed.stop();
      return driver.stop();
    },
  };
}

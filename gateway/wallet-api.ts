/**
 * Composes the wallet control plane: every module's routes, their dependencies, and the background work. The caller passes in
 * all ports (live-wallet-ports.ts has those of a process), so that any world can run it. Any number of gateways run it over one
 * store.
 */
import type { Ports } from '../core/actors/contract.ts';
import type { Log } from '../core/actors/live/ports.ts';
import { pause } from '../core/actors/waiting.ts';
import { type IdPrefix, newId } from '../proto/ids.ts';
import { accessRoutes } from '../wallets/companions/access/public.ts';
import { proposalJobs, withChangeControl } from '../wallets/companions/changes/public.ts';
import {
  driftRoutes,
  jobDispatcher,
  jobDuePrefix,
  type ReconQueue,
  reconRoutes,
} from '../wallets/companions/recon/public.ts';
import { orderOrigin, orderOwner, tokenJobs, tokenRoutes } from '../wallets/companions/tokens/public.ts';
import { type TreasuryJobDeps, treasuryJobs, treasuryRoutes } from '../wallets/companions/treasury/public.ts';
import { deleteKey, deleteKeyPrefix, type VaultCluster, vaultRoutes } from '../wallets/companions/vaults/public.ts';
import { connectionRoutes, revokeConnectionPrefix } from '../wallets/custody/connections/public.ts';
import { IntentDriver, intentRoutes, VoteSeal } from '../wallets/custody/intents/public.ts';
import { tenantRoutes } from '../wallets/custody/tenant/public.ts';
import {
  closeKey,
  closeKeyPrefix,
  revokeOfConnection,
  revokeSessions,
  revokeSessionsPrefix,
  testWalletMaker,
  walletRoutes,
} from '../wallets/custody/wallets/public.ts';
import { deliveryRoutes, type OutboxStore, WebhookService } from '../wallets/delivery/deliveries/public.ts';
import {
  eventRoutes,
  eventStreamRoutes,
  type FeedLimits,
  LiveFeed,
  type StreamTimes,
  type Wakes,
} from '../wallets/delivery/events/public.ts';
import { registerWebhook, removeWebhook, webhookRoutes } from '../wallets/delivery/webhooks/public.ts';
import { complianceRoutes, evictLists } from '../wallets/policy/compliance/public.ts';
import { evictPolicies, findPolicy, makeEvaluators, policyRoutes } from '../wallets/policy/policies/public.ts';
import { receiptRoutes, receiptSigner } from '../wallets/policy/receipts/public.ts';
import { evictRiskRules, riskRoutes } from '../wallets/policy/risk/public.ts';
import { providerAdapters } from '../wallets/providers/adapters.ts';
import { custodianBooks } from '../wallets/providers/books.ts';
import { type ChainLedgers, openChains } from '../wallets/providers/chains/public.ts';
import { adaptersInTime, deadlineOf, receivingInTime, venueInTime } from '../wallets/providers/deadlines.ts';
import { arrivals } from '../wallets/providers/incoming-transfers.ts';
import { simulatedPrices, simulatedVenue } from '../wallets/providers/market/public.ts';
import type { ProviderKind } from '../wallets/providers/port/kinds.ts';
import type { CallMeta } from '../wallets/providers/port/port.ts';
import { makeSelfHosted } from '../wallets/providers/self-hosted/adapter.ts';
import type { ClusterSigner } from '../wallets/providers/self-hosted/cluster-signer.ts';
import type { CustodianBooks } from '../wallets/providers/simulated/custodian-books.ts';
import type { CustodianRecords } from '../wallets/providers/simulated/custodian-records.ts';
import type { Drifts } from '../wallets/providers/simulated/drift.ts';
import { providerStatements } from '../wallets/providers/statements.ts';
import type { AddressBook, TenantStore } from '../wallets/store/contract.ts';
import { answerSeal } from '../wallets/store/secrets/answer-seal.ts';
import type { KeyRing } from '../wallets/store/secrets/key-ring.ts';
import type { RequestContext, Route } from './api/route.ts';
import { accessTokenRoutes, type IssuingStore } from './auth/access-token-routes.ts';
import type { Admission } from './auth/admission.ts';
import { meRoutes } from './auth/me-route.ts';
import type { GatewayConfig } from './config.ts';
import type { LoadControl } from './limits/load-control.ts';
import type { RateLimitConfig } from './limits/rate-limits.ts';
import type { SandboxDeps } from './sandbox/deps.ts';
import { sandboxRoutes } from './sandbox/routes.ts';
import { StreamPlaces } from './sandbox/stream-places.ts';
import type { RestDeps } from './serve/rest.ts';
import type { SessionReads } from './signing/session-reads.ts';
import { sessionReadRoutes } from './signing/session-routes.ts';

export type WalletApiConfig = Pick<
  GatewayConfig,
  | 'environment'
  | 'tokenKey'
  | 'receiptSeed'
  | 'chainBlockMs'
  | 'intentConcurrency'
  | 'providerTimeoutMs'
  | 'modulesByOperator'
> & {
  /** Sandbox only: its tenant has every module. */
  readonly bannerToken?: { readonly tenant: string };
};

/** The same in every installation, so that a replay meets the same prices. */
const marketSeed = 'signmesh';

type WalletJob = (deps: { store: TenantStore; signer: ClusterSigner }, meta: CallMeta, member: string) => Promise<void>;

/** The ports of the wallet control plane. */
export interface WalletPorts extends Ports {
  readonly store: TenantStore;
  readonly addressBook: AddressBook;
  readonly hooks: OutboxStore;
  /** Seals credentials, and the answers that idempotency keys get. */
  readonly ring: KeyRing;
  readonly wakes: Wakes;
  readonly ledgers: ChainLedgers;
  readonly custodianRecords: (kind: ProviderKind) => CustodianRecords;
  readonly custodianBooks: (kind: ProviderKind) => CustodianBooks;
  readonly drifts: Drifts;
  readonly reconQueue: ReconQueue;
  /** The cluster that makes and uses the keys of self_hosted wallets. */
  readonly signer: ClusterSigner;
  /** The same cluster, for the keys of vaults. */
  readonly vaultCluster: VaultCluster;
  /** What is stored of its sessions. */
  readonly sessions: SessionReads;
  readonly log: Log;
  /** The stored state was restored: the adapters clear their caches. */
  restored(): void;
}

export interface WalletApiOptions {
  readonly config: WalletApiConfig;
  readonly admission: Admission;
  /** Of the tokens that it admits. */
  readonly tokens: IssuingStore;
  /** Of `admission`; undefined: it counts no calls. */
  readonly rateLimits?: RateLimitConfig | undefined;
  /** Gets notified when the driver has more transfers than it can handle in time. */
  readonly load?: LoadControl;
  /** In a sandbox alone: its routes are there. */
  readonly sandbox?: Omit<SandboxDeps, 'timers' | 'places' | 'chains' | 'webhooks' | 'routes' | 'ownerOf'>;
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
  /** The stored state was restored: clears all caches. */
  restored(): Promise<void>;
  /** Accepts no more work and waits for running work, up to a limit. */
  stop(): Promise<void>;
}

export function composeWalletApi(ports: WalletPorts, options: WalletApiOptions): WalletApi {
  const { clock, timers, random, store, addressBook, hooks, ring, ledgers, signer, vaultCluster, log } = ports;
  const { config, admission, checkResponses = false } = options;
  const { environment, chainBlockMs: blockMs, intentConcurrency } = config;
  const webhookService = new WebhookService(hooks, store, clock);
  const seal = answerSeal(ring);
  const receipts = receiptSigner(config.receiptSeed);
  const chains = openChains({ ledgers, blockMs });
  const selfHosted = makeSelfHosted({ signer, chains });
  const inTime = deadlineOf(timers, config.providerTimeoutMs);
  const all = providerAdapters({
    selfHosted,
    records: ports.custodianRecords,
    books: ports.custodianBooks,
    sleep: (ms) => pause(timers, ms),
  });
  const adapters = adaptersInTime(all, inTime);
  const books = custodianBooks(ports.custodianBooks);
  const statements = providerStatements({ books: ports.custodianBooks, chains });
  const votes = new VoteSeal(config.receiptSeed);
  const intents = {
    store,
    adapters,
    evaluators: makeEvaluators({ signer: receipts }),
    votes,
    owners: new Map([[orderOrigin, orderOwner(store)]]),
    addressBook,
    fillGap: selfHosted.fillGap,
    arrive: arrivals({ chains, books: receivingInTime(books, inTime) }),
    clock,
    timers,
    random,
    log,
    environment,
  };
  const metaOfJob = (tenant: string, member: string): CallMeta => {
    return { tenant, nowMs: clock.nowMs(), correlationId: member, traceparent: '' };
  };
  const jobOf = (job: WalletJob) => (tenant: string, member: string) =>
    job({ store, signer }, metaOfJob(tenant, member), member);
  const deletion = { store, cluster: vaultCluster, newId: (prefix: IdPrefix) => newId(prefix, clock.nowMs(), random) };
  const market = simulatedPrices(store, marketSeed);
  const treasury: TreasuryJobDeps = {
    intents,
    // Its jobs run on the driver, and their transfers are handed to it.
    driver: { enqueue: (tenant, intent, wallet) => driver.enqueue(tenant, intent, wallet) },
    market,
    venue: venueInTime(simulatedVenue(ports.custodianRecords('sandbox'), market, books.sandbox), inTime),
    accounts: { adapters, addressBook },
    wake: (tenant) => driver.wake(tenant),
  };
  const driver: IntentDriver = new IntentDriver(intents, {
    ...(intentConcurrency !== undefined && { perProviderMax: intentConcurrency }),
    jobs: new Map([
      [closeKeyPrefix, jobOf(closeKey)],
      [revokeSessionsPrefix, jobOf(revokeSessions)],
      [revokeConnectionPrefix, jobOf(revokeOfConnection)],
      ...treasuryJobs(treasury),
      [deleteKeyPrefix, (tenant: string, member: string) => deleteKey(deletion, metaOfJob(tenant, member), member)],
      [jobDuePrefix, jobDispatcher(store, ports.reconQueue)],
      ...tokenJobs({ store, clock, random }),
      ...proposalJobs({ store, clock, random }),
    ]),
  });
  options.load?.heed('transfers', (tenant) => driver.pressureOf(tenant));
  const feed = new LiveFeed({ wakes: ports.wakes, store, timers, log }, options.streams?.limits);
  const places = new StreamPlaces();
  const access = { isAutomatic: !config.modulesByOperator, openTenant: config.bannerToken?.tenant };
  const policyExists = async (context: RequestContext, name: string) => (await findPolicy(context, name)) !== undefined;
  const wake = (tenant: string): void => driver.wake(tenant);
  const inboxWebhooks: SandboxDeps['webhooks'] = {
    register: (context, asked) => registerWebhook(context, asked, webhooks),
    remove: removeWebhook,
  };
  const webhooks = { environment, seal, random, webhookService };
  const direct: Route[] = [
    ...connectionRoutes({
      adapters,
      ring,
      fingerprintKey: config.tokenKey,
      makeTestWallets: testWalletMaker({ adapters, addressBook }),
    }),
    ...walletRoutes({
      adapters,
      addressBook,
      policyExists,
      wake,
    }),
    ...intentRoutes(intents, driver),
    ...sessionReadRoutes(ports.sessions),
    ...eventRoutes(),
    ...eventStreamRoutes({ feed, store, timers, log, ...(options.streams?.times && { times: options.streams.times }) }),
    ...webhookRoutes(webhooks),
    ...deliveryRoutes({ webhookService, seal }),
    ...complianceRoutes(),
    ...riskRoutes(),
    ...policyRoutes(receipts),
    ...receiptRoutes(receipts),
    ...tokenRoutes({ intents, driver }),
    ...treasuryRoutes({ ...treasury, adapters, policyExists, isSandbox: environment === 'sandbox' }),
    ...vaultRoutes({ cluster: vaultCluster, evaluators: intents.evaluators, receipts, policyExists, wake }),
    ...reconRoutes({ wake: (tenant) => driver.wake(tenant) }),
    ...accessRoutes({ ...access, servedTags: () => new Set([...routes.map(({ tag }) => tag), 'Signing', 'Service']) }),
    ...tenantRoutes(),
    ...accessTokenRoutes(options.tokens),
    ...meRoutes(options.rateLimits),
    ...driftRoutes({ drifts: ports.drifts, statements, timers, isSandbox: options.sandbox !== undefined }),
    ...(options.sandbox === undefined
      ? []
      : sandboxRoutes({
          ...{ ...options.sandbox, timers, places, chains, webhooks: inboxWebhooks, routes: () => routes },
          ownerOf: (token) => admission.ownerOf(token),
        })),
  ];
  const routes = withChangeControl(direct, { votes, seal });
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
      ports.restored();
      options.sandbox?.requests?.clear();
      options.sandbox?.inboxes?.clear();
      evictPolicies(store);
      evictRiskRules(store);
      evictLists(store);
      feed.restored();
      await driver.restored();
    },
    stop: () => {
      feed.stop();
      places.stop();
      return driver.stop();
    },
  };
}

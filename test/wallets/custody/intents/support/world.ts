/** A tenant with wallets on a real Redis, a fake provider, judges that a test sets, and as many drivers as it wants. */

import { systemRandom } from '../../../../../core/actors/live/ports.ts';
import { newId } from '../../../../../proto/ids.ts';
import type { ConnectionRecord } from '../../../../../wallets/custody/connections/record.ts';
import { connectionType } from '../../../../../wallets/custody/connections/record.ts';
import type { IntentDependencies } from '../../../../../wallets/custody/intents/dependencies.ts';
import { type DriverOptions, IntentDriver } from '../../../../../wallets/custody/intents/driver.ts';
import { changeOf } from '../../../../../wallets/custody/intents/effects.ts';
import type { Evaluators } from '../../../../../wallets/custody/intents/evaluators.ts';
import type { PolicyDecision } from '../../../../../wallets/custody/intents/facts.ts';
import {
  type IntentDraft,
  type IntentVerdict,
  lastOf,
  openIntent,
} from '../../../../../wallets/custody/intents/machine.ts';
import { type IntentRecord, intentType } from '../../../../../wallets/custody/intents/record.ts';
import { type WalletRecord, walletType } from '../../../../../wallets/custody/wallets/record.ts';
import { create } from '../../../../../wallets/store/changes.ts';
import type { AddressBook, Balance, TenantStore } from '../../../../../wallets/store/contract.ts';
import { RedisAddressBook } from '../../../../../wallets/store/redis-address-book.ts';
import { ledgerEntry } from '../../../../support/ledger-entry.ts';
import { collectLog, type LogLine } from '../../../../support/log.ts';
import { QuickTime } from '../../../../support/quick-time.ts';
import { type StoreUnderTest, startStore } from '../../../../support/store.ts';
import { until } from '../../../../support/until.ts';
import { draft, oneEth, somewhere } from './draft.ts';
import { FakeProvider } from './fake-provider.ts';
import { decided, receipts, votes } from './proofs.ts';

export { oneEth, somewhere };

export interface World {
  readonly redis: StoreUnderTest;
  readonly store: TenantStore;
  readonly addressBook: AddressBook;
  readonly provider: FakeProvider;
  readonly judges: Judges;
  readonly clock: { offsetMs: number; nowMs(): number };
  readonly lines: LogLine[];
  dependencies(over?: Partial<IntentDependencies>): IntentDependencies;
  driver(over?: Partial<IntentDependencies>, options?: DriverOptions): IntentDriver;
  wallet(
    tenant: string,
    balances: Readonly<Record<string, bigint>>,
    over?: Partial<WalletRecord>,
  ): Promise<WalletRecord>;
  /** An intent as its creation commits it, without the routes. */
  intent(
    tenant: string,
    wallet: WalletRecord,
    over?: Partial<IntentDraft>,
    verdict?: IntentVerdict,
  ): Promise<IntentRecord>;
  read(tenant: string, id: string): Promise<IntentRecord>;
  balance(tenant: string, walletId: string, asset: string): Promise<Balance>;
  reach(tenant: string, id: string, status: IntentRecord['status']): Promise<IntentRecord>;
  stop(): Promise<void>;
}

let drawn = 0;

/** `pace`: how much faster than real time the time of gateways passes. */
export async function startWorld({ pace = 1 } = {}): Promise<World> {
  const redis = await startStore();
  const clock = new QuickTime(pace);
  const store = await redis.open(clock);
  const addressBook = new RedisAddressBook(redis.redis);
  const provider = new FakeProvider();
  const judges = new Judges();
  const drivers: IntentDriver[] = [];
  const { log, lines } = collectLog();
  const id = (prefix: Parameters<typeof newId>[0]) => newId(prefix, clock.nowMs(), systemRandom);

  const dependencies = (over: Partial<IntentDependencies> = {}): IntentDependencies => ({
    store,
    adapters: new Map([['self_hosted', provider.adapter()]]),
    evaluators: judges,
    votes,
    addressBook,
    fillGap: provider.fillGap,
    arrive: async () => {},
    clock,
    timers: clock,
    random: systemRandom,
    log,
    environment: 'sandbox',
    ...over,
  });

  const world: World = {
    redis,
    store,
    addressBook,
    provider,
    judges,
    clock,
    lines,
    dependencies,
    driver: (over, options) => {
      const driver = new IntentDriver(dependencies(over), { sweepEveryMs: 20 * pace, ...options });
      drivers.push(driver);
      return driver;
    },
    async wallet(tenant, balances, over = {}) {
      const nowMs = clock.nowMs();
      const connection: ConnectionRecord = {
        id: id('pcn'),
        version: 1,
        provider: 'self_hosted',
        name: 'cluster',
        environment: 'sandbox',
        status: 'connected',
        capabilities: [],
        credentials: '',
        credentialFingerprint: '',
        metadata: {},
        lastSyncedAtMs: null,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      };
      drawn += 1;
      const address = `0x${drawn.toString(16).padStart(40, '0')}`;
      const walletId = id('wal');
      const wallet: WalletRecord = {
        id: walletId,
        version: 1,
        name: 'treasury',
        provider: 'self_hosted',
        connectionId: connection.id,
        providerWalletId: walletId,
        status: 'active',
        environment: 'sandbox',
        network: 'eip155:11155111',
        addresses: [{ network: 'eip155:11155111', address }],
        publicKey: null,
        assets: ['ETH', 'USDC'],
        approvalMode: 'unspecified',
        signingApi: 'allowed',
        policy: null,
        externalId: null,
        metadata: {},
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
        archivedAtMs: null,
        archiveReason: null,
        ...over,
      };
      await addressBook.register(wallet.network, address, { tenant, walletId });
      const outcome = await store.commit(tenant, {
        puts: [create(connectionType, connection), create(walletType, wallet)],
        ledger: Object.entries(balances).map(([asset, available]) => ledgerEntry(walletId, asset, available)),
      });
      if (!outcome.committed) throw new Error('the wallet was refused');
      return wallet;
    },
    async intent(tenant, wallet, over = {}, verdict = { kind: 'approved' }) {
      const nowMs = clock.nowMs();
      const approvals = verdict.kind === 'pendingApproval' ? { ...verdict, timeoutS: 60 } : undefined;
      const drafted = decided(tenant, { ...draft(id('txi'), wallet), ...over }, approvals);
      const move = openIntent(drafted, verdict, nowMs);
      const outcome = await store.commit(tenant, changeOf({ newId: id, nowMs, requestId: 'req_test' }, move));
      if (!outcome.committed) throw new Error(`the intent was refused: ${outcome.refusal.kind}`);
      return lastOf(move);
    },
    async read(tenant, intentId) {
      const record = await store.read(tenant, intentType, intentId);
      if (record === undefined) throw new Error(`${intentId} is missing`);
      return record;
    },
    async balance(tenant, walletId, asset) {
      const found = await store.readWithBalances(tenant, walletType, walletId);
      return found?.balances.get(asset) ?? { available: 0n, reserved: 0n };
    },
    async reach(tenant, intentId, status) {
      let last: IntentRecord | undefined;
      return until(
        async () => {
          last = await world.read(tenant, intentId);
          return last.status === status && last;
        },
        () => `the intent being ${status}; it is ${last?.status} ${last?.subStatus}`,
      );
    },
    async stop() {
      await Promise.all(drivers.map((driver) => driver.stop(1_000)));
      await redis.stop();
    },
  };
  return world;
}

/** Compliance and risk find nothing; the policy says what the test has set. */
export class Judges implements Evaluators {
  decision: Pick<PolicyDecision, 'decision' | 'approvals'> = { decision: 'allow', approvals: undefined };
  screening: 'clear' | 'review' | 'blocked' = 'clear';
  /** Happens between the reads of a creation and its commit. */
  meanwhile: () => Promise<unknown> = async () => {};
  /** The names that each decision was asked with, joined by a plus. */
  readonly asked: string[] = [];

  screen: Evaluators['screen'] = async (context) => ({
    result: {
      id: context.newId('scr'),
      decision: this.screening,
      riskScore: 0,
      matches: [],
      reportId: context.newId('rep'),
      listVersions: {},
    },
    change: {},
  });

  assess: Evaluators['assess'] = async (_context, facts) => ({
    result: { txId: facts.id, score: 5, level: 'low', action: 'allow', ruleActions: [], factors: [], rulesVersion: 1 },
    change: {},
  });

  decide: Evaluators['decide'] = async (context, _facts, _screening, _risk, policyNames) => {
    this.asked.push(policyNames.join('+'));
    await this.meanwhile();
    return {
      result: {
        id: context.newId('dec'),
        ...this.decision,
        policy: { name: policyNames[0] ?? 'default', id: 'pol_1', version: 1 },
        mode: 'enforce',
        matchedRules: ['rule'],
        trace: [{ rule: 'rule', effect: this.decision.decision, matched: true, result: 'true' }],
        reason: 'because',
      },
      change: {},
    };
  };

  receipt = receipts.receipt;
  readReceipt = receipts.readReceipt;
}

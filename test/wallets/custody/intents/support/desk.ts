/** The routes of intents over a store in memory: a wallet, a provider that quotes a fee, and evaluators in the test's hands. */

import type { Route } from '../../../../../gateway/api/route.ts';
import { type ConnectionRecord, connectionType } from '../../../../../wallets/custody/connections/record.ts';
import type { IntentDependencies } from '../../../../../wallets/custody/intents/dependencies.ts';
import type { TransactionFacts } from '../../../../../wallets/custody/intents/facts.ts';
import type { IntentRecord } from '../../../../../wallets/custody/intents/record.ts';
import { intentRoutes } from '../../../../../wallets/custody/intents/routes.ts';
import { type NewWallet, walletFrom } from '../../../../../wallets/custody/wallets/new-wallet.ts';
import { type WalletRecord, walletType } from '../../../../../wallets/custody/wallets/record.ts';
import { create, update } from '../../../../../wallets/store/changes.ts';
import type { Balance, TenantStore } from '../../../../../wallets/store/contract.ts';
import { ledgerEntry } from '../../../../support/ledger-entry.ts';
import { done, newTenant } from '../../../../support/memory-store.ts';
import { answered, type Caller, contextAt } from '../../../companions/support/handlers.ts';
import { receipts, votes } from './proofs.ts';

export const startMs = Date.UTC(2026, 5, 15, 12);
export const network = 'eip155:11155111';
const fee = { asset: 'ETH', units: 42n };
/** The address of the wallet. */
export const own = `0x${'1'.repeat(40)}`;
export const somewhere = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

// biome-ignore lint/suspicious/noExplicitAny: the service's own JSON, of which a test reads a field or two
type Json = any;

/** A call of the provider or of an evaluator: its name, and what it was told beyond its context. */
type Asked = readonly [string, ...unknown[]];

/** The wallet is `wal_1`, of the policy "cold". */
export class IntentDesk {
  readonly tenant = newTenant();
  readonly store: TenantStore;
  nowMs = startMs;
  /** Parts of the results of the evaluators. */
  screening: object = {};
  risk: object = {};
  decision: object = {};
  /** Runs while the policies decide. */
  deciding: () => Promise<unknown> = async () => {};
  /** What the provider quotes. */
  fee = fee;
  /** Capabilities of the provider. */
  readonly capabilities: string[] = [];
  /** Runs between the reads of a route and its commit. */
  meanwhile: () => Promise<unknown> = async () => {};
  readonly asked: Asked[] = [];
  /** Ids of intents that the driver got. */
  readonly queued: string[] = [];
  readonly deps: IntentDependencies;
  readonly #routes: readonly Route[];

  /** `over`: dependencies in the place of the desk's own. */
  constructor(store: TenantStore, over: Partial<IntentDependencies> = {}) {
    this.store = store;
    this.deps = { ...this.#dependencies(), store, ...over };
    this.#routes = intentRoutes(this.deps, { enqueue: (_: string, { id }: IntentRecord) => this.queued.push(id) });
  }

  /** `held`: units of the wallet by asset. */
  async open(held: Readonly<Record<string, bigint>> = {}, over: Partial<NewWallet> = {}): Promise<this> {
    const times = { createdAtMs: startMs, updatedAtMs: startMs };
    const connection: ConnectionRecord = {
      ...{ id: 'pcn_1', version: 1, provider: 'self_hosted', name: 'c', environment: 'sandbox', status: 'connected' },
      ...{ capabilities: [], credentials: '', credentialFingerprint: '', metadata: {}, lastSyncedAtMs: null, ...times },
    };
    const addresses = [{ network, address: own }] as const;
    const made = { providerWalletId: 'wal_1', publicKey: null, addresses, balances: [] };
    const order = { id: 'wal_1', name: 'w', connection, network, made, nowMs: startMs, policy: 'cold' } as const;
    await done(this.store, this.tenant, {
      puts: [
        create(connectionType, connection),
        create(walletType, walletFrom({ ...order, signingApi: 'allowed', ...over })),
      ],
      ledger: Object.entries(held).map(([asset, available]) => ledgerEntry('wal_1', asset, available)),
    });
    return this;
  }

  async changeWallet(over: Partial<WalletRecord>): Promise<void> {
    const before = (await this.store.read(this.tenant, walletType, 'wal_1'))!;
    await done(this.store, this.tenant, {
      puts: [update(walletType, before, { ...before, version: before.version + 1, ...over })],
    });
  }

  async balance(asset: string): Promise<Balance> {
    const { balances } = (await this.store.readWithBalances(this.tenant, walletType, 'wal_1'))!;
    return balances.get(asset) ?? { available: 0n, reserved: 0n };
  }

  /** An intent of `by` as its route answers it, or a dry run. */
  transfer(body: object, query: object = {}, by = 'tok_1'): Promise<Json> {
    return this.call('createTransactionIntent', { query, body: { destination: { address: somewhere }, ...body } }, by);
  }

  /** What a route answers; its change is committed, and what follows the commit is done. */
  async call(operation: string, input: object = {}, by = 'tok_1', caller: Partial<Caller> = {}): Promise<Json> {
    const { handle } = this.#routes.find(({ operationId }) => operationId === operation)!;
    const context = contextAt(this.nowMs, this.store, { tenant: this.tenant, actorId: by, tokenId: by, ...caller });
    const given = { query: {}, body: {}, headers: {}, idempotencyKey: undefined, params: { id: 'wal_1' }, ...input };
    const answer = await handle(context, given);
    await this.meanwhile();
    const body = await answered(context, answer);
    answer.afterCommit?.();
    return body;
  }

  #dependencies(): IntentDependencies {
    const result = (given: object) => ({ result: given, change: {} });
    const adapter = {
      info: { capabilities: this.capabilities, displayName: 'The provider' },
      quote: async (_: unknown, order: object) => {
        this.asked.push(['quote', order]);
        return { fee: this.fee };
      },
    };
    return {
      adapters: new Map([['self_hosted', adapter]]),
      evaluators: {
        screen: async (_: unknown, facts: TransactionFacts) => {
          this.asked.push(['screen', facts]);
          return result({ id: 'scr_1', decision: 'clear', riskScore: 0, matches: [], ...this.screening });
        },
        assess: async (_: unknown, facts: TransactionFacts, ...earlier: readonly unknown[]) => {
          this.asked.push(['assess', facts, ...earlier]);
          return result({ txId: facts.id, score: 7, level: 'low', action: 'allow', factors: [], ...this.risk });
        },
        decide: async (_: unknown, facts: TransactionFacts, ...earlier: readonly unknown[]) => {
          this.asked.push(['decide', facts, ...earlier]);
          await this.deciding();
          const policy = { name: 'cold', id: 'pol_1', version: 2 };
          const decided = { id: 'dec_1', decision: 'allow', policy, matchedRules: ['r'], trace: [], reason: 'why' };
          return result({ ...decided, ...this.decision });
        },
        ...receipts,
      },
      votes,
    } as unknown as IntentDependencies;
  }
}

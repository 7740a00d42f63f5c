/** A token of a tenant over a store in memory, and its orders, whose intents begin and end as the test says. */

import { systemRandom } from '../../../../../core/actors/live/ports.ts';
import { newId } from '../../../../../proto/ids.ts';
import type { TokenDeps } from '../../../../../wallets/companions/tokens/issue.ts';
import { orderOwner } from '../../../../../wallets/companions/tokens/owner.ts';
import {
  intentIdOf,
  type OrderRecord,
  type OwnTokenRecord,
  orderType,
  type Reserve,
  supplyOf,
  tokenType,
} from '../../../../../wallets/companions/tokens/record.ts';
import { tokenRoutes } from '../../../../../wallets/companions/tokens/routes.ts';
import { tokenJobs } from '../../../../../wallets/companions/tokens/settle.ts';
import { tokenAssetId, tokenAssetType } from '../../../../../wallets/custody/assets/token-assets.ts';
import { type ConnectionRecord, connectionType } from '../../../../../wallets/custody/connections/record.ts';
import type { TransactionFacts } from '../../../../../wallets/custody/intents/facts.ts';
import { type IntentRecord, intentType } from '../../../../../wallets/custody/intents/record.ts';
import { VoteSeal } from '../../../../../wallets/custody/intents/votes.ts';
import { walletFrom } from '../../../../../wallets/custody/wallets/new-wallet.ts';
import { walletType } from '../../../../../wallets/custody/wallets/record.ts';
import { tokensCapability } from '../../../../../wallets/providers/port/port.ts';
import { create, update } from '../../../../../wallets/store/changes.ts';
import type { Change, TenantStore } from '../../../../../wallets/store/contract.ts';
import { ledgerEntry } from '../../../../support/ledger-entry.ts';
import { done, newTenant, type StoreUnderTest } from '../../../../support/memory-store.ts';
import { answered, type Caller, contextAt } from '../../support/handlers.ts';

export const startMs = Date.UTC(2026, 5, 15, 12);
const network = 'eip155:11155111';
const fee = { asset: 'ETH', units: 42n };
/** The address of the wallet. */
export const own = `0x${'1'.repeat(40)}`;
/** Smallest units of a token and of USDC, which have six decimals. */
export const one = 1_000_000n;

// biome-ignore lint/suspicious/noExplicitAny: the service's own JSON, of which a test reads a field or two
type Json = any;

type Leave = Awaited<ReturnType<ReturnType<typeof orderOwner>['beforeSigning']>>;

/** A wallet of 100 USDC, and the token GOLD with a cap of 100. */
export class TokenDesk {
  readonly tenant = newTenant();
  readonly under: StoreUnderTest;
  readonly store: TenantStore;
  nowMs = startMs;
  /** Ids of intents that the driver got. */
  readonly queued: string[] = [];
  decision: object = { decision: 'allow' };
  /** Runs while the policies decide. */
  deciding: () => Promise<unknown> = async () => {};
  /** The facts of each transaction that the policies decided. */
  readonly decided: TransactionFacts[] = [];
  readonly #routes = tokenRoutes({
    driver: { enqueue: (_: string, { id }: IntentRecord) => this.queued.push(id) },
    intents: {
      adapters: new Map([
        ['self_hosted', { info: { capabilities: [tokensCapability] }, quote: async () => ({ fee }) }],
      ]),
      evaluators: {
        screen: async () => ({ result: { id: 'scr_1', decision: 'clear', riskScore: 0, matches: [] }, change: {} }),
        assess: async () => ({ result: { score: 0, level: 'low', action: 'allow', factors: [] }, change: {} }),
        decide: async (_: unknown, facts: TransactionFacts) => {
          this.decided.push(facts);
          await this.deciding();
          const policy = { name: 'default', id: 'pol_1', version: 1 };
          return { result: { id: 'dec_1', policy, ...this.decision }, change: {} };
        },
        receipt: () => '',
      },
      votes: new VoteSeal(new Uint8Array(32)),
    },
  } as unknown as TokenDeps);

  constructor(under: StoreUnderTest, store: TenantStore) {
    this.under = under;
    this.store = store;
  }

  async open(): Promise<this> {
    const connection: ConnectionRecord = {
      ...{ id: 'pcn_1', version: 1, provider: 'self_hosted', name: 'c', environment: 'sandbox', status: 'connected' },
      ...{ capabilities: [], credentials: '', credentialFingerprint: '', metadata: {}, lastSyncedAtMs: null },
      ...{ createdAtMs: startMs, updatedAtMs: startMs },
    };
    const balances = [
      { asset: 'ETH', units: 10n ** 18n },
      { asset: 'USDC', units: 100n * one },
    ];
    const made = { providerWalletId: 'wal_1', publicKey: null, addresses: [{ network, address: own }], balances };
    const order = { id: 'wal_1', name: 'w', connection, network, made, nowMs: startMs, signingApi: 'allowed' } as const;
    const ledger = balances.map(({ asset, units }) => ledgerEntry('wal_1', asset, units));
    await this.does({
      puts: [create(connectionType, connection), create(walletType, walletFrom(order as never))],
      ledger,
    });
    return this.issue('GOLD');
  }

  /** A token that is deployed, with the id `tkn_<symbol>`. */
  async issue(symbol: string, over: Partial<OwnTokenRecord> = {}): Promise<this> {
    const token = tokenRecord(symbol, over);
    const { contract, supplyCap, name, decimals } = token;
    const status = token.status === 'active' ? 'active' : 'deploying';
    const asset = {
      id: tokenAssetId(symbol),
      version: 1,
      symbol,
      name,
      network,
      decimals,
      contract,
      supplyCap,
      status,
    };
    await this.does({
      puts: [create(tokenType, token), create(tokenAssetType, asset as never)],
      ...(status === 'active' && {
        ledger: [{ walletId: token.id, asset: symbol, available: BigInt(supplyCap), reserved: 0n }],
      }),
    });
    return this;
  }

  does(change: Change) {
    return done(this.store, this.tenant, change);
  }

  /** An order that has been approved, unless `over` says otherwise. */
  async order(kind: OrderRecord['kind'], amount: bigint, reserve: Reserve, over: Partial<OrderRecord> = {}) {
    const id = newId('ord', this.nowMs, systemRandom);
    const record = { ...orderRecord(id, kind, amount * one, reserve), ...over };
    await this.does({ puts: [create(orderType, record)] });
    return record;
  }

  /** What the token says when the signing of the order's intent begins. */
  leave({ draft }: Pick<OrderRecord, 'draft'>): Promise<Leave> {
    return orderOwner(this.store).beforeSigning(this.tenant, draft as unknown as IntentRecord, this.context());
  }

  /** The same, committed; the status and sub-status of the order then. */
  async begin(order: OrderRecord): Promise<readonly [string, string | null]> {
    await this.does((await this.leave(order)).change);
    return this.standing(order);
  }

  async mint(amount: bigint, reserve: Reserve): Promise<OrderRecord> {
    const order = await this.order('mint', amount, reserve);
    const [status, subStatus] = await this.begin(order);
    if (status !== 'processing') throw new Error(`the mint is ${status}: ${subStatus}`);
    return order;
  }

  /** The intent of an order, or of a token, ends; the job that falls due then runs. */
  async end({ id }: { readonly id: string }, status: string, over: Partial<IntentRecord> = {}): Promise<void> {
    const intent = {
      ...{ id: intentIdOf(id), version: 1, walletId: 'wal_1', connectionId: 'pcn_1', provider: 'self_hosted' },
      ...{ destination: { address: '0x1' }, asset: 'GOLD', status, submission: null, subStatus: null },
      ...{ providerError: null, providerTxId: null, metadata: {}, ...over },
    };
    const due = [{ member: memberOf(id), atMs: this.nowMs }];
    await this.does({ puts: [create(intentType, intent as unknown as IntentRecord)], due });
    await this.job(id);
  }

  async job(id: string): Promise<void> {
    const member = memberOf(id);
    const clock = { nowMs: () => this.nowMs };
    const jobs = tokenJobs({ store: this.store, clock, random: systemRandom });
    const [, run] = jobs.find(([prefix]) => member.startsWith(prefix))!;
    await run(this.tenant, member);
  }

  async standing({ id }: { readonly id: string }): Promise<readonly [string, string | null]> {
    const { status, subStatus } = (await this.store.read(this.tenant, orderType, id))!;
    return [status, subStatus];
  }

  /** Left to mint, being minted, in circulation: in whole units. */
  async supply(symbol = 'GOLD'): Promise<readonly bigint[]> {
    const { record, balances } = (await this.store.readWithBalances(this.tenant, tokenType, `tkn_${symbol}`))!;
    const { left, minting, circulating } = supplyOf(record, balances);
    return [left, minting, circulating].map((units) => units / one);
  }

  /** USDC of the wallet, in whole units: available, and set aside. */
  async held(): Promise<readonly bigint[]> {
    const { balances } = (await this.store.readWithBalances(this.tenant, walletType, 'wal_1'))!;
    const { available, reserved } = balances.get('USDC')!;
    return [available / one, reserved / one];
  }

  /** When a job of the token or the order is due, in milliseconds after the start. */
  async due({ id }: { readonly id: string }): Promise<number | undefined> {
    const contents = (await this.under.contents(this.tenant)).get(`sm:{t:${this.tenant}}:due`);
    const { value = [] } = (contents ?? {}) as { readonly value?: readonly string[] };
    const place = value.indexOf(memberOf(id));
    return place < 0 ? undefined : Number(value[place + 1]) - startMs;
  }

  async freezeWallet(): Promise<void> {
    const before = (await this.store.read(this.tenant, walletType, 'wal_1'))!;
    await this.does({
      puts: [update(walletType, before, { ...before, version: before.version + 1, status: 'frozen' })],
    });
  }

  context(who: Omit<Caller, 'tenant'> = {}) {
    return contextAt(this.nowMs, this.store, { tenant: this.tenant, ...who });
  }

  /** What a route answers; its change is committed, and what follows the commit is done. */
  async call(operation: string, input: object = {}, actorId = 'tok_2'): Promise<Json> {
    const { handle } = this.#routes.find(({ operationId }) => operationId === operation)!;
    const context = this.context({ actorId, tokenId: actorId });
    const given = { params: {}, query: {}, body: {}, headers: {}, idempotencyKey: undefined, ...input };
    const answer = await handle(context, given);
    const body = await answered(context, answer);
    answer.afterCommit?.();
    return body;
  }
}

export const wallet: Reserve = { type: 'wallet', walletId: 'wal_1', asset: 'USDC', decimals: 6 };

/** An attested amount in whole units, with 18 decimals. */
export function attestation(amount: bigint, over: object = {}): Reserve {
  const units = String(amount * 10n ** 18n);
  const expiresAtMs = startMs + 3_600_000;
  return { type: 'attestation', reference: 'a', asset: 'USD', decimals: 18, units, expiresAtMs, ...over };
}

function tokenRecord(symbol: string, over: Partial<OwnTokenRecord>): OwnTokenRecord {
  return {
    ...{ id: `tkn_${symbol}`, version: 1, symbol, name: symbol, network, decimals: 6, supplyCap: String(100n * one) },
    ...{ contract: '0x00000000000000000000000000000000000000C1', status: 'active', issuerWalletId: 'wal_1' },
    ...{ connectionId: 'pcn_1', provider: 'self_hosted', intentId: intentIdOf(`tkn_${symbol}`), error: null },
    ...{ freezeReason: null, metadata: {}, correlationId: 'req_1', createdAtMs: startMs, updatedAtMs: startMs },
    ...over,
  };
}

function orderRecord(id: string, kind: OrderRecord['kind'], units: bigint, reserve: Reserve): OrderRecord {
  const amount = String(units / one);
  const { symbol, name, contract, supplyCap, decimals } = tokenRecord('GOLD', {});
  const draft = {
    ...{ id: intentIdOf(id), kind: kind === 'mint' ? 'mint' : 'burn', walletId: 'wal_1', connectionId: 'pcn_1' },
    ...{ provider: 'self_hosted', network, asset: symbol, amount, units: String(units), fromAddress: '0x1' },
    ...{ destination: { address: '0x1' }, feeReserve: { asset: 'ETH', units: '42' }, decisionId: 'dec_1' },
    ...{ policy: { name: 'default', id: 'pol_1', version: 1 }, policyReceipt: '', riskScore: 0, screeningId: null },
    ...{ initiator: 'tok_1', metadata: {}, correlationId: 'req_1', origin: { kind: 'token-order', id } },
    token: { symbol, name, network, contract, supplyCap, decimals },
  } as const;
  const history = [{ status: 'reserve_check', subStatus: null, atMs: startMs }] as const;
  const record = {
    ...{ id, version: 1, kind, tokenId: 'tkn_GOLD', connectionId: 'pcn_1', provider: 'self_hosted' },
    ...{ status: 'reserve_check', subStatus: null, asset: symbol, decimals, amount, units: String(units), reserve },
    ...{
      reserveCheck: null,
      draft,
      initiator: 'tok_1',
      approvals: [],
      approvalsRequired: 0,
      approvers: [],
      error: null,
    },
    ...{ metadata: {}, correlationId: 'req_1', statusHistory: history, createdAtMs: startMs, updatedAtMs: startMs },
    expiresAtMs: startMs,
  };
  return record as OrderRecord;
}

function memberOf(id: string): string {
  return id.startsWith('tkn_') ? `token/${id}` : `token-order/${id}`;
}

/** Both sides of a wallet, as a job reads them: our records from the store, and the provider's statements. */
import { type IntentRecord, intentType, ofWalletIndex, txIndex } from '../../custody/intents/public.ts';
import {
  depositId,
  depositsIndex,
  depositType,
  type WalletRecord,
  withdrawalId,
} from '../../custody/wallets/public.ts';
import type { CallMeta } from '../../providers/port/port.ts';
import {
  type Movement,
  type MovementDirection,
  type ProviderStatements,
  readExchangeKey,
  type StatementPage,
} from '../../providers/port/statement.ts';
import type { TenantStore } from '../../store/contract.ts';
import { exchangeRecordId, exchangesIndex, exchangeType } from '../treasury/public.ts';
import {
  depositMovement,
  exchangeMovements,
  fillerMovement,
  intentMovement,
  nativeAssetOf,
  type OwnMovement,
} from './own-side.ts';

/** Rows of a page, for either side. */
export const pageRows = 100;

export interface OwnPage {
  readonly movements: readonly OwnMovement[];
  readonly next: string | null;
}

export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Reads one wallet. Throws StoreUnavailable and ProviderUnavailable. */
export class WalletSources {
  readonly #store: TenantStore;
  readonly #statements: ProviderStatements;
  readonly #metaNow: () => CallMeta;
  readonly wallet: WalletRecord;

  /** `metaNow`: fresh call metadata, since a wallet with many rows takes long. */
  constructor(store: TenantStore, statements: ProviderStatements, metaNow: () => CallMeta, wallet: WalletRecord) {
    this.#store = store;
    this.#statements = statements;
    this.#metaNow = metaNow;
    this.wallet = wallet;
  }

  /** Intents that were created in the window. */
  async transfers({ fromMs, toMs }: Window, after: string | null): Promise<OwnPage> {
    const page = await this.#store.list(this.#meta.tenant, intentType, {
      ...{ indices: [ofWalletIndex(this.wallet.id)], order: 'oldest', limit: pageRows },
      ...{ createdAfterMs: fromMs, createdBeforeMs: toMs },
      ...(after !== null && { afterId: after }),
    });
    return { movements: page.items.map((intent) => this.#ofIntent(intent)), next: nextOf(page) };
  }

  /** Deposits credited in the window. Their index is in the order of their ids, which is not the order of time. */
  async deposits({ fromMs, toMs }: Window, after: string | null): Promise<OwnPage> {
    const page = await this.#store.list(this.#meta.tenant, depositType, {
      ...{ indices: [depositsIndex(this.wallet.id)], order: 'oldest', limit: pageRows },
      ...(after !== null && { afterId: after }),
    });
    const within = page.items.filter(({ createdAtMs }) => createdAtMs >= fromMs && createdAtMs < toMs);
    return { movements: within.map((deposit) => this.#ofDeposit(deposit)), next: nextOf(page) };
  }

  /** Exchanges that the venue account booked in the window. Their index is in the order of their ids, too. */
  async exchanges({ fromMs, toMs }: Window, after: string | null): Promise<OwnPage> {
    const page = await this.#store.list(this.#meta.tenant, exchangeType, {
      ...{ indices: [exchangesIndex(this.wallet.id)], order: 'oldest', limit: pageRows },
      ...(after !== null && { afterId: after }),
    });
    const within = page.items.filter(({ createdAtMs }) => createdAtMs >= fromMs && createdAtMs < toMs);
    return { movements: within.flatMap(exchangeMovements), next: nextOf(page) };
  }

  statement({ fromMs, toMs }: Window, after: string | null): Promise<StatementPage> {
    const query = { fromMs, toMs, limit: pageRows, ...(after !== null && { after }) };
    return this.#statements.page(this.#meta, this.wallet, query);
  }

  /** The provider's movements with each key. */
  theirs(direction: MovementDirection, keys: readonly string[]): Promise<readonly (readonly Movement[])[]> {
    return keys.length === 0 ? Promise.resolve([]) : this.#statements.find(this.#meta, this.wallet, direction, keys);
  }

  /** Our movements under these keys; undefined: we have none. */
  async own(direction: MovementDirection, keys: readonly string[]): Promise<readonly (OwnMovement | undefined)[]> {
    const [some, exchanged] = await Promise.all([this.#ownTransfers(direction, keys), this.#ownExchanges(keys)]);
    return keys.map(
      (key, index) => exchanged.find((own) => own.key === key && own.direction === direction) ?? some[index],
    );
  }

  async #ownExchanges(keys: readonly string[]): Promise<readonly OwnMovement[]> {
    const ids = keys.flatMap((key) => readExchangeKey(key)?.exchangeId ?? []);
    if (ids.length === 0) return [];
    const records = [...new Set(ids)].map((id) => exchangeRecordId(id, this.wallet.id));
    const found = await this.#store.readMany(this.#meta.tenant, exchangeType, records);
    return found.flatMap((exchange) => (exchange === undefined ? [] : exchangeMovements(exchange)));
  }

  async #ownTransfers(
    direction: MovementDirection,
    keys: readonly string[],
  ): Promise<readonly (OwnMovement | undefined)[]> {
    const { tenant } = this.#meta;
    const idOf = direction === 'in' ? depositId : withdrawalId;
    const ids = keys.map((key) => idOf(this.wallet.id, key));
    const booked = await this.#store.readMany(tenant, depositType, ids);
    const deposits = booked.map((deposit) => deposit && this.#ofDeposit(deposit));
    if (direction === 'in') return deposits;
    const found = this.#statements.joinsBy === 'reference' ? await this.#byId(keys) : await this.#byTxId(keys);
    return found.map((intent, index) => {
      if (intent?.walletId !== this.wallet.id) return deposits[index];
      return intent.filler?.id === keys[index] ? fillerMovement(intent) : this.#ofIntent(intent);
    });
  }

  balances(): Promise<ReadonlyMap<string, bigint>> {
    return this.#statements.balances(this.#meta, this.wallet);
  }

  get #meta(): CallMeta {
    return this.#metaNow();
  }

  #byId(keys: readonly string[]): Promise<readonly (IntentRecord | undefined)[]> {
    return this.#store.readMany(this.#meta.tenant, intentType, keys);
  }

  async #byTxId(keys: readonly string[]): Promise<readonly (IntentRecord | undefined)[]> {
    const query = { order: 'oldest', limit: 1 } as const;
    const pages = await Promise.all(
      keys.map((key) => this.#store.list(this.#meta.tenant, intentType, { ...query, indices: [txIndex(key)] })),
    );
    return pages.map(({ items }) => items[0]);
  }

  #ofIntent(intent: IntentRecord): OwnMovement {
    return intentMovement(intent, this.#statements.joinsBy);
  }

  #ofDeposit(deposit: Parameters<typeof depositMovement>[0]): OwnMovement {
    return depositMovement(deposit, nativeAssetOf(this.wallet.network));
  }
}

function nextOf({ hasMore, nextId }: { readonly hasMore: boolean; readonly nextId: string | undefined }) {
  return hasMore ? (nextId ?? null) : null;
}

/**
 * The book of one simulated custodian: its entries for orders and deposits, and its statements. The caller supplies its names
 * for assets and statuses.
 */
import { toHex } from '../../../core/crypto/bytes.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { formatAmount, parseAmount } from '../../networks/amounts.ts';
import { assetOf } from '../../networks/assets.ts';
import type { CallMeta, NewBalance } from '../port/port.ts';
import {
  exchangeKey,
  type Movement,
  movementName,
  type ProviderStatements,
  placeOfName,
  type StatementPage,
} from '../port/statement.ts';
import { type TestOutcome, testOutcome } from '../port/test-triggers.ts';
import type { BookRow, CustodianBooks, Settlement } from './custodian-books.ts';
import { networkFee } from './economy.ts';
import type { Stage } from './progress.ts';
import { simulatedHash } from './simulated-keys.ts';
import { type StatusTimeline, standing } from './timeline.ts';

/** A custodian's own words. */
export interface BookWords {
  /** The timeline of an order. */
  timeline(outcome: TestOutcome | undefined): StatusTimeline<string>;
  stageOf(status: string): Stage;
  /** Its names for assets, by our symbols. */
  readonly assetIds: Readonly<Record<string, string>>;
}

export interface TakenOrder {
  /** The custodian's own ids. */
  readonly id: string;
  readonly wallet: string;
  /** The caller's. */
  readonly reference: string;
  readonly assetId: string;
  /** Decimal. */
  readonly amount: string;
  readonly toAddress: string;
  readonly environment: ClusterEnvironment;
  readonly takenAtMs: number;
}

export interface ArrivedDeposit {
  readonly wallet: string;
  readonly txId: string;
  /** Our symbol. */
  readonly asset: string;
  readonly units: bigint;
  readonly fromAddress: string | null;
  readonly environment: ClusterEnvironment;
  readonly atMs: number;
}

export interface BookedExchange {
  readonly wallet: string;
  /** Its id. */
  readonly id: string;
  readonly effect: readonly NewBalance[];
  readonly atMs: number;
}

export class CustodianBook {
  readonly #books: CustodianBooks;
  readonly #words: BookWords;

  constructor(books: CustodianBooks, words: BookWords) {
    this.#books = books;
    this.#words = words;
  }

  open(tenant: string, wallet: string, balances: readonly NewBalance[]): Promise<void> {
    return this.#books.open(tenant, wallet, balances);
  }

  /** May be repeated. Throws ProviderUnavailable. */
  async take(tenant: string, order: TakenOrder): Promise<void> {
    const { wallet, id, reference, assetId, amount, environment, toAddress, takenAtMs } = order;
    const row: BookRow = {
      ...{ id, direction: 'out', reference, txId: null, assetId, amount, environment },
      ...{ counterparty: toAddress, bookedAtMs: takenAtMs },
    };
    const name = movementName({ direction: 'out', key: reference });
    await this.#books.post(tenant, wallet, { name, row }, this.#settlementOf(row));
  }

  /** A deposit is final when it is booked. May be repeated. Throws ProviderUnavailable. */
  async receive(tenant: string, deposit: ArrivedDeposit): Promise<void> {
    const { wallet, txId, asset, units, fromAddress, environment, atMs } = deposit;
    const row: BookRow = {
      id: toHex(simulatedHash('deposit', tenant, wallet, txId)).slice(0, 32),
      ...{ direction: 'in', reference: null, txId, environment },
      assetId: this.#words.assetIds[asset] ?? asset,
      amount: formatAmount(units, assetOf(asset)!.decimals),
      ...{ counterparty: fromAddress, bookedAtMs: atMs },
    };
    const name = movementName({ direction: 'in', key: txId });
    await this.#books.post(tenant, wallet, { name, row }, { atMs, effect: [{ asset, units }] });
  }

  /** One asset became another within the custodian. May be repeated. Throws ProviderUnavailable. */
  async exchange(tenant: string, { wallet, id, effect, atMs }: BookedExchange): Promise<void> {
    for (const { asset, units } of effect) {
      const key = exchangeKey(id, asset);
      const direction = units < 0n ? 'out' : 'in';
      const row: BookRow = {
        id: toHex(simulatedHash('exchange', tenant, wallet, key)).slice(0, 32),
        ...{ direction, reference: key, txId: null, counterparty: null, environment: 'sandbox', bookedAtMs: atMs },
        assetId: this.#words.assetIds[asset] ?? asset,
        amount: formatAmount(units < 0n ? -units : units, assetOf(asset)!.decimals),
        isExchange: true,
      };
      const settlement = { atMs, effect: [{ asset, units }] };
      await this.#books.post(tenant, wallet, { name: movementName({ direction, key }), row }, settlement);
    }
  }

  /** The statements of this custodian. */
  statements(): ProviderStatements {
    const find: ProviderStatements['find'] = async (meta, wallet, direction, keys) => {
      const names = keys.map((key) => movementName({ direction, key }));
      const rows = await this.#books.find(meta.tenant, wallet.providerWalletId, names);
      return rows.map((row) => (row === undefined ? [] : [this.#movementOf(row, meta.nowMs)]));
    };
    return {
      joinsBy: 'reference',
      find,
      page: async (meta, { providerWalletId }, query): Promise<StatementPage> => {
        const rows = await this.#books.rows(meta.tenant, providerWalletId, query);
        const last = rows.at(-1);
        return {
          movements: rows.map(({ row }) => this.#movementOf(row, meta.nowMs)),
          next:
            rows.length < query.limit || last === undefined ? undefined : placeOfName(last.row.bookedAtMs, last.name),
        };
      },
      balances: ({ tenant, nowMs }: CallMeta, { providerWalletId }) =>
        this.#books.balances(tenant, providerWalletId, nowMs),
    };
  }

  #symbolOf(assetId: string): string {
    const found = Object.entries(this.#words.assetIds).find(([, id]) => id === assetId);
    if (found === undefined) throw new Error(`a book names the asset ${assetId}`);
    return found[0];
  }

  #timelineOf({ direction, environment, amount, isExchange }: BookRow): StatusTimeline<string> {
    const usual = this.#words.timeline(undefined);
    if (direction === 'out' && !isExchange) return this.#words.timeline(testOutcome(environment, amount));
    return [{ status: usual.at(-1)!.status, fromMs: 0 }];
  }

  #settlementOf(row: BookRow): Settlement | undefined {
    const { status, fromMs } = this.#timelineOf(row).at(-1)!;
    const stage = this.#words.stageOf(status);
    if (stage !== 'completed' && stage !== 'failed') return undefined;
    const asset = this.#symbolOf(row.assetId);
    const fee = networkFee(asset);
    const sent = stage === 'completed' ? [{ asset, units: -unitsOf(asset, row.amount) }] : [];
    return { atMs: row.bookedAtMs + fromMs, effect: [...sent, { asset: fee.asset, units: -fee.units }] };
  }

  #movementOf(row: BookRow, nowMs: number): Movement {
    const { id, direction, reference, txId, counterparty, bookedAtMs, isExchange = false } = row;
    const asset = this.#symbolOf(row.assetId);
    const { status } = standing(this.#timelineOf(row), bookedAtMs, nowMs);
    const stage = this.#words.stageOf(status);
    const state = stage === 'completed' || stage === 'failed' ? stage : 'pending';
    const fee = networkFee(asset);
    return {
      ...{ id, direction, reference, txId, asset, counterparty, state, bookedAtMs },
      key: direction === 'out' || isExchange ? reference! : txId!,
      units: unitsOf(asset, row.amount),
      fee: { asset: fee.asset, units: direction === 'out' && !isExchange && state !== 'pending' ? fee.units : 0n },
      providerStatus: status,
      hasMoved: state === 'completed',
      settledAtMs: state === 'pending' ? null : bookedAtMs + this.#timelineOf(row).at(-1)!.fromMs,
    };
  }
}

function unitsOf(symbol: string, amount: string): bigint {
  const units = parseAmount(amount, assetOf(symbol)!.decimals);
  if (typeof units !== 'bigint') throw new Error(`a book holds the amount ${amount} of ${symbol}`);
  return units;
}

/**
 * What the companion modules book in wallets, written from docs/tokens.md and docs/treasury.md; it shares no code with the
 * product. A wallet's reserve is pending while orders that name it are processed; the venue's wallets change when the venue has
 * exchanged, and every trade is booked once. The transfers of both are intents like any other (documented-ledger.ts).
 */
import { type BookedEntry, decimal, type ModuleBooks, type ToldEvent } from './documented-ledger.ts';

interface Hold {
  readonly walletId: string;
  readonly asset: string;
  /** Orders in processing that name it. */
  readonly orders: Set<string>;
  units: bigint;
}

interface ToldTrade {
  readonly status: string;
  readonly sell: { readonly asset: string };
  readonly buy: { readonly asset: string };
  readonly sold: string | null;
  readonly bought: string | null;
}

export class DocumentedModules implements ModuleBooks {
  readonly #holds = new Map<string, Hold>();
  /** Of the venue's account: wallets by the assets that they hold. */
  readonly #venue = new Map<string, string>();
  /** The trades of each plan, as last told. */
  readonly #plans = new Map<string, readonly ToldTrade[]>();

  entriesOf({ type, resource, data }: ToldEvent): readonly BookedEntry[] {
    if (type === 'wallet.created' && String(data.object.name).startsWith('Venue ')) {
      for (const { symbol } of data.object.assets) this.#venue.set(symbol, resource.id);
    }
    if (type.startsWith('token.order.')) return this.#order(resource.id, data.object);
    if (type.startsWith('treasury.plan.')) return this.#plan(resource.id, data.object.trades);
    return [];
  }

  /** The most that an order in processing needs; all of it is available again when none is left. */
  // biome-ignore lint/suspicious/noExplicitAny: read by its documented fields.
  #order(id: string, { status, reserve_reference: reserve, reserve_check: check }: any): readonly BookedEntry[] {
    if (reserve.type !== 'wallet') return [];
    const { wallet_id: walletId, asset } = reserve;
    const name = `${walletId} ${asset}`;
    const hold: Hold = this.#holds.get(name) ?? { walletId, asset, orders: new Set(), units: 0n };
    this.#holds.set(name, hold);
    const before = hold.units;
    if (status === 'processing') {
      hold.orders.add(id);
      const required = decimal(check.required);
      if (required > hold.units) hold.units = required;
    } else if (hold.orders.delete(id) && hold.orders.size === 0) hold.units = 0n;
    const units = hold.units - before;
    return units === 0n ? [] : [{ walletId, asset, available: -units, pending: units }];
  }

  /** "One change debits the sold asset and credits the bought asset in the venue account." */
  #plan(id: string, trades: readonly ToldTrade[]): readonly BookedEntry[] {
    const before = this.#plans.get(id) ?? [];
    this.#plans.set(id, trades);
    return trades.flatMap(({ sold, bought, sell, buy }, at) => {
      if (sold === null || before[at]?.sold != null) return [];
      return [this.#entry(sell.asset, -decimal(sold)), this.#entry(buy.asset, decimal(bought ?? '0'))].filter(
        ({ available }) => available !== 0n,
      );
    });
  }

  #entry(asset: string, available: bigint): BookedEntry {
    return { walletId: this.#venue.get(asset) ?? 'the venue', asset, available, pending: 0n };
  }
}

/**
 * The key holder's own report: balances and movements of a wallet, in its own ids, statuses and times. It is
 * the other side of reconciliation, so it never uses the control plane's records.
 *
 * A movement's key identifies the control plane's record of the same transfer: for a deposit the id of its transaction on its
 * network, for an outgoing transfer as in `joinsBy`. An exchange of one asset for another at the holder appears as one movement
 * for each asset, with a key of `exchangeKey`. Movements that share a key are duplicates.
 */
import type { ProviderKind } from './kinds.ts';
import type { CallMeta, HeldWallet, NewBalance } from './port.ts';

export type MovementDirection = 'in' | 'out';

/** `pending`: accepted, and neither completed nor failed yet. A failed one may have cost its fee. */
export type MovementState = 'pending' | 'completed' | 'failed';

export interface Movement {
  /** The provider's own id. */
  readonly id: string;
  readonly key: string;
  readonly direction: MovementDirection;
  /** Our id for it; null: we did not request it. */
  readonly reference: string | null;
  /** Its id on its network, if known. */
  readonly txId: string | null;
  /** Symbol of an asset of the wallet's network. */
  readonly asset: string;
  readonly units: bigint;
  /** Paid by the wallet; zero for a deposit. */
  readonly fee: NewBalance;
  readonly counterparty: string | null;
  readonly state: MovementState;
  /** The provider's own status. */
  readonly providerStatus: string;
  /** When the provider accepted it: statements are in this order. */
  readonly bookedAtMs: number;
  /** When it changed the balance; null: not yet. A chain's balances change before a movement is final. */
  readonly settledAtMs: number | null;
  /** Whether the balance has changed by its units; the fee is paid either way once it is settled. */
  readonly hasMoved: boolean;
}

export interface StatementQuery {
  /** By `bookedAtMs`: the first millisecond, and the first one after the range. */
  readonly fromMs: number;
  readonly toMs: number;
  /** `next` of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface StatementPage {
  /** By `bookedAtMs`, then by direction and key. */
  readonly movements: readonly Movement[];
  /** undefined: this is the last page. */
  readonly next: string | undefined;
}

/** Throws ProviderUnavailable. Every call only reads. */
export interface ProviderStatements {
  /** The key of an outgoing transfer: our own id for it, or the id of its transaction. */
  readonly joinsBy: 'reference' | 'tx_id';
  page(meta: CallMeta, wallet: HeldWallet, query: StatementQuery): Promise<StatementPage>;
  /** For each key, in their order, every movement with it. */
  find(
    meta: CallMeta,
    wallet: HeldWallet,
    direction: MovementDirection,
    keys: readonly string[],
  ): Promise<readonly (readonly Movement[])[]>;
  /** The wallet's present balances, by asset symbol. It may be below zero when the provider's books are wrong. */
  balances(meta: CallMeta, wallet: HeldWallet): Promise<ReadonlyMap<string, bigint>>;
}

export type StatementsByKind = ReadonlyMap<ProviderKind, ProviderStatements>;

const exchangeWord = 'exchange';

/** The key of an exchange's effect on one asset of a wallet; `exchangeId`: our id for it. */
export function exchangeKey(exchangeId: string, asset: string): string {
  return `${exchangeWord}/${exchangeId}/${asset}`;
}

/** undefined: not the key of an exchange. */
export function readExchangeKey(key: string): { readonly exchangeId: string; readonly asset: string } | undefined {
  const [word, ...rest] = key.split('/');
  if (word !== exchangeWord || rest.length < 2) return undefined;
  return { exchangeId: rest.slice(0, -1).join('/'), asset: rest.at(-1)! };
}

/** Unique among a wallet's movements, except for duplicates. */
export function movementName({ direction, key }: Pick<Movement, 'direction' | 'key'>): string {
  return `${direction}:${key}`;
}

/** The place of a movement in its statement, from which the next page continues. */
export function placeOf(movement: Pick<Movement, 'bookedAtMs' | 'direction' | 'key'>): string {
  return placeOfName(movement.bookedAtMs, movementName(movement));
}

export function placeOfName(bookedAtMs: number, name: string): string {
  return `${bookedAtMs}:${name}`;
}

/** The time and the name in a place. */
export function readPlace(place: string): { readonly atMs: number; readonly name: string } {
  const colon = place.indexOf(':');
  return { atMs: Number(place.slice(0, colon)), name: place.slice(colon + 1) };
}

/** A movement's effect on the wallet, by asset; below zero: it took units. */
export function effectOf(movement: Movement): readonly NewBalance[] {
  const { direction, asset, units, fee, settledAtMs, hasMoved } = movement;
  const paid = { asset: fee.asset, units: settledAtMs === null ? 0n : -fee.units };
  if (!hasMoved) return [paid];
  return [{ asset, units: direction === 'in' ? units : -units }, paid];
}

/**
 * The token that a reserve backs, and the amount that its wallet reserves while orders of that token are processed. A reserve
 * backs one token at a time: another token may take it over when nothing of the first is in circulation or being minted. From
 * the commit that begins signing until the order is over, the amount counted by the order's check cannot leave the wallet.
 */
import { createHash } from 'node:crypto';
import { create, update } from '../../store/changes.ts';
import type { Change, LedgerEntry, Put, RecordType, TenantStore, Versioned } from '../../store/contract.ts';
import { type OrderRecord, type OwnTokenRecord, type Reserve, supplyOf, tokenType } from './record.ts';

export interface ReserveHold extends Versioned {
  /** The token that the reserve backs. */
  readonly tokenId: string;
  /** Its orders that are `processing` and name this reserve. */
  readonly processing: number;
  /** The amount reserved for them in the wallet, smallest units of the asset; 0 for an attestation. */
  readonly heldUnits: string;
}

const reserveHoldType: RecordType<ReserveHold> = { name: 'token_reserve', status: () => '', indices: () => [] };

export interface FoundHold {
  readonly record: ReserveHold | undefined;
  /** The amount reserved for this token. */
  readonly heldUnits: bigint;
  /** Another token that the reserve backs. */
  readonly takenBy: OwnTokenRecord | undefined;
  /** Guards that no order invalidates a takeover before the commit. */
  readonly guards: NonNullable<Change['guards']>;
}

export async function findHold(
  store: TenantStore,
  tenant: string,
  { tokenId, reserve }: Pick<OrderRecord, 'tokenId' | 'reserve'>,
): Promise<FoundHold> {
  const record = await store.read(tenant, reserveHoldType, holdId(reserve));
  const free = { record, heldUnits: 0n, takenBy: undefined, guards: [] };
  if (record === undefined) return free;
  if (record.tokenId === tokenId) return { ...free, heldUnits: BigInt(record.heldUnits) };
  const other = await store.readWithBalances(tenant, tokenType, record.tokenId);
  if (other === undefined) return free;
  const { circulating, minting } = supplyOf(other.record, other.balances);
  if (record.processing > 0 || circulating + minting > 0n) return { ...free, takenBy: other.record };
  const { id: walletId, symbol: asset, supplyCap } = other.record;
  return { ...free, guards: [{ kind: 'available', walletId, asset, min: BigInt(supplyCap), max: undefined }] };
}

/** Adds one processed order, for which the reserve must hold this amount. */
export function holding(found: FoundHold, { tokenId, reserve }: OrderRecord, requiredUnits: bigint): Change {
  const { record, heldUnits, guards } = found;
  const isWallet = reserve.type === 'wallet';
  const units = isWallet && requiredUnits > heldUnits ? requiredUnits : heldUnits;
  const processing = (record?.tokenId === tokenId ? record.processing : 0) + 1;
  const after = next(record, holdId(reserve), { tokenId, processing, heldUnits: String(units) });
  return { guards, ...writing(record, after, reserve, units - heldUnits) };
}

/** Removes one finished order. With the last one the whole reserved amount is available again. */
export async function releasing(
  store: TenantStore,
  tenant: string,
  { tokenId, reserve }: Pick<OrderRecord, 'tokenId' | 'reserve'>,
): Promise<Change> {
  const record = await store.read(tenant, reserveHoldType, holdId(reserve));
  if (record?.tokenId !== tokenId || record.processing === 0) return {};
  const processing = record.processing - 1;
  const heldUnits = processing === 0 ? '0' : record.heldUnits;
  const after = next(record, record.id, { tokenId, processing, heldUnits });
  return writing(record, after, reserve, BigInt(heldUnits) - BigInt(record.heldUnits));
}

function next(before: ReserveHold | undefined, id: string, patch: Omit<ReserveHold, 'id' | 'version'>): ReserveHold {
  return { id, version: (before?.version ?? 0) + 1, ...patch };
}

function writing(
  before: ReserveHold | undefined,
  after: ReserveHold,
  reserve: Reserve,
  units: bigint,
): { readonly puts: readonly Put[]; readonly ledger: readonly LedgerEntry[] } {
  const put = before === undefined ? create(reserveHoldType, after) : update(reserveHoldType, before, after);
  if (reserve.type !== 'wallet' || units === 0n) return { puts: [put], ledger: [] };
  const { walletId, asset } = reserve;
  return { puts: [put], ledger: [{ walletId, asset, available: -units, reserved: units }] };
}

function holdId(reserve: Reserve): string {
  const name = reserve.type === 'wallet' ? reserve.walletId : reserve.reference;
  const text = JSON.stringify([reserve.type, name, reserve.asset]);
  return `rsv_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}

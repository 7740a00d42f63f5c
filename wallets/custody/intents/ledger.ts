/**
 * The effect of an intent on its wallet's balances. While it is open, its amount and the largest fee are reserved; at its end
 * they are debited or released. A mint takes only its fee from the wallet. The entries follow only from the status before and
 * after, so that no transition can omit them: over the life of an intent, reservations sum up to zero. A message moves nothing.
 * When a reorganisation undoes it, what it spent comes back, and all of it is reserved: what is available does not change.
 */
import { isMessage } from '../../providers/port/kinds.ts';
import type { LedgerEntry } from '../../store/contract.ts';
import type { IntentRecord } from './record.ts';
import { type IntentStatus, isSubmitted } from './states.ts';

type Delta = Omit<LedgerEntry, 'walletId'>;

/** Entries of the change from `before` (undefined: new) to `after`. */
export function ledgerOf(before: IntentRecord | undefined, after: IntentRecord): LedgerEntry[] {
  const held = before !== undefined && holds(before.status);
  const holdsNow = holds(after.status);
  if (held === holdsNow) return [];
  const deltas = holdsNow
    ? [...(before === undefined ? [] : spentBy(before).map(undone)), ...reserveOf(after)]
    : [...(before === undefined ? [] : reserveOf(before).map(reversed)), ...spentBy(after)];
  return deltas
    .filter(({ available, reserved }) => available !== 0n || reserved !== 0n)
    .map((delta) => ({ walletId: after.walletId, ...delta }));
}

/** What an intent has set aside while it is open, by asset. */
export function setAside(record: IntentRecord): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { asset, reserved } of reserveOf(record)) sums.set(asset, (sums.get(asset) ?? 0n) + reserved);
  return sums;
}

/** Whether the amount and the fee of an intent in this status are set aside. */
function holds(status: IntentStatus): boolean {
  return status === 'pending_approval' || status === 'approved' || isSubmitted(status);
}

/**
 * The amount and the fee may be of one asset or of two. Of a replacement: what the replaced one has not set aside for both. Of what
 * a reorganisation has undone: what it had spent.
 */
function reserveOf(intent: IntentRecord): Delta[] {
  const { kind, asset, units, feeReserve, feePaid, replaces } = intent;
  if (isMessage(kind)) return [];
  if (feePaid !== null) {
    return spentBy({ ...intent, status: 'completed' }).map(({ asset, available }) => heldOf(asset, -available));
  }
  if (replaces !== undefined) return replaces.beyond.map(({ asset, units }) => heldOf(asset, BigInt(units)));
  return [
    ...(kind === 'mint' ? [] : [heldOf(asset, BigInt(units))]),
    heldOf(feeReserve.asset, BigInt(feeReserve.units)),
  ];
}

/** What left the wallet, now that the intent is over. */
function spentBy(intent: IntentRecord): Delta[] {
  const { id, kind, status, asset, units, feePaid, feeReserve, providerTxId, filler, destination } = intent;
  if (isMessage(kind)) return [];
  const fee = BigInt(feePaid?.units ?? '0');
  const feeAsset = feePaid?.asset ?? feeReserve.asset;
  if (fee < 0n || fee > BigInt(feeReserve.units) || (fee > 0n && feeAsset !== feeReserve.asset)) {
    throw new Error(`the fee of ${id} differs from its reservation`);
  }
  const cause = { of: id, txId: filler?.id ?? providerTxId, counterparty: null };
  const spent: Delta = { asset: feeAsset, available: -fee, reserved: 0n, movement: { ...cause, kind: 'fee' } };
  if (status !== 'completed' || kind === 'mint') return [spent];
  const movement =
    kind === 'burn'
      ? ({ ...cause, kind } as const)
      : ({ ...cause, kind: 'transfer', counterparty: destination.address } as const);
  return [{ asset, available: -BigInt(units), reserved: 0n, movement }, spent];
}

function undone({ asset, available, movement }: Delta): Delta {
  return { asset, available: -available, reserved: 0n, movement: { ...movement!, kind: 'reorg' } };
}

function reversed({ asset, available, reserved }: Delta): Delta {
  return { asset, available: -available, reserved: -reserved };
}

function heldOf(asset: string, units: bigint): Delta {
  return { asset, available: -units, reserved: units };
}

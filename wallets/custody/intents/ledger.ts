/**
 * The effect of an intent on its wallet's balances. While it is open, its amount and the largest fee are reserved; at its end
 * they are debited or released. A mint takes only its fee from the wallet. The entries follow only from the status before and
 * after, so that no transition can omit them: over the life of an intent, reservations sum up to zero. A message moves nothing, and a
 * call what it takes from the wallet itself (`unitsTaken`).
 * When a reorganisation undoes it, what it spent comes back, and all of it is reserved: what is available does not change.
 */
import { callOf, type EvmCall } from '../../networks/token-calls.ts';
import { type IntentKind, isMessage } from '../../providers/port/kinds.ts';
import type { LedgerEntry } from '../../store/contract.ts';
import type { IntentRecord } from './record.ts';
import { type IntentStatus, isSubmitted } from './states.ts';

type Delta = Omit<LedgerEntry, 'walletId'>;

/** What leaves the wallet itself when it completes, besides the fee. */
export function unitsTaken({
  kind,
  units,
  call,
  fromAddress,
}: {
  readonly kind: IntentKind;
  readonly units: bigint | string;
  readonly call?: EvmCall | undefined;
  readonly fromAddress: string;
}): bigint {
  if (isMessage(kind) || kind === 'mint') return 0n;
  const called = call === undefined ? undefined : callOf(call);
  if (called?.kind === 'approve') return 0n;
  return called?.kind === 'transferFrom' && called.from !== fromAddress.toLowerCase() ? 0n : BigInt(units);
}

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
  const { kind, asset, feeReserve, feePaid, replaces } = intent;
  if (isMessage(kind)) return [];
  if (feePaid !== null) {
    return spentBy({ ...intent, status: 'completed' }).map(({ asset, available }) => heldOf(asset, -available));
  }
  if (replaces !== undefined) return replaces.beyond.map(({ asset, units }) => heldOf(asset, BigInt(units)));
  return [heldOf(asset, unitsTaken(intent)), heldOf(feeReserve.asset, BigInt(feeReserve.units))];
}

/** What left the wallet, now that the intent is over. */
function spentBy(intent: IntentRecord): Delta[] {
  const { id, kind, status, asset, feePaid, feeReserve, providerTxId, filler, destination } = intent;
  if (isMessage(kind)) return [];
  const fee = BigInt(feePaid?.units ?? '0');
  const feeAsset = feePaid?.asset ?? feeReserve.asset;
  if (fee < 0n || fee > BigInt(feeReserve.units) || (fee > 0n && feeAsset !== feeReserve.asset)) {
    throw new Error(`the fee of ${id} differs from its reservation`);
  }
  const cause = { of: id, txId: filler?.id ?? providerTxId, counterparty: null };
  const spent: Delta = { asset: feeAsset, available: -fee, reserved: 0n, movement: { ...cause, kind: 'fee' } };
  const units = unitsTaken(intent);
  if (status !== 'completed' || units === 0n) return [spent];
  const movement =
    kind === 'burn'
      ? ({ ...cause, kind } as const)
      : ({ ...cause, kind: 'transfer', counterparty: destination.address } as const);
  return [{ asset, available: -units, reserved: 0n, movement }, spent];
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

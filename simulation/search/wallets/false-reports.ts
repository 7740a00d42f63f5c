/**
 * A provider's false report of a movement, and the exception that follows from it: its type, severity, both sides, `delta` and corrections.
 * docs/reconciliation.md.
 */

import type { Draw } from '../../cluster/draw.ts';
import { decimal, signed } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { shows } from './exercise.ts';
import type { ToldException } from './reconciled.ts';

/** A movement of ours; amounts in units of 10^-18. */
export interface Own {
  readonly kind: 'transaction_intent' | 'deposit';
  /** undefined: no answer names it. */
  readonly id: string | undefined;
  readonly isIn: boolean;
  readonly status: string;
  readonly asset: string;
  readonly units: bigint;
  readonly fee: { readonly asset: string; readonly units: bigint };
}

/** What the provider shows for it. */
export interface Shown {
  readonly units: bigint;
  readonly fee: bigint;
  readonly count: number;
  readonly state: 'completed' | 'failed';
}

export interface FalseReport {
  readonly walletId: string;
  readonly asset: string;
  /** undefined: the provider's movement has none of ours. */
  readonly own: Own | undefined;
  /** undefined: it shows none. */
  readonly shown: Shown | undefined;
  readonly isIn: boolean;
  readonly type: string;
  readonly severity: string;
  /** The provider's amounts beyond ours, by asset. */
  readonly beyond: ReadonlyMap<string, bigint>;
}

export type FalseReportKind = 'missing' | 'duplicate' | 'amount' | 'status' | 'extra';
export const driftKinds: readonly FalseReportKind[] = ['missing', 'duplicate', 'amount', 'amount', 'status', 'extra'];

const micro = 10n ** 12n;

/** What the provider shows, the type and severity of the exception by the page, and what an altered amount adds. */
export function differing(
  kind: Exclude<FalseReportKind, 'extra'>,
  { units, fee }: Own,
  draw: Draw,
): readonly [Shown | undefined, string, string, bigint] {
  const same = { units, fee: fee.units, count: 1, state: 'completed' } as const;
  switch (kind) {
    case 'missing':
      return [undefined, 'missing_external', 'high', 0n];
    case 'duplicate':
      return [{ ...same, units: 2n * units, fee: 2n * fee.units, count: 2 }, 'duplicate', 'critical', 0n];
    case 'status':
      return [{ ...same, state: 'failed' }, 'status_mismatch', 'critical', 0n];
    case 'amount': {
      // A hundredth, in whole millionths: the most that is "medium"; a millionth more is "high".
      const hundredth = (units / 100n / micro) * micro;
      const extra = draw.pick([hundredth, hundredth + micro, units]) || micro;
      const severity = 100n * extra <= units ? 'medium' : 'high';
      return [{ ...same, units: units + extra }, 'amount_mismatch', severity, extra];
    }
  }
}

/** "The amount that the provider moved beyond our ledger", and its fees. */
export function beyondOf({ isIn, asset, units, fee }: Own, shown: Shown | undefined): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  const add = (of: string, delta: bigint) => sums.set(of, (sums.get(of) ?? 0n) + delta);
  const moved = shown?.state === 'completed' ? shown.units : 0n;
  add(asset, isIn ? moved - units : units - moved);
  add(fee.asset, fee.units - (shown?.fee ?? 0n));
  return new Map([...sums].filter(([, delta]) => delta !== 0n));
}

export function checkException(about: string, exception: ToldException | undefined, one: FalseReport): void {
  if (exception === undefined) {
    found('providers-agree', `${about} is not listed`);
    return;
  }
  const { type, severity, asset, own, shown, beyond, walletId } = one;
  shows(about, exception, {
    type,
    severity,
    asset,
    subject: 'movement',
    wallet_id: walletId,
    status: 'open',
    times_seen: 1,
  });
  const { expected, actual, delta, corrections, sources } = exception;
  side(`${about}, expected`, expected, own && { ...own, fee: own.fee.units, count: 1, state: own.status });
  side(`${about}, actual`, actual, shown);
  if (signed(delta) !== (beyond.get(asset) ?? 0n)) found('providers-agree', `${about}: its delta is ${delta}`);
  sums(about, corrections, beyond);
  if (own?.id !== undefined) shows(about, { ...sources.internal }, { kind: own.kind, id: own.id, status: own.status });
  if ((own === undefined) !== (sources.internal === null) || (shown === undefined) !== (sources.external === null))
    found('providers-agree', `${about} has the sources ${JSON.stringify(sources)}`);
  if (shown !== undefined && sources.external?.ids.length !== shown.count)
    found('providers-agree', `${about} names ${sources.external?.ids} of ${shown.count} movements`);
}

type ToldSide = {
  readonly status: string;
  readonly amount: string;
  readonly count: number;
  readonly fee: { amount: string } | null;
};

function side(
  about: string,
  told: unknown,
  wanted: (Omit<Shown, 'state'> & { readonly state: string }) | undefined,
): void {
  const is = told as ToldSide | null;
  const text =
    is === null ? undefined : [is.status, decimal(is.amount), is.count, decimal(is.fee?.amount ?? '0')].join();
  const due = wanted && [wanted.state, wanted.units, wanted.count, wanted.fee].join();
  if (text !== due) found('providers-agree', `${about}: ${text}, not ${due}`);
}

export function sums(about: string, told: ToldException['corrections'], wanted: ReadonlyMap<string, bigint>): void {
  const due = [...wanted].map(([asset, units]) => `${asset} ${units}`).sort();
  const is = told.map(({ asset, amount }) => `${asset} ${signed(amount)}`).sort();
  if (is.join() !== due.join()) found('providers-agree', `${about} would correct ${is}, not ${due}`);
}

/** Of units of 10^-18. */
export function text(units: bigint): string {
  const digits = String(units).padStart(19, '0');
  return `${digits.slice(0, -18)}.${digits.slice(-18)}`.replace(/\.?0+$/, '');
}

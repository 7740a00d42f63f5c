/**
 * Compares one movement of ours with the provider's, and one balance with another. Pure: the findings depend only on the two
 * sides, the time and the job's terms.
 *
 * A difference counts only when it is older than the lag: the provider may book late, and we learn of it late. One subject
 * gives one finding at most; of several differences it names the first of: missing, duplicate, status, amount.
 */
import type { WalletRecord } from '../../custody/wallets/public.ts';
import { formatAmount, parseAmount } from '../../networks/amounts.ts';
import { assetOf } from '../../networks/assets.ts';
import type { NewBalance } from '../../providers/port/port.ts';
import { effectOf, type Movement, readExchangeKey } from '../../providers/port/statement.ts';
import {
  type ComparisonFinding,
  type Correction,
  type ExternalSource,
  fingerprintOf,
  type InternalSource,
  type Severity,
  type Side,
} from './exception-record.ts';
import type { Tolerance } from './job-record.ts';
import { type OwnMovement, ownEffect } from './own-side.ts';

export interface CompareTerms {
  readonly nowMs: number;
  readonly lagMs: number;
  readonly tolerance: Tolerance;
}

export type ComparedWallet = Pick<WalletRecord, 'id' | 'connectionId' | 'provider' | 'network'>;

type Verdict = Pick<ComparisonFinding, 'type' | 'severity' | 'explanation'>;

/** `theirs`: every movement with the key. At least one side exists. */
export function compareMovements(
  wallet: ComparedWallet,
  own: OwnMovement | undefined,
  theirs: readonly Movement[],
  terms: CompareTerms,
): ComparisonFinding | undefined {
  const verdict = verdictOf(own, theirs, terms);
  if (verdict === undefined) return undefined;
  const { asset, direction } = (own ?? theirs[0])!;
  const key = own?.key ?? theirs[0]?.key ?? '';
  const corrections = difference(own, theirs);
  const ofAsset = corrections.find((entry) => entry.asset === asset)?.units ?? 0n;
  return {
    ...{ subject: 'movement', ...verdict, ...ofWallet(wallet), asset },
    fingerprint: fingerprintOf('movement', wallet.id, direction, key),
    expected: own === undefined ? null : ownSide(own),
    actual: theirs.length === 0 ? null : theirSide(theirs),
    delta: decimal(asset, ofAsset),
    internal: own === undefined ? null : ownSource(own),
    external: theirs.length === 0 ? null : theirSource(theirs),
    corrections: corrections.map(inText),
    isFinal: own === undefined || own.isFinal,
  };
}

function verdictOf(
  own: OwnMovement | undefined,
  theirs: readonly Movement[],
  terms: CompareTerms,
): Verdict | undefined {
  const isOld = (sinceMs: number): boolean => terms.nowMs - sinceMs >= terms.lagMs;
  const [first] = theirs;
  if (own === undefined) {
    if (first === undefined || !isOld(first.settledAtMs ?? first.bookedAtMs)) return undefined;
    const severity: Severity = first.state === 'failed' ? 'low' : first.direction === 'out' ? 'critical' : 'high';
    const what = readExchangeKey(first.key) ? 'an exchange' : first.direction === 'out' ? 'a transfer' : 'a deposit';
    return {
      type: 'missing_internal',
      severity,
      explanation: `The provider shows ${what} that is not in our ledger.`,
    };
  }
  if (first === undefined) {
    const isExpected = own.state === 'pending' || own.state === 'completed';
    if (!isExpected || !isOld(own.changedAtMs)) return undefined;
    return {
      type: 'missing_external',
      severity: 'high',
      explanation: `Our ${nameOf(own)} is ${own.status}, and the provider does not show it.`,
    };
  }
  if (theirs.length > 1) {
    if (!isOld(Math.max(...theirs.map(({ bookedAtMs }) => bookedAtMs)))) return undefined;
    return {
      type: 'duplicate',
      severity: 'critical',
      explanation: `The provider shows ${theirs.length} movements for one ${nameOf(own)} of ours.`,
    };
  }
  if (!agrees(own, first)) {
    if (!isOld(Math.max(own.changedAtMs, first.settledAtMs ?? first.bookedAtMs))) return undefined;
    return {
      type: 'status_mismatch',
      severity: own.isFinal && first.state !== 'pending' ? 'critical' : 'high',
      explanation: `Our ${nameOf(own)} is ${own.status}, and the provider says ${first.providerStatus} (${first.state}).`,
    };
  }
  return amountVerdict(own, first, terms);
}

function agrees({ state, isFinal }: OwnMovement, { state: theirs }: Movement): boolean {
  if (state === 'completed') return theirs === 'completed';
  if (state === 'failed' || state === 'none') return theirs === 'failed';
  // While ours is pending, theirs may be too, or have ended at most the lag ago.
  return !isFinal && theirs === 'pending';
}

function amountVerdict(own: OwnMovement, theirs: Movement, { tolerance }: CompareTerms): Verdict | undefined {
  const isMoved = own.state === 'completed' || own.state === 'pending' || own.state === 'open';
  const isAmount = isMoved && (own.asset !== theirs.asset || !isWithin(own.asset, own.units, theirs.units, tolerance));
  const bothPaid = own.isFinal && theirs.state !== 'pending';
  const isFee = bothPaid && !isWithin(own.fee.asset, own.fee.units, theirs.fee.units, tolerance);
  if (!isAmount && !isFee) return undefined;
  const isSmall = own.asset === theirs.asset && 100n * magnitude(theirs.units - own.units) <= own.units;
  return {
    type: 'amount_mismatch',
    severity: isSmall ? 'medium' : 'high',
    explanation: `Our ${nameOf(own)} and the provider's movement differ in ${isAmount ? 'amount' : 'fee'}.`,
  };
}

/** `actual`: the provider's balance, `expected`: our ledger's. undefined: they agree. */
export function compareBalances(
  wallet: ComparedWallet,
  asset: string,
  expected: bigint,
  actual: bigint,
  terms: CompareTerms,
): ComparisonFinding | undefined {
  if (isWithin(asset, expected, actual, terms.tolerance)) return undefined;
  const delta = actual - expected;
  const side = (units: bigint): Side => ({ status: null, asset, amount: decimal(asset, units), fee: null, count: 1 });
  return {
    ...{ subject: 'balance', type: 'amount_mismatch', ...ofWallet(wallet), asset },
    severity: delta < 0n ? 'critical' : 'high',
    explanation: `The provider holds ${delta < 0n ? 'less' : 'more'} ${asset} than our ledger says.`,
    fingerprint: fingerprintOf('balance', wallet.id, asset),
    expected: side(expected),
    actual: side(actual),
    delta: decimal(asset, delta),
    internal: { kind: 'wallet_balance', id: wallet.id, version: 0, status: null, atMs: terms.nowMs },
    external: { ids: [], reference: null, txId: null, status: null, atMs: terms.nowMs },
    corrections: [inText({ asset, units: delta })],
    isFinal: true,
  };
}

/** Tolerates a difference within the absolute amount, or within its share of the expected amount. */
export function isWithin(asset: string, expected: bigint, actual: bigint, { absolute, bps }: Tolerance): boolean {
  const off = magnitude(actual - expected);
  if (off === 0n) return true;
  return off <= unitsOf(asset, absolute) || 10_000n * off <= BigInt(bps) * magnitude(expected);
}

/** Rounds down an amount finer than the asset's unit. */
function unitsOf(asset: string, amount: string): bigint {
  const { decimals } = assetOf(asset)!;
  const [integer, fraction = ''] = amount.split('.');
  const units = parseAmount(fraction === '' ? integer! : `${integer}.${fraction.slice(0, decimals)}`, decimals);
  return typeof units === 'bigint' ? units : 0n;
}

/** The provider's booked units minus ours, by asset. */
function difference(own: OwnMovement | undefined, theirs: readonly Movement[]): readonly NewBalance[] {
  const sums = new Map<string, bigint>();
  const add = (sign: bigint) => (entry: NewBalance) =>
    sums.set(entry.asset, (sums.get(entry.asset) ?? 0n) + sign * entry.units);
  for (const movement of theirs) effectOf(movement).forEach(add(1n));
  if (own !== undefined) ownEffect(own).forEach(add(-1n));
  return [...sums].flatMap(([asset, units]) => (units === 0n ? [] : [{ asset, units }]));
}

function ofWallet({ id, connectionId, provider }: ComparedWallet) {
  return { walletId: id, connectionId, provider };
}

function ownSide({ status, asset, units, fee }: OwnMovement): Side {
  return { status, asset, amount: decimal(asset, units), fee: feeSide(fee), count: 1 };
}

function theirSide(theirs: readonly Movement[]): Side {
  const { asset, fee, state } = theirs[0]!;
  const sum = theirs.reduce((units, movement) => units + movement.units, 0n);
  const fees = theirs.reduce((units, movement) => units + movement.fee.units, 0n);
  return {
    ...{ status: state, asset, amount: decimal(asset, sum) },
    fee: feeSide({ asset: fee.asset, units: fees }),
    count: theirs.length,
  };
}

function feeSide({ asset, units }: NewBalance): Side['fee'] {
  return units === 0n ? null : { asset, amount: decimal(asset, units) };
}

function ownSource({ kind, id, version, status, changedAtMs }: OwnMovement): InternalSource {
  return { kind, id, version, status, atMs: changedAtMs };
}

function theirSource(theirs: readonly Movement[]): ExternalSource {
  const { reference, txId, providerStatus, bookedAtMs } = theirs[0]!;
  return { ids: theirs.map(({ id }) => id), reference, txId, status: providerStatus, atMs: bookedAtMs };
}

function nameOf({ kind }: OwnMovement): string {
  return kind === 'transaction_intent' ? 'transfer' : kind;
}

function inText({ asset, units }: NewBalance): Correction {
  return { asset, units: String(units) };
}

function decimal(asset: string, units: bigint): string {
  return formatAmount(units, assetOf(asset)!.decimals);
}

function magnitude(units: bigint): bigint {
  return units < 0n ? -units : units;
}

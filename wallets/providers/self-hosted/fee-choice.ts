/** The fee terms of a transfer, from what its caller chose and the market of its chain. Pure; all throw ProviderRejected. */
import {
  bitcoinLevel,
  bitcoinLimits,
  defaultLevel,
  type EvmAction,
  type EvmFees,
  evmLevel,
  evmLimits,
  type FeeLimits,
  gasMax,
  intrinsicGas,
  leastEvmReplacement,
} from '../chains/public.ts';
import { type FeeChoice, type FeeTerms, ProviderRejected } from '../port/port.ts';

/** Those of a transfer without terms: an earlier version decided about it. */
export function evmFeesOf(terms: FeeTerms | undefined): EvmFees {
  if (terms?.max_fee_per_gas === undefined) return evmLevel(defaultLevel, evmLimits.initial);
  return {
    maxFeePerGas: BigInt(terms.max_fee_per_gas),
    maxPriorityFeePerGas: BigInt(terms.max_priority_fee_per_gas ?? 0),
  };
}

/** `replaced`: the terms of the transaction whose place it takes. */
export function chooseEvmFees(choice: Omit<FeeChoice, 'gas_limit'>, market: bigint, replaced?: FeeTerms): FeeTerms {
  if (choice.sats_per_vbyte !== undefined) throw refused('sats_per_vbyte', 'not_applicable', 'belongs to Bitcoin');
  const none: EvmFees = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n };
  const least = replaced === undefined ? none : leastEvmReplacement(evmFeesOf(replaced));
  const level = choice.fee_level ?? defaultLevel;
  const offered = evmLevel(level, market);
  if (choice.max_fee_per_gas === undefined) {
    const tip = larger(offered.maxPriorityFeePerGas, least.maxPriorityFeePerGas);
    const most = larger(larger(offered.maxFeePerGas, least.maxFeePerGas), tip);
    assertWithin('fee_level', most, evmLimits, 'wei');
    return { fee_level: level, max_fee_per_gas: String(most), max_priority_fee_per_gas: String(tip) };
  }
  const most = BigInt(choice.max_fee_per_gas);
  assertWithin('max_fee_per_gas', most, evmLimits, 'wei');
  assertReplaces('max_fee_per_gas', most, least.maxFeePerGas, 'wei');
  const suggested = larger(offered.maxPriorityFeePerGas, least.maxPriorityFeePerGas);
  const tip = BigInt(choice.max_priority_fee_per_gas ?? (suggested < most ? suggested : most));
  if (tip > most) throw refused('max_priority_fee_per_gas', 'fee_too_high', `is above max_fee_per_gas, ${most} wei`);
  assertReplaces('max_priority_fee_per_gas', tip, least.maxPriorityFeePerGas, 'wei');
  return { fee_level: null, max_fee_per_gas: String(most), max_priority_fee_per_gas: String(tip) };
}

/** The limit that is chosen for an action; undefined: what the action needs. */
export function chooseGasLimit({ gas_limit: chosen }: FeeChoice, action: EvmAction): bigint | undefined {
  if (chosen === undefined) return undefined;
  const limit = BigInt(chosen);
  const least = intrinsicGas(action);
  if (limit < least) throw refused('gas_limit', 'gas_limit_too_low', `the network takes no less than ${least} for it`);
  if (limit > gasMax) throw refused('gas_limit', 'gas_limit_too_high', `the network takes at most ${gasMax}`);
  return limit;
}

/** Satoshi a virtual byte. */
export function bitcoinRateOf(terms: FeeTerms | undefined): bigint {
  if (terms?.sats_per_vbyte === undefined) return bitcoinLevel(defaultLevel, bitcoinLimits.initial);
  return BigInt(terms.sats_per_vbyte);
}

const evmFields = ['max_fee_per_gas', 'max_priority_fee_per_gas', 'gas_limit'] as const;

/** `least`: the lowest rate that takes the place of a transaction. */
export function chooseBitcoinRate(choice: FeeChoice, market: bigint, least = 0n): FeeTerms {
  const foreign = evmFields.find((field) => choice[field] !== undefined);
  if (foreign !== undefined) throw refused(foreign, 'not_applicable', 'belongs to EVM networks');
  if (choice.sats_per_vbyte === undefined) {
    const level = choice.fee_level ?? defaultLevel;
    const rate = larger(bitcoinLevel(level, market), least);
    assertWithin('fee_level', rate, bitcoinLimits, 'satoshi a virtual byte');
    return { fee_level: level, sats_per_vbyte: String(rate) };
  }
  const rate = BigInt(choice.sats_per_vbyte);
  assertWithin('sats_per_vbyte', rate, bitcoinLimits, 'satoshi a virtual byte');
  assertReplaces('sats_per_vbyte', rate, least, 'satoshi a virtual byte');
  return { fee_level: null, sats_per_vbyte: String(rate) };
}

/** A network whose fee is fixed. */
export function refuseFeeChoice(choice: FeeChoice): void {
  const [field] = Object.entries(choice).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (field !== undefined) throw refused(field, 'not_supported', 'the fee of this network is fixed');
}

function assertWithin(field: string, value: bigint, { min, max }: FeeLimits, unit: string): void {
  if (value < min) throw refused(field, 'fee_too_low', `the network relays nothing below ${min} ${unit}`);
  if (value > max) throw refused(field, 'fee_too_high', `takes at most ${max} ${unit}`);
}

function assertReplaces(field: string, value: bigint, least: bigint, unit: string): void {
  if (value >= least) return;
  throw refused(field, 'replacement_fee_too_low', `a replacement must offer at least ${least} ${unit}`);
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function refused(field: string, issue: string, message: string): ProviderRejected {
  return new ProviderRejected(`${field}: ${message}`, { field, issue, providerCode: issue.toUpperCase() });
}

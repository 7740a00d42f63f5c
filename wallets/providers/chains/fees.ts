/**
 * The fees of the simulated chains: the market of each, the levels that follow from it, and the limits of the network. Pure.
 *
 * A market is one price: EVM: the base fee, wei a unit of gas; Bitcoin: the lowest rate that a block takes, satoshi a virtual byte. It
 * moves only when a sandbox moves it. A transaction below it waits until the market falls, or until another one takes its place.
 */
import type { NetworkId } from '../../networks/networks.ts';
import type { FeeLevel } from '../port/port.ts';

/** In the unit of the market. Below 2^53 by far: scripts of Redis compute with doubles. */
export interface FeeLimits {
  /** The market until it is moved. */
  readonly initial: bigint;
  /** Nodes relay nothing below it. */
  readonly min: bigint;
  /** Nodes take it for a mistake above it. */
  readonly max: bigint;
}

const gwei = 1_000_000_000n;
export const evmLimits: FeeLimits = { initial: gwei, min: gwei / 10n, max: 10_000n * gwei };
export const bitcoinLimits: FeeLimits = { initial: 1n, min: 1n, max: 1_000n };

/** undefined: the network has no market. */
export function feeLimitsOf(network: NetworkId): FeeLimits | undefined {
  if (network.startsWith('eip155:')) return evmLimits;
  return network.startsWith('bip122:') ? bitcoinLimits : undefined;
}

/** Wei a unit of gas. */
export interface EvmFees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export const defaultLevel: FeeLevel = 'medium';
/** How many times the market: `low` waits as soon as the market rises, the others leave room for it. */
const room: Readonly<Record<FeeLevel, bigint>> = { low: 1n, medium: 2n, high: 3n };
const tips: Readonly<Record<FeeLevel, bigint>> = { low: gwei / 2n, medium: gwei, high: 2n * gwei };

/** Not above what nodes take, which any market lets in. */
export function evmLevel(level: FeeLevel, market: bigint): EvmFees {
  const maxPriorityFeePerGas = tips[level];
  return { maxFeePerGas: smaller(room[level] * market + maxPriorityFeePerGas, evmLimits.max), maxPriorityFeePerGas };
}

/** Satoshi a virtual byte. */
export function bitcoinLevel(level: FeeLevel, market: bigint): bigint {
  return smaller(room[level] * market, bitcoinLimits.max);
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** An EVM node lets a transaction take another one's place if it raises both fees by a tenth; submit-evm.lua checks it. */
export function leastEvmReplacement({ maxFeePerGas, maxPriorityFeePerGas }: EvmFees): EvmFees {
  return { maxFeePerGas: raised(maxFeePerGas), maxPriorityFeePerGas: raised(maxPriorityFeePerGas) };
}

function raised(fee: bigint): bigint {
  return (fee * 11n + 9n) / 10n;
}

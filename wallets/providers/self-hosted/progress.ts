/** Converts a chain's transaction state to the port's transfer progress. Pure. */

import { networkOf } from '../../networks/networks.ts';
import type { ChainTransaction, EvmReceipt } from '../chains/public.ts';
import { belowMarketFee, type NewBalance, reorged, type TransferProgress } from '../port/port.ts';

/** The data that the adapter stores in the intent. */
export interface Submission {
  readonly hash: string;
  readonly signingSessionIds: readonly string[];
  /** The signed transaction, hex: the API shows it, so that any client can verify its signature. */
  readonly rawTransaction: string;
  /** EVM, once it is confirmed: its receipt in its network's tools. */
  readonly receipt?: EvmReceipt;
  /** How many reorganisations of its transaction have been told; absent: none. */
  readonly reorganizations?: number;
}

/** The poll time of a transaction that waits for an earlier one. */
const earlierAgainMs = 100;

const waitingFor: Readonly<Partial<Record<ChainTransaction['state'], string>>> = {
  queued: 'AWAITING_EARLIER_TRANSACTION',
  underpriced: belowMarketFee,
};

/** undefined: nothing is submitted yet. */
export function readSubmission(value: unknown): Submission | undefined {
  const candidate = value as Partial<Submission> | null | undefined;
  return typeof candidate?.hash === 'string' && Array.isArray(candidate.signingSessionIds)
    ? (candidate as Submission)
    : undefined;
}

export function onChain(
  transaction: ChainTransaction,
  told: Omit<Submission, 'hash'>,
  { nowMs, blockMs }: { readonly nowMs: number; readonly blockMs: number },
): TransferProgress {
  const { id, network, state, succeeded, uncovered, outOfGas, feeUnits } = transaction;
  const { confirmedAtMs, finalAtMs, reorganizations } = transaction;
  const made = reorganizations === 0 ? told : { ...told, reorganizations };
  const submission: Submission = { hash: id, ...made };
  if (state === 'dropped') {
    return {
      stage: 'failed',
      providerTxId: id,
      providerStatus: 'DROPPED',
      subStatus: 'REJECTED_BY_CHAIN',
      error: {
        code: 'TRANSACTION_DROPPED',
        message: 'an earlier transaction of the account never came; nothing is spent',
      },
      feePaid: { asset: networkOf(network).nativeAsset, units: 0n },
      numberUsed: false,
      submission,
    };
  }
  if (state === 'replaced') {
    return {
      stage: 'failed',
      providerTxId: id,
      providerStatus: 'REPLACED',
      subStatus: 'REPLACED',
      error: { code: 'REPLACED', message: 'another transaction has taken its place; nothing is spent' },
      feePaid: { asset: networkOf(network).nativeAsset, units: 0n },
      numberUsed: true,
      submission,
    };
  }
  // What was undone is told, even when it is confirmed anew by now.
  if (state === 'confirmed' && reorganizations === (told.reorganizations ?? 0)) {
    const feePaid: NewBalance = { asset: networkOf(network).nativeAsset, units: feeUnits };
    if (succeeded) {
      const againAtMs = nowMs < finalAtMs! ? Math.min(nowMs + blockMs, finalAtMs!) : undefined;
      return {
        ...{ stage: 'completed', providerTxId: id, providerStatus: 'CONFIRMED', feePaid, submission },
        ...(againAtMs !== undefined && { againAtMs }),
      };
    }
    return {
      stage: 'failed',
      providerTxId: id,
      providerStatus: 'REVERTED',
      subStatus: outOfGas && !uncovered ? 'OUT_OF_GAS' : 'FAILED_ON_CHAIN',
      error: uncovered
        ? { code: 'INSUFFICIENT_FUNDS', message: 'the account could not pay for the transaction when its turn came' }
        : outOfGas
          ? { code: 'OUT_OF_GAS', message: 'its gas limit is below what it needs; all of that gas is paid' }
          : { code: 'TRANSACTION_REVERTED', message: 'the transaction was mined and failed; its fee is spent' },
      feePaid,
      numberUsed: true,
      submission,
    };
  }
  return {
    stage: confirmedAtMs === undefined ? 'broadcasting' : 'confirming',
    providerTxId: id,
    providerStatus: state === 'confirmed' ? 'CONFIRMING' : state.toUpperCase(),
    subStatus: waitingFor[state] ?? (reorganizations > 0 ? reorged : null),
    submission,
    // Blocks depend only on time, so the time of the last confirmation is known, unless a reorganisation moves it: with the usual
    // confirmations it is at most two blocks away. An earlier transaction is usually being signed right now.
    againAtMs:
      confirmedAtMs !== undefined
        ? Math.min(confirmedAtMs, nowMs + 2 * blockMs)
        : nowMs + (state === 'queued' ? Math.min(blockMs, earlierAgainMs) : blockMs),
  };
}

/** Nothing reached the chain: nothing is spent, and an allocated number stays free. */
export function notSubmitted(
  feeAsset: string,
  error: { readonly code: string; readonly message: string },
  options: { readonly subStatus: string; readonly numberUsed?: boolean },
): TransferProgress {
  return {
    stage: 'failed',
    providerTxId: null,
    providerStatus: 'REJECTED',
    subStatus: options.subStatus,
    error,
    feePaid: { asset: feeAsset, units: 0n },
    numberUsed: options.numberUsed ?? false,
  };
}

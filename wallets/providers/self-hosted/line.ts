/**
 * The part of the self-hosted adapter that is specific to one family of networks: the cost of a transfer, and its conversion to
 * a signed transaction on a chain. A submission may be repeated after a crash at any point: the transaction derives only from
 * the intent, the wallet and the number, the cluster gives one signature per purpose, and a chain accepts the same
 * transaction once.
 */

import type { Chain, ChainTransaction, EvmReceipt } from '../chains/public.ts';
import {
  type CallMeta,
  type FeeTerms,
  type HeldWallet,
  ProviderUnavailable,
  type Transfer,
  type TransferDraft,
} from '../port/port.ts';
import type { ClusterSigner } from './cluster-signer.ts';

export type ChainSubmission =
  | {
      readonly kind: 'taken';
      readonly transaction: ChainTransaction;
      /** The signed transaction, in the format of the network's own tools. */
      readonly raw: string;
      readonly signingSessionIds: readonly string[];
    }
  /** Its chain does not have it: other transfers hold the needed coins, or come first. */
  | { readonly kind: 'waits'; readonly providerStatus: string; readonly subStatus: string; readonly forMs: number };

export interface Line {
  readonly chain: Chain;
  /**
   * The most that a transfer costs, in the native asset, and the terms of that fee. Throws ProviderRejected for one that the network
   * does not support, or its chain could not execute now.
   */
  quote(draft: TransferDraft): Promise<{ readonly units: bigint; readonly fees?: FeeTerms }>;
  /** The receipt in the network's tools of a final transaction. */
  receiptOf?(transaction: ChainTransaction): EvmReceipt | undefined;
  sequenceCounter(wallet: HeldWallet): string | undefined;
  /** Throws ProviderRejected and ProviderUnavailable of the signer, ChainRejected, ChainUnavailable. */
  submit(meta: CallMeta, signer: ClusterSigner, transfer: Transfer, fails: boolean): Promise<ChainSubmission>;
  /** Further addresses of a wallet, whose coins are its own; absent: its chain has one address a wallet. */
  readonly receives?: {
    watch(address: string, account: string): Promise<void>;
    used(addresses: readonly string[]): Promise<readonly boolean[]>;
  };
  /** Releases the reservations of a transfer that will never be submitted. May be repeated. */
  abandon?(transfer: Transfer): Promise<void>;
}

/** The bytes of the wallet's public key. */
export function publicKeyOf(wallet: HeldWallet): Uint8Array {
  if (wallet.publicKey === null) throw new Error(`wallet ${wallet.id} has no public key`);
  return Buffer.from(wallet.publicKey, 'hex');
}

export function addressOf(wallet: HeldWallet): string {
  const found = wallet.addresses.find(({ network }) => network === wallet.network);
  if (found === undefined) throw new Error(`wallet ${wallet.id} has no address on its network`);
  return found.address;
}

/**
 * The coordinator gave another signature than the nodes made. The right one may exist, so the transfer has not failed: it is tried
 * again.
 */
export function wrongSignature(): ProviderUnavailable {
  return new ProviderUnavailable('the signer cluster: the coordinator gave a signature that the key does not verify');
}

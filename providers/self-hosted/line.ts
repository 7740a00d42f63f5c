/**
 * What one family of networks does its own way for the self-hosted adapter: what a transfer may cost, and how it becomes
 * a signed transaction on a chain. A submission may be repeated after a crash at any point: the transaction is built from
 * the intent, the wallet and the number alone, the cluster gives one signature a purpose, and a chain takes the same
 * transaction once.
 */

import type { Chain, ChainTransaction, EvmReceipt } from '../chains/public.ts';
import type { CallMeta, HeldWallet, Transfer, TransferDraft } from '../port/port.ts';
import type { ClusterSigner } from './cluster-signer.ts';

export type Submitted =
  | {
      readonly kind: 'taken';
      readonly transaction: ChainTransaction;
      /** The signed transaction, written as the network's own tools take it. */
      readonly raw: string;
      readonly signingSessionIds: readonly string[];
    }
  /** Nothing is signed yet: other transfers hold what it needs. */
  | { readonly kind: 'waits'; readonly providerStatus: string; readonly subStatus: string };

export interface Line {
  readonly chain: Chain;
  /** Smallest units of the native asset, at most. Throws ProviderRejected for what the network does not carry. */
  feeReserve(draft: TransferDraft): bigint;
  /** Refuses a transfer that its chain could not carry now, before it is decided. Throws ProviderRejected. */
  check?(draft: TransferDraft): Promise<void>;
  /** What the network's tools show of a transaction once it is final. */
  receiptOf?(transaction: ChainTransaction): EvmReceipt | undefined;
  sequenceCounter(wallet: HeldWallet): string | undefined;
  /** Throws ProviderRejected and ProviderUnavailable of the signer, ChainRejected, ChainUnavailable. */
  submit(meta: CallMeta, signer: ClusterSigner, transfer: Transfer, fails: boolean): Promise<Submitted>;
  /** Gives back what a transfer holds that will never be submitted. May be repeated. */
  abandon?(transfer: Transfer): Promise<void>;
}

/** The bytes of the key that the wallet was made with. */
export function publicKeyOf(wallet: HeldWallet): Uint8Array {
  if (wallet.publicKey === null) throw new Error(`wallet ${wallet.id} has no public key`);
  return Buffer.from(wallet.publicKey, 'hex');
}

export function addressOf(wallet: HeldWallet): string {
  const found = wallet.addresses.find(({ network }) => network === wallet.network);
  if (found === undefined) throw new Error(`wallet ${wallet.id} has no address on its network`);
  return found.address;
}

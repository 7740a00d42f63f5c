/**
 * Money that arrives at a wallet from outside of its holder's books: its simulated chain, or its simulated custodian. No
 * account of the chain pays, so the chain creates it; a custodian sees it on the network and books a deposit. Each transfer
 * arrives once.
 */
import type { NetworkId } from '../networks/networks.ts';
import { StoreUnavailable } from '../store/contract.ts';
import type { CustodianKind } from './books.ts';
import { type Chains, ChainUnavailable } from './chains/public.ts';
import type { ProviderKind } from './port/kinds.ts';
import { type HeldWallet, ProviderUnavailable } from './port/port.ts';
import type { CustodianBook } from './simulated/custodian-book.ts';

export interface Arrival {
  /** Its id: the id of the intent that sends it. */
  readonly transferId: string;
  /** Its transaction's id on the network. */
  readonly txId: string;
  readonly fromAddress: string;
  readonly network: NetworkId;
  readonly address: string;
  /** Symbol of an asset of the network. */
  readonly asset: string;
  /** Smallest units. */
  readonly units: bigint;
  /** The tenant of the receiving wallet. */
  readonly tenant: string;
  readonly receiver: HeldWallet & { readonly provider: ProviderKind };
  readonly nowMs: number;
}

export interface ArrivalDeps {
  readonly chains: Chains;
  readonly books: Readonly<Record<CustodianKind, Pick<CustodianBook, 'receive'>>>;
}

/** Chains and books are in the same Redis as the store; all are unreachable together. */
export function arrivals({ chains, books }: ArrivalDeps): (arrival: Arrival) => Promise<void> {
  return async (arrival) => {
    const { transferId, txId, network, address, asset, units, fromAddress, tenant, receiver, nowMs: atMs } = arrival;
    const { provider, providerWalletId: wallet, environment } = receiver;
    try {
      const by = { txId, from: fromAddress, atMs };
      if (provider === 'self_hosted') await chains.of(network).fund(transferId, address, asset, units, by);
      else await books[provider].receive(tenant, { wallet, txId, asset, units, fromAddress, environment, atMs });
    } catch (error) {
      if (!(error instanceof ChainUnavailable || error instanceof ProviderUnavailable)) throw error;
      throw new StoreUnavailable(error.message, { cause: error });
    }
  };
}

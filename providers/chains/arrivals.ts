/**
 * Money that comes onto a simulated chain from outside: a provider without a chain of ours paid to an address of it. No
 * account of the chain pays for it, so it is put there, once for each transfer.
 */
import type { NetworkId } from '../../networks/networks.ts';
import { StoreUnavailable } from '../../store/contract.ts';
import { ChainUnavailable } from './chain.ts';
import type { Chains } from './chains.ts';

export interface Arrival {
  /** Names it: the intent that brings it. */
  readonly transferId: string;
  readonly network: NetworkId;
  readonly address: string;
  /** Symbol of an asset of the network. */
  readonly asset: string;
  /** Smallest units. */
  readonly units: bigint;
}

/** The chains are in the same Redis as the store; both are unreachable together. */
export function arrivals(chains: Chains): (arrival: Arrival) => Promise<void> {
  return async ({ transferId, network, address, asset, units }) => {
    try {
      await chains.of(network).fund(transferId, address, asset, units);
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      throw new StoreUnavailable(error.message, { cause: error });
    }
  };
}

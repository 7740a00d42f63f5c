/** All simulated chains over one Redis. */
import type { NetworkId } from '../../networks/networks.ts';
import { BitcoinChain } from './bitcoin.ts';
import type { Chain } from './chain.ts';
import type { ChainOptions } from './chain-store.ts';
import { EvmChain } from './evm.ts';
import { SolanaChain } from './solana.ts';

export interface Chains {
  readonly evm: EvmChain;
  readonly bitcoin: BitcoinChain;
  readonly solana: SolanaChain;
  of(network: NetworkId): Chain;
}

export function openChains(options: ChainOptions): Chains {
  const evm = new EvmChain('eip155:11155111', options);
  const bitcoin = new BitcoinChain('bip122:000000000933ea01ad0ee984209779ba', options);
  const solana = new SolanaChain('solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', options);
  return {
    evm,
    bitcoin,
    solana,
    of: (network) => {
      const chain = [evm, bitcoin, solana].find((candidate) => candidate.network === network);
      if (chain === undefined) throw new Error(`network ${network} has no chain`);
      return chain;
    },
  };
}

/** All simulated chains, each over its ledger. */
import type { NetworkId } from '../../networks/networks.ts';
import { BitcoinChain } from './bitcoin.ts';
import type { Chain } from './chain.ts';
import { EvmChain } from './evm.ts';
import type { ChainLedgers } from './ledger.ts';
import { SolanaChain } from './solana.ts';

export interface Chains {
  readonly evm: EvmChain;
  readonly bitcoin: BitcoinChain;
  readonly solana: SolanaChain;
  of(network: NetworkId): Chain;
}

export interface ChainOptions {
  readonly ledgers: ChainLedgers;
  /** Time between blocks; 1 s by default. */
  readonly blockMs?: number;
}

const evmNetwork = 'eip155:11155111';
const bitcoinNetwork = 'bip122:000000000933ea01ad0ee984209779ba';
const solanaNetwork = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';

export function openChains({ ledgers, blockMs }: ChainOptions): Chains {
  const evm = new EvmChain(evmNetwork, ledgers.evm(evmNetwork), blockMs);
  const bitcoin = new BitcoinChain(bitcoinNetwork, ledgers.bitcoin(bitcoinNetwork), blockMs);
  const solana = new SolanaChain(solanaNetwork, ledgers.solana(solanaNetwork), blockMs);
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

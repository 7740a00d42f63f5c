/**
 * The networks of wallets, by CAIP-2 id (https://chainagnostic.org/CAIPs/caip-2). All are test networks: their
 * chains are simulated here, and M0 must never guard real funds.
 */
export type NetworkId =
  | 'eip155:11155111'
  | 'bip122:000000000933ea01ad0ee984209779ba'
  | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';

export type NetworkFamily = 'evm' | 'bitcoin' | 'solana';

export interface Network {
  readonly id: NetworkId;
  readonly name: string;
  readonly family: NetworkFamily;
  readonly curve: 'secp256k1' | 'ed25519';
  /** The asset that pays fees. */
  readonly nativeAsset: string;
}

export const networks: readonly Network[] = [
  { id: 'eip155:11155111', name: 'Ethereum Sepolia', family: 'evm', curve: 'secp256k1', nativeAsset: 'ETH' },
  {
    id: 'bip122:000000000933ea01ad0ee984209779ba',
    name: 'Bitcoin Testnet',
    family: 'bitcoin',
    curve: 'secp256k1',
    nativeAsset: 'BTC',
  },
  {
    id: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
    name: 'Solana Devnet',
    family: 'solana',
    curve: 'ed25519',
    nativeAsset: 'SOL',
  },
];

export const networkIds = networks.map(({ id }) => id) as readonly NetworkId[];

export function networkOf(id: NetworkId): Network {
  const found = networks.find((network) => network.id === id);
  if (found === undefined) throw new Error(`network ${id} is not registered`);
  return found;
}

/**
 * Keys of simulated wallets. Their addresses have the right form, but each key derives from the wallet's id: anyone who knows
 * the id knows the secret key. Never send anything of value to these addresses.
 */
import { toHex, transcriptHash, utf8 } from '../../../core/crypto/bytes.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import { addressOfKey } from '../../networks/addresses.ts';
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import type { ProviderKind } from '../port/kinds.ts';

export interface SimulatedWallet {
  /** Compressed, lowercase hex. */
  readonly publicKey: string;
  readonly address: string;
}

/** Always the same for the same provider, wallet and network. */
export function simulatedWallet(provider: ProviderKind, walletId: string, network: NetworkId): SimulatedWallet {
  const group = groupOf(networkOf(network).curve);
  const secret = group.reduce(
    transcriptHash('signmesh/simulated-wallet/v1', utf8(provider), utf8(walletId), utf8(network)),
  );
  const publicKey = group.baseMultiply(secret);
  return { publicKey: toHex(publicKey), address: addressOfKey(network, publicKey) };
}

/** 32 bytes derived from the words: ids and transaction hashes of the simulated systems. */
export function simulatedHash(...words: readonly string[]): Uint8Array {
  return transcriptHash('signmesh/simulated-id/v1', ...words.map(utf8));
}

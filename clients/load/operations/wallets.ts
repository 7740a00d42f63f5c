/** Wallets of a run: made through the API, read and changed by its operations. */
import type { Wallet } from '../../client/generated-api.ts';
import type { Client } from '../../client/index.ts';
import type { ShownBalance } from '../verdict/money.ts';

const evmNetwork = 'eip155:11155111';

/** `self_hosted` wallets begin with test money and a key on the cluster. */
export async function makeWallets(
  { connections, wallets }: Client,
  type: 'sandbox' | 'self_hosted',
  count: number,
): Promise<readonly Wallet[]> {
  const { id } = await connections.connect({ type, name: 'load', credentials: {} });
  const made: Wallet[] = [];
  for (let index = 0; index < count; index += 1) {
    made.push(await wallets.create({ name: `load ${index}`, provider_connection_id: id, network: evmNetwork }));
  }
  return made;
}

export async function balancesOf({ wallets }: Client, walletIds: readonly string[]): Promise<readonly ShownBalance[]> {
  const balances: ShownBalance[] = [];
  for (const walletId of walletIds) {
    const { assets } = await wallets.get(walletId);
    for (const { symbol, decimals, balance, pending } of assets) {
      balances.push({ walletId, asset: symbol, decimals, balance, pending });
    }
  }
  return balances;
}

/** Wallets of a run: made through the API, read and changed by its operations. */
import { answered, type HttpClient } from '../calls/http.ts';
import type { Balance } from '../verdict/money.ts';

const evmNetwork = 'eip155:11155111';

interface WalletView {
  readonly id: string;
  readonly version: number;
  readonly assets: readonly {
    readonly symbol: string;
    readonly decimals: number;
    readonly balance: string;
    readonly pending: string;
  }[];
}

/** `self_hosted` wallets begin with test money and a key on the cluster. */
export async function makeWallets(
  client: HttpClient,
  provider: 'sandbox' | 'self_hosted',
  count: number,
): Promise<readonly WalletView[]> {
  const post = async <T>(path: string, body: object) =>
    answered<T>(await client.send('POST', path, JSON.stringify(body)), 201);
  const connection = await post<{ id: string }>('/v1/providers/connect', {
    type: provider,
    name: 'load',
    credentials: {},
  });
  const wallets: WalletView[] = [];
  for (let index = 0; index < count; index += 1) {
    const order = { name: `load ${index}`, provider_connection_id: connection.id, network: evmNetwork };
    wallets.push(await post('/v1/wallets', order));
  }
  return wallets;
}

export async function balancesOf(client: HttpClient, walletIds: readonly string[]): Promise<readonly Balance[]> {
  const balances: Balance[] = [];
  for (const walletId of walletIds) {
    const { assets } = answered<WalletView>(await client.send('GET', `/v1/wallets/${walletId}`), 200);
    for (const { symbol, decimals, balance, pending } of assets) {
      balances.push({ walletId, asset: symbol, decimals, balance, pending });
    }
  }
  return balances;
}

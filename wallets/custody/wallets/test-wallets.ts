/** The wallets that come with a connection of a sandbox, funded, one on each network. */
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { WalletOrder } from '../../providers/port/port.ts';
import type { ConnectionRecord, MakeTestWallets, TestWallet } from '../connections/public.ts';
import { metaOf } from '../provider-calls/calling.ts';
import { askingProvider } from '../provider-calls/refusals.ts';
import type { WalletDeps } from './create.ts';
import { defaultSigningApi, walletCreatedChange, walletFrom } from './new-wallet.ts';

export function testWalletMaker(deps: Pick<WalletDeps, 'adapters' | 'addressBook'>): MakeTestWallets {
  return (context, connection, orders) => makeTestWallets(deps, context, connection, orders);
}

async function makeTestWallets(
  { adapters, addressBook }: Pick<WalletDeps, 'adapters' | 'addressBook'>,
  context: RequestContext,
  connection: ConnectionRecord,
  orders: readonly Omit<WalletOrder, 'walletId'>[],
): Promise<TestWallet[]> {
  const adapter = adapters.get(connection.provider)!;
  const { tenant, nowMs } = context;
  const signingApi = defaultSigningApi(context.principal.environment);
  const made: TestWallet[] = [];
  for (const order of orders) {
    const id = context.newId('wal');
    const provided = await askingProvider(connection.provider, () =>
      adapter.createWallet(metaOf(context), connection, { ...order, walletId: id }),
    );
    for (const { network, address } of provided.addresses) {
      await addressBook.register(network, address, { tenant, walletId: id });
    }
    const wallet = walletFrom({ ...order, id, connection, made: provided, nowMs, signingApi });
    const address = wallet.addresses[0]?.address ?? '';
    made.push({
      view: { id, name: wallet.name, network: wallet.network, address },
      change: walletCreatedChange(context, wallet, provided.balances),
    });
  }
  return made;
}

/**
 * More addresses of a wallet that receive, where its network has them: children of its key, numbered from 0. Deposits to each are
 * the wallet's; change goes to its first address. The address book has an address before the wallet does, so a repeat after a crash
 * finds the same.
 */
import Type, { type Static } from 'typebox';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { Closed } from '../../../gateway/api/schema-kit.ts';
import type { ReceiveAddress as StoredAddress } from '../../providers/port/port.ts';
import { metaOf } from '../provider-calls/calling.ts';
import { askingProvider, refusal } from '../provider-calls/refusals.ts';
import { walletChanged } from './change.ts';
import type { WalletDeps } from './create.ts';
import { assertAllowed } from './lifecycle.ts';
import { readWallet } from './read.ts';
import { walletStates } from './record.ts';

/** Of a wallet: its record names them all. */
const addressesMax = 100;

export const ReceiveAddress = Closed(
  {
    index: Type.Integer({ minimum: 0 }),
    path: Type.String({ description: 'BIP-32, below the wallet’s key', examples: ['m/0/0'] }),
    address: Type.String(),
    public_key: Type.String({ description: 'compressed, lowercase hex' }),
    used: Type.Boolean({ description: 'whether it ever received anything' }),
  },
  { title: 'ReceiveAddress' },
);
export const ReceiveAddressList = Closed({ addresses: Type.Array(ReceiveAddress) }, { title: 'ReceiveAddressList' });

/** Throws ServiceError: 404, 409 for an archived wallet, 422 where there are no more addresses, 503. */
export async function addReceiveAddress(deps: WalletDeps, context: RequestContext, walletId: string): Promise<Answer> {
  const { record, balances } = await readWallet(context, walletId);
  assertAllowed(walletStates.receive, record);
  const { provider, network, receive = [] } = record;
  const adapter = deps.adapters.get(provider);
  if (adapter?.receiveAddress === undefined) {
    throw refusal('not_supported', `${adapter?.info.displayName ?? provider} gives a wallet one address`);
  }
  if (receive.length >= addressesMax)
    throw refusal('too_many', `a wallet has ${addressesMax} receive addresses at most`);
  const index = receive.length;
  const made = await askingProvider(provider, () => adapter.receiveAddress!(metaOf(context), record, index));
  await deps.addressBook.register(network, made.address, { tenant: context.tenant, walletId });
  const { change } = walletChanged(context, 'updated', record, { receive: [...receive, made] }, balances);
  return { status: 201, body: addressView(made, index, false), change };
}

export async function listReceiveAddresses(
  deps: WalletDeps,
  context: RequestContext,
  walletId: string,
): Promise<Answer> {
  const { record } = await readWallet(context, walletId);
  const { provider, receive = [] } = record;
  const used = await askingProvider(provider, async () => deps.adapters.get(provider)?.usedAddresses?.(record));
  return {
    status: 200,
    body: { addresses: receive.map((one, index) => addressView(one, index, used?.[index] === true)) },
  };
}

function addressView(
  { address, path, publicKey }: StoredAddress,
  index: number,
  used: boolean,
): Static<typeof ReceiveAddress> {
  return { index, path, address, public_key: publicKey, used };
}

/** The receiver of a completed transfer, where it is a wallet of this service. */
import { newId } from '../../../proto/ids.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import { adapterOf } from '../provider-calls/calling.ts';
import { creditDeposit, type DepositStanding, walletType } from '../wallets/public.ts';
import type { IntentDependencies } from './dependencies.ts';
import type { Loaded } from './step-context.ts';

/**
 * The receiver may be a wallet of ours, of any tenant. What its ledger says it has, its holder must have: a sender on
 * the receiver's chain has brought it there, any other has not, and gets it when nothing can undo it. The holder comes first, so that nothing is credited that
 * cannot be spent; both may be repeated. A tenant's own token is an asset of that tenant's wallets on the chain alone:
 * any other receiver has it on the chain, and in no ledger.
 */
export async function creditReceiver(
  deps: IntentDependencies,
  { tenant, record }: Loaded,
  txId: string,
  standing: DepositStanding = 'final',
): Promise<void> {
  const { addressBook, store, random, arrive } = deps;
  const { kind, network, destination, asset, token } = record;
  if (kind === 'deploy' || kind === 'burn' || record.units === '0') return;
  const owner = await addressBook.ownerOf(network, destination.address);
  if (owner === undefined) return;
  const receiver = await store.read(owner.tenant, walletType, owner.walletId);
  if (token !== undefined) {
    if (owner.tenant !== tenant) return;
    if (receiver === undefined || !isOnChain(deps, receiver.provider)) return;
  }
  const nowMs = deps.clock.nowMs();
  if (receiver !== undefined && !(isOnChain(deps, record.provider) && isOnChain(deps, receiver.provider))) {
    if (standing !== 'final') return;
    // As the wallet writes its address: the sender may have written it another way.
    const own = receiver.addresses.find((held) => held.network === network)!;
    const { address } = receiver.receive?.find((held) => held.address === destination.address) ?? own;
    const units = BigInt(record.units);
    const { tenant } = owner;
    const { fromAddress } = record;
    await arrive({
      transferId: record.id,
      txId,
      fromAddress,
      network,
      address,
      asset,
      units,
      tenant,
      receiver,
      nowMs,
    });
  }
  await creditDeposit(store, {
    ...owner,
    ...(kind === 'mint' && { kind }),
    asset,
    ...(token !== undefined && { token }),
    units: BigInt(record.units),
    txId,
    fromAddress: record.fromAddress,
    nowMs,
    standing,
    transferVersion: record.version,
    newId: (prefix) => newId(prefix, nowMs, random),
  });
}

/** Whether the wallets of this provider lie on the simulated chains. */
function isOnChain(deps: IntentDependencies, provider: ProviderKind): boolean {
  return adapterOf(deps, provider).info.hosting === 'self_hosted';
}

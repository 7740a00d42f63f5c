/**
 * The wallets of this service, besides its own, whose units a completed intent moves: the receiver, and the owner of what a call
 * takes.
 */
import { newId } from '../../../proto/ids.ts';
import { canonicalAddress } from '../../networks/addresses.ts';
import { callOf } from '../../networks/token-calls.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import { adapterOf } from '../provider-calls/calling.ts';
import { creditDeposit, type DepositStanding, debitWithdrawal, walletType } from '../wallets/public.ts';
import type { IntentDependencies } from './dependencies.ts';
import { unitsTaken } from './ledger.ts';
import type { Loaded } from './step-context.ts';

/**
 * The receiver may be a wallet of ours, of any tenant. What its ledger says it has, its holder must have: a sender on
 * the receiver's chain has brought it there, any other has not, and gets it when nothing can undo it. The holder comes first, so
 * that nothing is credited that cannot be spent; both may be repeated. A tenant's own token is an asset of that tenant's wallets
 * on the chain alone: any other receiver has it on the chain, and in no ledger.
 */
export async function creditReceiver(
  deps: IntentDependencies,
  { tenant, record }: Loaded,
  txId: string,
  standing: DepositStanding = 'final',
): Promise<void> {
  const { addressBook, store, random, arrive } = deps;
  const { kind, network, destination, asset, token, call } = record;
  const called = call && callOf(call);
  if (kind === 'deploy' || kind === 'burn' || record.units === '0' || called?.kind === 'approve') return;
  const fromAddress = called?.kind === 'transferFrom' ? canonicalAddress(network, called.from) : record.fromAddress;
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
    fromAddress,
    nowMs,
    standing,
    transferVersion: record.version,
    newId: (prefix) => newId(prefix, nowMs, random),
  });
}

/**
 * The owner of units that a call moves (`transferFrom`) may be a wallet of ours, of any tenant: it is debited when nothing can undo it.
 * May be repeated.
 */
export async function debitOwner(deps: IntentDependencies, { tenant, record }: Loaded, txId: string): Promise<void> {
  const { addressBook, store, random } = deps;
  const { network, destination, asset, token, call, fromAddress: spender } = record;
  const units = BigInt(record.units);
  const called = call && callOf(call);
  if (called?.kind !== 'transferFrom' || units === 0n || unitsTaken(record) > 0n) return;
  const owner = await addressBook.ownerOf(network, canonicalAddress(network, called.from));
  if (owner === undefined || (token !== undefined && owner.tenant !== tenant)) return;
  const nowMs = deps.clock.nowMs();
  await debitWithdrawal(store, {
    ...{ ...owner, asset, units, txId, spender, nowMs, toAddress: destination.address },
    ...(token !== undefined && { token }),
    newId: (prefix) => newId(prefix, nowMs, random),
  });
}

/** Whether the wallets of this provider lie on the simulated chains. */
function isOnChain(deps: IntentDependencies, provider: ProviderKind): boolean {
  return adapterOf(deps, provider).info.hosting === 'self_hosted';
}

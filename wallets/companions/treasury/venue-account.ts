/**
 * The tenant's account at the venue: one wallet for each network, of a separate connection, created when a plan needs it. It is
 * an ordinary wallet (the tenant's policies decide its transfers, and lists show its balances) of the sandbox's custodian,
 * which also is the simulated venue. A record that only this module writes names the wallets: so a caller's wallet never counts
 * as the venue's.
 */

import type { RequestContext } from '../../../gateway/api/route.ts';
import { asServedBy, type ConnectionRecord, connectionCreated } from '../../custody/connections/public.ts';
import { adapterOf, metaOf } from '../../custody/provider-calls/calling.ts';
import {
  defaultSigningApi,
  type WalletRecord,
  walletCreatedChange,
  walletFrom,
  walletType,
} from '../../custody/wallets/public.ts';
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import type { ProviderAdapter } from '../../providers/port/port.ts';
import { create, merge, update } from '../../store/changes.ts';
import type { AddressBook, RecordType, Versioned } from '../../store/contract.ts';

interface VenueAccounts extends Versioned {
  readonly connectionId: string;
  /** Wallet ids by network. */
  readonly wallets: Readonly<Partial<Record<NetworkId, string>>>;
}

const accountsId = 'venue-accounts';
const accountsType: RecordType<VenueAccounts> = { name: 'venue_accounts', status: () => '', indices: () => [] };

export interface VenueAccountDeps {
  readonly adapters: ReadonlyMap<ProviderKind, ProviderAdapter>;
  readonly addressBook: Pick<AddressBook, 'register'>;
}

/** The most attempts while another process creates the account at the same time. */
const attemptsMax = 5;

/** The venue's wallet on a network; created if there is none. Throws StoreUnavailable, ProviderUnavailable. */
export async function venueWallet(
  deps: VenueAccountDeps,
  context: RequestContext,
  network: NetworkId,
): Promise<WalletRecord> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const accounts = await context.store.read(context.tenant, accountsType, accountsId);
    const walletId = accounts?.wallets[network];
    if (walletId !== undefined) {
      const wallet = await context.store.read(context.tenant, walletType, walletId);
      if (wallet === undefined) throw new Error(`the venue's wallet ${walletId} is missing`);
      return wallet;
    }
    const made = await makeWallet(deps, context, network, accounts);
    if (made !== undefined) return made;
  }
  throw new Error('the venue account keeps changing');
}

/** The ids of the venue's wallets: none of them is a strategy's own. */
export async function venueWalletIds({ store, tenant }: Pick<RequestContext, 'store' | 'tenant'>): Promise<string[]> {
  return Object.values((await store.read(tenant, accountsType, accountsId))?.wallets ?? {});
}

/** undefined: another process created it first. */
async function makeWallet(
  { adapters, addressBook }: VenueAccountDeps,
  context: RequestContext,
  network: NetworkId,
  before: VenueAccounts | undefined,
): Promise<WalletRecord | undefined> {
  const { tenant, nowMs, store } = context;
  const { environment } = context.principal;
  const connection: ConnectionRecord = {
    id: before?.connectionId ?? context.newId('pcn'),
    version: 1,
    provider: 'sandbox',
    name: 'Venue',
    environment,
    status: 'connected',
    capabilities: adapterOf({ adapters }, 'sandbox').info.capabilities,
    credentials: '',
    credentialFingerprint: '',
    metadata: {},
    lastSyncedAtMs: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  const id = context.newId('wal');
  const served = asServedBy(environment, connection);
  const name = `Venue ${networkOf(network).name}`;
  const made = await adapterOf({ adapters }, 'sandbox').createWallet(metaOf(context), served, {
    walletId: id,
    name,
    network,
  });
  for (const { address } of made.addresses) await addressBook.register(network, address, { tenant, walletId: id });
  const signingApi = defaultSigningApi(environment);
  const wallet = walletFrom({ id, name, connection: served, network, made, nowMs, signingApi });
  const after: VenueAccounts = {
    id: accountsId,
    version: (before?.version ?? 0) + 1,
    connectionId: connection.id,
    wallets: { ...before?.wallets, [network]: id },
  };
  const change = merge(
    before === undefined ? connectionCreated(context, connection) : {},
    walletCreatedChange(context, wallet, made.balances),
    { puts: [before === undefined ? create(accountsType, after) : update(accountsType, before, after)] },
  );
  const outcome = await store.commit(tenant, change);
  return outcome.committed ? wallet : undefined;
}

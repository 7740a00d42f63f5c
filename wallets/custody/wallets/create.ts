/**
 * A new wallet: the provider makes it first (for `self_hosted` a key is generated on the cluster), its addresses are
 * entered in the address book, then the record, its balances and its event are one change. Everything before the change
 * is idempotent by the wallet's id, so a repeat under the same idempotency key finds what it made before.
 */
import type { Static } from 'typebox';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import type { NetworkId } from '../../networks/networks.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import type { ProviderAdapter, ProviderInfo } from '../../providers/port/port.ts';
import type { AddressBook } from '../../store/contract.ts';
import { asServedBy, unchangedConnection, usableConnection } from '../connections/public.ts';
import { metaOf } from '../provider-calls/calling.ts';
import { askingProvider } from '../provider-calls/refusals.ts';
import { balancesOf, defaultSigningApi, walletCreatedChange, walletFrom } from './new-wallet.ts';
import type { CreateBody } from './schemas.ts';
import { walletView } from './view.ts';

export interface WalletDeps {
  readonly adapters: ReadonlyMap<ProviderKind, ProviderAdapter>;
  readonly addressBook: AddressBook;
  /** Whether the tenant has a policy of this name. */
  readonly policyExists: (context: RequestContext, name: string) => Promise<boolean>;
  /** There is background work of this tenant that is due now. Returns at once. */
  readonly wake?: (tenant: string) => void;
}

/** Throws ServiceError: 400, 404 for the connection, 409 when it is not usable, 422 and 503 as the provider says. */
export async function createWallet(
  deps: WalletDeps,
  context: RequestContext,
  body: Static<typeof CreateBody>,
): Promise<Answer> {
  const { tenant, nowMs } = context;
  const connection = await usableConnection(context, body.provider_connection_id);
  const served = asServedBy(context.principal.environment, connection);
  const { provider } = connection;
  const adapter = deps.adapters.get(provider);
  if (adapter === undefined) throw new Error(`there is no adapter for ${provider}`);
  assertServed(adapter.info, body.network);
  await assertPolicy(deps, context, body.policy);

  const id = context.newId('wal');
  const { name, network } = body;
  const made = await askingProvider(provider, () =>
    adapter.createWallet(metaOf(context), served, { walletId: id, name, network }),
  );
  for (const held of made.addresses) {
    await deps.addressBook.register(held.network, held.address, { tenant, walletId: id });
  }
  const wallet = walletFrom({
    id,
    name,
    connection: served,
    network,
    made,
    nowMs,
    policy: body.policy,
    approvalMode: body.approval_mode,
    signingApi: body.signing_api ?? defaultSigningApi(context.principal.environment),
    externalId: body.external_id,
    metadata: body.metadata,
  });
  return {
    status: 201,
    body: walletView(wallet, balancesOf(made.balances)),
    headers: { location: `/v1/wallets/${id}` },
    change: { ...walletCreatedChange(context, wallet, made.balances), guards: [unchangedConnection(connection)] },
  };
}

function assertServed({ displayName, networks }: ProviderInfo, network: NetworkId): void {
  if (networks.includes(network)) return;
  throw new ServiceError('invalidRequest', `${displayName} does not serve this network`, {
    details: [{ field: 'network', issue: 'not_allowed_value', message: `takes ${networks.join(', ')}` }],
  });
}

/** Null stands for the tenant's default policy, which always exists. */
export async function assertPolicy(
  { policyExists }: Pick<WalletDeps, 'policyExists'>,
  context: RequestContext,
  name: string | null | undefined,
): Promise<void> {
  if (name === undefined || name === null || (await policyExists(context, name))) return;
  throw new ServiceError('invalidRequest', 'there is no policy of this name', {
    details: [{ field: 'policy', issue: 'not_found', message: 'must be the name of your policy, or null' }],
  });
}

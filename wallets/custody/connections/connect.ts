/**
 * Makes a connection: it checks the credentials with the provider before it writes anything, then commits record, test wallets
 * and their events in one change. Every provider call is idempotent by id, so a repeat is harmless.
 */

import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import type { ProviderAdapter, ProviderInfo, WalletOrder } from '../../providers/port/port.ts';
import { merge } from '../../store/changes.ts';
import type { Change } from '../../store/contract.ts';
import type { KeyRing } from '../../store/secrets/key-ring.ts';
import { adapterOf, metaOf } from '../provider-calls/calling.ts';
import { askingProvider } from '../provider-calls/refusals.ts';
import { connectionCreated } from './change.ts';
import { type Credentials, checkCredentials, fingerprintOf, sealCredentials } from './credentials.ts';
import { asServedBy, type ConnectionRecord } from './record.ts';
import { connectionView } from './view.ts';

export interface ConnectionDeps {
  readonly adapters: ReadonlyMap<ProviderKind, ProviderAdapter>;
  readonly ring: KeyRing;
  /** 32 secret bytes, the same for ever: keys the fingerprints of credentials. The installation's token key serves. */
  readonly fingerprintKey: Uint8Array;
  /** Makes the wallets that a provider brings along for tests. Throws ServiceError as the provider says. */
  readonly makeTestWallets: MakeTestWallets;
}

export type MakeTestWallets = (
  context: RequestContext,
  connection: ConnectionRecord,
  orders: readonly Omit<WalletOrder, 'walletId'>[],
) => Promise<readonly TestWallet[]>;

export interface TestWallet {
  /** As the answer shows it. */
  readonly view: { readonly id: string; readonly name: string; readonly network: string; readonly address: string };
  /** Writes it, to be committed with the connection. */
  readonly change: Change;
}

export interface ConnectionOrder {
  readonly provider: ProviderKind;
  readonly name?: string | undefined;
  readonly credentials?: Credentials | undefined;
  readonly environment?: ClusterEnvironment | undefined;
  readonly metadata?: MetadataValue | undefined;
}

/** Connections of a tenant that are not disconnected, give or take those that are being made at the same moment. */
export const connectionsMax = 1_000;

/** Throws ServiceError: 400 for credentials or environment, 409 for one too many, 422 and 503 as the provider says. */
export async function connect(
  deps: ConnectionDeps,
  context: RequestContext,
  order: ConnectionOrder,
  withWallets: boolean,
): Promise<Answer> {
  const { tenant, nowMs } = context;
  const { provider } = order;
  const adapter = adapterOf(deps, provider);
  const environment = chooseEnvironment(adapter.info, order.environment);
  const credentials = checkCredentials(adapter.info, order.credentials ?? {});
  await assertRoom(context);
  const id = context.newId('pcn');
  const meta = metaOf(context);
  const { testWallets } = await askingProvider(provider, () =>
    adapter.connect(meta, id, credentials, environment, false),
  );
  const connection: ConnectionRecord = {
    id,
    version: 1,
    provider,
    name: order.name ?? adapter.info.displayName,
    environment,
    status: 'connected',
    capabilities: adapter.info.capabilities,
    credentials: sealCredentials(deps.ring, tenant, id, credentials),
    credentialFingerprint: fingerprintOf(deps.fingerprintKey, tenant, provider, credentials),
    metadata: order.metadata ?? {},
    lastSyncedAtMs: nowMs,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  const served = asServedBy(context.principal.environment, connection);
  const made = await deps.makeTestWallets(context, served, testWallets);
  const body = {
    ...connectionView(connection),
    ...(withWallets && { test_wallets: made.map(({ view }) => view) }),
  };
  const change = merge(connectionCreated(context, connection), ...made.map((each) => each.change));
  return { status: 201, body, headers: { location: `/v1/provider-connections/${id}` }, change };
}

async function assertRoom({ store, tenant }: RequestContext): Promise<void> {
  const [all, ended] = await Promise.all([
    store.count(tenant, 'connections'),
    store.count(tenant, 'connections:status:disconnected'),
  ]);
  if (all - ended < connectionsMax) return;
  throw new ServiceError('conflict', `a tenant has at most ${connectionsMax} provider connections`, {
    details: [{ field: 'provider', issue: 'too_many', message: `at most ${connectionsMax}: disconnect one first` }],
  });
}

function chooseEnvironment(info: ProviderInfo, asked: ClusterEnvironment = 'sandbox'): ClusterEnvironment {
  if (info.environments.includes(asked)) return asked;
  throw new ServiceError('invalidRequest', `${info.kind} cannot be connected for ${asked}`, {
    details: [{ field: 'environment', issue: 'not_allowed_value', message: `takes ${info.environments.join(', ')}` }],
  });
}

/**
 * The lists of a tenant with their filters, written from docs/wallet-api.md: the event log says which items a list with any of
 * its filters must have. `read-back.ts` reads them.
 */
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import type { Tenancy } from './tenancy.ts';

/** A resource as its newest event shows it. */
export type ShownResource = Readonly<Record<string, unknown>> & { readonly id: string };

export interface Filter {
  readonly name: string;
  readonly value: string;
  readonly holds: (item: ShownResource) => boolean;
}

export interface Collection {
  readonly path: string;
  /** The field of the answer with the items. */
  readonly name: string;
  readonly items: readonly ShownResource[];
  /** Those that the list omits unless one of `shownBy` is among its filters. */
  readonly isHidden?: (item: ShownResource) => boolean;
  readonly shownBy?: string;
  /** One of each name at most applies at a time. */
  readonly filters: readonly Filter[];
  /** The connection of an item: a token that is limited to others does not see it. undefined: it sees none of the list. */
  readonly connectionOf?: (item: ShownResource) => unknown;
}

export function collectionsOf(tenancy: Tenancy, events: readonly ToldEvent[]): Collection[] {
  const of = (type: string): ShownResource[] => [...newestOf(events, type).values()];
  const [intents, wallets, connections] = [of('transaction_intent'), of('wallet'), of('provider_connection')];
  const connectionOf = (item: ShownResource) => item.provider_connection_id;
  const ofIntents = { name: 'transaction_intents', connectionOf } as const;
  return [
    {
      ...{ path: '/v1/transaction-intents', items: intents, ...ofIntents },
      filters: [
        ...byField(intents, 'status'),
        ...byField(intents, 'provider_connection_id'),
        ...byTime(intents),
        ...byMetadata(intents),
      ],
    },
    ...wallets.map((wallet) => {
      const own = intents.filter((intent) => intent.wallet_id === wallet.id);
      return {
        ...{ path: `/v1/wallets/${wallet.id}/transaction-intents`, items: own, ...ofIntents },
        ...{ filters: [...byField(own, 'status'), ...byField(own, 'asset'), ...byTime(own)] },
        connectionOf: () => wallet.provider_connection_id,
      };
    }),
    {
      ...{ path: '/v1/wallets', name: 'wallets', items: wallets, connectionOf },
      ...{ isHidden: ({ status }) => status === 'archived', shownBy: 'status' },
      filters: [
        ...['active', 'frozen', 'archived'].map((status) => field('status', status)),
        ...byField(wallets, 'provider_connection_id'),
        ...byField(wallets, 'provider'),
        ...assetsOf(wallets),
      ],
    },
    {
      ...{ path: '/v1/provider-connections', name: 'provider_connections', items: connections },
      ...{ filters: [...byField(connections, 'provider'), ...byField(connections, 'status')] },
      connectionOf: ({ id }) => id,
    },
    { path: '/v1/webhooks', name: 'webhooks', items: of('webhook'), filters: [] },
    ofEvents(events),
    ...(tenancy.modules === undefined ? [] : ofModules(tenancy, of)),
  ];
}

/** Resources of a type that were not deleted, as their newest events show them. */
export function newestOf(events: readonly ToldEvent[], type: string): Map<string, ShownResource> {
  const newest = new Map<string, ShownResource>();
  for (const { resource, data, type: happened } of events) {
    if (resource.type !== type || happened.endsWith('.ping')) continue;
    if (happened === `${type}.deleted` || data.object === null) newest.delete(resource.id);
    else newest.set(resource.id, { ...data.object, id: resource.id });
  }
  return newest;
}

function ofEvents(events: readonly ToldEvent[]): Collection {
  const items = events as unknown as readonly ShownResource[];
  const families = [...new Set(events.map(({ type }) => `${type.split('.')[0]}.*`))];
  const types = [...new Set(events.map(({ type }) => type))];
  const resources = [...new Set(events.map(({ resource }) => resource.id))];
  const told = (item: ShownResource) => item as unknown as ToldEvent;
  return {
    ...{ path: '/v1/events', name: 'events', items },
    filters: [
      ...families.map((value) => ({
        ...{ name: 'type', value },
        holds: (item: ShownResource) => told(item).type.startsWith(value.slice(0, -1)),
      })),
      ...types.map((value) => ({ name: 'type', value, holds: (item: ShownResource) => told(item).type === value })),
      ...resources.map((value) => ({
        ...{ name: 'resource_id', value },
        holds: (item: ShownResource) => told(item).resource.id === value,
      })),
      // Inclusive, and exclusive.
      ...events.map(({ timestamp }) => ({
        ...{ name: 'created_after', value: timestamp },
        holds: (item: ShownResource) => told(item).timestamp >= timestamp,
      })),
      ...events.map(({ timestamp }) => ({
        ...{ name: 'created_before', value: timestamp },
        holds: (item: ShownResource) => told(item).timestamp < timestamp,
      })),
      ...events.map(({ sequence }) => ({
        ...{ name: 'after_sequence', value: `${sequence}` },
        holds: (item: ShownResource) => told(item).sequence > sequence,
      })),
    ],
  };
}

function ofModules({ modules }: Tenancy, of: (type: string) => ShownResource[]): Collection[] {
  const [orders, plans, vaults] = [of('token_order'), of('treasury_plan'), of('vault')];
  const tokens = of('token');
  const [jobs, exceptions, strategies] = [of('recon_job'), of('recon_exception'), of('treasury_strategy')];
  return [
    { path: '/v1/tokens', name: 'tokens', items: tokens, filters: [...byField(tokens, 'status'), ...byTime(tokens)] },
    ...modules!.tokens.map(({ id }) => {
      const own = orders.filter((order) => order.token_id === id);
      const filters = [...byField(own, 'status'), ...byField(own, 'kind'), ...byTime(own)];
      return { path: `/v1/tokens/${id}/orders`, name: 'orders', items: own, filters };
    }),
    {
      ...{ path: '/v1/treasury/plans', name: 'plans', items: plans },
      filters: [...byField(plans, 'strategy_id'), ...byField(plans, 'status')],
    },
    {
      ...{ path: '/v1/treasury/strategies', name: 'strategies', items: strategies },
      filters: byField(strategies, 'status'),
    },
    {
      ...{ path: '/v1/vaults', name: 'vaults', items: vaults, filters: byField(vaults, 'status') },
      ...{ isHidden: ({ status }) => status === 'archived', shownBy: 'status' },
    },
    {
      ...{ path: '/v1/recon/jobs', name: 'jobs', items: jobs },
      filters: ['status', 'kind', 'provider_connection_id'].flatMap((name) => byField(jobs, name)),
    },
    {
      ...{ path: '/v1/recon/exceptions', name: 'exceptions', items: exceptions },
      filters: ['status', 'type', 'severity', 'wallet_id', 'provider_connection_id'].flatMap((name) =>
        byField(exceptions, name),
      ),
    },
  ];
}

function field(name: string, value: string): Filter {
  return { name, value, holds: (item) => item[name] === value };
}

/** A filter for each value that occurs. */
function byField(items: readonly ShownResource[], name: string): Filter[] {
  const values = items.flatMap((item) => (item[name] == null ? [] : [item[name] as string]));
  return [...new Set(values)].map((value) => field(name, value));
}

/** By each text at the first level. */
function byMetadata(items: readonly ShownResource[]): Filter[] {
  const entries = items.flatMap((item) => Object.entries(item.metadata as Readonly<Record<string, unknown>>));
  const texts = entries.flatMap(([key, value]) => (typeof value === 'string' ? [{ key, value }] : []));
  return texts.map(({ key, value }) => ({
    name: 'metadata',
    value: `${key}:${value}`,
    holds: (item) => (item.metadata as Readonly<Record<string, unknown>>)[key] === value,
  }));
}

/** By the time in the id: inclusive, and exclusive. */
function byTime(items: readonly ShownResource[]): Filter[] {
  return [...new Set(items.map(madeAt))].flatMap((value) => [
    { name: 'created_after', value, holds: (item: ShownResource) => madeAt(item) >= value },
    { name: 'created_before', value, holds: (item: ShownResource) => madeAt(item) < value },
  ]);
}

/** Ids are UUIDs of version 7. */
function madeAt({ id }: ShownResource): string {
  const [, uuid] = id.split('_') as [string, string];
  return new Date(Number.parseInt(uuid.replace('-', '').slice(0, 12), 16)).toISOString();
}

function assetsOf(wallets: readonly ShownResource[]): Filter[] {
  const symbolsOf = ({ assets }: ShownResource) =>
    (assets as readonly { symbol: string }[]).map(({ symbol }) => symbol);
  const all = [...new Set(wallets.flatMap(symbolsOf))];
  return all.map((value) => ({ name: 'asset', value, holds: (wallet) => symbolsOf(wallet).includes(value) }));
}

/**
 * Reads everything back at the end of a run, in pages of one to four items, with and without filters: each list has the items of
 * the event log, once each and in order. It also tries used keys with other bodies and from other callers.
 */
import type { ToldEvent } from '../world/invariants/documented-ledger.ts';
import type { Draw } from './draw.ts';
import { found } from './finding.ts';
import { reuse } from './money-client.ts';
import type { Tenancy } from './tenancy.ts';

interface Listed {
  readonly target: string;
  readonly name: string;
  /** In any order. */
  readonly ids: readonly string[];
}

/** The numbers of lists and of keys that a run tries. */
const listsEach = 7;
const keysEach = 6;

type Told = Readonly<Record<string, unknown>> & { readonly id: string };

export async function readBack(tenancy: Tenancy, events: readonly ToldEvent[], draw: Draw): Promise<void> {
  const lists = listsOf(tenancy, events);
  for (let count = 0; count < listsEach; count += 1) {
    const { target, name, ids } = draw.pick(lists);
    const items = await tenancy.owner.list<{ readonly id: string }>(target, name, draw.integer(1, 4));
    const listed = items.map(({ id }) => id);
    if ([...listed].sort().join() !== [...ids].sort().join()) {
      found('pages-complete', `${target} lists ${listed.length} of ${ids.length}: ${differing(listed, ids)}`);
    }
    // Ids sort by their creation time; clocks of gateways may differ.
    const sorted = [...listed].sort().reverse();
    if (tenancy.isCalm && name !== 'events' && isTimed(listed) && sorted.join() !== listed.join()) {
      found('pages-complete', `${target} is not newest first: ${listed}`);
    }
  }
  const { posts } = tenancy;
  for (let count = 0; count < keysEach && posts.length > 0; count += 1) await reuse(draw, tenancy, draw.pick(posts));
}

function listsOf(tenancy: Tenancy, events: readonly ToldEvent[]): Listed[] {
  const of = (type: string): Told[] => {
    const newest = new Map<string, Told>();
    for (const { resource, data, type: happened } of events) {
      if (resource.type !== type || happened.endsWith('.ping')) continue;
      if (happened === `${type}.deleted` || data.object === null) newest.delete(resource.id);
      else newest.set(resource.id, { ...data.object, id: resource.id });
    }
    return [...newest.values()];
  };
  const idsOf = (all: readonly Told[], test: (one: Told) => boolean = () => true) =>
    all.filter(test).map(({ id }) => id);
  const intents = of('transaction_intent');
  const wallets = of('wallet');
  const statuses = [...new Set(intents.map(({ status }) => status as string))];
  const filters = [...new Set(events.map(({ type }) => `${type.split('.')[0]}.*`))];
  const standing = (status: string) => idsOf(wallets, (wallet) => wallet.status === status);
  const [all, live] = ['/v1/transaction-intents', '/v1/wallets'];
  return [
    { target: all, name: 'transaction_intents', ids: idsOf(intents) },
    ...statuses.map((status) => ({
      target: `${all}?status=${status}`,
      name: 'transaction_intents',
      ids: idsOf(intents, (intent) => intent.status === status),
    })),
    ...wallets.map(({ id }) => ({
      target: `/v1/wallets/${id}/transaction-intents`,
      name: 'transaction_intents',
      ids: idsOf(intents, (intent) => intent.wallet_id === id),
    })),
    { target: live, name: 'wallets', ids: idsOf(wallets, ({ status }) => status !== 'archived') },
    ...['active', 'frozen', 'archived'].map((status) => ({
      target: `${live}?status=${status}`,
      name: 'wallets',
      ids: standing(status),
    })),
    ...[...new Set(wallets.map(({ provider_connection_id: id }) => id as string))].map((id) => ({
      target: `${live}?provider_connection_id=${id}`,
      name: 'wallets',
      ids: idsOf(wallets, (wallet) => wallet.provider_connection_id === id && wallet.status !== 'archived'),
    })),
    { target: '/v1/webhooks', name: 'webhooks', ids: idsOf(of('webhook')) },
    { target: '/v1/provider-connections', name: 'provider_connections', ids: idsOf(of('provider_connection')) },
    { target: '/v1/events', name: 'events', ids: events.map(({ id }) => id) },
    ...filters.map((type) => ({
      target: `/v1/events?type=${type}`,
      name: 'events',
      ids: events.filter((event) => event.type.startsWith(type.slice(0, -1))).map(({ id }) => id),
    })),
    ...(tenancy.modules === undefined ? [] : ofModules(tenancy, of, idsOf)),
  ];
}

function ofModules(
  { modules }: Tenancy,
  of: (type: string) => Told[],
  idsOf: (all: readonly Told[], test?: (one: Told) => boolean) => string[],
): Listed[] {
  const orders = of('token_order');
  const plans = of('treasury_plan');
  return [
    { target: '/v1/tokens', name: 'tokens', ids: idsOf(of('token')) },
    ...modules!.tokens.map(({ id }) => ({
      target: `/v1/tokens/${id}/orders`,
      name: 'orders',
      ids: idsOf(orders, (order) => order.token_id === id),
    })),
    { target: '/v1/treasury/plans', name: 'plans', ids: idsOf(plans) },
    { target: '/v1/vaults', name: 'vaults', ids: idsOf(of('vault'), ({ status }) => status !== 'archived') },
    { target: '/v1/recon/jobs', name: 'jobs', ids: [...modules!.jobs] },
  ];
}

function differing(one: readonly string[], other: readonly string[]): string {
  const [extra, missing] = [one.filter((id) => !other.includes(id)), other.filter((id) => !one.includes(id))];
  const twice = one.filter((id, at) => one.indexOf(id) !== at);
  return `missing [${missing}], more [${extra}], twice [${twice}]`;
}

/** Ids of one prefix sort by time. */
function isTimed(ids: readonly string[]): boolean {
  return new Set(ids.map((id) => id.slice(0, 4))).size <= 1;
}

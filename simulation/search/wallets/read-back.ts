/**
 * Reads everything back at the end of a run, in pages of one to four items, with any of its filters and by callers that see a part:
 * each list has the items of the event log, once each and in order, and every item is as its newest event shows it. A cursor
 * belongs to its filters. It also tries used keys with other bodies and from other callers.
 */

import type { Draw } from '../../cluster/draw.ts';
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { type Collection, collectionsOf, type Filter, newestOf, type ShownResource } from './collections.ts';
import { reuse } from './money-client.ts';
import type { Operator } from './operator.ts';
import type { Tenancy } from './tenancy.ts';

/** The numbers of lists, of records and of keys that a run tries. */
const listsEach = 9;
const recordsEach = 5;
const keysEach = 6;
const filtersMax = 3;

/** Single records, by the type of their events. */
const paths: Readonly<Record<string, string>> = {
  wallet: '/v1/wallets',
  provider_connection: '/v1/provider-connections',
  webhook: '/v1/webhooks',
  policy: '/v1/policies',
  compliance_list: '/v1/compliance/lists',
  token: '/v1/tokens',
  token_order: '/v1/tokens',
  vault: '/v1/vaults',
  treasury_strategy: '/v1/treasury/strategies',
  treasury_plan: '/v1/treasury/plans',
  recon_job: '/v1/recon/jobs',
  recon_exception: '/v1/recon/exceptions',
};
/** What a record shows of other records or of the moment. */
const live = new Set(['assets', 'supply', 'minting', 'available_to_mint', 'stale']);
/** By the prefix of the id: a job meets an exception again, a vault gets a further key, a strategy executes a plan. */
const silent: Readonly<Record<string, readonly string[]>> = {
  rcx_: ['version', 'updated_at', 'sources', 'times_seen', 'last_seen_at', 'last_job_id'],
  vlt_: ['version', 'updated_at', 'key_count'],
  stg_: ['updated_at', 'executing_plan_id', 'last_executed_at'],
  // A version has its own time.
  lst_: ['created_at'],
};

interface Viewer {
  readonly operator: Operator;
  /** The connections that it sees; undefined: it sees the whole tenant. */
  readonly connections: readonly string[] | undefined;
}

export async function readBack(tenancy: Tenancy, events: readonly ToldEvent[], draw: Draw): Promise<void> {
  const lists = collectionsOf(tenancy, events);
  const viewers: readonly Viewer[] = [{ operator: tenancy.owner, connections: undefined }, ...tenancy.limited];
  for (let count = 0; count < listsEach; count += 1) {
    const viewer = draw.chance(0.3) ? draw.pick(viewers) : viewers[0]!;
    await readList(tenancy, viewer, draw.pick(lists), draw);
  }
  for (let count = 0; count < recordsEach; count += 1) await readRecord(tenancy.owner, events, draw);
  if (events.length > 0) await readEvent(tenancy.owner, draw.pick(events));
  const { posts } = tenancy;
  for (let count = 0; count < keysEach && posts.length > 0; count += 1) await reuse(draw, tenancy, draw.pick(posts));
}

async function readList(
  { isCalm }: Tenancy,
  { operator, connections }: Viewer,
  list: Collection,
  draw: Draw,
): Promise<void> {
  const filters = drawnFilters(list, draw);
  const { path, name, items: all, isHidden, shownBy, connectionOf } = list;
  const isShown = (item: ShownResource) =>
    isHidden?.(item) !== true || filters.some((filter) => filter.name === shownBy);
  const isSeen = (item: ShownResource) =>
    connections === undefined || connections.includes(connectionOf?.(item) as string);
  const wanted = all.filter((item) => isShown(item) && isSeen(item) && filters.every(({ holds }) => holds(item)));
  // A wallet of another connection does not exist, nor do its intents.
  if (connections !== undefined && (connectionOf === undefined || (wanted.length === 0 && path.includes('/wal_'))))
    return;
  const query = filters.map((filter) => `${filter.name}=${encodeURIComponent(filter.value)}`).join('&');
  const target = query === '' ? path : `${path}?${query}`;
  const listed = await operator.list<ShownResource>(target, name, draw.int(1, 4));
  const [ids, due] = [listed, wanted].map((some) => some.map(({ id }) => id)) as [string[], string[]];
  if ([...ids].sort().join() !== [...due].sort().join()) {
    found('pages-complete', `${target} lists ${ids.length} of ${due.length}: ${differing(ids, due)}`);
  }
  // Ids sort by their creation time; clocks of gateways may differ.
  const sorted = [...ids].sort().reverse();
  if (isCalm && name !== 'events' && isTimed(ids) && sorted.join() !== ids.join()) {
    found('pages-complete', `${target} is not newest first: ${ids}`);
  }
  for (const item of listed) asTold(target, item, wanted.find(({ id }) => id === item.id)!);
  if (ids.length > 1) await otherCursor(operator, list, target, query === '' ? '?' : '&');
}

/** "`cursor` is the `next_cursor` of the page before, with the same filters … one of another list is 400." */
async function otherCursor(operator: Operator, { path, filters }: Collection, target: string, joint: string) {
  const { body } = await operator.call('GET', `${target}${joint}limit=1`);
  const other = filters.find(({ name, value }) => !target.includes(`${name}=${encodeURIComponent(value)}`));
  if (other === undefined || body.next_cursor === null) return;
  const query = `${other.name}=${encodeURIComponent(other.value)}&limit=1&cursor=${encodeURIComponent(body.next_cursor)}`;
  const { status } = await operator.call('GET', `${path}?${query}`);
  if (status !== 400) found('pages-complete', `${path} takes a cursor of ${target} with other filters: ${status}`);
}

/** None, or up to three of different names. */
function drawnFilters({ filters }: Collection, draw: Draw): readonly Filter[] {
  const drawn: Filter[] = [];
  for (let count = draw.int(0, filtersMax); count > 0 && filters.length > 0; count -= 1) {
    const filter = draw.pick(filters);
    if (!drawn.some(({ name }) => name === filter.name)) drawn.push(filter);
  }
  const time = (name: string) => drawn.find((filter) => filter.name === name)?.value;
  // A reversed range is 400.
  const [after, before] = [time('created_after'), time('created_before')];
  return after !== undefined && before !== undefined && after > before
    ? drawn.filter(({ name }) => name !== 'created_before')
    : drawn;
}

async function readRecord(owner: Operator, events: readonly ToldEvent[], draw: Draw): Promise<void> {
  const type = draw.pick(Object.keys(paths));
  const told = [...newestOf(events, type).values()];
  if (told.length === 0) return;
  const record = draw.pick(told);
  const target =
    type === 'token_order' ? `/v1/tokens/${record.token_id}/orders/${record.id}` : `${paths[type]}/${record.id}`;
  const { status, body } = await owner.call('GET', target);
  if (status !== 200) found('changes-take-effect', `GET ${target}: ${status}`);
  asTold(target, body as ShownResource, record);
}

async function readEvent(owner: Operator, event: ToldEvent): Promise<void> {
  const { status, body } = await owner.call('GET', `/v1/events/${event.id}`);
  if (status === 200 && JSON.stringify(body) === JSON.stringify(event)) return;
  found(
    'events-complete',
    `GET /v1/events/${event.id}: ${status} ${JSON.stringify(body)}, listed ${JSON.stringify(event)}`,
  );
}

/** "`data.object` is the resource as the API shows it, right after the change." */
function asTold(target: string, shown: ShownResource, told: ShownResource): void {
  for (const [name, value] of Object.entries(told)) {
    if (!(name in shown) || live.has(name) || isSilent(told, name)) continue;
    if (JSON.stringify(shown[name]) === JSON.stringify(value)) continue;
    const texts = [shown[name], value].map((one) => JSON.stringify(one));
    found('events-complete', `${target} shows ${told.id} with ${name} ${texts[0]}, its newest event ${texts[1]}`);
  }
}

function isSilent({ id }: ShownResource, name: string): boolean {
  return silent[id.slice(0, 4)]?.includes(name) === true;
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

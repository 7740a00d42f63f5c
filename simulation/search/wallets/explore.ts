/**
 * The end of a run: generated steps (route-walk.ts) on all that it made, between a snapshot and its restoration. What they made is
 * read back like everything else, and the restored state reads as it did when it was taken.
 */
import type { CustodyWorld } from '../../service/custody-world.ts';
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { checkEffects } from '../../service/invariants/event-effects.ts';
import { found } from '../../service/invariants/finding.ts';
import { drawFrom } from './draw.ts';
import { isSearched } from './outcomes.ts';
import { readBack } from './read-back.ts';
import { ResourcePool } from './resource-pool.ts';
import { RouteWalk } from './route-walk.ts';
import type { Tenancy } from './tenancy.ts';

/** Of all tenants together. */
const stepsEach = 40;

export async function explore(world: CustodyWorld, tenancies: readonly Tenancy[], withinMs: number): Promise<void> {
  const routes = world.routes.filter(isSearched);
  const pools = tenancies.map(({ owner }) => new ResourcePool(owner, routes));
  const reads = () => world.run(Promise.all(tenancies.map((tenancy, at) => read(tenancy, pools[at]!.lists))), withinMs);
  const taken = world.snapshot();
  const before = (await reads()).flat();
  for (const pool of pools) await world.run(pool.fill(), withinMs);
  for (const [at, tenancy] of tenancies.entries()) {
    const draw = drawFrom(world.random(`walk/${tenancy.name}`));
    const walk = new RouteWalk(
      tenancy,
      draw,
      pools[at]!,
      pools.filter((_, index) => index !== at),
    );
    for (let count = 0; count < stepsEach / tenancies.length; count += 1) await world.run(walk.step(), withinMs);
  }
  for (const tenancy of tenancies) await world.run(checked(tenancy), withinMs);
  await world.restore(taken);
  for (const [at, text] of (await reads()).flat().entries()) {
    if (text !== before[at]) found('reads-are-fresh', `restored, it shows ${differing(before[at]!, text)}`);
  }
}

async function checked(tenancy: Tenancy): Promise<void> {
  const events = await tenancy.owner.list<ToldEvent>('/v1/events', 'events');
  checkEffects(events);
  await readBack(tenancy, events, drawFrom(tenancy.world.random(`walked/${tenancy.name}`)));
}

/** The log and the first page of every list, past the invariants of answers: a restored state is older than what they have seen. */
async function read({ owner }: Tenancy, lists: readonly string[]): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const path of lists) {
    const { status, body } = await owner.client.call('GET', `${path}?limit=100`);
    texts.push(`${path} ${status} ${JSON.stringify(body, (name, value) => (ofMoment.has(name) ? undefined : value))}`);
  }
  return texts;
}

/** Errors name their request; prices and what depends on them are of the moment. */
const ofMoment = new Set(['request_id', 'positions', 'as_of', 'stale']);

function differing(one: string, other: string): string {
  const at = Math.max(0, [...one].findIndex((letter, index) => letter !== other[index]) - 100);
  return `${one.slice(0, 40)} ${one.slice(at, at + 300)} and ${other.slice(at, at + 300)}`;
}

/**
 * The end of a run: generated steps (route-walk.ts) on all that it made, which its models do not follow. First several walks at once
 * during new faults, which then heal: what they made is read back like everything else. Then a snapshot from before them is
 * restored, and reads as it did when it was taken. On the restored state one walk at a time, at rest, is read back too.
 */
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
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

/** In each of the two parts, of all tenants together. */
const steps = 40;
/** Walks of a tenant at once. */
const walksEach = 2;
const pauseMaxMs = 900;
/** Nothing is written for so long: work has ended, or waits for a caller or a time. */
const quietMs = 12_000;
const quietLooksMax = 30;

export interface ExploreOptions {
  /** Those that begin with the walks. */
  readonly faults: readonly Fault[];
  readonly arm: (faults: readonly Fault[]) => void;
  readonly heal: () => void;
  readonly withinMs: number;
}

export async function explore(
  world: CustodyWorld,
  tenancies: readonly Tenancy[],
  { faults, arm, heal, withinMs }: ExploreOptions,
): Promise<void> {
  const run = <T>(work: readonly Promise<T>[]) => world.run(Promise.all(work), withinMs);
  const lists = tenancies.map(({ owner }) => new ResourcePool(owner, world.routes.filter(isSearched)).lists);
  const reads = async () => (await run(tenancies.map((tenancy, at) => read(tenancy, lists[at]!)))).flat();
  const taken = world.snapshot();
  const forgetLater = [...new Set(tenancies.map(({ answers }) => answers))].map((answers) => answers.snapshot());
  const before = await reads();
  const busy = await walks(world, tenancies, withinMs);
  arm(faults);
  await run(
    busy.flatMap(({ tenancy, pools }) =>
      Array.from({ length: walksEach }, async (_, at) => {
        const draw = drawFrom(world.random(`busy/${tenancy.name}/${at}`));
        const walk = new RouteWalk(tenancy, draw, pools, false);
        for (let count = 0; count < steps / walksEach / tenancies.length; count += 1) {
          await walk.step();
          await tenancy.owner.client.pause(draw.int(1, pauseMaxMs));
        }
      }),
    ),
  );
  heal();
  await run(tenancies.map(quiet));
  for (const tenancy of tenancies) await world.run(checked(tenancy), withinMs);
  await world.restore(taken);
  for (const [at, text] of (await reads()).entries()) {
    if (text !== before[at]) found('reads-are-fresh', `restored, it shows ${differing(before[at]!, text)}`);
  }
  for (const forget of forgetLater) forget();
  for (const { tenancy, pools } of await walks(world, tenancies, withinMs)) {
    const walk = new RouteWalk(tenancy, drawFrom(world.random(`walk/${tenancy.name}`)), pools, true);
    for (let count = 0; count < steps / tenancies.length; count += 1) await world.run(walk.step(), withinMs);
  }
  await run(tenancies.map(quiet));
  for (const tenancy of tenancies) await world.run(checked(tenancy), withinMs);
}

async function walks(world: CustodyWorld, tenancies: readonly Tenancy[], withinMs: number) {
  const routes = world.routes.filter(isSearched);
  const all = tenancies.map(({ owner }) => new ResourcePool(owner, routes));
  for (const pool of all) await world.run(pool.fill(), withinMs);
  return tenancies.map((tenancy, at) => ({
    tenancy,
    pools: { own: all[at]!, others: all.filter((_, index) => index !== at) },
  }));
}

async function quiet(tenancy: Tenancy): Promise<void> {
  for (let looks = 0, last = -1; looks < quietLooksMax && last !== tenancy.sequence; looks += 1) {
    last = tenancy.sequence;
    await tenancy.owner.client.pause(quietMs);
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

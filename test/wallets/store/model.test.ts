/** Random changes by two stores on one Redis, beside a model in memory that says what each must do. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, remove, update } from '../../../wallets/store/changes.ts';
import type { Change, CommitRefusal, Guard, LedgerEntry } from '../../../wallets/store/contract.ts';
import type { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import {
  done,
  eventFor,
  newTenant,
  next,
  type StoreUnderTest,
  startStore,
  storeWorlds,
  type Thing,
  thing,
  thingId,
  thingType,
} from '../../support/store.ts';
import { runs } from '../../support/thorough.ts';

describe.each(storeWorlds)('on %s', (world) => {
  let under: StoreUnderTest;
  let stores: readonly RedisTenantStore[];

  beforeAll(async () => {
    under = await startStore(world);
    stores = [await under.open(), await under.open()];
  });
  afterAll(() => under.stop());

  const ids = Array.from({ length: 4 }, (_, k) => thingId(1_000 + k));
  const tags = ['a', 'b', 'c'];
  const statuses = ['open', 'closed'];
  const indices = [
    'things',
    ...statuses.map((each) => `things:status:${each}`),
    ...tags.map((tag) => `things:tag:${tag}`),
  ];

  class Model {
    readonly things = new Map<string, Thing>();
    readonly numbers = new Map<string, number>();
    readonly balances = new Map<string, bigint>();
    readonly claims = new Set<string>();
    readonly due = new Map<string, number>();
    readonly free = new Set<number>();
    counter = 0;
    sequence = 0;

    standing(index: string): string[] {
      return [...this.things.values()]
        .filter((each) => thingType.indices(each).includes(index))
        .map(({ id }) => id)
        .sort();
    }

    balance(field: string): bigint {
      return this.balances.get(field) ?? 0n;
    }

    refusal({ puts = [], removals = [], guards = [], ledger = [] }: Change): CommitRefusal['kind'] | undefined {
      const at = (id: string): number | undefined => this.things.get(id)?.version;
      if (puts.some(({ before, after }) => at(after.id) !== before?.version)) return 'conflict';
      if (removals.some(({ before }) => at(before.id) !== before.version)) return 'conflict';
      if (guards.some((guard) => guard.kind === 'version' && at(guard.id) !== guard.version)) return 'conflict';
      for (const guard of guards) {
        if (guard.kind !== 'status') continue;
        const record = this.things.get(guard.id);
        if (record === undefined) return 'conflict';
        if (record.status !== guard.status) return 'status';
      }
      if (guards.some((guard) => guard.kind === 'emptyIndex' && this.standing(guard.index).length > 0))
        return 'notEmpty';
      if (guards.some((guard) => guard.kind === 'claim' && this.claims.has(guard.name))) return 'claimed';
      for (const [field, delta] of sums(ledger)) if (this.balance(field) + delta < 0n) return 'insufficient';
      return undefined;
    }

    /** The number of `allocate`. */
    apply({ puts = [], removals = [], guards = [], ledger = [], events = [], due = [], allocate, release }: Change) {
      for (const { after } of puts) this.things.set(after.id, after as Thing);
      for (const { before } of removals) {
        this.things.delete(before.id);
        this.numbers.delete(before.id);
      }
      for (const guard of guards) if (guard.kind === 'claim') this.claims.add(guard.name);
      for (const [field, delta] of sums(ledger)) this.balances.set(field, this.balance(field) + delta);
      for (const { member, atMs } of due) {
        if (atMs === undefined) this.due.delete(member);
        else this.due.set(member, atMs);
      }
      this.sequence += events.length;
      if (release !== undefined) this.free.add(release.number);
      if (allocate === undefined) return undefined;
      const lowest = [...this.free].sort((a, b) => a - b)[0];
      if (lowest !== undefined) this.free.delete(lowest);
      const number = lowest ?? this.counter++;
      this.numbers.set(allocate.recordId, number);
      return number;
    }
  }

  function sums(ledger: readonly LedgerEntry[]): Map<string, bigint> {
    const out = new Map<string, bigint>();
    for (const { walletId, asset, available, reserved } of ledger) {
      for (const [field, delta] of [
        [`${walletId} ${asset}`, available],
        [`${walletId} ${asset}|r`, reserved],
      ] as const) {
        out.set(field, (out.get(field) ?? 0n) + delta);
      }
    }
    return out;
  }

  const guardArb: fc.Arbitrary<Guard> = fc.oneof(
    fc.record({
      kind: fc.constant('status' as const),
      id: fc.constantFrom(...ids),
      status: fc.constantFrom(...statuses),
    }),
    fc.record({
      kind: fc.constant('version' as const),
      id: fc.constantFrom(...ids),
      version: fc.integer({ min: 1, max: 3 }),
    }),
    fc.record({ kind: fc.constant('emptyIndex' as const), index: fc.constantFrom(...indices) }),
    fc.record({ kind: fc.constant('claim' as const), name: fc.constantFrom('x', 'y', 'z', 'u', 'v') }),
  );

  /** An operation on one record: its client, and whether it has an old version in hand. */
  const stepArb = fc.record({
    id: fc.constantFrom(...ids),
    how: fc.constantFrom('create', 'update', 'update', 'update', 'remove', 'nothing'),
    stale: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    status: fc.constantFrom(...statuses),
    tags: fc.subarray(tags),
  });
  const changeArb = fc.record({
    by: fc.nat(1),
    steps: fc.uniqueArray(stepArb, { selector: ({ id }) => id, maxLength: 3 }),
    guards: fc.uniqueArray(guardArb, { selector: (guard) => JSON.stringify(guard), maxLength: 1 }),
    ledger: fc.array(
      fc.record({
        walletId: fc.constantFrom('v', 'w'),
        asset: fc.constantFrom('ETH', 'BTC'),
        available: fc.bigInt({ min: -(10n ** 18n), max: 4n * 10n ** 18n }),
        reserved: fc.bigInt({ min: -(10n ** 15n), max: 10n ** 18n }),
      }),
      { maxLength: 2 },
    ),
    allocates: fc.boolean(),
    releases: fc.option(fc.nat(5), { nil: undefined, freq: 3 }),
    events: fc.nat(2),
    due: fc.array(fc.record({ member: fc.constantFrom('m', 'n'), atMs: fc.option(fc.nat(100), { nil: undefined }) }), {
      maxLength: 2,
    }),
  });

  it('does what a model in memory does, and refuses what it refuses', async () => {
    const kinds = new Set<string>();
    const property = fc.asyncProperty(fc.array(changeArb, { minLength: 5, maxLength: 25 }), async (plan) => {
      const tenant = newTenant();
      const model = new Model();
      for (const { by, steps, guards, ledger, allocates, releases, events, due } of plan) {
        const puts = [];
        const removals = [];
        for (const { id, how, stale, ...over } of steps) {
          const known = model.things.get(id) ?? thing(id);
          const before = stale ? { ...known, version: known.version + 1 } : known;
          if (how === 'create' || (how === 'update' && !model.things.has(id) && !stale))
            puts.push(create(thingType, thing(id, over)));
          else if (how === 'update') puts.push(update(thingType, before, next(before, over)));
          else if (how === 'remove') removals.push(remove(thingType, before));
        }
        const change: Change = {
          puts,
          removals,
          guards,
          ledger,
          due,
          events: Array.from({ length: events }, () => eventFor('thg_1')),
          ...(allocates && puts[0] ? { allocate: { counter: 'c', recordId: puts[0].after.id } } : {}),
          ...(releases === undefined ? {} : { release: { counter: 'c', number: releases } }),
        };
        const refusal = model.refusal(change);
        const contents = refusal && (await under.contents(tenant));
        const outcome = await stores[by]!.commit(tenant, change);
        kinds.add(refusal ?? 'committed');
        if (!outcome.committed) {
          expect(outcome.refusal.kind).toBe(refusal);
          expect(await under.contents(tenant)).toEqual(contents);
          continue;
        }
        expect(refusal).toBeUndefined();
        const allocated = model.apply(change);
        expect(outcome).toEqual({ committed: true, sequence: events === 0 ? 0 : model.sequence, allocated });
      }
      await sameAs(model, tenant);
    });
    await fc.assert(property, { numRuns: runs(35, 120) });
    // The plans have reached every way to end; where chance has left one out, further ones do.
    const ways = ['claimed', 'committed', 'conflict', 'insufficient', 'notEmpty', 'status'];
    for (let more = 0; more < 10 && kinds.size < ways.length; more += 1) await fc.assert(property, { numRuns: 35 });
    expect([...kinds].sort()).toEqual(ways);
  });

  async function sameAs(model: Model, tenant: string): Promise<void> {
    const [store] = stores as [RedisTenantStore];
    const read = await store.readMany(tenant, thingType, ids);
    expect(read).toEqual(ids.map((id) => model.things.get(id)));
    for (const id of ids) expect(await store.numberOf(tenant, id)).toBe(model.numbers.get(id));
    for (const index of indices) {
      const page = await store.list(tenant, thingType, { indices: [index], order: 'oldest', limit: 100 });
      expect(page.items.map(({ id }) => id)).toEqual(model.standing(index));
      expect(await store.count(tenant, index)).toBe(page.items.length);
    }
    for (const wallet of ['v', 'w']) {
      const fields = await under.redis.hgetall(`sm:{t:${tenant}}:bal:${wallet}`);
      for (const field of ['ETH', 'ETH|r', 'BTC', 'BTC|r']) {
        expect(fields[field] ?? '0').toBe(String(model.balance(`${wallet} ${field}`)));
      }
    }
    const log = await store.events(tenant, { afterSequence: 0, limit: 1_000, types: [] });
    expect(log.events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: model.sequence }, (_, k) => k + 1));
    const due = [...model.due].sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1)).map(([member]) => member);
    expect((await store.takeDue(tenant, 1_000, 1, 10)).members).toEqual(due);
  }

  it('lets each version of a record be followed once, however many try', async () => {
    const tenant = newTenant();
    const id = ids[0]!;
    await done(stores[0]!, tenant, { puts: [create(thingType, thing(id, { note: 0 }))] });
    const raise = async (store: RedisTenantStore): Promise<void> => {
      for (;;) {
        const before = (await store.read(tenant, thingType, id))!;
        const after = next(before, { note: (before.note as number) + 1, tags: [tags[before.version % 3]!] });
        const outcome = await store.commit(tenant, {
          puts: [update(thingType, before, after)],
          events: [eventFor(id)],
        });
        if (outcome.committed) return;
        expect(outcome.refusal).toEqual({ kind: 'conflict', id });
      }
    };
    await Promise.all(Array.from({ length: 60 }, (_, k) => raise(stores[k % 2]!)));
    const last = await stores[1]!.read(tenant, thingType, id);
    expect(last).toMatchObject({ version: 61, note: 60, tags: [tags[60 % 3]] });
    expect((await stores[0]!.events(tenant, { afterSequence: 0, limit: 1, types: [] })).lastSequence).toBe(60);
    const counts = await Promise.all(tags.map((tag) => stores[0]!.count(tenant, `things:tag:${tag}`)));
    expect(counts).toEqual(tags.map((tag) => (tag === last?.tags[0] ? 1 : 0)));
  });
});

/**
 * The outbox's scripts against random lives: events, dispatches, tries that end in any way, webhooks that are disabled and
 * enabled, redeliveries. After every step the books agree, and in the end every event that was meant for a webhook has
 * been taken on for it exactly once.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { evaluateTry, requeued } from '../../../../wallets/delivery/deliveries/attempt.ts';
import type { DeliveryJob, DispatchLimits } from '../../../../wallets/delivery/deliveries/outbox-store.ts';
import { type DeliveryRecord, deliveryIdOf, deliveryType } from '../../../../wallets/delivery/deliveries/record.ts';
import { type HookService, newTenant, startService } from './support/service.ts';

let service: HookService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const limits: DispatchLimits = {
  windowMax: 5,
  failingWindowMax: 2,
  retryingMax: 6,
  retainedMax: 1_000,
  retentionMs: 30 * 86_400_000,
};
const types = ['wallet.created', 'wallet.frozen', 'policy.created'];
const filters = [[], ['wallet.*'], ['wallet.frozen'], ['policy.created', 'wallet.created']];
const matches = (filter: readonly string[], type: string) =>
  filter.length === 0 ||
  filter.some((one) => one === type || (one.endsWith('.*') && type.startsWith(one.slice(0, -1))));

/** One life of one webhook. `now` is moved by hand. */
class Life {
  readonly tenant = newTenant();
  readonly #filter: readonly string[];
  #id = '';
  #version = 1;
  #enabled = true;
  #begunAt = 0;
  nowMs = Date.now();
  readonly meant: { id: string; sequence: number }[] = [];
  readonly taken: DeliveryJob[] = [];
  readonly #jobs: DeliveryJob[] = [];

  constructor(filter: readonly string[]) {
    this.#filter = filter;
  }

  async begin(): Promise<void> {
    const events = this.#filter.length === 0 ? ['*'] : this.#filter;
    this.#id = (await service.register(this.tenant, { url: 'http://127.0.0.1:1', events }, this.nowMs)).id;
    const { lastSequence } = await service.hooks.outboxes(this.tenant, limits, this.nowMs);
    this.#begunAt = lastSequence;
    await service.hooks.begin(this.tenant, this.#id, lastSequence);
    await service.hooks.begin(this.tenant, this.#id, 0);
  }

  async happen(type: string, count: number): Promise<void> {
    const sequences = await service.happen(this.tenant, count, type, this.nowMs);
    if (!matches(this.#filter, type)) return;
    const { events } = await service.store.events(this.tenant, {
      afterSequence: sequences[0]! - 1,
      limit: 100,
      types: [],
    });
    for (const { id, sequence } of events) this.meant.push({ id, sequence });
  }

  async dispatch(): Promise<void> {
    const webhook = { id: this.#id, version: this.#version, types: this.#filter };
    const dispatched = await service.hooks.dispatch(this.tenant, webhook, limits, this.nowMs);
    expect(dispatched === undefined).toBe(!this.#enabled);
    for (const job of dispatched?.jobs ?? []) {
      if (job.tries === 0 && !this.taken.some(({ deliveryId }) => deliveryId === job.deliveryId)) this.taken.push(job);
      this.#jobs.push(job);
    }
    expect(dispatched?.skipped ?? 0).toBe(0);
  }

  async end(pick: number, status: number): Promise<void> {
    const [job] = this.#jobs.splice(pick % Math.max(1, this.#jobs.length), 1);
    if (job === undefined) return;
    const before = await this.#read(job.deliveryId);
    expect(before.attemptCount).toBe(job.tries);
    if (!this.#enabled) {
      await service.hooks.release(this.tenant, this.#id, job.deliveryId, 'hold', this.nowMs);
      return;
    }
    const outcome = { kind: 'answered', status, retryAfter: undefined, tookMs: 1 } as const;
    const { after, retryAtMs, endpoint } = evaluateTry(before, outcome, this.nowMs, 0.5, [1_000, 5_000]);
    const place = retryAtMs === undefined ? undefined : ({ kind: 'retry', atMs: retryAtMs } as const);
    expect(await service.hooks.move(this.tenant, { before, after, place, endpoint }, this.nowMs)).toBeDefined();
    // A move of a delivery that was moved meanwhile is refused.
    expect(await service.hooks.move(this.tenant, { before, after, place, endpoint }, this.nowMs)).toBeUndefined();
  }

  async redeliver(pick: number): Promise<void> {
    const final = (await this.#all()).filter(({ status }) => status === 'delivered' || status === 'failed');
    const before = final[pick % Math.max(1, final.length)];
    if (before === undefined) return;
    const place = { kind: 'retry', atMs: this.nowMs } as const;
    const move = { before, after: requeued(before, this.nowMs), place, endpoint: undefined };
    expect(await service.hooks.move(this.tenant, move, this.nowMs)).toBeDefined();
  }

  async toggle(): Promise<void> {
    this.#enabled = !this.#enabled;
    this.#version += 1;
    await service.change(this.tenant, this.#id, { status: this.#enabled ? 'enabled' : 'disabled' });
  }

  async check(): Promise<void> {
    const prefix = `sm:{t:${this.tenant}}:`;
    const [out, retry, state, last] = await Promise.all([
      service.redis.zrange(`${prefix}hko:${this.#id}`, '0', '-1'),
      service.redis.zrange(`${prefix}hkr:${this.#id}`, '0', '-1'),
      service.redis.hgetall(`${prefix}hk:${this.#id}`),
      service.redis.hget(`${prefix}seq`, 'n'),
    ]);
    expect(out.length).toBeLessThanOrEqual(limits.windowMax);
    expect([...out].sort()).toEqual(this.#jobs.map(({ deliveryId }) => deliveryId).sort());
    expect(Number(state.c)).toBeGreaterThanOrEqual(this.#begunAt);
    expect(Number(state.c)).toBeLessThanOrEqual(Number(last));
    const all = await this.#all();
    const moving = all.filter(({ status }) => status === 'queued' || status === 'retrying').map(({ id }) => id);
    expect([...out, ...retry].sort()).toEqual([...moving].sort());
    const seen = this.meant.filter(({ sequence }) => sequence <= Number(state.c));
    expect(all.map(({ id }) => id).sort()).toEqual(seen.map(({ id }) => deliveryIdOf(id, this.#id)).sort());
    for (const delivery of all) {
      for (const index of deliveryType.indices(delivery)) {
        expect(await service.redis.zscore(`${prefix}ix:${index}`, delivery.id)).toBe('0');
      }
    }
    const listed = await Promise.all(
      ['queued', 'retrying', 'delivered', 'failed'].map((status) =>
        service.redis.zcard(`${prefix}ix:deliveries:${this.#id}:${status}`),
      ),
    );
    expect(listed.reduce((sum, count) => sum + count, 0)).toBe(all.length);
    const depth = await service.hooks.depth(this.tenant, this.#id);
    expect(depth).toMatchObject({
      outstanding: out.length,
      retrying: retry.length,
      behind: Number(last) - Number(state.c),
    });
  }

  /** Everything arrives from now on. */
  async finish(): Promise<void> {
    if (!this.#enabled) await this.toggle();
    for (let rounds = 0; rounds < 500; rounds += 1) {
      await this.dispatch();
      while (this.#jobs.length > 0) await this.end(0, 200);
      const { outstanding, retrying, behind } = await service.hooks.depth(this.tenant, this.#id);
      if (outstanding + retrying + behind === 0) break;
      this.nowMs += 10_000;
    }
    await this.check();
    const sequences = this.taken.map(({ sequence }) => sequence);
    expect(sequences).toEqual(this.meant.map(({ sequence }) => sequence));
  }

  async #read(id: string): Promise<DeliveryRecord> {
    const record = await service.store.read(this.tenant, deliveryType, id);
    if (record === undefined) throw new Error(`no delivery ${id}`);
    return record;
  }

  #all(): Promise<readonly DeliveryRecord[]> {
    return service.deliveries(this.tenant, this.#id);
  }
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('happen' as const),
      type: fc.constantFrom(...types),
      n: fc.integer({ min: 1, max: 8 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('dispatch' as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      pick: fc.nat(20),
      status: fc.constantFrom(200, 200, 500, 503),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('toggle' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('redeliver' as const), pick: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 6_000 }) }) },
);

test('random lives of a webhook keep the books right and take on every event once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...filters),
      fc.array(step, { minLength: 5, maxLength: 40 }),
      async (filter, steps) => {
        const life = new Life(filter);
        await life.begin();
        for (const one of steps) {
          if (one.do === 'happen') await life.happen(one.type, one.n);
          else if (one.do === 'dispatch') await life.dispatch();
          else if (one.do === 'end') await life.end(one.pick, one.status);
          else if (one.do === 'toggle') await life.toggle();
          else if (one.do === 'redeliver') await life.redeliver(one.pick);
          else life.nowMs += one.ms;
          await life.check();
        }
        await life.finish();
      },
    ),
    { numRuns: 30 },
  );
});

test('events that are gone before their turn are counted, and the rest continues', async () => {
  const tenant = newTenant();
  const hook = await service.register(tenant, { url: 'http://127.0.0.1:1' });
  const sequences = await service.happen(tenant, 10);
  await service.hooks.begin(tenant, hook.id, sequences[0]! - 1);
  await service.redis.xtrim(`sm:{t:${tenant}}:evt`, 'MINID', `${sequences[7]}-0`);
  const dispatched = await service.hooks.dispatch(tenant, { id: hook.id, version: 1, types: [] }, limits, Date.now());
  expect(dispatched?.skipped).toBe(7);
  expect(dispatched?.jobs.map(({ sequence }) => sequence)).toEqual(sequences.slice(7));
});

test('filters that match little are worked through in portions', async () => {
  const tenant = newTenant();
  const hook = await service.register(tenant, { url: 'http://127.0.0.1:1', events: ['wallet.frozen'] });
  const first = await service.happen(tenant, 1_500);
  const [last] = await service.happen(tenant, 1, 'wallet.frozen');
  await service.hooks.begin(tenant, hook.id, first[0]! - 1);
  const webhook = { id: hook.id, version: 1, types: ['wallet.frozen'] };
  const one = await service.hooks.dispatch(tenant, webhook, limits, Date.now());
  expect(one).toMatchObject({ jobs: [], more: true });
  const two = await service.hooks.dispatch(tenant, webhook, limits, Date.now());
  expect(two?.jobs.map(({ sequence }) => sequence)).toEqual([last]);
  expect(two?.more).toBe(false);
});

test('what is older than it is kept leaves the log, unless it is still on its way', async () => {
  const tenant = newTenant();
  const oldMs = Date.now() - 31 * 86_400_000;
  const hook = await service.register(tenant, { url: 'http://127.0.0.1:1' }, oldMs);
  const sequences = await service.happen(tenant, 3, 'wallet.created', oldMs);
  await service.hooks.begin(tenant, hook.id, sequences[0]! - 1);
  await service.hooks.dispatch(tenant, { id: hook.id, version: 1, types: [] }, limits, oldMs);
  const [arrived, failed, moving] = await service.deliveries(tenant, hook.id);
  for (const [before, status] of [
    [arrived!, 200],
    [failed!, 500],
  ] as const) {
    const outcome = { kind: 'answered', status, retryAfter: undefined, tookMs: 1 } as const;
    const { after, endpoint } = evaluateTry(before, outcome, oldMs, 0.5, []);
    await service.hooks.move(tenant, { before, after, place: undefined, endpoint }, oldMs);
  }
  await service.hooks.trim(tenant, hook.id, limits, Date.now());
  expect((await service.deliveries(tenant, hook.id)).map(({ id }) => id)).toEqual([moving!.id]);
});

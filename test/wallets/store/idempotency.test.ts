import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MachineMs } from '../../../core/actors/contract.ts';
import { create } from '../../../wallets/store/changes.ts';
import type { IdempotencyStart } from '../../../wallets/store/contract.ts';
import type { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import {
  newTenant,
  refused,
  type StoreUnderTest,
  startStore,
  storeWorlds,
  thing,
  thingType,
} from '../../support/store.ts';

describe.each(storeWorlds)('on %s', (world) => {
  let under: StoreUnderTest;
  let store: RedisTenantStore;
  let other: RedisTenantStore;

  beforeAll(async () => {
    under = await startStore(world);
    store = await under.open();
    other = await under.open();
  });
  afterAll(() => under.stop());

  const startMs = 1_700_000_000_000;
  /** The service's time, and the machine's. */
  const at = (nowMs: number, machineMs = nowMs) => [nowMs, machineMs as MachineMs] as const;
  const leaseMs = 15_000;

  async function runs(tenant: string, nowMs = startMs): Promise<Extract<IdempotencyStart, { kind: 'run' }>> {
    const start = await store.beginIdempotent(tenant, 'key', 'body', ...at(nowMs));
    if (start.kind !== 'run') throw new Error(`it is ${start.kind}`);
    return start;
  }

  it('lets one of a hundred equal requests run, over two gateways, and gives the others its answer', async () => {
    const tenant = newTenant();
    const begin = (k: number) =>
      (k % 2 === 0 ? store : other).beginIdempotent(tenant, 'key', 'body', ...at(startMs + k));
    const starts = await Promise.all(Array.from({ length: 100 }, (_, k) => begin(k)));
    const running = starts.filter((start) => start.kind === 'run');
    expect(running).toHaveLength(1);
    expect(starts.filter(({ kind }) => kind === 'running')).toHaveLength(99);
    const { owner, seed } = running[0]!;
    expect(seed).toHaveLength(16);
    const outcome = await store.commit(
      tenant,
      { puts: [create(thingType, thing('thg_1'))] },
      { keyHash: 'key', owner, answer: 'A' },
    );
    expect(outcome.committed).toBe(true);
    expect(await other.beginIdempotent(tenant, 'key', 'body', ...at(startMs))).toEqual({
      kind: 'answered',
      answer: 'A',
    });
  });

  it('refuses another body, while the first runs and after its answer', async () => {
    const tenant = newTenant();
    const { owner } = await runs(tenant);
    expect(await store.beginIdempotent(tenant, 'key', 'other', ...at(startMs))).toEqual({ kind: 'otherBody' });
    await store.settleIdempotent(tenant, 'key', owner, 'A');
    expect(await store.beginIdempotent(tenant, 'key', 'other', ...at(startMs + leaseMs))).toEqual({
      kind: 'otherBody',
    });
  });

  it('is free again without an answer: the same body continues with its seed, another body begins afresh', async () => {
    const tenant = newTenant();
    const first = await runs(tenant);
    expect(await store.settleIdempotent(tenant, 'key', first.owner, undefined)).toBe(true);
    const again = await runs(tenant, startMs + 1);
    expect(again).toMatchObject({ seed: first.seed, startedMs: startMs });
    expect(again.owner).not.toBe(first.owner);
    const late = await store.commit(
      tenant,
      { puts: [create(thingType, thing('thg_1'))] },
      { keyHash: 'key', owner: first.owner, answer: 'A' },
    );
    expect(late).toEqual({ committed: false, refusal: { kind: 'overtaken' } });
    await store.settleIdempotent(tenant, 'key', again.owner, undefined);
    const other = await store.beginIdempotent(tenant, 'key', 'other', ...at(startMs + 2));
    expect(other).toMatchObject({ kind: 'run', startedMs: startMs + 2 });
    expect(other.kind === 'run' && other.seed).not.toEqual(first.seed);
    expect(await store.beginIdempotent(tenant, 'key', 'body', ...at(startMs + 3))).toEqual({ kind: 'otherBody' });
  });

  it('is taken over when the lease is over, with the seed and the start of the first attempt', async () => {
    const tenant = newTenant();
    const first = await runs(tenant);
    expect(await store.beginIdempotent(tenant, 'key', 'body', ...at(startMs + leaseMs - 1))).toEqual({
      kind: 'running',
      leaseEndsMs: startMs + leaseMs,
    });
    const second = await runs(tenant, startMs + leaseMs);
    expect(second).toEqual({ ...first, owner: second.owner });
    expect(second.owner).not.toBe(first.owner);
    expect(second.startedMs).toBe(startMs);
    const third = await runs(tenant, startMs + 2 * leaseMs);
    expect(third).toEqual({ ...first, owner: third.owner });
  });

  it('lets one of fifty take over', async () => {
    const tenant = newTenant();
    await runs(tenant);
    const starts = await Promise.all(
      Array.from({ length: 50 }, () => other.beginIdempotent(tenant, 'key', 'body', ...at(startMs + leaseMs))),
    );
    expect(starts.filter(({ kind }) => kind === 'run')).toHaveLength(1);
  });

  it('refuses the change of an owner that was overtaken, before anything else', async () => {
    const tenant = newTenant();
    const first = await runs(tenant);
    const second = await runs(tenant, startMs + leaseMs);
    const change = { puts: [create(thingType, thing('thg_1'))] };
    const by = (owner: string) => ({ keyHash: 'key', owner, answer: owner });
    expect(await refused(under, store, tenant, change, by(first.owner))).toEqual({ kind: 'overtaken' });
    expect(await store.settleIdempotent(tenant, 'key', first.owner, 'late')).toBe(false);
    expect(await store.settleIdempotent(tenant, 'key', first.owner, undefined)).toBe(false);
    expect((await store.commit(tenant, change, by(second.owner))).committed).toBe(true);
    expect(await store.beginIdempotent(tenant, 'key', 'body', ...at(startMs))).toEqual({
      kind: 'answered',
      answer: second.owner,
    });
  });

  it('does not run a commit again whose reply was lost: it is refused as overtaken, and the answer stands', async () => {
    const tenant = newTenant();
    const { owner } = await runs(tenant);
    const mark = { keyHash: 'key', owner, answer: 'A' };
    const change = { ledger: [{ walletId: 'w', asset: 'ETH', available: 5n, reserved: 0n }] };
    expect((await store.commit(tenant, change, mark)).committed).toBe(true);
    expect(await refused(under, store, tenant, change, mark)).toEqual({ kind: 'overtaken' });
    expect(await store.settleIdempotent(tenant, 'key', owner, undefined)).toBe(false);
    expect(await store.settleIdempotent(tenant, 'key', owner, 'B')).toBe(false);
    expect(await store.settleIdempotent(tenant, 'key', owner, 'A')).toBe(true);
    expect(await store.beginIdempotent(tenant, 'key', 'body', ...at(startMs))).toEqual({
      kind: 'answered',
      answer: 'A',
    });
  });

  it('leaves the key running when the change is refused for another reason, so that it may decide again', async () => {
    const tenant = newTenant();
    const { owner } = await runs(tenant);
    const mark = { keyHash: 'key', owner, answer: 'A' };
    const guards = [{ kind: 'version', id: 'thg_1', version: 4 }] as const;
    expect((await refused(under, store, tenant, { guards }, mark)).kind).toBe('conflict');
    expect((await store.commit(tenant, {}, mark)).committed).toBe(true);
  });

  it('is free again when there is no answer, and then another body is welcome', async () => {
    const tenant = newTenant();
    const first = await runs(tenant);
    expect(await store.settleIdempotent(tenant, 'key', first.owner, undefined)).toBe(true);
    const start = await store.beginIdempotent(tenant, 'key', 'other', ...at(startMs + 1));
    expect(start.kind === 'run' && start.startedMs).toBe(startMs + 1);
    expect(start.kind === 'run' && Buffer.compare(start.seed, first.seed)).not.toBe(0);
  });

  it('refuses a change whose key has expired', async () => {
    const mark = { keyHash: 'gone', owner: 'me', answer: 'A' };
    expect(await refused(under, store, newTenant(), {}, mark)).toEqual({ kind: 'overtaken' });
  });

  it('keeps an answer for a day', async () => {
    const tenant = newTenant();
    const { owner } = await runs(tenant);
    await under.redis.pexpire(`sm:{t:${tenant}}:idem:key`, 60_000);
    await store.commit(tenant, {}, { keyHash: 'key', owner, answer: 'A' });
    const leftMs = await under.redis.pttl(`sm:{t:${tenant}}:idem:key`);
    // A day more than its lifetime, which the service's time ends.
    expect(leftMs).toBeGreaterThan(48 * 3_600_000 - 60_000);
    expect(leftMs).toBeLessThanOrEqual(48 * 3_600_000);
  });

  it('ends a key a day after its answer by the service’s time, whichever way it was answered', async () => {
    const dayMs = 24 * 3_600_000;
    let nowMs = startMs;
    const moved = await under.open({ nowMs: () => nowMs });
    for (const how of ['commit', 'settle'] as const) {
      nowMs = startMs;
      const tenant = newTenant();
      const { owner } = await runs(tenant);
      if (how === 'settle') await moved.settleIdempotent(tenant, 'key', owner, 'A');
      else await moved.commit(tenant, {}, { keyHash: 'key', owner, answer: 'A' });
      nowMs += dayMs - 1;
      expect(await moved.beginIdempotent(tenant, 'key', 'body', ...at(nowMs, startMs))).toMatchObject({ answer: 'A' });
      nowMs += 1;
      const anew = await moved.beginIdempotent(tenant, 'key', 'other', ...at(nowMs, startMs));
      expect(anew).toMatchObject({ kind: 'run', startedMs: nowMs });
    }
  });
});

/** What deliveries take up is bounded, and one receiver's trouble is its own. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { relayDefaults } from '../../../../wallets/delivery/deliveries/outbox-relay.ts';
import { deliveryType } from '../../../../wallets/delivery/deliveries/record.ts';
import { webhookType } from '../../../../wallets/delivery/webhooks/record.ts';
import { remove } from '../../../../wallets/store/changes.ts';
import { until } from '../../../support/until.ts';
import { sequencesOf, useReceivers } from './support/receiver.ts';
import { foreverMs, type HookService, newTenant, startService } from './support/service.ts';

let service: HookService;
const receiver = useReceivers();

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

describe('with a worker', () => {
  beforeAll(async () => {
    await service.work();
  });

  test('a receiver gets at most a window of requests at a time, and while they hang others get everything', async () => {
    const tenant = newTenant();
    const [hanging, alive] = [await receiver(() => 'hang'), await receiver()];
    const stuck = await service.register(tenant, { url: hanging.url, events: ['wallet.*'] });
    const healthy = await service.register(tenant, { url: alive.url, events: ['wallet.*'] });
    const sequences = await service.happen(tenant, 300);
    await service.settled(tenant, healthy.id);
    expect(sequencesOf(alive)).toEqual(sequences);
    expect(alive.received).toHaveLength(300);
    expect(alive.openMax).toBeLessThanOrEqual(relayDefaults.windowMax);

    await until(() => hanging.open === relayDefaults.windowMax, 'a full window');
    expect(hanging.received).toHaveLength(relayDefaults.windowMax);
    expect(await service.hooks.depth(tenant, stuck.id)).toMatchObject({
      outstanding: relayDefaults.windowMax,
      retrying: 0,
    });
    expect((await service.hooks.depth(tenant, stuck.id)).behind).toBe(300 - relayDefaults.windowMax);

    hanging.answer = () => 200;
    hanging.release();
    await service.settled(tenant, stuck.id);
    expect(sequencesOf(hanging)).toEqual(sequences);
    expect(hanging.openMax).toBe(relayDefaults.windowMax);
  });

  test('receivers that fail hold few places: forty that hang take nothing from the one that does not', async () => {
    const [hanging, alive] = [await receiver(() => 500), await receiver()];
    const tenants = Array.from({ length: 40 }, () => newTenant());
    const hooks = new Map<string, string>();
    for (const tenant of tenants) {
      hooks.set(tenant, (await service.register(tenant, { url: hanging.url, events: ['wallet.*'] })).id);
      await service.happen(tenant, 1);
    }
    for (const [tenant, id] of hooks) {
      const failing = async () => (await service.hooks.depth(tenant, id)).failingSinceMs !== null;
      await until(failing, 'a webhook that fails');
    }
    hanging.answer = () => 'hang';
    for (const tenant of tenants) await service.happen(tenant, 30);
    await until(() => hanging.open === tenants.length * relayDefaults.failingWindowMax, 'their windows to be full');

    const tenant = newTenant();
    const healthy = await service.register(tenant, { url: alive.url, events: ['wallet.*'] });
    const sequences = await service.happen(tenant, 200);
    await service.settled(tenant, healthy.id);
    expect(sequencesOf(alive)).toEqual(sequences);
    expect(hanging.open).toBeGreaterThan(0);
    expect(hanging.openMax).toBe(tenants.length * relayDefaults.failingWindowMax);
  });

  test('all that BullMQ keeps lies in one slot, and finished jobs are gone', async () => {
    const tenant = newTenant();
    const target = await receiver();
    const hook = await service.register(tenant, { url: target.url });
    await service.happen(tenant, 50);
    await service.settled(tenant, hook.id);
    const outsideNow = async () => (await service.redis.keys('*')).filter((key) => !key.startsWith('sm:'));
    const outside = await outsideNow();
    expect(outside.length).toBeGreaterThan(0);
    // Reconciliation has a queue of its own, in a slot of its own.
    for (const key of outside) expect(key).toMatch(/^\{sm-(hooks|recon)\}:/);
    // A job is removed a moment after its delivery is final.
    const ids = (await service.deliveries(tenant, hook.id)).map(({ id }) => id);
    expect(ids).toHaveLength(50);
    const left = async () => (await outsideNow()).filter((key) => ids.some((id) => key.includes(id)));
    await until(async () => (await left()).length === 0, 'no job to be left');
  });

  test('a removed webhook leaves nothing behind, and what is under way for it ends', async () => {
    const tenant = newTenant();
    const target = await receiver((_, index) => (index < 5 ? 200 : 500));
    const hook = await service.register(tenant, { url: target.url });
    await service.happen(tenant, 30);
    await until(() => target.received.length > 6, 'some tries');
    const before = await service.webhook(tenant, hook.id);
    await service.store.commit(tenant, { removals: [remove(webhookType, before)] });
    await until(async () => {
      const keys = await service.redis.keys(`sm:{t:${tenant}}:*`);
      return keys.filter((key) => /:(r:dlv_|ix:deliveries|hk)/.test(key)).length === 0;
    }, 'nothing of the webhook to be left');
  });
});

describe('with small limits', () => {
  const small = { windowMax: 4, failingWindowMax: 2, retryingMax: 10, retainedMax: 50 };

  test('a receiver that fails holds few places; with too many waiting, events wait in the log; none is lost', async () => {
    const target = await receiver(() => 500);
    const limited = await startServiceWith({ relay: small }, [foreverMs]);
    try {
      const tenant = newTenant();
      const hook = await limited.register(tenant, { url: target.url, events: ['wallet.*'] });
      const sequences = await limited.happen(tenant, 100);
      await until(
        async () => (await limited.hooks.depth(tenant, hook.id)).retrying >= small.retryingMax,
        'a full set of retries',
      );
      await until(async () => (await limited.hooks.depth(tenant, hook.id)).outstanding === 0, 'nothing outstanding');
      const { retrying, behind } = await limited.hooks.depth(tenant, hook.id);
      expect(retrying).toBeLessThan(small.retryingMax + small.windowMax);
      expect(retrying + behind).toBe(100);
      expect(target.received).toHaveLength(retrying);
      expect(sequencesOf(target)).toEqual(sequences.slice(0, retrying));
    } finally {
      await limited.stop();
    }
  });

  test('the log of a webhook keeps its newest deliveries, and those that are still on their way', async () => {
    const target = await receiver();
    const limited = await startServiceWith({ relay: small }, [100]);
    try {
      const tenant = newTenant();
      const hook = await limited.register(tenant, { url: target.url, events: ['wallet.*'] });
      const sequences = await limited.happen(tenant, 200);
      await limited.settled(tenant, hook.id);
      expect(sequencesOf(target)).toEqual(sequences);
      const kept = await limited.deliveries(tenant, hook.id);
      expect(kept.length).toBeLessThanOrEqual(small.retainedMax + small.windowMax);
      expect(kept.length).toBeGreaterThanOrEqual(small.retainedMax - small.windowMax);
      const records = (await limited.redis.keys(`sm:{t:${tenant}}:r:dlv_*`)).length;
      expect(records).toBe(kept.length);
      expect(await limited.store.count(tenant, deliveryType.indices(kept[0]!)[1]!)).toBe(kept.length);
    } finally {
      await limited.stop();
    }
  });
});

async function startServiceWith(
  parts: Parameters<HookService['work']>[0],
  retryScheduleMs: number[],
): Promise<HookService> {
  const started = await startService();
  await started.work(parts, { retryScheduleMs });
  return started;
}

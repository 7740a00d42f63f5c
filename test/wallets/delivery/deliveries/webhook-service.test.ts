/** What people ask for: pings, and deliveries again, one or a range. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../core/actors/live/ports.ts';
import { newId } from '../../../../proto/ids.ts';
import { relayDefaults } from '../../../../wallets/delivery/deliveries/outbox-relay.ts';
import { deliveryIdOf } from '../../../../wallets/delivery/deliveries/record.ts';
import { pingEvent, WebhookService } from '../../../../wallets/delivery/deliveries/webhook-service.ts';
import { isThorough } from '../../../support/thorough.ts';
import { until } from '../../../support/until.ts';
import { sequencesOf, useReceivers } from './support/receiver.ts';
import { type HookService, newTenant, startService } from './support/service.ts';

let service: HookService;
let webhookService: WebhookService;
const receiver = useReceivers();

beforeAll(async () => {
  service = await startService();
  webhookService = new WebhookService(service.hooks, service.store, systemClock);
  await service.work({}, { retryScheduleMs: [50] });
});
afterAll(() => service.stop());

describe('a ping', () => {
  test('reaches the pinged webhook alone, also if it is subscribed to other events', async () => {
    const tenant = newTenant();
    const [pinged, other] = [await receiver(), await receiver()];
    const hook = await service.register(tenant, { url: pinged.url, events: ['wallet.created'] });
    const otherHook = await service.register(tenant, { url: other.url, events: ['*'] });
    const context = {
      newId: (prefix: 'evt') => newId(prefix, Date.now(), randomBytes),
      nowMs: Date.now(),
      requestId: 'req_1',
    } as Parameters<typeof pingEvent>[0];
    const ping = pingEvent(context, await service.webhook(tenant, hook.id));
    await service.store.commit(tenant, { events: [ping] });
    await service.settled(tenant, hook.id);
    await service.settled(tenant, otherHook.id);
    expect(pinged.received.map(({ event }) => event)).toMatchObject([
      { id: ping.id, type: 'webhook.ping', resource: { type: 'webhook', id: hook.id } },
    ]);
    expect(pinged.received[0]!.raw.toString()).not.toContain('whsec_');
    expect(other.received.filter(({ event }) => event.type === 'webhook.ping')).toEqual([]);
    const [delivery] = await service.deliveries(tenant, hook.id);
    expect(delivery).toMatchObject({ id: deliveryIdOf(ping.id, hook.id), status: 'delivered' });
  });
});

describe('a delivery is made again', () => {
  test('at once, with the same bytes, whether it failed or arrived; every attempt stays in its record', async () => {
    const tenant = newTenant();
    const target = await receiver(() => 500);
    const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
    await service.happen(tenant, 1);
    await service.settled(tenant, hook.id);
    const [failed] = await service.deliveries(tenant, hook.id);
    expect(failed).toMatchObject({ status: 'failed', attemptCount: 2 });

    target.answer = () => 200;
    for (const attemptCount of [3, 4]) {
      expect(await webhookService.redeliver(tenant, failed!.id)).toMatchObject({
        kind: 'onItsWay',
        delivery: { id: failed!.id },
      });
      await until(async () => {
        const [delivery] = await service.deliveries(tenant, hook.id);
        return delivery?.status === 'delivered' && delivery.attemptCount === attemptCount;
      }, 'the delivery to be made again');
    }
    expect(target.received).toHaveLength(4);
    for (const { raw, headers } of target.received) {
      expect(raw.equals(target.received[0]!.raw)).toBe(true);
      expect(headers['webhook-id']).toBe(target.received[0]!.headers['webhook-id']);
    }
    const [delivery] = await service.deliveries(tenant, hook.id);
    expect(delivery?.attempts.map(({ status }) => status)).toEqual([500, 500, 200, 200]);
  });

  test('and when it fails again it goes through the schedule from its beginning', async () => {
    const tenant = newTenant();
    const target = await receiver(() => 500);
    const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
    await service.happen(tenant, 1);
    await service.settled(tenant, hook.id);
    const [failed] = await service.deliveries(tenant, hook.id);
    await webhookService.redeliver(tenant, failed!.id);
    await service.settled(tenant, hook.id);
    expect((await service.deliveries(tenant, hook.id))[0]).toMatchObject({ status: 'failed', attemptCount: 4 });
  });

  test('while it is on its way it is not put there twice', async () => {
    const tenant = newTenant();
    const target = await receiver(() => 'hang');
    const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
    await service.happen(tenant, 1);
    await until(() => target.open === 1, 'a request');
    const [delivery] = await service.deliveries(tenant, hook.id);
    expect(await webhookService.redeliver(tenant, delivery!.id)).toEqual({ kind: 'onItsWay', delivery });
    target.release();
    await service.settled(tenant, hook.id);
    expect(target.received).toHaveLength(1);
  });

  test('not if there is none, if its webhook is not enabled, or if its event is no longer kept', async () => {
    const tenant = newTenant();
    const target = await receiver();
    const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
    const [sequence] = await service.happen(tenant, 1);
    await service.settled(tenant, hook.id);
    const [delivery] = await service.deliveries(tenant, hook.id);
    const unknown = newId('dlv', Date.now(), randomBytes);
    expect(await webhookService.redeliver(tenant, unknown)).toEqual({ kind: 'noSuchDelivery' });
    expect(await webhookService.redeliver(newTenant(), delivery!.id)).toEqual({ kind: 'noSuchDelivery' });
    expect(await webhookService.redeliver(tenant, hook.id)).toEqual({ kind: 'noSuchDelivery' });
    await service.change(tenant, hook.id, { status: 'suspended' });
    expect(await webhookService.redeliver(tenant, delivery!.id)).toEqual({ kind: 'notEnabled' });
    await service.change(tenant, hook.id, { status: 'enabled' });
    await service.happen(tenant, 1);
    const trim = (least: number) => service.redis.xtrim(`sm:{t:${tenant}}:evt`, 'MINID', `${least}-0`);
    // The oldest event that is kept is still there.
    await trim(sequence!);
    expect(await webhookService.redeliver(tenant, delivery!.id)).toMatchObject({ kind: 'onItsWay' });
    await service.settled(tenant, hook.id);
    const all = { statuses: ['delivered'], types: ['wallet.*'], toSequence: sequence! } as const;
    expect(await webhookService.redeliverRange(tenant, hook.id, all)).toMatchObject({ redelivered: 1, notRetained: 0 });
    await service.settled(tenant, hook.id);
    await trim(sequence! + 1);
    expect(await webhookService.redeliverRange(tenant, hook.id, all)).toMatchObject({ redelivered: 0, notRetained: 1 });
    expect(await webhookService.redeliver(tenant, delivery!.id)).toEqual({ kind: 'eventNotKept' });
  });
});

describe('a range is made again', () => {
  test('by status, type and sequence, in portions that can be gone on with', async () => {
    const tenant = newTenant();
    const target = await receiver(({ event }) => (event.sequence % 2 === 0 ? 500 : 200));
    const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
    const wallets = await service.happen(tenant, 60, 'wallet.created');
    const frozen = await service.happen(tenant, 40, 'wallet.frozen');
    await service.settled(tenant, hook.id);
    target.answer = () => 200;
    const even = (sequence: number) => sequence % 2 === 0;
    const from = (first: number) =>
      target.received
        .slice(first)
        .map(({ event }) => event.sequence)
        .sort((a, b) => a - b);

    let before = target.received.length;
    expect(
      await webhookService.redeliverRange(tenant, hook.id, { statuses: ['failed'], types: ['wallet.frozen'] }),
    ).toEqual({
      redelivered: 20,
      notRetained: 0,
      nextId: undefined,
      full: false,
    });
    await service.settled(tenant, hook.id);
    expect(from(before)).toEqual(frozen.filter(even));

    before = target.received.length;
    const range = { fromSequence: wallets[10]!, toSequence: wallets[19]! };
    const outcome = await webhookService.redeliverRange(tenant, hook.id, {
      statuses: ['failed', 'delivered'],
      types: [],
      ...range,
    });
    expect(outcome.redelivered).toBe(10);
    await service.settled(tenant, hook.id);
    expect(from(before)).toEqual(wallets.slice(10, 20));
    expect(new Set(from(0))).toEqual(new Set([...wallets, ...frozen]));
    const failed = (await service.deliveries(tenant, hook.id)).filter(({ status }) => status === 'failed');
    expect(failed.map(({ sequence }) => sequence).sort((a, b) => a - b)).toEqual(
      wallets.filter((sequence) => even(sequence) && !wallets.slice(10, 20).includes(sequence)),
    );
  });

  // By the API: test/wallets/delivery/webhooks/routes.test.ts.
  test.runIf(isThorough)('a long one ends after a thousand and says where to go on', async () => {
    const tenant = newTenant();
    const target = await receiver();
    const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
    const sequences = await service.happen(tenant, 1_150);
    await service.settled(tenant, hook.id);
    const query = { statuses: ['delivered'], types: [] } as const;
    const first = await webhookService.redeliverRange(tenant, hook.id, query);
    expect(first).toMatchObject({ redelivered: 1_000, full: false });
    const second = await webhookService.redeliverRange(tenant, hook.id, { ...query, afterId: first.nextId! });
    expect(second).toEqual({ redelivered: 150, notRetained: 0, nextId: undefined, full: false });
    await service.settled(tenant, hook.id);
    expect(target.received).toHaveLength(2_300);
    expect(sequencesOf(target)).toEqual(sequences);
  });
});

test('the depth of a webhook says what waits where', async () => {
  const tenant = newTenant();
  const target = await receiver(() => 'hang');
  const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  await service.begun(tenant, hook.id);
  expect(await webhookService.depthOf(tenant, hook.id)).toEqual({
    outstanding: 0,
    retrying: 0,
    behind: 0,
    failingSinceMs: null,
  });
  const { windowMax } = relayDefaults;
  await service.happen(tenant, windowMax + 4);
  await until(() => target.open === windowMax, 'a full window');
  expect(await webhookService.depthOf(tenant, hook.id)).toEqual({
    outstanding: windowMax,
    retrying: 0,
    behind: 4,
    failingSinceMs: null,
  });
  target.answer = () => 200;
  target.release();
  await service.settled(tenant, hook.id);
});

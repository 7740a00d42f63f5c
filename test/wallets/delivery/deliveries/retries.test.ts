/** Failing deliveries: retries, the last try, endpoints that get no more calls. */

import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { suspendAfterMs } from '../../../../wallets/delivery/deliveries/retry-schedule.ts';
import type { StoredEvent } from '../../../../wallets/store/contract.ts';
import { until } from '../../../support/until.ts';
import { type Receiver, sequencesOf, startReceiver, useReceivers } from './support/receiver.ts';
import { type HookService, newSecret, newTenant, SetClock, scheduleMs, startService } from './support/service.ts';

let service: HookService;
const clock = new SetClock();
const receiver = useReceivers();
const eventsOf = async (tenant: string, type: string): Promise<readonly StoredEvent[]> =>
  (await service.store.events(tenant, { afterSequence: 0, limit: 100, types: [type] })).events;

beforeAll(async () => {
  service = await startService();
  await service.work({ clock });
});
afterAll(() => service.stop());

test('a failed delivery is tried again, with the same bytes and id, until it arrives', async () => {
  const tenant = newTenant();
  const target = await receiver((_, index) => (index < 2 ? 500 : 204));
  const hook = await service.register(tenant, { url: target.url });
  await service.happen(tenant, 1);
  await service.settled(tenant, hook.id);

  expect(target.received).toHaveLength(3);
  const first = target.received[0]!;
  for (const { raw, headers } of target.received) {
    expect(raw.equals(first.raw)).toBe(true);
    expect(headers['webhook-id']).toBe(first.headers['webhook-id']);
  }
  const [delivery] = await service.deliveries(tenant, hook.id);
  expect(delivery).toMatchObject({ status: 'delivered', attemptCount: 3, failedTries: 2, nextAttemptAtMs: null });
  expect(delivery?.attempts.map(({ status }) => status)).toEqual([500, 500, 204]);
  const [one, two, three] = delivery!.attempts.map(({ atMs }) => atMs) as [number, number, number];
  expect(two - one).toBeGreaterThanOrEqual(scheduleMs[0]! * 0.8 - 2);
  expect(three - two).toBeGreaterThanOrEqual(scheduleMs[1]! * 0.8 - 2);
  expect((await service.hooks.depth(tenant, hook.id)).failingSinceMs).toBeNull();
});

test('when the schedule is used up the delivery has failed, and the next event is tried all the same', async () => {
  const impatient = await startService();
  onTestFinished(() => impatient.stop());
  await impatient.work({ timeoutMs: 500 });
  const tenant = newTenant();
  const target = await receiver(({ event }) => (event.type === 'wallet.created' ? 'hang' : 200));
  const hook = await impatient.register(tenant, { url: target.url });
  await impatient.happen(tenant, 1);
  await impatient.happen(tenant, 1, 'wallet.frozen');
  await impatient.settled(tenant, hook.id);
  // Deliveries that were made within one millisecond stand in any order.
  const both = [...(await impatient.deliveries(tenant, hook.id))].sort((one, other) => one.sequence - other.sequence);
  const [failed, arrived] = both;
  expect(failed).toMatchObject({ status: 'failed', attemptCount: scheduleMs.length + 1, nextAttemptAtMs: null });
  for (const attempt of failed!.attempts) expect(attempt).toMatchObject({ status: null, error: 'timeout' });
  // On a busy machine the receiver may be late for a try of this one, too.
  expect(arrived).toMatchObject({ status: 'delivered' });
});

test.each([
  ['a redirect', 302, { location: '/elsewhere' }],
  ['an error of the client', 400, {}],
  ['an error of the server', 503, {}],
])('%s is no delivery', async (_, status, headers) => {
  const tenant = newTenant();
  const target = await receiver((_request, index) => (index === 0 ? { status, headers } : 200));
  const hook = await service.register(tenant, { url: target.url });
  await service.happen(tenant, 1);
  await service.settled(tenant, hook.id);
  const [delivery] = await service.deliveries(tenant, hook.id);
  expect(delivery?.attempts.map((attempt) => attempt.status)).toEqual([status, 200]);
});

test('a port without a listener is a failed try that says so', async () => {
  const tenant = newTenant();
  const target = await startReceiver();
  await target.stop();
  const hook = await service.register(tenant, { url: target.url });
  await service.happen(tenant, 1);
  await service.settled(tenant, hook.id);
  const [delivery] = await service.deliveries(tenant, hook.id);
  expect(delivery?.attempts[0]).toMatchObject({ status: null, error: 'connection_refused' });
});

test('Retry-After lengthens the pause', async () => {
  const tenant = newTenant();
  const target = await receiver((_, index) => (index === 0 ? { status: 429, headers: { 'retry-after': '1' } } : 200));
  const hook = await service.register(tenant, { url: target.url });
  await service.happen(tenant, 1);
  await service.settled(tenant, hook.id);
  const [delivery] = await service.deliveries(tenant, hook.id);
  const [first, second] = delivery!.attempts.map(({ atMs }) => atMs) as [number, number];
  expect(second - first).toBeGreaterThanOrEqual(998);
});

test('410 disables the webhook: nothing more is sent, one event says so, and enabling it continues without a gap', async () => {
  const tenant = newTenant();
  const target = await receiver(() => 410);
  const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  const [refused] = await service.happen(tenant, 1);
  await until(async () => (await service.webhook(tenant, hook.id)).status === 'disabled', 'the webhook to be disabled');
  const later = await service.happen(tenant, 20);
  const updated = await eventsOf(tenant, 'webhook.updated');
  expect(updated.map(({ resource }) => resource.id)).toEqual([hook.id]);
  expect(target.received).toHaveLength(1);
  const [delivery] = await service.deliveries(tenant, hook.id);
  expect(delivery).toMatchObject({ status: 'failed', attemptCount: 1 });

  target.answer = () => 200;
  await service.change(tenant, hook.id, { status: 'enabled' });
  await until(() => target.received.length === 21, 'the events of the meantime');
  expect(sequencesOf(target)).toEqual([refused, ...later]);
});

test('what is under way when a webhook is disabled waits until it is enabled', async () => {
  const tenant = newTenant();
  // Sixteen deliveries fail once, and not before the webhook is disabled.
  const failing = new Set<unknown>();
  let isDisabled = () => {};
  const disabled = new Promise<void>((resolve) => {
    isDisabled = resolve;
  });
  const target = await receiver(async ({ headers }) => {
    const id = headers['webhook-id'];
    if (failing.size >= 16 || failing.has(id)) return 200;
    failing.add(id);
    await disabled;
    return 500;
  });
  const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  const sequences = await service.happen(tenant, 40);
  await until(() => target.received.length > 0, 'a first try');
  await service.change(tenant, hook.id, { status: 'disabled' });
  isDisabled();
  await until(async () => (await service.hooks.depth(tenant, hook.id)).outstanding === 0, 'nothing to be outstanding');
  const seen = target.received.length;
  expect((await service.deliveries(tenant, hook.id)).some(({ status }) => status === 'failed')).toBe(false);
  await service.change(tenant, hook.id, { status: 'enabled' });
  await service.settled(tenant, hook.id);
  expect(target.received.length).toBeGreaterThan(seen);
  expect(sequencesOf(target)).toEqual(sequences);
  expect((await service.deliveries(tenant, hook.id)).every(({ status }) => status === 'delivered')).toBe(true);
});

describe('after five days of failure', () => {
  test('a webhook is suspended, with an event that other webhooks get; enabling it gives it five days more', async () => {
    const tenant = newTenant();
    const [broken, watching] = [await receiver(() => 500), await receiver()];
    const hook = await service.register(tenant, { url: broken.url, events: ['wallet.*'] }, clock.nowMs());
    await service.register(tenant, { url: watching.url, events: ['webhook.suspended'] }, clock.nowMs());
    await service.happen(tenant, 1, 'wallet.created', clock.nowMs());
    await service.settled(tenant, hook.id);
    expect((await service.webhook(tenant, hook.id)).status).toBe('enabled');
    expect((await service.hooks.depth(tenant, hook.id)).failingSinceMs).not.toBeNull();

    clock.advance(suspendAfterMs);
    await service.happen(tenant, 1, 'wallet.created', clock.nowMs());
    await until(() => watching.received.length > 0, 'the event of the suspension');
    expect(await service.webhook(tenant, hook.id)).toMatchObject({ status: 'suspended', version: 2 });
    expect((await service.webhook(tenant, hook.id)).suspendedAtMs).toBeGreaterThan(Date.now());
    expect(watching.received[0]?.event).toMatchObject({
      type: 'webhook.suspended',
      resource: { type: 'webhook', id: hook.id, version: 2 },
      data: { object: { status: 'suspended' } },
    });

    await service.change(tenant, hook.id, { status: 'enabled', updatedAtMs: clock.nowMs() });
    await service.settled(tenant, hook.id);
    expect((await service.webhook(tenant, hook.id)).status).toBe('enabled');
    expect(await eventsOf(tenant, 'webhook.suspended')).toHaveLength(1);
  });

  test('a webhook of which something arrived meanwhile is not', async () => {
    const tenant = newTenant();
    const target = await receiver(({ event }) => (event.type === 'wallet.frozen' ? 200 : 500));
    const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] }, clock.nowMs());
    await service.happen(tenant, 1, 'wallet.created', clock.nowMs());
    await service.settled(tenant, hook.id);
    clock.advance(suspendAfterMs - 60_000);
    await service.happen(tenant, 1, 'wallet.frozen', clock.nowMs());
    await service.settled(tenant, hook.id);
    clock.advance(120_000);
    await service.happen(tenant, 1, 'wallet.created', clock.nowMs());
    await service.settled(tenant, hook.id);
    expect((await service.webhook(tenant, hook.id)).status).toBe('enabled');
  });
});

test('during a rotation a delivery is signed under both secrets, after it under the new one alone', async () => {
  const tenant = newTenant();
  const target = await receiver();
  const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  const secret = newSecret();
  const { secrets } = await service.webhook(tenant, hook.id);
  const endsAtMs = clock.nowMs() + 24 * 3_600_000;
  await service.change(tenant, hook.id, {
    secrets: [
      { sealed: service.sealed(tenant, hook.id, secret), endsAtMs: null },
      { sealed: secrets[0]!.sealed, endsAtMs },
    ],
  });
  const verifies = (key: string, { raw, headers }: Receiver['received'][number]) =>
    signed(key, raw, headers as Record<string, string>);
  await service.happen(tenant, 1);
  await until(() => target.received.length === 1, 'a delivery');
  clock.advance(24 * 3_600_000 + 1);
  await service.happen(tenant, 1);
  await until(() => target.received.length === 2, 'another delivery');
  const [during, after] = target.received as [Receiver['received'][number], Receiver['received'][number]];
  expect([verifies(secret, during), verifies(hook.secret, during)]).toEqual([true, true]);
  expect([verifies(secret, after), verifies(hook.secret, after)]).toEqual([true, false]);
});

/** As the standardwebhooks package signs; it would verify by a clock that is not the test’s. */
function signed(key: string, raw: Buffer, headers: Record<string, string>): boolean {
  const at = new Date(Number(headers['webhook-timestamp']) * 1000);
  const expected = new Webhook(key).sign(headers['webhook-id']!, at, raw.toString());
  return headers['webhook-signature']!.split(' ').includes(expected);
}

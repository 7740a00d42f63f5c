/** Deliveries end to end: real Redis, BullMQ and receivers on loopback. */
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deliveryIdOf } from '../../../../wallets/delivery/deliveries/record.ts';
import { eventView } from '../../../../wallets/delivery/events/view.ts';
import { until } from '../../../support/until.ts';
import { type Receiver, sequencesOf, useReceivers } from './support/receiver.ts';
import { type HookService, newTenant, startService } from './support/service.ts';

let service: HookService;
const receiver = useReceivers();

beforeAll(async () => {
  service = await startService();
  await service.work();
});
afterAll(() => service.stop());

describe('an event', () => {
  test('reaches its webhook as the event log shows it, signed for both kinds of receiver', async () => {
    const tenant = newTenant();
    const target = await receiver();
    const hook = await service.register(tenant, { url: target.url });
    const [sequence] = await service.happen(tenant, 1);
    await until(() => target.received.length > 0, 'the delivery');
    const [{ raw, headers, event }] = target.received as [Receiver['received'][number]];

    const { events } = await service.store.events(tenant, { afterSequence: sequence! - 1, limit: 1, types: [] });
    expect(raw.toString()).toBe(JSON.stringify(eventView(events[0]!, 'sandbox')));
    expect(headers['content-type']).toBe('application/json');
    expect(headers['user-agent']).toMatch(/^signmesh-webhooks\//);
    expect(headers['webhook-id']).toBe(event.id);
    expect(headers['x-svc-signature']).toBe(createHmac('sha256', hook.secret).update(raw).digest('hex'));
    expect(new Webhook(hook.secret).verify(raw, headers as Record<string, string>)).toMatchObject({ id: event.id });

    await service.settled(tenant, hook.id);
    const [delivery, ...others] = await service.deliveries(tenant, hook.id);
    expect(others).toEqual([]);
    expect(delivery).toMatchObject({
      id: deliveryIdOf(event.id, hook.id),
      webhookId: hook.id,
      eventId: event.id,
      eventType: 'wallet.created',
      sequence,
      status: 'delivered',
      attempts: [{ status: 200, error: null }],
      attemptCount: 1,
      nextAttemptAtMs: null,
    });
    expect(target.received).toHaveLength(1);
  });

  test('is nothing to webhooks of other tenants, of other types, or that were made later', async () => {
    const [tenant, other] = [newTenant(), newTenant()];
    const [all, wallets, exact, stranger, late] = await Promise.all([1, 2, 3, 4, 5].map(() => receiver()));
    const hooks = [
      await service.register(tenant, { url: all!.url }),
      await service.register(tenant, { url: wallets!.url, events: ['wallet.*'] }),
      await service.register(tenant, { url: exact!.url, events: ['policy.created', 'wallet.frozen'] }),
    ];
    const before = await service.happen(tenant, 1, 'policy.created');
    const walletEvents = await service.happen(tenant, 3, 'wallet.created');
    const lateHook = await service.register(tenant, { url: late!.url });
    const frozen = await service.happen(tenant, 1, 'wallet.frozen');
    const strangerHook = await service.register(other, { url: stranger!.url });
    for (const { id } of [...hooks, lateHook]) await service.settled(tenant, id);
    await service.settled(other, strangerHook.id);

    expect(sequencesOf(wallets!)).toEqual([...walletEvents, ...frozen]);
    expect(sequencesOf(exact!)).toEqual([...before, ...frozen]);
    expect(sequencesOf(late!)).toEqual(frozen);
    expect(stranger!.received).toEqual([]);
    expect(sequencesOf(all!)).toEqual(expect.arrayContaining([...before, ...walletEvents, ...frozen]));
  });
});

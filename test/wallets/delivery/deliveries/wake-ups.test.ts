/** What wakes the relay of a tenant, over a store of outboxes in memory, without its sweep. */
import { expect, test } from 'vitest';
import { silentLog } from '../../../../core/actors/live/ports.ts';
import { Relay, type RelayDeps } from '../../../../wallets/delivery/deliveries/outbox-relay.ts';
import type { Outbox, OutboxStore } from '../../../../wallets/delivery/deliveries/outbox-store.ts';
import { until } from '../../../support/until.ts';
import { VirtualTimers } from '../../../support/virtual-timers.ts';

const outbox: Outbox = {
  ...{ id: 'whk_1', version: 1, status: 'enabled', cursor: 4, outstanding: 0, retrying: 0 },
  ...{ nextRetryAtMs: undefined, outstandingSinceMs: undefined, trimAtMs: undefined },
};

test('the first webhook of a tenant gets its event by the wake-up, also soon after a wake-up that found none', async () => {
  const webhooks: Outbox[] = [];
  let reads = 0;
  const taken: string[] = [];
  const hooks: Partial<OutboxStore> = {
    outboxes: async () => {
      reads += 1;
      return { lastSequence: 5, webhooks, removed: [] };
    },
    dispatch: async (_, { id }) => {
      taken.push(id);
      return { jobs: [], events: [], more: false, skipped: 0 };
    },
  };
  const time = new VirtualTimers();
  const store = { read: async () => ({ version: 1, events: ['*'] }) };
  const deps = { hooks, store, log: silentLog, clock: time, timers: time, queue: { add: async () => {} } };
  const relay = new Relay(deps as unknown as RelayDeps);
  relay.wake('a');
  await until(() => reads === 1, 'the wake-up to read the outboxes');
  webhooks.push(outbox);
  relay.wake('a');
  await until(() => taken.length > 0, 'the wake-up to find the webhook');
  expect([reads, taken, time.pending]).toEqual([2, ['whk_1'], 0]);
  await relay.stop();
});

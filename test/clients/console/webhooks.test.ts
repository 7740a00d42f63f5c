/** What the console says of deliveries and events, and what it follows of them. */
import { describe, expect, test } from 'vitest';
import type { Client, Delivery, Event, SandboxFault } from '../../../clients/client/index.ts';
import { actionsOnWebhook } from '../../../clients/console/browser/shared/actions.ts';
import { listedDeliveries, listedEvents, whyOfDelivery } from '../../../clients/console/browser/webhooks/deliveries.ts';
import { followWebhooks } from '../../../clients/console/browser/webhooks/webhook-data.ts';
import { until } from '../../support/until.ts';

type Try = Delivery['attempts'][number];

function delivery(status: Delivery['status'], last?: Partial<Try>, more: Partial<Delivery> = {}): Delivery {
  const attempts = last === undefined ? [] : [{ at: '', status: null, error: null, latency_ms: 3, ...last }];
  return {
    ...{ id: 'dlv_1', webhook_id: 'whk_1', event_id: 'evt_1', event_type: 'wallet.created', sequence: 1, status },
    ...{ attempts, attempt_count: attempts.length, next_attempt_at: null, created_at: '', updated_at: '' },
    ...more,
  };
}
const event = (sequence: number, type: string) =>
  ({ id: `evt_${sequence}`, sequence, type, data: { object: { address: '0xAB' } } }) as unknown as Event;

describe('why a delivery is as it is', () => {
  const nowMs = Date.parse('2026-01-01T00:00:00Z');
  const fault = (state: SandboxFault['state']) =>
    ({ id: 'flt_1', state, fault: { fault: 'receiver_status', status: 500 } }) as unknown as SandboxFault;
  const inSeconds = (s: number) => new Date(nowMs + s * 1_000).toISOString();
  test.each<[string, Delivery, SandboxFault[]]>([
    ['', delivery('queued'), []],
    ['', delivery('delivered', { status: 204 }), [fault('armed')]],
    [
      'The receiver answered 500, at try 1; the next try is in 5.0 s; see the log of the receiver.',
      delivery('retrying', { status: 500 }, { next_attempt_at: inSeconds(5) }),
      [fault('over')],
    ],
    [
      'The receiver answered 500, at try 1; the next try is due; the fault receiver_status (flt_1) may be why: remove it, or see the log of the receiver.',
      delivery('retrying', { status: 500 }, { next_attempt_at: inSeconds(-1) }),
      [fault('armed')],
    ],
    [
      'The receiver refused the connection, at try 8; no try is left; start the receiver, then deliver it again.',
      delivery('failed', { error: 'connection_refused' }, { attempt_count: 8 }),
      [],
    ],
    [
      'The receiver answered 410: it wants no more, at try 1; that disabled the webhook; answer 2xx, then enable it and deliver it again.',
      delivery('failed', { status: 410 }),
      [],
    ],
    [
      'The receiver did not answer (strange), at try 1; the next try is due; see the log of the receiver.',
      delivery('retrying', { error: 'strange' }),
      [],
    ],
    ['It cannot be sent: its event is no longer stored.', delivery('failed', { error: 'event_not_kept' }), []],
  ])('%s', (sentence, one, faults) => {
    expect(whyOfDelivery(one, faults, nowMs)).toBe(sentence);
  });
});

test('events and deliveries are found by any part of them', () => {
  const events = [event(1, 'wallet.created'), event(2, 'transaction_intent.created'), event(3, 'wallet.updated')];
  const shown = (words: string, family = '') => listedEvents(events, words, family).map(({ sequence }) => sequence);
  expect([shown(''), shown('', 'wallet'), shown('EVT_2'), shown('0xab', 'wallet'), shown('no')]).toEqual([
    [3, 2, 1],
    [3, 1],
    [2],
    [3, 1],
    [],
  ]);
  const deliveries = [delivery('delivered'), delivery('failed', {}, { id: 'dlv_2' })];
  const found = (words: string, status = '') => listedDeliveries(deliveries, words, status).map(({ id }) => id);
  expect([found('evt_1'), found('dlv_2'), found('', 'failed'), found('wallet', 'queued')]).toEqual([
    ['dlv_1', 'dlv_2'],
    ['dlv_2'],
    ['dlv_2'],
    [],
  ]);
});

test('an endpoint that is no inbox is removed as a webhook, and a disabled one is enabled', () => {
  const calls = (status: 'enabled' | 'disabled', isInbox: boolean) =>
    actionsOnWebhook({ id: 'whk_1', status }, isInbox).map(({ name, call }) => {
      const { method, path } = call.requests[0]!;
      return `${name}: ${method} ${path}`;
    });
  expect(calls('enabled', true)).toEqual([
    'Ping: POST /v1/webhooks/whk_1/ping',
    'Disable: PATCH /v1/webhooks/whk_1',
    'Remove it: DELETE /v1/sandbox/inboxes/whk_1',
  ]);
  expect(calls('disabled', false).slice(1)).toEqual([
    'Enable: PATCH /v1/webhooks/whk_1',
    'Remove it: DELETE /v1/webhooks/whk_1',
  ]);
});

describe('the webhooks of whom acts', () => {
  /** `logged`: the event log, of which `listed` gives the part since a time. */
  function served(logged: readonly Event[], state: { deliveries: readonly Delivery[] }) {
    const waiting: Event[] = [];
    let wake = (): void => undefined;
    const followed: (number | undefined)[] = [];
    const reads = { deliveries: 0 };
    const list = <T>(items: readonly T[]) => ({ toArray: async (max: number) => items.slice(0, max) });
    const client = {
      events: {
        list: ({ created_after: since }: { readonly created_after: string }) =>
          list(Date.now() - Date.parse(since) > 30_000 ? logged : logged.slice(-2)),
        follow: async function* (options: { readonly signal: AbortSignal; readonly afterSequence?: number }) {
          followed.push(options.afterSequence);
          options.signal.addEventListener('abort', () => wake());
          while (!options.signal.aborted) {
            while (waiting.length > 0) yield waiting.shift()!;
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        },
      },
      webhooks: {
        list: () => list([{ id: 'whk_1' }, { id: 'whk_2' }]),
        deliveries: () => {
          reads.deliveries += 1;
          return list(state.deliveries);
        },
        delivery: async (id: string) => {
          if (id !== 'whk_2') throw new Error('there is no such delivery');
          return {};
        },
      },
      sandbox: { inboxes: () => list([{ id: 'whk_1' }]), inbox: async (id: string) => ({ id, deliveries: [] }) },
    } as unknown as Client;
    const timers: { readonly run: () => void; readonly ms: number }[] = [];
    const page = { setTimeout: (run: () => void, ms: number) => timers.push({ run, ms }) };
    const give = (...more: readonly Event[]) => {
      waiting.push(...more);
      wake();
    };
    const data = followWebhooks(page, client, () => undefined);
    return { data, give, timers, followed, reads };
  }

  test('the log begins with what it has, and follows; an event reads the deliveries again, once for many', async () => {
    const { data, give, timers, followed, reads } = served([event(1, 'a.b'), event(2, 'a.b')], { deliveries: [] });
    await until(() => followed.length === 1, 'the stream');
    expect([data.events.length, followed]).toEqual([2, [2]]);
    const open = data.endpoint('whk_1');
    await until(() => open.value !== undefined, 'the endpoint');
    expect(open.value?.inbox?.id).toBe('whk_1');
    const before = reads.deliveries;
    give(event(3, 'a.b'), event(4, 'a.b'));
    await until(() => data.events.length === 4, 'the events');
    expect([timers.length, reads.deliveries]).toEqual([1, before]);
    timers[0]!.run();
    await until(() => reads.deliveries === before + 1, 'the deliveries');
    data.stop();
  });

  test('a log with more events than a page shows begins later', async () => {
    const many = Array.from({ length: 700 }, (_, index) => event(index + 1, 'a.b'));
    const { data, followed } = served(many, { deliveries: [] });
    await until(() => followed.length === 1, 'the stream');
    expect([data.events.map(({ sequence }) => sequence), followed]).toEqual([[699, 700], [700]]);
    data.stop();
  });

  test('a delivery under way is read until it is over, and nothing after the panel is left', async () => {
    const state = { deliveries: [delivery('queued')] };
    const { data, timers, reads } = served([], state);
    const open = data.endpoint('whk_2');
    await until(() => timers.length === 1, 'the next read');
    expect([open.value?.inbox, timers[0]!.ms]).toEqual([undefined, 1_000]);
    const later = new Date(Date.now() + 3_600_000).toISOString();
    state.deliveries = [delivery('retrying', { status: 500 }, { next_attempt_at: later })];
    timers[0]!.run();
    await until(() => timers.length === 2, 'the next read');
    expect(timers[1]!.ms).toBe(5_000);
    state.deliveries = [delivery('delivered', { status: 200 })];
    timers[1]!.run();
    await until(() => open.value?.deliveries[0]?.status === 'delivered', 'its end');
    expect(timers.length).toBe(2);
    const before = reads.deliveries;
    data.stop();
    timers[1]!.run();
    expect(reads.deliveries).toBe(before);
  });

  test('a delivery’s id leads to its endpoint', async () => {
    const { data } = served([], { deliveries: [] });
    await until(() => data.endpointOf('dlv_9') === 'whk_2', 'the endpoint');
    data.stop();
  });
});

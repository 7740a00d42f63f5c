/** What may be delivered again, to its edges: over a store in memory, and a queue of which the test says how long it is. */
import { beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../../core/actors/live/ports.ts';
import { newId } from '../../../../proto/ids.ts';
import { listDeliveries } from '../../../../wallets/delivery/deliveries/listing.ts';
import { relayDefaults } from '../../../../wallets/delivery/deliveries/outbox-relay.ts';
import type { OutboxStore } from '../../../../wallets/delivery/deliveries/outbox-store.ts';
import { type DeliveryRecord, deliveryType } from '../../../../wallets/delivery/deliveries/record.ts';
import { deliveryRoutes } from '../../../../wallets/delivery/deliveries/routes.ts';
import { type RangeQuery, WebhookService } from '../../../../wallets/delivery/deliveries/webhook-service.ts';
import { type WebhookRecord, webhookType } from '../../../../wallets/delivery/webhooks/record.ts';
import { create } from '../../../../wallets/store/changes.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { done, newTenant, startMemoryStore } from '../../../support/memory-store.ts';
import { call, contextAt, refusal } from '../../companions/support/handlers.ts';

const startMs = Date.UTC(2026, 5, 15, 12);
let memory: TenantStore;
beforeAll(async () => {
  memory = await startMemoryStore().open({ nowMs: () => startMs });
});

/** A tenant with one webhook, whose event log begins at `floor`. */
class Hooks {
  readonly tenant = newTenant();
  floor = 1;
  retrying = 0;
  /** The sequences of deliveries that were put on their way, and how often workers were woken. */
  readonly moved: number[] = [];
  wakes = 0;
  /** Moves that are refused, since another process has changed the delivery. */
  conflicts = 0;
  readonly service: WebhookService;

  constructor() {
    const store = {
      read: memory.read.bind(memory),
      list: memory.list.bind(memory),
      events: async () => ({ floorSequence: this.floor }),
    } as unknown as TenantStore;
    const hooks: Pick<OutboxStore, 'depth' | 'move' | 'wake'> = {
      depth: async () => ({ outstanding: 0, retrying: this.retrying, behind: 0, failingSinceMs: null }),
      move: async (_, { before, after, place, endpoint }, nowMs) => {
        this.conflicts -= 1;
        if (this.conflicts >= 0) return undefined;
        expect([after.version, place, endpoint]).toEqual([
          before.version + 1,
          { kind: 'retry', atMs: nowMs },
          undefined,
        ]);
        this.moved.push(before.sequence);
        return { failingSinceMs: null, behind: false };
      },
      wake: async () => {
        this.wakes += 1;
      },
    };
    this.service = new WebhookService(hooks as OutboxStore, store, { nowMs: () => startMs });
  }

  async open(over: Partial<WebhookRecord> = {}): Promise<this> {
    const webhook: WebhookRecord = {
      ...{ id: 'whk_1', version: 1, url: 'https://example.com', events: ['*'], description: null, status: 'enabled' },
      ...{ secrets: [], createdAtMs: startMs, updatedAtMs: startMs, ...over },
    };
    await done(memory, this.tenant, { puts: [create(webhookType, webhook)] });
    return this;
  }

  /** Deliveries of events from `first` on, one in each millisecond. */
  async deliveries(count: number, over: Partial<DeliveryRecord> = {}, first = 1): Promise<readonly DeliveryRecord[]> {
    const records = Array.from({ length: count }, (_, index): DeliveryRecord => {
      const atMs = startMs + first + index;
      return {
        ...{ id: newId('dlv', atMs, systemRandom), version: 1, webhookId: 'whk_1', eventId: `evt_${first + index}` },
        ...{ eventType: 'wallet.created', sequence: first + index, status: 'failed', attempts: [], attemptCount: 7 },
        ...{ failedTries: 7, nextAttemptAtMs: null, createdAtMs: atMs, updatedAtMs: atMs, ...over },
      };
    });
    await done(memory, this.tenant, { puts: records.map((record) => create(deliveryType, record)) });
    return records;
  }

  range(over: Partial<RangeQuery> = {}) {
    return this.service.redeliverRange(this.tenant, 'whk_1', { statuses: ['failed'], types: [], ...over });
  }
}

describe('one delivery', () => {
  it.each([
    ['delivered', null, 'requeued'],
    ['failed', null, 'requeued'],
    ['queued', null, 'as it was'],
    ['retrying', startMs, 'as it was'],
    ['retrying', startMs + 1, 'requeued'],
  ] as const)('that is %s, and due at %s, is %s', async (status, nextAttemptAtMs, becomes) => {
    const hooks = await new Hooks().open();
    const [before] = await hooks.deliveries(1, { status, nextAttemptAtMs });
    const outcome = await hooks.service.redeliver(hooks.tenant, before!.id);
    const again = {
      status: 'retrying',
      nextAttemptAtMs: startMs,
      failedTries: 0,
      attemptCount: 7,
      version: 2,
    } as const;
    const delivery = becomes === 'requeued' ? { ...before, ...again } : before;
    expect(outcome).toEqual({ kind: 'onItsWay', delivery });
    expect([hooks.moved, hooks.wakes]).toEqual([becomes === 'requeued' ? [1] : [], 1]);
  });

  it('is refused without its event, without an enabled webhook, and while too many wait', async () => {
    const kindOf = async (over: Partial<Pick<Hooks, 'floor' | 'retrying'>>, webhook: Partial<WebhookRecord> = {}) => {
      const hooks = Object.assign(await new Hooks().open(webhook), over);
      const [delivery] = await hooks.deliveries(1, {}, 5);
      const { kind } = await hooks.service.redeliver(hooks.tenant, delivery!.id);
      expect(hooks.moved).toEqual(kind === 'onItsWay' ? [5] : []);
      return kind;
    };
    const { retryingMax } = relayDefaults;
    expect(await kindOf({ floor: 5, retrying: retryingMax - 1 })).toBe('onItsWay');
    expect(await kindOf({ floor: 6 })).toBe('eventNotKept');
    expect(await kindOf({ retrying: retryingMax })).toBe('tooManyWaiting');
    expect(await kindOf({}, { status: 'suspended' })).toBe('notEnabled');
    expect(await kindOf({}, { id: 'whk_2' })).toBe('noSuchDelivery');
    expect(await new Hooks().service.redeliver(newTenant(), 'dlv_none')).toEqual({ kind: 'noSuchDelivery' });
  });

  it('is read again while others change it, ten times at most', async () => {
    const hooks = await new Hooks().open();
    const [delivery] = await hooks.deliveries(1);
    hooks.conflicts = 9;
    expect(await hooks.service.redeliver(hooks.tenant, delivery!.id)).toMatchObject({ delivery: { version: 2 } });
    hooks.conflicts = 10;
    expect(await hooks.service.redeliver(hooks.tenant, delivery!.id)).toMatchObject({ delivery: { version: 1 } });
    expect(hooks.moved).toEqual([1]);
  });
});

describe('a range of deliveries', () => {
  it('has those of its statuses, types, sequences and times', async () => {
    const hooks = await new Hooks().open();
    await hooks.deliveries(4);
    await hooks.deliveries(2, { status: 'delivered', eventType: 'wallet_group.created' }, 5);
    await hooks.deliveries(1, { status: 'queued' }, 7);
    for (const [query, sequences] of [
      [{}, [1, 2, 3, 4]],
      [{ statuses: ['delivered'] }, [5, 6]],
      [{ statuses: ['failed', 'delivered'], types: ['wallet_group.created', 'policy.*'] }, [5, 6]],
      [{ statuses: ['failed', 'delivered'], types: ['wallet.*'] }, [1, 2, 3, 4]],
      [{ fromSequence: 2, toSequence: 3 }, [2, 3]],
      [{ createdAfterMs: startMs + 2, createdBeforeMs: startMs + 4 }, [2, 3]],
      [{ fromSequence: 8 }, []],
    ] as const) {
      hooks.moved.length = 0;
      const outcome = await hooks.range(query);
      expect(outcome).toEqual({ redelivered: sequences.length, notRetained: 0, nextId: undefined, full: false });
      expect([query, hooks.moved.toSorted((a, b) => a - b)]).toEqual([query, sequences]);
    }
  });

  it('counts deliveries apart whose events have left the log', async () => {
    const hooks = Object.assign(await new Hooks().open(), { floor: 3 });
    await hooks.deliveries(5);
    expect(await hooks.range()).toMatchObject({ redelivered: 3, notRetained: 2 });
    expect([hooks.moved.toSorted(), hooks.wakes]).toEqual([[3, 4, 5], 1]);
  });

  it('ends where no room is left for a page, and continues from there', async () => {
    const hooks = await new Hooks().open();
    const records = await hooks.deliveries(250);
    hooks.retrying = relayDefaults.retryingMax - 250;
    const first = await hooks.range();
    expect(first).toEqual({ redelivered: 200, notRetained: 0, nextId: records[199]!.id, full: true });
    hooks.retrying = relayDefaults.retryingMax - 100;
    const rest = await hooks.range({ afterId: first.nextId! });
    expect(rest).toEqual({ redelivered: 50, notRetained: 0, nextId: undefined, full: false });
    expect(new Set(hooks.moved).size).toBe(250);
    hooks.retrying += 1;
    const none = await hooks.range();
    expect(none).toEqual({ redelivered: 0, notRetained: 0, nextId: '', full: true });
    hooks.retrying = 0;
    expect((await hooks.range({ afterId: none.nextId! })).redelivered).toBe(250);
  });
});

it('a call names its range without its first and its last sequence, and gets a cursor to continue with', async () => {
  const hooks = await new Hooks().open();
  const asked: RangeQuery[] = [];
  const outcome = { redelivered: 3, notRetained: 1, nextId: 'dlv_9' as string | undefined, full: true };
  const webhookService = {
    redeliverRange: async (_: string, id: string, query: RangeQuery) => {
      asked.push(query);
      return { ...outcome, id };
    },
  };
  const routes = deliveryRoutes({ webhookService } as unknown as Parameters<typeof deliveryRoutes>[0]);
  const range = (body: object) =>
    call(routes, 'redeliverRange', contextAt(startMs, memory, { tenant: hooks.tenant }), {
      params: { id: 'whk_1' },
      body,
    });
  const times = { created_after: '2026-01-01T00:00:00Z', created_before: '2026-01-02T00:00:00Z' };
  const body = { after_sequence: 4, before_sequence: 9, types: ['*'], ...times };
  const answer = await range(body);
  expect(answer).toMatchObject({ queued: 3, not_kept: 1, queue_full: true, has_more: true });
  outcome.nextId = undefined;
  expect(await range({ ...body, cursor: answer.next_cursor })).toMatchObject({ has_more: false, next_cursor: null });
  const query = {
    ...{ statuses: ['failed'], types: [], fromSequence: 5, toSequence: 8 },
    ...{ createdAfterMs: Date.UTC(2026, 0, 1), createdBeforeMs: Date.UTC(2026, 0, 2) },
  };
  expect(asked).toEqual([query, { ...query, afterId: 'dlv_9' }]);
  await range({ status: 'delivered', types: ['wallet.*', 'wallet.created'] });
  expect(asked[2]).toEqual({ statuses: ['delivered'], types: ['wallet.*', 'wallet.created'] });
  await expect(range({ types: ['wallet.*', '*'] })).rejects.toEqual(refusal('invalidRequest', 'types[1]'));
  await expect(range({ cursor: 'abc' })).rejects.toEqual(refusal('invalidRequest', 'cursor'));
});

it('a list of one type is whole over its pages, which may be short', async () => {
  const hooks = await new Hooks().open();
  for (const first of [1, 121]) {
    await hooks.deliveries(110, { eventType: 'policy.created' }, first);
    await hooks.deliveries(10, {}, first + 110);
  }
  const sequences: number[] = [];
  const pages: number[] = [];
  let afterId: string | undefined;
  do {
    const query = { webhookId: 'whk_1', eventType: 'wallet.*', limit: 7, ...(afterId !== undefined && { afterId }) };
    const page = await listDeliveries(memory, hooks.tenant, query);
    pages.push(page.items.length);
    sequences.push(...page.items.map(({ sequence }) => sequence));
    expect(page.hasMore).toBe(page.nextId !== undefined);
    afterId = page.nextId;
  } while (afterId !== undefined);
  expect(sequences).toEqual([231, 111].flatMap((first) => Array.from({ length: 10 }, (_, k) => first + 9 - k)));
  expect(pages).toEqual([7, 7, 6]);
  const few = await new Hooks().open();
  const [, second] = await few.deliveries(3);
  const page = await listDeliveries(memory, few.tenant, { webhookId: 'whk_1', eventType: 'wallet.*', limit: 2 });
  expect([page.items.length, page.hasMore, page.nextId]).toEqual([2, true, second!.id]);
});

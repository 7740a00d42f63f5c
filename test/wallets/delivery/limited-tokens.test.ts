/** Tokens that are limited to provider connections: no webhook, and the events of their own connections alone. */
import { expect, test } from 'vitest';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { readTypes } from '../../../wallets/delivery/events/query.ts';
import { eventRoutes } from '../../../wallets/delivery/events/routes.ts';
import { findWebhook } from '../../../wallets/delivery/webhooks/find.ts';
import type { EventQuery } from '../../../wallets/store/contract.ts';

/** A request of a token with these connections; undefined: of the whole tenant. */
function requestOf(providerConnectionIds: readonly string[] | undefined) {
  const asked: EventQuery[] = [];
  const store = {
    read: async (_: string, __: object, id: string) => ({ id }),
    events: async (_: string, query: EventQuery) => {
      asked.push(query);
      return { events: [], hasMore: false, nextAfterSequence: 0, floorSequence: 5, lastSequence: 9 };
    },
  };
  const principal = { environment: 'sandbox', providerConnectionIds };
  return { context: { tenant: 't', store, principal } as unknown as RequestContext, asked };
}

test('see no webhook', async () => {
  const all = requestOf(undefined);
  expect(await findWebhook(all.context, 'whk_1')).toEqual({ id: 'whk_1' });
  for (const [ids, id] of [
    [['pcn_1'], 'whk_1'],
    [[], 'whk_1'],
    [undefined, 'wal_1'],
  ] as const) {
    await expect(findWebhook(requestOf(ids).context, id)).rejects.toMatchObject({ kind: 'notFound' });
  }
});

test('list the events of their connections, from a place that the log still has', async () => {
  const { handle } = eventRoutes()[0]!;
  const list = (request: ReturnType<typeof requestOf>, query: object) =>
    handle(request.context, { query, params: {}, headers: {}, body: undefined } as never);
  const limited = requestOf(['pcn_1']);
  await list(limited, {});
  expect(limited.asked).toMatchObject([{ connectionIds: ['pcn_1'], afterSequence: 0 }]);
  const all = requestOf(undefined);
  await list(all, { after_sequence: '4' });
  expect(all.asked[0]).not.toHaveProperty('connectionIds');
  await expect(list(all, { after_sequence: '3' })).rejects.toMatchObject({ kind: 'invalidRequest' });
});

test('twenty types may be asked for at once', () => {
  const types = (count: number) => Array(count).fill('wallet.*').join(',');
  expect(readTypes(types(20))).toHaveLength(20);
  expect(() => readTypes(types(21))).toThrow();
});

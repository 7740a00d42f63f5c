/** The bytes of events: those of the very event, from memory up to a limit, else from the log. */
import { expect, test } from 'vitest';
import { EventBodies } from '../../../../wallets/delivery/deliveries/event-bodies.ts';
import type { StoredEvent, TenantStore } from '../../../../wallets/store/contract.ts';

const event = (id: string, sequence: number, text = ''): StoredEvent => ({
  ...{ id, sequence, type: 'wallet.created', atMs: 0, correlationId: 'c', provider: null, connectionId: null },
  resource: { type: 'wallet', id: 'wal_1', version: 1 },
  object: { text },
});

function bodies(log: readonly StoredEvent[]) {
  const seen = { reads: 0 };
  const events = async (_: string, { afterSequence }: { afterSequence: number }) => {
    seen.reads += 1;
    return { events: log.filter(({ sequence }) => sequence > afterSequence).slice(0, 1) };
  };
  return { seen, bodies: new EventBodies({ events } as unknown as TenantStore, 'sandbox') };
}

test('an event that is no longer kept has none, though another one follows it, or has its number in a new log', async () => {
  const { bodies: found } = bodies([event('evt_new', 7)]);
  expect(await found.find('tn_a', 'evt_old', 7)).toBeUndefined();
  expect(await found.find('tn_a', 'evt_old', 6)).toBeUndefined();
  expect(JSON.parse(String(await found.find('tn_a', 'evt_new', 7)))).toMatchObject({ id: 'evt_new', sequence: 7 });
});

test('the latest are in memory, however many came before', async () => {
  const { seen, bodies: found } = bodies([]);
  const text = 'x'.repeat(1024 * 1024);
  for (let sequence = 1; sequence <= 20; sequence += 1) found.cache('tn_a', event(`evt_${sequence}`, sequence, text));
  for (const sequence of [19, 20]) expect(await found.find('tn_a', `evt_${sequence}`, sequence)).toBeDefined();
  expect(seen.reads).toBe(0);
  expect(await found.find('tn_a', 'evt_1', 1)).toBeUndefined();
  expect(await found.find('tn_b', 'evt_20', 20)).toBeUndefined();
  expect(seen.reads).toBe(2);
});

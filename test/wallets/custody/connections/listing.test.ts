/** The connections that a limited token lists: its own, page by page, by the same filters as all of a tenant. */
import { expect, it } from 'vitest';
import { newId } from '../../../../proto/ids.ts';
import { listConnections } from '../../../../wallets/custody/connections/listing.ts';
import { type ConnectionRecord, connectionType } from '../../../../wallets/custody/connections/record.ts';
import { create } from '../../../../wallets/store/changes.ts';
import { done, newTenant, startMemoryStore } from '../../../support/memory-store.ts';
import { contextAt } from '../../companions/support/handlers.ts';

const startMs = Date.UTC(2026, 5, 15, 12);

it('a limited token lists its own connections as another lists all: newest first, filtered, in pages of any size', async () => {
  const store = await startMemoryStore().open({ nowMs: () => startMs });
  const tenant = newTenant();
  const records = Array.from({ length: 5 }, (_, index): ConnectionRecord => {
    const atMs = startMs + index;
    return {
      ...{ id: newId('pcn', atMs, (length) => new Uint8Array(length).fill(index)), version: 1, name: `${index}` },
      ...{ provider: index % 2 === 0 ? 'sandbox' : 'bitgo', environment: 'sandbox', capabilities: [], credentials: '' },
      ...{ status: index < 3 ? 'connected' : 'disconnected', credentialFingerprint: '', metadata: {} },
      ...{ lastSyncedAtMs: null, createdAtMs: atMs, updatedAtMs: atMs },
    };
  });
  await done(store, tenant, { puts: records.map((record) => create(connectionType, record)) });
  const ids = records.map(({ id }) => id);
  const limitedTo = [ids[3]!, ids[0]!, ids[4]!, ids[0]!, 'pcn_of_another_tenant', ids[1]!, ids[2]!];
  for (const providerConnectionIds of [undefined, limitedTo]) {
    const context = contextAt(startMs, store, { tenant, ...(providerConnectionIds && { providerConnectionIds }) });
    for (const [filter, expected] of [
      [{}, '43210'],
      [{ provider: 'sandbox' }, '420'],
      [{ status: 'disconnected' }, '43'],
      [{ provider: 'sandbox', status: 'connected' }, '20'],
      [{ provider: 'copper' }, ''],
    ] as const) {
      for (const limit of [1, 2, 3, 5]) {
        let found = '';
        let afterId: string | undefined;
        do {
          const page = await listConnections(context, { ...filter, limit, ...(afterId !== undefined && { afterId }) });
          expect(page.items.length).toBeLessThanOrEqual(limit);
          expect(page.hasMore).toBe(page.nextId !== undefined);
          // A page that says there is more is full, and more follows.
          if (page.hasMore) expect([page.items.length, page.nextId]).toEqual([limit, page.items.at(-1)!.id]);
          if (afterId !== undefined) expect(page.items.length).toBeGreaterThan(0);
          found += page.items.map(({ name }) => name).join('');
          afterId = page.nextId;
        } while (afterId !== undefined);
        expect([filter, limit, found]).toEqual([filter, limit, expected]);
      }
    }
  }
  const none = contextAt(startMs, store, { tenant, providerConnectionIds: [] });
  expect(await listConnections(none, { limit: 5 })).toMatchObject({ items: [], hasMore: false, nextId: undefined });
});

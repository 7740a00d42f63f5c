/** Lists are walked page by page, and a cursor belongs to its list alone. On a real Redis. */
import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listBody, readCreated, readPage } from '../../../gateway/api/pages.ts';
import { mayUseConnection, seesWholeTenant, visibleIndices } from '../../../gateway/api/visibility.ts';
import { type RestApp, restApp, tokenOf } from '../../support/rest-app.ts';
import { type StoreUnderTest, startStore } from '../../support/store.ts';
import { notes } from './support/notes.ts';

let redis: StoreUnderTest;
let rest: RestApp;
const headers = tokenOf('pages');
const context = { tenant: 't', cursorKey: new Uint8Array(32).fill(3) };
const texts = Array.from({ length: 7 }, (_, at) => `note ${at}`);

beforeAll(async () => {
  redis = await startStore();
  rest = await restApp({ routes: notes().routes, store: await redis.open() });
  for (const text of texts) await rest.app.inject({ method: 'POST', url: '/v1/notes', headers, payload: { text } });
});
afterAll(async () => {
  await rest.app.close();
  await redis.stop();
});

interface Page {
  readonly notes: readonly { readonly text: string }[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

async function page(query: string): Promise<Page> {
  const answer = await rest.app.inject({ url: `/v1/notes?${query}`, headers });
  expect(answer.statusCode).toBe(200);
  return answer.json() as Page;
}

async function refusal(query: string): Promise<{ code: string; details: { field: string; issue: string }[] }> {
  const answer = await rest.app.inject({ url: `/v1/notes?${query}`, headers });
  expect(answer.statusCode).toBe(400);
  return answer.json().error;
}

describe('a list', () => {
  it.each([1, 3, 7])('is whole after pages of %i', async (limit) => {
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const next: Page = await page(`limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`);
      expect(next.notes.length).toBeLessThanOrEqual(limit);
      expect(next.has_more).toBe(next.next_cursor !== null);
      found.push(...next.notes.map(({ text }) => text));
      cursor = next.next_cursor;
    } while (cursor !== null);
    expect(found.sort()).toEqual(texts);
  });

  it('shows fifty at first, a hundred at most', async () => {
    expect(readPage(context, 'x', {}).query.limit).toBe(50);
    expect(await page('limit=100')).toMatchObject({ has_more: false });
    for (const limit of ['0', '101', '-1', '1e1', '05', '', 'x']) {
      expect((await refusal(`limit=${limit}`)).details).toMatchObject([{ field: 'limit', issue: 'invalid_format' }]);
    }
  });
});

describe('a cursor', () => {
  it('of other filters, of another list, changed or made up is refused by name', async () => {
    const { next_cursor: cursor } = await page('limit=2');
    const foreign = readPage(context, 'wallets', {}).cursorOf('wal_1');
    const changed = `${cursor!.startsWith('A') ? 'B' : 'A'}${cursor!.slice(1)}`;
    for (const query of [
      `q=a&cursor=${cursor}`,
      `cursor=${foreign}`,
      `cursor=${changed}`,
      'cursor=abc',
      'cursor=%00',
      `cursor=${cursor}=`,
    ]) {
      expect((await refusal(query)).details).toMatchObject([{ field: 'cursor', issue: 'invalid_format' }]);
    }
  });

  it('that was made without the key, or for another tenant or key, is refused', () => {
    const bound = JSON.stringify(['t', 'x', {}]);
    const tags = [
      createHash('sha256').update(`${bound}\nwal_1`).digest(),
      createHash('sha256').update(`["x",{}]\nwal_1`).digest(),
      createHmac('sha256', '').update(`cursor\n${bound}\nwal_1`).digest(),
    ];
    const made = tags.map((tag) => Buffer.concat([tag.subarray(0, 9), Buffer.from('wal_1')]).toString('base64url'));
    const strange = [
      { ...context, tenant: 'u' },
      { ...context, cursorKey: new Uint8Array(32).fill(4) },
    ].map((other) => readPage(other, 'x', {}).cursorOf('wal_1'));
    for (const cursor of [...made, ...strange, '']) {
      expect(() => readPage(context, 'x', { cursor })).toThrow('the cursor does not belong to this list');
    }
    expect(readPage(context, 'x', { cursor: readPage(context, 'x', {}).cursorOf('wal_1') }).query.afterId).toBe(
      'wal_1',
    );
  });

  it('at a place that the list does not have is refused', () => {
    const cursor = readPage(context, 'x', {}).cursorOf('-1');
    expect(() => readPage(context, 'x', { cursor }, (id) => id === '1')).toThrow('the cursor does not belong');
  });

  it('may be used with another limit', async () => {
    const { next_cursor: cursor } = await page('limit=2');
    expect((await page(`limit=5&cursor=${cursor}`)).notes).toHaveLength(5);
  });

  it('comes back as the id that it was made of, whatever the id', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 128, unit: 'grapheme' }), fc.string(), (id, list) => {
        const cursor = readPage(context, list, { status: 'a' }).cursorOf(id);
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(readPage(context, list, { status: 'a', cursor, limit: '7' }).query).toEqual({ afterId: id, limit: 7 });
        expect(() => readPage(context, list, { status: 'b', cursor })).toThrow(
          'the cursor does not belong to this list',
        );
      }),
    );
  });

  it('is absent at the end, even when the store names an id', () => {
    const items = [{ id: 'a' }];
    const body = listBody(
      'things',
      { items, balances: new Map(), hasMore: false, nextId: 'a' },
      ({ id }) => ({ id }),
      readPage(context, 't', {}),
    );
    expect(body).toEqual({ things: items, has_more: false, next_cursor: null });
  });
});

describe('a range of times', () => {
  it('is read in milliseconds, not before 1970', () => {
    const range = readCreated({ created_after: '1960-01-01T00:00:00Z', created_before: '2026-01-01T01:00:00.5+01:00' });
    expect(range).toEqual({ createdAfterMs: 0, createdBeforeMs: Date.UTC(2026, 0, 1, 0, 0, 0, 500) });
    expect(readCreated({})).toEqual({});
  });

  it('upside down is refused', () => {
    const upsideDown = { created_after: '2026-01-02T00:00:00Z', created_before: '2026-01-01T00:00:00Z' };
    expect(() => readCreated(upsideDown)).toThrow('created_after lies after created_before');
    const [created_before, atMs] = [upsideDown.created_before, Date.UTC(2026, 0, 1)];
    const empty = readCreated({ created_after: created_before, created_before });
    expect(empty).toEqual({ createdAfterMs: atMs, createdBeforeMs: atMs });
  });
});

describe('a token limited to connections', () => {
  const token = { tokenId: 'tok_1', actorId: 'tok_1' };
  const principal = { tenant: 't', environment: 'sandbox', scopes: new Set<never>(), ...token } as const;
  const limited = (ids: readonly string[] | undefined) => ({ ...principal, providerConnectionIds: ids });
  const index = (id: string) => `wallets:connection:${id}`;

  it('uses its own connections alone', () => {
    expect(mayUseConnection(limited(['a']), 'a')).toBe(true);
    expect(mayUseConnection(limited(['a']), 'b')).toBe(false);
    expect(mayUseConnection(limited([]), 'a')).toBe(false);
    expect(mayUseConnection(limited(undefined), 'a')).toBe(true);
  });

  it('lists what stands in their indices; with no connection, nothing', () => {
    expect(visibleIndices(limited(['a', 'b']), index)).toEqual({ anyOf: [index('a'), index('b')] });
    expect(visibleIndices(limited([]), index)).toEqual({ anyOf: [index('none')] });
    expect(visibleIndices(limited(undefined), index)).toEqual({});
    expect([limited([]), limited(undefined)].map(seesWholeTenant)).toEqual([false, true]);
  });
});

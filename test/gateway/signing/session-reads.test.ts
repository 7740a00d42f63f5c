/** Reads of sessions: over a simulated cluster as its clients see them, and how the pages of several clusters are merged. */
import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { merged, sessionReads } from '../../../gateway/signing/session-reads.ts';
import { sessionReadRoutes } from '../../../gateway/signing/session-routes.ts';
import { ReadSessionsResponseSchema, SessionViewSchema } from '../../../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';
import type { TenantStore } from '../../../wallets/store/contract.ts';
import { type RestApp, restApp } from '../../support/rest-app.ts';
import { SimLink } from './sim-link.ts';

const token = 'svc_sk_test_readerOfSessions';
const foreign = 'svc_sk_test_readerOfOtherSessions';
const shareless = 'svc_sk_test_readerOfNothing';
let cluster: SimCluster;
let gateway: RestApp;

beforeEach(async () => {
  cluster = new SimCluster({ seed: 'session reads', nodes: 3 });
  gateway = await restApp({
    link: new SimLink(cluster),
    // These routes write nothing.
    store: {} as TenantStore,
    routes: ({ calls, cluster: view }) => sessionReadRoutes(sessionReads(calls, view)),
  });
  gateway.tokens.put(token, { tenant: 'tn_reader' });
  gateway.tokens.put(foreign, { id: 'tok_2', tenant: 'tn_other' });
  gateway.tokens.put(shareless, { id: 'tok_3', tenant: 'tn_reader', scopes: ['signing:initiate'] });
});
afterEach(() => gateway.stop());

// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
async function call(method: 'GET' | 'POST', url: string, payload?: object, by = token): Promise<any> {
  const headers = { authorization: `Bearer ${by}` };
  const answer = await gateway.http.inject({ method, url, headers, ...(payload && { payload }) });
  return { status: answer.statusCode, ...answer.json() };
}

async function sign(intent: string): Promise<string> {
  const message_hash = Buffer.alloc(32, 7).toString('base64');
  const asked = { transaction_intent_id: intent, wallet_id: 'k', message_hash };
  return (await call('POST', '/v1/signing/initiate', asked)).signing_session_id;
}

async function key(): Promise<void> {
  await call('POST', '/v1/dkg/initiate', { session_id: 'k', threshold: 2, total_nodes: 3 });
  await call('POST', '/v1/dkg/shares', { session_id: 'k' });
}

describe('GET /v1/sessions', () => {
  it('tells of a key and a signature what their calls were told', async () => {
    await key();
    const id = await sign('one');
    const open = await call('GET', `/v1/sessions/${id}`);
    expect(open).toMatchObject({
      ...{ status: 200, id, kind: 'signing', state: 'RECEIPT_STATE_ACCEPTED', requested_by: 'client', epoch: 1 },
      ...{ intent_id: 'one', key_id: 'k', curve: 'secp256k1', signature: null, recovery_id: null, public_key: null },
      // SHA-256 of 32 bytes of 7.
      message_sha256: '4bb06f8e4e3a7715d201d573d0aa423762e55dabd61a2c02278fa56cc6d294e0',
    });
    const done = await call('POST', '/v1/signing/share', { signing_session_id: id });
    const read = await call('GET', `/v1/sessions/${id}`);
    expect(read).toMatchObject({ state: 'RECEIPT_STATE_BACKEND_COMPLETED', reason_code: 'SIGNATURE_COMPLETED' });
    expect(read.signature).toBe(Buffer.from(done.full_signature, 'base64').toString('hex'));
    expect(read.checkpoint_id).toBe(done.checkpoint.checkpoint_id);
    expect(read.submitted).toHaveLength(2);
    const made = await call('GET', '/v1/sessions/k');
    expect(made).toMatchObject({ kind: 'dkg', threshold: 2, total_nodes: 3, intent_id: null, signature: null });
    expect(made.public_key).toMatch(/^0[23][0-9a-f]{64}$/);
    expect(JSON.stringify([read, made, open])).not.toContain('token');
  });

  it('lists page by page, and by kind and state', async () => {
    await key();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) ids.push(await sign(`intent ${index}`));
    await call('POST', '/v1/signing/share', { signing_session_id: ids[1] });
    const listed: string[] = [];
    let cursor = '';
    do {
      const page = await call('GET', `/v1/sessions?limit=2${cursor}`);
      listed.push(...page.sessions.map(({ id }: { id: string }) => id));
      cursor = page.has_more ? `&cursor=${page.next_cursor}` : '';
    } while (cursor !== '');
    expect(new Set(listed)).toEqual(new Set(['k', ...ids]));
    expect(listed).toHaveLength(6);
    const of = async (query: string) =>
      (await call('GET', `/v1/sessions?${query}`)).sessions.map(({ id }: { id: string }) => id);
    expect(await of('kind=dkg')).toEqual(['k']);
    expect(await of('kind=signing&state=RECEIPT_STATE_BACKEND_COMPLETED')).toEqual([ids[1]]);
    expect(await of('state=RECEIPT_STATE_PENDING_HUMAN_APPROVAL')).toEqual([]);
  });

  it('shows a tenant its own sessions, and a token without the scope none', async () => {
    await key();
    const id = await sign('one');
    expect(await call('GET', `/v1/sessions/${id}`, undefined, foreign)).toEqual({
      ...(await call('GET', '/v1/sessions/sig_unknown', undefined, foreign)),
      error: expect.objectContaining({ code: 'not_found' }),
    });
    expect(await call('GET', '/v1/sessions', undefined, foreign)).toMatchObject({ sessions: [], has_more: false });
    for (const url of ['/v1/sessions', `/v1/sessions/${id}`]) {
      expect(await call('GET', url, undefined, shareless)).toMatchObject({ status: 403 });
    }
    expect(await call('GET', '/v1/sessions?cursor=AAAA')).toMatchObject({ status: 400 });
    expect(await call('GET', '/v1/sessions?state=APPROVED')).toMatchObject({ status: 400 });
    expect(await call('GET', '/v1/sessions/no%2Fid')).toMatchObject({ status: 404 });
  });
});

test('pages of several clusters make one list: nothing is lost, nothing comes twice', () => {
  const session = fc.record({ atMs: fc.integer({ min: 1, max: 6 }), id: fc.uuid() });
  const clusters = fc.array(fc.uniqueArray(session, { selector: ({ id }) => id, maxLength: 12 }), { maxLength: 3 });
  fc.assert(
    fc.property(clusters, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 4 }), (stored, limit, scanMax) => {
      const newest = (a: Place, b: Place) => b.atMs - a.atMs || (a.id === b.id ? 0 : a.id < b.id ? 1 : -1);
      const listed: Place[] = [];
      let after: Place | undefined;
      for (let page = 0; page <= stored.flat().length; page++) {
        const place = after;
        const pages = stored.map((sessions) => {
          const rest = sessions.filter((one) => place === undefined || newest(place, one) < 0).sort(newest);
          // A cluster looks at so many and gives up.
          const given = rest.slice(0, Math.min(limit, scanMax));
          const end = given.length < rest.length ? given.at(-1) : undefined;
          return create(ReadSessionsResponseSchema, {
            sessions: given.map(({ atMs, id }) =>
              create(SessionViewSchema, { sessionId: id, createdAtEpochMs: BigInt(atMs) }),
            ),
            ...(end && { nextEpochMs: BigInt(end.atMs), nextId: end.id }),
          });
        });
        const { sessions, next } = merged(pages, limit);
        expect(sessions.length).toBeLessThanOrEqual(limit);
        listed.push(...sessions.map((one) => ({ atMs: Number(one.createdAtEpochMs), id: one.sessionId })));
        if (next === undefined) break;
        after = next;
      }
      expect(listed).toEqual(stored.flat().sort(newest));
    }),
  );
});

test('a page that holds all there is says that there is no more', () => {
  const page = (...ids: readonly string[]) => {
    const sessions = ids.map((sessionId) => create(SessionViewSchema, { sessionId, createdAtEpochMs: 5n }));
    return create(ReadSessionsResponseSchema, { sessions });
  };
  const idsOf = (limit: number) => {
    const { sessions, next } = merged([page('c', 'a'), page('b')], limit);
    return [sessions.map(({ sessionId }) => sessionId).join(''), next];
  };
  // Of one millisecond the higher id is the newer.
  expect(idsOf(3)).toEqual(['cba', undefined]);
  expect(idsOf(2)).toEqual(['cb', { atMs: 5, id: 'b' }]);
  expect(merged([], 1)).toEqual({ sessions: [], next: undefined });
});

interface Place {
  readonly atMs: number;
  readonly id: string;
}

/** The scripts of the outbox of webhooks, one by one. outbox.test.ts runs random lives over all of them. */
import { expect, test } from 'vitest';
import { describeScript, type ScriptUnderTest } from '../../../support/redis-script.ts';

const prefixKey = 'sm:{t:a}:';
const p = prefixKey;
const keys = { prefixKey };
const webhookId = 'whk_1';
const log = `${p}ix:deliveries:${webhookId}`;
const out = `${p}hko:${webhookId}`;
const retry = `${p}hkr:${webhookId}`;
const state = `${p}hk:${webhookId}`;
const at = 1_800_000_000_000;
/** A delivery's id, which begins with its time. */
const idAt = (ms: number, tail = '0') => {
  const time = ms.toString(16).padStart(12, '0');
  return `dlv_${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${tail.padStart(12, '0')}`;
};

async function stand({ redis }: ScriptUnderTest, id: string, status: string, more: object = {}) {
  await redis.hset(`${p}r:${id}`, { v: 1, s: status, t: 2, q: 7, ...more });
  await redis.zadd(log, 0, id);
  await redis.zadd(`${log}:${status}`, 0, id);
}

describeScript('wallets/delivery/deliveries/begin.lua', (script) => {
  test('the first cursor stays', async () => {
    expect(await script.call(keys, { webhookId, cursor: 5 })).toBe(1);
    expect(await script.refused(keys, { webhookId, cursor: 9 })).toBe(0);
    expect(await script.redis.hget(state, 'c')).toBe('5');
    expect(await script.redis.smembers(`${p}hk`)).toEqual([webhookId]);
  });
});

describeScript('wallets/delivery/deliveries/depth.lua', (script) => {
  test('what waits, where the cursor is and since when it fails', async () => {
    expect(await script.refused(keys, { webhookId })).toEqual([0, 0, '', '0', '']);
    await script.redis.hset(state, { c: 3, f: at });
    await script.redis.hset(`${p}seq`, 'n', 8);
    await script.redis.zadd(out, at, 'a');
    await script.redis.zadd(retry, at, 'b', at, 'c');
    expect(await script.refused(keys, { webhookId })).toEqual([1, 2, '3', '8', String(at)]);
  });
});

describeScript('wallets/delivery/deliveries/release.lua', (script) => {
  test.each<[string, 'drop' | 'hold', number, boolean, boolean]>([
    ['delivered', 'drop', 1, false, false],
    ['failed', 'hold', 1, false, false],
    ['queued', 'drop', 0, true, false],
    ['queued', 'hold', 1, false, true],
    ['retrying', 'hold', 1, false, true],
  ])('one that is %s, to %s: %i', async (status, how, reply, stays, waits) => {
    await stand(script, 'd', status);
    await script.redis.zadd(out, at - 5, 'd');
    expect(await script.call(keys, { webhookId, id: 'd', how, nowMs: at })).toBe(reply);
    expect(await script.redis.zscore(out, 'd')).toBe(stays ? String(at - 5) : null);
    expect(await script.redis.zscore(retry, 'd')).toBe(waits ? String(at) : null);
  });

  test('one that is not outstanding does not come to wait', async () => {
    await stand(script, 'd', 'queued');
    expect(await script.refused(keys, { webhookId, id: 'd', how: 'hold', nowMs: at })).toBe(0);
  });
});

describeScript('wallets/delivery/deliveries/take-overdue.lua', (script) => {
  test('those put on their way before a time count as put there now; final ones leave', async () => {
    for (const [id, status] of [
      ['a', 'queued'],
      ['b', 'delivered'],
      ['c', 'retrying'],
      ['new', 'queued'],
    ] as const) {
      await stand(script, id, status);
    }
    await script.redis.zadd(out, 1, 'a', 2, 'b', 3, 'c', 9, 'new');
    const take = (limit: number) => script.call(keys, { webhookId, beforeMs: 5, nowMs: at, limit });
    expect(await take(2)).toEqual([['a', 2, '7']]);
    expect(await take(9)).toEqual([['c', 2, '7']]);
    expect(await script.redis.zrange(out, '0', '-1')).toEqual(['new', 'a', 'c']);
  });
});

describeScript('wallets/delivery/deliveries/move.lua', (script) => {
  const move = (more: object = {}) => ({
    ...{ webhookId, id: 'd', version: 1, statusBefore: 'queued', statusAfter: 'retrying', record: '{}', tries: 3 },
    ...{ place: 'retry', placeMs: at + 50, endpoint: 'failed', nowMs: at, ...more },
  });

  test('record, indices, lists and the state of the receiver change in one step, once', async () => {
    await stand(script, 'd', 'queued');
    await script.redis.zadd(out, at, 'd');
    expect(await script.call(keys, move())).toEqual(['ok', String(at), 0]);
    expect(await script.redis.hmget(`${p}r:d`, 'v', 's', 'd', 't')).toEqual(['2', 'retrying', '{}', '3']);
    expect(await script.redis.exists(out, `${log}:queued`)).toBe(0);
    expect(await script.redis.zscore(retry, 'd')).toBe(String(at + 50));
    expect(await script.redis.zrange(`${log}:retrying`, '0', '-1')).toEqual(['d']);
    expect(await script.refused(keys, move())).toEqual(['conflict']);
    // The receiver has failed since its first failure.
    const again = move({ version: 2, statusBefore: 'retrying', nowMs: at + 9 });
    expect(await script.call(keys, again)).toEqual(['ok', String(at), 0]);
    const delivered = { version: 3, statusBefore: 'retrying', statusAfter: 'delivered', place: '', placeMs: '' };
    expect(await script.call(keys, move({ ...delivered, endpoint: 'answered' }))).toEqual(['ok', '', 0]);
    expect(await script.redis.exists(out, retry, state)).toBe(0);
  });

  test.each<[string, object]>([
    ['events lie behind the cursor', { c: 3 }],
    ['a retry is due', {}],
  ])('says that there is more to do: %s', async (_, known) => {
    await stand(script, 'd', 'queued');
    await script.redis.hset(state, { x: 1, ...known });
    await script.redis.hset(`${p}seq`, 'n', 4);
    if (!('c' in known)) await script.redis.zadd(retry, at, 'other');
    expect(await script.call(keys, move({ endpoint: '' }))).toEqual(['ok', '', 1]);
  });
});

const retention = { nowMs: at, retainedMax: 2, retentionMs: 1_000 };
const trimmed = async (script: ScriptUnderTest) => {
  const ids = [idAt(at - 1_001), idAt(at - 1_000), idAt(at - 10), idAt(at - 5), idAt(at)];
  for (const [k, id] of ids.entries()) await stand(script, id, k === 4 ? 'queued' : k === 3 ? 'failed' : 'delivered');
  return ids;
};

describeScript('wallets/delivery/deliveries/trim-webhook-log.lua', (script) => {
  const trim = (more: object) => script.call(keys, { webhookId, ...retention, limit: 9, ...more });
  test.each<[string, object, number]>([
    ['too many: the oldest that arrived go first', { retentionMs: 99_999 }, 3],
    ['too old', { retainedMax: 9 }, 1],
    ['a bounded number of each status', { limit: 1 }, 2],
    ['nothing', { retainedMax: 9, retentionMs: 99_999 }, 0],
  ])('%s', async (_, more, gone) => {
    const ids = await trimmed(script);
    expect(await trim(more)).toBe(gone);
    const left = await script.redis.zrange(log, '0', '-1');
    expect(left).toHaveLength(5 - gone);
    expect(left).toContain(ids[4]);
    for (const id of ids) expect(await script.redis.exists(`${p}r:${id}`)).toBe(left.includes(id) ? 1 : 0);
  });
});

describeScript(
  'wallets/delivery/deliveries/trim-deliveries.lua',
  (script) => {
    test('what is on its way stays, however old', async () => {
      await stand(script, idAt(1), 'queued');
      await stand(script, idAt(1, '1'), 'retrying');
      expect(await script.refused(keys, { webhookId })).toBe(0);
    });
  },
  {
    body: `-- @keys prefixKey\n-- @args webhookId\nreturn trim_deliveries(prefixKey, webhookId, '${at}', '0', '1', 9)`,
  },
);

describeScript(
  'wallets/delivery/deliveries/remove-delivery.lua',
  (script) => {
    test('the record and its places in the log go', async () => {
      await stand(script, 'd', 'failed');
      await script.call(keys, { webhookId });
      expect(await script.redis.dbsize()).toBe(0);
    });
  },
  { body: "-- @keys prefixKey\n-- @args webhookId\nremove_delivery(prefixKey, webhookId, 'd', 'failed')" },
);

describeScript('wallets/delivery/deliveries/clear.lua', (script) => {
  test('all of a removed webhook goes, a bounded number at a time; one that exists keeps all', async () => {
    for (const id of ['a', 'b', 'c']) await stand(script, id, 'failed');
    await script.redis.sadd(`${p}hk`, webhookId);
    await script.redis.hset(state, 'c', 1);
    await script.redis.zadd(retry, 1, 'a');
    await script.redis.hset(`${p}r:${webhookId}`, 'v', 1);
    expect(await script.refused(keys, { webhookId, limit: 2 })).toBe(0);
    await script.redis.del(`${p}r:${webhookId}`);
    expect(await script.call(keys, { webhookId, limit: 2 })).toBe(0);
    expect(await script.call(keys, { webhookId, limit: 2 })).toBe(1);
    expect(await script.redis.dbsize()).toBe(0);
  });
});

describeScript('wallets/delivery/deliveries/outboxes.lua', (script) => {
  test('each webhook with what waits for it and when its log is to be trimmed; removed ones by their ids', async () => {
    await script.redis.zadd(`${p}ix:webhooks`, 0, webhookId, 0, 'whk_expired');
    await script.redis.hset(`${p}r:${webhookId}`, { v: 4, s: 'enabled' });
    await script.redis.sadd(`${p}hk`, webhookId, 'whk_gone');
    await script.redis.hset(`${p}seq`, 'n', 9);
    const first = [webhookId, '4', 'enabled', '', 0, 0, '', '', ''];
    expect(await script.refused(keys, retention)).toEqual(['9', [first], ['whk_gone']]);
    await script.redis.hset(state, 'c', 3);
    await script.redis.zadd(out, 11, 'a');
    await script.redis.zadd(retry, 22, 'b');
    await stand(script, idAt(at - 10), 'failed');
    const waits = [webhookId, '4', 'enabled', '3', 1, 1, '22', '11', String(at - 10 + 1_001)];
    expect(await script.refused(keys, retention)).toEqual(['9', [waits], ['whk_gone']]);
    expect(await script.refused(keys, { ...retention, retainedMax: 0 })).toEqual([
      '9',
      [[...waits.slice(0, -1), String(at)]],
      ['whk_gone'],
    ]);
  });
});

describeScript('wallets/delivery/deliveries/dispatch.lua', (script) => {
  const call = (more: object = {}) =>
    script.call(keys, {
      ...{ webhookId, version: 1, window: 3, failingWindow: 1, retryingMax: 10, retainedMax: 99, retentionMs: 1e9 },
      ...{ nowMs: at, types: [], ...more },
    }) as Promise<[string, number, number, [string, number, string][], [string][]]>;
  const append = async (sequence: number, type = 'thing.a', about = 'x') => {
    const id = `evt_${idAt(at - 100 + sequence, String(sequence)).slice(4)}`;
    const entry = { id, type, at, max: at, rt: 'thing', ri: about, rv: 1, cor: 'c', pr: '', con: '', obj: '{}' };
    await script.redis.xadd(`${p}evt`, `${sequence}-0`, ...Object.entries(entry).flat().map(String));
    await script.redis.hset(`${p}seq`, 'n', sequence);
  };
  const begin = async (events: number) => {
    await script.redis.hset(`${p}r:${webhookId}`, { v: 1, s: 'enabled' });
    await script.redis.hset(state, 'c', 0);
    for (let k = 1; k <= events; k++) await append(k);
  };
  const sequences = (jobs: [string, number, string][]) => jobs.map(([, , sequence]) => sequence);

  test('each event once, as many as the window has room for; record, log and list agree', async () => {
    await begin(4);
    const [verdict, more, skipped, jobs, entries] = await call();
    expect([verdict, more, skipped, sequences(jobs), entries.length]).toEqual(['ok', 0, 0, ['1', '2', '3'], 3]);
    expect((await script.redis.zrange(out, '0', '-1')).sort()).toEqual(jobs.map(([id]) => id).sort());
    expect(await script.redis.zrange(`${log}:queued`, '0', '-1')).toEqual(await script.redis.zrange(log, '0', '-1'));
    const record = await script.redis.hget(`${p}r:${jobs[0]![0]}`, 'd');
    expect(JSON.parse(record!)).toMatchObject({ id: jobs[0]![0], webhookId, sequence: 1, status: 'queued' });
    expect((await call())[3]).toEqual([]);
    await script.redis.del(out);
    expect(sequences((await call())[3])).toEqual(['4']);
    expect(await script.redis.hget(state, 'c')).toBe('4');
  });

  test('retries that are due come first; a webhook that fails has a smaller window', async () => {
    await begin(2);
    await stand(script, 'old', 'retrying');
    await script.redis.zadd(retry, at, 'old', at + 1, 'later');
    await script.redis.hset(state, 'f', at);
    expect((await call())[3]).toEqual([['old', 2, '7']]);
    expect((await call({ failingWindow: 2, retryingMax: 1 }))[3]).toEqual([]);
  });

  test('types choose; a ping is for its own webhook; events that are gone are counted', async () => {
    await begin(0);
    await append(3, 'thing.a');
    await append(4, 'other.a');
    await append(5, 'webhook.ping', 'whk_2');
    await append(6, 'webhook.ping', webhookId);
    const [, , skipped, jobs] = await call({ types: ['thing.*'] });
    expect([skipped, sequences(jobs)]).toEqual([2, ['3', '6']]);
  });

  test.each<[string, object]>([
    ['at another version', { v: 2, s: 'enabled' }],
    ['not enabled', { v: 1, s: 'disabled' }],
  ])('a webhook that is %s has no deliveries, and nothing has changed', async (_, record) => {
    await begin(1);
    await script.redis.hset(`${p}r:${webhookId}`, record);
    const before = await script.content();
    expect(await call()).toEqual(['changed']);
    expect(await script.content()).toBe(before);
  });
});

/** The scripts of sessions: fences, epochs, guards and wallet keys; every refusal changes nothing. */
import { describe, expect, test } from 'vitest';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { describeScript, type ScriptUnderTest } from '../support/redis-script.ts';

const { ACCEPTED, PENDING_HUMAN_APPROVAL, RESUMED, BACKEND_COMPLETED, BACKEND_FAILED } = ReceiptState;
const at = 1_800_000_000_000;
const prefix = 'sm:{t:a}:';
const keys = { fenceKey: `${prefix}fence`, endingKey: `${prefix}ending`, listKey: `${prefix}sessions` };
const sessionKey = `${prefix}session:s1`;
const guardKey = `${prefix}intent:i`;
const openKey = `${prefix}open:k`;
const closedKey = `${prefix}closed:k`;
const keyRecordKey = `${prefix}key:k`;
const keyRecord = (scheme: string, version?: number) => `${'m'.repeat(22)}${JSON.stringify({ scheme, version })}`;
const session = (epoch: number, checkpointId = `c${epoch}`, state: number = ACCEPTED) => ({
  ...{ epoch, state, reasonCode: '', message: '', checkpointId, checkpointMs: at, expiresMs: at + 1_000 },
  ...{ data: '{}', cluster: 1, mac: 'm' },
});
const event = (id: string) => ({
  ...{ id, type: 'session.changed', atMs: at, resourceType: 'session', resourceId: 's1', resourceVersion: 1 },
  ...{ correlationId: 'c', provider: '', connectionId: '', object: '{}' },
});
const eventIds = async ({ redis }: ScriptUnderTest) =>
  (await redis.xrange(`${prefix}evt`, '-', '+')).map(([, fields]) => fields[1]);

const noEvent = { ...event(''), type: '' };
const toKey = (scheme: string) => ({ keyId: 'k', keyRecord: keyRecord(scheme), boundScheme: scheme });
const noKey = { keyId: '', keyRecord: '', boundScheme: '' };
const create = (more: object = {}) => ({
  ...{ kind: 'create', sessionId: 's1', nowMs: at, guard: 'intent:i', walletKey: 'k', change: 'checked' },
  ...{ endsAtMs: at + 1_000, counted: '', ...noKey, ...session(1), ...event('evt_1') },
  ...more,
});
const update = (more: object = {}) => ({
  ...create(),
  ...{ kind: 'update', change: '', ...session(2), ...event('evt_2') },
  ...more,
});
const args = (writes: readonly object[], bytesMax: number | '' = '') => ({
  ...{ fence: 5, retentionMs: 60_000, prefix, bytesMax, writes },
});

describeScript('coordinator/store/write-sessions.lua', (script) => {
  const write = async (...writes: readonly object[]) => (await script.call(keys, args(writes))) as string[][];
  const refused = async (...writes: readonly object[]) => (await script.refused(keys, args(writes))) as string[][];
  const other = (state: number, expiresMs = at + 500) =>
    script.redis.hset(`${prefix}session:s0`, { epoch: 3, state, expiresMs, checkpointId: 'c' });
  const stand = async () => {
    await script.redis.set(keys.fenceKey, 5);
    await script.redis.hset(sessionKey, { epoch: 1, checkpointId: 'c1' });
    await script.redis.zadd(keys.endingKey, at, 's1');
    await script.redis.zadd(openKey, at, 's1');
  };

  describe('a new session', () => {
    test('with guard, open sessions, lifetime and event is written in one step; to repeat it writes nothing', async () => {
      await script.redis.zadd(openKey, at - 1, 'over');
      // The list forgets what began long before the time for which a session is kept.
      await script.redis.zadd(keys.listKey, 1, 'forgotten');
      expect(await write(create())).toEqual([['OK']]);
      expect(await script.redis.zrange(keys.listKey, '0', '-1', 'WITHSCORES')).toEqual(['s1', String(at)]);
      expect(await script.redis.pttl(keys.listKey)).toBeGreaterThan(100_000);
      expect(await script.redis.hmget(sessionKey, 'epoch', 'state', 'mac')).toEqual(['1', String(ACCEPTED), 'm']);
      expect(await script.redis.get(guardKey)).toBe('s1');
      expect(await script.redis.zrange(openKey, '0', '-1', 'WITHSCORES')).toEqual(['s1', String(at + 1_000)]);
      expect(await script.redis.zscore(keys.endingKey, 's1')).toBe(String(at + 1_000));
      expect(await script.redis.get(keys.fenceKey)).toBe('5');
      expect(await script.redis.pttl(sessionKey)).toBeGreaterThan(50_000);
      expect(await refused(create())).toEqual([['OK']]);
      expect(await eventIds(script)).toEqual(['evt_1']);
    });

    test('an intent is held as long as its session is retained, by the service’s time', async () => {
      await script.redis.set(keys.fenceKey, 5);
      await script.redis.set(guardKey, 's0');
      await other(BACKEND_COMPLETED);
      await script.redis.hset(`${prefix}session:s0`, 'checkpointMs', at - 59_999);
      expect((await refused(create()))[0]![0]).toBe('INTENT_TAKEN');
      await script.redis.hset(`${prefix}session:s0`, 'checkpointMs', at - 60_000);
      expect(await write(create())).toEqual([['OK']]);
      expect(await script.redis.get(guardKey)).toBe('s1');
      // Redis drops it, and the session, a day later.
      for (const key of [guardKey, sessionKey]) expect(await script.redis.pttl(key)).toBeGreaterThan(86_400_000);
    });

    test.each<[string, () => Promise<unknown>, object, string]>([
      ['a newer coordinator', () => script.redis.set(keys.fenceKey, 6), {}, 'FENCED'],
      ['another session of this id', () => script.redis.hset(sessionKey, 'checkpointId', 'x'), {}, 'SESSION_EXISTS'],
      ['a closed key', () => script.redis.set(closedKey, 1), {}, 'KEY_CLOSED'],
      ['a key that is gone', async () => undefined, toKey('a'), 'KEY_BOUND'],
      ['a key bound to another scheme', () => script.redis.set(keyRecordKey, keyRecord('b')), toKey('a'), 'KEY_BOUND'],
      ['a key that cannot be read', () => script.redis.set(keyRecordKey, 'broken'), toKey('a'), 'KEY_BOUND'],
    ])('%s is refused, and nothing has changed', async (_, arrange, more, code) => {
      await script.redis.set(keys.fenceKey, 5);
      await arrange();
      expect((await refused(create(more)))[0]![0]).toBe(code);
    });

    test('of a wallet key with 10,000 sessions that have not ended is refused to clients alone; those past their lifetime do not count', async () => {
      await script.redis.set(keys.fenceKey, 5);
      const stand = (count: number, endsMs: number) =>
        script.redis.zadd(
          openKey,
          ...Array.from({ length: count }, (_, index) => [endsMs, `${endsMs}-${index}`]).flat(),
        );
      await stand(9_999, at + 500);
      await stand(1_000, at - 1);
      const client = (sessionId: string) => create({ sessionId, counted: '1', guard: `intent:${sessionId}` });
      expect(await write(client('s2'))).toEqual([['OK']]);
      expect(await refused(client('s3'))).toEqual([['OPEN_QUOTA']]);
      expect(await write(create())).toEqual([['OK']]);
    });

    test.each<[string, number, number, string]>([
      ['completed', BACKEND_COMPLETED, at - 1, 'INTENT_TAKEN'],
      ['accepted', ACCEPTED, at + 1, 'INTENT_TAKEN'],
      ['pending', PENDING_HUMAN_APPROVAL, at + 1, 'INTENT_TAKEN'],
      ['resumed', RESUMED, at + 1, 'INTENT_TAKEN'],
      ['live, its lifetime over', RESUMED, at, 'INTENT_HELD'],
      ['failed', BACKEND_FAILED, at + 1, 'INTENT_HELD'],
    ])('an intent held by a session that is %s', async (_, state, expiresMs, code) => {
      await script.redis.set(keys.fenceKey, 5);
      await script.redis.set(guardKey, 's0');
      await other(state, expiresMs);
      expect((await refused(create()))[0]![0]).toBe(code);
    });

    test('the session that held the intent ends in the same step, if its next epoch is meant', async () => {
      await script.redis.set(guardKey, 's0');
      await other(BACKEND_FAILED);
      await script.redis.zadd(keys.endingKey, at, 's0');
      const held = (epoch: number) =>
        create({ kind: 'held', sessionId: 's0', ...session(epoch, 'end', 10), ...event('evt_0') });
      await script.redis.set(keys.fenceKey, 5);
      expect((await refused(held(5), create()))[1]![0]).toBe('INTENT_HELD');
      expect(await write(held(4), create())).toEqual([['OK'], ['OK']]);
      expect(await script.redis.hmget(`${prefix}session:s0`, 'epoch', 'state')).toEqual(['4', '10']);
      expect(await script.redis.zrange(keys.endingKey, '0', '-1')).toEqual(['s1']);
      expect(await eventIds(script)).toEqual(['evt_0', 'evt_1']);
      expect(await script.redis.get(guardKey)).toBe('s1');
    });

    test('what a session takes is counted, and at the quota none begins, within one script either', async () => {
      const bytes = async () => Number(await script.redis.hget(`${prefix}use`, 'all'));
      const large = create({ counted: '1', data: 'x'.repeat(5_000) });
      const next = { sessionId: 's2', guard: 'intent:j', checkpointId: 'c', counted: '1' };
      expect(await script.call(keys, args([large, create(next)], 1))).toEqual([['OK'], ['QUOTA']]);
      expect(await bytes()).toBeGreaterThan(5_000);
      const standing = await bytes();
      expect(await script.refused(keys, args([create(next)], standing))).toEqual([['QUOTA']]);
      expect(await script.call(keys, args([create({ ...next, counted: '' })], standing))).toEqual([['OK']]);
    });

    test('a key is bound, from none or from its own scheme', async () => {
      for (const [sessionId, scheme] of [
        ['s1', ''],
        ['s2', 'a'],
      ] as const) {
        await script.redis.set(keyRecordKey, keyRecord(scheme));
        expect(await write(create({ sessionId, guard: '', change: '', ...toKey('a') }))).toEqual([['OK']]);
        expect(await script.redis.get(keyRecordKey)).toBe(keyRecord('a'));
      }
    });
  });

  describe('the next epoch', () => {
    test.each<[string, object, string | null, string | null]>([
      ['continues', { change: 'goesOn' }, String(at + 1_000), String(at + 1_000)],
      ['ends', { change: 'ends', endsAtMs: '' }, null, null],
      ['completes', { change: 'completes', endsAtMs: '' }, null, null],
      ['is of no wallet key', {}, String(at), String(at + 1_000)],
      ['changes without an event', { ...noEvent, endsAtMs: '' }, String(at), String(at)],
    ])('is written once: a session that %s', async (_, more, open, ending) => {
      await stand();
      expect(await write(update(more))).toEqual([['OK']]);
      expect(await script.redis.hmget(sessionKey, 'epoch', 'checkpointId')).toEqual(['2', 'c2']);
      expect(await script.redis.zscore(openKey, 's1')).toBe(open);
      expect(await script.redis.zscore(keys.endingKey, 's1')).toBe(ending);
      expect(await eventIds(script)).toEqual('id' in more ? [] : ['evt_2']);
      expect(await refused(update(more))).toEqual([['OK']]);
    });

    test('is written with the key that it made', async () => {
      await stand();
      expect(await write(update({ keyId: 'k', keyRecord: 'made' }))).toEqual([['OK']]);
      expect(await script.redis.get(keyRecordKey)).toBe('made');
    });

    test.each<[string, () => Promise<unknown>, object, string]>([
      ['a newer coordinator', () => script.redis.set(keys.fenceKey, 6), {}, 'FENCED'],
      ['an epoch that was written otherwise', async () => undefined, session(1, 'x'), 'EPOCH'],
      ['an epoch that leaves one out', async () => undefined, session(3), 'EPOCH'],
      ['a session that is gone', () => script.redis.del(sessionKey), {}, 'EPOCH'],
      ['a closed key, to continue', () => script.redis.set(closedKey, 1), { change: 'goesOn' }, 'KEY_CLOSED'],
      ['a closed key, to complete', () => script.redis.set(closedKey, 1), { change: 'completes' }, 'KEY_CLOSED'],
      ['a key bound to another scheme', () => script.redis.set(keyRecordKey, keyRecord('b')), toKey('a'), 'KEY_BOUND'],
    ])('%s is refused, and nothing has changed', async (_, arrange, more, code) => {
      await stand();
      await arrange();
      expect((await refused(update(more)))[0]![0]).toBe(code);
    });

    test('what a session takes is counted anew', async () => {
      const bytes = async () => Number(await script.redis.hget(`${prefix}use`, 'all'));
      await write(create({ data: 'x'.repeat(5_000) }));
      const before = await bytes();
      await write(update({ data: 'x'.repeat(4_000) }));
      expect(await bytes()).toBe(before - 1_000);
    });
  });

  describe('several at once', () => {
    test('each sees those before it, and one that is refused or fails does not concern the others', async () => {
      await script.redis.set(`${prefix}session:bad`, 'no hash');
      const replies = await write(
        create(),
        create({ sessionId: 's2', checkpointId: 'x', ...event('evt_x') }),
        create({ sessionId: 'bad', guard: '', ...event('evt_bad') }),
        update(),
        create({ sessionId: 's3', guard: 'intent:j', ...event('evt_3') }),
      );
      expect(replies.map(([code]) => code)).toEqual(['OK', 'INTENT_TAKEN', 'ERROR', 'OK', 'OK']);
      expect(replies[2]![1]).toMatch(/WRONGTYPE/);
      expect(await script.redis.hget(sessionKey, 'epoch')).toBe('2');
      expect(await script.redis.exists(`${prefix}session:s2`)).toBe(0);
      expect(await eventIds(script)).toEqual(['evt_1', 'evt_2', 'evt_3']);
      expect(await script.redis.hmget(`${prefix}seq`, 'n')).toEqual(['3']);
    });

    test('a newer coordinator refuses them all', async () => {
      await script.redis.set(keys.fenceKey, 6);
      expect(await refused(create(), create({ sessionId: 's2' }))).toEqual([['FENCED'], ['FENCED']]);
    });
  });
});

describeScript('coordinator/store/close-key.lua', (script) => {
  test('a key is closed by the newest coordinator alone', async () => {
    const { fenceKey } = keys;
    await script.redis.set(fenceKey, 6);
    expect(await script.refused({ fenceKey, closedKey }, { fence: 5 })).toEqual(['FENCED']);
    expect(await script.call({ fenceKey, closedKey }, { fence: 7 })).toEqual(['OK']);
    expect(await script.redis.mget(fenceKey, closedKey)).toEqual(['7', '1']);
  });
});

describeScript('coordinator/store/overdue-sessions.lua', (script) => {
  test('live and failed sessions past their lifetime are found; what disagrees with its session is put right', async () => {
    const ending = `${prefix}ending`;
    const find = (limit: number) => script.call({ endingKey: ending }, { prefix, nowMs: at, limit });
    expect(await find(9)).toEqual([[], '']);
    const stand = async (id: string, state: number, expiresMs: number, score = expiresMs) => {
      await script.redis.hset(`${prefix}session:${id}`, { state, expiresMs });
      await script.redis.zadd(ending, score, id);
    };
    await stand('accepted', ACCEPTED, at - 3);
    await stand('pending', PENDING_HUMAN_APPROVAL, at - 2);
    await stand('resumed', RESUMED, at - 1);
    await stand('failed', BACKEND_FAILED, at);
    await stand('completed', BACKEND_COMPLETED, at);
    await stand('extended', RESUMED, at + 7, at);
    await stand('later', RESUMED, at + 9);
    await script.redis.zadd(ending, at, 'gone');
    expect(await find(2)).toEqual([['accepted', 'pending'], String(at - 3)]);
    expect(await find(99)).toEqual([['accepted', 'pending', 'resumed', 'failed'], String(at - 3)]);
    expect((await script.redis.zrange(ending, '0', '-1')).slice(4)).toEqual(['extended', 'later']);
  });

  test('records that something else replaced leave the set, and keep no other session from its end', async () => {
    const ending = `${prefix}ending`;
    await script.redis.set(`${prefix}session:text`, 'x');
    await script.redis.hset(`${prefix}session:endless`, { state: ACCEPTED, expiresMs: 'soon' });
    await script.redis.hset(`${prefix}session:right`, { state: ACCEPTED, expiresMs: at });
    await script.redis.zadd(ending, at - 2, 'text', at - 1, 'endless', at, 'right');
    expect(await script.call({ endingKey: ending }, { prefix, nowMs: at, limit: 9 })).toEqual([['right'], String(at)]);
    expect(await script.redis.zrange(ending, '0', '-1')).toEqual(['right']);
  });
});

describeScript('coordinator/store/list-sessions.lua', (script) => {
  const { listKey } = keys;
  const args = (more: object = {}) => {
    return { prefix, kind: '', states: '', afterMs: '+inf', afterId: '', limit: 2, scanMax: 9, ...more };
  };
  const list = async (more?: object): Promise<unknown> => {
    const [records, ...next] = (await script.call({ listKey }, args(more))) as [string[][], string, string];
    return [records.map((fields) => fields[fields.indexOf('checkpointId') + 1]), ...next];
  };
  const stand = async (id: string, atMs: number, state: number = ACCEPTED) => {
    await script.redis.zadd(listKey, atMs, id);
    await script.redis.hset(`${prefix}session:${id}`, { state, checkpointId: id });
  };

  test('pages go from the newest on, by ids where times are equal', async () => {
    expect(await list()).toEqual([[], '', '']);
    await Promise.all(['a', 'sig_b', 'sig_c', 'd'].map((id) => stand(id, 5)));
    await stand('new', 7);
    expect(await list()).toEqual([['new', 'sig_c'], '5', 'sig_c']);
    expect(await list({ afterMs: 5, afterId: 'sig_c' })).toEqual([['sig_b', 'd'], '5', 'd']);
    expect(await list({ afterMs: 5, afterId: 'd' })).toEqual([['a'], '', '']);
    // The session of the place is gone; the next ones are there all the same.
    await script.redis.zrem(listKey, 'sig_b');
    expect(await list({ afterMs: 5, afterId: 'sig_b' })).toEqual([['d', 'a'], '', '']);
  });

  test('kinds, states and what has left the store are passed over; a page that scanned enough says where it stands', async () => {
    await Promise.all([
      ...['a', 'b', 'sig_c'].map((id, index) => stand(id, 10 - index, RESUMED)),
      ...['sig_d', 'e'].map((id, index) => stand(id, 5 - index)),
      script.redis.zadd(listKey, 3, 'gone'),
    ]);
    expect(await list({ kind: 'signing' })).toEqual([['sig_c', 'sig_d'], '', '']);
    expect(await list({ kind: 'dkg' })).toEqual([['a', 'b'], '9', 'b']);
    expect(await list({ states: `,${ACCEPTED},` })).toEqual([['sig_d', 'e'], '', '']);
    expect(await list({ kind: 'signing', states: `,${ACCEPTED},`, limit: 1 })).toEqual([['sig_d'], '', '']);
    expect(await list({ states: `,${BACKEND_COMPLETED},`, scanMax: 2 })).toEqual([[], '9', 'b']);
  });

  test('a session that is no hash any more is named without its fields, and hides no other', async () => {
    await stand('a', 5);
    await stand('b', 4);
    await script.redis.del(`${prefix}session:a`);
    await script.redis.set(`${prefix}session:a`, 'x');
    expect(await script.call({ listKey }, args())).toEqual([
      [
        ['state', ''],
        ['state', String(ACCEPTED), 'checkpointId', 'b'],
      ],
      '',
      '',
    ]);
    expect(await list({ states: `,${ACCEPTED},` })).toEqual([['b'], '', '']);
  });

  test('more sessions of one time than Redis gives at once', async () => {
    await Promise.all(Array.from({ length: 250 }, (_, index) => stand(`s${1_000 + index}`, 5)));
    expect(await list({ afterMs: 5, afterId: 's1002' })).toEqual([['s1001', 's1000'], '', '']);
  });
});

describeScript(
  'coordinator/store/fence.lua',
  (script) => {
    test('a fence is taken by a newer coordinator and keeps older ones out', async () => {
      const call = (fence: number) => script.call({ key: keys.fenceKey }, { fence });
      expect([await call(5), await call(5), await call(4), await call(6), await call(5)]).toEqual([0, 0, 1, 0, 1]);
      expect(await script.redis.get(keys.fenceKey)).toBe('6');
    });
  },
  { body: '-- @keys key\n-- @args fence\nreturn fenced(key, fence) and 1 or 0' },
);

describeScript(
  'coordinator/store/session-record.lua',
  (script) => {
    test('a key is bound to one scheme, and for its present shares; one that is gone or unreadable is bound to none', async () => {
      const free = async (scheme: string) => (await script.call({ key: keyRecordKey }, { scheme })) === 'FREE';
      const stand = (text: string) => script.redis.set(keyRecordKey, text);
      expect(await free('a')).toBe(false);
      await stand(keyRecord(''));
      expect(await free('a')).toBe(true);
      await stand(keyRecord('a'));
      expect([await free('a'), await free('b')]).toEqual([true, false]);
      await stand(keyRecord('a', 2));
      expect([await free('a'), await free('a/2'), await free('a/3')]).toEqual([false, true, false]);
      await stand('unreadable');
      expect(await script.call({ key: keyRecordKey }, { scheme: 'a' })).toEqual(['KEY_BOUND', ['unreadable']]);
    });
  },
  { body: "-- @keys key\n-- @args scheme\nreturn bound_otherwise(key, scheme) or 'FREE'" },
);

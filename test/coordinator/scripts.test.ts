/** The scripts of sessions: fences, epochs, guards and wallet keys; every refusal changes nothing. */
import { expect, test } from 'vitest';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { describeScript, type ScriptUnderTest } from '../support/redis-script.ts';

const { ACCEPTED, PENDING_HUMAN_APPROVAL, RESUMED, BACKEND_COMPLETED, BACKEND_FAILED } = ReceiptState;
const at = 1_800_000_000_000;
const prefix = 'sm:{t:a}:';
const keys = {
  sessionKey: `${prefix}session:s1`,
  fenceKey: `${prefix}fence`,
  endingKey: `${prefix}ending`,
  guardKey: `${prefix}intent:i`,
  openKey: `${prefix}open:k`,
  closedKey: `${prefix}closed:k`,
};
const keyRecord = (scheme: string) => `${'m'.repeat(22)}{"scheme":"${scheme}"}`;
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

describeScript('coordinator/store/create-session.lua', (script) => {
  const args = (more: object = {}) => ({
    ...{ fence: 5, retentionMs: 60_000, nowMs: at, sessionId: 's1', prefix, opening: 'checked', endsAtMs: at + 1_000 },
    ...{ endedId: '', boundRecord: '', boundScheme: '', bytesMax: '', session: session(1), event: event('evt_1') },
    ...more,
  });
  const other = (state: number, expiresMs = at + 500) =>
    script.redis.hset(`${prefix}session:s0`, { epoch: 3, state, expiresMs, checkpointId: 'c' });

  test('session, guard, open sessions, lifetime and event are written in one step; to repeat it writes nothing', async () => {
    await script.redis.zadd(keys.openKey, at - 1, 'over');
    expect(await script.call(keys, args())).toEqual(['OK']);
    expect(await script.redis.hmget(keys.sessionKey, 'epoch', 'state', 'mac')).toEqual(['1', String(ACCEPTED), 'm']);
    expect(await script.redis.get(keys.guardKey)).toBe('s1');
    expect(await script.redis.zrange(keys.openKey, '0', '-1', 'WITHSCORES')).toEqual(['s1', String(at + 1_000)]);
    expect(await script.redis.zscore(`${prefix}ending`, 's1')).toBe(String(at + 1_000));
    expect(await script.redis.get(keys.fenceKey)).toBe('5');
    expect(await script.redis.pttl(keys.sessionKey)).toBeGreaterThan(50_000);
    expect(await script.refused(keys, args())).toEqual(['OK']);
    expect(await eventIds(script)).toEqual(['evt_1']);
  });

  test.each<[string, () => Promise<unknown>, object, string]>([
    ['a newer coordinator', () => script.redis.set(keys.fenceKey, 6), {}, 'FENCED'],
    ['another session of this id', () => script.redis.hset(keys.sessionKey, 'checkpointId', 'x'), {}, 'SESSION_EXISTS'],
    ['a closed key', () => script.redis.set(keys.closedKey, 1), {}, 'KEY_CLOSED'],
    ['a key that is gone', async () => undefined, { boundRecord: keyRecord('a'), boundScheme: 'a' }, 'KEY_BOUND'],
    [
      'a key bound to another scheme',
      () => script.redis.set(`${prefix}key:k`, keyRecord('b')),
      { boundRecord: keyRecord('a'), boundScheme: 'a' },
      'KEY_BOUND',
    ],
    [
      'a key that cannot be read',
      () => script.redis.set(`${prefix}key:k`, 'broken'),
      { boundRecord: keyRecord('a'), boundScheme: 'a' },
      'KEY_BOUND',
    ],
  ])('%s is refused, and nothing has changed', async (_, arrange, more, code) => {
    await script.redis.set(keys.fenceKey, 5);
    await arrange();
    const reply = await script.refused({ ...keys, boundKey: `${prefix}key:k` }, args(more));
    expect((reply as string[])[0]).toBe(code);
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
    await script.redis.set(keys.guardKey, 's0');
    await other(state, expiresMs);
    expect(((await script.refused(keys, args())) as string[])[0]).toBe(code);
  });

  test('the session that held the intent ends in the same step, if its next epoch is meant', async () => {
    await script.redis.set(keys.guardKey, 's0');
    await other(BACKEND_FAILED);
    await script.redis.zadd(`${prefix}ending`, at, 's0');
    const ends = (epoch: number) =>
      args({ endedId: 's0', endedSession: session(epoch, 'end', 10), endedEvent: event('evt_0') });
    await script.redis.set(keys.fenceKey, 5);
    expect(((await script.refused(keys, ends(5))) as string[])[0]).toBe('INTENT_HELD');
    expect(await script.call(keys, ends(4))).toEqual(['OK']);
    expect(await script.redis.hmget(`${prefix}session:s0`, 'epoch', 'state')).toEqual(['4', '10']);
    expect(await script.redis.zrange(`${prefix}ending`, '0', '-1')).toEqual(['s1']);
    expect(await eventIds(script)).toEqual(['evt_0', 'evt_1']);
    expect(await script.redis.get(keys.guardKey)).toBe('s1');
  });

  test('what a session takes is counted, and at the quota none begins', async () => {
    const large = { ...session(1), data: 'x'.repeat(5_000) };
    const bytes = async () => Number(await script.redis.hget(`${prefix}use`, 'all'));
    expect(await script.call(keys, args({ session: large, bytesMax: 1 }))).toEqual(['OK']);
    expect(await bytes()).toBeGreaterThan(5_000);
    const next = { ...keys, sessionKey: `${prefix}session:s2`, guardKey: `${prefix}intent:j` };
    const more = (bytesMax: number) => args({ sessionId: 's2', session: session(1, 'c'), bytesMax });
    const standing = await bytes();
    expect(await script.refused(next, more(standing))).toEqual(['QUOTA']);
    expect(await script.call(next, more(standing + 1))).toEqual(['OK']);
  });

  test('a key is bound, from none or from its own scheme', async () => {
    for (const [id, scheme] of [
      ['s1', ''],
      ['s2', 'a'],
    ] as const) {
      await script.redis.set(`${prefix}key:k`, keyRecord(scheme));
      const bound = args({ sessionId: id, opening: '', boundRecord: keyRecord('a'), boundScheme: 'a' });
      const call = {
        sessionKey: `${prefix}session:${id}`,
        fenceKey: keys.fenceKey,
        endingKey: keys.endingKey,
        boundKey: `${prefix}key:k`,
      };
      expect(await script.call(call, bound)).toEqual(['OK']);
      expect(await script.redis.get(`${prefix}key:k`)).toBe(keyRecord('a'));
    }
  });
});

describeScript('coordinator/store/update-session.lua', (script) => {
  const all = { ...keys, keyKey: `${prefix}key:k` };
  const args = (more: object = {}) => ({
    ...{ fence: 5, retentionMs: 60_000, keyRecord: '', sessionId: 's1', change: '', prefix, endsAtMs: at + 1_000 },
    ...{ boundScheme: '', session: session(2), event: event('evt_2') },
    ...more,
  });
  const stand = async () => {
    await script.redis.set(keys.fenceKey, 5);
    await script.redis.hset(keys.sessionKey, { epoch: 1, checkpointId: 'c1' });
    await script.redis.zadd(`${prefix}ending`, at, 's1');
    await script.redis.zadd(keys.openKey, at, 's1');
  };

  test.each<[string, object, string | null, string | null]>([
    ['continues', { change: 'goesOn' }, String(at + 1_000), String(at + 1_000)],
    ['ends', { change: 'ends', endsAtMs: '' }, null, null],
    ['completes', { change: 'completes', endsAtMs: '' }, null, null],
    ['is of no wallet key', {}, String(at), String(at + 1_000)],
    ['changes without an event', { event: undefined, endsAtMs: '' }, String(at), String(at)],
  ])('the next epoch is written once: a session that %s', async (_, more, open, ending) => {
    await stand();
    expect(await script.call(all, args(more))).toEqual(['OK']);
    expect(await script.redis.hmget(keys.sessionKey, 'epoch', 'checkpointId')).toEqual(['2', 'c2']);
    expect(await script.redis.zscore(keys.openKey, 's1')).toBe(open);
    expect(await script.redis.zscore(`${prefix}ending`, 's1')).toBe(ending);
    expect(await eventIds(script)).toEqual('event' in more ? [] : ['evt_2']);
    expect(await script.refused(all, args(more))).toEqual(['OK']);
  });

  test('the key that it made is written with it', async () => {
    await stand();
    expect(await script.call(all, args({ keyRecord: 'made' }))).toEqual(['OK']);
    expect(await script.redis.get(all.keyKey)).toBe('made');
  });

  test.each<[string, () => Promise<unknown>, object, string]>([
    ['a newer coordinator', () => script.redis.set(keys.fenceKey, 6), {}, 'FENCED'],
    ['an epoch that was written otherwise', async () => undefined, { session: session(1, 'x') }, 'EPOCH'],
    ['an epoch that leaves one out', async () => undefined, { session: session(3) }, 'EPOCH'],
    ['a session that is gone', () => script.redis.del(keys.sessionKey), {}, 'EPOCH'],
    ['a closed key, to continue', () => script.redis.set(keys.closedKey, 1), { change: 'goesOn' }, 'KEY_CLOSED'],
    ['a closed key, to complete', () => script.redis.set(keys.closedKey, 1), { change: 'completes' }, 'KEY_CLOSED'],
    [
      'a key bound to another scheme',
      () => script.redis.set(all.keyKey, keyRecord('b')),
      { boundScheme: 'a', keyRecord: keyRecord('a') },
      'KEY_BOUND',
    ],
  ])('%s is refused, and nothing has changed', async (_, arrange, more, code) => {
    await stand();
    await arrange();
    expect(((await script.refused(all, args(more))) as string[])[0]).toBe(code);
  });
});

describeScript('coordinator/store/close-key.lua', (script) => {
  test('a key is closed by the newest coordinator alone', async () => {
    const { fenceKey, closedKey } = keys;
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
});

describeScript(
  'coordinator/store/session-record.lua',
  (script) => {
    test('a fence is taken by a newer coordinator and keeps older ones out', async () => {
      const call = (fence: number) => script.call({ key: keys.fenceKey }, { fence });
      expect([await call(5), await call(5), await call(4), await call(6), await call(5)]).toEqual([0, 0, 1, 0, 1]);
      expect(await script.redis.get(keys.fenceKey)).toBe('6');
    });
  },
  { body: '-- @keys key\n-- @args fence\nreturn fenced(key, fence) and 1 or 0' },
);

/** The scripts of the tenant store: each with its refusals, which change nothing, and its whole effect. */
import { describe, expect, test } from 'vitest';
import { describeScript, type ScriptUnderTest } from '../../support/redis-script.ts';

const prefixKey = 'sm:{t:a}:';
const p = prefixKey;
const at = 1_800_000_000_000;

/** A list of fields and values as an object. */
const fields = (flat: unknown) =>
  Object.fromEntries((flat as string[]).flatMap((name, k, all) => (k % 2 === 0 ? [[name, all[k + 1]]] : [])));

const event = (id: string, resourceId = 'wlt_1') => ({
  ...{ id, type: 'thing.changed', atMs: at, resourceType: 'wallet', resourceId, resourceVersion: 1 },
  ...{ correlationId: 'c', provider: '', connectionId: '', object: '{}' },
});

/** The rest of a key's life without the day that Redis adds, rounded up: one in another unit than milliseconds is none of one minute. */
async function minutesLeft({ redis }: ScriptUnderTest, key: string): Promise<number> {
  return Math.ceil((await redis.pttl(key)) / 60_000) - 24 * 60;
}

describeScript('wallets/store/commit.lua', (script) => {
  const args = (change: object, more: object = {}) => ({
    ...{ keyHash: '', owner: '', answer: '', answerLifetimeMs: 60_000, nowMs: at, change },
    ...more,
  });
  const commit = (change: object, more?: object) => script.call({ prefixKey }, args(change, more));
  const record = (id: string, version: string, more: object = {}) => ({
    ...{ id, version, status: 'open', kind: 'thing', document: `{"v":${version}}` },
    ...more,
  });

  test('all parts of a change are written in one step', async () => {
    await script.redis.zadd(`${p}ix:old`, 0, 'b');
    await script.redis.hset(`${p}r:b`, 'v', '1');
    await script.redis.zadd(`${p}due`, 5, 'gone');
    const reply = await commit({
      versions: [{ id: 'b', version: '1' }],
      claims: [{ name: 'name' }, { name: 'short', lifetimeMs: 60_000 }],
      ledger: [{ walletId: 'wlt_1', asset: 'ETH', available: '7', reserved: '2' }],
      movements: [{ walletId: 'wlt_1', asset: 'ETH', units: '9', cause: '{"kind":"deposit"}' }],
      records: [record('a', '1')],
      removed: ['b'],
      joined: [{ index: 'things', id: 'a' }],
      left: [{ index: 'old', id: 'b' }],
      due: [{ member: 'soon', atMs: at }, { member: 'gone' }],
      closedKeys: ['closed:k'],
      allocate: { counter: 'n', recordId: 'a' },
      events: [event('evt_1'), event('evt_2')],
      balancesOf: 'wlt_1',
    });
    expect(reply).toEqual(['ok', 2, '0', expect.any(String)]);
    expect(fields(JSON.parse((reply as string[])[3]!))).toEqual({ ETH: '7', 'ETH|r': '2' });
    const { redis } = script;
    expect(await redis.hgetall(`${p}r:a`)).toEqual({ v: '1', s: 'open', k: 'thing', d: '{"v":1}', n: '0' });
    const moved = ['a', 'ETH', 'u', '9', 'b', '9', 't', String(at), 'c', '{"kind":"deposit"}'];
    expect(await redis.xrange(`${p}mov:wlt_1`, '-', '+')).toEqual([['1-0', moved]]);
    expect(await redis.exists(`${p}r:b`, `${p}ix:old`)).toBe(0);
    expect(await redis.zrange(`${p}ix:things`, '0', '-1')).toEqual(['a']);
    expect(await redis.zrange(`${p}due`, '0', '-1', 'WITHSCORES')).toEqual(['soon', String(at)]);
    expect(await redis.mget(`${p}closed:k`, `${p}claim:name`, `${p}claim:short`)).toEqual([
      ...['1', '1', String(at + 60_000)],
    ]);
    expect([await redis.pttl(`${p}claim:name`), await minutesLeft(script, `${p}claim:short`)]).toEqual([-1, 1]);
    // What is closed stays closed.
    expect(await redis.pttl(`${p}closed:k`)).toBe(-1);
    expect((await redis.xrange(`${p}evt`, '-', '+')).map(([id]) => id)).toEqual(['1-0', '2-0']);
  });

  test('what records and answers take is counted, and given back when they change, leave or expire', async () => {
    const bytes = async () => Number(await script.redis.hget(`${p}use`, 'all'));
    const large = { document: JSON.stringify('x'.repeat(9_998)) };
    await commit({ records: [record('a', '1', large), record('b', '1')] });
    const both = await bytes();
    expect(both).toBeGreaterThan(10_000);
    await commit({ records: [record('a', '2')] });
    expect(await bytes()).toBe(both - 10_000 + '{"v":2}'.length);
    const small = await bytes();
    await commit({ removed: ['b'] });
    await commit({ records: [record('a', '3', { lifetimeMs: 60_000, sweep: '["a"]' })] });
    expect(await bytes()).toBe(small / 2);
    // All of it has expired when its hour comes.
    const hours = Object.entries(await script.redis.hgetall(`${p}use`)).filter(([name]) => /^\d+$/.test(name));
    expect(hours.map(([, counted]) => Number(counted))).toEqual([small / 2]);
  });

  test('at the quota a change that is counted is refused; others are not', async () => {
    await commit({ records: [record('a', '1')] });
    const stored = Number(await script.redis.hget(`${p}use`, 'all'));
    const more = { records: [record('b', '1')] };
    const full = await script.refused({ prefixKey }, args({ ...more, bytesMax: stored }));
    expect(full).toEqual(['full', String(stored)]);
    expect(await commit({ ...more, bytesMax: stored + 1 })).toEqual(['ok', 0, '', '']);
    expect(await commit({ records: [record('c', '1')] })).toEqual(['ok', 0, '', '']);
  });

  test('a count of bytes that is no number refuses what is counted; other changes leave it', async () => {
    await commit({ records: [record('a', '1')] });
    await script.redis.hset(`${p}use`, 'all', 'garbage');
    const counted = await script.refused({ prefixKey }, args({ records: [record('b', '1')], bytesMax: 1_000_000 }));
    expect(counted).toEqual(['tampered', 'use']);
    expect(await commit({ records: [record('a', '2')], events: [event('evt_1')] })).toEqual(['ok', 1, '', '']);
    expect(await script.redis.hget(`${p}use`, 'all')).toBe('garbage');
  });

  test.each(['n', 'm', 'b'])(
    'a log whose %s is no number refuses what has events; other changes go on',
    async (name) => {
      await script.redis.hset(`${p}seq`, name, 'garbage');
      const refused = await script.refused(
        { prefixKey },
        args({ records: [record('a', '1')], events: [event('evt_1')] }),
      );
      expect(refused).toEqual(['tampered', 'seq']);
      expect(await commit({ records: [record('a', '1')] })).toEqual(['ok', 0, '', '']);
    },
  );

  test('what is no record among those that expire goes without more', async () => {
    for (const garbage of ['garbage', '7', '{}', '[7]']) await script.redis.zadd(`${p}old`, 1, garbage);
    const expiring = {
      records: [record('a', '1', { lifetimeMs: 60_000, sweep: '["a","things"]' })],
      events: [event('evt_1')],
    };
    expect(await commit(expiring)).toEqual(['ok', 1, '', '']);
    expect(await script.redis.zrange(`${p}old`, '0', '-1')).toEqual(['["a","things"]']);
  });

  test('an index is empty though ids of many expired records stand in it, and holds exactly what may be at most', async () => {
    const ids = Array.from({ length: 150 }, (_, index) => `gone${String(index).padStart(3, '0')}`);
    await script.redis.zadd(`${p}ix:things`, ...ids.flatMap((id) => [0, id]));
    expect(await commit({ emptyIndices: ['things'] })).toEqual(['ok', 0, '', '']);
    await script.redis.hset(`${p}r:${ids.at(-1)}`, { v: '1', s: 'open' });
    expect(await commit({ emptyIndices: ['things'] })).toEqual(['notEmpty', 'things']);
    const counted = (max: number) => commit({ counts: [{ index: 'things', since: '', min: 150, max }] });
    expect([await counted(150), await counted(149)]).toEqual([
      ['ok', 0, '', ''],
      ['conflict', 'things'],
    ]);
  });

  const whole = { records: [record('x', '1')], events: [event('evt_1')], claims: [{ name: 'new' }] };
  const standing = async () => {
    const { redis } = script;
    await redis.hset(`${p}r:a`, { v: '2', s: 'open' });
    await redis.zadd(`${p}ix:full`, 0, 'a');
    await redis.hset(`${p}bal:wlt_1`, { ETH: '10', 'ETH|r': '1' });
    await redis.set(`${p}claim:taken`, '1');
    await redis.hset(`${p}idem:k`, { o: 'me' });
    await redis.hset(`${p}idem:done`, { o: 'me', a: 'said' });
  };
  const ledger = (available: string, reserved: string) => [{ walletId: 'wlt_1', asset: 'ETH', available, reserved }];
  test.each<[string, object, object, readonly string[]]>([
    ['another version', { versions: [{ id: 'a', version: '1' }] }, {}, ['conflict', 'a']],
    ['no such record', { versions: [{ id: 'none', version: '1' }] }, {}, ['conflict', 'none']],
    ['a record where none is expected', { versions: [{ id: 'a' }] }, {}, ['conflict', 'a']],
    ['another status', { statuses: [{ id: 'a', status: 'shut' }] }, {}, ['status', 'a', 'open']],
    ['a status of no record', { statuses: [{ id: 'none', status: 'open' }] }, {}, ['conflict', 'none']],
    ['an index that is not empty', { emptyIndices: ['full'] }, {}, ['notEmpty', 'full']],
    ['too few', { counts: [{ index: 'full', since: '', min: 2 }] }, {}, ['conflict', 'full']],
    ['too many', { counts: [{ index: 'full', since: '', min: 0, max: 0 }] }, {}, ['conflict', 'full']],
    ['too little', { available: [{ walletId: 'wlt_1', asset: 'ETH', min: '11' }] }, {}, ['conflict', 'wlt_1']],
    ['too much', { available: [{ walletId: 'wlt_1', asset: 'ETH', min: '0', max: '9' }] }, {}, ['conflict', 'wlt_1']],
    ['a claim that is taken', { claims: [{ name: 'new' }, { name: 'taken' }] }, {}, ['claimed', 'taken']],
    ['available below zero', { ledger: ledger('-11', '0') }, {}, ['insufficient', 'wlt_1', 'ETH']],
    [
      'a movement below zero',
      { ledger: ledger('0', '0'), movements: [{ walletId: 'wlt_1', asset: 'ETH', units: '-12', cause: '{}' }] },
      {},
      ['insufficient', 'wlt_1', 'ETH'],
    ],
    ['reserved below zero', { ledger: ledger('0', '-2') }, {}, ['insufficient', 'wlt_1', 'ETH']],
    ['a key of another owner', {}, { keyHash: 'k', owner: 'other' }, ['overtaken']],
    ['a key that was never begun', {}, { keyHash: 'none', owner: 'me' }, ['overtaken']],
    ['a key with an answer', {}, { keyHash: 'done', owner: 'me' }, ['overtaken']],
  ])('%s is refused, and nothing has changed', async (_, change, more, refusal) => {
    await standing();
    expect(await script.refused({ prefixKey }, args({ ...whole, ...change }, more))).toEqual(refusal);
  });

  test.each([
    ['0', '1', '1'],
    ['999999999999999', '1', '1000000000000000'],
    ['1000000000000000', '-1', '999999999999999'],
    ['123456789012345678901234567890', '-123456789012345678901234567890', '0'],
    [`1${'0'.repeat(45)}`, '-1', '9'.repeat(45)],
    ['9'.repeat(45), '1', `1${'0'.repeat(45)}`],
  ])('the ledger counts exactly: %s and %s are %s', async (before, delta, after) => {
    await script.redis.hset(`${p}bal:wlt_1`, 'ETH', before);
    expect(await commit({ ledger: ledger(delta, '0') })).toEqual(['ok', 0, '', '']);
    expect(await script.redis.hget(`${p}bal:wlt_1`, 'ETH')).toBe(after);
  });

  test('bounds of a balance are compared as numbers of any length', async () => {
    await script.redis.hset(`${p}bal:wlt_1`, 'ETH', '10000000000000000000');
    const range = (min: string, max: string) => ({ available: [{ walletId: 'wlt_1', asset: 'ETH', min, max }] });
    expect(await commit(range('9', '10000000000000000000'))).toEqual(['ok', 0, '', '']);
    expect(await commit(range('10000000000000000001', '2'.repeat(20)))).toEqual(['conflict', 'wlt_1']);
  });

  test('the answer stands with its key, for its time, with the balances that it shows', async () => {
    await script.redis.hset(`${p}idem:k`, { o: 'me' });
    await script.redis.hset(`${p}bal:wlt_1`, 'ETH', '3');
    await commit({ balancesOf: 'wlt_1' }, { keyHash: 'k', owner: 'me', answer: 'said' });
    expect(await script.redis.hgetall(`${p}idem:k`)).toEqual({
      ...{ o: 'me', a: 'said', w: '["ETH","3"]', e: String(at + 60_000) },
    });
    expect(await minutesLeft(script, `${p}idem:k`)).toBe(1);
    expect(await commit({}, { keyHash: 'k', owner: 'me', answer: 'other' })).toEqual(['overtaken']);
  });

  test('numbers that were released are given out again, the least first; each once', async () => {
    const allocate = async (id: string) => {
      const change = { records: [record(id, '1')], allocate: { counter: 'n', recordId: id } };
      return ((await commit(change)) as string[])[2];
    };
    expect([await allocate('a'), await allocate('b'), await allocate('c')]).toEqual(['0', '1', '2']);
    await commit({ release: { counter: 'n', number: 2 } });
    await commit({ release: { counter: 'n', number: 0 } });
    expect([await allocate('d'), await allocate('e'), await allocate('f')]).toEqual(['0', '2', '3']);
  });

  test('records and claims end by the service’s time, which decides, and Redis drops them a day later', async () => {
    const sweep = JSON.stringify(['a', 'things']);
    const made = {
      records: [record('a', '1', { lifetimeMs: 60_000, sweep })],
      joined: [{ index: 'things', id: 'a' }],
      claims: [{ name: 'n', lifetimeMs: 60_000 }],
      versions: [{ id: 'a' }],
      statuses: [],
      emptyIndices: ['things'],
    };
    await commit(made);
    expect([await minutesLeft(script, `${p}r:a`), await minutesLeft(script, `${p}claim:n`)]).toEqual([1, 1]);
    const later = { nowMs: at + 60_000 };
    const before = { nowMs: at + 59_999 };
    const refusal = (change: object, more: object) => script.refused({ prefixKey }, args(change, more));
    expect(await refusal({ versions: [{ id: 'a' }] }, before)).toEqual(['conflict', 'a']);
    expect(await refusal({ emptyIndices: ['things'] }, before)).toEqual(['notEmpty', 'things']);
    expect(await refusal({ claims: [{ name: 'n' }] }, before)).toEqual(['claimed', 'n']);
    expect(await refusal({ versions: [{ id: 'a', version: '1' }] }, later)).toEqual(['conflict', 'a']);
    expect(await refusal({ statuses: [{ id: 'a', status: 'open' }] }, later)).toEqual(['conflict', 'a']);
    // Its name and its id are free: nothing of the first record is left.
    await script.redis.hset(`${p}r:a`, 'n', '7');
    expect(await commit(made, later)).toEqual(['ok', 0, '', '']);
    expect(await script.redis.hmget(`${p}r:a`, 'v', 'n', 'e')).toEqual(['1', null, String(at + 120_000)]);
    expect(await script.redis.get(`${p}claim:n`)).toBe(String(at + 120_000));
  });

  test('claims of earlier versions stand while Redis has them', async () => {
    await script.redis.set(`${p}claim:n`, '1');
    expect(await script.refused({ prefixKey }, args({ claims: [{ name: 'n' }] }))).toEqual(['claimed', 'n']);
  });

  test('a record that expired leaves its indices with a later change; its id in an index does not count', async () => {
    const sweep = JSON.stringify(['a', 'things']);
    await commit({
      records: [record('a', '1', { lifetimeMs: 60_000, sweep })],
      joined: [{ index: 'things', id: 'a' }],
    });
    expect(await minutesLeft(script, `${p}r:a`)).toBe(1);
    await script.redis.del(`${p}r:a`);
    expect(await commit({ emptyIndices: ['things'] })).toEqual(['ok', 0, '', '']);
    // Its time in the sweep set is over.
    await script.redis.zadd(`${p}old`, 1, sweep);
    await commit({ records: [record('b', '1', { lifetimeMs: 60_000, sweep: '["b"]' })] });
    expect(await script.redis.exists(`${p}ix:things`)).toBe(0);
    // A later version without a lifetime stays for ever.
    await commit({ records: [record('b', '2')] });
    expect(await script.redis.pttl(`${p}r:b`)).toBe(-1);
  });
});

describeScript('wallets/store/begin-idempotent.lua', (script) => {
  const keys = { markKey: `${p}idem:k` };
  const begin = (more: object = {}) => ({
    ...{ bodyHash: 'body', nowMs: at, machineMs: at, leaseMs: 100, owner: 'o1', seed: 's1', lifetimeMs: 60_000 },
    ...more,
  });

  test('one at a time; after its lease another continues with the seed and time of the first', async () => {
    expect(await script.call(keys, begin())).toEqual(['run', 'o1', 's1', String(at)]);
    expect(await minutesLeft(script, keys.markKey)).toBe(1);
    const other = { owner: 'o2', seed: 's2' };
    expect(await script.refused(keys, begin({ ...other, machineMs: at + 99 }))).toEqual(['running', String(at + 100)]);
    expect(await script.refused(keys, begin({ ...other, bodyHash: 'x', machineMs: at + 999 }))).toEqual(['otherBody']);
    expect(await script.call(keys, begin({ ...other, machineMs: at + 100 }))).toEqual(['run', 'o2', 's1', String(at)]);
    expect(await script.redis.hmget(keys.markKey, 'o', 'l')).toEqual(['o2', String(at + 200)]);
  });

  test('an answer is given again, with the balances that it showed', async () => {
    await script.redis.hset(keys.markKey, { b: 'body', o: 'o1', s: 's1', t: at, l: at, a: 'said' });
    expect(await script.refused(keys, begin())).toEqual(['answered', 'said', '']);
    await script.redis.hset(keys.markKey, 'w', '[]');
    expect(await script.refused(keys, begin())).toEqual(['answered', 'said', '[]']);
    expect(await script.refused(keys, begin({ bodyHash: 'x' }))).toEqual(['otherBody']);
  });

  test('a key ends by the service’s time, not by that of Redis, and not while its request runs', async () => {
    await script.redis.hset(keys.markKey, { b: 'body', o: 'o1', s: 's1', t: 1, l: at, a: 'said', w: '[]', e: at });
    expect(await script.refused(keys, begin({ nowMs: at - 1 }))).toEqual(['answered', 'said', '[]']);
    expect(await script.call(keys, begin({ bodyHash: 'other', owner: 'o2', seed: 's2' }))).toEqual([
      ...['run', 'o2', 's2', String(at)],
    ]);
    expect(await script.redis.hgetall(keys.markKey)).toEqual({
      ...{ b: 'other', o: 'o2', s: 's2', t: String(at), l: String(at + 100), e: String(at + 60_000) },
    });
    const later = { owner: 'o3', nowMs: at + 90_000_000, bodyHash: 'other' };
    expect(await script.refused(keys, begin({ ...later, machineMs: at + 99 }))).toEqual(['running', String(at + 100)]);
    expect(await script.call(keys, begin({ ...later, machineMs: at + 100 }))).toEqual([
      ...['run', 'o3', 's1', String(later.nowMs)],
    ]);
  });

  test.each([
    ['the same body: with the first seed', 'body', 's1', String(at - 5)],
    ['another body: anew', 'other', 's2', String(at)],
  ])('a key that was set free runs at once; %s', async (_, bodyHash, seed, started) => {
    await script.redis.hset(keys.markKey, { b: 'body', o: '', s: 's1', t: at - 5, l: 0, f: 1 });
    expect(await script.call(keys, begin({ bodyHash, owner: 'o2', seed: 's2' }))).toEqual(['run', 'o2', seed, started]);
    expect(await script.redis.hexists(keys.markKey, 'f')).toBe(0);
  });
});

describeScript('wallets/store/settle-idempotent.lua', (script) => {
  const keys = { markKey: `${p}idem:k` };
  const settle = (more: object = {}) => ({
    owner: 'me',
    answered: 1,
    answer: 'said',
    nowMs: at,
    lifetimeMs: 60_000,
    ...more,
  });

  test('the owner answers, once; a repetition changes nothing', async () => {
    await script.redis.hset(keys.markKey, { o: 'me', l: 9 });
    expect(await script.call(keys, settle())).toBe(1);
    expect(await script.redis.hgetall(keys.markKey)).toEqual({ o: 'me', l: '9', a: 'said', e: String(at + 60_000) });
    expect(await minutesLeft(script, keys.markKey)).toBe(1);
    expect(await script.refused(keys, settle())).toBe(1);
    expect(await script.refused(keys, settle({ answer: 'other' }))).toBe(0);
    expect(await script.refused(keys, settle({ answered: 0, answer: '' }))).toBe(0);
  });

  test('others change nothing; the owner can set the key free, and owns it no more', async () => {
    expect(await script.refused(keys, settle())).toBe(0);
    await script.redis.hset(keys.markKey, { o: 'me', l: 9 });
    expect(await script.refused(keys, settle({ owner: 'you' }))).toBe(0);
    expect(await script.call(keys, settle({ answered: 0, answer: '' }))).toBe(1);
    expect(await script.redis.hgetall(keys.markKey)).toEqual({ o: '', l: '0', f: '1' });
    expect(await script.refused(keys, settle())).toBe(0);
  });
});

describeScript('wallets/store/take-due.lua', (script) => {
  test('entries that are due are taken, earliest first, and are due again after their lease', async () => {
    const take = (limit: number) =>
      script.call({ prefixKey }, { nowMs: at, byMs: at, earlyPrefix: '', leaseMs: 50, limit });
    expect(await take(9)).toEqual(['', []]);
    await script.redis.zadd(`${p}due`, at, 'b', at - 9, 'a', at + 1, 'later', at - 1, 'c');
    expect(await take(2)).toEqual([String(at), ['a', 'c']]);
    expect(await take(9)).toEqual([String(at + 1), ['b']]);
    expect(await take(9)).toEqual([String(at + 1), []]);
    expect(await script.redis.zscore(`${p}due`, 'a')).toBe(String(at + 50));
  });

  test('entries with a prefix are taken before they are due, behind what is due, and leased from now on', async () => {
    const take = (limit: number) =>
      script.call({ prefixKey }, { nowMs: at, byMs: at + 40, earlyPrefix: 'in/', leaseMs: 50, limit });
    const members = [
      at,
      'job/due',
      at + 1,
      'job/later',
      at + 9,
      'in/b',
      at + 5,
      'in/a',
      at + 41,
      'in/late',
      at + 2,
      'in',
    ];
    await script.redis.zadd(`${p}due`, ...members);
    expect(await take(2)).toEqual([String(at + 1), ['job/due', 'in/a']]);
    expect(await take(9)).toEqual([String(at + 1), ['in/b']]);
    expect(await take(9)).toEqual([String(at + 1), []]);
    expect(await script.redis.zscore(`${p}due`, 'in/a')).toBe(String(at + 50));
    expect(await script.redis.zscore(`${p}due`, 'job/later')).toBe(String(at + 1));
  });
});

const uuid = (time: number) => `thg_0000000${time}`;

describe('indices', () => {
  const counted = ['', 3] as const;
  describeScript('wallets/store/count.lua', (script) => {
    test.each([counted, ['00000002', 2], ['00000004', 0]] as const)('from %j on: %i', async (fromTime, count) => {
      for (const time of [1, 2, 3]) await script.redis.zadd(`${p}ix:a`, 0, uuid(time));
      expect(await script.refused({ indexKey: `${p}ix:a` }, { fromTime })).toBe(count);
      expect(await script.call({ indexKey: `${p}ix:none` }, { fromTime })).toBe(0);
    });
  });
  describeScript(
    'wallets/store/count-ids.lua',
    (script) => {
      test('ids with and without the prefix of a type', async () => {
        await script.redis.zadd(`${p}ix:plain`, 0, '00000001', 0, '00000002');
        expect(await script.call({ key: `${p}ix:plain` }, { time: '00000002' })).toBe(1);
        await script.redis.zadd(`${p}ix:a`, 0, uuid(1), 0, uuid(2));
        expect(await script.call({ key: `${p}ix:a` }, { time: '00000002' })).toBe(1);
      });
    },
    { body: '-- @keys key\n-- @args time\nreturn count_ids(key, time)' },
  );
});

describeScript('wallets/store/with-balances.lua', (script) => {
  test('a wallet and its balances, or nothing', async () => {
    expect(await script.call({ prefixKey }, { id: 'wlt_1', nowMs: at })).toEqual(['', '', '', '', []]);
    await script.redis.hset(`${p}r:wlt_1`, { k: 'wallet', d: '{}', v: '1', s: 'active' });
    await script.redis.hset(`${p}bal:wlt_1`, 'ETH', '5');
    const stands = ['wallet', '{}', '1', 'active', ['ETH', '5']];
    expect(await script.refused({ prefixKey }, { id: 'wlt_1', nowMs: at })).toEqual(stands);
    await script.redis.hset(`${p}r:wlt_1`, 'e', at);
    expect(await script.refused({ prefixKey }, { id: 'wlt_1', nowMs: at - 1 })).toMatchObject([
      'wallet',
      '{}',
      '1',
      'active',
      {},
    ]);
    expect(await script.refused({ prefixKey }, { id: 'wlt_1', nowMs: at })).toMatchObject(['', '', '', '', {}]);
  });
});

describeScript('wallets/store/seal-record.lua', (script) => {
  test('a record that is still as it was read gets its MAC, and its bytes count', async () => {
    await script.redis.hset(`${p}r:wlt_1`, { k: 'wallet', d: '{}' });
    const args = { id: 'wlt_1', before: '{}', after: '~mac{}' };
    expect(await script.call({ prefixKey }, { ...args, before: '{"a":1}' })).toBe(0);
    expect(await script.refused({ prefixKey }, { ...args, id: 'wlt_2' })).toBe(0);
    expect(await script.call({ prefixKey }, args)).toBe(1);
    expect(await script.redis.hget(`${p}r:wlt_1`, 'd')).toBe('~mac{}');
    expect(await script.redis.hget(`${p}use`, 'all')).toBe('4');
  });
});

describeScript(
  'wallets/store/add-movement.lua',
  (script) => {
    const moved = (standing: string, delta: string) => script.call({ prefixKey }, { standing, delta });

    test('a sum of any size is exact, and what would be below zero is none; a movement takes the next number', async () => {
      expect(await moved('999999999999999999999999999999', '1')).toEqual([`1${'0'.repeat(30)}`, '1-0']);
      expect(await moved('5', '-5')).toEqual(['0', '2-0']);
      expect(await moved('5', '-6')).toEqual(['none', '3-0']);
    });
  },
  {
    body: `-- @keys prefixKey
-- @args standing, delta
add_movement(prefixKey, {walletId = 'wlt_1', asset = 'ETH', units = delta, balance = standing, cause = '{}'}, 1)
local entries = redis.call('XRANGE', prefixKey .. 'mov:wlt_1', '-', '+')
return {moved(standing, delta) or 'none', entries[#entries][1]}`,
  },
);

describeScript('wallets/store/movements.lua', (script) => {
  const numbers = async (below: number, limit: number) => {
    const args = { walletId: 'wlt_1', below, limit, nowMs: at };
    return ((await script.call({ prefixKey }, args)) as [string][]).map(([id]) => id);
  };

  test('the newest, or those just below a number, oldest first', async () => {
    for (const id of ['1-0', '2-0', '3-0']) await script.redis.xadd(`${p}mov:wlt_1`, id, 'a', 'ETH');
    expect(await numbers(0, 2)).toEqual(['2-0', '3-0']);
    expect(await numbers(2, 2)).toEqual(['1-0']);
    expect(await numbers(1, 2)).toEqual([]);
    expect(await numbers(9, 9)).toEqual(['1-0', '2-0', '3-0']);
  });

  test('a wallet with balances and no movements gets one for each', async () => {
    await script.redis.hset(`${p}bal:wlt_1`, { ETH: '5', 'ETH|r': '1', BTC: '0' });
    expect(await numbers(0, 9)).toEqual(['1-0']);
    const [[, flat]] = (await script.redis.xrange(`${p}mov:wlt_1`, '-', '+')) as [[string, string[]]];
    expect(fields(flat)).toMatchObject({ a: 'ETH', u: '6', b: '6', t: String(at) });
  });
});

describeScript('wallets/store/list.lua', (script) => {
  const page = (more: object = {}) => ({
    ...{
      order: 'oldest',
      pageMax: 2,
      afterId: '',
      fromTime: '',
      toTime: '',
      withBalances: 0,
      scannedMax: 100,
      nowMs: at,
    },
    ...{ all: ['a'], any: [] },
    ...more,
  });
  const fill = async () => {
    for (const time of [1, 2, 3, 4]) {
      await script.redis.hset(`${p}r:${uuid(time)}`, 'd', `{"t":${time}}`);
      await script.redis.zadd(`${p}ix:a`, 0, uuid(time));
    }
    await script.redis.zadd(`${p}ix:odd`, 0, uuid(1), 0, uuid(3));
    await script.redis.zadd(`${p}ix:four`, 0, uuid(4));
    await script.redis.hset(`${p}bal:${uuid(1)}`, 'ETH', '5');
  };
  const ids = (reply: unknown) => (reply as [number, string, number, [string][]])[3].map(([id]) => id);
  const call = (more?: object) => script.refused({ prefixKey }, page(more));

  test.each<[string, object, readonly number[], number, number | undefined]>([
    ['oldest first', {}, [1, 2], 1, 2],
    ['newest first', { order: 'newest' }, [4, 3], 1, 3],
    ['after an id', { afterId: uuid(2) }, [3, 4], 0, undefined],
    ['after an id, newest first', { order: 'newest', afterId: uuid(2) }, [1], 0, undefined],
    ['from a time', { fromTime: '00000003' }, [3, 4], 0, undefined],
    ['to a time', { toTime: '00000003' }, [1, 2], 0, undefined],
    ['of all indices', { all: ['a', 'odd'] }, [1, 3], 0, undefined],
    ['of any index', { any: ['odd', 'four'], pageMax: 9 }, [1, 3, 4], 0, undefined],
    ['of an empty index', { all: ['a', 'none'] }, [], 0, undefined],
    ['as far as it may scan', { all: ['a'], any: ['four'], scannedMax: 2 }, [], 1, 2],
  ])('%s', async (_, more, times, hasMore, next) => {
    await fill();
    const reply = (await call(more)) as [number, string];
    expect(ids(reply)).toEqual(times.map(uuid));
    expect(reply.slice(0, 2)).toEqual([hasMore, next === undefined ? '' : uuid(next)]);
  });

  test('with documents, and balances if asked for; ids of expired records leave the indices', async () => {
    await fill();
    await script.redis.del(`${p}r:${uuid(2)}`);
    const [, , , items] = (await script.call({ prefixKey }, page({ withBalances: 1 }))) as unknown[];
    expect(items).toEqual([
      [uuid(1), ['{"t":1}', null, null], ['ETH', '5']],
      [uuid(3), ['{"t":3}', null, null], []],
    ]);
    expect(await script.redis.zrange(`${p}ix:a`, '0', '-1')).toEqual([1, 3, 4].map(uuid));
  });
});

describeScript('wallets/store/events.lua', (script) => {
  const add = async (sequence: number, type: string, id: string, atMs: number, connection = '') => {
    const entry = { id: `evt_${sequence}`, type, at: atMs, max: atMs, rt: 'wallet', ri: id, rv: 1, cor: 'c', pr: '' };
    const rest = { ...entry, con: connection, obj: '{}' };
    await script.redis.xadd(`${p}evt`, `${sequence}-0`, ...Object.entries(rest).flat().map(String));
    await script.redis.hset(`${p}seq`, 'n', sequence);
  };
  const fill = async () => {
    await add(3, 'thing.a', 'x', at, 'con_1');
    await add(4, 'thing.b', 'y', at + 10);
    await add(5, 'other.a', 'x', at + 20, 'con_2');
  };
  const read = async (more: object) => {
    const query = {
      after: 0,
      pageMax: 9,
      scannedMax: 100,
      resourceId: '',
      eventId: '',
      fromMs: '',
      beforeMs: '',
      types: [],
    };
    const reply = (await script.refused({ prefixKey }, { ...query, ...more })) as [
      number,
      unknown,
      number,
      number,
      unknown,
    ];
    const [hasMore, done, floor, last, entries] = reply;
    return [hasMore, Number(done), floor, last, (entries as [string][]).map(([id]) => Number.parseInt(id, 10))];
  };

  test.each<[string, object, number, number, readonly number[]]>([
    ['all', {}, 0, 5, [3, 4, 5]],
    ['a page', { pageMax: 2 }, 1, 4, [3, 4]],
    ['after a sequence', { after: 4 }, 0, 5, [5]],
    ['after the last', { after: 5 }, 0, 5, []],
    ['of a type', { types: ['thing.b'] }, 0, 5, [4]],
    ['of a family of types', { types: ['thing.*'] }, 0, 5, [3, 4]],
    ['of a resource', { resourceId: 'x' }, 0, 5, [3, 5]],
    ['from a time', { fromMs: at + 10 }, 0, 5, [4, 5]],
    ['before a time', { beforeMs: at + 10 }, 0, 5, [3]],
    ['of connections', { connections: ['con_2'] }, 0, 5, [5]],
    ['as far as it may scan', { types: ['other.a'], scannedMax: 2 }, 1, 4, []],
  ])('%s', async (_, more, hasMore, done, sequences) => {
    await fill();
    expect(await read(more)).toEqual([hasMore, done, 3, 5, sequences]);
  });

  test('a log whose sequence is no number is named', async () => {
    await script.redis.hset(`${p}seq`, 'n', 'garbage');
    const all = {
      after: 0,
      pageMax: 9,
      scannedMax: 9,
      resourceId: '',
      eventId: '',
      fromMs: '',
      beforeMs: '',
      types: [],
    };
    expect(await script.call({ prefixKey }, all)).toEqual(['tampered', 'seq']);
  });

  test('a log whose events are gone says where it begins', async () => {
    expect(await read({})).toEqual([0, 0, 1, 0, []]);
    await script.redis.hset(`${p}seq`, 'n', 7);
    expect((await read({})).slice(2)).toEqual([8, 7, []]);
  });
});

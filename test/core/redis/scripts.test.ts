/** The scripts that rooms share: an event's place in the log, the clock, and the registry of due work. */
import { expect, test } from 'vitest';
import { describeScript } from '../../support/redis-script.ts';

const at = 1_800_000_000_000;
const anEvent = {
  ...{ id: 'evt_1', type: 'thing.made', atMs: at, resourceType: 'thing', resourceId: 'x', resourceVersion: 3 },
  ...{ correlationId: 'c', provider: 'p', connectionId: 'con', object: '{"a":1}' },
};

describeScript(
  'core/redis/append-event.lua',
  (script) => {
    // Channels are the server's, not the database's: no other test has this tenant.
    const prefix = 'sm:{t:append}:';
    const event = (id: string, atMs: number) => ({ ...anEvent, id, atMs });
    const appendAll = (events: readonly object[], shown = '', balances = '', to = prefix) =>
      script.call({ prefix: to }, { shown, balances, events });
    const append = (id: string, atMs: number, to?: string) => appendAll([event(id, atMs)], '', '', to);
    const log = () => script.redis.xrange(`${prefix}evt`, '-', '+');

    test('events are numbered without gaps and never stamped earlier than the one before', async () => {
      expect([await append('a', at), await append('b', at - 5), await append('c', at + 5)]).toEqual([1, 2, 3]);
      const entries = await log();
      expect(entries.map(([id, fields]) => [id, fields[1], fields[5], fields[7]])).toEqual([
        ['1-0', 'a', String(at), String(at)],
        ['2-0', 'b', String(at), String(at)],
        ['3-0', 'c', String(at + 5), String(at + 5)],
      ]);
      expect(entries[0]![1].slice(8)).toEqual([
        'rt',
        'thing',
        'ri',
        'x',
        'rv',
        '3',
        'cor',
        'c',
        'pr',
        'p',
        'con',
        'con',
        'obj',
        '{"a":1}',
      ]);
    });

    test('balances stand beside the object, in events of the resource that they belong to', async () => {
      await appendAll([event('a', at), { ...event('b', at), resourceId: 'y' }], 'x', '["ETH","1"]');
      expect((await log()).map(([, fields]) => fields.slice(-2))).toEqual([
        ['bal', '["ETH","1"]'],
        ['obj', '{"a":1}'],
      ]);
    });

    test('the last event of a step wakes the readers of its tenant, and no event before it does', async () => {
      const reader = script.redis.duplicate();
      const heard: string[] = [];
      await reader.subscribe('sm:wake:append', 'append:end');
      const done = new Promise<void>((resolve) => {
        reader.on('message', (channel: string, message: string) => {
          heard.push(`${channel} ${message}`);
          if (message === 'end') resolve();
        });
      });
      expect(await appendAll([event('a', at), event('b', at)])).toBe(2);
      expect(await appendAll([])).toBe(0);
      await script.redis.publish('append:end', 'end');
      await done;
      reader.disconnect();
      expect(heard).toEqual(['sm:wake:append 2', 'append:end end']);
    });

    test('an event wakes the relays if its tenant has a webhook, or what a removed one has left, and only then', async () => {
      const relay = script.redis.duplicate();
      const heard: string[] = [];
      await relay.psubscribe('sm:relay:*');
      const done = new Promise<void>((resolve) => {
        relay.on('pmessage', (_: string, channel: string, message: string) => {
          heard.push(`${channel} ${message}`);
          if (message === 'end') resolve();
        });
      });
      const webhooks = ['sm:{t:append}:ix:webhooks', 'sm:{t:append}:hk'] as const;
      await append('before', at);
      await script.redis.zadd(webhooks[0], 0, 'whk_1');
      await append('with', at);
      await script.redis.del(webhooks[0]);
      await script.redis.sadd(webhooks[1], 'whk_1');
      await append('removed', at);
      await script.redis.del(webhooks[1]);
      await append('after', at);
      await script.redis.publish('sm:relay:append', 'end');
      await done;
      relay.disconnect();
      expect(heard).toEqual(['sm:relay:append 2', 'sm:relay:append 3', 'sm:relay:append end']);
    });

    test('events older than 30 days leave the log; those of the last 30 days stay', async () => {
      const month = 30 * 24 * 3_600_000;
      for (let k = 1; k <= 60; k++)
        await appendAll([event(`old${k}`, at - month - 1)], k % 2 ? 'x' : '', '["ETH","1"]');
      const appendLast = async (to?: string) => {
        for (let k = 61; k <= 63; k++) await append(`edge${k}`, at - month, to);
        return append('new', at, to);
      };
      expect(await appendLast()).toBe(64);
      expect((await log()).map(([id]) => id)).toEqual(['61-0', '62-0', '63-0', '64-0']);
      // What left the log counts no more: the bytes of a log are those of its events.
      const other = 'sm:{t:append}:other:';
      await appendLast(other);
      expect(await script.redis.hget(`${prefix}seq`, 'b')).toBe(await script.redis.hget(`${other}seq`, 'b'));
    });
  },
  {
    body: "-- @keys prefix\n-- @args shown, balances, events: event[]\nreturn append_events(prefix, open_log(prefix), events, shown ~= '' and shown or nil, balances)",
  },
);

describeScript(
  'core/redis/append-event.lua',
  (script) => {
    const prefix = 'sm:{t:bounds}:';
    const fill = (count: number, bytes: number) =>
      script.call({ prefix }, { count, bytes, event: { ...anEvent, object: JSON.stringify('x'.repeat(998)) } });
    const kept = async () => {
      const entries = await script.redis.xrange(`${prefix}evt`, '-', '+');
      return [entries[0]![0], entries.length, Number(await script.redis.hget(`${prefix}seq`, 'b'))];
    };

    test.each<[string, number, number]>([
      ['events', 200, 1e9],
      ['bytes', 1e6, 200 * (1_000 + 320)],
    ])('a log keeps its bound of %s, and counts the bytes of what it keeps', async (_, count, bytes) => {
      expect(await fill(count, bytes)).toBe(640);
      expect(await kept()).toEqual(['441-0', 200, 200 * (1_000 + 320)]);
    });
  },
  {
    body: [
      '-- @keys prefix',
      '-- @args count, bytes, event: event',
      'events_kept.count, events_kept.bytes = tonumber(count), tonumber(bytes)',
      'local last = 0',
      'for k = 1, 640 do last = append_events(prefix, open_log(prefix), { event }) end',
      'return last',
    ].join('\n'),
  },
);

describeScript(
  'core/redis/usage.lua',
  (script) => {
    const prefix = 'sm:{t:use}:';
    const use = `${prefix}use`;
    const hourMs = 3_600_000;
    const write = (deltas: readonly (readonly [bytes: number, expiresMs: number])[]) =>
      script.call({ prefix }, { deltas });
    const hourNow = async () => Math.floor(Number((await script.redis.time())[0]) / 3_600);

    test('bytes count until the hour in which their record expires has passed; those that never expire stay', async () => {
      const hour = await hourNow();
      expect(
        await write([
          [100, -1],
          [40, (hour + 5) * hourMs],
          [2, (hour + 5) * hourMs + 9],
        ]),
      ).toBe(142);
      expect(await script.redis.hgetall(use)).toEqual({ all: '142', hour: String(hour), [hour + 6]: '42' });
      expect(
        await write([
          [-40, (hour + 5) * hourMs],
          [50, (hour + 7) * hourMs],
        ]),
      ).toBe(152);
      await script.redis.hset(use, { hour: hour - 9, [hour - 3]: 30, [hour]: 20, all: 202 });
      expect(await write([])).toBe(152);
      expect(await script.redis.hgetall(use)).toEqual({
        ...{ all: '152', hour: String(hour) },
        ...{ [hour + 6]: '2', [hour + 8]: '50' },
      });
    });

    test('what is over is not counted before a write has given it back', async () => {
      const hour = await hourNow();
      await script.redis.hset(use, { hour: hour - 1, [hour]: 30, all: 100 });
      expect(await script.refused({ prefix }, { deltas: null })).toBe(70);
    });
  },
  {
    body: [
      '-- @keys prefix',
      '-- @args deltas: json',
      'local noted = {}',
      'if type(deltas) == "table" then',
      '  for _, one in ipairs(deltas) do usage_book(noted, one[1], one[2]) end',
      '  usage_write(prefix, noted)',
      'end',
      'return usage_now(prefix)',
    ].join('\n'),
  },
);

describeScript(
  'core/redis/redis-clock.lua',
  (script) => {
    test('is the time of Redis in ms', async () => {
      const [before] = await script.redis.time();
      const now = Number(await script.call({}, {}));
      const [after] = await script.redis.time();
      expect(now).toBeGreaterThanOrEqual(Number(before) * 1000);
      expect(now).toBeLessThan((Number(after) + 1) * 1000);
    });
  },
  { body: "-- @keys none\nreturn string.format('%.0f', clock_ms())" },
);

describeScript(
  'core/redis/lifetime.lua',
  (script) => {
    test('ends at its end by the time that the caller brings, and a key a day after by that of Redis', async () => {
      await script.redis.set('k', 'v');
      const lived = (nowMs: number, endsMs: number | '') =>
        script.call({ key: 'k' }, { nowMs, endsMs, lifetimeMs: 60_000 });
      expect(await lived(1_800_000_000_000, '')).toEqual([1, '1800000060000']);
      expect(await lived(99, 100)).toEqual([1, '60099']);
      expect(await lived(100, 100)).toEqual([0, '60100']);
      const leftMs = await script.redis.pttl('k');
      expect(leftMs).toBeGreaterThan(86_400_000);
      expect(leftMs).toBeLessThanOrEqual(86_460_000);
    });
  },
  {
    body: `-- @keys key
-- @args nowMs, endsMs, lifetimeMs
dropped_after(key, lifetimeMs)
return {lives(endsMs ~= '' and endsMs, nowMs) and 1 or 0, end_text(nowMs, lifetimeMs)}`,
  },
);

const keys = { tenantsKey: 'sm:{due:x}', registeredKey: 'sm:{due:x}:registered' };

describeScript('core/redis/due-register.lua', (script) => {
  test('an earlier time stays, a later one does not; Redis notes when', async () => {
    const standing: (string | null)[] = [];
    for (const atMs of [at, at + 1, at - 1]) {
      expect(await script.call(keys, { tenant: 'a', atMs })).toBe(1);
      standing.push(await script.redis.zscore(keys.tenantsKey, 'a'));
    }
    expect(standing).toEqual([at, at, at - 1].map(String));
    const [seconds] = await script.redis.time();
    const registered = Number(await script.redis.hget(keys.registeredKey, 'a'));
    expect(Math.abs(registered - Number(seconds) * 1000)).toBeLessThan(5_000);
  });
});

describeScript('core/redis/due-claim.lua', (script) => {
  test('tenants that are due are held, those that wait longest first; others stay as they are', async () => {
    const claim = async (limit: number) => {
      const reply = await script.call(keys, { nowMs: at, heldUntilMs: at + 100, limit });
      expect(Number((reply as string[])[0])).toBeGreaterThan(1_700_000_000_000);
      return (reply as unknown[])[1];
    };
    expect(await claim(9)).toEqual([]);
    await script.redis.zadd(keys.tenantsKey, at, 'b', at - 9, 'a', at + 1, 'later', at - 1, 'c');
    expect(await claim(2)).toEqual(['a', 'c']);
    expect(await claim(9)).toEqual(['b']);
    expect(await script.redis.zrange(keys.tenantsKey, '0', '-1', 'WITHSCORES')).toEqual([
      'later',
      String(at + 1),
      'a',
      String(at + 100),
      'b',
      String(at + 100),
      'c',
      String(at + 100),
    ]);
  });
});

describeScript('core/redis/due-settle.lua', (script) => {
  const settle = (more: object = {}) => ({
    ...{ tenant: 'a', heldUntilMs: at + 100, claimedAtMs: at, unsettledMs: 30, nextAtMs: at + 50, recheckAtMs: at + 9 },
    ...more,
  });

  test.each<[string, number | undefined]>([
    ['a tenant that is gone', undefined],
    ['a tenant that was registered earlier since, or claimed again', at + 99],
  ])('%s stays as it is', async (_, score) => {
    if (score !== undefined) await script.redis.zadd(keys.tenantsKey, score, 'a');
    expect(await script.refused(keys, settle())).toBe(0);
    expect(await script.refused(keys, settle({ nextAtMs: '' }))).toBe(0);
  });

  test.each<[string, number | undefined, number | '', number | undefined]>([
    ['its next time', at - 30, at + 50, at + 50],
    ['none: dropped', at - 30, '', undefined],
    ['never registered: dropped', undefined, '', undefined],
    ['a write may be under way: a recheck', at - 29, at + 50, at + 9],
    ['a write may be under way, none: a recheck', at - 29, '', at + 9],
    ['registered since the claim: a recheck', at + 5, '', at + 9],
    ['a write may be under way, but it is due before a recheck', at - 29, at + 8, at + 8],
  ])('a claim ends: %s', async (_, registered, nextAtMs, score) => {
    await script.redis.zadd(keys.tenantsKey, at + 100, 'a');
    if (registered !== undefined) await script.redis.hset(keys.registeredKey, 'a', registered);
    expect(await script.call(keys, settle({ nextAtMs }))).toBe(1);
    expect(await script.redis.zscore(keys.tenantsKey, 'a')).toBe(score === undefined ? null : String(score));
    if (score === undefined) expect(await script.redis.hexists(keys.registeredKey, 'a')).toBe(0);
  });
});

const clusterKeys = { clustersKey: 'sm:{clusters}', placedKey: 'sm:{clusters}:placed' };

describeScript('core/redis/announce-cluster.lua', (script) => {
  const announce = (clusterId: string, silentMs = 10_000) =>
    script.call({ clustersKey: clusterKeys.clustersKey }, { number: 2, clusterId, silentMs, entry: '{"a":"b c"}' });

  test('a number belongs to the cluster that announced it, until that has been silent for too long', async () => {
    expect(await announce('cl_a')).toEqual(['OK']);
    expect(await announce('cl_a')).toEqual(['OK']);
    const before = await script.redis.hget(clusterKeys.clustersKey, '2');
    expect(before).toMatch(/^\d{13} cl_a \{"a":"b c"\}$/);
    expect(await announce('cl_b')).toEqual(['TAKEN', 'cl_a']);
    expect(await script.redis.hget(clusterKeys.clustersKey, '2')).toBe(before);
    expect(await announce('cl_b', 0)).toEqual(['OK']);
  });
});

describeScript('core/redis/list-clusters.lua', (script) => {
  test('names every cluster with its age, its entry and its keys; what cannot be read is left out', async () => {
    const [seconds] = await script.redis.time();
    await script.redis.hset(clusterKeys.clustersKey, {
      1: `${Number(seconds) * 1_000 - 5_000} cl_a {"x":1}`,
      2: `${Number(seconds) * 1_000} cl_b {}`,
      3: 'broken',
    });
    await script.redis.hset(clusterKeys.placedKey, '2', 7);
    const found = (await script.call(clusterKeys, {})) as string[][];
    const [one, two] = found.sort();
    expect(found).toHaveLength(2);
    expect([one![0], one![2], one![3], one![4]]).toEqual(['1', 'cl_a', '{"x":1}', '0']);
    expect(Number(one![1])).toBeGreaterThanOrEqual(5_000);
    expect([two![0], two![2], two![4]]).toEqual(['2', 'cl_b', '7']);
  });
});

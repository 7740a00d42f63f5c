/** The loader of Redis scripts, and every script of the product as Redis sees it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { macChars } from '../../../core/crypto/record-macs.ts';
import { relayPrefix, tenantPrefix, wakePrefix } from '../../../core/redis/event-log.ts';
import { luaCommand, luaScript, readScript } from '../../../core/redis/lua.ts';
import { ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { reservedSuffix } from '../../../wallets/store/layout.ts';
import { root } from '../../cli/support/up-process.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';

const folder = mkdtempSync(join(tmpdir(), 'signmesh-lua-'));
let server: TestRedis;
let redis: Redis;
let count = 0;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** A script of this text. Answers its path. */
function write(text: string, name = `s${++count}`): string {
  const path = join(folder, `${name}.lua`);
  writeFileSync(path, text);
  return path;
}

// biome-ignore lint/suspicious/noExplicitAny: scripts of any shape
const command = (text: string) => luaCommand<any, unknown>(redis, luaScript(write(text)));

test('keys, texts, shapes and JSON are there by their names', async () => {
  const call = command(
    [
      '-- @shape point = x, y',
      '-- @keys oneKey, otherKey',
      '-- @args name, at: point, list: json',
      "return {oneKey, otherKey, name, at.x .. ',' .. at.y, #list, list[2].deep}",
    ].join('\n'),
  );
  const args = { name: 'n', at: { y: 2, x: 1 }, list: [1, { deep: 'ü"\\' }] };
  expect(await call({ oneKey: '{a}1', otherKey: '{a}2' }, args)).toEqual(['{a}1', '{a}2', 'n', '1,2', 2, 'ü"\\']);
});

test('a list of shapes, which may hold another shape, comes in its order', async () => {
  const call = command(
    [
      '-- @shape point = x, y',
      '-- @shape named = name, ...point',
      '-- @keys a',
      '-- @args n, list: named[]',
      "local texts = {}\nfor i, p in ipairs(list) do texts[i] = p.name .. p.x .. ',' .. p.y end\nreturn texts",
    ].join('\n'),
  );
  const list = [
    { name: 'a', x: 1, y: 2 },
    { y: 4, x: 3, name: 'b' },
  ];
  expect(await call({ a: 'k' }, { n: 1, list })).toEqual(['a1,2', 'b3,4']);
  expect(await call({ a: 'k' }, { n: 1, list: [] })).toEqual([]);
  expect(() => call({ a: 'k' }, { n: 1, list: [{ name: 'a', x: 1 }] })).toThrow(/without list\.y/);
  expect(() => command('-- @shape p = x\n-- @keys a\n-- @args list: p[], n\nreturn 1')).toThrow(/a list stands last/);
  expect(() => command('-- @shape p = ...q\n-- @keys a\n-- @args list: p[]\nreturn 1')).toThrow(/no shape "q"/);
});

test('what may be left out is nil', async () => {
  const call = command(
    '-- @shape point = x, y\n-- @keys a, b?\n-- @args n, p: point?, list: json?\nreturn {tostring(b), tostring(p and p.y), tostring(list and list[1])}',
  );
  expect(await call({ a: 'k' }, { n: 1 })).toEqual(['nil', 'nil', 'nil']);
  expect(await call({ a: '{k}1', b: '{k}2' }, { n: 1, p: { x: 1, y: 2 }, list: [3] })).toEqual(['{k}2', '2', '3']);
});

test('a call without a key, an argument or a part of a shape throws before anything is sent', () => {
  const call = command('-- @shape point = x, y\n-- @keys a\n-- @args n, p: point?, m?\nreturn 1');
  expect(() => call({}, { n: 1 })).toThrow(/without the key a/);
  expect(() => call({ a: 'k' }, {})).toThrow(/without the argument n/);
  expect(() => call({ a: 'k' }, { n: 1, p: { x: 1 } })).toThrow(/without p\.y/);
  expect(() => call({ a: 'k' }, { n: 1, m: 1 })).toThrow(/with m, but without an argument before it/);
});

test('half a surrogate pair is U+FFFD, as in any text that Redis gets; the characters that spell one are kept', async () => {
  const call = command('-- @keys a\n-- @args list: json\nreturn list');
  expect(await call({ a: 'k' }, { list: ['a\ud800b', '\udc00', '\\ud800', '\\\ud800', '💡'] })).toEqual([
    'a\ufffdb',
    '\ufffd',
    '\\ud800',
    '\\\ufffd',
    '💡',
  ]);
});

test('a script over a whole Redis has no keys; its reply comes as bytes if asked for', async () => {
  await redis.set('bytes', Buffer.from([0xff, 0x00]));
  const path = write("-- @keys none\n-- @args key\nreturn redis.call('GET', key)");
  const script = luaScript<{ keys: Record<string, never>; args: { key: string } }, Buffer>(path);
  expect(await luaCommand(redis, script, 'buffers')({}, { key: 'bytes' })).toEqual(Buffer.from([0xff, 0x00]));
});

test('what is included stands before the script once, in every depth', async () => {
  const base = write('-- @shape pair = a, b\nlocal function twice(n) return n * 2 end', 'base');
  const middle = write(`-- @include ${base}\nlocal function fourfold(n) return twice(twice(n)) end`, 'middle');
  const text = `-- @include ${middle}\n-- @include ${base}\n-- @keys k\n-- @args p: pair\nreturn {fourfold(p.a), twice(p.b)}`;
  expect(await command(text)({ k: 'k' }, { p: { a: 1, b: 2 } })).toEqual([4, 4]);
  expect(readScript(write(text)).source.split('function twice')).toHaveLength(2);
});

test('a script that Redis has forgotten is sent again', async () => {
  const call = command('-- @keys k\n-- @args n\nreturn n');
  expect(await call({ k: 'k' }, { n: 'first' })).toBe('first');
  await redis.script('FLUSH');
  expect(await call({ k: 'k' }, { n: 'second' })).toBe('second');
});

test.each([
  ['-- @args n\nreturn 1', /names no keys/],
  ['-- @keys a, a\nreturn 1', /twice/],
  ['-- @keys a?\nreturn 1', /first key/],
  ['-- @keys a\n-- @args n: json?, m\nreturn 1', /stand last/],
  ['-- @keys a\n-- @args n: nothing\nreturn 1', /no shape "nothing"/],
  ['-- @include test/redis/missing.lua\n-- @keys a\nreturn 1', /missing\.lua is missing/],
])('the directives of %j are refused', (text, error) => {
  expect(() => readScript(write(text))).toThrow(error);
});

describe('the scripts of the product', () => {
  const rooms = ['core', 'coordinator', 'wallets', 'cli'];
  const all = rooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.lua'))
      .map((path) => `${room}/${path}`),
  );
  const text = (path: string) => readFileSync(join(root, path), 'utf8');

  test.each(all)(
    '%s begins with what it does, Redis compiles it, and it names no place by its number',
    async (path) => {
      expect(text(path)).toMatch(/^-- \S/);
      if (!/^-- @keys/m.test(text(path))) return;
      const { source } = readScript(path);
      expect(await redis.script('LOAD', source)).toMatch(/^[0-9a-f]{40}$/);
      // Numbers of places are the loader's alone.
      const own = source.slice(source.indexOf('\n--'));
      expect(own).not.toMatch(/\b(KEYS|ARGV)\[/);
    },
  );

  test('have the constants of the program', () => {
    const session = text('coordinator/store/session-record.lua');
    const S = ReceiptState;
    const numbers = [S.ACCEPTED, S.PENDING_HUMAN_APPROVAL, S.RESUMED, S.BACKEND_COMPLETED, S.BACKEND_FAILED];
    expect(session).toContain(
      `local ACCEPTED, PENDING_HUMAN_APPROVAL, RESUMED, BACKEND_COMPLETED, BACKEND_FAILED = ${numbers.join(', ')}\n`,
    );
    expect(session).toContain(`local mac_chars = ${macChars}\n`);
    expect(text('wallets/store/commit.lua')).toContain(`local reserved_suffix = '${reservedSuffix}'\n`);
    const append = text('core/redis/append-event.lua');
    expect(append).toContain(`local tenant = string.sub(prefix, ${tenantPrefix('').indexOf('}') + 1}, -3)\n`);
    for (const channel of [wakePrefix, relayPrefix]) expect(append).toContain(`'PUBLISH', '${channel}' .. tenant,`);
  });
});

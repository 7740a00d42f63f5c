/** Why a Redis cannot be used, by what real servers say that are configured so; what none says here stands in a table. */
import { rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { redisName, redisRefusal } from '../../../core/actors/live/redis-refusal.ts';
import { RedisWatch } from '../../../core/actors/live/redis-watch.ts';
import { TestAuthority } from '../../support/certificates.ts';
import { collectLog, type LogLine } from '../../support/log.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function redisWith(...settings: string[]): Promise<TestRedis> {
  const server = await startRedis(undefined, settings);
  cleanUps.push(() => server.stop());
  return server;
}

function operatorOf(url: string): Redis {
  const client = new Redis(url, { retryStrategy: () => 50 });
  client.on('error', () => undefined);
  cleanUps.push(() => client.disconnect());
  return client;
}

interface Watched {
  readonly watch: RedisWatch;
  readonly lines: readonly LogLine[];
  /** What listeners were told, oldest first. */
  readonly told: (string | undefined)[];
}

/** `commandTimeout`: only a test of one that stands still waits for it. On a busy machine the others answer late, too. */
function watched(url: string, tls?: { readonly ca?: string }, commandTimeout = 60_000): Watched {
  const options = { commandTimeout, maxRetriesPerRequest: 0, retryStrategy: () => 50 };
  const redis = new Redis(url, { ...options, ...(tls && { tls }) });
  const { log, lines } = collectLog();
  const told: (string | undefined)[] = [];
  const watch = new RedisWatch({
    ...{ redis, url, log },
    probeKey: 'sm:probe:test',
    onChange: (refusal) => told.push(refusal?.code),
  });
  cleanUps.push(() => {
    watch.stop();
    redis.disconnect();
  });
  return { watch, lines, told };
}

/** Says `code` once each time it begins, however often it asks; then, healed, that it takes writes. */
async function saysAndHeals(seen: Watched, code: string, text: RegExp, heal?: () => unknown): Promise<void> {
  await expect.poll(() => seen.watch.trouble).toMatch(text);
  expect(seen.told).toContain(code);
  expect(seen.watch.trouble).toMatch(/^Redis at \S+:\d+ /);
  expect(seen.watch.trouble?.split('\n')).toHaveLength(1);
  expect(JSON.stringify(seen.lines)).not.toContain('secret');
  if (heal !== undefined) {
    await heal();
    await expect.poll(() => seen.watch.trouble).toBe(undefined);
    expect(seen.told.at(-1)).toBe(undefined);
    expect(seen.lines.at(-1)?.message).toMatch(/takes writes$/);
  }
  const warnings = seen.lines.filter(({ level, fields }) => level === 'warn' && fields.code === code);
  expect(seen.told.some((each, index) => index > 0 && each === seen.told[index - 1])).toBe(false);
  expect(warnings).toHaveLength(seen.told.filter((each) => each === code).length);
}

test('a password that it asks for', async () => {
  const { url } = await redisWith('--requirepass', 'secret');
  const operator = operatorOf(url.replace('//', '//:secret@'));
  await saysAndHeals(watched(url), 'NOAUTH', /asks for a password.*REDIS_URL/, () =>
    operator.config('SET', 'requirepass', ''),
  );
});

test('a password that it refuses', async () => {
  const { url } = await redisWith('--requirepass', 'another');
  const operator = operatorOf(url.replace('//', '//:another@'));
  await saysAndHeals(watched(url.replace('//', '//:secret@')), 'WRONGPASS', /user or the password/, () =>
    operator.config('SET', 'requirepass', 'secret'),
  );
});

test('commands that its user may not run', async () => {
  const { url } = await redisWith();
  const operator = operatorOf(url);
  await operator.call('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '+@read', '+info');
  await saysAndHeals(watched(url.replace('//', '//reader:secret@')), 'NOPERM', /ACL/, () =>
    operator.call('ACL', 'SETUSER', 'reader', '+@all'),
  );
});

test('memory that is used up', async () => {
  const { url } = await redisWith('--maxmemory', '1', '--maxmemory-policy', 'noeviction');
  const operator = operatorOf(url);
  await saysAndHeals(watched(url), 'OOM', /refuses writes.*maxmemory/, () => operator.config('SET', 'maxmemory', '0'));
});

test('a replica', async () => {
  const { url } = await redisWith('--replicaof', '127.0.0.1', '1');
  const operator = operatorOf(url);
  await saysAndHeals(watched(url), 'READONLY', /read-only replica/, () => operator.replicaof('NO', 'ONE'));
});

test('a disk that takes nothing', async () => {
  const server = await redisWith('--save', '3600 1');
  const operator = operatorOf(server.url);
  await operator.set('changed', '1');
  rmSync(server.directory, { recursive: true });
  await operator.bgsave();
  await saysAndHeals(watched(server.url), 'MISCONF', /cannot save to its disk/, () =>
    operator.config('SET', 'stop-writes-on-bgsave-error', 'no'),
  );
});

test('a node of a Redis Cluster', async () => {
  const { url } = await redisWith('--cluster-enabled', 'yes');
  await saysAndHeals(watched(url), 'CLUSTERDOWN', /Redis Cluster.*REDIS_URL names several/);
});

test('one that is still loading', async () => {
  const first = await redisWith('--rdbcompression', 'no');
  const writer = operatorOf(first.url);
  await writer.mset(Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`key-${index}`, 'x'.repeat(2_000)])));
  await writer.save();
  // Microseconds a key, and a look at the network after so many bytes.
  const slow = [
    '--dir',
    first.directory,
    '--key-load-delay',
    '500000',
    '--loading-process-events-interval-bytes',
    '1024',
  ];
  const server = await startRedis(undefined, slow, 'Server initialized');
  cleanUps.push(() => server.stop());
  const operator = new Redis(server.url, { enableReadyCheck: false });
  cleanUps.push(() => operator.disconnect());
  await saysAndHeals(watched(server.url), 'LOADING', /still loading/, () =>
    operator.config('SET', 'key-load-delay', '0'),
  );
});

test('one that stands still', async () => {
  const server = await redisWith();
  server.signal('SIGSTOP');
  cleanUps.push(() => server.signal('SIGCONT'));
  await saysAndHeals(watched(server.url, undefined, 1_000), 'TIMEOUT', /does not answer/, () =>
    server.signal('SIGCONT'),
  );
});

test('one that comes to stand still, and continues', async () => {
  const server = await redisWith();
  const seen = watched(server.url, undefined, 1_000);
  await expect.poll(() => seen.watch.trouble).toBe(undefined);
  server.signal('SIGSTOP');
  cleanUps.push(() => server.signal('SIGCONT'));
  await saysAndHeals(seen, 'TIMEOUT', /does not answer/, () => server.signal('SIGCONT'));
});

test('a receiver that does not listen', async () => {
  const server = await redisWith();
  await server.stop();
  await saysAndHeals(watched(server.url), 'ECONNREFUSED', /nothing listens there/, async () => {
    const again = await startRedis(server.port);
    cleanUps.push(() => again.stop());
  });
});

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => server.close());
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

// Redis's own words (networking.c); from this machine alone it cannot be brought to say them.
const protectedWords =
  '-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default ' +
  'user. In this mode connections are only accepted from the loopback interface.\r\n';
const inProtectedMode = () => createServer((socket) => socket.on('error', () => undefined).end(protectedWords));

test('protected mode, which it says to a connection from another machine and hangs up', async () => {
  await saysAndHeals(watched(await listening(inProtectedMode())), 'DENIED', /protected mode.*requirepass/);
});

test('a reason lasts no longer than it is true: first nothing listens, then a Redis in protected mode', async () => {
  const free = createServer();
  const url = await listening(free);
  await new Promise((resolve) => free.close(resolve));
  const seen = watched(url);
  await expect.poll(() => seen.watch.trouble).toMatch(/nothing listens/);
  const server = inProtectedMode().listen(Number(new URL(url).port), '127.0.0.1');
  cleanUps.push(() => server.close());
  await saysAndHeals(seen, 'DENIED', /protected mode/);
});

test('one that hangs up without a word', async () => {
  const url = await listening(createServer((socket) => socket.on('error', () => undefined).end()));
  await saysAndHeals(watched(url), 'CLOSED', /without a word/);
});

test('TLS with a certificate of an unknown authority, and with one for another host', async () => {
  const pair = new TestAuthority().issue({ hosts: ['redis.example'], usage: ['server'] });
  const overTls = async (tls: { readonly ca?: string }) => {
    const server = createTlsServer({ cert: pair.cert, key: pair.key }, (socket) => socket.on('error', () => undefined));
    const url = (await listening(server)).replace('redis:', 'rediss:');
    return watched(url, tls);
  };
  await saysAndHeals(await overTls({}), 'TLS', /unknown authority.*NODE_EXTRA_CA_CERTS/);
  await saysAndHeals(await overTls({ ca: pair.ca }), 'TLS', /another host/);
});

test('one that is no Redis', async () => {
  const url = await listening(createHttpServer());
  await saysAndHeals(watched(url), 'NOT_REDIS', /does not speak like a Redis/);
});

test.each<[string, string]>([
  ['MISCONF Errors writing to the AOF file: No space left on device', 'MISCONF'],
  ['MOVED 866 127.0.0.1:7001', 'CLUSTER'],
  ["OOM command not allowed when used memory > 'maxmemory'. script: c0bd, on @user_script:1.", 'OOM'],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", 'MASTERDOWN'],
  ['BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.', 'BUSY'],
  ['ERR max number of clients reached', 'MAXCLIENTS'],
  ['Command timed out', 'TIMEOUT'],
  ['certificate has expired', 'TLS'],
  ['805C:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:', 'TLS'],
  ['0052:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:', 'TLS'],
  ['ERR unknown command', 'UNKNOWN'],
])('words "%s" as %s', (words, code) => {
  expect(redisRefusal(new Error(words))).toMatchObject({ code });
});

test('a client without a connection says nothing of why', () => {
  expect(redisRefusal(new Error("Stream isn't writeable and enableOfflineQueue options is false"))).toBe(undefined);
  expect(redisRefusal(new Error('Connection is closed.'))).toBe(undefined);
});

test('its name has no password', () => {
  expect(redisName('redis://user:secret@cache.example:6380/3')).toBe('Redis at cache.example:6380');
  expect(redisName('redis://cache.example')).toBe('Redis at cache.example:6379');
});

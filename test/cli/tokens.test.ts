/** `signmesh tokens`, on a real Redis, and where it finds one. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ensureClusterMaterial, readSecret, secretFiles } from '../../cli/cluster-files/cluster-material.ts';
import { identify, writeRecord } from '../../cli/common/process-records.ts';
import { redisUrlFor } from '../../cli/redis/redis-address.ts';
import { loadSettings } from '../../cli/settings/config.ts';
import { lockFile, readyFile } from '../../cli/start/running.ts';
import { run } from '../../cli/tokens.ts';
import { systemClock, systemPorts, systemTimers } from '../../core/actors/live/ports.ts';
import type { Principal } from '../../gateway/api/principal.ts';
import { allScopes } from '../../gateway/api/scopes.ts';
import { Authenticator } from '../../gateway/auth/authenticator.ts';
import { tokenEnvironment } from '../../gateway/auth/token-format.ts';
import { TokenStore } from '../../gateway/auth/token-store.ts';
import { openDatabase, type RedisDatabase } from '../support/redis-database.ts';
import { keptFolder, temporaryFolder } from './support/temporary.ts';

const connection = 'pcn_0199a1b2-0000-7000-8000-000000000001';
let server: RedisDatabase;
let redis: Redis;
let dataDir: string;
let tokenKey: Uint8Array;
let out = '';
let err = '';

beforeAll(async () => {
  server = await openDatabase();
  redis = new Redis(server.url);
  dataDir = keptFolder();
  ensureClusterMaterial(dataDir, 3, 5, 'sandbox');
  tokenKey = readSecret(dataDir, secretFiles.gatewayToken);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});
beforeEach(() => {
  out = '';
  err = '';
  vi.stubEnv('REDIS_URL', server.url);
  vi.stubEnv('SIGNMESH_DATA_DIR', dataDir);
  vi.stubEnv('SIGNMESH_ENVIRONMENT', 'sandbox');
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += String(text);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const tokens = (...args: string[]) => run(args);

async function issued(...args: string[]): Promise<Record<string, unknown> & { token: string; id: string }> {
  out = '';
  expect(await tokens('issue', '--json', ...args)).toBe(0);
  return JSON.parse(out);
}

/** As a gateway of that environment would see the token. */
async function principal(token: string): Promise<Principal | undefined> {
  const environment = tokenEnvironment(token)!;
  const store = new TokenStore(redis, tokenKey, systemPorts);
  const authenticator = new Authenticator({
    environment,
    acceptAnyTestToken: false,
    tokenKey,
    store,
    clock: systemClock,
    timers: systemTimers,
  });
  const found = await authenticator.authenticate(`Bearer ${token}`);
  return found instanceof Error ? undefined : found;
}

describe('signmesh tokens', () => {
  test('issues a token that a gateway accepts, and shows it once', async () => {
    expect(await tokens('issue', '--tenant', 't1', '--name', 'ops', '--scopes', 'wallets:read, intents:write')).toBe(0);
    const token = /^token +(svc_sk_test_\w+)$/m.exec(out)![1]!;
    expect(err).toContain('only this once');
    expect(await principal(token)).toMatchObject({ tenant: 't1', scopes: new Set(['wallets:read', 'intents:write']) });
    out = '';
    expect(await tokens('list', '--tenant', 't1')).toBe(0);
    expect(out).toMatch(/^ID +NAME +SCOPES +CREATED +EXPIRES +REVOKED\ntok_\S+ +ops +2 +\S+ \S+ +- +-\n$/);
    expect(out).not.toContain(token);
  });

  test.each([
    ['--all', allScopes.filter((scope) => scope !== 'sandbox:admin')],
    ['--read-only', allScopes.filter((scope) => scope.endsWith(':read'))],
  ])('%s is a set of scopes', async (preset, scopes) => {
    expect((await issued('--tenant', 't2', preset)).scopes).toEqual(scopes);
  });

  test('sandbox:admin is given only by name', async () => {
    expect((await issued('--tenant', 't2', '--all', '--scopes', 'sandbox:admin')).scopes).toEqual(allScopes);
  });

  test('a token expires when it is told to; a production one in 90 days unless told otherwise', async () => {
    const days = ({ created_at: from, expires_at: to }: Record<string, unknown>) =>
      (Date.parse(String(to)) - Date.parse(String(from))) / 86_400_000;
    expect((await issued('--tenant', 't3', '--all')).expires_at).toBeNull();
    expect(days(await issued('--tenant', 't3', '--all', '--expires', '12h'))).toBe(0.5);
    expect((await issued('--tenant', 't3', '--all', '--expires', 'never')).expires_at).toBeNull();
    vi.stubEnv('SIGNMESH_ENVIRONMENT', 'production');
    const live = await issued('--tenant', 't3', '--all');
    expect([days(live), live.environment]).toEqual([90, 'production']);
    expect(live.token).toMatch(/^svc_sk_live_/);
    expect((await issued('--tenant', 't3', '--all', '--environment', 'sandbox')).environment).toBe('sandbox');
  });

  test('a token of one connection loses what such a token never has, and says so', async () => {
    const token = await issued('--tenant', 't4', '--all', '--provider-connection', connection);
    expect(token.provider_connection_ids).toEqual([connection]);
    expect(token.scopes).not.toContain('signing:dkg');
    expect(err).toContain('signing:dkg');
    expect(await principal(token.token)).toMatchObject({ providerConnectionIds: [connection] });
  });

  test('rotation gives the same rights to a new token and ends the old one', async () => {
    const old = await issued('--tenant', 't5', '--scopes', 'wallets:read', '--name', 'ci', '--expires', '30d');
    out = '';
    expect(await tokens('rotate', '--tenant', 't5', '--json', old.id)).toBe(0);
    const fresh = JSON.parse(out);
    expect(fresh).toMatchObject({ name: 'ci', scopes: ['wallets:read'], tenant: 't5' });
    expect(fresh.token).not.toBe(old.token);
    expect([old.actor_id, fresh.actor_id]).toEqual([old.id, old.id]);
    out = '';
    await tokens('list', '--tenant', 't5');
    expect(out).toMatch(/^ID .* REVOKED +ACTS AS\n/);
    expect(out.split('\n').map((line) => line.split(/ {2,}/).at(-1))).toEqual(['ACTS AS', '-', old.id, '']);
    expect(await principal(fresh.token)).toBeDefined();
    expect(await principal(old.token)).toBeUndefined();
    await expect(tokens('rotate', '--tenant', 't5', old.id)).rejects.toMatchObject({ exitCode: 1 });
  });

  test('a revoked token is refused and still listed', async () => {
    const { id, token } = await issued('--tenant', 't6', '--all');
    for (let times = 0; times < 2; times += 1) expect(await tokens('revoke', '--tenant', 't6', id)).toBe(0);
    expect(await principal(token)).toBeUndefined();
    out = '';
    await tokens('list', '--tenant', 't6', '--json');
    expect(JSON.parse(out).tokens).toEqual([expect.objectContaining({ id, revoked_at: expect.any(String) })]);
  });

  test('another tenant’s token is not there', async () => {
    const { id, token } = await issued('--tenant', 't7', '--all');
    await expect(tokens('revoke', '--tenant', 't8', id)).rejects.toThrow('t8 has no token');
    await expect(tokens('rotate', '--tenant', 't8', id)).rejects.toThrow('t8 has no valid token');
    expect(await principal(token)).toBeDefined();
    out = '';
    expect(await tokens('list', '--tenant', 't8')).toBe(0);
    expect([out, err.includes('t8 has no tokens')]).toEqual(['', true]);
  });

  test.each([
    [['issue', '--all'], '--tenant'],
    [['issue', '--tenant', 'a b', '--all'], '1 to 64 characters'],
    [['issue', '--tenant', 't'], 'Give its scopes'],
    [['issue', '--tenant', 't', '--scopes', 'wallets:rea'], '"wallets:rea": unknown scope'],
    [['issue', '--tenant', 't', '--scopes', ''], '"": unknown scope'],
    [['issue', '--tenant', 't', '--all', '--expires', '0d'], '3650d'],
    [['issue', '--tenant', 't', '--all', '--expires', '3651d'], '3650d'],
    [['issue', '--tenant', 't', '--all', '--expires', '-1d'], '3650d'],
    [['issue', '--tenant', 't', '--all', '--name', 'a\nb'], 'control characters'],
    [['issue', '--tenant', 't', '--all', '--provider-connection', 'x'], 'pcn_'],
    [
      ['issue', '--tenant', 't', '--scopes', 'signing:dkg', '--provider-connection', connection],
      'cannot have signing:dkg',
    ],
    [['issue', '--tenant', 't', '--all', '--environment', 'live'], 'sandbox, production'],
    [['issue', '--tenant', 't', '--scopes', 'sandbox:admin', '--environment', 'production'], 'sandbox:admin'],
    [['issue', '--tenant', 't', '--all', '--expires', 'never', '--environment', 'production'], 'expires'],
    [['rotate', '--tenant', 't'], "missing required argument 'id'"],
    [['nope'], "unknown command 'nope'"],
  ])('%j is a wrong call', async (args, text) => {
    await expect(run(args)).rejects.toMatchObject({
      name: 'Failure',
      exitCode: 2,
      message: expect.stringContaining(text),
    });
    expect(out).toBe('');
  });

  test('refuses an embedded service that runs in the data directory, and names its tokens', async () => {
    const folder = temporaryFolder();
    vi.stubEnv('SIGNMESH_DATA_DIR', folder);
    mkdirSync(join(folder, 'run'));
    writeRecord(lockFile(folder), identify(process.pid));
    writeFileSync(readyFile(folder), JSON.stringify({ embedded: true, pids: { up: process.pid } }));
    const remedy = /is embedded.*in memory.*"svc_sk_test_….*POST \/v1\/sandbox\/tokens/;
    for (const args of [
      ['issue', '--all'],
      ['issue', '--all', '--tenant', 't'],
    ]) {
      await expect(run(args)).rejects.toMatchObject({ name: 'Failure', message: expect.stringMatching(remedy) });
    }
  });

  test('help lists every scope', async () => {
    expect(await tokens('issue', '--help')).toBe(0);
    for (const scope of allScopes) expect(out).toContain(scope);
    expect(await tokens()).toBe(2);
  });

  test('a Redis that is not there, or a folder without a cluster, is one line without a password', async () => {
    vi.stubEnv('REDIS_URL', 'redis://:hunter2@127.0.0.1:1');
    const failed = tokens('list', '--tenant', 't');
    await expect(failed).rejects.toMatchObject({ name: 'Failure', exitCode: 1 });
    await expect(failed).rejects.toThrow(/^Redis at 127\.0\.0\.1:1 cannot be reached: nothing listens there\.$/);
    await expect(tokens('list', '--tenant', 't', '--data-dir', temporaryFolder())).rejects.toThrow(
      'There is no cluster',
    );
  });
});

describe('the Redis of a data directory', () => {
  const settingsOf = (folder: string) => loadSettings({ SIGNMESH_DATA_DIR: folder }).settings;
  const make = (pid: number, config: string): string => {
    const folder = temporaryFolder();
    for (const each of ['run', 'redis']) mkdirSync(join(folder, each));
    writeRecord(join(folder, 'run', 'redis.pid'), identify(pid));
    writeFileSync(join(folder, 'redis', 'redis.conf'), config);
    return folder;
  };

  test('is the one that REDIS_URL names, if it does', () => {
    const { settings } = loadSettings({ REDIS_URL: 'redis://h:1', SIGNMESH_DATA_DIR: temporaryFolder() });
    expect(redisUrlFor(settings)).toBe('redis://h:1');
  });

  test('is the private one that runs', () => {
    const folder = make(process.pid, 'bind 127.0.0.1\nport 4711\nrequirepass abc\n');
    expect(redisUrlFor(settingsOf(folder))).toBe('redis://:abc@127.0.0.1:4711');
  });

  test('is none when nothing runs there, also when something did', () => {
    for (const folder of [temporaryFolder(), make(2 ** 22 + 1, 'port 4711\nrequirepass abc\n')]) {
      expect(() => redisUrlFor(settingsOf(folder))).toThrow(`No Redis runs in ${folder}`);
    }
    expect(() => redisUrlFor(settingsOf(make(process.pid, 'port 1\n')))).toThrow('redis.conf is damaged');
  });
});

/** `signmesh credentials`: what it makes, says and refuses. The re-wrapping itself: test/wallets/custody/connections/rotation.test.ts. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { credentialKeysDir, ensureClusterMaterial } from '../../cli/cluster-files/cluster-material.ts';
import { pruneKeys, run } from '../../cli/credentials.ts';
import { keyIds } from '../../wallets/store/secrets/file-key-ring.ts';
import { openDatabase, type RedisDatabase } from '../support/redis-database.ts';
import { addKey } from '../wallets/custody/connections/support.ts';

describe('the command', () => {
  let server: RedisDatabase;
  let dataDir: string;
  let said: string;
  beforeAll(async () => {
    server = await openDatabase();
  });
  afterAll(() => server.stop());
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'signmesh-credentials-'));
    ensureClusterMaterial(dataDir, 2, 2, 'sandbox');
    said = '';
    vi.stubEnv('REDIS_URL', server.url);
    const write = (chunk: string | Uint8Array): boolean => {
      said += String(chunk);
      return true;
    };
    vi.spyOn(process.stdout, 'write').mockImplementation(write);
    vi.spyOn(process.stderr, 'write').mockImplementation(write);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    rmSync(dataDir, { recursive: true });
  });
  const keys = () => readdirSync(join(dataDir, credentialKeysDir)).sort();

  it('makes the next key, for its owner alone, and shows none', async () => {
    expect(await run(['rotate', '--data-dir', dataDir])).toBe(0);
    expect(keys()).toEqual(['1.key', '2.key']);
    expect(said).toBe('key 2 is made and current\n0 of 0 records of 0 tenants were re-encrypted\n');
    const made = readFileSync(join(dataDir, credentialKeysDir, '2.key'), 'utf8');
    expect(made).toMatch(/^[0-9a-f]{64}\n$/);
    expect(said).not.toContain(made.trim());
  });

  it('answers in JSON', async () => {
    expect(await run(['rotate', '--data-dir', dataDir, '--json'])).toBe(0);
    expect(JSON.parse(said)).toEqual({ made_key: 2, tenants: 0, records: 0, rewrapped: 0, broken: [] });
  });

  it('wraps anew without a new key', async () => {
    expect(await run(['rewrap', '--data-dir', dataDir])).toBe(0);
    expect(keys()).toEqual(['1.key']);
  });

  it('prunes nothing before its day', async () => {
    await run(['rotate', '--data-dir', dataDir]);
    said = '';
    expect(await run(['prune', '--data-dir', dataDir, '--json'])).toBe(0);
    expect(JSON.parse(said)).toMatchObject({ removed_keys: [], kept_keys: [1, 2] });
  });

  it('makes no key when Redis cannot be reached', async () => {
    vi.stubEnv('REDIS_URL', 'redis://127.0.0.1:1');
    await expect(run(['rotate', '--data-dir', dataDir])).rejects.toThrow('cannot be reached');
    expect(keys()).toEqual(['1.key']);
  });

  it('refuses a damaged key and shows nothing of it', async () => {
    writeFileSync(join(dataDir, credentialKeysDir, '1.key'), 'not-a-key-at-all');
    await expect(run(['rewrap', '--data-dir', dataDir])).rejects.toThrow(
      /1\.key is damaged: it must hold 64 hex digits/,
    );
    await expect(run(['rewrap', '--data-dir', dataDir])).rejects.not.toThrow(/not-a-key-at-all/);
  });

  it('refuses a directory without a cluster', async () => {
    const empty = join(dataDir, 'empty');
    await expect(run(['rotate', '--data-dir', empty])).rejects.toThrow('There is no cluster');
    expect(existsSync(empty)).toBe(false);
  });

  it('refuses words that it does not know', async () => {
    await expect(run(['rotat'])).rejects.toThrow('rotat');
    await expect(run(['rotate', '--force'])).rejects.toThrow('--force');
  });
});

describe('pruning', () => {
  let directory: string;
  const dayMs = 24 * 3_600_000;
  const nowMs = 1_790_000_000_000;
  const keyOf = (number: number, ageMs: number): void => {
    addKey(directory, number);
    const at = new Date(nowMs - ageMs);
    utimesSync(join(directory, `${number}.key`), at, at);
  };
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'signmesh-keys-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  it('removes a key that nothing uses once its successor is older than any sealed answer', () => {
    keyOf(1, 9 * dayMs);
    keyOf(2, 25 * 3_600_000);
    expect(pruneKeys(directory, ['2'], nowMs)).toEqual([1]);
    expect(keyIds(directory)).toEqual([2]);
  });

  it('keeps a key whose successor is younger', () => {
    keyOf(1, 9 * dayMs);
    keyOf(2, 25 * 3_600_000 - 1);
    expect(pruneKeys(directory, ['2'], nowMs)).toEqual([]);
    expect(keyIds(directory)).toEqual([1, 2]);
  });

  it('keeps a key that something uses, and the newest one always', () => {
    for (const number of [1, 2, 3]) keyOf(number, 9 * dayMs);
    expect(pruneKeys(directory, ['1'], nowMs)).toEqual([2]);
    expect(keyIds(directory)).toEqual([1, 3]);
    expect(pruneKeys(directory, [], nowMs)).toEqual([1]);
    expect(pruneKeys(directory, [], nowMs)).toEqual([]);
    expect(keyIds(directory)).toEqual([3]);
  });
});

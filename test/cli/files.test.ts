/** Files of the data directory: where it cannot be made, one line says so, and at once. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Failure, machineFailure } from '../../cli/common/failure.ts';
import { makeDataDirectory, makeDirectory } from '../../cli/common/files.ts';
import { logs } from '../../cli/up/logs.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signmesh-files-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('makeDirectory', () => {
  test('makes parents too, for the owner only, and again does nothing', () => {
    const deep = join(folder, 'a', 'b');
    makeDirectory(deep);
    makeDirectory(deep);
    expect(statSync(deep).mode & 0o777).toBe(0o700);
  });

  test.each([
    ['a file system that makes none', '/proc/signmesh/data'],
    ['a file in the way', 'file/data'],
  ])('fails with one line on %s', (_, path) => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => makeDirectory(path.startsWith('/') ? path : join(folder, path))).toThrow(Failure);
  });
});

test.each(['EACCES', 'EPERM'])('what another user owns is one line and a remedy: %s', (code) => {
  const error = Object.assign(new Error(`${code}: it is not yours, open '/data/run/up.lock'`), { code });
  expect(machineFailure(error)?.message).toMatch(/up[.]lock'[.] Run it as the user who owns that/);
});

test('logs that cannot be read are not said to be missing', async () => {
  const dataDir = join(folder, 'file');
  writeFileSync(dataDir, '');
  const options = { processes: [], lines: 1, follow: false, raw: false };
  await expect(logs({ dataDir, ...options })).rejects.toThrow(/^Cannot read .*file.logs: ENOTDIR/);
  await expect(logs({ dataDir: folder, ...options })).rejects.toThrow(/no cluster has run there/);
});

describe('makeDataDirectory', () => {
  const ignored = (path: string) =>
    existsSync(join(path, '.gitignore')) && readFileSync(join(path, '.gitignore'), 'utf8');

  test.each(['new/data', '.signmesh'])('keeps the secrets in %s out of git', (name) => {
    const path = join(folder, name);
    if (name === '.signmesh') mkdirSync(path);
    makeDataDirectory(path, ['logs']);
    expect([ignored(path), existsSync(join(path, 'logs'))]).toEqual(['*\n', true]);
  });

  test('changes nothing about a directory that was there, nor a .gitignore of its owner', () => {
    makeDataDirectory(folder);
    expect(ignored(folder)).toBe(false);
    const own = join(folder, '.signmesh');
    mkdirSync(own);
    writeFileSync(join(own, '.gitignore'), '*.log\n');
    makeDataDirectory(own);
    expect(ignored(own)).toBe('*.log\n');
  });
});

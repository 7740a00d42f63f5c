/** Files of the data directory: where it cannot be made, one line says so, and at once. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Failure } from '../../cli/common/failure.ts';
import { makeDataDirectory, makeDirectory } from '../../cli/common/files.ts';

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

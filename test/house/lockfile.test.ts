/** package-lock.json is whole and says nothing of the machine it was made on. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../cli/support/up-process.ts';

interface Entry {
  readonly version?: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8');
const { packages } = JSON.parse(lockText) as { packages: Readonly<Record<string, Entry>> };
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, Record<string, string>>;

test('the binaries of every platform stand in it, or npm ci would refuse it', () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        packages[`node_modules/${name}`] === undefined && packages[`${path}/node_modules/${name}`] === undefined,
    ),
  );
  expect(missing).toEqual([]);
});

test('it names no registry', () => {
  expect(lockText).not.toContain('"resolved"');
});

test('versions are exact, and the lock has them', () => {
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    expect(version).toMatch(/^\d+\.\d+\.\d+(-\d+)?$/);
    expect(packages[`node_modules/${name}`]?.version).toBe(version);
  }
});

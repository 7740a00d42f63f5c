/** `signmesh mutate` on a small project: which mutants its tests notice, which they run without noticing, and which they never run. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { repositoryRoot } from '../../tools/check/repository.ts';
import { isThorough } from '../support/thorough.ts';

const root = mkdtempSync(join(tmpdir(), 'signmesh-mutate-'));
afterAll(() => rmSync(root, { recursive: true }));

const source = `
export function isAbove(limit: number, amount: number): boolean {
  if (amount > limit) return true;
  return false;
}

export function sum(count: number): number {
  let total = 0;
  for (let index = 0; index < count; ) {
    index += 1;
    total += index;
  }
  return total;
}

export function notify(heard: () => void): void {
  heard();
}

export function unused(): boolean {
  return true;
}
`;

const tests = `
import { beforeAll, expect, test } from 'vitest';
import { isAbove, notify, sum } from '../room/amounts.ts';

test('a larger amount is above', () => {
  expect(isAbove(5, 6)).toBe(true);
  expect(isAbove(5, 4)).toBe(false);
});

test('sums up', () => {
  expect(sum(3)).toBe(6);
});

let shared: Promise<void>;
beforeAll(() => {
  shared = new Promise(notify);
});

test('hears of it', async () => {
  await shared;
});
`;

// Its mutants alone: mutants.test.ts.
test.runIf(isThorough)(
  'tells killed, surviving and unreached mutants apart, loops and promises that never settle included',
  async () => {
    for (const folder of ['room', 'test', 'examples']) mkdirSync(join(root, folder));
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(root, 'room/amounts.ts'), source);
    writeFileSync(join(root, 'test/amounts.test.ts'), tests);
    writeFileSync(
      join(root, 'test/broken.test.ts'),
      `import { test } from 'vitest'; test('fails', () => { throw new Error('always'); });`,
    );
    symlinkSync(join(repositoryRoot(), 'node_modules'), join(root, 'node_modules'));
    const relativeRoot = relative(repositoryRoot(), root);
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      // An endless loop computes until its process is killed.
      ['cli/signmesh.mjs', '--development', 'mutate', 'room', '--root', relativeRoot, '--seconds-blocked', '2'],
      { cwd: repositoryRoot() },
    );
    expect(stderr).toContain('left out, since it fails without any mutant: test/broken.test.ts: always');
    const results = stdout
      .split('\n')
      .flatMap((line) => /^(\w[\w ]*\w) +room\/amounts.ts:\d+ +(.*)$/.exec(line)?.slice(1) ?? []);
    const of = (result: string) => results.filter((_, index) => results[index - 1] === result).sort();
    expect(of('survived')).toEqual(['> is >=']);
    expect(of('not reached')).toEqual(['true is false']);
    expect(of('killed')).toEqual([
      '< is <=',
      'false is true',
      'guard always holds',
      'guard never holds',
      'statement left out',
      'statement left out',
      'statement left out',
      'true is false',
    ]);
    expect(stdout).toContain(
      'room: 8 killed, 1 survived, 1 not reached: 80.0 % killed (95 % confidence: 49.0 % to 94.3 %)',
    );
  },
);

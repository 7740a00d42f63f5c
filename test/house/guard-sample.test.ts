/**
 * How much the random search finds that was not planted for it: `if` guards of coordinator/ and nodes/, drawn by a seed, are disabled
 * in turn, and few seeds run, in a thorough run alone. The figure of a long search is in docs/simulation.md.
 */
import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { root } from '../cli/support/up-process.ts';
import { isThorough } from '../support/thorough.ts';

/** What `signmesh guards` prints. */
function guards(...options: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, ['cli/signmesh.mjs', 'guards', ...options], { cwd: root });
  let out = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', () => resolve(out));
  });
}

const finds = 'a seeded sample of disabled guards: the search finds what it found before';
test.runIf(isThorough)(finds, { timeout: 3_600_000 }, async () => {
  const out = await guards('--seed', '3', '--sample', '80', '--seeds', '60', '--runs', '20');
  const [, found = '0', of] = /^(\d+) of (\d+) found; /m.exec(out) ?? [];
  expect(of, out).toBe('80');
  expect(Number(found), out).toBeGreaterThanOrEqual(24);
});

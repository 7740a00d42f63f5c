/**
 * How much the random search finds that was not planted for it: `if` guards of coordinator/ and nodes/, drawn by a seed, are disabled
 * in turn, and few seeds run. The figure of a long search is in docs/simulation.md.
 */
import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { root } from '../cli/support/up-process.ts';
import { runs } from '../support/thorough.ts';

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

test('a seeded sample of disabled guards: the search finds what it found before', { timeout: 3_600_000 }, async () => {
  const sample = String(runs(8, 80));
  const seeds = String(runs(3, 60));
  const out = await guards('--seed', '3', '--sample', sample, '--seeds', seeds, '--runs', String(runs(6, 20)));
  const [, found = '0', of] = /^(\d+) of (\d+) found; /m.exec(out) ?? [];
  expect(of, out).toBe(sample);
  expect(Number(found), out).toBeGreaterThanOrEqual(runs(2, 24));
});

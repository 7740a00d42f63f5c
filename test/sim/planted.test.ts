/**
 * The simulation finds what is wrong: each known flaw is planted into a copy of the compiled program, and its
 * `signmesh sim` must find the invariant that it breaks, within a stated number of seeds.
 */
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verdictExitCodes } from '../../runner/scenario/world.ts';
import { type PlantedFlaw, plantedFlaws } from './support/planted.ts';
import { buildProgram, copiesFolder, plantedCopy, root } from './support/program-copy.ts';

const folder = copiesFolder('planted');

beforeAll(() => buildProgram(folder));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const plant = ({ name, edits }: PlantedFlaw): string => plantedCopy(folder, name, edits);

/** `signmesh sim` of a copy, in a process of its own. */
function search(
  copy: string,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly out: string }> {
  const module = pathToFileURL(join(copy, 'cli', 'sim.js')).href;
  const script = `const { run } = await import(${JSON.stringify(module)}); process.exitCode = await run(${JSON.stringify(args)});`;
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: copy,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let out = '';
    child.stdout.on('data', (data) => {
      out += data;
    });
    child.once('close', (code) => resolve({ code, out }));
  });
}

/** Two searches at a time, in the order in which they are asked for. */
const slots: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const slot = slots.shift()!;
  const done = slot.then(work);
  slots.push(done.catch(() => undefined));
  return done;
}

describe('a planted flaw is found by random simulation', { timeout: 600_000 }, () => {
  test.concurrent.each(plantedFlaws)('$name', async (planted) => {
    const { profile, seeds, invariants } = planted;
    const args = ['--profile', profile, '--seeds', String(seeds), '--shrink-runs', '0', '--out', 'found'];
    const { code, out } = await inTurn(() => search(plant(planted), args));
    const [first = ''] = out.split('\n');
    expect(first).toMatch(new RegExp(`^seed \\d+, profile ${profile}: violated (${invariants.join('|')}): `));
    expect(code).toBe(verdictExitCodes.violated);
  });

  test('and nothing in the program as it is, in two threads', async () => {
    const whole = { name: 'none', edits: [] } as unknown as PlantedFlaw;
    const { code, out } = await search(plant(whole), ['--seeds', '5', '--jobs', '2', '--out', 'found']);
    expect(out).toContain('nothing found');
    expect(code).toBe(0);
  });
});

test('docs/simulation.md has the same table', () => {
  const rows = plantedFlaws.map(({ flaw, profile, seeds, invariants }) => {
    const named = invariants.map((name) => `\`${name}\``).join(', ');
    return `| ${flaw} | \`${profile}\` | ${seeds} | ${named} |`;
  });
  expect(readFileSync(join(root, 'docs', 'simulation.md'), 'utf8')).toContain(`${rows.join('\n')}\n<!-- end -->`);
});

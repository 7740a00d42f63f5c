/**
 * The simulation finds what is wrong: each known flaw is planted into a copy of the compiled program, and its random search
 * must find the invariant that it breaks, within a stated number of seeds.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { verdictExitCodes } from '../../../scenarios/runner/world.ts';
import { isThorough } from '../../support/thorough.ts';
import { plantedFlaws } from './support/planted.ts';
import { buildProgram, copiesFolder, type PlantedFlaw, plantedCopy, root, runScript } from './support/program-copy.ts';

const folder = copiesFolder('planted');

beforeAll(() =>
  buildProgram(
    folder,
    plantedFlaws.flatMap(({ edits }) => edits),
  ),
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Found {
  readonly name: string;
  readonly verdict: { readonly kind: string; readonly invariant?: string };
}

/** What the search of `signmesh sim` finds first in each copy, one after the other in a process of its own. */
async function search(flaws: readonly PlantedFlaw[]): Promise<readonly Found[]> {
  const tasks = flaws.map(({ name, edits, profile, seeds, foundBy }) => {
    const copy = plantedCopy(folder, name, edits);
    const inTurn = Array.from({ length: seeds }, (_, index) => index + 1);
    const order = foundBy === undefined || isThorough ? inTurn : [foundBy, ...inTurn];
    const module = pathToFileURL(join(copy, 'simulation', 'search', 'signing', 'workload.js')).href;
    return { name, profile, order, module };
  });
  const script = `
    const found = [];
    for (const { name, profile, order, module } of ${JSON.stringify(tasks)}) {
      const { runSeed } = await import(module);
      let verdict;
      for (const seed of order) {
        ({ verdict } = runSeed(seed, profile, { crypto: 'model', record: false }));
        if (verdict.kind !== 'passed') break;
      }
      found.push({ name, verdict });
    }
    process.stdout.write(JSON.stringify(found));`;
  const { code, out, errors } = await runScript(folder, script);
  expect(code, errors).toBe(0);
  return JSON.parse(out);
}

describe('a planted flaw is found by random simulation', { timeout: 3_600_000 }, () => {
  // Every twenty-fourth one; all of them in a thorough run.
  const searched = isThorough
    ? plantedFlaws
    : plantedFlaws.filter(({ isSlow }) => isSlow !== true).filter((_, index) => index % 24 === 0);
  let found: readonly Found[];
  beforeAll(async () => {
    const halves = [0, 1].map((half) => searched.filter((_, index) => index % 2 === half));
    found = (await Promise.all(halves.map(search))).flat();
  }, 3_600_000);

  test.each(searched)('$name', ({ name, invariants }) => {
    const { verdict } = found.find((one) => one.name === name)!;
    expect(verdict.kind).toBe('violated');
    expect(invariants).toContain(verdict.invariant);
  });

  test('and its verdict is told by the command', async () => {
    const { name, edits, profile } = plantedFlaws.find(({ seeds }) => seeds === 10)!;
    const copy = plantedCopy(folder, `command-${name}`, edits);
    const { code, out } = await command(copy, ['--profile', profile, '--seeds', '10', '--shrink-runs', '0']);
    expect(out).toMatch(new RegExp(`^seed \\d+, profile ${profile}: violated `));
    expect(code).toBe(verdictExitCodes.violated);
  });

  // In `npm test` search.test.ts runs the program as it is.
  test.runIf(isThorough)('and nothing in the program as it is, in two threads', async () => {
    const { code, out } = await command(plantedCopy(folder, 'none', []), ['--seeds', '3', '--jobs', '2']);
    expect(out).toContain('nothing found');
    expect(code).toBe(0);
  });
});

/** `signmesh sim` of a copy. */
function command(copy: string, args: readonly string[]) {
  const module = JSON.stringify(pathToFileURL(join(copy, 'cli', 'sim.js')).href);
  const words = JSON.stringify([...args, '--out', 'found']);
  return runScript(copy, `const { run } = await import(${module}); process.exitCode = await run(${words});`);
}

test('docs/simulation.md has the same table', () => {
  const rows = plantedFlaws.map(({ flaw, profile, seeds, invariants }) => {
    const named = invariants.map((name) => `\`${name}\``).join(', ');
    return `| ${flaw} | \`${profile}\` | ${seeds} | ${named} |`;
  });
  expect(readFileSync(join(root, 'docs', 'simulation.md'), 'utf8')).toContain(`${rows.join('\n')}\n<!-- end -->`);
});

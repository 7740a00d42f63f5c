/** Copies of the compiled program with something wrong in them: what tests plant, and the simulation must find. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** What the simulation loads; the rest of the program stays away. */
const parts = [
  'proto',
  'crypto',
  'actors',
  'faults',
  'nodes',
  'coordinator',
  'sim',
  'cli/sim',
  'cli/sim.js',
  'cli/failure.js',
  'cli/invocation.js',
  'delivery/deliveries/schedule.js',
];

/** One replacement in a file of dist/: `from` stands there exactly once. */
export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A folder for the copies of one test file, below the root, so that packages are found from there. */
export function copiesFolder(name: string): string {
  return join(root, '.setup', `${name}-${process.pid}`);
}

/** Compiles what has changed, and nothing if nothing has. */
export function buildProgram(): void {
  execFileSync(process.execPath, [join(root, 'cli', 'signmesh.mjs'), '--version'], { stdio: 'ignore' });
}

/** Copies the program into `folder/name` and makes the edits. Returns the copy's folder. */
export function plantedCopy(folder: string, name: string, edits: readonly Edit[]): string {
  const copy = join(folder, name);
  for (const part of parts) {
    mkdirSync(dirname(join(copy, part)), { recursive: true });
    cpSync(join(root, 'dist', part), join(copy, part), {
      recursive: true,
      filter: (path) => !path.endsWith('.map'),
    });
  }
  for (const { file, from, to } of edits) {
    const path = join(copy, file);
    const pieces = readFileSync(path, 'utf8').split(from);
    expect(pieces.length, `${file} has ${JSON.stringify(from)} once`).toBe(2);
    writeFileSync(path, pieces.join(to));
  }
  return copy;
}

/**
 * Set-up of every test file in a run with mutants: switches on the one that the run is about, and writes down which ones
 * the file's tests reach.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject } from 'vitest';

/** A loop that a mutant keeps from ending. */
const callsMax = 3_000_000;

const { on, folder } = inject('mutation');
const reached = new Set<number>();
let calls = 0;

(globalThis as { mutantIsOn?: (id: number) => boolean }).mutantIsOn = (id) => {
  reached.add(id);
  if (id !== on) return false;
  calls += 1;
  if (calls > callsMax) throw new Error('the mutant loops');
  return true;
};

let whileLoading = new Set<number>();
beforeAll(() => {
  whileLoading = new Set(reached);
});
afterAll(() => {
  if (on !== 0) return;
  const file = expect.getState().testPath ?? '';
  const name = `${Buffer.from(file).toString('base64url').slice(-200)}.json`;
  writeFileSync(join(folder, name), JSON.stringify({ file, reached: [...reached], whileLoading: [...whileLoading] }));
});

declare module 'vitest' {
  interface ProvidedContext {
    readonly mutation: { readonly on: number; readonly folder: string };
  }
}

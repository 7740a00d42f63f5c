/**
 * The program of the random search with every `if` of some rooms behind a switch, in one bundle: a mutant needs no build.
 *
 * A disabled guard still evaluates its test, but ignores the result. So a run in which a guard's test never gave the other result
 * is byte for byte the run without the mutant, and need not be repeated.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { runSeed, Trials } from '../../simulation/search/campaign.ts';
import { repositoryRoot } from '../check/repository.ts';
import { mutantsOf } from '../mutate/mutants.ts';

/** One `if` of a source that the simulation loads. */
export interface Guard {
  /** From 0, by file and position. */
  readonly id: number;
  /** Below the root. */
  readonly file: string;
  readonly line: number;
  /** Its test, in one line. */
  readonly text: string;
  /** Its place among the guards of the file with this test, from 1. */
  readonly place: number;
}

/** Unique: "file: test", and "file: test #2" of the second guard of a file with this test. */
export function nameOf({ file, text, place }: Omit<Guard, 'id' | 'line'>): string {
  return `${file}: ${text}${place > 1 ? ` #${place}` : ''}`;
}

/** `never`: the test never holds. `always`: it always does. */
export type Shape = 'never' | 'always';

/** The interface of the planted program at every guard. */
export interface Switchboard {
  /** The disabled guard; -1: none. */
  on: number;
  shape: Shape;
  /** Guards evaluated since the run began. */
  calls: number;
  /** By guard: bit 0, its test failed; bit 1, it held. */
  seen: Uint8Array;
}

export interface PlantedSearch {
  readonly guards: readonly Guard[];
  readonly board: Switchboard;
  readonly runSeed: typeof runSeed;
  readonly allTrials: Trials;
  readonly close: () => void;
}

/** The entry of the bundle. */
const entry = `
  export { runSeed } from './runner/search/campaign.ts';
  export { allTrials } from './trials/all-trials.ts';`;

/** A run evaluates some 100,000 guards; a mutant that loops evaluates more. */
const callsMax = 20_000_000;

/** Builds and loads the search with the guards of `rooms`. */
export async function plantedSearch(rooms: readonly string[]): Promise<PlantedSearch> {
  const root = repositoryRoot();
  const folder = join(root, '.setup', `guards-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const close = () => rmSync(folder, { recursive: true, force: true });
  const out = join(folder, 'search.mjs');
  const guards: Guard[] = [];
  const isPlanted = new RegExp(`^(${rooms.join('|')})/`);
  const sources = new Map<string, string>();
  try {
    // Guards are numbered by file; esbuild loads files in an order of its own.
    await bundle(root, out, (file) => {
      if (isPlanted.test(file)) sources.set(file, readFileSync(join(root, file), 'utf8'));
      return undefined;
    });
    const planted = new Map<string, string>();
    for (const [file, source] of [...sources].sort(([a], [b]) => (a < b ? -1 : 1))) {
      planted.set(file, plantGuards(file, source, guards));
    }
    await bundle(root, out, (file) => planted.get(file));
    const board: Switchboard = { on: -1, shape: 'never', calls: 0, seen: new Uint8Array(guards.length) };
    (globalThis as { guardHolds?: unknown }).guardHolds = (id: number, test: unknown): boolean => {
      board.calls += 1;
      if (board.calls > callsMax) throw new Error('the mutant loops');
      const holds = Boolean(test);
      board.seen[id]! |= holds ? 2 : 1;
      return board.on === id ? board.shape === 'always' : holds;
    };
    const program = (await import(pathToFileURL(out).href)) as Pick<PlantedSearch, 'runSeed' | 'allTrials'>;
    return { guards, board, runSeed: program.runSeed, allTrials: program.allTrials, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** The source with each `if (test)` as `if (guardHolds(id, (test)))`; the guards are added to `guards`. */
export function plantGuards(file: string, source: string, guards: Guard[]): string {
  const bytes = Buffer.from(source);
  const found = mutantsOf(file, source).filter(({ what }) => what === 'guard never holds');
  const pieces: Uint8Array[] = [];
  let done = 0;
  for (const { line, start, end } of [...found].sort((a, b) => a.start - b.start)) {
    const test = bytes.subarray(start, end).toString();
    const text = test.replace(/\s+/g, ' ');
    const place = 1 + guards.filter((guard) => guard.file === file && guard.text === text).length;
    pieces.push(bytes.subarray(done, start), Buffer.from(`globalThis.guardHolds(${guards.length}, (${test}))`));
    guards.push({ id: guards.length, file, line, text, place });
    done = end;
  }
  return Buffer.concat([...pieces, bytes.subarray(done)]).toString();
}

async function bundle(root: string, outfile: string, textOf: (file: string) => string | undefined): Promise<void> {
  await build({
    absWorkingDir: root,
    stdin: { contents: entry, resolveDir: root },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    logLevel: 'error',
    plugins: [
      {
        name: 'guards',
        setup({ onLoad }) {
          onLoad({ filter: /\.ts$/ }, ({ path }) => {
            const contents = textOf(relative(root, path));
            return contents === undefined ? undefined : { contents, loader: 'ts' };
          });
        },
      },
    ],
  });
}

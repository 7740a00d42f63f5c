/**
 * `signmesh mutate ROOM…`: measures whether tests notice small faults. It plants a seeded sample of mutants into the sources of
 * the named folders and runs the tests that reach each, the shortest first, until one fails (mutate/mutant-runs.ts).
 *
 * `--count 300` mutants at most of each folder, `--seed 1`; `--seconds 60`: how long the tests of one mutant may take in all;
 * `--seconds-blocked 30`: how long an endless loop may block a process before it is killed;
 * `--tests GLOB` names the test files (all), `--not GLOB` excludes some. Tests that start processes do not see a mutant and do
 * not run. `--root DIR` is another checkout, such as an older commit; `--mutants FILE` a list of mutants as JSON in
 * place of a sample.
 *
 * `--before DIR` compares with an older checkout, whose node_modules is a link to this one's: it draws the sample from the mutants
 * of lines that both have, and runs the tests of each checkout against it. A room that has another name there is written
 * `wallets/custody/intents=gateway/intents`.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { exitCodes, Failure } from '../cli/common/failure.ts';
import { randomStream } from '../simulation/cluster/random.ts';
import { repositoryRoot } from './check/repository.ts';
import { commonMutants, type Side } from './mutate/common.ts';
import { MutantRuns, type Result } from './mutate/mutant-runs.ts';
import { confidence, type Found, type Mutant, mutantsOf, sample } from './mutate/mutants.ts';
import { filesByTier } from './tiers.ts';

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals: rooms } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      count: { type: 'string', default: '300' },
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '60' },
      'seconds-blocked': { type: 'string', default: '30' },
      not: { type: 'string', multiple: true, default: [] },
      tests: { type: 'string', multiple: true, default: [] },
      root: { type: 'string', default: repositoryRoot() },
      mutants: { type: 'string' },
      before: { type: 'string' },
    },
  });
  if (rooms.length === 0)
    throw new Failure('mutate: name folders, for example: mutate coordinator nodes wallets/custody/intents');
  const root = resolve(values.root);
  if (values.before !== undefined) return compare(resolve(values.before), root, rooms, values);
  const samples = rooms.map((room) => {
    const all = mutantsIn(root, room);
    const drawn = sample(all, Number(values.count), drawing(`${values.seed} ${room}`));
    process.stdout.write(`${room}: ${drawn.length} of ${all.length} mutants, seed ${values.seed}\n`);
    return drawn;
  });
  const listed = values.mutants && (JSON.parse(readFileSync(values.mutants, 'utf8')) as Mutant[]);
  const mutants = numbered(listed || samples.flat());
  const results = await resultsOf(root, mutants, values);
  for (const room of rooms) report(room, below(room, mutants), results);
  return exitCodes.ok;
}

interface Options {
  readonly count: string;
  readonly seed: string;
  readonly seconds: string;
  readonly 'seconds-blocked': string;
  readonly tests: readonly string[];
  readonly not: readonly string[];
}

async function compare(before: string, after: string, rooms: readonly string[], options: Options): Promise<number> {
  const names = rooms.map((room) => room.split('=')).map(([now, older]) => ({ now: now!, older: older ?? now! }));
  const pairs = names.flatMap(({ now, older }) => {
    const all = commonMutants(sideOf(before, older), sideOf(after, now));
    const drawn = sample(all, Number(options.count), drawing(`${options.seed} ${now}`));
    process.stdout.write(`${now}: ${drawn.length} of ${all.length} mutants of both, seed ${options.seed}\n`);
    return drawn;
  });
  const old = numbered(pairs.map((pair) => pair.before));
  const today = numbered(pairs.map((pair) => pair.after));
  const resultsBefore = await resultsOf(before, old, options);
  const resultsAfter = await resultsOf(after, today, options);
  for (const { now, older } of names) {
    report(`before: ${older}`, below(older, old), resultsBefore);
    report(`after: ${now}`, below(now, today), resultsAfter);
    for (const { id, file, line, what } of below(now, today)) {
      if (resultsBefore.get(id) === 'killed' && resultsAfter.get(id) !== 'killed') {
        process.stdout.write(`killed before, ${resultsAfter.get(id)} after: ${file}:${line}  ${what}\n`);
      }
    }
  }
  return exitCodes.ok;
}

function numbered(mutants: readonly Found[]): Mutant[] {
  return mutants.map((mutant, index) => ({ ...mutant, id: index + 1 }));
}

function below(room: string, mutants: readonly Mutant[]): Mutant[] {
  return mutants.filter(({ file }) => file.startsWith(`${room}/`));
}

async function resultsOf(root: string, mutants: readonly Mutant[], options: Options) {
  const { system } = filesByTier(root);
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-mutants-'));
  const tests = {
    include: options.tests.length > 0 ? options.tests : ['test/**/*.test.ts'],
    exclude: [...options.not, ...system],
    msMax: 1000 * Number(options.seconds),
    blockedMsMax: 1000 * Number(options['seconds-blocked']),
  };
  const runs = await MutantRuns.open(root, mutants, tests, folder);
  try {
    return await runs.run();
  } finally {
    await runs.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function report(room: string, mutants: readonly Mutant[], results: ReadonlyMap<number, Result>): void {
  const counts: Record<Result, number> = { killed: 0, survived: 0, 'not reached': 0 };
  for (const { id, file, line, what } of mutants) {
    const result = results.get(id)!;
    counts[result] += 1;
    process.stdout.write(`${result.padEnd(12)} ${file}:${line}  ${what}\n`);
  }
  const [low, high] = confidence(counts.killed, mutants.length);
  process.stdout.write(
    `${room}: ${counts.killed} killed, ${counts.survived} survived, ${counts['not reached']} not reached: ` +
      `${percent(counts.killed / mutants.length)} killed (95 % confidence: ${percent(low)} to ${percent(high)})\n`,
  );
}

function percent(rate: number): string {
  return `${(100 * rate).toFixed(1)} %`;
}

function mutantsIn(root: string, room: string): Found[] {
  return sourcesOf(root, room).flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')));
}

function sideOf(root: string, room: string): Side {
  return { mutants: mutantsIn(root, room), read: (file) => readFileSync(join(root, file), 'utf8') };
}

function sourcesOf(root: string, room: string): string[] {
  return readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(room, path))
    .sort();
}

/** Numbers from 0 up to but not including 1, the same for the same seed. */
function drawing(seed: string): () => number {
  const random = randomStream(seed, 'mutants');
  return () => Buffer.from(random(6)).readUIntBE(0, 6) / 2 ** 48;
}

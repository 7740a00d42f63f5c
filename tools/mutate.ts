/**
 * `signmesh mutate ROOM…`: measures whether tests notice small faults. It plants a seeded sample of mutants into the sources of
 * the named folders and runs the tests that reach each, the shortest first, until one fails (mutate/trials.ts).
 *
 * `--count 300` mutants at most of each folder, `--seed 1`; `--seconds 60`: how long the tests of one mutant may take in all;
 * `--seconds-blocked 30`: how long an endless loop may block a process before it is killed;
 * `--tests GLOB` names the test files (all), `--not GLOB` excludes some. Tests that start processes do not see a mutant and do
 * not run. `--root DIR` is another checkout, such as an older commit; `--mutants FILE` a list of mutants as JSON in
 * place of a sample.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { exitCodes, Failure } from '../cli/common/failure.ts';
import { randomStream } from '../sim/random.ts';
import { repositoryRoot } from './check/repository.ts';
import { confidence, type Mutant, mutantsOf, sample } from './mutate/mutants.ts';
import { type Result, Trials } from './mutate/trials.ts';
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
    },
  });
  if (rooms.length === 0)
    throw new Failure('mutate: name folders, for example: mutate coordinator nodes custody/intents');
  const { root } = values;
  const samples = rooms.map((room) => {
    const all = sourcesOf(root, room).flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')));
    const drawn = sample(all, Number(values.count), drawing(`${values.seed} ${room}`));
    process.stdout.write(`${room}: ${drawn.length} of ${all.length} mutants, seed ${values.seed}\n`);
    return drawn;
  });
  const listed = values.mutants && (JSON.parse(readFileSync(values.mutants, 'utf8')) as Mutant[]);
  const mutants = (listed || samples.flat()).map((mutant, index) => ({ ...mutant, id: index + 1 }));
  const { system, alone } = filesByTier(root);
  const include = values.tests.length > 0 ? values.tests : ['test/**/*.test.ts'];
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-mutants-'));
  const tests = {
    include,
    exclude: [...values.not, ...system, ...alone],
    msMax: 1000 * Number(values.seconds),
    blockedMsMax: 1000 * Number(values['seconds-blocked']),
  };
  const trials = await Trials.open(root, mutants, tests, folder);
  try {
    const results = await trials.run();
    for (const room of rooms) {
      const own = mutants.filter(({ file }) => file.startsWith(`${room}/`));
      report(room, own, results);
    }
  } finally {
    await trials.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return exitCodes.ok;
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

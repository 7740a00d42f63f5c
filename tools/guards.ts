/**
 * `signmesh guards ROOM…`: lists the guards that the random search misses. It disables every `if` of the named rooms (coordinator
 * and nodes by default) in turn, and runs seeds of every profile until one fails.
 *
 * `--seeds 200` of each profile at most, from `--first-seed 1`; `--minutes 10` of CPU time at most for one guard, and `--runs`
 * runs. `--sample 40` guards drawn with `--seed 1`, all by default; `--only TEXT`: guards whose file and test contain it;
 * `--shape always` inverts the mutation: their bodies always run. `--coverage` lists the guards that no seed runs, or whose mutant
 * changes no seed, and disables none. `--deeper 300`: guards that survive, and that guards/explained.ts does not explain, get so many
 * further seeds, and no limit of runs. `--strict`: a survivor without an explanation is a failure, and so is an explanation of a
 * guard that is found.
 */
import { parseArgs } from 'node:util';
import { exitCodes, Failure } from '../cli/common/failure.ts';
import { randomStream } from '../simulation/cluster/random.ts';
import { profiles } from '../simulation/search/profiles.ts';
import { explanationOf } from './guards/explained.ts';
import { type Guard, nameOf, plantedSearch, type Shape } from './guards/plant.ts';
import { GuardSearch, type Result, type Task } from './guards/search.ts';

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seeds: { type: 'string', default: '200' },
      'first-seed': { type: 'string', default: '1' },
      minutes: { type: 'string', default: '10' },
      runs: { type: 'string' },
      deeper: { type: 'string', default: '0' },
      coverage: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      shape: { type: 'string', default: 'never' },
      only: { type: 'string' },
    },
  });
  const shape = values.shape as Shape;
  if (shape !== 'never' && shape !== 'always') throw new Failure('guards: --shape is never or always');
  const search = await plantedSearch(positionals.length > 0 ? positionals : ['coordinator', 'nodes']);
  try {
    const { only, sample } = values;
    const matching = search.guards.filter((guard) => only === undefined || nameOf(guard).includes(only));
    const guards = sample === undefined ? matching : drawn(matching, Number(sample), values.seed);
    process.stdout.write(`${guards.length} of ${search.guards.length} guards, ${shape} holding\n`);
    const firstSeed = Number(values['first-seed']);
    const seeds = Number(values.seeds);
    const tasks = tasksOf(firstSeed, seeds);
    const cpuMsMax = Number(values.minutes) * 60_000;
    const found = new GuardSearch(search, tasks, { shape, cpuMsMax, runsMax: Number(values.runs ?? tasks.length) });
    const { run, held } = found.coverage(guards);
    process.stdout.write(
      `${tasks.length} runs evaluate ${run} of them, and in ${held} the test holds or fails as the mutant changes\n`,
    );
    if (values.coverage) {
      for (const guard of guards) {
        const kind = found.reaches(guard);
        if (kind !== 'held' && explanationOf(guard) === undefined) told({ guard, kind, text: '' });
      }
      return exitCodes.ok;
    }
    const results = guards.map((guard) => toldAs(found.search(guard)));
    const isMissed = ({ kind, guard }: Result) => kind !== 'found' && explanationOf(guard) === undefined;
    const more = Number(values.deeper);
    if (more === 0 || !results.some(isMissed)) return summary(results, values.strict);
    process.stdout.write(`${more} further seeds for ${results.filter(isMissed).length} guards\n`);
    const deeper = new GuardSearch(search, tasksOf(firstSeed + seeds, more), { shape, cpuMsMax, runsMax: Infinity });
    const all = results.map((result) => (isMissed(result) ? toldAs(deeper.search(result.guard)) : result));
    return summary(all, values.strict);
  } finally {
    search.close();
  }
}

function tasksOf(firstSeed: number, count: number): Task[] {
  const seeds = Array.from({ length: count }, (_, index) => firstSeed + index);
  return seeds.flatMap((seed) => profiles.map((profile) => ({ seed, profile })));
}

function toldAs(result: Result): Result {
  told(result);
  return result;
}

function told({ guard, kind, text }: Omit<Result, 'kind'> & { readonly kind: string }): void {
  const why = kind === 'found' ? '' : (explanationOf(guard)?.kind ?? '');
  process.stdout.write(`${kind.padEnd(12)} ${guard.file}:${guard.line}  if (${guard.text})  ${text}  ${why}\n`);
}

function drawn(guards: readonly Guard[], count: number, seed: string): Guard[] {
  const random = randomStream(seed, 'guards');
  const left = [...guards];
  while (left.length > count) left.splice(Buffer.from(random(6)).readUIntBE(0, 6) % left.length, 1);
  return left;
}

/** The rate counts guards that are not equivalent: without an equivalent guard the program behaves the same. */
function summary(results: readonly Result[], isStrict: boolean): number {
  const missed = results.filter(({ kind }) => kind !== 'found');
  const found = results.filter(({ kind }) => kind === 'found');
  const of = (kind: string) => missed.filter(({ guard }) => explanationOf(guard)?.kind === kind).length;
  const unexplained = missed.filter(({ guard }) => explanationOf(guard) === undefined);
  const contradicted = found.filter(({ guard }) => explanationOf(guard) !== undefined);
  const rate = ((100 * found.length) / Math.max(1, results.length - of('equivalent'))).toFixed(1);
  process.stdout.write(
    `${found.length} of ${results.length} found; ${of('equivalent')} equivalent, so ${rate} % of the others; ${of('tuning')} tuning, ${of('behind another')} behind another guard, ${of('out of reach')} out of reach, ${unexplained.length} not explained, ${contradicted.length} found and explained\n`,
  );
  if (!isStrict) return exitCodes.ok;
  for (const { guard } of unexplained) process.stdout.write(`not explained: ${nameOf(guard)}\n`);
  for (const { guard } of contradicted) process.stdout.write(`found and explained: ${nameOf(guard)}\n`);
  return unexplained.length + contradicted.length === 0 ? exitCodes.ok : exitCodes.failed;
}

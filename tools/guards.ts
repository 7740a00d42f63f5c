/**
 * `signmesh guards ROOM…`: lists the guards that the random search misses. It disables every `if` of the named rooms (coordinator
 * and nodes by default) in turn, and runs seeds of every profile until one fails.
 *
 * `--seeds 200` of each profile at most, from `--first-seed 1`; `--minutes 10` of CPU time at most for one guard, and `--runs`
 * runs. `--sample 40` guards drawn with `--seed 1`, all by default; `--only TEXT`: guards whose file and test contain it;
 * `--shape always` inverts the mutation: their bodies always run. `--coverage` lists the guards that no seed runs, or whose mutant
 * changes no seed, and disables none. `--strict`: a survivor that guards/explained.ts does not explain is a failure.
 */
import { parseArgs } from 'node:util';
import { exitCodes, Failure } from '../cli/common/failure.ts';
import { profiles } from '../runner/search/profiles.ts';
import { randomStream } from '../sim/random.ts';
import { explanationOf } from './guards/explained.ts';
import { type Guard, plantedSearch, type Shape } from './guards/plant.ts';
import { GuardSearch, type Result } from './guards/search.ts';

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seeds: { type: 'string', default: '200' },
      'first-seed': { type: 'string', default: '1' },
      minutes: { type: 'string', default: '10' },
      runs: { type: 'string' },
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
    const tasks = Array.from({ length: Number(values.seeds) }, (_, index) => firstSeed + index).flatMap((seed) =>
      profiles.map((profile) => ({ seed, profile })),
    );
    const found = new GuardSearch(search, tasks, {
      shape,
      cpuMsMax: Number(values.minutes) * 60_000,
      runsMax: Number(values.runs ?? tasks.length),
    });
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
    const results = guards.map((guard) => {
      const result = found.search(guard);
      told(result);
      return result;
    });
    return summary(results, values.strict);
  } finally {
    search.close();
  }
}

/** Its key in guards/explained.ts. */
export function nameOf({ file, text }: Guard): string {
  return `${file}: ${text}`;
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
  const found = results.length - missed.length;
  const of = (kind: string) => missed.filter(({ guard }) => explanationOf(guard)?.kind === kind).length;
  const unexplained = missed.filter(({ guard }) => explanationOf(guard) === undefined);
  const rate = ((100 * found) / Math.max(1, results.length - of('equivalent'))).toFixed(1);
  process.stdout.write(
    `${found} of ${results.length} found; ${of('equivalent')} equivalent, so ${rate} % of the others; ${of('behind another')} behind another guard, ${of('out of reach')} out of reach, ${unexplained.length} not explained\n`,
  );
  if (!isStrict) return exitCodes.ok;
  for (const { guard } of unexplained) process.stdout.write(`not explained: ${nameOf(guard)}\n`);
  return unexplained.length === 0 ? exitCodes.ok : exitCodes.failed;
}

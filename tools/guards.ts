/**
 * `signmesh guards ROOM…`: which guards the random search misses. Every `if` of the named rooms (coordinator and nodes by
 * default) is disabled in turn, and seeds of every profile run until one fails.
 *
 * `--seeds 200` of each profile at most, from `--first-seed 1`; `--minutes 10` of CPU time at most for one guard. `--sample 40`
 * guards drawn with `--seed 1`, all by default; `--shape always` turns guards round: their bodies always run. `--explained FILE`
 * names the guards whose survival is explained (docs/guards.md): any other survivor is a failure.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { exitCodes, Failure } from '../cli/common/failure.ts';
import { profiles } from '../runner/search/profiles.ts';
import { randomStream } from '../sim/random.ts';
import { type Guard, type PlantedSearch, plantedSearch, type Shape } from './guards/plant.ts';
import { type Result, searchAll } from './guards/search.ts';

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seeds: { type: 'string', default: '200' },
      'first-seed': { type: 'string', default: '1' },
      minutes: { type: 'string', default: '10' },
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      shape: { type: 'string', default: 'never' },
      only: { type: 'string' },
      explained: { type: 'string' },
    },
  });
  const shape = values.shape as Shape;
  if (shape !== 'never' && shape !== 'always') throw new Failure('guards: --shape is never or always');
  const explained = values.explained === undefined ? undefined : readFileSync(values.explained, 'utf8');
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
    const results = searchAll(search, guards, tasks, { shape, cpuMsMax: Number(values.minutes) * 60_000, told });
    return summary(search, results, explained);
  } finally {
    search.close();
  }
}

/** As docs/guards.md names it. */
export function nameOf({ file, text }: Guard): string {
  return `${file}: ${text}`;
}

function told({ guard, kind, text }: Result): void {
  process.stdout.write(`${kind.padEnd(12)} ${guard.file}:${guard.line}  if (${guard.text})  ${text}\n`);
}

function drawn(guards: readonly Guard[], count: number, seed: string): Guard[] {
  const random = randomStream(seed, 'guards');
  const left = [...guards];
  while (left.length > count) left.splice(Buffer.from(random(6)).readUIntBE(0, 6) % left.length, 1);
  return left;
}

function summary(search: PlantedSearch, results: readonly Result[], explained: string | undefined): number {
  const of = (kind: Result['kind']) => results.filter((result) => result.kind === kind);
  const found = of('found').length;
  const rate = ((100 * found) / Math.max(1, results.length)).toFixed(1);
  process.stdout.write(
    `${found} of ${results.length} found (${rate} %), ${of('survived').length} survived, ${of('never held').length} with a test that never decided otherwise, ${of('never run').length} never run; ${search.guards.length} guards in all\n`,
  );
  if (explained === undefined) return exitCodes.ok;
  const missed = results.filter(({ kind, guard }) => kind !== 'found' && !explained.includes(`\`${guard.text}\``));
  for (const { guard } of missed) process.stdout.write(`not explained: ${nameOf(guard)}\n`);
  return missed.length === 0 ? exitCodes.ok : exitCodes.failed;
}

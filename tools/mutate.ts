/**
 * `signmesh mutate ROOM…`: whether tests notice small faults. Plants a seeded sample of mutants into the sources of the named
 * folders, one at a time, and runs the test files that reach it until one fails.
 *
 * `--count 300` mutants at most of each folder, `--seed 1`; `--tests GLOB` names the test files (test/ROOM/**), `--not GLOB` those
 * to leave out: tests that start processes do not see a mutant.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createVitest, type TestSpecification, type Vitest } from 'vitest/node';
import { exitCodes, Failure } from '../cli/common/failure.ts';
import { randomStream } from '../sim/random.ts';
import { repositoryRoot } from './check/repository.ts';
import { type Mutant, mutantsOf, sample, switched } from './mutate/mutants.ts';

/** A mutant that keeps its tests busy for so long is found: they would not have ended. */
const runMsMax = 180_000;

interface Tests {
  readonly include: string[];
  readonly exclude: string[];
}

type Result = 'killed' | 'survived' | 'not reached';

export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals: rooms } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      count: { type: 'string', default: '300' },
      seed: { type: 'string', default: '1' },
      not: { type: 'string', multiple: true, default: [] },
      tests: { type: 'string', multiple: true, default: [] },
    },
  });
  if (rooms.length === 0)
    throw new Failure('mutate: name folders, for example: mutate coordinator nodes custody/intents');
  const root = repositoryRoot();
  for (const room of rooms) {
    const all = sourcesOf(root, room).flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')));
    const mutants = sample(all, Number(values.count), drawing(`${values.seed} ${room}`));
    process.stdout.write(`${room}: ${mutants.length} of ${all.length} mutants, seed ${values.seed}\n`);
    const include = values.tests.length > 0 ? values.tests : [`test/${room}/**/*.test.ts`];
    await tryAll(root, mutants, { include, exclude: values.not }, room);
  }
  return exitCodes.ok;
}

function sourcesOf(root: string, room: string): string[] {
  return readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(room, path))
    .sort();
}

/** Numbers from 0 up to but not 1, the same for the same seed. */
function drawing(seed: string): () => number {
  const random = randomStream(seed, 'mutants');
  return () => Buffer.from(random(6)).readUIntBE(0, 6) / 2 ** 48;
}

async function tryAll(root: string, mutants: readonly Mutant[], tests: Tests, room: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-mutants-'));
  const trials = await Trials.open(root, mutants, tests, folder);
  try {
    const reachedBy = await trials.withoutMutant();
    const counts: Record<Result, number> = { killed: 0, survived: 0, 'not reached': 0 };
    for (const mutant of mutants) {
      const files = reachedBy.get(mutant.id) ?? [];
      const result = files.length === 0 ? 'not reached' : await trials.with(mutant, files);
      counts[result] += 1;
      process.stdout.write(`${result.padEnd(12)} ${mutant.file}:${mutant.line}  ${mutant.what}\n`);
    }
    const rate = ((100 * counts.killed) / mutants.length).toFixed(1);
    const { killed, survived } = counts;
    process.stdout.write(
      `${room}: ${killed} killed, ${survived} survived, ${counts['not reached']} not reached: ${rate} % killed\n`,
    );
  } finally {
    await trials.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One vitest for all runs: modules are compiled once. */
class Trials {
  readonly #vitest: Vitest;
  readonly #folder: string;
  #specifications: TestSpecification[] = [];
  #failed = false;

  private constructor(vitest: Vitest, folder: string) {
    this.#vitest = vitest;
    this.#folder = folder;
  }

  static async open(root: string, mutants: readonly Mutant[], tests: Tests, folder: string): Promise<Trials> {
    const plantedIn = (path: string) => mutants.filter(({ file }) => join(root, file) === path);
    let trials: Trials | undefined;
    const fails = () => trials?.fail();
    const vitest = await createVitest(
      'test',
      {
        root,
        config: false,
        watch: false,
        ...tests,
        pool: 'forks',
        isolate: false,
        maxWorkers: availableParallelism(),
        testTimeout: 60_000,
        globalSetup: [join(root, 'test/support/redis-servers.ts')],
        setupFiles: [join(root, 'tools/mutate/setup.ts')],
        reporters: [
          {
            onTestCaseResult: (test) => {
              if (test.result().state === 'failed') fails();
            },
            onTestModuleEnd: (module) => {
              if (module.state() === 'failed') fails();
            },
          },
        ],
      },
      {
        plugins: [
          {
            name: 'mutants',
            enforce: 'pre',
            transform: (code, id) => {
              const planted = plantedIn(id.split('?')[0]!);
              return planted.length === 0 ? undefined : { code: switched(code, planted), map: null };
            },
          },
        ],
      },
    );
    trials = new Trials(vitest, folder);
    return trials;
  }

  fail(): void {
    this.#failed = true;
    void this.#vitest.cancelCurrentRun('test-failure');
  }

  /** Which test files reach which mutant. Throws when tests fail without any. */
  async withoutMutant(): Promise<ReadonlyMap<number, readonly string[]>> {
    this.#specifications = await this.#vitest.globTestSpecifications();
    await this.#run(0, this.#specifications);
    if (this.#failed) throw new Failure('mutate: tests fail without any mutant');
    const reachedBy = new Map<number, string[]>();
    for (const name of readdirSync(this.#folder)) {
      const { file, reached } = JSON.parse(readFileSync(join(this.#folder, name), 'utf8')) as {
        readonly file: string;
        readonly reached: readonly number[];
      };
      for (const id of reached) reachedBy.set(id, [...(reachedBy.get(id) ?? []), file]);
    }
    return reachedBy;
  }

  async with({ id }: Mutant, files: readonly string[]): Promise<Result> {
    const wanted = this.#specifications.filter(({ moduleId }) => files.includes(moduleId));
    const timer = setTimeout(() => this.fail(), runMsMax);
    await this.#run(id, wanted).finally(() => clearTimeout(timer));
    return this.#failed ? 'killed' : 'survived';
  }

  async #run(on: number, specifications: TestSpecification[]): Promise<void> {
    this.#failed = false;
    for (const project of this.#vitest.projects) project.provide('mutation', { on, folder: this.#folder });
    await this.#vitest.runTestSpecifications(specifications);
  }

  async close(): Promise<void> {
    await this.#vitest.close();
  }
}

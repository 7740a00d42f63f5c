/**
 * `signmesh mutate ROOM…`: measures whether tests notice small faults. It plants a seeded sample of mutants into the sources of
 * the named folders and runs the tests that reach each, one mutant at a time, until one fails (mutate/runner.ts).
 *
 * `--count 300` mutants at most of each folder, `--seed 1`; `--tests GLOB` names the test files (test/ROOM/**), `--not GLOB`
 * excludes some: tests that start processes do not see a mutant. `--root DIR` is another checkout, such as an older commit;
 * `--mutants FILE` a list of mutants as JSON in place of a sample.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createVitest, type TestSpecification, type Vitest } from 'vitest/node';
import { exitCodes, Failure } from '../cli/common/failure.ts';
import { randomStream } from '../sim/random.ts';
import { repositoryRoot } from './check/repository.ts';
import { type Mutant, mutantsOf, sample, switched } from './mutate/mutants.ts';
import type { Orders, Reached, Verdict } from './mutate/runner.ts';

/** A mutant that keeps its tests busy for this long counts as found: they would not end. */
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
      root: { type: 'string', default: repositoryRoot() },
      mutants: { type: 'string' },
    },
  });
  if (rooms.length === 0)
    throw new Failure('mutate: name folders, for example: mutate coordinator nodes custody/intents');
  const { root } = values;
  for (const room of rooms) {
    const all = sourcesOf(root, room).flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')));
    const mutants =
      values.mutants === undefined
        ? sample(all, Number(values.count), drawing(`${values.seed} ${room}`))
        : (JSON.parse(readFileSync(values.mutants, 'utf8')) as Mutant[]);
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

/** Numbers from 0 up to but not including 1, the same for the same seed. */
function drawing(seed: string): () => number {
  const random = randomStream(seed, 'mutants');
  return () => Buffer.from(random(6)).readUIntBE(0, 6) / 2 ** 48;
}

async function tryAll(root: string, mutants: readonly Mutant[], tests: Tests, room: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-mutants-'));
  const trials = await Trials.open(root, mutants, tests, folder);
  try {
    const results = await trials.run();
    const counts: Record<Result, number> = { killed: 0, survived: 0, 'not reached': 0 };
    for (const mutant of mutants) {
      const result = results.get(mutant.id)!;
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
  readonly #mutants: readonly Mutant[];
  readonly #folder: string;
  #specifications: TestSpecification[] = [];
  #failed = false;

  private constructor(vitest: Vitest, mutants: readonly Mutant[], folder: string) {
    this.#vitest = vitest;
    this.#mutants = mutants;
    this.#folder = folder;
  }

  static async open(root: string, mutants: readonly Mutant[], tests: Tests, folder: string): Promise<Trials> {
    const own = join(repositoryRoot(), 'tools', 'mutate');
    const servers = join(root, 'test', 'support', 'redis-servers.ts');
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
        testTimeout: 30_000,
        hookTimeout: 60_000,
        globalSetup: existsSync(servers) ? [servers] : [],
        setupFiles: [join(own, 'setup.ts')],
        runner: join(own, 'runner.ts'),
        // Failures outside of the mutant's tests do not matter.
        dangerouslyIgnoreUnhandledErrors: true,
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
    trials = new Trials(vitest, mutants, folder);
    return trials;
  }

  fail(): void {
    this.#failed = true;
  }

  async run(): Promise<ReadonlyMap<number, Result>> {
    const reached = await this.#withoutMutant();
    const reachedBy = (mutant: number) =>
      reached.filter(({ tests, outside }) => [...Object.values(tests), outside].some((ids) => ids.includes(mutant)));
    await this.#tryInTests(reached.filter(({ repeats }) => repeats));
    const results = new Map<number, Result>();
    for (const { id } of this.#mutants) {
      const files = reachedBy(id);
      // Shared set-up ran without the mutant, and some tests run only once in a process.
      const whole = files.filter(({ outside, repeats }) => !repeats || outside.includes(id)).map(({ file }) => file);
      if (files.length === 0) results.set(id, 'not reached');
      else results.set(id, this.#isKilled(id) || (await this.#isKilledBy(id, whole)) ? 'killed' : 'survived');
    }
    return results;
  }

  /** Throws when tests fail without any mutant. */
  async #withoutMutant(): Promise<readonly Reached[]> {
    this.#specifications = await this.#vitest.globTestSpecifications();
    await this.#run({ mode: 'reach', on: 0 }, this.#specifications);
    if (this.#failed) throw new Failure('mutate: tests fail without any mutant');
    return readdirSync(this.#folder)
      .filter((name) => name.endsWith('.json'))
      .map((name) => JSON.parse(readFileSync(join(this.#folder, name), 'utf8')) as Reached);
  }

  async #tryInTests(reached: readonly Reached[]): Promise<void> {
    for (let before = -1; ; ) {
      const verdicts = this.#verdicts();
      for (const { mutant, verdict } of verdicts) if (verdict === 'killed') this.#noteKilled(mutant);
      const done = new Set(verdicts.map(({ file, test, mutant }) => `${file} ${test} ${mutant}`));
      const plan: Record<string, Record<string, number[]>> = {};
      for (const { file, tests } of reached) {
        for (const [test, mutants] of Object.entries(tests)) {
          const left = mutants.filter((id) => !this.#isKilled(id) && !done.has(`${file} ${test} ${id}`));
          if (left.length === 0) continue;
          plan[file] ??= {};
          plan[file][test] = left;
        }
      }
      const files = Object.keys(plan);
      // A run without a verdict is the last: no more results are possible.
      if (files.length === 0 || done.size === before) return;
      before = done.size;
      writeFileSync(join(this.#folder, 'plan.json'), JSON.stringify(plan));
      await this.#run({ mode: 'try', on: 0 }, this.#of(files));
    }
  }

  async #isKilledBy(mutant: number, files: readonly string[]): Promise<boolean> {
    if (files.length === 0) return false;
    const timer = setTimeout(() => this.#cancel(), runMsMax);
    await this.#run({ mode: 'whole', on: mutant }, this.#of(files)).finally(() => clearTimeout(timer));
    return this.#failed;
  }

  #of(files: readonly string[]): TestSpecification[] {
    return this.#specifications.filter(({ moduleId }) => files.includes(moduleId));
  }

  #verdicts(): readonly Verdict[] {
    const path = join(this.#folder, 'verdicts');
    if (!existsSync(path)) return [];
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Verdict);
  }

  #isKilled(mutant: number): boolean {
    return existsSync(join(this.#folder, `killed-${mutant}`));
  }

  #noteKilled(mutant: number): void {
    writeFileSync(join(this.#folder, `killed-${mutant}`), '');
  }

  #cancel(): void {
    this.#failed = true;
    void this.#vitest.cancelCurrentRun('test-failure');
  }

  async #run({ mode, on }: Omit<Orders, 'folder'>, specifications: TestSpecification[]): Promise<void> {
    this.#failed = false;
    const orders: Orders = { mode, on, folder: this.#folder };
    for (const project of this.#vitest.projects) project.provide('mutation', orders);
    await this.#vitest.runTestSpecifications(specifications);
  }

  async close(): Promise<void> {
    await this.#vitest.close();
  }
}

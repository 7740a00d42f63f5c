/**
 * Tries mutants: which tests reach each, and whether one of them fails with it.
 *
 * One vitest serves all runs, so that modules are compiled once. First every test runs without a mutant (`reach`). Then tests run
 * with the mutants that they reach, short tests before long ones, since most mutants need no long one (`try`). At last whole
 * files run: those whose shared set-up reaches a mutant, or whose tests fail when they run again (`whole`).
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { createVitest, type TestModule, type TestSpecification, type Vitest } from 'vitest/node';
import { Failure } from '../../cli/common/failure.ts';
import { repositoryRoot } from '../check/repository.ts';
import { type Mutant, switched } from './mutants.ts';
import type { Mode, Orders, Plan, Reached, ReachedInTest, Verdict } from './runner.ts';

export interface Tests {
  /** Globs. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** How long the tests of one mutant may take in all, by their durations without it; at least one runs. */
  readonly msMax: number;
  /** How long a mutant may block the process of a test. */
  readonly blockedMsMax: number;
}

export type Result = 'killed' | 'survived' | 'not reached';

/** Tests run in turns by their duration. */
const turnsMs = [30, 300, 3_000, Number.POSITIVE_INFINITY];
/** Runs of one turn: the tests after one that spoiled shared state need another. */
const runsMax = 3;

export class MutantRuns {
  readonly #vitest: Vitest;
  readonly #root: string;
  readonly #mutants: readonly Mutant[];
  readonly #tests: Tests;
  readonly #folder: string;
  #specifications: TestSpecification[] = [];
  #modules: TestModule[] = [];

  private constructor(vitest: Vitest, root: string, mutants: readonly Mutant[], tests: Tests, folder: string) {
    this.#vitest = vitest;
    this.#root = root;
    this.#mutants = mutants;
    this.#tests = tests;
    this.#folder = folder;
  }

  /** `folder`: an empty one, for orders and verdicts. */
  static async open(root: string, mutants: readonly Mutant[], tests: Tests, folder: string): Promise<MutantRuns> {
    const own = join(repositoryRoot(), 'tools', 'mutate');
    const servers = join(root, 'test', 'support', 'redis-servers.ts');
    const plantedIn = (path: string) => mutants.filter(({ file }) => join(root, file) === path);
    let runs: MutantRuns | undefined;
    const vitest = await createVitest(
      'test',
      {
        root,
        config: false,
        watch: false,
        include: [...tests.include],
        exclude: [...tests.exclude],
        pool: 'forks',
        isolate: false,
        maxWorkers: availableParallelism(),
        testTimeout: 60_000,
        hookTimeout: 60_000,
        globalSetup: existsSync(servers) ? [servers] : [],
        setupFiles: [join(own, 'setup.ts')],
        runner: join(own, 'runner.ts'),
        // Failures outside of the mutant's tests do not matter.
        dangerouslyIgnoreUnhandledErrors: true,
        reporters: [{ onTestModuleEnd: (module) => runs?.end(module) }],
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
    runs = new MutantRuns(vitest, root, mutants, tests, folder);
    return runs;
  }

  async run(): Promise<ReadonlyMap<number, Result>> {
    const reached = this.#affordable(await this.#reach());
    const files = reached.filter(({ repeats }) => repeats);
    let least = -1;
    for (const most of turnsMs) {
      await this.#tryInTests(files, (ms) => ms > least && ms <= most);
      least = most;
    }
    await this.#tryWhole(reached);
    const results = this.#mutants.map(({ id }): [number, Result] => {
      const isReached = reached.some((file) => mutantsOf(file).has(id));
      return [id, this.#isKilled(id) ? 'killed' : isReached ? 'survived' : 'not reached'];
    });
    return new Map(results);
  }

  /** Of the files whose tests pass without any mutant. */
  async #reach(): Promise<readonly Reached[]> {
    this.#specifications = await this.#vitest.globTestSpecifications();
    await this.#run('reach', { tests: {}, whole: {} }, this.#specifications);
    const broken = this.#modules.filter((module) => module.state() === 'failed');
    for (const module of broken) {
      this.#note(
        `left out, since it fails without any mutant: ${relative(this.#root, module.moduleId)}: ${whyOf(module)}`,
      );
    }
    const failed = broken.map(({ moduleId }) => moduleId);
    const all = readdirSync(this.#folder)
      .filter((name) => name.endsWith('.json') && name !== 'plan.json')
      .map((name) => JSON.parse(readFileSync(join(this.#folder, name), 'utf8')) as Reached)
      .filter(({ file }) => !failed.includes(file));
    if (all.length === 0) throw new Failure('mutate: no test file passes without any mutant');
    return all;
  }

  /** Each mutant with its shortest tests alone. */
  #affordable(reached: readonly Reached[]): readonly Reached[] {
    const tests = reached.flatMap(({ file, tests }) =>
      Object.entries(tests).map(([test, { ms, mutants }]) => ({ key: `${file} ${test}`, ms, mutants })),
    );
    const spentMs = new Map<number, number>();
    const kept = new Map<string, readonly number[]>();
    for (const { key, ms, mutants } of tests.sort((a, b) => a.ms - b.ms)) {
      const paid = mutants.filter((id) => (spentMs.get(id) ?? 0) + (spentMs.has(id) ? ms : 0) <= this.#tests.msMax);
      for (const id of paid) spentMs.set(id, (spentMs.get(id) ?? 0) + ms);
      kept.set(key, paid);
    }
    return reached.map((file) => ({
      ...file,
      tests: mapTests(file.tests, (test, { ms }) => ({ ms, mutants: kept.get(`${file.file} ${test}`)! })),
    }));
  }

  async #tryInTests(reached: readonly Reached[], isInTurn: (ms: number) => boolean): Promise<void> {
    for (let run = 1; run <= runsMax; run += 1) {
      const done = this.#readVerdicts();
      const plan: Record<string, Record<string, ReachedInTest>> = {};
      for (const { file, tests } of reached) {
        for (const [test, { ms, mutants }] of Object.entries(tests)) {
          const left = mutants.filter((id) => !this.#isKilled(id) && !done.has(`${file} ${test} ${id}`));
          if (left.length === 0 || !isInTurn(ms)) continue;
          plan[file] ??= {};
          plan[file][test] = { ms, mutants: left };
        }
      }
      const files = Object.keys(plan);
      if (files.length === 0) return;
      await this.#run('try', { tests: plan, whole: {} }, this.#of(files));
    }
  }

  /** In each run at most one mutant a file. */
  async #tryWhole(reached: readonly Reached[]): Promise<void> {
    for (;;) {
      const done = this.#readVerdicts();
      const whole: Record<string, number> = {};
      for (const { file, tests, outside, repeats } of reached) {
        const left = Object.entries(tests).flatMap(([test, { mutants }]) =>
          mutants.filter((id) => !repeats || !done.has(`${file} ${test} ${id}`)),
        );
        const mutant = [...outside, ...left].find(
          (id) => !this.#isKilled(id) && !done.has(`${file}  ${id}`) && !Object.values(whole).includes(id),
        );
        if (mutant !== undefined) whole[file] = mutant;
      }
      const files = Object.keys(whole);
      if (files.length === 0) return;
      await this.#run('whole', { tests: {}, whole }, this.#of(files));
      // A process that died has no verdict of its own.
      for (const module of this.#modules) {
        if (module.state() === 'failed') this.#noteKilled(whole[module.moduleId]!);
      }
      const after = this.#readVerdicts();
      for (const [file, mutant] of Object.entries(whole)) {
        if (!after.has(`${file}  ${mutant}`)) this.#noteKilled(mutant);
      }
    }
  }

  #of(files: readonly string[]): TestSpecification[] {
    return this.#specifications.filter(({ moduleId }) => files.includes(moduleId));
  }

  /** File, test and mutant of each. */
  #readVerdicts(): ReadonlySet<string> {
    const path = join(this.#folder, 'verdicts');
    if (!existsSync(path)) return new Set();
    const verdicts = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Verdict);
    for (const { mutant, verdict } of verdicts) if (verdict === 'killed') this.#noteKilled(mutant);
    return new Set(verdicts.map(({ file, test, mutant }) => `${file} ${test} ${mutant}`));
  }

  #isKilled(mutant: number): boolean {
    return existsSync(join(this.#folder, `killed-${mutant}`));
  }

  #noteKilled(mutant: number): void {
    writeFileSync(join(this.#folder, `killed-${mutant}`), '');
  }

  async #run(mode: Mode, plan: Plan, specifications: TestSpecification[]): Promise<void> {
    const pairs = Object.values(plan.tests).flatMap((tests) => Object.values(tests).flatMap(({ mutants }) => mutants));
    const mutants = new Set([...pairs, ...Object.values(plan.whole)]);
    this.#note(`${mode}: ${specifications.length} files, ${pairs.length} tests of ${mutants.size} mutants`);
    writeFileSync(join(this.#folder, 'plan.json'), JSON.stringify(plan));
    const orders: Orders = { mode, folder: this.#folder, blockedMsMax: this.#tests.blockedMsMax };
    for (const project of this.#vitest.projects) {
      project.provide('mutation', orders);
      // A file with a mutant from its start shares no modules with others.
      project.config.isolate = mode === 'whole';
    }
    this.#modules = [];
    await this.#vitest.runTestSpecifications(specifications);
  }

  /** A test file has run. */
  end(module: TestModule): void {
    this.#modules.push(module);
  }

  #note(line: string): void {
    process.stderr.write(`  ${line}\n`);
  }

  async close(): Promise<void> {
    await this.#vitest.close();
  }
}

/** The first failure of a file. */
function whyOf(module: TestModule): string {
  const tests = [...module.children.allTests('failed')].flatMap((test) => test.result().errors ?? []);
  return [...module.errors(), ...tests][0]?.message.split('\n')[0] ?? 'no message';
}

function mutantsOf({ tests, outside }: Reached): ReadonlySet<number> {
  return new Set([...outside, ...Object.values(tests).flatMap(({ mutants }) => mutants)]);
}

function mapTests(
  tests: Readonly<Record<string, ReachedInTest>>,
  change: (test: string, reached: ReachedInTest) => ReachedInTest,
): Readonly<Record<string, ReachedInTest>> {
  return Object.fromEntries(Object.entries(tests).map(([test, reached]) => [test, change(test, reached)]));
}

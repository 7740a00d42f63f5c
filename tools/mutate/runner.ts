/**
 * Runs tests with mutants, in vitest's workers. Each test runs repeatedly in one process, each time with another of the mutants
 * that it reaches: starting a process and loading its modules for every mutant takes many times longer.
 *
 * `reach` runs every test without a mutant, and records its duration and the mutants that it reaches; a test that reaches one
 * runs twice, which shows whether a second run is as good as the first. `try` runs the plan's mutants. A failure counts when the
 * same test then passes without the mutant: else the mutant, or an earlier one, has spoiled shared state, and the rest of
 * the file waits for another process. `whole` runs each file once, with one mutant on from the start, until a test fails.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type RunnerTestFile as File, inject, type RunnerTask as Task, type RunnerTestCase as Test } from 'vitest';
import { VitestTestRunner } from 'vitest/runners';
import { getFn } from 'vitest/suite';
import { mutantSwitch } from './switch.ts';

export type Mode = 'reach' | 'try' | 'whole';

export interface Orders {
  readonly mode: Mode;
  readonly folder: string;
  /** The process of a test that blocks it for longer is killed. */
  readonly blockedMsMax: number;
}

export interface ReachedInTest {
  /** The duration without a mutant. */
  readonly ms: number;
  readonly mutants: readonly number[];
}

/** The mutants that the tests of one file reach. */
export interface Reached {
  readonly file: string;
  /** By vitest's id of the test, the same in every run. */
  readonly tests: Readonly<Record<string, ReachedInTest>>;
  /** By loading modules and by shared set-up of several tests. */
  readonly outside: readonly number[];
  /** Every test passed a second time in the same process. */
  readonly repeats: boolean;
}

/** The mutants to try: by file and test, or one of each file (`whole`). */
export interface Plan {
  readonly tests: Readonly<Record<string, Readonly<Record<string, ReachedInTest>>>>;
  readonly whole: Readonly<Record<string, number>>;
}

/** One line a verdict. */
export interface Verdict {
  readonly file: string;
  /** Empty for a whole file. */
  readonly test: string;
  readonly mutant: number;
  readonly verdict: 'killed' | 'survived';
}

/** A test that a mutant keeps from ending counts as failed after its time without a mutant, `timesMax` times, and this. */
const tryMsMax = 3_000;
const timesMax = 8;

const watchdog = `
  const { workerData, parentPort } = require('node:worker_threads');
  const { appendFileSync } = require('node:fs');
  let line, since = 0, until = 0;
  parentPort.on('message', (next) => { line = next.line; since = Date.now(); until = since + next.ms; });
  setInterval(() => {
    if (line === undefined || Date.now() < until) return;
    appendFileSync(workerData.verdicts, line);
    process.kill(process.pid, 'SIGKILL');
  }, 1000);
`;

// biome-ignore lint/style/noDefaultExport: vitest takes a runner by its default export
export default class MutantRunner extends VitestTestRunner {
  readonly #orders: Orders = inject('mutation');
  readonly #blockedMsMax = this.#orders.blockedMsMax;
  readonly #verdicts = join(this.#orders.folder, 'verdicts');
  #outside = new Set<number>();
  #tests: Record<string, ReachedInTest> = {};
  #repeats = true;
  #plan: Readonly<Record<string, ReachedInTest>> = {};
  /** In mode `whole`. */
  #whole = 0;
  #left: number[] = [];
  #mutant = 0;
  #isControl = false;
  #startedMs = 0;
  #msMax = 0;
  #failed = false;
  #watchdog: Worker | undefined;

  #turn(on: number): void {
    mutantSwitch.on = on;
    mutantSwitch.calls = 0;
  }

  override onCollectStart(file: File): void {
    super.onCollectStart(file);
    this.#outside = new Set();
    this.#tests = {};
    this.#repeats = true;
    this.#failed = false;
    // Tests of one file share more than files do, and no kill counts without its control.
    mutantSwitch.isSpoiled = false;
    this.#turn(0);
    if (this.#orders.mode === 'reach') return;
    const plan = JSON.parse(readFileSync(join(this.#orders.folder, 'plan.json'), 'utf8')) as Plan;
    this.#plan = plan.tests[file.filepath] ?? {};
    void this.#watchdog?.terminate();
    this.#watchdog = new Worker(watchdog, { eval: true, workerData: { verdicts: this.#verdicts } });
    this.#watchdog.unref();
    if (this.#orders.mode !== 'whole') return;
    this.#whole = plan.whole[file.filepath]!;
    this.#watch(file.filepath, '', this.#whole, this.#blockedMsMax);
    this.#turn(this.#whole);
  }

  override async onBeforeRunTask(task: Task): Promise<void> {
    await super.onBeforeRunTask(task as never);
    if (task.type !== 'test' || task.mode !== 'run') return;
    if (this.#orders.mode === 'reach') {
      this.#leaveOutside();
      task.repeats = 1;
    }
    if (this.#orders.mode === 'whole' && this.#failed) task.mode = 'skip';
    if (this.#orders.mode !== 'try') return;
    const { ms, mutants } = this.#plan[task.id] ?? { ms: 0, mutants: [] };
    this.#left = mutantSwitch.isSpoiled ? [] : [...mutants];
    this.#msMax = tryMsMax + timesMax * ms;
    if (!this.#next()) task.mode = 'skip';
    // After each mutant the test may run without it.
    else task.repeats = 2 * mutants.length;
  }

  /** Whether the test has a mutant left that no test has killed. */
  #next(): boolean {
    this.#isControl = false;
    while (!mutantSwitch.isSpoiled && this.#left.length > 0) {
      this.#mutant = this.#left.shift()!;
      if (!existsSync(join(this.#orders.folder, `killed-${this.#mutant}`))) return true;
    }
    return false;
  }

  override onBeforeTryTask(test: Test): void {
    super.onBeforeTryTask(test);
    this.#startedMs = performance.now();
    const { mode } = this.#orders;
    if (mode === 'whole') this.#watch(test.file.filepath, '', this.#whole, this.#blockedMsMax);
    if (mode !== 'try') return;
    this.#turn(this.#isControl ? 0 : this.#mutant);
    if (!this.#isControl) this.#watch(test.file.filepath, test.id, this.#mutant, this.#msMax + this.#blockedMsMax);
  }

  async runTask(test: Test): Promise<void> {
    if (this.#orders.mode === 'reach') return getFn(test)();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const msMax = this.#orders.mode === 'whole' ? this.#blockedMsMax : this.#msMax;
      timer = setTimeout(() => reject(new Error(`not within ${msMax} ms`)), msMax);
    });
    await Promise.race([getFn(test)(), late]).finally(() => clearTimeout(timer));
  }

  onAfterRetryTask(test: Test, { repeats }: { readonly retry: number; readonly repeats: number }): void {
    const failed = test.result?.state === 'fail';
    if (this.#orders.mode === 'reach') this.#record(test, repeats === 1, failed);
    if (this.#orders.mode === 'whole') this.#failed ||= failed;
    if (this.#orders.mode === 'try') this.#judge(test, failed);
  }

  #record(test: Test, isSecond: boolean, failed: boolean): void {
    const mutants = [...mutantSwitch.reached];
    mutantSwitch.reached.clear();
    if (!isSecond) {
      this.#tests[test.id] = { ms: Math.round(performance.now() - this.#startedMs), mutants };
      if (mutants.length === 0 && !failed) endRepeats(test);
      this.#failed = failed;
    } else if (failed) {
      this.#repeats = false;
      if (!this.#failed) pass(test);
    }
  }

  #judge(test: Test, failed: boolean): void {
    this.#turn(0);
    this.#unwatch();
    pass(test);
    if (this.#isControl) {
      // It also detects a first mutant that spoils shared state.
      if (!failed || !mutantSwitch.isUsed) this.#say(test.file.filepath, test.id, this.#mutant, 'killed');
      if (failed) mutantSwitch.isSpoiled = true;
      mutantSwitch.isUsed = true;
    } else if (failed) {
      this.#isControl = true;
      return;
    } else {
      this.#say(test.file.filepath, test.id, this.#mutant, 'survived');
    }
    if (!this.#next()) endRepeats(test);
  }

  override onAfterRunFiles(): void {
    super.onAfterRunFiles();
    void this.#watchdog?.terminate();
  }

  override async onAfterRunSuite(suite: File): Promise<void> {
    await super.onAfterRunSuite(suite);
    if (suite.filepath === undefined) return;
    if (this.#orders.mode === 'whole') {
      this.#unwatch();
      const failed = this.#failed || suite.result?.state === 'fail';
      this.#say(suite.filepath, '', this.#whole, failed ? 'killed' : 'survived');
    }
    if (this.#orders.mode !== 'reach') return;
    this.#leaveOutside();
    const reached: Reached = {
      file: suite.filepath,
      tests: this.#tests,
      outside: [...this.#outside],
      repeats: this.#repeats,
    };
    const name = `${Buffer.from(suite.filepath).toString('base64url').slice(-200)}.json`;
    writeFileSync(join(this.#orders.folder, name), JSON.stringify(reached));
  }

  #leaveOutside(): void {
    for (const id of mutantSwitch.reached) this.#outside.add(id);
    mutantSwitch.reached.clear();
  }

  /** The process dies, and the mutant is killed, unless `#unwatch` or another `#watch` comes within `ms`. */
  #watch(file: string, test: string, mutant: number, ms: number): void {
    const verdict: Verdict = { file, test, mutant, verdict: 'killed' };
    this.#watchdog?.postMessage({ line: `${JSON.stringify(verdict)}\n`, ms });
  }

  #unwatch(): void {
    this.#watchdog?.postMessage({});
  }

  #say(file: string, test: string, mutant: number, verdict: Verdict['verdict']): void {
    const line: Verdict = { file, test, mutant, verdict };
    appendFileSync(this.#verdicts, `${JSON.stringify(line)}\n`);
    if (verdict === 'killed') writeFileSync(join(this.#orders.folder, `killed-${mutant}`), '');
    mutantSwitch.isUsed = true;
  }
}

function pass(test: Test): void {
  if (test.result?.state !== 'fail') return;
  test.result.state = 'pass';
  test.result.errors = [];
}

/** Vitest repeats no test that skips itself. */
function endRepeats(test: Test): void {
  if (test.result !== undefined) test.result.state = 'skip';
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly mutation: Orders;
  }
}

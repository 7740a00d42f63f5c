/**
 * Runs tests with mutants, in vitest's workers. Each test runs repeatedly in one process, each time with another of the mutants
 * that it reaches: starting a process and loading its modules for every mutant takes many times longer.
 *
 * `reach` runs every test twice without a mutant, and records the mutants that it reaches and whether a second run is as good as
 * the first. `try` runs the plan's mutants. A failure counts when the same test then passes without the mutant: else the mutant,
 * or an earlier one, has spoiled shared state, and the file continues in another process. `whole` runs files once with one mutant
 * on from the start.
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
  /** In mode `whole`. */
  readonly on: number;
  readonly folder: string;
}

/** The mutants that the tests of one file reach. */
export interface Reached {
  readonly file: string;
  /** By vitest's id of the test, the same in every run. */
  readonly tests: Readonly<Record<string, readonly number[]>>;
  /** By loading modules and by shared set-up of several tests. */
  readonly outside: readonly number[];
  /** Every test passed a second time in the same process. */
  readonly repeats: boolean;
}

/** The mutants to try, by file and test. */
export type Plan = Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;

/** One line a verdict. */
export interface Verdict {
  readonly file: string;
  readonly test: string;
  readonly mutant: number;
  readonly verdict: 'killed' | 'survived';
}

/** A test with a mutant that takes longer does not end: its process is killed. */
const tryMsMax = 60_000;

const watchdog = `
  const { workerData, parentPort } = require('node:worker_threads');
  const { appendFileSync } = require('node:fs');
  let line, since = 0;
  parentPort.on('message', (next) => { line = next; since = Date.now(); });
  setInterval(() => {
    if (line === undefined || Date.now() - since < ${tryMsMax}) return;
    appendFileSync(workerData.verdicts, line);
    process.kill(process.pid, 'SIGKILL');
  }, 1000);
`;

// biome-ignore lint/style/noDefaultExport: vitest takes a runner by its default export
export default class MutantRunner extends VitestTestRunner {
  readonly #orders: Orders = inject('mutation');
  readonly #verdicts = join(this.#orders.folder, 'verdicts');
  #outside = new Set<number>();
  #tests: Record<string, number[]> = {};
  #repeats = true;
  #plan: Readonly<Record<string, readonly number[]>> = {};
  #turns: readonly number[] = [];
  #failed = false;
  #idle = false;
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
    this.#turn(this.#orders.mode === 'whole' ? this.#orders.on : 0);
    if (this.#orders.mode !== 'try') return;
    this.#plan =
      (JSON.parse(readFileSync(join(this.#orders.folder, 'plan.json'), 'utf8')) as Plan)[file.filepath] ?? {};
    void this.#watchdog?.terminate();
    this.#watchdog = new Worker(watchdog, { eval: true, workerData: { verdicts: this.#verdicts } });
    this.#watchdog.unref();
  }

  override async onBeforeRunTask(task: Task): Promise<void> {
    await super.onBeforeRunTask(task as never);
    if (task.type !== 'test' || task.mode !== 'run') return;
    if (this.#orders.mode === 'reach') {
      this.#leaveOutside();
      task.repeats = 1;
    }
    if (this.#orders.mode !== 'try') return;
    this.#turns = mutantSwitch.isSpoiled ? [] : (this.#plan[task.id] ?? []).filter((id) => !this.#isKilled(id));
    if (this.#turns.length === 0) task.mode = 'skip';
    // Runs the test without the mutant after each mutant.
    else task.repeats = 2 * this.#turns.length - 1;
  }

  override onBeforeTryTask(test: Test, { repeats }: { readonly repeats: number } = { repeats: 0 }): void {
    super.onBeforeTryTask(test);
    if (this.#orders.mode !== 'try') return;
    const mutant = this.#turns[repeats >> 1]!;
    const isControl = repeats % 2 === 1;
    this.#idle = mutantSwitch.isSpoiled || (isControl ? !this.#failed : this.#isKilled(mutant));
    this.#turn(isControl || this.#idle ? 0 : mutant);
    const line = isControl || this.#idle ? undefined : this.#line(test, mutant, 'killed');
    this.#watchdog?.postMessage(line);
  }

  async runTask(test: Test): Promise<void> {
    if (!this.#idle) await getFn(test)();
  }

  onAfterRetryTask(test: Test, { repeats }: { readonly repeats: number }): void {
    const failed = test.result?.state === 'fail';
    if (this.#orders.mode === 'reach' && repeats === 0) {
      this.#tests[test.id] = [...mutantSwitch.reached];
      mutantSwitch.reached.clear();
    }
    if (this.#orders.mode === 'reach' && repeats === 1) {
      if (failed) this.#repeats = false;
      mutantSwitch.reached.clear();
      pass(test);
    }
    if (this.#orders.mode !== 'try') return;
    this.#turn(0);
    this.#watchdog?.postMessage(undefined);
    pass(test);
    const mutant = this.#turns[repeats >> 1]!;
    if (repeats % 2 === 0) {
      this.#failed = failed && !this.#idle;
      if (!this.#idle && !failed) this.#say(test, mutant, 'survived');
      return;
    }
    if (this.#idle) return;
    // It also detects a first mutant that spoils shared state.
    if (!failed || !mutantSwitch.isUsed) this.#say(test, mutant, 'killed');
    if (failed) mutantSwitch.isSpoiled = true;
    mutantSwitch.isUsed = true;
  }

  override onAfterRunFiles(): void {
    super.onAfterRunFiles();
    void this.#watchdog?.terminate();
  }

  override async onAfterRunSuite(suite: File): Promise<void> {
    await super.onAfterRunSuite(suite);
    if (suite.filepath === undefined || this.#orders.mode !== 'reach') return;
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

  #isKilled(mutant: number): boolean {
    return existsSync(join(this.#orders.folder, `killed-${mutant}`));
  }

  #say(test: Test, mutant: number, verdict: Verdict['verdict']): void {
    appendFileSync(this.#verdicts, this.#line(test, mutant, verdict));
    if (verdict === 'killed') writeFileSync(join(this.#orders.folder, `killed-${mutant}`), '');
    mutantSwitch.isUsed = true;
  }

  #line(test: Test, mutant: number, verdict: Verdict['verdict']): string {
    const line: Verdict = { file: test.file.filepath, test: test.id, mutant, verdict };
    return `${JSON.stringify(line)}\n`;
  }
}

function pass(test: Test): void {
  if (test.result?.state !== 'fail') return;
  test.result.state = 'pass';
  test.result.errors = [];
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly mutation: Orders;
  }
}

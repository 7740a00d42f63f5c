/** The tests of `npm test`: vitest runs them, and the closing lines count them (tools/check.ts). */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CpuLimited, cpuLimitsS, cpuOfChildrenS, SlownessMeter } from './check/cpu.ts';
import { runTool } from './check/tool.ts';
import { withoutRedis, withRedis } from './tiers.ts';

export interface TestRun {
  readonly root: string;
  readonly tier: CpuLimited;
  /** Of vitest: names of files and options. */
  readonly words: readonly string[];
  /** Whether the CPU time of a whole tier is limited. */
  readonly isLimited: boolean;
  /** Why there is no redis-server. undefined: there is one, or the tier needs none. */
  readonly missing: string | undefined;
  /** Why there is no Chromium. undefined: there is one, or the tier needs none. */
  readonly missingBrowser?: string | undefined;
  /** A test that cannot run for lack of Redis fails the run. */
  readonly isStrict: boolean;
  /** So does one for lack of a browser. */
  readonly needsBrowser?: boolean;
}

/** By the words after `npm test --`, and the environment's CI. */
export function isStrict(words: readonly string[], ci: string | undefined): boolean {
  return words.includes('--strict') || !['', '0', 'false', undefined].includes(ci);
}

/** Runs the tests that can run, and prints how many passed, failed and did not run. */
export async function allTestsPass(run: TestRun, tool = runTool, print = printLine): Promise<boolean> {
  const { tier, missing, missingBrowser } = run;
  const tiers = missing === undefined ? (tier === 'all' ? undefined : tier) : withoutRedis;
  const { passed, failed, skipped, browserSkipped, inTime } = await inFolder((folder) =>
    testsRun(run, tiers, folder, tool, print),
  );
  print(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  const left = missing === undefined ? 0 : await testsLeft(run, tool, print);
  if (left !== 0) print(`${missing}\n${left ?? 'An unknown number of'} tests NOT RUN: no redis-server`);
  const unseen = missingBrowser === undefined ? 0 : browserSkipped;
  if (unseen > 0) print(`${missingBrowser}\n${unseen} tests NOT RUN: no chromium`);
  const runsAll = unseen === 0 || run.needsBrowser !== true;
  return failed === 0 && passed > 0 && inTime && runsAll && (left === 0 || (left !== undefined && !run.isStrict));
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** vitest.config.ts reads it. */
function ofTiers(tiers: string | undefined): NodeJS.ProcessEnv {
  return tiers === undefined ? {} : { TESTS_TIER: tiers };
}

/** The number of tests that need Redis. undefined: they could not be listed. */
function testsLeft(
  { root, words }: TestRun,
  tool: typeof runTool,
  print: (line: string) => void,
): Promise<number | undefined> {
  return inFolder(async (folder) => {
    const file = join(folder, 'list.json');
    const args = ['list', '--passWithNoTests', `--json=${file}`, ...words];
    const { exitCode, output } = await tool(root, 'vitest', args, { env: ofTiers(withRedis) });
    if (exitCode === 0 && existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as unknown[]).length;
    print(output.trimEnd());
    return undefined;
  });
}

/** A folder that is gone afterwards. */
async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-tests-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Tests of files that open pages (test/support/chromium.ts), some by a fixture. */
const needsBrowser = /support\/(chromium|console-page)[.]ts'/;

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    /** Its path. */
    readonly name?: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Those of them that open a page. */
  readonly browserSkipped: number;
  readonly inTime: boolean;
}

async function testsRun(
  { root, tier, words, isLimited }: TestRun,
  tiers: string | undefined,
  folder: string,
  tool: typeof runTool,
  print: (line: string) => void,
): Promise<Counts> {
  const file = join(folder, 'report.json');
  // The files of these tiers compute more than they wait: a further worker would only load their modules once more.
  const workers = tier === 'fast' || tier === 'worlds' ? [`--maxWorkers=${availableParallelism() + 1}`] : [];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const args = ['run', '--passWithNoTests', ...reporters, ...workers, ...words];
  const meter = isLimited && words.length === 0 ? new SlownessMeter() : undefined;
  const { exitCode } = await tool(root, 'vitest', args, { show: true, env: ofTiers(tiers) });
  const inTime = meter === undefined || keepsToCpuTime(tier, meter.end(), print);
  if (!existsSync(file)) {
    print('vitest left no report');
    return { passed: 0, failed: 1, skipped: 0, browserSkipped: 0, inTime: true };
  }
  const report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
  // A file that does not load, or whose set-up fails, has failed, though none of its tests has.
  const broken = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.every((one) => one.status !== 'failed'),
  );
  const failed = report.numFailedTests + broken.length;
  return {
    passed: report.numPassedTests,
    // An error outside every test: vitest names it.
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
    browserSkipped: report.testResults
      .filter(({ name }) => name !== undefined && existsSync(name) && needsBrowser.test(readFileSync(name, 'utf8')))
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status === 'pending' || status === 'skipped').length,
    inTime,
  };
}

function keepsToCpuTime(tier: CpuLimited, slowness: number, print: (line: string) => void): boolean {
  const tookS = cpuOfChildrenS();
  if (tookS === undefined) return true;
  // On a slower machine the same work takes more CPU time.
  const limitS = Math.round(cpuLimitsS[tier] * slowness);
  const passed = tookS <= limitS;
  print(`${passed ? '✓' : '✗'} ${'CPU time'.padEnd(20)} ${Math.round(tookS)} s of at most ${limitS} s`);
  return passed;
}

/**
 * `npm test`: every check of the repository, then, if all pass, its tests. All work offline except the two tests that
 * CONTRIBUTING.md names. The last line is `N passed, N failed`, for people and for programs. Where there is no redis-server and
 * none can be installed, `npm test` runs the tiers that need none, and a line after it counts the tests that did not run; with
 * --strict, or with CI set, as in continuous integration, it fails then.
 *
 * `--tier fast` runs the checks and the tests of that tier, `--tier worlds`, `--tier redis` and `--tier system` only the tests
 * of theirs.
 * `--thorough` lets random and exhaustive tests go further (test/support/thorough.ts). Further arguments go to vitest
 * ("npm test -- test/crypto").
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitCodes, Failure } from '../cli/common/failure.ts';
import { noRedis } from '../cli/start/no-redis.ts';
import { duration } from '../cli/start/screen.ts';
import { findWorldly } from './check/compositions.ts';
import { type CpuLimited, cpuLimitsS, cpuOfChildrenS, isCpuLimited, slowness } from './check/cpu.ts';
import { generatedCodeDrift } from './check/generated-code.ts';
import { checkHouse } from './check/house.ts';
import { findAmbient } from './check/ports.ts';
import { findImpurities, type Impurity } from './check/purity.ts';
import { findScriptFaults } from './check/redis-scripts.ts';
import { repositoryRoot } from './check/repository.ts';
import { runTool } from './check/tool.ts';
import { stalePages } from './docs.ts';
import { withoutRedis, withRedis } from './tiers.ts';

/** Returns the errors as text; empty: none. */
type Check = (root: string) => Promise<string>;

/** The longest first, since they run in parallel. */
const checks: readonly (readonly [name: string, check: Check])[] = [
  // One checker: each further one checks the shared types again, and the other cores run other checks.
  ['types', tool('tsc', ['--noEmit', '--pretty', '--checkers', '1'])],
  ['format and lint', tool('biome', ['check', '--error-on-warnings', '.'])],
  // It reads again only what has changed.
  ['unused code', tool('knip', ['--no-progress', '--cache', '--cache-location', '.setup/knip'])],
  ['floors and circles', checkHouse],
  ['generated code', generatedCodeDrift],
  ['generated docs', docs],
  ['purity', rule(findImpurities)],
  ['ports', rule((root) => [...findAmbient(root), ...findWorldly(root)])],
  ['Redis scripts', rule(findScriptFaults)],
  ['protocol lint', tool('buf', ['lint'])],
];

/** Resolves with an exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const root = repositoryRoot();
  const [tier = '', rest] = args[0] === '--tier' ? [args[1], args.slice(2)] : ['all', args];
  const words = rest.filter((word) => word !== '--thorough' && word !== '--strict');
  const isThorough = rest.includes('--thorough');
  if (isThorough) process.env.TESTS_THOROUGH = '1';
  const isStrict = rest.includes('--strict') || !['', '0', 'false', undefined].includes(process.env.CI);
  if (!isCpuLimited(tier)) throw new Failure(`--tier ${tier}: one of ${Object.keys(cpuLimitsS).join(', ')}`);
  const missing = noRedis();
  if (missing !== undefined && tier !== 'all') throw new Failure(missing);
  if ((tier === 'all' || tier === 'fast') && !(await allPass(root))) return exitCodes.failed;
  // vitest.config.ts reads it.
  if (missing !== undefined) process.env.TESTS_TIER = withoutRedis;
  else if (tier !== 'all') process.env.TESTS_TIER = tier;
  const passed = await tests(root, tier, words, !isThorough);
  if (missing === undefined) return passed ? exitCodes.ok : exitCodes.failed;
  const left = await testsLeft(root, words);
  if (left !== 0)
    process.stdout.write(`${missing}\n${left ?? 'An unknown number of'} tests NOT RUN: no redis-server\n`);
  const isComplete = left === 0 || (left !== undefined && !isStrict);
  return passed && isComplete ? exitCodes.ok : exitCodes.failed;
}

/** The number of tests that need Redis. undefined: they could not be listed. */
async function testsLeft(root: string, words: readonly string[]): Promise<number | undefined> {
  process.env.TESTS_TIER = withRedis;
  return inFolder(async (folder) => {
    const file = join(folder, 'list.json');
    const { exitCode, output } = await runTool(root, 'vitest', [
      'list',
      '--passWithNoTests',
      `--json=${file}`,
      ...words,
    ]);
    if (exitCode === 0 && existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as unknown[]).length;
    process.stdout.write(output);
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

/** Runs as many checks at once as there are cores; prints the time of each, and the errors of failed ones. */
async function allPass(root: string): Promise<boolean> {
  const waiting = [...checks];
  let passed = true;
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [name, check] = next;
      const beganMs = performance.now();
      const problem = await check(root);
      const line = `${name.padEnd(20)} ${duration(performance.now() - beganMs)}`;
      process.stdout.write(problem === '' ? `✓ ${line}\n` : `✗ ${line}\n\n${problem.trimEnd()}\n\n`);
      if (problem !== '') passed = false;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, lane));
  return passed;
}
function tool(name: string, args: readonly string[]): Check {
  return async (root) => {
    const { exitCode, output } = await runTool(root, name, args);
    return exitCode === 0 ? '' : output || `${name} failed with exit code ${exitCode}`;
  };
}

function rule(breaches: (root: string) => readonly Impurity[]): Check {
  return async (root) =>
    breaches(root)
      .map(({ file, line, what }) => `${file}:${line}  ${what}`)
      .join('\n');
}

async function docs(root: string): Promise<string> {
  const stale = stalePages(root);
  return stale.length === 0 ? '' : `Not current: ${stale.join(', ')}. Run "npm run docs".`;
}

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/** Runs vitest and prints the closing line. A whole tier must not exceed its CPU time. */
async function tests(root: string, tier: CpuLimited, words: readonly string[], limited: boolean): Promise<boolean> {
  return inFolder((folder) => testsReportedIn(join(folder, 'report.json'), root, tier, words, limited));
}

async function testsReportedIn(
  file: string,
  root: string,
  tier: CpuLimited,
  words: readonly string[],
  limited: boolean,
): Promise<boolean> {
  // The files of these tiers compute more than they wait: a further worker would only load their modules once more.
  const workers = tier === 'fast' || tier === 'worlds' ? [`--maxWorkers=${availableParallelism() + 1}`] : [];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  try {
    const { exitCode } = await runTool(root, 'vitest', ['run', ...reporters, ...workers, ...words], true);
    const report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
    // A file that does not load, or whose set-up fails, has failed, though none of its tests has.
    const broken = report.testResults.filter(
      ({ status, assertionResults }) => status === 'failed' && assertionResults.every((one) => one.status !== 'failed'),
    );
    const failed = report.numFailedTests + broken.length;
    const skipped = report.numPendingTests + report.numTodoTests;
    const tail = skipped > 0 ? `, ${skipped} skipped` : '';
    const inTime = !limited || words.length > 0 || keepsToCpuTime(tier);
    process.stdout.write(`${report.numPassedTests} passed, ${failed} failed${tail}\n`);
    return exitCode === 0 && failed === 0 && report.numPassedTests > 0 && inTime;
  } catch {
    process.stdout.write('vitest left no report\n0 passed, 1 failed\n');
    return false;
  }
}

function keepsToCpuTime(tier: CpuLimited): boolean {
  const tookS = cpuOfChildrenS();
  if (tookS === undefined) return true;
  // A slower machine takes more CPU time for the same work.
  const limitS = Math.round(cpuLimitsS[tier] * slowness());
  const passed = tookS <= limitS;
  process.stdout.write(
    `${passed ? '✓' : '✗'} ${'CPU time'.padEnd(20)} ${Math.round(tookS)} s of at most ${limitS} s\n`,
  );
  return passed;
}

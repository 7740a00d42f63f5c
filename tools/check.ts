/**
 * `npm test`: every check of the repository, then, if all pass, its tests. All work offline except the two tests that
 * CONTRIBUTING.md names. The last line is `N passed, N failed`, for people and for programs. Where there is no redis-server and
 * none can be installed, `npm test` runs the tiers that need none, and a line after it counts the tests that did not run; without
 * a Chromium it counts those that open a page. With --strict it fails then; for lack of Redis also with CI set (.ci/run).
 *
 * `--tier fast` runs the checks and the tests of that tier, `--tier worlds`, `--tier redis` and `--tier system` only the tests
 * of theirs.
 * `--thorough` lets random and exhaustive tests go further (test/support/thorough.ts). Further arguments go to vitest
 * ("npm test -- test/core/crypto").
 */
import { availableParallelism } from 'node:os';
import { exitCodes, Failure } from '../cli/common/failure.ts';
import { noChromium, noRedis } from '../cli/start/no-redis.ts';
import { duration } from '../cli/start/screen.ts';
import { findWorldly } from './check/compositions.ts';
import { cpuLimitsS, isCpuLimited } from './check/cpu.ts';
import { generatedCodeDrift } from './check/generated-code.ts';
import { checkHouse } from './check/house.ts';
import { findAmbient } from './check/ports.ts';
import { findImpurities, type Impurity } from './check/purity.ts';
import { findScriptFaults } from './check/redis-scripts.ts';
import { repositoryRoot } from './check/repository.ts';
import { runTool } from './check/tool.ts';
import { stalePages } from './docs.ts';
import { allTestsPass, isStrict } from './test-run.ts';

/** Returns the errors as text; empty: none. */
type Check = (root: string) => Promise<string>;

/** The longest first, since they run in parallel. */
const checks: readonly (readonly [name: string, check: Check])[] = [
  // One checker: each further one checks the shared types again, and the other cores run other checks.
  ['types', tool('tsc', ['--noEmit', '--pretty', '--checkers', '1'])],
  ['format and lint', tool('biome', ['check', '--error-on-warnings', '.'])],
  // Without its cache, which does not notice new test files: vitest.config.ts names them.
  ['unused code', tool('knip', ['--no-progress'])],
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
  const isThorough = rest.includes('--thorough');
  if (isThorough) process.env.TESTS_THOROUGH = '1';
  if (!isCpuLimited(tier)) throw new Failure(`--tier ${tier}: one of ${Object.keys(cpuLimitsS).join(', ')}`);
  const missing = noRedis();
  if (missing !== undefined && tier !== 'all') throw new Failure(missing);
  if ((tier === 'all' || tier === 'fast') && !(await allPass(root))) return exitCodes.failed;
  const words = rest.filter((word) => word !== '--thorough' && word !== '--strict');
  const reach = {
    isLimited: !isThorough,
    isStrict: isStrict(rest, process.env.CI),
    needsBrowser: rest.includes('--strict'),
  };
  const passed = await allTestsPass({ root, tier, words, missing, missingBrowser: noChromium(), ...reach });
  return passed ? exitCodes.ok : exitCodes.failed;
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

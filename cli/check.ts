/**
 * `npm test`: every check of the repository and then its tests, in one order, stopping at the first that fails. All
 * works offline but the two tests that CONTRIBUTING.md names. The last line is `N passed, N failed`, for people and for machines that read it.
 *
 * Words behind the command go to vitest ("npm test -- test/crypto").
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generatedCodeDrift } from './check/generated-code.ts';
import { findImpurities } from './check/purity.ts';
import { repositoryRoot } from './check/repository.ts';
import { runTool } from './check/tool.ts';
import { stalePages } from './docs.ts';
import { exitCodes } from './failure.ts';
import { duration } from './up/screen.ts';

/** Says what is wrong; an empty text: nothing. */
type Check = (root: string) => Promise<string>;

const checks: readonly (readonly [name: string, check: Check])[] = [
  ['format and lint', tool('biome', ['check', '--error-on-warnings', '.'])],
  ['types', tool('tsc', ['--noEmit', '--pretty'])],
  ['floors and circles', tool('depcruise', ['--config', '.dependency-cruiser.json', '--output-type', 'err', '.'])],
  ['unused code', tool('knip', ['--no-progress'])],
  ['purity', purity],
  ['protocol lint', tool('buf', ['lint'])],
  ['generated code', generatedCodeDrift],
  ['generated docs', docs],
];

/** Resolves with an exit code. */
export async function run(vitestArgs: readonly string[]): Promise<number> {
  const root = repositoryRoot();
  for (const [name, check] of checks) {
    const beganMs = performance.now();
    const problem = await check(root);
    const line = `${name.padEnd(20)} ${duration(performance.now() - beganMs)}`;
    process.stdout.write(problem === '' ? `✓ ${line}\n` : `✗ ${line}\n\n${problem.trimEnd()}\n`);
    if (problem !== '') return exitCodes.failed;
  }
  return tests(root, vitestArgs);
}

function tool(name: string, args: readonly string[]): Check {
  return async (root) => {
    const { exitCode, output } = await runTool(root, name, args);
    return exitCode === 0 ? '' : output || `${name} failed with exit code ${exitCode}`;
  };
}

async function purity(root: string): Promise<string> {
  return findImpurities(root)
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
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[];
}

async function tests(root: string, args: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-tests-'));
  const file = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const { exitCode } = await runTool(root, 'vitest', ['run', ...reporters, ...args], true);
    const report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
    // A file that could not even be loaded has failed, though none of its tests ran.
    const broken = report.testResults.filter(
      ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
    );
    const failed = report.numFailedTests + broken.length;
    const skipped = report.numPendingTests + report.numTodoTests;
    const tail = skipped > 0 ? `, ${skipped} skipped` : '';
    process.stdout.write(`${report.numPassedTests} passed, ${failed} failed${tail}\n`);
    return exitCode === 0 && failed === 0 && report.numPassedTests > 0 ? exitCodes.ok : exitCodes.failed;
  } catch {
    process.stdout.write('vitest left no report\n0 passed, 1 failed\n');
    return exitCodes.failed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

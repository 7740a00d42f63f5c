/** Where there is no redis-server, the tests that need none run, the others are counted, and a strict run fails. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SlownessMeter } from '../../tools/check/cpu.ts';
import { repositoryRoot } from '../../tools/check/repository.ts';
import { runTool } from '../../tools/check/tool.ts';
import { allTestsPass, isStrict } from '../../tools/test-run.ts';
import { withoutRedis, withRedis } from '../../tools/tiers.ts';
import { isThorough } from '../support/thorough.ts';

const missing = 'redis-server is not on this machine.';
const notRun = `${missing}\n3 tests NOT RUN: no redis-server`;
const ofRun = { root: '', tier: 'all', words: ['some'], isLimited: true, isStrict: false } as const;

/** Runs with a stand-in of vitest, which passes and lists so many tests. */
async function outcome(
  run: { missing?: string; missingBrowser?: string; isStrict?: boolean; needsBrowser?: boolean },
  { passed = 2, failed = 0, listed = 3 as number | null, testResults = [] as readonly object[] } = {},
) {
  const lines: string[] = [];
  const tiers: unknown[] = [];
  const vitest: typeof runTool = async (_root, _tool, args, { env } = {}) => {
    tiers.push(env?.TESTS_TIER);
    const file = (option: string) => args.find((arg) => arg.startsWith(option))!.slice(option.length);
    if (args[0] === 'list') {
      if (listed === null) return { exitCode: 1, output: 'a file does not load\n' };
      writeFileSync(file('--json='), JSON.stringify(Array(listed).fill({})));
      return { exitCode: 0, output: '' };
    }
    const counts = { numPassedTests: passed, numFailedTests: failed, numPendingTests: 0, numTodoTests: 0 };
    writeFileSync(file('--outputFile.json='), JSON.stringify({ ...counts, testResults }));
    return { exitCode: failed === 0 ? 0 : 1, output: '' };
  };
  const isPassed = await allTestsPass({ missing: undefined, ...ofRun, ...run }, vitest, (line) => lines.push(line));
  return { isPassed, lines, tiers };
}

test('with a redis-server all tests run, and nothing is counted that did not', async () => {
  expect(await outcome({})).toEqual({ isPassed: true, lines: ['2 passed, 0 failed'], tiers: [undefined] });
  expect(await outcome({ isStrict: true })).toMatchObject({ isPassed: true });
});

test('without one the other tiers run, and those that need it are counted', async () => {
  const lines = ['2 passed, 0 failed', notRun];
  const tiers = [withoutRedis, withRedis];
  expect(await outcome({ missing })).toEqual({ isPassed: true, lines, tiers });
  expect(await outcome({ missing, isStrict: true })).toEqual({ isPassed: false, lines, tiers });
});

test('without a Chromium the tests that open a page are counted, and a strict run fails', async () => {
  const missingBrowser = 'chromium is not on this machine.';
  const file = (name: string, ...states: readonly string[]) => ({
    ...{ name: join(repositoryRoot(), name), status: 'passed' },
    assertionResults: states.map((status) => ({ status })),
  });
  const testResults = [
    file('test/clients/console/console-browser.test.ts', 'passed', 'skipped', 'pending'),
    file('test/house/test-run.test.ts', 'skipped'),
  ];
  const lines = ['2 passed, 0 failed', `${missingBrowser}\n2 tests NOT RUN: no chromium`];
  expect(await outcome({ missingBrowser }, { testResults })).toMatchObject({ isPassed: true, lines });
  expect(await outcome({ missingBrowser, isStrict: true }, { testResults })).toMatchObject({ isPassed: true, lines });
  const needsBrowser = true;
  expect(await outcome({ missingBrowser, needsBrowser }, { testResults })).toMatchObject({ isPassed: false, lines });
  expect(await outcome({ missingBrowser, needsBrowser })).toMatchObject({ isPassed: true });
  expect(await outcome({ needsBrowser }, { testResults })).toMatchObject({ isPassed: true });
});

test('a failed test, no passed one and a list that cannot be made fail the run', async () => {
  const failed = await outcome({ missing }, { failed: 1 });
  expect(failed).toMatchObject({ isPassed: false, lines: ['2 passed, 1 failed', notRun] });
  expect(await outcome({ missing }, { passed: 0 })).toMatchObject({ isPassed: false });
  const unlisted = await outcome({ missing }, { listed: null });
  expect(unlisted.isPassed).toBe(false);
  expect(unlisted.lines.at(-1)).toBe(`${missing}\nAn unknown number of tests NOT RUN: no redis-server`);
});

test('a strict run passes where none of the named tests needs Redis', async () => {
  const done = await outcome({ missing, isStrict: true }, { listed: 0 });
  expect(done).toMatchObject({ isPassed: true, lines: ['2 passed, 0 failed'] });
});

test.runIf(isThorough)('vitest itself runs a file of the tier "fast", and counts one that needs Redis', async () => {
  const lines: string[] = [];
  const root = repositoryRoot();
  const words = ['test/core/crypto/bytes.test.ts', 'test/coordinator/session-store.test.ts'];
  const unseen: typeof runTool = (at, tool, args, { env } = {}) => runTool(at, tool, args, env && { env });
  expect(await allTestsPass({ ...ofRun, root, words, missing }, unseen, (line) => lines.push(line))).toBe(true);
  expect(lines).toEqual([
    expect.stringMatching(/^[1-9]\d* passed, 0 failed$/),
    expect.stringMatching(/\n[1-9]\d* tests NOT RUN: no redis-server$/),
  ]);
});

test('--strict and CI make a run strict, as continuous integration is', () => {
  const strict = [isStrict([], '1'), isStrict([], 'true'), isStrict(['--strict'], undefined)];
  expect(strict).toEqual([true, true, true]);
  expect([undefined, '', '0', 'false'].map((ci) => isStrict(['some'], ci))).toEqual([false, false, false, false]);
  expect(readFileSync(join(repositoryRoot(), '.ci/run'), 'utf8')).toMatch(/^export CI=true\nexec npm test$/m);
});

test('the slowness of a run is that of its whole time, and at least 1', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const workMs = [110, 660, 880, 110];
  vi.spyOn(process, 'cpuUsage').mockImplementation((before) => ({
    user: before ? workMs.shift()! * 1_000 : 0,
    system: 0,
  }));
  onTestFinished(() => void vi.restoreAllMocks());
  const meter = new SlownessMeter();
  vi.advanceTimersByTime(60_000);
  expect(meter.end()).toBeCloseTo(2.5);
  vi.advanceTimersByTime(60_000);
  expect(new SlownessMeter().end()).toBe(1);
});

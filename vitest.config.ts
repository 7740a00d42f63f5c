import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { longestFirst } from './test/support/file-order.ts';
import { nativeModules, writeModules } from './test/support/native-modules.ts';
import { isThorough } from './test/support/thorough.ts';
import { filesByTier, type Tier, tiersOfRun } from './tools/tiers.ts';

const root = fileURLToPath(new URL('.', import.meta.url)).replace(/.$/, '');
const files = filesByTier(root);
await writeModules(root);
// Workers and the processes that tests start inherit it.
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --require=${JSON.stringify(`${root}/test/support/seldom-compiled.cjs`)}`;

/** The tiers of this run: all, unless `npm test -- --tier` names one. */
const wanted = tiersOfRun(process.env.TESTS_TIER);
/** One redis-server a worker, for as long as the run; the cluster starts when a test asks for it. */
const globalSetup =
  wanted.some((tier) => tier !== 'fast' && tier !== 'worlds') && !process.argv.includes('list')
    ? ['test/support/redis-servers.ts', 'test/support/shared-cluster-server.ts']
    : [];
const setupFiles = ['test/support/same-cryptography.ts'];

function filesOf(tiers: readonly Tier[]): string[] {
  return tiers.filter((tier) => wanted.includes(tier)).flatMap((tier) => files[tier]);
}

/** Stated for each project: one that extends this file has it read and built again. */
const shared = {
  // Against what hangs alone: on a busy machine everything takes many times longer. CPU time has limits of its own (`npm test`
  // says them). Tests wait no longer than `patienceMs` (test/support/until.ts).
  testTimeout: 600_000,
  hookTimeout: 900_000,
  expect: { poll: { timeout: 90_000 } },
  pool: 'forks' as const,
  // Tests leave much garbage: a larger space for new objects is cleaned less often.
  execArgv: ['--max-semi-space-size=64'],
  // What is built is run as it is: examples import the package as its users do.
  server: { deps: { external: [/\/dist\//, /\/\.setup\/tests\//] } },
  // The example's live cluster only in a thorough run: test/clients/testing/cluster.test.ts has one.
  env: isThorough ? {} : { PAYOUTS_IN: 'simulated,listening' },
  // Modules are transformed once for all projects, and once for all runs.
  experimental: { fsModuleCache: true },
};

export default defineConfig({
  test: {
    ...shared,
    // Most files of the tiers `redis` and `system` spend more time waiting than working.
    maxWorkers: 2 * availableParallelism() + 1,
    sequence: { sequencer: longestFirst(files) },
    reporters: ['default'],
    projects: [
      // Files of one worker share their modules, whatever their tier: to load them for every file took longer than most
      // files' tests, and a worker for each tier loaded them four times.
      {
        plugins: [nativeModules(root, setupFiles)],
        test: {
          ...shared,
          name: 'shared',
          include: filesOf(['fast', 'worlds', 'redis', 'system']),
          isolate: false,
          globalSetup,
          setupFiles,
        },
      },
      {
        test: {
          ...shared,
          name: 'alone',
          include: filesOf(['alone']),
          isolate: true,
          globalSetup: globalSetup.slice(0, 1),
        },
      },
    ],
  },
});

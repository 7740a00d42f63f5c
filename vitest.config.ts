import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { longestFirst } from './test/support/file-order.ts';
import { nativeModules, writeModules } from './test/support/native-modules.ts';
import { isThorough } from './test/support/thorough.ts';
import { filesByTier, tiersOfRun } from './tools/tiers.ts';

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

export default defineConfig({
  plugins: [nativeModules(root, setupFiles)],
  test: {
    include: wanted.flatMap((tier) => files[tier]),
    globalSetup,
    setupFiles,
    // Against what hangs: on a busy machine everything takes many times longer. CPU time has limits of its own (`npm test`
    // says them). Tests wait no longer than `patienceMs` (test/support/until.ts).
    testTimeout: 600_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 90_000 } },
    pool: 'forks',
    // Tests leave much garbage: a larger space for new objects is cleaned less often.
    execArgv: ['--max-semi-space-size=64'],
    // Files of one worker share their modules, whatever their tier: to load them for every file took longer than most
    // files' tests, and a worker for each tier loaded them four times.
    isolate: false,
    // What is built is run as it is: examples import the package as its users do.
    server: { deps: { external: [/\/dist\//, /\/\.setup\//] } },
    // The example's live cluster only in a thorough run: test/clients/testing/cluster.test.ts has one.
    env: isThorough ? {} : { PAYOUTS_IN: 'simulated,listening' },
    // Set-up files are transformed once for all runs.
    experimental: { fsModuleCache: true },
    // Most files of the tiers `redis` and `system` spend more time waiting than working.
    maxWorkers: 2 * availableParallelism() + 1,
    sequence: { sequencer: longestFirst(files) },
    reporters: ['default'],
  },
});

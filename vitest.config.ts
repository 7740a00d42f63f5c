import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/file-order.ts';
import { nativeModules, writeModules } from './test/support/native-modules.ts';
import { filesByTier, type Tier } from './test/support/tiers.ts';

const root = fileURLToPath(new URL('.', import.meta.url)).replace(/.$/, '');
const files = filesByTier(root);
await writeModules(root);

interface TierOptions {
  readonly isolate: boolean;
  readonly globalSetup?: string[];
  readonly setupFiles?: string[];
}

function tier(name: Tier, options: TierOptions) {
  const plugins = name === 'alone' ? [] : [nativeModules(root, setupFiles)];
  return { plugins, test: { ...shared, name, include: [...files[name]], ...options } };
}

/** One redis-server a worker, for as long as the run. */
const globalSetup = ['test/support/redis-servers.ts'];
const setupFiles = ['test/support/same-cryptography.ts'];

/** Stated for each project: one that extends this file has it read and built again. */
const shared = {
  // On a busy machine everything takes many times longer; CPU time has limits of its own (`npm test` says them).
  testTimeout: 90_000,
  hookTimeout: 180_000,
  pool: 'forks' as const,
  // What is built is run as it is: examples import the package as its users do.
  server: { deps: { external: [/\/dist\//, /\/\.setup\/tests\//] } },
  // Modules are transformed once for all projects, and once for all runs.
  experimental: { fsModuleCache: true },
};

export default defineConfig({
  test: {
    ...shared,
    // Most files of the tiers `redis` and `system` spend more time waiting than working.
    maxWorkers: 2 * availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    reporters: ['default'],
    projects: [
      // Files of one worker share their modules: to load them for every file took longer than most files' tests.
      tier('fast', { isolate: false, setupFiles }),
      tier('worlds', { isolate: false, setupFiles }),
      tier('redis', { isolate: false, globalSetup, setupFiles }),
      tier('system', {
        isolate: false,
        globalSetup: [...globalSetup, 'test/support/shared-cluster-server.ts'],
        setupFiles,
      }),
      tier('alone', { isolate: true, globalSetup }),
    ],
  },
});

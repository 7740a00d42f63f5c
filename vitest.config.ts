import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { filesByTier, type Tier } from './test/support/tiers.ts';

const files = filesByTier(fileURLToPath(new URL('.', import.meta.url)));

interface TierOptions {
  readonly isolate: boolean;
  readonly globalSetup?: string[];
  readonly setupFiles?: string[];
}

/** The tiers run one after the other, the fast one first. */
function tier(name: Tier, groupOrder: number, options: TierOptions) {
  return {
    extends: true as const,
    test: { name, include: [...files[name]], sequence: { groupOrder }, ...options },
  };
}

/** One redis-server a worker, for as long as the run. */
const globalSetup = ['test/support/redis-servers.ts'];
const setupFiles = ['test/support/same-cryptography.ts'];

export default defineConfig({
  test: {
    // On a busy machine everything takes many times longer; CPU time has limits of its own (`npm test` says them).
    testTimeout: 90_000,
    hookTimeout: 180_000,
    pool: 'forks',
    // A file spends half its time waiting for other processes: one worker a core is not too much.
    maxWorkers: Math.max(2, availableParallelism()),
    // What is built is run as it is: examples import the package as its users do.
    server: { deps: { external: [/\/dist\//] } },
    reporters: ['default'],
    projects: [
      // Files of one worker share their modules: to load them for every file took longer than most files' tests.
      tier('fast', 0, { isolate: false, setupFiles }),
      tier('redis', 1, { isolate: false, globalSetup, setupFiles }),
      tier('system', 2, { isolate: true, globalSetup: [...globalSetup, 'test/support/shared-cluster-server.ts'] }),
    ],
  },
});

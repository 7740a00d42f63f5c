import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // A file spends half its time waiting for other processes: one worker a core is not too much.
    maxWorkers: Math.max(2, availableParallelism()),
    // What is built is run as it is: examples import the package as its users do.
    server: { deps: { external: [/\/dist\//] } },
    reporters: ['default'],
  },
});

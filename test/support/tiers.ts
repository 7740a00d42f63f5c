/**
 * Which tier a test file belongs to. It follows from what the file uses, itself or through a fixture:
 *
 * - `system`: it starts processes, or replaces modules (`vi.mock`), which takes modules of its own;
 * - `redis`: it talks to a real Redis (redis.ts, redis-database.ts);
 * - `fast`: everything else.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export type Tier = 'fast' | 'redis' | 'system';

/** Where test files are, below the root. */
const folders = ['test', 'examples'];
/** Their imports are followed. What the product imports says nothing about a test. */
const fixtures = /^(test|examples|bench)\//;
/** The server that a test needs is started by the run, not by the test. */
const redisFixtures = new Set(['test/support/redis.ts', 'test/support/redis-database.ts']);
const launchers = new Set(['testing/up-process.ts', 'testing/live-process.ts']);

/** Paths below the root, sorted. */
export function filesByTier(root: string): Readonly<Record<Tier, readonly string[]>> {
  const tiers: Record<Tier, string[]> = { fast: [], redis: [], system: [] };
  const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '');
  for (const folder of folders) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      if (name.endsWith('.test.ts') && !name.includes('node_modules')) {
        const file = join(folder, name);
        tiers[tierOf(file, read)].push(file);
      }
    }
  }
  return tiers;
}

/** `read` gives a file's text, or an empty one. */
export function tierOf(file: string, read: (path: string) => string): Tier {
  const seen = new Set([file]);
  let tier: Tier = 'fast';
  for (const path of seen) {
    if (redisFixtures.has(path)) {
      tier = 'redis';
      continue;
    }
    const text = read(path);
    if (launchers.has(path) || /^vi\.mock\(/m.test(text)) return 'system';
    for (const [, typeOnly, from] of text.matchAll(/^(?:import|export) (type )?(?:[^;']*? from )?'([^']+)';$/gm)) {
      if (typeOnly !== undefined) continue;
      if (from === 'node:child_process') return 'system';
      const target = join(dirname(path), from!);
      if (from!.startsWith('.') && (fixtures.test(target) || launchers.has(target))) seen.add(target);
    }
  }
  return tier;
}

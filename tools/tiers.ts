/**
 * Which tier a test file belongs to. It follows from what the file uses, itself or through a fixture:
 *
 * - `system`: it starts processes (a browser is one);
 * - `redis`: it talks to a real Redis (redis.ts, redis-database.ts);
 * - `worlds`: it runs a simulated cluster, or the whole product simulated;
 * - `fast`: everything else.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** In the order in which they run; a file that belongs to several belongs to the last of them. */
export const tierNames = ['fast', 'worlds', 'redis', 'system'] as const;
export type Tier = (typeof tierNames)[number];

/** The tiers of a run by its names, which commas separate; all without a name. */
export function tiersOfRun(names: string | undefined): readonly Tier[] {
  if (names === undefined) return tierNames;
  const named = names.split(',');
  return tierNames.filter((tier) => named.includes(tier));
}

/** Tests of these tiers need no redis-server; those of the others do, or run beside some that do. */
export const withoutRedis = 'fast,worlds';
export const withRedis = 'redis,system';

/** Where test files are, below the root. */
const folders = ['test', 'examples'];
/** Their imports are followed. What the product imports says nothing about a test. */
const fixtures = /^(test|examples|tools\/bench)\//;
/** The server that a test needs is started by the run, not by the test. */
const redisFixtures = new Set(['test/support/redis.ts', 'test/support/redis-database.ts']);
const processModules = new Set(['node:child_process', 'playwright-core']);
const launchers = new Set(['clients/testing/up-process.ts', 'clients/testing/live-process.ts']);
/** What runs a simulated cluster, with replaced modules too, and what runs the product in one. */
const simulators =
  /^(simulation\/(cluster\/cluster|(service|embedded|search\/wallets)\/.*|search\/campaign)|scenarios\/runner\/simulated-world|test\/support\/replaced-modules|clients\/testing\/index|cli\/(sim|scenario))\.ts$/;

/** Paths below the root, sorted. */
export function filesByTier(root: string): Readonly<Record<Tier, readonly string[]>> {
  const tiers: Record<Tier, string[]> = { fast: [], worlds: [], redis: [], system: [] };
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
  const atLeast = (other: Tier) => {
    if (tierNames.indexOf(other) > tierNames.indexOf(tier)) tier = other;
  };
  for (const path of seen) {
    if (redisFixtures.has(path)) {
      atLeast('redis');
      continue;
    }
    const text = read(path);
    if (launchers.has(path) || (path.startsWith('examples/') && /\blive: /.test(text))) atLeast('system');
    for (const [, typeOnly, from] of text.matchAll(/^(?:import|export) (type )?(?:[^;']*? from )?'([^']+)';$/gm)) {
      if (typeOnly !== undefined) continue;
      if (processModules.has(from!)) atLeast('system');
      const target = join(dirname(path), from!);
      if (simulators.test(target)) atLeast('worlds');
      if (from!.startsWith('.') && (fixtures.test(target) || launchers.has(target))) seen.add(target);
    }
  }
  return tier;
}

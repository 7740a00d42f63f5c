/** A test's tier follows from what it uses: planted files of each tier, and those of this repository. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesByTier, tierOf } from '../../tools/tiers.ts';
import { root } from '../cli/support/up-process.ts';
import { longFiles } from '../support/file-order.ts';

const planted: Readonly<Record<string, string>> = {
  'test/pure.test.ts': `import { a } from '../core/crypto/bytes.ts';\nimport type { ChildProcess } from 'node:child_process';\n`,
  'test/typed.test.ts': `import type { TestRedis } from './support/redis.ts';\n`,
  'test/simulates.test.ts': `import { SimCluster } from '../simulation/cluster/cluster.ts';\n`,
  'test/seeded.test.ts': `import { randomStream } from '../simulation/cluster/random.ts';\nimport type { SimOptions } from '../simulation/cluster/cluster.ts';\n`,
  'test/product.test.ts': `import { CustodyWorld } from '../simulation/service/custody-world.ts';\n`,
  'test/both.test.ts': `import './support/redis.ts';\nimport { CustodyWorld } from '../simulation/service/custody-world.ts';\n`,
  'test/database.test.ts': `import {\n  openDatabase,\n  other,\n} from './support/redis-database.ts';\n`,
  'test/through.test.ts': `import { world } from './support/world.ts';\n`,
  'test/support/world.ts': `import { startRedis } from './redis.ts';\n`,
  'test/spawns.test.ts': `import { spawn } from 'node:child_process';\n`,
  'test/page.test.ts': `import { type Page, chromium } from 'playwright-core';\n`,
  'test/cluster.test.ts': `import './support/redis.ts';\nimport { startCluster } from './support/cluster.ts';\n`,
  'test/support/cluster.ts': `export { UpProcess } from '../../clients/testing/up-process.ts';\n`,
  'test/replaces.test.ts': `import { replacedModules } from './support/replaced-modules.ts';\n`,
  'test/support/redis.ts': `import { spawn } from 'node:child_process';\n`,
};

test.each([
  ['test/pure.test.ts', 'fast'],
  ['test/typed.test.ts', 'fast'],
  ['test/simulates.test.ts', 'worlds'],
  ['test/seeded.test.ts', 'fast'],
  ['test/product.test.ts', 'worlds'],
  ['test/both.test.ts', 'redis'],
  ['test/database.test.ts', 'redis'],
  ['test/through.test.ts', 'redis'],
  ['test/spawns.test.ts', 'system'],
  ['test/page.test.ts', 'system'],
  ['test/cluster.test.ts', 'system'],
  ['test/replaces.test.ts', 'worlds'],
])('%s is of the tier %s', (file, tier) => {
  expect(tierOf(file, (path) => planted[path] ?? '')).toBe(tier);
});

test('every test file of this repository is of one tier', () => {
  const { fast, worlds, redis, system } = filesByTier(root);
  const all = [...fast, ...worlds, ...redis, ...system];
  expect(new Set(all).size).toBe(all.length);
  expect(fast).toContain('test/house/tiers.test.ts');
  for (const path of ['simulation/service/scenarios', 'simulation/service/search', 'coordinator/signing'])
    expect(worlds).toContain(`test/${path}.test.ts`);
  expect(redis).toContain('test/coordinator/session-store.test.ts');
  expect(system).toContain('test/survival/chaos.test.ts');
  expect(all).toEqual(expect.arrayContaining([...longFiles]));
  // Without an effect on modules that Node.js loads: test/support/replaced-modules.ts.
  const mocking = all.filter((path) => /^vi\.(do)?mock\(/im.test(readFileSync(join(root, path), 'utf8')));
  expect(mocking).toEqual([]);
});

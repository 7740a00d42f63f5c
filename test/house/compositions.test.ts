/** The rule of compositions: planted imports that break it are found. `npm test` checks that this repository keeps it. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findWorldly } from '../../tools/check/compositions.ts';
import { rooms } from '../../tools/check/rooms.ts';
import { temporaryFolder } from '../cli/support/temporary.ts';
import { root } from '../cli/support/up-process.ts';

/** A wallet API that loads `wallets/store/part.ts`, with these modules. */
function composed(modules: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  const all = {
    'gateway/wallet-api.ts': `import { part } from '../wallets/store/part.ts';\nexport const x = part;\n`,
    ...modules,
  };
  for (const [path, content] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}
const worldly = (modules: Readonly<Record<string, string>>) =>
  findWorldly(composed(modules)).map(({ file, line, what }) => `${file}:${line} ${what}`);
const viaPart = `(loaded by wallets/store/part.ts, which is loaded by gateway/wallet-api.ts)`;

describe('compositions', () => {
  test.each(rooms.compositions)('%s exists', (file) => {
    expect(existsSync(join(root, file))).toBe(true);
  });

  test.each(['ioredis', 'bullmq', 'undici', 'node:timers', 'node:timers/promises', 'node:fs'])(
    'an import of %s is found, however far away, also in an adapter that ports.ts allows',
    (name) => {
      const adapter = 'wallets/store/redis-tenant-store.ts';
      const found = worldly({
        'wallets/store/part.ts': `export { part } from './redis-tenant-store.ts';\n`,
        [adapter]: `import thing from '${name}';\nexport const part = thing;\n`,
      });
      expect(found.some((text) => text.startsWith(`${adapter}:1 import of ${name}`))).toBe(true);
      expect(found[0]).toContain(viaPart);
    },
  );

  test('an import at run time, a clock, and the live ports are found', () => {
    expect(
      worldly({
        'wallets/store/part.ts': `export const part = () => import('./clock.ts');\n`,
        'wallets/store/clock.ts': `/** A head. */\nexport const now = Date.now();\n`,
      }),
    ).toEqual([`wallets/store/clock.ts:2 Date.now: take a clock ${viaPart}`]);
    const live = worldly({
      'wallets/store/part.ts': `import { clock } from '../../core/actors/live/ports.ts';\nexport const part = clock;\n`,
      'core/actors/live/ports.ts': 'export const clock = () => performance.now();\n',
    });
    expect(live).toEqual([`core/actors/live/ports.ts:1 performance: take elapsedMs from the timers port ${viaPart}`]);
  });

  test('a type of an adapter is no load', () => {
    expect(
      worldly({
        'wallets/store/part.ts': `import type { A } from './adapter.ts';\nexport const part: A | 1 = 1;\n`,
        'wallets/store/adapter.ts': `import { Redis } from 'ioredis';\nexport type A = Redis;\n`,
      }),
    ).toEqual([]);
  });
});

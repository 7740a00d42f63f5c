/** The rule of purity, proved on bad samples: each must be found, at its line, and nothing else. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findImpurities, impuritiesOf } from '../../tools/check/purity.ts';
import { adapters, filesUnder, rooms } from '../../tools/check/rooms.ts';
import { temporaryFolder } from '../cli/support/temporary.ts';
import { root } from '../cli/support/up-process.ts';

const bad: readonly (readonly [sample: string, named: string])[] = [
  ['const now = Date.now();', 'Date'],
  ['const now = new Date();', 'Date'],
  ['const now = performance.now();', 'performance'],
  ['const coin = Math.random();', 'random'],
  ['setTimeout(() => 1, 2);', 'setTimeout'],
  ['const f = setInterval;', 'setInterval'],
  ['setImmediate(f);', 'setImmediate'],
  ['queueMicrotask(f);', 'queueMicrotask'],
  ['const level = process.env.LEVEL;', 'process'],
  ['console.log(1);', 'console'],
  ['const t = globalThis.setTimeout;', 'globalThis'],
  ['async function f() {}', 'async'],
  ['const f = async () => 1;', 'async'],
  ['class A { async f() {} }', 'async'],
  ['const o = { async f() {} };', 'async'],
  ['const v = await f();', 'async'],
  ['f().then(Promise.resolve);', 'Promise'],
  [`import { randomBytes } from 'node:crypto';`, 'randomBytes'],
  [`import { randomBytes as r } from 'node:crypto';`, 'randomBytes'],
  [`import { randomUUID } from 'node:crypto';`, 'randomUUID'],
  [`import * as c from 'node:crypto'; c.randomInt(3);`, 'randomInt'],
  ['crypto.getRandomValues(bytes);', 'getRandomValues'],
  ['sodium.randombytes_buf(bytes);', 'randombytes_buf'],
  ['secp256k1.utils.randomSecretKey();', 'randomSecretKey'],
  [`import { readFileSync } from 'node:fs';`, 'node:fs'],
  [`import { setTimeout as wait } from 'node:timers/promises';`, 'node:timers/promises'],
  [`import { WebSocket } from 'ws';`, 'ws'],
  [`const x = f(Date as unknown);`, 'Date'],
];

const good = [
  'interface Clock { now(): Promise<Date>; }',
  'type T = typeof Date;',
  `import type { RandomBytes } from './bytes.ts';`,
  `import { type RandomBytes } from './bytes.ts';`,
  `import { createHash } from 'node:crypto';`,
  'const bytes = context.random(32);',
  'const o = { process: 1, console: 2, Date: 3 }; f(o.process, o.Date);',
  '// Date.now() and Math.random() are not for here',
  `const text = 'setTimeout';`,
  'function f(at: Date): void {}',
];

describe('purity', () => {
  test.each(Object.keys(rooms.folders).filter((folder) => rooms.folders[folder]?.rule === 'pure'))(
    'checks %s/',
    (folder) => {
      expect(filesUnder('pure', root).some((file) => file.startsWith(`${folder}/`))).toBe(true);
    },
  );

  test.each([...adapters.keys()])('%s, an adapter, exists', (place) => {
    expect(existsSync(join(root, place))).toBe(true);
  });

  test.each(bad)('finds: %s', (sample, named) => {
    const source = `/** A head. */\n\n// é\nexport const before = 1;\n${sample}\n`;
    const found = impuritiesOf('sample.ts', source);
    expect(found.map(({ line }) => line)).toContain(5);
    expect(found.map(({ what }) => what).join()).toContain(named);
  });

  test.each(good)('leaves alone: %s', (sample) => {
    expect(impuritiesOf('sample.ts', `${sample}\n`)).toEqual([]);
  });

  test('a bad module planted in a room is found; in the live runtime it is at home', () => {
    const folder = temporaryFolder();
    for (const path of ['core/actors/live', 'nodes/signer']) mkdirSync(join(folder, path), { recursive: true });
    for (const path of ['core/actors/live/clock.ts', 'nodes/signer/clock.ts'])
      writeFileSync(join(folder, path), 'export const t = Date.now();\n');
    expect(findImpurities(folder).map(({ file, line }) => `${file}:${line}`)).toEqual(['nodes/signer/clock.ts:1']);
  });
});

/** The rule of ports, proved on bad samples: each must be found, at its line; and the lists of exceptions are exact. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ambientOf } from '../../tools/check/ports.ts';
import { adapters, filesUnder, rooms } from '../../tools/check/rooms.ts';
import { root } from '../cli/support/up-process.ts';

const bad: readonly (readonly [sample: string, named: string])[] = [
  ['const now = Date.now();', 'Date.now'],
  ['const now = new Date();', 'new Date()'],
  ['const now = Date();', 'Date()'],
  ['const began = performance.now();', 'performance'],
  ['setTimeout(() => 1, 2);', 'setTimeout'],
  ['const every = setInterval;', 'setInterval'],
  ['setImmediate(f);', 'setImmediate'],
  ['const signal = AbortSignal.timeout(5);', 'AbortSignal.timeout'],
  ['const coin = Math.random();', 'Math.random'],
  [`import { randomUUID } from 'node:crypto';`, 'randomUUID'],
  [`import * as c from 'node:crypto'; c.randomInt(3);`, 'randomInt'],
  ['crypto.getRandomValues(bytes);', 'getRandomValues'],
  ['const level = process.env.LEVEL;', 'process.env'],
  ['console.log(1);', 'console'],
  ['const t = globalThis.setTimeout;', 'globalThis'],
  ['await fetch(url);', 'fetch'],
  [`import { setTimeout as wait } from 'node:timers/promises';`, 'node:timers/promises'],
  [`import { readFileSync } from 'node:fs';`, 'node:fs'],
  [`import { isIP, connect } from 'node:net';`, 'node:net'],
  [`import { Redis } from 'ioredis';`, 'ioredis'],
  [`import type { Redis } from 'ioredis';`, 'ioredis'],
  [`import { Queue } from 'bullmq';`, 'bullmq'],
  [`import { Client } from 'undici';`, 'undici'],
  [`import { systemClock } from '../actors/live/ports.ts';`, 'systemClock'],
];

const good = [
  'const at = new Date(nowMs).toISOString();',
  'const ms = Date.parse(text) + Date.UTC(2026);',
  'async function f() { await Promise.all(work); }',
  'const stop = timers.start(5, f);',
  'const bytes = random(32);',
  'list.find(({ process }) => process === other.process);',
  `import type { Log } from '../actors/live/ports.ts';`,
  `import { isIP } from 'node:net';`,
  `import { createHmac } from 'node:crypto';`,
  '// Date.now() and setTimeout are not for here',
];

const rulesOf = (rule: string) => Object.keys(rooms.folders).filter((folder) => rooms.folders[folder]?.rule === rule);

describe('ports', () => {
  test.each(rulesOf('ports'))('checks %s/', (folder) => {
    expect(filesUnder('ports', root).some((file) => file.startsWith(`${folder}/`))).toBe(true);
  });

  test.each([...adapters].filter(([, { reaches }]) => reaches !== undefined))(
    '%s needs its exception',
    (file, { reaches }) => {
      const found = ambientOf(file, readFileSync(join(root, file), 'utf8'));
      expect(found.some(({ what }) => new RegExp(reaches!).test(what))).toBe(true);
    },
  );

  test.each(bad)('finds: %s', (sample, named) => {
    const found = ambientOf('sample.ts', `/** A head. */\nexport const before = 1;\n${sample}\n`);
    expect(found.map(({ line }) => line)).toContain(3);
    expect(found.map(({ what }) => what).join()).toContain(named);
  });

  test.each(good)('accepts: %s', (sample) => {
    expect(ambientOf('sample.ts', `${sample}\n`)).toEqual([]);
  });
});

/** The build in a checkout: what its source maps name exists, so that debuggers and stack traces show the sources. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../cli/support/up-process.ts';

test('every source map of dist/ points to files that exist', () => {
  const dist = join(root, 'dist');
  const maps = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.js.map'));
  expect(maps.length).toBeGreaterThan(300);
  const missing = maps.flatMap((path) => {
    const { sources } = JSON.parse(readFileSync(join(dist, path), 'utf8')) as { sources: string[] };
    return sources.map((source) => join(dist, dirname(path), source)).filter((source) => !existsSync(source));
  });
  expect(missing).toEqual([]);
});

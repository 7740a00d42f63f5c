/** The build in a checkout: what its source maps name exists, and stack traces of the command name it. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../cli/support/up-process.ts';

const dist = join(root, 'dist');

test('every source map of dist/ names sources of ours that exist', () => {
  const maps = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.js.map'));
  const sources = maps.flatMap((path) => {
    const { sources } = JSON.parse(readFileSync(join(dist, path), 'utf8')) as { sources: string[] };
    return sources.map((source) => join(dist, dirname(path), source));
  });
  for (const entry of ['cli/main.ts', 'nodes/main.ts', 'coordinator/main.ts', 'gateway/main.ts']) {
    expect(sources).toContain(join(root, entry));
  }
  // Some packages publish maps of sources that they leave out.
  const ours = sources.filter((source) => !source.includes('/node_modules/'));
  expect(ours.filter((source) => !existsSync(source))).toEqual([]);
});

test('a crash of a bundled process names the source file and its line', () => {
  // The command calls this when it starts.
  const planted = 'data:text/javascript,process.umask=()=>{throw new Error("planted")}';
  const { stderr } = spawnSync(process.execPath, ['--import', planted, join(dist, 'cli', 'main.js')], {
    encoding: 'utf8',
  });
  const line = readFileSync(join(root, 'cli', 'main.ts'), 'utf8')
    .split('\n')
    .findIndex((text) => text.startsWith('process.umask('));
  expect(stderr).toContain('Error: planted');
  expect(stderr).toContain(`${join(root, 'cli', 'main.ts')}:${line + 1}:`);
});

/** The rule of Redis scripts: this repository keeps it, and planted breaches are found. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { findScriptFaults } from '../../tools/check/redis-scripts.ts';
import { temporaryFolder } from '../cli/support/temporary.ts';
import { root } from '../cli/support/up-process.ts';

function faultsOf(files: Readonly<Record<string, string>>): string[] {
  const folder = temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return findScriptFaults(folder).map(({ file, line, what }) => `${file}:${line} ${what.split(':')[0]}`);
}

test('this repository keeps it', () => {
  expect(findScriptFaults(root)).toEqual([]);
});

test.each([
  "export const a = `return redis.call('GET', 'a')`;",
  `export const a = (key: string) => \`local b = 1 \${key} return redis.pcall('GET', 'a')\`;`,
  "export const a = 'return ARGV[1]';",
  'export const a = [{ b: "return KEYS [1]" }];',
])('Lua in a string is found: %s', (code) => {
  expect(faultsOf({ 'store/a.ts': `/** A head. */\n${code}\n` })).toEqual(['store/a.ts:2 Lua in a string']);
});

test('a call of a client, a comment and a test are no scripts of the product', () => {
  const code =
    "// redis.call('GET', KEYS[1])\nexport const a = (redis: { call(name: string): void }) => redis.call('GET');\n";
  expect(faultsOf({ 'store/a.ts': code, 'test/a.test.ts': "export const a = 'return KEYS[1]';\n" })).toEqual([]);
});

test('a script without a test of its own, in the tests of its room, is found', () => {
  const describes = (path: string) =>
    `import { describeScript } from './x.ts';\ndescribeScript(\n  '${path}', () => {});\n`;
  const faults = faultsOf({
    'store/a.lua': 'return 1\n',
    'store/deep/b.lua': 'return 1\n',
    'store/c.lua': 'return 1\n',
    'store/d.lua': 'return 1\n',
    'test/store/a.test.ts': describes('store/a.lua'),
    'test/store/d.test.ts': "export const path = 'store/d.lua';\n",
    'test/redis/c.test.ts': describes('store/c.lua'),
  });
  expect(faults).toEqual(
    ['store/c.lua', 'store/d.lua', 'store/deep/b.lua'].map((path) => `${path}:1 no test of its own`),
  );
});

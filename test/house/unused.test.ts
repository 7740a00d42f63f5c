/** The check for unused code can fail: an unused file, export and package, planted, are each found. */
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runTool } from '../../tools/check/tool.ts';
import { temporaryFolder } from '../cli/support/temporary.ts';
import { root } from '../cli/support/up-process.ts';

test('an unused file, an unused export and an unused package are found', async () => {
  const folder = temporaryFolder();
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  copyFileSync(join(root, 'knip.json'), join(folder, 'knip.json'));
  mkdirSync(join(folder, 'cli'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', dependencies: { pino: '10.4.0' } }));
  writeFileSync(join(folder, 'cli/main.ts'), `import { used } from './part.ts';\nused();\n`);
  writeFileSync(join(folder, 'cli/part.ts'), 'export function used() {}\nexport function forgotten() {}\n');
  writeFileSync(join(folder, 'cli/orphan.ts'), 'export const orphan = 1;\n');
  const { exitCode, output } = await runTool(folder, 'knip', ['--no-progress']);
  expect(exitCode).not.toBe(0);
  for (const found of ['cli/orphan.ts', 'forgotten', 'pino']) expect(output).toContain(found);
  expect(output).not.toMatch(/^used /m);
});

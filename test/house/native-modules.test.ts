/** Tests run as JavaScript that is written from the sources: what has changed is written again, and what has gone goes. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../cli/support/temporary.ts';
import { nativeModules, writeModules } from '../support/native-modules.ts';

function write(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

test('a module is written when its source has changed, and finds files by the place of its source', async () => {
  const root = temporaryFolder();
  const written = (path: string) => join(root, '.setup/tests', path);
  write(root, 'package.json', '{ "type": "module" }');
  write(root, 'room/a.ts', `import { b } from './b.ts';\nexport const a: string = b + import.meta.url;\n`);
  write(root, 'room/b.ts', `export const b: string = 'b ';\n`);
  write(root, 'room/gone.ts', 'export const gone = 1;\n');
  await writeModules(root);
  const { a } = (await import(pathToFileURL(written('room/a.js')).href)) as { readonly a: string };
  expect(a).toBe(`b ${pathToFileURL(join(root, 'room/a.ts')).href}`);

  const before = statSync(written('room/a.js')).mtimeMs;
  write(root, 'room/b.ts', `export const b: string = 'changed ';\n`);
  rmSync(join(root, 'room/gone.ts'));
  await writeModules(root);
  expect(readFileSync(written('room/b.js'), 'utf8')).toContain('changed');
  expect([existsSync(written('room/gone.js')), statSync(written('room/a.js')).mtimeMs]).toEqual([false, before]);
});

test('sources of the repository are named by their JavaScript, but not set-up files and packages', () => {
  const resolve = nativeModules('/root', ['test/setup.ts']).resolveId as (
    source: string,
    importer?: string,
  ) => string | undefined;
  expect(resolve('/root/test/a.test.ts')).toBe('/root/.setup/tests/test/a.test.js');
  expect(resolve('../room/a.ts', '/root/test/setup.ts')).toBe('/root/.setup/tests/room/a.js');
  for (const path of ['/root/test/setup.ts', '/root/node_modules/a/b.ts', '/elsewhere/a.ts', 'vitest', './a.mjs'])
    expect(resolve(path, '/root/test/a.test.ts')).toBe(undefined);
});

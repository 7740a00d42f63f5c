/**
 * Modules of the product beside those that the tests of this worker share, with some exported functions wrapped: what such a
 * function is given and returns is not seen from outside otherwise. Who imports the wrapped function has it.
 */
import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll } from 'vitest';
import { modulesFolder, sourcesOf } from './native-modules.ts';

/** Each gets the function that it stands for. */
type Wrappers = Readonly<Record<string, (real: never) => unknown>>;

const root = fileURLToPath(new URL('../..', import.meta.url));
const shared = globalThis as { wrappersOfTests?: Map<string, Wrappers> };

/** `replaced`: exported functions by the module's path below the root. Returns what imports a module by its path. */
export function replacedModules(replaced: Readonly<Record<string, Wrappers>>): (path: string) => Promise<unknown> {
  // Below the root, so that packages are found from there.
  const folder = mkdtempSync(join(root, '.setup/replaced-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  shared.wrappersOfTests ??= new Map();
  for (const source of sourcesOf(root).filter((path) => !/^(test|tools|examples)\//.test(path))) {
    const file = join(folder, source.replace(/ts$/, 'js'));
    const wrappers = replaced[source];
    const own = wrappers === undefined ? file : file.replace(/js$/, 'real.js');
    mkdirSync(dirname(file), { recursive: true });
    linkSync(join(root, modulesFolder, source.replace(/ts$/, 'js')), own);
    if (wrappers === undefined) continue;
    shared.wrappersOfTests.set(file, wrappers);
    const real = JSON.stringify(pathToFileURL(own).href);
    const wrapped = Object.keys(wrappers).map((name) => `export const ${name} = wrappers.${name}(real.${name});`);
    const lines = [`import * as real from ${real};`, `export * from ${real};`];
    lines.push(`const wrappers = globalThis.wrappersOfTests.get(${JSON.stringify(file)});`);
    writeFileSync(file, [...lines, ...wrapped].join('\n'));
  }
  return (path) => import(pathToFileURL(join(folder, path.replace(/ts$/, 'js'))).href);
}

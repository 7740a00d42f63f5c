/**
 * Test files and what they import run as JavaScript that Node.js itself loads, as the product does: esbuild writes one file a
 * module into `.setup/tests`, and a plugin names them to vitest. Vitest's own loader asks its main process for each module of
 * each worker, and calls between modules go through its wrappers: that took a fifth of the CPU time of tests.
 *
 * Only set-up files need vitest's loader: they run again for each test file of a worker. So no test can replace a module with
 * `vi.mock` (replaced-modules.ts does it).
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin as BuildPlugin, build, version } from 'esbuild';
import type { Plugin } from 'vitest/config';

/** Below the root, so that packages are found from there. */
export const modulesFolder = '.setup/tests';
/** Of one build. esbuild's work for an entry point grows with the others: all at once took three times the CPU time. */
const batchSize = 50;
/** Folders without sources of ours. */
const foreign = /^(node_modules|dist)$|^\./;

/** Writes what has changed since the last time. Throws where a file is no TypeScript. */
export async function writeModules(root: string): Promise<void> {
  const out = join(root, modulesFolder);
  const stamp = join(out, 'stamp.json');
  const sources = sourcesOf(root);
  const maker = digest(`${version} ${readFileSync(fileURLToPath(import.meta.url), 'utf8')}`);
  const now = new Map(sources.map((path) => [path, digest(`${maker} ${readFileSync(join(root, path), 'utf8')}`)]));
  const before = new Map(Object.entries(readStamp(stamp)));
  const changed = sources.filter((path) => before.get(path) !== now.get(path));
  const gone = [...before.keys()].filter((path) => !now.has(path));
  if (changed.length + gone.length === 0) return;
  for (const path of gone) rmSync(moduleFile(root, join(root, path)), { force: true });
  for (let first = 0; first < changed.length; first += batchSize) {
    const { outputFiles } = await modulesOf(root, changed.slice(first, first + batchSize));
    for (const { path, contents } of outputFiles) replaceFile(path, contents);
  }
  replaceFile(stamp, JSON.stringify(Object.fromEntries(now)));
}

function modulesOf(root: string, sources: string[]) {
  const out = join(root, modulesFolder);
  return build({
    absWorkingDir: root,
    entryPoints: sources,
    outdir: out,
    outbase: root,
    bundle: true,
    write: false,
    treeShaking: false,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: 'linked',
    sourcesContent: false,
    // A module finds files by the place of its source, from a copy too (replaced-modules.ts).
    define: { 'import.meta.url': '__source' },
    banner: { js: `const __source=import.meta.url.replace(/\\/[.]setup\\/[^/]+\\//,'/').replace(/js$/,'ts');` },
    plugins: [apart],
    logLevel: 'warning',
  });
}

/** Each module in a file of its own, which imports the files of others. */
const apart: BuildPlugin = {
  name: 'apart',
  setup({ onResolve }) {
    onResolve({ filter: /^/ }, ({ path, kind, resolveDir }) => {
      if (kind === 'entry-point') return undefined;
      if (!path.startsWith('.')) return { path, external: true };
      return { path: path.endsWith('.ts') ? path.replace(/ts$/, 'js') : resolve(resolveDir, path), external: true };
    });
  },
};

/** Tells vitest where the JavaScript of a source is. `setupFiles`: below the root. */
export function nativeModules(root: string, setupFiles: readonly string[]): Plugin {
  const again = new Set(setupFiles.map((path) => join(root, path)));
  return {
    name: 'native modules',
    enforce: 'pre',
    resolveId(source, importer) {
      const path = isAbsolute(source) || importer === undefined ? source : resolve(dirname(importer), source);
      const isOurs = /^[./]/.test(source) && path.endsWith('.ts') && !foreign.test(relative(root, path).split('/')[0]!);
      return isOurs && !again.has(path) ? moduleFile(root, path) : undefined;
    },
  };
}

function moduleFile(root: string, source: string): string {
  return join(root, modulesFolder, relative(root, source).replace(/ts$/, 'js'));
}

/** The TypeScript files of the repository, below the root. */
export function sourcesOf(root: string): string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !foreign.test(entry.name))
    .flatMap(({ name }) =>
      readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map((path) => join(name, path)),
    )
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts') && !path.includes('node_modules'))
    .sort();
}

function readStamp(path: string): Readonly<Record<string, string>> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>;
  } catch {
    return {};
  }
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Another run may read it at the same time. */
function replaceFile(path: string, contents: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}

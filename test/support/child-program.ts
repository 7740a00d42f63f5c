/**
 * TypeScript programs for processes of their own. Each is bundled once a worker: to strip the types of every module at
 * every start takes a process two seconds of CPU.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

/** Below the root, so that packages and built files are found from there. */
const folder = fileURLToPath(new URL(`../../.setup/children-${process.pid}/`, import.meta.url));
const bundled = new Map<string, string>();

/** The path of the program as JavaScript. It goes with this process. */
export function childProgram(source: URL): string {
  const path = fileURLToPath(source);
  const known = bundled.get(path);
  if (known !== undefined) return known;
  if (bundled.size === 0) process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, basename(path).replace(/ts$/, 'mjs'));
  const target = { platform: 'node', format: 'esm', target: 'node20.19', packages: 'external' } as const;
  buildSync({ entryPoints: [path], bundle: true, outfile, sourcemap: 'inline', ...target });
  bundled.set(path, outfile);
  return outfile;
}

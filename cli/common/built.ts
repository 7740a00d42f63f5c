/**
 * Finds files of the package. A bundle may put a module into any chunk, so a path relative to the module's own file is
 * unreliable: this searches the folders above it, up to the root of the package.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folders = foldersAbove(fileURLToPath(import.meta.url));
/** The folder of package.json. */
export const packageRoot = folders.at(-1)!;

/** A file of the build, e.g. `cli/main.js`, for a child process or a worker. It may not exist. */
export function builtFile(path: string): string {
  const built = join(packageRoot, 'dist', path);
  return folders.map((folder) => join(folder, path)).find((path) => existsSync(path)) ?? built;
}

/** A file or folder beside package.json, e.g. `scenarios`; undefined: this package has none. */
export function packageFile(path: string): string | undefined {
  const file = join(packageRoot, path);
  return existsSync(file) ? file : undefined;
}

/** From the file's own folder to the first with a package.json. */
function foldersAbove(file: string): readonly string[] {
  const found = [dirname(file)];
  for (let folder = found[0]!; !existsSync(join(folder, 'package.json')) && folder !== dirname(folder); ) {
    folder = dirname(folder);
    found.push(folder);
  }
  return found;
}

/**
 * The rule of public files: others import a module only through its file `public.ts`, which exports its public names, or through
 * the files that rooms.json names as public. A module is a folder in a folder that rooms.json marks with `modules`; its own files
 * import each other directly. Tests, tools and examples may import any file.
 */
import { adapterOf, folderOf, rooms } from './rooms.ts';

const lookInside = /^(test|tools|examples)\//;

/** The module that a file belongs to, e.g. "wallets/custody/connections"; undefined: none. */
export function moduleOf(file: string): string | undefined {
  const folder = folderOf(file);
  if (folder === undefined || rooms.folders[folder]?.modules !== true) return undefined;
  const [module, rest] = file.slice(folder.length + 1).split('/');
  return rest === undefined ? undefined : `${folder}/${module}`;
}

/** Whether this import bypasses the public file of a module. */
export function passesPublicFile(from: string, to: string): boolean {
  const module = moduleOf(to);
  if (module === undefined || module === moduleOf(from) || lookInside.test(from)) return false;
  if (publicFilesOf(module)?.includes(to) !== false) return false;
  if (rooms.folders[folderOf(from) ?? '']?.imports.includes(to) === true) return false;
  return !(rooms.passAdapters.includes(from) && adapterOf(to) !== undefined);
}

/** The files of a module that others may import; undefined: all of them. */
export function publicFilesOf(module: string): readonly string[] | undefined {
  const folder = folderOf(`${module}/`)!;
  const name = module.slice(folder.length + 1);
  const { shared = [], public: named = {} } = rooms.folders[folder]!;
  return shared.includes(name) ? undefined : (named[name] ?? ['public.ts']).map((file) => `${module}/${file}`);
}

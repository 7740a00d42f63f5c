/**
 * rooms.json: the folders of the house, from the lowest floor to the highest, with the rules that hold in each. house.ts, purity.ts, ports.ts, public-files.ts, compositions.ts and the table in ARCHITECTURE.md are made
 * from it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository.ts';

interface Rooms {
  /** By path. A folder inside another has rules of its own. */
  readonly folders: Readonly<Record<string, Folder>>;
  /** Folders that only these places may import, whatever the floors allow. */
  readonly reserved: readonly { readonly folder: string; readonly for: readonly string[]; readonly why: string }[];
  /** Modules that load no adapter, however far away. */
  readonly compositions: readonly string[];
  /** Modules that pass adapters in, which no public file exports: importing a module does not load its adapters. */
  readonly passAdapters: readonly string[];
}

interface Folder {
  /** For ARCHITECTURE.md. */
  readonly holds: string;
  /** Folders, with all below them, and single files. */
  readonly imports: readonly string[];
  readonly rule?: Rule;
  /** The only files that break the rule, relative to the folder. A path that ends with a slash is a folder. */
  readonly adapters?: Readonly<Record<string, Adapter>>;
  /** Whether each of its subfolders is a module, with a public file. */
  readonly modules?: boolean;
  /** Its subfolders that hold what its modules share: every file of them is public. */
  readonly shared?: readonly string[];
  /** The public files of modules that have no `public.ts`. */
  readonly public?: Readonly<Record<string, readonly string[]>>;
  /** How the npm package has it; in its bundles by default. */
  readonly packaged?: 'source' | 'no';
}

type Rule = 'pure' | 'ports';

interface Adapter {
  readonly why: string;
  /** Of the rule of ports: a pattern of the breaches that the file may have. */
  readonly reaches?: string;
  /** The rule that holds instead. */
  readonly rule?: 'ports';
}

export const rooms = JSON.parse(readFileSync(join(repositoryRoot(), 'rooms.json'), 'utf8')) as Rooms;

const deepestFirst = Object.keys(rooms.folders).sort((one, two) => two.length - one.length);

/** The folder whose rules hold for a file. */
export function folderOf(file: string): string | undefined {
  return deepestFirst.find((folder) => file.startsWith(`${folder}/`));
}

/** Whether a file's folder is in the bundles of the npm package. */
export function isProduct(file: string): boolean {
  const folder = folderOf(file);
  return folder !== undefined && rooms.folders[folder]!.packaged === undefined;
}

/** Files that are exempt from their folder's rule, by path. */
export const adapters: ReadonlyMap<string, Adapter> = new Map(
  Object.entries(rooms.folders).flatMap(([folder, { adapters = {} }]) =>
    Object.entries(adapters).map(([path, adapter]) => [`${folder}/${path}`, adapter] as const),
  ),
);

export function adapterOf(file: string): Adapter | undefined {
  const place = [...adapters.keys()].find((path) => (path.endsWith('/') ? file.startsWith(path) : file === path));
  return place === undefined ? undefined : adapters.get(place);
}

/** Whether a rule holds for a file. An adapter under the rule of ports is read too: it may have some breaches only. */
export function isUnder(rule: Rule, file: string): boolean {
  const folder = folderOf(file);
  const adapter = adapterOf(file);
  if (folder === undefined) return false;
  if (adapter?.rule !== undefined) return adapter.rule === rule;
  return rooms.folders[folder]?.rule === rule && (rule === 'ports' || adapter === undefined);
}

/** The TypeScript files below `root` for which a rule holds, sorted. */
export function filesUnder(rule: Rule, root: string): string[] {
  return typeScriptIn(root, topFolders(root)).filter((file) => isUnder(rule, file));
}

/** The modules below `root`, in TypeScript or not, sorted. */
export function modulesUnder(root: string): string[] {
  return filesIn(root, topFolders(root)).filter((file) => /[.]m?[jt]s$/.test(file));
}

/** The TypeScript files in these folders, sorted. */
export function typeScriptIn(root: string, folders: readonly string[]): string[] {
  return filesIn(root, folders).filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'));
}

function filesIn(root: string, folders: readonly string[]): string[] {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
    )
    .sort();
}

function topFolders(root: string): string[] {
  const tops = new Set(Object.keys(rooms.folders).map((folder) => folder.split('/')[0]));
  return readdirSync(root).filter((name) => tops.has(name));
}

/**
 * Checks the structure of the modules: which folder imports which (rooms.json), circles between modules and between folders, and
 * imports past a module's public file (public-files.ts). Imports of types count.
 *
 * A folder is the modules directly in it, without those of its subfolders: a folder and a subfolder may import each other as
 * little as any two folders. So the composition of a room is above its parts, and the shared code of its parts has its own
 * folder.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { moduleOf, passesPublicFile, publicFilesOf } from './public-files.ts';
import { folderOf, modulesUnder, rooms } from './rooms.ts';

export interface House {
  readonly violations: readonly Violation[];
  /** Modules of which every one leads to every other, sorted. */
  readonly circles: readonly (readonly string[])[];
  /** Each a list of folders of which every one leads to every other, sorted. */
  readonly rings: readonly (readonly string[])[];
  /** Imports into a module past its public file. */
  readonly trespasses: readonly Import[];
}

interface Import {
  readonly from: string;
  readonly to: string;
}

interface Violation extends Import {
  readonly rule: string;
}

/** Of a module of ours, as Biome formats it: the end of a statement's line, or an expression, of a type too. */
const statement = /^(?:import|.*\bfrom) '([.][^']+)';$/gm;
const expression = /\bimport\(\s*'([.][^']+)'/g;

/** The modules in the folders of rooms.json below `root`. */
export function readHouse(root: string): House {
  const modules = new Set(modulesUnder(root));
  const imports = [...modules].flatMap((from) => {
    const text = readFileSync(join(root, from), 'utf8');
    return [...text.matchAll(statement), ...text.matchAll(expression)]
      .map(([, path]) => ({ from, to: normalize(join(dirname(from), path!)) }))
      .filter(({ to }) => modules.has(to));
  });
  const folders = imports
    .map(({ from, to }) => ({ from: dirname(from), to: dirname(to) }))
    .filter(({ from, to }) => from !== to);
  return {
    violations: imports.flatMap(violationsOf),
    circles: ringsOf(graphOf(imports)),
    rings: ringsOf(graphOf(folders)),
    trespasses: imports.filter(({ from, to }) => passesPublicFile(from, to)),
  };
}

function violationsOf({ from, to }: Import): Violation[] {
  const [own, other] = [folderOf(from), folderOf(to)];
  const isAllowed =
    own === undefined ||
    own === other ||
    rooms.folders[own]!.imports.some((path) => to === path || to.startsWith(`${path}/`));
  // `cli/sim` names a folder and the files that begin so.
  const mayUse = (user: string) => from.startsWith(user) && /^[-./]/.test(from.slice(user.length));
  const reserved = rooms.reserved.filter((one) => to.startsWith(`${one.folder}/`) && !one.for.some(mayUse));
  return [
    ...(isAllowed ? [] : [{ rule: `imports of ${own}`, from, to }]),
    ...reserved.map(({ folder, why }) => ({ rule: `reserved: ${folder} (${why})`, from, to })),
  ];
}

/** The faults of this repository; an empty text: none. */
export async function checkHouse(root: string): Promise<string> {
  return houseFaults(readHouse(root));
}

/** The faults of a structure; an empty text: none. */
export function houseFaults({ violations, circles, rings, trespasses }: House): string {
  return [
    ...violations.map(({ rule, from, to }) => `${rule}: ${from} imports ${to}`),
    ...circles.map((circle) => `modules that need each other are one module: ${circle.join(', ')}`),
    ...rings.map((ring) => `folders that import each other: ${ring.join(', ')}`),
    ...trespasses.map(
      ({ from, to }) =>
        `${from} imports ${to}: import ${publicFilesOf(moduleOf(to)!)!.join(' or ')}, and add what it lacks`,
    ),
  ].join('\n');
}

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

function graphOf(imports: readonly Import[]): Graph {
  const graph = new Map<string, Set<string>>();
  for (const { from, to } of imports) graph.set(from, (graph.get(from) ?? new Set()).add(to));
  return graph;
}

/** The strongly connected components of more than one member (Tarjan, 1972), sorted. */
function ringsOf(graph: Graph): string[][] {
  const order = new Map<string, number>();
  const open: string[] = [];
  const rings: string[][] = [];
  const visit = (member: string): number => {
    const own = order.size;
    order.set(member, own);
    let low = own;
    open.push(member);
    for (const target of graph.get(member) ?? []) {
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, order.get(target)!);
    }
    if (low === own) {
      const ring = open.splice(open.indexOf(member));
      if (ring.length > 1) rings.push(ring.sort());
    }
    return low;
  };
  for (const member of graph.keys()) if (!order.has(member)) visit(member);
  return rings.sort();
}

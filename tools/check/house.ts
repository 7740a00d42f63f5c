/**
 * Checks the structure of the modules: the floors and the circles between modules, by dependency-cruiser from
 * .dependency-cruiser.mjs, and, in the files of the same run, circles between folders, and imports past a module's public
 * file (public-files.ts). Imports of types count.
 *
 * A folder is the modules directly in it, without those of its subfolders: a folder and a subfolder may import each other as
 * little as any two folders. So the composition of a room is above its parts, and the shared code of its parts has its own
 * folder.
 */
import { dirname } from 'node:path';
import { moduleOf, passesPublicFile, publicFilesOf } from './public-files.ts';
import { runTool } from './tool.ts';

export interface House {
  /** The modules read. */
  readonly modules: number;
  readonly violations: readonly Violation[];
  /** Each a list of folders of which every one leads to every other, sorted. */
  readonly rings: readonly (readonly string[])[];
  /** Imports into a module past its public file. */
  readonly trespasses: readonly Import[];
}

interface Import {
  readonly from: string;
  readonly to: string;
}

export interface Violation {
  readonly rule: { readonly name: string };
  readonly from: string;
  readonly to: string;
}

interface Cruise {
  readonly modules: readonly Module[];
  readonly summary: { readonly totalCruised: number; readonly violations: readonly Violation[] };
}

interface Module {
  readonly source: string;
  readonly dependencies: readonly { readonly resolved: string }[];
}

/** Throws an Error with the output of dependency-cruiser when it did not finish. */
export async function readHouse(root: string): Promise<House> {
  const args = ['--config', '.dependency-cruiser.mjs', '--output-type', 'json', '.'];
  const { output } = await runTool(root, 'depcruise', args);
  const begin = output.indexOf('{');
  if (begin === -1) throw new Error(output);
  const { modules, summary } = JSON.parse(output.slice(begin, output.lastIndexOf('}') + 1)) as Cruise;
  return {
    modules: summary.totalCruised,
    violations: summary.violations,
    rings: ringsOf(foldersOf(modules)),
    trespasses: modules.flatMap(({ source: from, dependencies }) =>
      dependencies.map(({ resolved: to }) => ({ from, to })).filter(({ from, to }) => passesPublicFile(from, to)),
    ),
  };
}

/** This repository has more: fewer mean a dependency-cruiser that cannot parse TypeScript, and finds nothing. */
const modulesMin = 100;

/** The faults of this repository; an empty text: none. */
export async function checkHouse(root: string): Promise<string> {
  const house = await readHouse(root);
  return tooFew(house) ?? houseFaults(house);
}

export function tooFew({ modules }: House): string | undefined {
  return modules < modulesMin ? `dependency-cruiser read ${modules} modules, fewer than ${modulesMin}` : undefined;
}

/** The faults of a structure; an empty text: none. */
export function houseFaults({ violations, rings, trespasses }: House): string {
  return [
    ...violations.map(({ rule, from, to }) => `${rule.name}: ${from} imports ${to}`),
    ...rings.map((ring) => `folders that import each other: ${ring.join(', ')}`),
    ...trespasses.map(
      ({ from, to }) =>
        `${from} imports ${to}: import ${publicFilesOf(moduleOf(to)!)!.join(' or ')}, and add what it lacks`,
    ),
  ].join('\n');
}

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

function foldersOf(modules: readonly Module[]): Graph {
  const graph = new Map<string, Set<string>>();
  for (const { source, dependencies } of modules) {
    const from = dirname(source);
    const targets = graph.get(from) ?? new Set();
    graph.set(from, targets);
    for (const { resolved } of dependencies) if (dirname(resolved) !== from) targets.add(dirname(resolved));
  }
  return graph;
}

/** The strongly connected components of more than one folder (Tarjan, 1972), sorted. */
function ringsOf(graph: Graph): string[][] {
  const order = new Map<string, number>();
  const open: string[] = [];
  const rings: string[][] = [];
  const visit = (folder: string): number => {
    const own = order.size;
    order.set(folder, own);
    let low = own;
    open.push(folder);
    for (const target of graph.get(folder) ?? []) {
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, order.get(target)!);
    }
    if (low === own) {
      const ring = open.splice(open.indexOf(folder));
      if (ring.length > 1) rings.push(ring.sort());
    }
    return low;
  };
  for (const folder of graph.keys()) if (!order.has(folder)) visit(folder);
  return rings.sort();
}

/**
 * How the house stands: the floors and the circles between modules, which dependency-cruiser knows from
 * .dependency-cruiser.json, and the circles between folders, found in the modules of the same run. Imports of types count.
 *
 * A folder is the modules that lie in it, without those of the folders below: a folder and one below it may import each
 * other as little as any two folders. So what composes a room lies above its parts, and what its parts share lies in a
 * folder of its own.
 */
import { dirname } from 'node:path';
import { runTool } from './tool.ts';

export interface House {
  /** Modules that were read. */
  readonly modules: number;
  readonly violations: readonly Violation[];
  /** Each a list of folders of which every one leads to every other, sorted. */
  readonly rings: readonly (readonly string[])[];
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

/** Throws an Error with what dependency-cruiser said when it did not come to an end. */
export async function readHouse(root: string): Promise<House> {
  const args = ['--config', '.dependency-cruiser.json', '--output-type', 'json', '.'];
  const { output } = await runTool(root, 'depcruise', args);
  const begin = output.indexOf('{');
  if (begin === -1) throw new Error(output);
  const { modules, summary } = JSON.parse(output.slice(begin, output.lastIndexOf('}') + 1)) as Cruise;
  return { modules: summary.totalCruised, violations: summary.violations, rings: ringsOf(foldersOf(modules)) };
}

/** Says what is wrong with the house; an empty text: nothing. */
export async function houseFaults(root: string): Promise<string> {
  const { violations, rings } = await readHouse(root);
  return [
    ...violations.map(({ rule, from, to }) => `${rule.name}: ${from} imports ${to}`),
    ...rings.map((ring) => `folders that import each other: ${ring.join(', ')}`),
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

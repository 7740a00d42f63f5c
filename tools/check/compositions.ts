/**
 * The rule of compositions: the code that composes the control plane and the delivery of webhooks loads no module that reaches
 * the world, so that a simulated world can run the same composition over its own ports.
 *
 * It follows all imports that load a module, transitively: not imports of types, which do not exist at run time. purity.ts covers
 * pure rooms.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { ambientOf } from './ports.ts';
import { breachesOf, type Impurity, impuritiesOf, type Node } from './purity.ts';
import { isUnder, rooms } from './rooms.ts';

/** The modules that the compositions under `root` load and that reach the world, with the import path. */
export function findWorldly(root: string): Impurity[] {
  const modules = new Map<string, Module>();
  const moduleOf = (file: string): Module => {
    const known = modules.get(file) ?? readModule(root, file);
    modules.set(file, known);
    return known;
  };
  return rooms.compositions.filter((file) => existsSync(join(root, file))).flatMap((file) => worldlyOf(moduleOf, file));
}

interface Module {
  readonly breaches: readonly Impurity[];
  /** Paths from the root. */
  readonly loads: readonly string[];
}

function readModule(root: string, file: string): Module {
  const source = readFileSync(join(root, file), 'utf8');
  const breaches = isUnder('pure', file) ? impuritiesOf(file, source) : ambientOf(file, source);
  return { breaches, loads: loadedBy(file, source) };
}

function worldlyOf(moduleOf: (file: string) => Module, composition: string): Impurity[] {
  const ways = new Map<string, readonly string[]>([[composition, []]]);
  const found: Impurity[] = [];
  // A map's iteration includes entries added during it.
  for (const [file, way] of ways) {
    const { breaches, loads } = moduleOf(file);
    for (const { line, what } of breaches) {
      found.push({ file, line, what: `${what} (loaded by ${[...way].reverse().join(', which is loaded by ')})` });
    }
    for (const target of loads) if (!ways.has(target)) ways.set(target, [...way, file]);
  }
  return found;
}

/** Modules of ours that the code of a module loads, as paths from the root. */
function loadedBy(file: string, source: string): string[] {
  const targets: string[] = [];
  const add = (from: unknown): void => {
    const path = String((from as Node | undefined)?.value);
    if (path.startsWith('.') && path.endsWith('.ts')) targets.push(normalize(join(dirname(file), path)));
  };
  breachesOf(file, source, (node) => {
    if (node.typeOnly === true) return;
    if (/^(Import|ExportNamed|ExportAll)Declaration$/.test(node.type ?? '')) add(node.source);
    if (node.type === 'CallExpression' && (node.callee as Node).type === 'Import') {
      add(((node.arguments as { readonly expression: Node }[] | undefined) ?? [])[0]?.expression);
    }
  });
  return targets;
}

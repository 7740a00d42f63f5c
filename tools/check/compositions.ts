/**
 * The rule of compositions: what puts the control plane and the delivery of webhooks together loads nothing that reaches
 * the world, so that a simulated world can run the very same composition over ports of its own.
 *
 * Followed are imports that load a module, to the end: not those of types, which are gone when the code runs. Pure rooms
 * are left to purity.ts.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { ambientOf } from './ports.ts';
import { breachesOf, type Impurity, impuritiesOf, isPure, type Node } from './purity.ts';

export const compositions: readonly string[] = [
  'gateway/serve/serve.ts',
  'gateway/wallet-api.ts',
  'gateway/webhook-worker.ts',
];

/** What the compositions under `root` load that reaches the world, with the way there. */
export function findWorldly(root: string): Impurity[] {
  return compositions.filter((file) => existsSync(join(root, file))).flatMap((file) => worldlyOf(root, file));
}

function worldlyOf(root: string, composition: string): Impurity[] {
  const ways = new Map<string, readonly string[]>([[composition, []]]);
  const found: Impurity[] = [];
  // A map gives what is added while it is walked.
  for (const [file, way] of ways) {
    const source = readFileSync(join(root, file), 'utf8');
    const breaches = isPure(file) ? impuritiesOf(file, source) : ambientOf(file, source);
    for (const { line, what } of breaches) {
      found.push({ file, line, what: `${what} (loaded by ${[...way].reverse().join(', which is loaded by ')})` });
    }
    for (const target of loadedBy(file, source)) if (!ways.has(target)) ways.set(target, [...way, file]);
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

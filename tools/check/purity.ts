/**
 * The rule of purity: actors, state machines and mathematics take time and randomness as arguments and touch nothing else, so
 * that a run can be repeated byte for byte. It searches the syntax tree, so that comments and texts may name what code may not
 * use.
 *
 * rooms.json names the folders under the rule, and the adapters that are exempt.
 *
 * Not a proof: a module can still reach the world through its arguments, which is intended.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';
import { filesUnder } from './rooms.ts';

const forbiddenGlobals = new Map<string, string>([
  ['Date', 'take nowMs from the context'],
  ['performance', 'take nowMs from the context'],
  ['process', 'take settings as arguments'],
  ['console', 'emit an event'],
  ['globalThis', 'name what you need as an argument'],
  ['fetch', 'send a message'],
  ['Promise', 'return effects'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'].map(
    (name) => [name, 'return startTimer'] as const,
  ),
]);
export const ambientRandomness =
  /^(random(Bytes|UUID|Int|FillSync|Fill|SecretKey|PrivateKey)$|randombytes_|getRandomValues$|generateKey)/;
/** Modules without access to the world: bytes in, bytes out. */
const pureBuiltins = new Set(['node:crypto', 'node:assert/strict', 'node:buffer', 'node:module', 'node:util']);
const forbiddenPackages = /^(ws|ioredis|fastify|classic-level|pino|undici|@grpc\/)/;

export interface Impurity {
  readonly file: string;
  readonly line: number;
  readonly what: string;
}

/** Every breach in the rooms under `root`, in the order of files and lines. */
export function findImpurities(root: string): Impurity[] {
  return filesUnder('pure', root).flatMap((file) => impuritiesOf(file, readFileSync(join(root, file), 'utf8')));
}

export function impuritiesOf(file: string, source: string): Impurity[] {
  return breachesOf(file, source, inspect);
}

/** The reports of `inspect` on a module's nodes, without types, at their lines. */
export function breachesOf(file: string, source: string, inspect: Inspect): Impurity[] {
  const module = parseSync(source, { syntax: 'typescript', target: 'es2022' });
  const found: Impurity[] = [];
  // Positions are bytes, counted on from one file to the next; the module's positions begin at its first token.
  const bytes = Buffer.from(source);
  const first = firstTokenOffset(source);
  const report = (node: Node, what: string) => {
    const offset = first + (node.span?.start ?? 0) - module.span.start;
    found.push({ file, line: bytes.subarray(0, offset).toString().split('\n').length, what });
  };
  visit(module as unknown as Node, (node) => inspect(node, report));
  return found;
}

export interface Node {
  readonly type?: string;
  readonly span?: { readonly start: number };
  readonly [field: string]: unknown;
}
export type Report = (node: Node, what: string) => void;
export type Inspect = (node: Node, report: Report) => void;

function visit(value: unknown, look: (node: Node) => void): void {
  if (Array.isArray(value)) {
    for (const each of value) visit(each, look);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const node = value as Node;
  if (isTypeOnly(node)) return;
  look(node);
  for (const [field, child] of Object.entries(node)) {
    if (field === 'span' || isName(node, field)) continue;
    visit(child, look);
  }
}

/** Types do not reach the world; only values do. Casts and the like contain a value. */
function isTypeOnly(node: Node): boolean {
  if (node.type?.startsWith('Ts') !== true) return false;
  return !('expression' in node) || node.type === 'TsExpressionWithTypeArguments';
}

/** A name in this place is a property's or an export's, not a variable's. */
function isName(node: Node, field: string): boolean {
  const child = node[field] as Node | undefined;
  if (child?.type !== 'Identifier') return false;
  if (node.type === 'MemberExpression') return field === 'property';
  return field === 'key' || field === 'typeAnnotation' || field === 'imported' || field === 'exported';
}

function inspect(node: Node, report: Report): void {
  if (node.async === true || node.type === 'AwaitExpression' || node.isAwait === true)
    report(node, 'async: return effects');
  switch (node.type) {
    case 'Identifier': {
      const hint = forbiddenGlobals.get(String(node.value));
      if (hint !== undefined) report(node, `${String(node.value)}: ${hint}`);
      return;
    }
    case 'MemberExpression': {
      const name = String((node.property as Node | undefined)?.value ?? '');
      const ofMath = (node.object as Node | undefined)?.value === 'Math' && name === 'random';
      if (ofMath || ambientRandomness.test(name)) report(node, `${name}: take random from the context`);
      return;
    }
    case 'ImportDeclaration':
      if (node.typeOnly !== true) inspectImport(node, report);
      return;
  }
}

function inspectImport(node: Node, report: Report): void {
  const from = String((node.source as Node | undefined)?.value);
  const isWorldlyBuiltin = from.startsWith('node:') && !pureBuiltins.has(from);
  if (isWorldlyBuiltin || forbiddenPackages.test(from)) report(node, `import of ${from}`);
  for (const specifier of (node.specifiers ?? []) as Node[]) {
    if (specifier.isTypeOnly === true) continue;
    const imported = (specifier.imported ?? specifier.local) as Node | undefined;
    const name = String(imported?.value);
    if (ambientRandomness.test(name)) report(specifier, `${name}: take random from the context`);
  }
}

/** swc gives a module the position of its first token, behind the comments at the head. */
export function firstTokenOffset(source: string): number {
  const head = /^(?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/|#![^\n]*\n)*/.exec(source)?.[0] ?? '';
  return Buffer.byteLength(head);
}

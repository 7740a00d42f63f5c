/**
 * Small faults to plant into sources: a guard that never or always holds, another comparison or operator, the other boolean, an
 * omitted statement. It writes all mutants of a sample into the source at once, each behind a switch, so that one set of
 * compiled modules serves every run.
 */
import { parseSync } from '@swc/core';
import { firstTokenOffset } from '../check/purity.ts';

export interface Mutant {
  /** From 1. */
  readonly id: number;
  /** Below the root. */
  readonly file: string;
  readonly line: number;
  readonly what: string;
  /** The bytes of the file that it replaces: `start` up to but not including `end`. */
  readonly start: number;
  readonly end: number;
  /** The replacement while the switch is on. */
  readonly text: string;
  /** An expression, or a whole statement. */
  readonly kind: 'expression' | 'statement';
}

export type Found = Omit<Mutant, 'id'>;

interface Node {
  readonly type?: string;
  readonly span?: { readonly start: number; readonly end: number };
  readonly [field: string]: unknown;
}

const turned: Readonly<Record<string, string>> = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>' },
  ...{ '===': '!==', '!==': '===' },
  ...{ '&&': '||', '||': '&&', '-': '+' },
};

/** Every mutant of a file, in the order of its lines. */
export function mutantsOf(file: string, source: string): Found[] {
  const module = parseSync(source, { syntax: 'typescript', target: 'es2022' });
  const bytes = Buffer.from(source);
  const shift = firstTokenOffset(source) - module.span.start;
  const text = (start: number, end: number) => bytes.subarray(start, end).toString();
  const place = (node: Node) => ({ start: node.span!.start + shift, end: node.span!.end + shift });
  const found: Found[] = [];
  const add = (node: Node, kind: Found['kind'], what: string, changed: string) => {
    const { start, end } = place(node);
    found.push({ file, line: text(0, start).split('\n').length, what, start, end, text: changed, kind });
  };
  visit(module as unknown as Node, (node) => {
    if (node.type === 'IfStatement') {
      add(node.test as Node, 'expression', 'guard never holds', 'false');
      add(node.test as Node, 'expression', 'guard always holds', 'true');
    }
    if (node.type === 'BooleanLiteral') add(node, 'expression', `${node.value} is ${!node.value}`, String(!node.value));
    if (node.type === 'BinaryExpression' && turned[String(node.operator)] !== undefined) {
      const [left, right] = [place(node.left as Node), place(node.right as Node)];
      const other = turned[String(node.operator)]!;
      const changed = `${text(left.start, left.end)} ${other} ${text(right.start, right.end)}`;
      add(node, 'expression', `${String(node.operator)} is ${other}`, changed);
    }
    if (node.type === 'ExpressionStatement' && isEffect(node.expression as Node)) {
      add(node, 'statement', 'statement left out', '');
    }
  });
  return found;
}

function isEffect({ type }: Node): boolean {
  return type === 'CallExpression' || type === 'AssignmentExpression' || type === 'UpdateExpression';
}

function visit(value: unknown, look: (node: Node) => void): void {
  if (Array.isArray(value)) for (const each of value) visit(each, look);
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return;
  const node = value as Node;
  // Types do not run; of these nodes, some contain an expression.
  if (node.type?.startsWith('Ts') && node.expression === undefined) return;
  look(node);
  for (const [field, child] of Object.entries(node)) if (field !== 'span') visit(child, look);
}

/** `count` of them, drawn by `draw` (0 up to but not including 1). */
export function sample<T>(all: readonly T[], count: number, draw: () => number): T[] {
  const left = [...all];
  const drawn: T[] = [];
  while (drawn.length < count && left.length > 0) drawn.push(...left.splice(Math.floor(draw() * left.length), 1));
  return drawn;
}

/** The source with every mutant in it, each behind its switch. */
export function switched(source: string, mutants: readonly Mutant[]): string {
  const bytes = Buffer.from(source);
  const outerFirst = [...mutants].sort((a, b) => a.start - b.start || b.end - a.end);
  return withSwitches(bytes, 0, bytes.length, outerFirst);
}

/** The bytes from `start` to `end`, with these mutants. Each replaces a node of a tree: two are nested or apart. */
function withSwitches(bytes: Buffer, start: number, end: number, mutants: readonly Mutant[]): string {
  const pieces: string[] = [];
  let done = start;
  for (let index = 0; index < mutants.length; ) {
    const outer = mutants[index]!;
    const inside = mutants.slice(index + 1).filter((other) => other.start < outer.end);
    const original = withSwitches(bytes, outer.start, outer.end, inside);
    const on = `globalThis.mutantIsOn(${outer.id})`;
    const written =
      outer.kind === 'statement' ? `{if (!${on}) {${original}}}` : `(${on} ? (${outer.text}) : (${original}))`;
    pieces.push(bytes.subarray(done, outer.start).toString(), written);
    done = outer.end;
    index += 1 + inside.length;
  }
  return [...pieces, bytes.subarray(done, end).toString()].join('');
}

/** Wilson's interval for a rate, of which `hits` of `count` samples are known: 95 %. */
export function confidence(hits: number, count: number): readonly [number, number] {
  const z = 1.96;
  const rate = hits / count;
  const middle = rate + z ** 2 / (2 * count);
  const half = z * Math.sqrt((rate * (1 - rate)) / count + z ** 2 / (4 * count ** 2));
  const whole = 1 + z ** 2 / count;
  return [(middle - half) / whole, (middle + half) / whole];
}

/**
 * A rule's reads of state that other transactions change concurrently: counts of intents, the available balance, and the score
 * derived from them. A decision stays valid while no read value has changed so much that a rule's result could differ.
 *
 * Where a rule only compares a field with whole numbers (`history.intents_last_hour >= 3`), the field may move between the
 * numbers where a comparison changes, its *breaks*; for any other use, the field must not change.
 */
import type { ASTNode } from '@marcbachmann/cel-js';

export const stateFields = [
  'tx.available',
  'history.intents_last_hour',
  'history.intents_last_day',
  'history.intents_to_destination',
  'risk.score',
  'risk.level',
  'risk.action',
] as const;
export type StateField = (typeof stateFields)[number];

/** Breaks: numbers at which the result of a comparison changes. */
export type FieldRead = 'exactly' | readonly bigint[];
export type StateReads = ReadonlyMap<StateField, FieldRead>;

const ofVariable: Readonly<Record<string, readonly StateField[]>> = {
  tx: ['tx.available'],
  history: ['history.intents_last_hour', 'history.intents_last_day', 'history.intents_to_destination'],
  risk: ['risk.score', 'risk.level', 'risk.action'],
};

export function readsOf(root: ASTNode): StateReads {
  const reads = new Map<StateField, FieldRead>();
  collect(root, reads);
  return reads;
}

export function mergeReads(...all: readonly StateReads[]): StateReads {
  const merged = new Map<StateField, FieldRead>();
  for (const reads of all) for (const [field, read] of reads) add(merged, field, read);
  return merged;
}

/** From the first to the last value, inclusive, between which a reading holds; `max` undefined: no end. */
export function rangeAround(
  value: bigint,
  read: FieldRead,
): { readonly min: bigint; readonly max: bigint | undefined } {
  if (read === 'exactly') return { min: value, max: value };
  let min = 0n;
  let max: bigint | undefined;
  for (const point of read) {
    if (point <= value && point > min) min = point;
    if (point > value && (max === undefined || point - 1n < max)) max = point - 1n;
  }
  return { min, max };
}

function collect(node: ASTNode, reads: Map<StateField, FieldRead>): void {
  const compared = comparisonOf(node);
  if (compared !== undefined) {
    add(reads, compared.field, compared.breaks);
    return;
  }
  const field = fieldOf(node);
  if (field !== undefined) {
    if (isStateField(field)) add(reads, field, 'exactly');
    return;
  }
  if (node.op === 'id') {
    for (const whole of ofVariable[node.args] ?? []) add(reads, whole, 'exactly');
    return;
  }
  for (const part of partsOf(node)) collect(part, reads);
}

/** A state field that is compared with a whole number, from either side. */
function comparisonOf(node: ASTNode): { readonly field: StateField; readonly breaks: readonly bigint[] } | undefined {
  if (!isComparison(node.op)) return undefined;
  const [left, right] = node.args as [ASTNode, ASTNode];
  const [fieldSide, valueSide, operator] =
    right.op === 'value' ? [left, right, node.op] : [right, left, mirrored[node.op]];
  const field = fieldOf(fieldSide);
  if (field === undefined || !isStateField(field)) return undefined;
  if (valueSide.op !== 'value' || typeof valueSide.args !== 'bigint') return undefined;
  return { field, breaks: breaksOf(operator, valueSide.args) };
}

type Comparison = '<' | '<=' | '>' | '>=' | '==' | '!=';
const mirrored: Readonly<Record<Comparison, Comparison>> = {
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  '==': '==',
  '!=': '!=',
};

function isComparison(op: string): op is Comparison {
  return Object.hasOwn(mirrored, op);
}

function breaksOf(operator: Comparison, number: bigint): readonly bigint[] {
  switch (operator) {
    case '<':
    case '>=':
      return [number];
    case '<=':
    case '>':
      return [number + 1n];
    default:
      return [number, number + 1n];
  }
}

/** "history.intents_last_hour" of such an expression. */
export function fieldOf(node: ASTNode): string | undefined {
  if (node.op !== '.') return undefined;
  const [receiver, name] = node.args;
  return receiver.op === 'id' ? `${receiver.args}.${name}` : undefined;
}

function isStateField(field: string): field is StateField {
  return (stateFields as readonly string[]).includes(field);
}

function add(reads: Map<StateField, FieldRead>, field: StateField, read: FieldRead): void {
  const known = reads.get(field);
  const exactly = known === 'exactly' || read === 'exactly';
  reads.set(field, exactly ? 'exactly' : [...new Set([...((known as readonly bigint[]) ?? []), ...read])]);
}

/** Whatever the operation is, its operands are nodes, or lists of nodes, among its arguments. */
export function partsOf(node: ASTNode): readonly ASTNode[] {
  const args: unknown = node.args;
  return (Array.isArray(args) ? args : [args]).flat().filter(isNode);
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

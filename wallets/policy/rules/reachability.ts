/**
 * Finds rules that can never have an effect. Rules have no order: every rule is evaluated, and deny beats require_approval
 * beats allow. So a rule is without effect when its condition never holds, or when a stronger rule holds whenever it does.
 *
 * Whether one expression follows from another cannot be decided in general. The results of this module are certain: constants;
 * equal texts (apart from spaces and brackets); a condition that adds to another's with `&&`, or is one of its `||` branches;
 * and comparisons of the same term with whole numbers (`risk.score >= 80` follows from nothing weaker, but makes `risk.score >=
 * 70` true). Other rules may still be without effect.
 */
import { type ASTNode, serialize } from '@marcbachmann/cel-js';
import type { Rule } from './rule.ts';

/** A term that must hold: its text, and its parts when it compares with a whole number. */
interface Term {
  readonly text: string;
  readonly comparison: Comparison | undefined;
}

interface Comparison {
  readonly subject: string;
  readonly operator: '<' | '<=' | '>' | '>=' | '==';
  readonly number: bigint;
}

/** One way for a rule to match: all of these terms hold. */
type Way = readonly Term[];

/** Ways that are looked at; a rule with more is compared by its whole text alone. */
const waysMax = 64;

/** True when `weaker` certainly matches every transaction that `stronger` matches. False says nothing. */
export function follows(stronger: Rule, weaker: Rule): boolean {
  if (weaker.constant === true || stronger.constant === false) return true;
  if (stronger.normalized === weaker.normalized) return true;
  const ways = waysOf(weaker.root);
  return waysOf(stronger.root).every((way) => ways.some((other) => other.every((term) => holdsIn(way, term))));
}

/** `||` of `&&` of terms. */
function waysOf(node: ASTNode): readonly Way[] {
  if (node.op === '||') {
    const ways = [...waysOf(node.args[0]), ...waysOf(node.args[1])];
    return ways.length > waysMax ? [[termOf(node)]] : ways;
  }
  if (node.op === '&&') {
    const [left, right] = [waysOf(node.args[0]), waysOf(node.args[1])];
    if (left.length * right.length > waysMax) return [[termOf(node)]];
    return left.flatMap((way) => right.map((other) => [...way, ...other]));
  }
  return [[termOf(node)]];
}

function termOf(node: ASTNode): Term {
  return { text: serialize(node), comparison: comparisonOf(node) };
}

const mirrored = { '<': '>', '<=': '>=', '>': '<', '>=': '<=', '==': '==' } as const;

function comparisonOf(node: ASTNode): Comparison | undefined {
  if (node.op !== '<' && node.op !== '<=' && node.op !== '>' && node.op !== '>=' && node.op !== '==') return undefined;
  const [left, right] = node.args;
  if (right.op === 'value' && typeof right.args === 'bigint') {
    return { subject: serialize(left), operator: node.op, number: right.args };
  }
  if (left.op === 'value' && typeof left.args === 'bigint') {
    return { subject: serialize(right), operator: mirrored[node.op], number: left.args };
  }
  return undefined;
}

function holdsIn(way: Way, term: Term): boolean {
  return way.some(
    ({ text, comparison }) =>
      text === term.text ||
      (comparison !== undefined && term.comparison !== undefined && comparisonFollows(comparison, term.comparison)),
  );
}

/** Every whole number that satisfies `given` satisfies `asked`: both as the range that they leave open. */
function comparisonFollows(given: Comparison, asked: Comparison): boolean {
  if (given.subject !== asked.subject) return false;
  const [inner, outer] = [rangeOf(given), rangeOf(asked)];
  const above = outer.min === undefined || (inner.min !== undefined && inner.min >= outer.min);
  const below = outer.max === undefined || (inner.max !== undefined && inner.max <= outer.max);
  return above && below;
}

function rangeOf({ operator, number }: Comparison): { readonly min?: bigint; readonly max?: bigint } {
  switch (operator) {
    case '<':
      return { max: number - 1n };
    case '<=':
      return { max: number };
    case '>':
      return { min: number + 1n };
    case '>=':
      return { min: number };
    case '==':
      return { min: number, max: number };
  }
}

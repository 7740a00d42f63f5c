/**
 * The permitted subset of CEL, and a bound on the cost of an evaluation. Rules run inside the gateway, between other tenants'
 * requests. So writing a rule fails, with the place in the text, if its cost grows faster than its length (nested loops, lists
 * made of lists, bound variables that double, backtracking patterns).
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { typedDataLimits } from '../../networks/typed-data.ts';
import { type RuleScope, ruleLimits, variables } from './cel.ts';
import { patternSteps } from './pattern.ts';
import { fieldOf, partsOf } from './state-reads.ts';

/** A part of a rule that is refused. `start` is an offset into the text. */
export class RefusedPart extends Error {
  readonly start: number;
  constructor(message: string, start: number) {
    super(message);
    this.start = start;
  }
}

/** Functions and methods of the language, beside the operators. */
export const ruleFunctions = ['units', 'has', 'size', 'int', 'string', 'timestamp', 'duration'] as const;
export const ruleMethods = [
  'size',
  'contains',
  'startsWith',
  'endsWith',
  'lowerAscii',
  'upperAscii',
  'trim',
  'matches',
  'exists',
  'all',
  'exists_one',
  'getFullYear',
  'getMonth',
  'getDate',
  'getDayOfMonth',
  'getDayOfWeek',
  'getDayOfYear',
  'getHours',
  'getMinutes',
  'getSeconds',
  'getMilliseconds',
] as const;

const functions: ReadonlySet<string> = new Set(ruleFunctions);
const methods: ReadonlySet<string> = new Set(ruleMethods);
const loops: ReadonlySet<string> = new Set(['exists', 'all', 'exists_one']);
const variableNames: ReadonlySet<string> = new Set(variables.map(({ name }) => name));
const searches: ReadonlySet<string> = new Set(['contains', 'matches']);

/** CEL's `int` has 64 bits. */
const intMax = 2n ** 63n - 1n;
/** Time zones are looked up in ICU's tables. */
const timezoneCost = 200;
/** Elements of `tx.metadata`, and of `tx.typed_data`, at most. */
const metadataKeysMax = 50;
const typedDataKeysMax = typedDataLimits.values;
/** Making a matcher of a pattern, and its steps (some ten nanoseconds each) as steps of an evaluation. */
const patternCost = 300;
const patternStepsPerCost = 20;
/** Looking for one text in another of such lengths, at worst. */
const searchCost = 20;

/** Steps of an evaluation at most. Throws RefusedPart. */
export function costOf(root: ASTNode, scope: RuleScope): number {
  const cost = nodeCost(root, false);
  if (cost > ruleLimits.costMax[scope])
    throw new RefusedPart('the expression is too expensive to evaluate', root.start);
  return cost;
}

function nodeCost(node: ASTNode, insideLoop: boolean): number {
  const sum = (nodes: readonly ASTNode[]): number =>
    nodes.reduce((total, part) => total + nodeCost(part, insideLoop), 1);
  switch (node.op) {
    case 'value':
      if (node.args instanceof Uint8Array) throw new RefusedPart('bytes are not part of the rule language', node.start);
      refuseLongInteger(node, node.args, intMax);
      return 1;
    case 'id':
      return 1;
    case '.':
      return 1 + nodeCost(node.args[0], insideLoop);
    case 'list':
      return sum(node.args);
    case '-_':
      if (node.args.op !== 'value') return sum([node.args]);
      refuseLongInteger(node.args, node.args.args, intMax + 1n);
      return 2;
    case '!_':
      return sum([node.args]);
    case 'call':
      return callCost(node, node.args[0], node.args[1], insideLoop);
    case 'rcall':
      return methodCost(node, node.args[0], node.args[1], node.args[2], insideLoop);
    case '!=':
    case '==':
    case 'in':
      refuseSpelling(node, node.args);
      return binaryCost(node.args, insideLoop);
    case '[]':
    case '?:':
    case '||':
    case '&&':
      return sum(node.args);
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return binaryCost(node.args, insideLoop);
    default:
      throw new RefusedPart(`"${node.op}" is not part of the rule language`, node.start);
  }
}

/** Amounts have no limit, so that a whole number beside one may have any length. */
function binaryCost(operands: readonly ASTNode[], insideLoop: boolean): number {
  const besideAmount = operands.some((operand) => operand.op !== 'value' && typeOf(operand) === 'Units');
  return operands.reduce((total, operand) => {
    const isNumber = operand.op === 'value' && typeof operand.args === 'bigint';
    return total + (besideAmount && isNumber ? 1 : nodeCost(operand, insideLoop));
  }, 1);
}

/** The type that the library found when it checked the expression. */
function typeOf(node: ASTNode): string {
  return String((node as { readonly checkedType?: unknown }).checkedType);
}

/** The library calculates in 64 bits, but reads and compares literals of any length. `max` of its absolute value. */
function refuseLongInteger(node: ASTNode, value: unknown, max: bigint): void {
  if (typeof value !== 'bigint' || value <= max) return;
  throw new RefusedPart(
    'an integer has at most 64 bits, unless it is compared with an amount such as units("1.5")',
    node.start,
  );
}

function callCost(node: ASTNode, name: string, args: readonly ASTNode[], insideLoop: boolean): number {
  if (!functions.has(name)) throw new RefusedPart(`function ${name}() is not part of the rule language`, node.start);
  if (name === 'has') args.forEach(refuseUnknownField);
  return args.reduce((total, part) => total + nodeCost(part, insideLoop), 1);
}

/** The library does not check what stands in has(): with a misspelled field a rule that denies would never hold. */
function refuseUnknownField(node: ASTNode): void {
  if (node.op !== '.') return;
  const [owner, field] = node.args;
  const variable = owner.op === 'id' ? variables.find(({ name }) => name === owner.args) : undefined;
  if (!variable?.fields.some(({ name }) => name === field) && !isMap(owner)) {
    throw new RefusedPart(`No such key: ${field}`, node.start);
  }
}

/** `tx.metadata`, `tx.typed_data` or `tx.call`, which may have any key. */
function isMap(node: ASTNode): boolean {
  return fieldOf(node) === 'tx.metadata' || isTypedData(node);
}

function isTypedData(node: ASTNode): boolean {
  return ['tx.typed_data', 'tx.call'].includes(fieldOf(node) ?? '');
}

function mentionsTypedData(node: ASTNode): boolean {
  return isTypedData(node) || partsOf(node).some(mentionsTypedData);
}

function methodCost(
  node: ASTNode,
  name: string,
  receiver: ASTNode,
  args: readonly ASTNode[],
  insideLoop: boolean,
): number {
  if (!methods.has(name)) throw new RefusedPart(`method ${name}() is not part of the rule language`, node.start);
  const receiverCost = nodeCost(receiver, insideLoop);
  if (loops.has(name)) {
    if (insideLoop) throw new RefusedPart(`${name}() inside another loop is not part of the rule language`, node.start);
    const [loopVariable] = args;
    if (loopVariable?.op === 'id' && variableNames.has(loopVariable.args)) {
      throw new RefusedPart(`${loopVariable.args} is a variable already`, loopVariable.start);
    }
    const body = args.reduce((total, part) => total + nodeCost(part, true), 0);
    const elements = mentionsTypedData(receiver) ? typedDataKeysMax : metadataKeysMax;
    return receiverCost + body * Math.max(elements, receiverCost);
  }
  if (mentionsTypedData(receiver)) args.forEach(refuseUpperCase);
  if (isAddressText(receiver)) {
    for (const arg of args) {
      if (arg.op !== 'value' || typeof arg.args !== 'string' || !/^\^?0x.*[A-F]/.test(arg.args)) continue;
      throw new RefusedPart('string() of an EVM address is in lower case', arg.start);
    }
  }
  if (searches.has(name) && !isField(receiver)) {
    throw new RefusedPart(`${name}() is for fields of variables only`, receiver.start);
  }
  const own = name === 'matches' ? matchCost(args[0]!, node) : ownCost(name, args.length);
  return args.reduce((total, part) => total + nodeCost(part, insideLoop), receiverCost + own);
}

function ownCost(name: string, argCount: number): number {
  if (name === 'contains') return searchCost;
  return name.startsWith('get') && argCount > 0 ? timezoneCost : 1;
}

function matchCost(pattern: ASTNode, node: ASTNode): number {
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') {
    throw new RefusedPart('matches() takes its pattern in quotes', pattern?.start ?? node.start);
  }
  try {
    new RegExp(pattern.args);
  } catch {
    throw new RefusedPart('not a regular expression', pattern.start);
  }
  const steps = patternSteps(pattern.args);
  if (typeof steps === 'string') throw new RefusedPart(steps, pattern.start);
  return patternCost + Math.ceil(steps / patternStepsPerCost);
}

/** The text of an address is in one spelling, which another spelling of the address never equals. */
function refuseSpelling(node: ASTNode, operands: readonly ASTNode[]): void {
  if (operands.some(mentionsTypedData)) operands.forEach(refuseUpperCase);
  if (!operands.some(isAddressText)) return;
  throw new RefusedPart('compare the address itself without string(); its spelling does not matter', node.start);
}

/** Addresses and bytes of typed data and calls are in lower case: another spelling would never be equal. */
function refuseUpperCase(node: ASTNode): void {
  if (node.op === 'list') node.args.forEach(refuseUpperCase);
  const isUpper = node.op === 'value' && typeof node.args === 'string' && /^0x[0-9a-f]*[A-F]/.test(node.args);
  if (isUpper) throw new RefusedPart('hex of typed data and calls is in lower case', node.start);
}

/** `string(tx.to)` or `string(tx.from)`. */
function isAddressText(node: ASTNode): boolean {
  if (node.op !== 'call' || node.args[0] !== 'string') return false;
  const [given] = node.args[1];
  return (
    given?.op === '.' && given.args[0].op === 'id' && given.args[0].args === 'tx' && /^(to|from)$/.test(given.args[1])
  );
}

/** Fields of variables are bounded in length; what expressions and loops make of them is not. */
function isField(node: ASTNode): boolean {
  if (node.op === 'id') return variableNames.has(node.args);
  if (node.op === '.' || node.op === '[]') return isField(node.args[0]);
  if (node.op === 'call') return node.args[0] === 'string' && node.args[1].every(isField);
  return (
    node.op === 'rcall' && (node.args[0] === 'lowerAscii' || node.args[0] === 'upperAscii') && isField(node.args[1])
  );
}

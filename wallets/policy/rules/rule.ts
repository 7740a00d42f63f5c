/**
 * A rule: one CEL expression that is true or false for a transaction. Compiling it finds every fault of its text. Evaluation is
 * total: a failure (a missing metadata key, a division by zero) is a value, and the caller treats it in the safe way.
 */
import { type ASTNode, serialize } from '@marcbachmann/cel-js';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { makeEnvironment, type RuleInput, type RuleScope, ruleLimits } from './cel.ts';
import { costOf, RefusedPart } from './cost.ts';
import { kindsOf } from './named-kinds.ts';
import { readsOf, type StateReads } from './state-reads.ts';

export interface RuleFailure {
  /** Why it could not be evaluated; of the rule's text and the transaction, nothing else. */
  readonly failure: string;
}

export interface Rule {
  readonly text: string;
  /** The same for two texts that differ in spaces and brackets only. */
  readonly normalized: string;
  /** Its result when that is the same for every transaction; undefined otherwise. */
  readonly constant: boolean | undefined;
  /** The parsed expression, for ./reachability.ts. Not to be changed. */
  readonly root: ASTNode;
  /** The kinds that it names: those that it compares `tx.kind` with, by `==` or in a list. */
  readonly kinds: ReadonlySet<string>;
  /** Its reads of state that other transactions change. */
  readonly reads: StateReads;
  /** Steps that an evaluation can take at most. */
  readonly cost: number;
  evaluate(input: RuleInput): boolean | RuleFailure;
}

const environments = { policy: makeEnvironment('policy'), risk: makeEnvironment('risk') } as const;

/** Evaluates to a failure for everything that depends on a variable. */
const nothing = {} as RuleInput;

/**
 * Throws ServiceError 400 (`invalid_expression`) that names `field`, e.g. "rules[2].when", and says what is wrong, in
 * which line and column.
 */
export function compileRule(text: string, scope: RuleScope, field: string): Rule {
  if (text.length > ruleLimits.charsMax) {
    throw invalid(field, `the expression is longer than ${ruleLimits.charsMax} characters`);
  }
  try {
    const program = environments[scope].parse(text);
    const checked = program.check();
    if (!checked.valid) throw checked.error;
    const cost = costOf(program.ast, scope);
    if (checked.type !== 'bool') {
      throw new RefusedPart(`the expression must be true or false, but it is of type ${checked.type}`, 0);
    }
    const evaluate = (input: RuleInput): boolean | RuleFailure => {
      try {
        const value: unknown = program(input as object);
        return typeof value === 'boolean' ? value : { failure: 'neither true nor false' };
      } catch (error) {
        return { failure: summaryOf(error) };
      }
    };
    const always = evaluate(nothing);
    return {
      text,
      normalized: serialize(program.ast),
      constant: typeof always === 'boolean' ? always : undefined,
      root: program.ast,
      kinds: kindsOf(program.ast),
      reads: readsOf(program.ast),
      cost,
      evaluate,
    };
  } catch (error) {
    if (error instanceof RangeError) throw invalid(field, 'the expression is nested too deeply');
    throw invalid(field, `${summaryOf(error)}${placeOf(error, text)}`);
  }
}

/**
 * A stored rule. If the language no longer accepts it, it evaluates to a failure for every transaction and never throws.
 */
export function compileStored(text: string, scope: RuleScope): Rule {
  try {
    return compileRule(text, scope, 'when');
  } catch (error) {
    const failure = error instanceof ServiceError ? (error.details?.[0]?.message ?? error.message) : summaryOf(error);
    const never = environments[scope].parse('false').ast;
    return {
      text,
      normalized: text,
      constant: undefined,
      root: never,
      kinds: new Set(),
      reads: new Map(),
      cost: 1,
      evaluate: () => ({ failure }),
    };
  }
}

function invalid(field: string, message: string): ServiceError {
  return invalidFields([{ field, issue: 'invalid_expression', message }], 'the expression');
}

/** The library's errors carry a one-line summary beside a message with a drawing. */
function summaryOf(error: unknown): string {
  const { summary, message } = error as { readonly summary?: unknown; readonly message?: unknown };
  const text = typeof summary === 'string' ? summary : typeof message === 'string' ? message : 'not a valid expression';
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function placeOf(error: unknown, text: string): string {
  const { range, start } = error as { readonly range?: { readonly start: number }; readonly start?: number };
  const offset = range?.start ?? start;
  if (offset === undefined) return '';
  const before = text.slice(0, offset).split('\n');
  return ` (line ${before.length}, column ${before.at(-1)!.length + 1})`;
}

/**
 * Amounts and addresses as types of the rule language, with their operators. Amounts are whole numbers of any size, so
 * that nothing is rounded and nothing overflows; addresses are compared in one spelling.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { parseAmount } from '../../networks/amounts.ts';
import { addressKey } from './address-key.ts';

/** Whole smallest units of an asset. */
export class Units {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

export class AddressValue {
  readonly value: string;
  constructor(value: string) {
    this.value = value;
  }
}

/** Digits of a product of amounts, at most. */
const unitsMax = 10n ** 80n;

/** What the library hands to a macro: the parts that we use. */
interface MacroCall {
  readonly args: readonly { readonly op: string; readonly args: unknown }[];
}
interface MacroChecker {
  createError(code: string, message: string, node: unknown): Error;
  getType(name: string): unknown;
}
interface MacroContext {
  getValue(name: string): unknown;
}

export function addExactTypes(environment: Environment): void {
  environment.registerType('Units', Units).registerType('Address', AddressValue);
  addUnits(environment);
  addAddresses(environment);
}

function addUnits(environment: Environment): void {
  const compare: readonly (readonly [string, (a: bigint, b: bigint) => boolean])[] = [
    ['<', (a, b) => a < b],
    ['<=', (a, b) => a <= b],
    ['>', (a, b) => a > b],
    ['>=', (a, b) => a >= b],
  ];
  for (const [operator, holds] of compare) {
    environment.registerOperator(`Units ${operator} Units`, (a: Units, b: Units) => holds(a.value, b.value));
    environment.registerOperator(`Units ${operator} int`, (a: Units, b: bigint) => holds(a.value, b));
    environment.registerOperator(`int ${operator} Units`, (a: bigint, b: Units) => holds(a, b.value));
  }
  // The library makes != and the mirrored form of these.
  environment.registerOperator('Units == Units', (a: Units, b: Units) => a.value === b.value);
  environment.registerOperator('Units == int', (a: Units, b: bigint) => a.value === b);
  environment.registerOperator('Units + Units', (a: Units, b: Units) => bounded(a.value + b.value));
  environment.registerOperator('Units - Units', (a: Units, b: Units) => bounded(a.value - b.value));
  environment.registerOperator('Units * int', (a: Units, b: bigint) => bounded(a.value * b));
  environment.registerOperator('int * Units: Units', (a: bigint, b: Units) => bounded(a * b.value));
  environment.registerOperator('Units / int', (a: Units, b: bigint) => bounded(a.value / divisor(b)));
  environment.registerOperator('Units % int', (a: Units, b: bigint) => bounded(a.value % divisor(b)));
  environment.registerFunction('units(ast): Units', ({ args }: MacroCall) => ({
    args,
    async: false,
    typeCheck(checker: MacroChecker, { args: [amount] }: MacroCall) {
      // A literal, so that a mistake is found when the rule is written. 18 decimals: the most that an asset has.
      if (amount?.op !== 'value' || typeof amount.args !== 'string' || !isDecimal(amount.args)) {
        const message = 'units() takes a decimal number in quotes, e.g. units("1.5")';
        throw checker.createError('invalid_macro_argument', message, amount);
      }
      return checker.getType('Units');
    },
    evaluate(_evaluator: unknown, macro: MacroCall, context: MacroContext) {
      const transaction = context.getValue('tx') as { readonly decimals: number } | undefined;
      if (transaction === undefined) throw new Error('no transaction');
      return unitsOf(macro.args[0]!.args as string, transaction.decimals);
    },
  }));
}

function addAddresses(environment: Environment): void {
  const same = (address: AddressValue, text: string): boolean => address.value === addressKey(text);
  environment.registerOperator('Address == string', same);
  environment.registerOperator('Address == Address', (a: AddressValue, b: AddressValue) => a.value === b.value);
  environment.registerOperator('Address in list<string>', (address: AddressValue, list: readonly string[]) =>
    list.some((text) => same(address, text)),
  );
  environment.registerFunction('string(Address): string', (address: AddressValue) => address.value);
}

function isDecimal(text: string): boolean {
  return typeof parseAmount(text, 18) === 'bigint' || /^0(\.0{1,18})?$/.test(text);
}

function unitsOf(text: string, decimals: number): Units {
  if (/^0(\.0*)?$/.test(text)) return new Units(0n);
  const units = parseAmount(text, decimals);
  if (typeof units !== 'bigint') throw new Error(`${text} has more decimals than the asset`);
  return new Units(units);
}

function bounded(value: bigint): Units {
  if (value > unitsMax || value < -unitsMax) throw new Error('amount out of range');
  return new Units(value);
}

function divisor(value: bigint): bigint {
  if (value === 0n) throw new Error('division by zero');
  return value;
}

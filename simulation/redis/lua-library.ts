/** Lua's values and the part of its library that Redis scripts use, by the rules of Lua 5.1 as Redis embeds it. */

import { createHash } from 'node:crypto';

export class LuaError extends Error {
  override readonly name = 'LuaError';
}

export type LuaKey = string | number | boolean;

/** A table: a list from index 1, and fields. */
export class LuaTable {
  readonly items: unknown[];
  fields: Map<LuaKey, unknown> | undefined;

  constructor(items: unknown[] = []) {
    this.items = items;
    // A hole ends a list, like Lua's border for the tables of our scripts.
    while (this.items.length > 0 && this.items[this.items.length - 1] === undefined) this.items.pop();
  }

  get(key: LuaKey): unknown {
    if (typeof key === 'number' && key >= 1 && key <= this.items.length && Number.isInteger(key))
      return this.items[key - 1];
    return this.fields?.get(key);
  }

  set(key: LuaKey, value: unknown): void {
    const { items } = this;
    if (typeof key === 'number' && Number.isInteger(key) && key >= 1 && key <= items.length + 1) {
      if (value !== undefined) {
        items[key - 1] = value;
        return;
      }
      if (key === items.length) items.pop();
      else if (key < items.length) throw new LuaError('a hole in a list');
      return;
    }
    if (value === undefined) this.fields?.delete(key);
    else {
      this.fields ??= new Map();
      this.fields.set(key, value);
    }
  }
}

/** JSON's null: a value that is neither nil nor false. */
export const jsonNull = Object.freeze({ null: true });

function table(value: unknown, what: string): LuaTable {
  if (value instanceof LuaTable) return value;
  throw new LuaError(`attempt to ${what} a ${typeOf(value)} value`);
}

function typeOf(value: unknown): string {
  if (value === undefined) return 'nil';
  if (value instanceof LuaTable) return 'table';
  if (value === jsonNull) return 'userdata';
  return typeof value;
}

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return numberText(value);
  throw new LuaError(`a string is expected, not a ${typeOf(value)}`);
}

/** Formats as `%.14g`. */
export function numberText(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e14) return Object.is(value, -0) ? '-0' : String(value);
  return general(value, 14);
}

/** Formats as C's `%.<digits>g`. */
export function general(value: number, digits: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const exponent = Number(value.toExponential(digits - 1).split('e')[1]);
  if (exponent < -4 || exponent >= digits) {
    const [mantissa, power] = value.toExponential(digits - 1).split('e') as [string, string];
    const short = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa;
    return `${short}e${power.startsWith('-') ? '-' : '+'}${power.slice(1).padStart(2, '0')}`;
  }
  const fixed = value.toFixed(Math.max(0, digits - 1 - exponent));
  return fixed.includes('.') ? fixed.replace(/\.?0+$/, '') : fixed;
}

function tonumber(value: unknown, base?: unknown): number | undefined {
  if (base !== undefined) return inBase(text(value).trim().toLowerCase(), number(base));
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const trimmed = value.trim();
  if (!/^[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|0[xX][0-9a-fA-F]+)$/.test(trimmed)) return undefined;
  return Number(trimmed);
}

/** Digits only, as scripts use. */
function inBase(digits: string, base: number): number | undefined {
  const known = '0123456789abcdefghijklmnopqrstuvwxyz'.slice(0, base);
  if (digits === '' || [...digits].some((digit) => !known.includes(digit))) return undefined;
  return [...digits].reduce((sum, digit) => sum * base + known.indexOf(digit), 0);
}

function number(value: unknown): number {
  const found = tonumber(value);
  if (found === undefined) throw new LuaError(`attempt to perform arithmetic on a ${typeOf(value)} value`);
  return found;
}

function comparable(a: unknown, b: unknown): void {
  const kind = typeof a;
  if (kind === typeof b && (kind === 'number' || kind === 'string')) return;
  throw new LuaError(`attempt to compare ${typeOf(a)} with ${typeOf(b)}`);
}

/** Lua's patterns, as far as regular expressions can express them. */
const patterns = new Map<string, RegExp>();
const classes: Readonly<Record<string, string>> = {
  d: '0-9',
  a: 'A-Za-z',
  x: '0-9A-Fa-f',
  s: ' \\t-\\r',
  w: 'A-Za-z0-9',
  l: 'a-z',
  u: 'A-Z',
};

function regular(pattern: string): RegExp {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  let out = '';
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern[at]!;
    if (char === '^' && at === 0) out += '^';
    else if (char === '$' && at === pattern.length - 1) out += '$';
    else if (char === '%') {
      at += 1;
      const next = pattern[at]!;
      const inner = classes[next];
      const others = classes[next.toLowerCase()];
      if (inner !== undefined) out += `[${inner}]`;
      else if (!/[A-Za-z0-9]/.test(next)) out += `\\${next}`;
      else if (others !== undefined) out += `[^${others}]`;
      else throw new LuaError(`the pattern class %${next} is not known here`);
    } else if (char === '[') {
      const end = pattern.indexOf(']', at + 2);
      out += `[${pattern.slice(at + 1, end).replace(/%([a-z])/g, (_, name: string) => classes[name] ?? '')}]`;
      at = end;
    } else if (char === '-') out += '*?';
    else if ('.*+?()'.includes(char)) out += char;
    else out += char.replace(/[\\^$|{}[\]/]/g, '\\$&');
  }
  const made = new RegExp(out, 'gs');
  patterns.set(pattern, made);
  return made;
}

/** The captures of a match, or the whole of it. */
function captures(found: RegExpExecArray): string[] {
  return found.length > 1 ? found.slice(1) : [found[0]];
}

function match(subject: unknown, pattern: unknown): unknown[] {
  const expression = regular(text(pattern));
  expression.lastIndex = 0;
  const found = expression.exec(text(subject));
  return found === null ? [undefined] : captures(found);
}

function* gmatch(subject: unknown, pattern: unknown): Generator<string[]> {
  for (const found of text(subject).matchAll(new RegExp(regular(text(pattern)).source, 'gs'))) yield captures(found);
}

function gsub(subject: unknown, pattern: unknown, replacement: unknown): unknown[] {
  let count = 0;
  const with_ = text(replacement);
  if (with_.includes('%')) throw new LuaError('a replacement with captures is not known here');
  const made = text(subject).replace(regular(text(pattern)), () => {
    count += 1;
    return with_;
  });
  return [made, count];
}

function find(subject: unknown, pattern: unknown, from: unknown = 1, plain: unknown = false): unknown[] {
  const whole = text(subject);
  const start = number(from) - 1;
  if (isTrue(plain)) {
    const at = whole.indexOf(text(pattern), start);
    return at === -1 ? [undefined] : [at + 1, at + text(pattern).length];
  }
  const expression = new RegExp(regular(text(pattern)).source, 'gs');
  expression.lastIndex = start;
  const found = expression.exec(whole);
  return found === null ? [undefined] : [found.index + 1, found.index + found[0].length, ...found.slice(1)];
}

interface Placeholder {
  /** The text after it, up to the next one. */
  readonly after: string;
  readonly fill: string;
  readonly width: number;
  readonly precision: number;
  /** `%` takes no value. */
  readonly kind: string;
}

interface Format {
  readonly before: string;
  readonly places: readonly Placeholder[];
}

/** Read once: a script formats at each of its runs. */
const formats = new Map<string, Format>();

function formatOf(pattern: string): Format {
  const known = formats.get(pattern);
  if (known !== undefined) return known;
  const found = [...pattern.matchAll(/%(0?)(\d*)(?:\.(\d+))?([dsfgx%])/g)];
  const places = found.map(({ index, 0: whole, 1: zero, 2: width, 3: precision, 4: kind }, at) => ({
    after: pattern.slice(index + whole.length, found[at + 1]?.index),
    fill: zero === '0' ? '0' : ' ',
    width: Number(width || 0),
    precision: precision === undefined ? 6 : Number(precision),
    kind: kind!,
  }));
  const made = { before: pattern.slice(0, found[0]?.index), places };
  formats.set(pattern, made);
  return made;
}

function format(pattern: unknown, ...values: unknown[]): string {
  const { before, places } = formatOf(text(pattern));
  let made = before;
  let next = 0;
  for (const { after, fill, width, precision, kind } of places) {
    if (kind === '%') made += `%${after}`;
    else {
      made += formatted(values[next], kind, precision).padStart(width, fill) + after;
      next += 1;
    }
  }
  return made;
}

function formatted(value: unknown, kind: string, precision: number): string {
  if (kind === 's') return text(value);
  if (kind === 'x') return Math.trunc(number(value)).toString(16);
  if (kind === 'd') return String(Math.trunc(number(value)));
  return kind === 'f' ? fixed(number(value), precision) : general(number(value), precision);
}

/** Beyond 1e21 JavaScript's toFixed writes an exponent. */
function fixed(value: number, digits: number): string {
  return Math.abs(value) < 1e21 ? value.toFixed(digits) : BigInt(value).toString();
}

function isTrue(value: unknown): boolean {
  return value !== undefined && value !== false;
}

function sub(subject: unknown, from: unknown, to: unknown = -1): string {
  const whole = text(subject);
  let [first, last] = [number(from), number(to)];
  if (first < 0) first = Math.max(1, whole.length + first + 1);
  else if (first === 0) first = 1;
  if (last < 0) last = whole.length + last + 1;
  return whole.slice(first - 1, Math.max(first - 1, last));
}

/** UTF-8 as one character a byte; a text of ASCII is its own. */
export function toBytes(plain: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: every ASCII character is meant.
  return /^[\x00-\x7f]*$/.test(plain) ? plain : Buffer.from(plain, 'utf8').toString('latin1');
}

export function fromBytes(bytes: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: every ASCII character is meant.
  return /^[\x00-\x7f]*$/.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8');
}

function fromJson(value: unknown): unknown {
  if (value === null) return jsonNull;
  if (typeof value === 'string') return /[\u0100-\uffff]/.test(value) ? toBytes(value) : value;
  if (Array.isArray(value)) return new LuaTable(value.map(fromJson));
  if (typeof value !== 'object') return value;
  const made = new LuaTable();
  for (const [key, each] of Object.entries(value)) made.set(key, fromJson(each));
  return made;
}

function toJson(value: unknown): unknown {
  if (value === jsonNull || value === undefined) return null;
  if (!(value instanceof LuaTable)) return value;
  if (value.fields === undefined || value.fields.size === 0) {
    // Lua's JSON cannot tell an empty list from an empty object.
    return value.items.length === 0 ? {} : value.items.map(toJson);
  }
  return Object.fromEntries([...value.fields].map(([key, each]) => [String(key), toJson(each)]));
}

/** The functions for compiled scripts. */
export const library = {
  list: (items: readonly unknown[]) => new LuaTable([...items]),
  withFields: (made: LuaTable, fields: readonly (readonly [LuaKey, unknown])[]) => {
    for (const [key, value] of fields) made.set(key, value);
    return made;
  },
  get: (of: unknown, key: unknown) => table(of, 'index').get(key as LuaKey),
  set: (of: unknown, key: unknown, value: unknown) => table(of, 'index').set(key as LuaKey, value),
  length: (of: unknown) => (typeof of === 'string' ? of.length : table(of, 'get length of').items.length),
  isTrue,
  number,
  tonumber,
  tostring: (value: unknown) =>
    value === undefined ? 'nil' : typeof value === 'boolean' ? String(value) : text(value),
  type: typeOf,
  concat: (a: unknown, b: unknown) => text(a) + text(b),
  modulo: (a: unknown, b: unknown) => {
    const [left, right] = [number(a), number(b)];
    return left - Math.floor(left / right) * right;
  },
  lt: (a: unknown, b: unknown) => {
    comparable(a, b);
    return (a as number) < (b as number);
  },
  le: (a: unknown, b: unknown) => {
    comparable(a, b);
    return (a as number) <= (b as number);
  },
  unpack: (of: unknown) => table(of, 'unpack').items,
  *ipairs(of: unknown): Generator<readonly [number, unknown]> {
    const { items } = table(of, 'iterate over');
    for (let at = 0; at < items.length && items[at] !== undefined; at += 1) yield [at + 1, items[at]];
  },
  gmatch,
  match,
  gsub,
  find,
  format,
  sub,
  rep: (what: unknown, times: unknown) => text(what).repeat(Math.max(0, number(times))),
  concatTable: (of: unknown, separator: unknown = '') => table(of, 'concatenate').items.map(text).join(text(separator)),
  insert: (of: unknown, ...rest: unknown[]) => {
    const { items } = table(of, 'insert into');
    if (rest.length === 1) items.push(rest[0]);
    else items.splice(number(rest[0]) - 1, 0, rest[1]);
  },
  remove: (of: unknown, at?: unknown) => {
    const { items } = table(of, 'remove from');
    return at === undefined ? items.pop() : items.splice(number(at) - 1, 1)[0];
  },
  max: (...values: unknown[]) => Math.max(...values.map(number)),
  min: (...values: unknown[]) => Math.min(...values.map(number)),
  floor: (value: unknown) => Math.floor(number(value)),
  decode: (json: unknown) => fromJson(JSON.parse(text(json))),
  encode: (value: unknown) => JSON.stringify(toJson(value)),
  error: (message: unknown): never => {
    throw new LuaError(text(message));
  },
  pcall: (action: () => unknown): unknown[] => {
    try {
      return [true, action()];
    } catch (error) {
      return [false, error instanceof Error ? error.message : String(error)];
    }
  },
  pcallMany: (action: () => readonly unknown[]): unknown[] => {
    const [works, results] = library.pcall(action);
    return works === true ? [true, ...(results as readonly unknown[])] : [works, results];
  },
  sha1: (value: unknown) =>
    createHash('sha1')
      .update(Buffer.from(text(value), 'latin1'))
      .digest('hex'),
  statusReply: (message: unknown) => library.withFields(new LuaTable(), [['ok', text(message)]]),
  errorReply: (message: unknown) => library.withFields(new LuaTable(), [['err', text(message)]]),
};

export type LuaLibrary = typeof library;

/**
 * Redis scripts: Lua in `.lua` files, called with named keys and named arguments.
 *
 * A script begins with a comment that describes its effect and result. Directives follow, one a line:
 *
 *   -- @include core/redis/append-event.lua       puts another file before this one, once
 *   -- @shape event = id, type, atMs         a table of arguments; scripts that include this file may use it
 *   -- @shape named = name, ...event         with the fields of another shape
 *   -- @keys sessionKey, guardKey?
 *   -- @args fence, change: json, session: session, event: event?
 *   -- @args fence, events: event[]          a list of tables, which stands last
 *
 * From `@keys` and `@args` the loader generates the script's first lines: each name becomes a local variable, bound to its
 * place in KEYS or ARGV. So no script contains a literal position, and a name costs Redis nothing. A shape becomes a
 * table, `json` is decoded. A key with `?` is optional: then it is nil. Arguments with `?` come last and may be left
 * out likewise. All keys of a call lie in one slot; so do those that a script builds from a key or a prefix (slots.ts).
 *
 * In a Redis Cluster a call names one more key, which never exists. So Redis refuses the whole call while its slot is migrating
 * to another node: records that have not arrived yet would look absent to the script.
 *
 * Records and events, which Redis stores as JSON, are passed as text, also within a `json` argument: encoding by Lua would
 * change numbers and empty lists.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { absentKey } from './slots.ts';

export type LuaValue = string | number;
/** A shape's values by name. */
export type LuaFields = Readonly<Record<string, LuaValue>>;

export interface LuaCall {
  readonly keys: Readonly<Record<string, string | undefined>>;
  readonly args: object;
}

/** A script before it is loaded: `path` from the root of the package. */
export interface LuaScript<Call extends LuaCall, Reply> {
  readonly path: string;
  /** Only for types. */
  readonly call?: Call;
  readonly reply?: Reply;
}

export function luaScript<Call extends LuaCall, Reply>(path: string): LuaScript<Call, Reply> {
  return { path };
}

export type LuaCommand<Call extends LuaCall, Reply> = (keys: Call['keys'], args: Call['args']) => Promise<Reply>;

interface Argument {
  readonly name: string;
  readonly kind: 'text' | 'json' | 'shape' | 'list';
  /** Of a shape, or of each in a list of them. */
  readonly fields: readonly string[];
  readonly optional: boolean;
}

interface Read {
  readonly source: string;
  readonly keys: readonly { readonly name: string; readonly optional: boolean }[];
  readonly args: readonly Argument[];
}

/**
 * The script as a command of `redis`, which is sent by its hash, and with its text only if Redis does not know it.
 * Throws for a faulty file. A call throws when a key or an argument is missing. `replies`: texts of a reply are
 * strings, or Buffers where they are bytes.
 */
export function luaCommand<Call extends LuaCall, Reply>(
  redis: Redis,
  { path }: LuaScript<Call, Reply>,
  replies: 'texts' | 'buffers' = 'texts',
): LuaCommand<Call, Reply> {
  const { source, keys, args } = readScript(path);
  const isCluster = redis.isCluster === true;
  const name = commandName(path);
  redis.defineCommand(name, { numberOfKeys: keys.length + (isCluster ? 1 : 0), lua: source });
  const command = (redis as unknown as Record<string, (...words: readonly LuaValue[]) => Promise<Reply>>)[
    replies === 'texts' ? name : `${name}Buffer`
  ]!;
  return (keyValues, argValues) => {
    const words: LuaValue[] = [];
    for (const { name, optional } of keys) {
      const key = keyValues[name] ?? (optional ? words[0] : undefined);
      if (key === undefined) throw new Error(`${path} is called without the key ${name}`);
      words.push(key);
    }
    if (isCluster) words.push(absentKey(String(words[0])));
    pushArguments(words, path, args, argValues as Readonly<Record<string, unknown>>);
    return command.apply(redis, words);
  };
}

/** What traces and faults call a script, e.g. "store/commit.lua": users' scenarios name it, so it says no room. */
export function commandName(path: string): string {
  return path.replace(/^(core|wallets)\//, '');
}

/** Runs for every write: plain loops, and no allocation except the text of `json`. */
function pushArguments(
  words: LuaValue[],
  path: string,
  args: readonly Argument[],
  values: Readonly<Record<string, unknown>>,
): void {
  let isOver = false;
  for (const { name, kind, fields, optional } of args) {
    const value = values[name];
    if (value === undefined) {
      if (!optional) throw new Error(`${path} is called without the argument ${name}`);
      isOver = true;
      continue;
    }
    if (isOver) throw new Error(`${path} is called with ${name}, but without an argument before it`);
    if (kind === 'text') words.push(value as LuaValue);
    else if (kind === 'json') words.push(jsonText(value));
    else if (kind === 'shape') pushFields(words, path, name, fields, value as LuaFields);
    else for (const each of value as readonly LuaFields[]) pushFields(words, path, name, fields, each);
  }
}

function pushFields(words: LuaValue[], path: string, name: string, fields: readonly string[], values: LuaFields): void {
  for (const field of fields) {
    const part = values[field];
    if (part === undefined) throw new Error(`${path} is called without ${name}.${field}`);
    words.push(part);
  }
}

/** Replaces half of a surrogate pair by U+FFFD: Redis does so in UTF-8, and Lua's JSON refuses half a pair. */
function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\ud') ? text.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, '$1\\ufffd') : text;
}

const cache = new Map<string, Read>();

/** The script's text with its generated first lines and included files. */
export function readScript(path: string): Read {
  const known = cache.get(path);
  if (known) return known;
  const shapes = new Map<string, readonly string[]>();
  const { body, included } = readWithIncludes(path, shapes, new Set([path]));
  const named = namesIn(path, body, 'keys');
  if (named.length === 0) throw new Error(`${path} names no keys: "@keys none" says that it has none`);
  const keys = named[0] === 'none' ? [] : named.map((word) => ({ name: bare(word), optional: word.endsWith('?') }));
  const args = namesIn(path, body, 'args').map((word) => argumentOf(path, word, shapes));
  if (keys[0]?.optional) throw new Error(`${path}: the first key cannot be left out`);
  if (args.some(({ optional }, index) => optional && args.slice(index).some((arg) => !arg.optional))) {
    throw new Error(`${path}: arguments that may be left out stand last`);
  }
  if (args.slice(0, -1).some(({ kind }) => kind === 'list')) throw new Error(`${path}: a list stands last`);
  const read = { source: [...bindings(keys, args), ...included, body].join('\n'), keys, args };
  cache.set(path, read);
  return read;
}

function bindings(keys: Read['keys'], args: readonly Argument[]): string[] {
  const lines = keys.map(({ name, optional }, index) => {
    const key = `KEYS[${index + 1}]`;
    return `local ${name} = ${optional ? `${key} ~= KEYS[1] and ${key} or nil` : key}`;
  });
  let place = 1;
  for (const { name, kind, fields, optional } of args) {
    const first = `ARGV[${place}]`;
    if (kind === 'list') {
      const table = fields.map((field, index) => `${field} = ARGV[i + ${index}]`).join(', ');
      lines.push(`local ${name} = {}`);
      lines.push(`for i = ${place}, #ARGV, ${fields.length} do ${name}[#${name} + 1] = {${table}} end`);
      continue;
    }
    let value = kind === 'json' ? `cjson.decode(${first})` : first;
    if (kind === 'shape') value = `{${fields.map((field, index) => `${field} = ARGV[${place + index}]`).join(', ')}}`;
    lines.push(`local ${name} = ${optional ? `${first} and ${value}` : value}`);
    place += kind === 'shape' ? fields.length : 1;
  }
  return lines;
}

function readWithIncludes(
  path: string,
  shapes: Map<string, readonly string[]>,
  seen: Set<string>,
): { body: string; included: string[] } {
  const body = readFileSync(locate(path), 'utf8');
  const included: string[] = [];
  for (const [, other] of body.matchAll(/^-- @include (\S+)$/gm)) {
    if (seen.has(other!)) continue;
    seen.add(other!);
    const below = readWithIncludes(other!, shapes, seen);
    included.push(...below.included, below.body);
  }
  for (const [, name, fields] of body.matchAll(/^-- @shape (\w+) = (.+)$/gm)) {
    const fieldsOf = (word: string) => (word.startsWith('...') ? shapeOf(path, word.slice(3), shapes) : [word]);
    shapes.set(name!, words(fields!).flatMap(fieldsOf));
  }
  return { body, included };
}

/**
 * Finds the file beside the sources, or beside the build, which has a copy at the same path: this file may be in either, or in
 * a bundle of the build. So it searches upwards from here.
 */
function locate(path: string): URL {
  for (let directory = new URL('.', import.meta.url); ; directory = new URL('..', directory)) {
    const file = new URL(path, directory);
    if (existsSync(file)) return file;
    if (directory.pathname === '/' || directory.href === new URL('..', directory).href) {
      throw new Error(`the Redis script ${path} is missing from this installation`);
    }
  }
}

/** The words of all lines of a directive, in their order. */
function namesIn(path: string, body: string, directive: string): string[] {
  const found = [...body.matchAll(new RegExp(`^-- @${directive} (.+)$`, 'gm'))].flatMap(([, line]) => words(line!));
  const names = found.map(bare);
  if (new Set(names).size < names.length) throw new Error(`${path}: @${directive} names something twice`);
  return found;
}

function argumentOf(path: string, word: string, shapes: ReadonlyMap<string, readonly string[]>): Argument {
  const [, name, type = '', mark] = /^(\w+)\??(?:: (\w+))?(\?|\[\])?$/.exec(word) ?? [];
  if (name === undefined) throw new Error(`${path}: "${word}" is no argument`);
  const optional = mark === '?' || word.startsWith(`${name}?`);
  if (mark === '[]') return { name, kind: 'list', fields: shapeOf(path, type, shapes), optional };
  if (type === '' || type === 'json') return { name, kind: type === 'json' ? 'json' : 'text', fields: [], optional };
  return { name, kind: 'shape', fields: shapeOf(path, type, shapes), optional };
}

function shapeOf(path: string, name: string, shapes: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const fields = shapes.get(name);
  if (!fields) throw new Error(`${path}: there is no shape "${name}"`);
  return fields;
}

function words(list: string): string[] {
  return list.split(',').map((word) => word.trim());
}

/** The name without type and mark. */
function bare(word: string): string {
  return /^\w+/.exec(word)?.[0] ?? word;
}

/**
 * The rule of Redis scripts: Lua is in `.lua` files, never in a string of a `.ts` file, and each `.lua` file has its own test,
 * `describeScript('<its path>', …)`, in the tests of its room.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { breachesOf, type Impurity } from './purity.ts';
import { typeScriptIn } from './rooms.ts';

const lua = /\bredis\s*\.\s*(p?call|sha1hex|(status|error)_reply)\b|\b(KEYS|ARGV)\s*\[/;
/** Not sources of the product. Tests of the loader have their own scripts in strings. */
const outside = new Set(['node_modules', 'dist', 'test']);
/** They name places and functions, for all scripts. */
const handlers: ReadonlySet<string> = new Set(['core/redis/lua.ts', 'simulation/redis/lua-compiler.ts']);

export function findScriptFaults(root: string): Impurity[] {
  const rooms = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !outside.has(entry.name) && !entry.name.startsWith('.'))
    .map(({ name }) => name);
  const inStrings = typeScriptIn(root, rooms)
    .filter((file) => !handlers.has(file))
    .flatMap((file) => luaInStrings(file, readFileSync(join(root, file), 'utf8')));
  const tests = typeScriptIn(root, ['test']);
  const tested = new Set(tests.flatMap((file) => testedIn(file, readFileSync(join(root, file), 'utf8'))));
  const what = 'no test of its own: write one with describeScript (test/support/redis-script.ts)';
  const untested = rooms.flatMap((room) => scriptsBelow(root, room)).filter((file) => !tested.has(file));
  return [...inStrings, ...untested.map((file) => ({ file, line: 1, what }))];
}

function scriptsBelow(root: string, room: string): string[] {
  return readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.lua'))
    .map((path) => `${room}/${path}`)
    .sort();
}

/** The scripts of its room that a test file tests. */
function testedIn(file: string, source: string): string[] {
  const room = file.split('/')[1]!;
  return [...source.matchAll(/\bdescribeScript\(\s*'([^']+)'/g)]
    .map(([, path]) => path!)
    .filter((path) => path.startsWith(`${room}/`));
}

/** Lua in the strings and templates of a module. */
function luaInStrings(file: string, source: string): Impurity[] {
  if (!lua.test(source)) return [];
  return breachesOf(file, source, (node, report) => {
    const text = node.type === 'StringLiteral' ? node.value : node.type === 'TemplateElement' ? node.raw : undefined;
    if (typeof text === 'string' && lua.test(text))
      report(node, 'Lua in a string: write a .lua file (core/redis/lua.ts)');
  });
}

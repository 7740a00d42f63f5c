/** The rule of Redis scripts: Lua lies in `.lua` files, never in a string of a `.ts` file. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { breachesOf, type Impurity, sourceFiles } from './purity.ts';

const lua = /\bredis\s*\.\s*(p?call|sha1hex|(status|error)_reply)\b|\b(KEYS|ARGV)\s*\[/;
/** No sources of the product. Tests of the loader have scripts of their own in strings. */
const outside = new Set(['node_modules', 'dist', 'test']);
/** Names places, for all scripts. */
const loader = 'redis/lua.ts';

export function findScriptFaults(root: string): Impurity[] {
  const rooms = readdirSync(root).filter((name) => !outside.has(name) && !name.startsWith('.'));
  return sourceFiles(root, rooms)
    .filter((file) => file !== loader)
    .flatMap((file) => luaInStrings(file, readFileSync(join(root, file), 'utf8')));
}

/** Lua in the strings and templates of a module. */
function luaInStrings(file: string, source: string): Impurity[] {
  if (!lua.test(source)) return [];
  return breachesOf(file, source, (node, report) => {
    const text = node.type === 'StringLiteral' ? node.value : node.type === 'TemplateElement' ? node.raw : undefined;
    if (typeof text === 'string' && lua.test(text)) report(node, 'Lua in a string: write a .lua file (redis/lua.ts)');
  });
}

// The rules of imports between folders, made from rooms.json. tools/check/house.ts runs them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const { folders, reserved } = JSON.parse(readFileSync(join(import.meta.dirname, 'rooms.json'), 'utf8'));
const names = Object.keys(folders);
/** A pattern of the paths in a folder, without those in folders inside it that have rules of their own. */
const own = (name) => {
  const inner = names.filter((one) => one.startsWith(`${name}/`)).map((one) => one.slice(name.length + 1));
  return inner.length === 0 ? `${name}/` : `${name}/(?!(?:${inner.join('|')})/)`;
};
const anyOf = (patterns) => `^(?:${patterns.join('|')})`;
const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    rule('no-circles', 'Modules that need each other are one module.', {}, { circular: true }),
    ...names.map((name) => {
      const { holds, imports } = folders[name];
      const allowed = imports.map((path) => (path.endsWith('.ts') ? `${path.replaceAll('.', '[.]')}$` : `${path}/`));
      const to = { path: '^[a-z-]+/', pathNot: anyOf([own(name), ...allowed]) };
      return rule(`imports of ${name}`, holds, { path: `^${own(name)}` }, to);
    }),
    ...reserved.map(({ folder, for: users, why }) =>
      // `cli/sim` names a folder and the files that begin so.
      rule(
        `reserved: ${folder}`,
        why,
        { pathNot: anyOf(users.map((user) => `${user}[-./]`)) },
        { path: `^${folder}/` },
      ),
    ),
  ],
  options: {
    parser: 'swc',
    includeOnly: anyOf([...new Set(names.map((name) => `${name.split('/')[0]}/`))]),
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|node_modules|[.]setup|[.]signmesh)/' },
    enhancedResolveOptions: { extensions: ['.ts', '.mjs', '.js'], conditionNames: ['import', 'node', 'default'] },
  },
};

/**
 * The floors and the rule against circles, and the proof that their check can fail: a bad import is planted for each
 * rule in a small copy of the house. (dependency-cruiser that cannot parse TypeScript finds no module and no fault.)
 */
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runTool } from '../../cli/check/tool.ts';
import { temporaryFolder } from '../cli/support/temporary.ts';
import { root } from '../cli/support/up-process.ts';

const config = '.dependency-cruiser.json';
const rooms = [
  'proto',
  'crypto',
  'actors',
  'nodes',
  'coordinator',
  'gateway',
  'sim',
  'cli',
  'bench',
  'examples',
  'test',
];

interface Cruise {
  readonly summary: {
    readonly totalCruised: number;
    readonly violations: readonly {
      readonly rule: { readonly name: string };
      readonly from: string;
      readonly to: string;
    }[];
  };
}

async function cruise(folder: string): Promise<Cruise['summary']> {
  const { output } = await runTool(folder, 'depcruise', ['--config', config, '--output-type', 'json', '.']);
  return (JSON.parse(output) as Cruise).summary;
}

/** A house with one module in every room, and the modules given. */
function house(modules: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  copyFileSync(join(root, config), join(folder, config));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const all = {
    ...Object.fromEntries(rooms.map((room) => [`${room}/room.ts`, `export const x = '${room}';\n`])),
    ...modules,
  };
  for (const [path, content] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

const forbidden: readonly (readonly [from: string, to: readonly string[], rule: string])[] = [
  ['proto', ['crypto', 'actors', 'nodes', 'coordinator', 'gateway', 'sim', 'cli'], 'floor-0-proto'],
  ['crypto', ['proto', 'actors', 'nodes', 'coordinator', 'gateway', 'sim', 'cli'], 'floor-0-crypto'],
  ['actors', ['proto', 'crypto', 'nodes', 'coordinator', 'gateway', 'sim', 'cli'], 'floor-0-actors'],
  ['nodes', ['coordinator', 'gateway', 'sim', 'cli'], 'floor-1-nodes'],
  ['coordinator', ['nodes', 'gateway', 'sim', 'cli'], 'floor-1-coordinator'],
  ['gateway', ['nodes', 'coordinator', 'sim', 'cli'], 'floor-2-gateway'],
  ['sim', ['gateway', 'cli'], 'floor-2-sim'],
  ['cli', ['test', 'bench'], 'nothing-imports-test-or-bench'],
];

describe('floors', () => {
  test('the check reads every module of this repository', async () => {
    const { totalCruised } = await cruise(root);
    expect(totalCruised).toBeGreaterThan(100);
  });

  test('every planted import that breaks a floor is found, type imports too', async () => {
    const modules: Record<string, string> = {};
    const expected: string[] = [];
    for (const [from, rooms, rule] of forbidden) {
      for (const to of rooms) {
        modules[`${from}/bad-${to}.ts`] = `import { x } from '../${to}/room.ts';\nexport const y: string = x;\n`;
        modules[`${from}/bad-type-${to}.ts`] =
          `import type { x } from '../${to}/room.ts';\nexport type Y = typeof x;\n`;
        expected.push(`${rule} ${from}/bad-${to}.ts`, `${rule} ${from}/bad-type-${to}.ts`);
      }
    }
    const { violations } = await cruise(house(modules));
    expect(violations.map(({ rule, from }) => `${rule.name} ${from}`).sort()).toEqual(expected.sort());
  });

  test('a dynamic import is an import', async () => {
    const { violations } = await cruise(
      house({ 'nodes/bad.ts': `export const load = () => import('../coordinator/room.ts');\n` }),
    );
    expect(violations.map(({ rule }) => rule.name)).toEqual(['floor-1-nodes']);
  });

  test('circles are found', async () => {
    const { violations } = await cruise(
      house({
        'crypto/a.ts': `import { b } from './b.ts';\nexport const a = () => b;\n`,
        'crypto/b.ts': `import { a } from './a.ts';\nexport const b = () => a;\n`,
      }),
    );
    expect(new Set(violations.map(({ rule }) => rule.name))).toEqual(new Set(['no-circles']));
  });

  test('the allowed imports are allowed', async () => {
    const allowed: Record<string, string[]> = {
      nodes: ['proto', 'crypto', 'actors'],
      coordinator: ['proto', 'crypto', 'actors'],
      gateway: ['proto', 'crypto', 'actors'],
      sim: ['proto', 'crypto', 'actors', 'nodes', 'coordinator'],
      cli: ['proto', 'crypto', 'actors', 'nodes', 'coordinator', 'gateway', 'sim'],
      test: ['proto', 'cli', 'bench', 'gateway'],
    };
    const modules = Object.entries(allowed).flatMap(([from, rooms]) =>
      rooms.map(
        (to) => [`${from}/good-${to}.ts`, `import { x } from '../${to}/room.ts';\nexport const y = x;\n`] as const,
      ),
    );
    expect((await cruise(house(Object.fromEntries(modules)))).violations).toEqual([]);
  });

  test('every room of this repository stands under a rule', () => {
    const rules = readFileSync(join(root, config), 'utf8');
    for (const room of ['proto', 'crypto', 'actors', 'nodes', 'coordinator', 'gateway', 'sim']) {
      expect(rules).toContain(`"path": "^${room}/"`);
    }
  });
});

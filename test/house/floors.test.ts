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
  'faults',
  'nodes',
  'coordinator',
  'gateway',
  'sim',
  'plane',
  'testing',
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

/** The rooms above all floors: nothing below may know them. */
const above = ['gateway', 'sim', 'plane', 'testing', 'cli'];

const forbidden: readonly (readonly [from: string, to: readonly string[], rule: string])[] = [
  ['proto', ['crypto', 'actors', 'faults', 'nodes', 'coordinator', ...above], 'floor-0-proto'],
  ['crypto', ['proto', 'actors', 'faults', 'nodes', 'coordinator', ...above], 'floor-0-crypto'],
  ['actors', ['proto', 'crypto', 'faults', 'nodes', 'coordinator', ...above], 'floor-0-actors'],
  ['faults', ['actors', 'nodes', 'coordinator', ...above], 'floor-1-faults'],
  ['nodes', ['faults', 'coordinator', ...above], 'floor-1-nodes'],
  ['coordinator', ['faults', 'nodes', ...above], 'floor-1-coordinator'],
  ['gateway', ['nodes', 'coordinator', 'sim', 'plane', 'testing', 'cli'], 'floor-2-gateway'],
  ['sim', ['gateway', 'plane', 'testing', 'cli'], 'floor-2-sim'],
  ['plane', ['nodes', 'coordinator', 'gateway', 'sim', 'testing', 'cli'], 'floor-2-plane'],
  ['testing', ['nodes', 'coordinator', 'gateway', 'plane', 'cli'], 'floor-3-testing'],
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

  test('the model of cryptography is for simulations: an import from anywhere else is found', async () => {
    const importing = (name: string) => `import { model } from '${name}';\nexport const y = model;\n`;
    const outside = ['crypto', 'nodes', 'coordinator', 'gateway', 'actors', 'plane', 'cli'];
    const inside = ['sim', 'bench', 'testing', 'test', 'cli/sim', 'cli/scenario'];
    const up = (place: string) => (place.includes('/') ? '../../' : '../');
    const { violations } = await cruise(
      house({
        'crypto/model/switch.ts': 'export const model = 1;\n',
        'cli/up/bad.ts': importing('../../crypto/model/switch.ts'),
        ...Object.fromEntries(outside.map((room) => [`${room}/bad.ts`, importing('../crypto/model/switch.ts')])),
        ...Object.fromEntries(
          inside.map((place) => [`${place}/good.ts`, importing(`${up(place)}crypto/model/switch.ts`)]),
        ),
        'cli/sim-run.ts': importing('../crypto/model/switch.ts'),
      }),
    );
    const found = violations.filter(({ rule }) => rule.name === 'model-crypto-only-simulated').map(({ from }) => from);
    expect(found.sort()).toEqual([...outside.map((room) => `${room}/bad.ts`), 'cli/up/bad.ts'].sort());
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
      faults: ['proto', 'crypto'],
      nodes: ['proto', 'crypto', 'actors'],
      coordinator: ['proto', 'crypto', 'actors'],
      gateway: ['proto', 'crypto', 'actors', 'faults'],
      sim: ['proto', 'crypto', 'actors', 'faults', 'nodes', 'coordinator'],
      plane: ['proto', 'crypto', 'actors', 'faults'],
      testing: ['proto', 'crypto', 'actors', 'faults', 'sim'],
      cli: ['proto', 'crypto', 'actors', 'faults', 'nodes', 'coordinator', 'gateway', 'sim', 'plane', 'testing'],
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
    for (const room of [
      'proto',
      'crypto',
      'actors',
      'faults',
      'nodes',
      'coordinator',
      'gateway',
      'sim',
      'plane',
      'testing',
    ]) {
      expect(rules).toContain(`"path": "^${room}/"`);
    }
  });
});

/**
 * The proof that the check of floors and circles (tools/check/house.ts) can fail: a bad import is planted for each rule in
 * a small copy of the house. `npm test` and `npm run test:fast` run the check itself.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { houseFaults, readHouse } from '../../tools/check/house.ts';
import { folderOf, rooms, typeScriptIn } from '../../tools/check/rooms.ts';
import { keptFolder, temporaryFolder } from '../cli/support/temporary.ts';
import { root } from '../cli/support/up-process.ts';

const folders = Object.keys(rooms.folders);
/** Whether the rules let the modules of one folder import those of another. */
function mayImport(from: string, to: string): boolean {
  return rooms.folders[from]!.imports.some((path) => `${to}/`.startsWith(`${path}/`));
}

/** A house with one module in every folder of rooms.json, and the modules given. */
function house(modules: Readonly<Record<string, string>>, folder = temporaryFolder()): string {
  const all = {
    ...Object.fromEntries(folders.map((name) => [`${name}/room.ts`, `export const x = '${name}';\n`])),
    ...modules,
  };
  for (const [path, content] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

const importing = (path: string) => `import { x } from '${path}';\nexport const y = x;\n`;
const typesOf = (path: string) => `import type { x } from '${path}';\nexport type Y = typeof x;\n`;

describe('imports between folders', () => {
  test('every planted import that breaks a floor is found, type imports too, and no allowed one', () => {
    const modules: Record<string, string> = {};
    const expected: string[] = [];
    for (const from of folders) {
      for (const to of folders.filter((folder) => folder !== from)) {
        const path = relative(from, `${to}/room.ts`);
        const module = importing(path.startsWith('.') ? path : `./${path}`);
        const name = to.replaceAll('/', '-');
        if (mayImport(from, to)) {
          modules[`${from}/good-${name}.ts`] = module;
        } else {
          modules[`${from}/bad-${name}.ts`] = module;
          modules[`${from}/bad-type-${name}.ts`] = module
            .replace('import {', 'import type {')
            .replace('= x', '= 1 as typeof x');
          for (const bad of ['bad', 'bad-type']) expected.push(`imports of ${from} ${from}/${bad}-${name}.ts`);
        }
      }
    }
    const { violations } = readHouse(house(modules));
    expect(violations.map(({ rule, from }) => `${rule} ${from}`).sort()).toEqual(expected.sort());
  });

  test.each([
    `export { x } from '../coordinator/room.ts';`,
    `export * from '../coordinator/room.ts';`,
    `export type { x } from '../coordinator/room.ts';`,
    `import '../coordinator/room.ts';`,
    `import * as all from '../coordinator/room.ts';`,
    `import none, {\n  // Node's "own"; x.\n  x,\n  type x as y,\n} from '../coordinator/room.ts';`,
    `export const load = () =>\n  import('../coordinator/room.ts');`,
    `export const load = () => import(\n  '../coordinator/room.ts'\n);`,
    `export type X = typeof import('../coordinator/room.ts').x;`,
  ])('are found however they are written: %s', (text) => {
    const { violations } = readHouse(house({ 'nodes/bad.ts': `/** A module. */\nconst one = 'a';\n${text}\n` }));
    const found = { rule: 'imports of nodes', from: 'nodes/bad.ts', to: 'coordinator/room.ts' };
    expect(violations).toEqual([found]);
  });

  test('the product imports neither tests nor tools; nodes and coordinator not each other; no product code the simulation', () => {
    const packaged = folders.filter((folder) => rooms.folders[folder]!.packaged !== 'no');
    for (const from of packaged) {
      for (const to of folders.filter((folder) => !packaged.includes(folder))) expect(mayImport(from, to)).toBe(false);
    }
    expect([mayImport('nodes', 'coordinator'), mayImport('coordinator', 'nodes')]).toEqual([false, false]);
    for (const from of packaged.filter((folder) => /^(proto|core|nodes|coordinator|wallets|gateway)\b/.test(folder))) {
      expect(packaged.filter((to) => to.startsWith('simulation/') && mayImport(from, to))).toEqual([]);
    }
    expect(rooms.folders['core/crypto']!.imports).toEqual([]);
  });
});

describe('in a house with a fault of every other kind', () => {
  const insideOf = (path: string) => `${path}/inside.ts`;
  /** Imports past a public file. */
  const trespasses = {
    'wallets/custody/wallets/bad.ts': importing('../connections/inside.ts'),
    'wallets/custody/bad.ts': importing('./connections/inside.ts'),
    'gateway/doors/bad.ts': typesOf('../../wallets/custody/connections/inside.ts'),
    'gateway/bad.ts': `export const load = () => import('../wallets/companions/tokens/inside.ts');\n`,
    'wallets/providers/self-hosted/bad.ts': importing('../chains/inside.ts'),
    'coordinator/dkg/bad.ts': importing('../signing/inside.ts'),
    'coordinator/signing/bad.ts': importing('../store/inside.ts'),
    // No adapter, or no composition.
    'gateway/main.ts': importing('../wallets/custody/connections/inside.ts'),
    'gateway/adapters.ts': importing('../wallets/delivery/events/redis-wakes.ts'),
  };
  const noTrespasses = {
    ...Object.fromEntries(
      [
        'wallets/custody/connections',
        'wallets/companions/tokens',
        'wallets/providers/chains',
        'coordinator/signing',
      ].map((module) => [`${module}/public.ts`, `export { x } from './inside.ts';\n`]),
    ),
    'wallets/custody/wallets/good.ts': importing('../connections/public.ts'),
    'wallets/custody/connections/good.ts': importing('./inside.ts'),
    'coordinator/signing/good.ts': importing('../store/layout.ts'),
    'wallets/custody/intents/good.ts': importing('../provider-calls/inside.ts'),
    'simulation/cluster/good.ts': importing('../../wallets/delivery/deliveries/retry-schedule.ts'),
    'gateway/worker.ts': importing('../wallets/delivery/events/redis-wakes.ts'),
    'test/good.ts': importing('../wallets/custody/connections/inside.ts'),
  };
  const insides = [
    ...[
      'wallets/custody/connections',
      'wallets/custody/provider-calls',
      'wallets/companions/tokens',
      'wallets/providers/chains',
    ].map(insideOf),
    ...[
      'coordinator/signing/inside.ts',
      'coordinator/store/inside.ts',
      'coordinator/store/layout.ts',
      'wallets/delivery/deliveries/retry-schedule.ts',
      'wallets/delivery/events/redis-wakes.ts',
    ],
  ];
  /** Folders that import each other: beside each other, one in the other, by a type alone. */
  const rings = {
    'clients/report/one/a.ts': `import { b } from '../two/b.ts';\nexport const a = b;\n`,
    'clients/report/two/b.ts': 'export const b = 1;\n',
    'clients/report/two/c.ts': `import type { d } from '../one/d.ts';\nexport type C = typeof d;\n`,
    'clients/report/one/d.ts': 'export const d = 1;\n',
    'nodes/main.ts': `import { part } from './signer/part.ts';\nexport const main = part;\n`,
    'nodes/signer/part.ts': `import { record } from '../record.ts';\nexport const part = record;\n`,
    'nodes/record.ts': 'export const record = 1;\n',
    'simulation/cluster/invariants/deep/e.ts': `import { x } from '../../room.ts';\nexport const e = x;\n`,
  };
  const choosesModel = (path: string) =>
    `import { model } from '${path.startsWith('.') ? path : `./${path}`}';\nexport const y = model;\n`;
  const outside = folders.filter(
    (folder) => !rooms.reserved[0]!.for.some((user) => `${folder}/`.startsWith(`${user}/`)),
  );
  const inside = [
    'simulation/cluster',
    'simulation/service',
    'scenarios/runner',
    'tools/bench',
    'clients/testing',
    'test',
  ];
  const models = {
    'core/crypto/model/switch.ts': 'export const model = 1;\n',
    ...Object.fromEntries(
      [
        ...outside.map((folder) => `${folder}/bad-model.ts`),
        'cli/up/bad-model.ts',
        'cli/sim/model.ts',
        'cli/sim-run.ts',
      ]
        .concat(inside.map((folder) => `${folder}/model.ts`))
        .map((path) => [path, choosesModel(relative(dirname(path), 'core/crypto/model/switch.ts'))]),
    ),
  };

  const folder = keptFolder();
  const read = readHouse(
    house(
      {
        ...trespasses,
        ...noTrespasses,
        ...Object.fromEntries(insides.map((path) => [path, 'export const x = 1;\n'])),
        ...rings,
        ...models,
        'nodes/dynamic.ts': `export const load = () => import('../coordinator/room.ts');\n`,
        'core/crypto/a.ts': `import { b } from './b.ts';\nexport const a = () => b;\n`,
        'core/crypto/b.ts': `import { a } from './a.ts';\nexport const b = () => a;\n`,
      },
      folder,
    ),
  );
  rmSync(folder, { recursive: true });

  test('dynamic imports, circles, and imports of the model of cryptography outside simulations are found', () => {
    const choosing = [...outside.map((folder) => `${folder}/bad-model.ts`), 'cli/up/bad-model.ts'];
    const breakFloors = outside.filter((folder) => folder !== 'core/crypto' && !mayImport(folder, 'core/crypto'));
    expect(read.circles).toEqual([['core/crypto/a.ts', 'core/crypto/b.ts']]);
    expect(read.violations.map(({ rule, from }) => `${rule.replace(/ \(.*/, '')} ${from}`).sort()).toEqual(
      [
        ...breakFloors.map((folder) => `imports of ${folder} ${folder}/bad-model.ts`),
        'imports of nodes nodes/dynamic.ts',
        ...choosing.map((path) => `reserved: core/crypto/model ${path}`),
      ].sort(),
    );
  });

  test('folders that import each other are found: beside each other, one in the other, by a type alone', () => {
    expect(read.rings).toEqual([
      ['clients/report/one', 'clients/report/two'],
      ['nodes', 'nodes/signer'],
    ]);
    expect(houseFaults(read)).toContain('folders that import each other: clients/report/one, clients/report/two');
  });

  test('a module is imported through its public file alone', () => {
    expect(read.trespasses.map(({ from }) => from).sort()).toEqual(Object.keys(trespasses).sort());
    expect(houseFaults(read)).toContain(
      'wallets/custody/bad.ts imports wallets/custody/connections/inside.ts: import wallets/custody/connections/public.ts',
    );
    expect(houseFaults(read)).toContain(
      'coordinator/signing/bad.ts imports coordinator/store/inside.ts: import coordinator/store/layout.ts',
    );
  });
});

test('every module of this repository is in a folder of rooms.json', () => {
  const tops = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^([.].*|node_modules|dist)$/.test(entry.name))
    .map(({ name }) => name);
  expect(typeScriptIn(root, tops).filter((file) => folderOf(file) === undefined)).toEqual([]);
});

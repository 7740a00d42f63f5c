/**
 * The proof that the check of floors and circles (tools/check/house.ts) can fail: a bad import is planted for each rule in
 * a small copy of the house. `npm test` and `npm run test:fast` run the check itself.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type House, houseFaults, readHouse, tooFew } from '../../tools/check/house.ts';
import { keptFolder, temporaryFolder } from '../cli/support/temporary.ts';
import { root } from '../cli/support/up-process.ts';

const config = '.dependency-cruiser.json';
/** What each room may import, and what every other import of it breaks. */
const floor0 = ['proto', 'crypto', 'actors'];
const withRedis = [...floor0, 'redis'];
const underModules = ['networks', 'store', 'providers', 'api'];
const ofWallets = ['custody', 'controls', 'delivery', 'modules'];
const controlPlane = [...withRedis, 'telemetry', 'faults', ...underModules, ...ofWallets];
const mayImport: Readonly<Record<string, readonly string[]>> = {
  proto: [],
  crypto: [],
  actors: [],
  redis: [],
  telemetry: [],
  faults: ['proto', 'crypto'],
  nodes: [...floor0, 'telemetry'],
  coordinator: [...withRedis, 'telemetry'],
  networks: ['crypto'],
  store: [...withRedis, 'networks'],
  providers: [...withRedis, 'networks', 'store'],
  api: [...withRedis, 'store', 'providers'],
  custody: [...withRedis, ...underModules],
  controls: [...withRedis, ...underModules, 'custody'],
  delivery: [...withRedis, ...underModules],
  modules: [...withRedis, ...underModules, 'custody', 'controls', 'delivery'],
  openapi: [...withRedis, ...underModules, 'custody', 'controls', 'delivery', 'modules'],
  gateway: [...controlPlane, 'openapi'],
  sim: [...withRedis, 'faults', 'nodes', 'coordinator'],
  world: [...controlPlane, 'gateway', 'sim', 'runner', 'coordinator'],
  'wallet-search': [...withRedis, 'faults', 'networks', 'providers', 'api', 'sim', 'runner', 'world'],
  model: ['proto', 'crypto', 'faults', 'sim'],
  runner: [...withRedis, 'faults', 'sim', 'model'],
  report: [...withRedis, 'faults', 'runner'],
  'fault-injection': [...floor0, 'faults'],
  load: ['proto', 'faults', 'runner', 'report'],
  testing: [...withRedis, 'faults', 'sim', 'world', 'embedded', 'runner', 'report', 'client'],
  embedded: [...controlPlane, 'gateway', 'sim', 'world', 'fault-injection', 'runner'],
  client: [],
};
const product = [...Object.keys(mayImport), 'cli'];
const apart = ['tools', 'bench', 'examples', 'test'];
const rooms = [...product, ...apart];

/** A house with one module in every room, and the modules given. */
function house(modules: Readonly<Record<string, string>>, folder = temporaryFolder()): string {
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

const importing = (path: string) => `import { x } from '${path}';\nexport const y = x;\n`;
const typesOf = (path: string) => `import type { x } from '${path}';\nexport type Y = typeof x;\n`;

describe('imports between rooms', () => {
  test('every planted import that breaks a floor is found, type imports too, and no allowed one', async () => {
    const modules: Record<string, string> = {};
    const expected: string[] = [];
    /** Rules for all rooms, by what they may not import. */
    const forAll: Readonly<Record<string, string>> = {
      bench: 'nothing-imports-test-or-bench',
      test: 'nothing-imports-test-or-bench',
    };
    for (const [from, allowed] of Object.entries({ ...mayImport, cli: product })) {
      for (const to of rooms.filter((room) => room !== from && !allowed.includes(room))) {
        modules[`${from}/bad-${to}.ts`] = importing(`../${to}/room.ts`);
        modules[`${from}/bad-type-${to}.ts`] = typesOf(`../${to}/room.ts`);
        for (const rule of [`room-${from}`, forAll[to] ?? []].flat())
          expected.push(`${rule} ${from}/bad-${to}.ts`, `${rule} ${from}/bad-type-${to}.ts`);
      }
    }
    const allowed = {
      ...mayImport,
      cli: product.filter((room) => room !== 'cli'),
      tools: product,
      test: rooms.filter((room) => room !== 'test'),
    };
    for (const [from, targets] of Object.entries(allowed)) {
      for (const to of targets) modules[`${from}/good-${to}.ts`] = importing(`../${to}/room.ts`);
    }
    const read = await readHouse(house(modules));
    expect(read.violations.map(({ rule, from }) => `${rule.name} ${from}`).sort()).toEqual(expected.sort());
    expect([tooFew(read), tooFew({ ...read, modules: 0 })]).toEqual([
      undefined,
      'dependency-cruiser read 0 modules, fewer than 100',
    ]);
  });
});

describe('in a house with a fault of every other kind', () => {
  const inside = (path: string) => `${path}/inside.ts`;
  /** Imports past a public file. */
  const trespasses = {
    'custody/wallets/bad.ts': importing('../connections/inside.ts'),
    'custody/bad.ts': importing('./connections/inside.ts'),
    'gateway/doors/bad.ts': typesOf('../../custody/connections/inside.ts'),
    'gateway/bad.ts': `export const load = () => import('../modules/tokens/inside.ts');\n`,
    'providers/self-hosted/bad.ts': importing('../chains/inside.ts'),
    'coordinator/dkg/bad.ts': importing('../signing/inside.ts'),
    // No adapter, or no composition.
    'gateway/main.ts': importing('../custody/connections/inside.ts'),
    'gateway/adapters.ts': importing('../delivery/events/redis-wakes.ts'),
  };
  const noTrespasses = {
    ...Object.fromEntries(
      ['custody/connections', 'modules/tokens', 'providers/chains', 'coordinator/signing'].map((module) => [
        `${module}/public.ts`,
        `export { x } from './inside.ts';\n`,
      ]),
    ),
    'custody/wallets/good.ts': importing('../connections/public.ts'),
    'custody/connections/good.ts': importing('./inside.ts'),
    'custody/intents/good.ts': importing('../provider-calls/inside.ts'),
    'sim/good.ts': importing('../delivery/deliveries/retry-schedule.ts'),
    'gateway/worker.ts': importing('../delivery/events/redis-wakes.ts'),
    'test/good.ts': importing('../custody/connections/inside.ts'),
  };
  const insides = [
    ...['custody/connections', 'custody/provider-calls', 'modules/tokens', 'providers/chains'].map(inside),
    ...['coordinator/signing/inside.ts', 'delivery/deliveries/retry-schedule.ts', 'delivery/events/redis-wakes.ts'],
  ];
  /** Folders that import each other: beside each other, one in the other, by a type alone. */
  const rings = {
    'report/one/a.ts': `import { b } from '../two/b.ts';\nexport const a = b;\n`,
    'report/two/b.ts': 'export const b = 1;\n',
    'report/two/c.ts': `import type { d } from '../one/d.ts';\nexport type C = typeof d;\n`,
    'report/one/d.ts': 'export const d = 1;\n',
    'nodes/main.ts': `import { part } from './signer/part.ts';\nexport const main = part;\n`,
    'nodes/signer/part.ts': `import { record } from '../record.ts';\nexport const part = record;\n`,
    'nodes/record.ts': 'export const record = 1;\n',
    'sim/invariants/deep/e.ts': `import { x } from '../../room.ts';\nexport const e = x;\n`,
  };
  const choosesModel = (path: string) => `import { model } from '${path}';\nexport const y = model;\n`;
  const outside = ['crypto', 'nodes', 'coordinator', 'gateway', 'actors', 'fault-injection', 'cli'];
  const simulated = ['sim', 'world', 'wallet-search', 'runner', 'bench', 'testing', 'test', 'cli/sim', 'cli/scenario'];
  const up = (place: string) => (place.includes('/') ? '../../' : '../');
  const models = {
    'crypto/model/switch.ts': 'export const model = 1;\n',
    'cli/up/bad-model.ts': choosesModel('../../crypto/model/switch.ts'),
    ...Object.fromEntries(outside.map((room) => [`${room}/bad-model.ts`, choosesModel('../crypto/model/switch.ts')])),
    ...Object.fromEntries(
      simulated.map((place) => [`${place}/model.ts`, choosesModel(`${up(place)}crypto/model/switch.ts`)]),
    ),
    'cli/sim-run.ts': choosesModel('../crypto/model/switch.ts'),
  };

  const folder = keptFolder();
  let read: House;
  beforeAll(async () => {
    read = await readHouse(
      house(
        {
          ...trespasses,
          ...noTrespasses,
          ...Object.fromEntries(insides.map((path) => [path, 'export const x = 1;\n'])),
          ...rings,
          ...models,
          'nodes/dynamic.ts': `export const load = () => import('../coordinator/room.ts');\n`,
          'crypto/a.ts': `import { b } from './b.ts';\nexport const a = () => b;\n`,
          'crypto/b.ts': `import { a } from './a.ts';\nexport const b = () => a;\n`,
        },
        folder,
      ),
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('dynamic imports, circles, and imports of the model of cryptography outside simulations are found', () => {
    const choosing = [...outside.map((room) => `${room}/bad-model.ts`), 'cli/up/bad-model.ts'];
    expect(read.violations.map(({ rule, from }) => `${rule.name} ${from}`).sort()).toEqual(
      [
        'no-circles crypto/a.ts',
        // actors import no other room.
        'room-actors actors/bad-model.ts',
        'room-nodes nodes/dynamic.ts',
        ...choosing.map((path) => `model-crypto-only-simulated ${path}`),
      ].sort(),
    );
  });

  test('folders that import each other are found: beside each other, one in the other, by a type alone', () => {
    expect(read.rings).toEqual([
      ['nodes', 'nodes/signer'],
      ['report/one', 'report/two'],
    ]);
    expect(houseFaults(read)).toContain('folders that import each other: report/one, report/two');
  });

  test('a module is imported through its public file alone', () => {
    expect(read.trespasses.map(({ from }) => from).sort()).toEqual(Object.keys(trespasses).sort());
    expect(houseFaults(read)).toContain(
      'custody/bad.ts imports custody/connections/inside.ts: import custody/connections/public.ts',
    );
  });
});

test('every room of this repository stands under a rule', () => {
  const { forbidden } = JSON.parse(readFileSync(join(root, config), 'utf8')) as {
    forbidden: readonly { readonly name: string }[];
  };
  const names = forbidden.map(({ name }) => name).filter((name) => name.startsWith('room-'));
  expect(names.sort()).toEqual(product.map((room) => `room-${room}`).sort());
  const { include } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as { include: readonly string[] };
  expect([...include].sort()).toEqual([...rooms].sort());
});

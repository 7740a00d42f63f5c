/**
 * The proof that the check of floors and circles (tools/check/house.ts) can fail: a bad import is planted for each rule in
 * a small copy of the house. `npm test` and `npm run test:fast` run the check itself.
 */
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { houseFaults, readHouse, tooFew } from '../../tools/check/house.ts';
import { temporaryFolder } from '../cli/support/temporary.ts';
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

describe('floors', { timeout: 120_000 }, () => {
  test('every planted import that breaks a floor is found, type imports too', async () => {
    const modules: Record<string, string> = {};
    const expected: string[] = [];
    for (const [from, allowed] of Object.entries({ ...mayImport, cli: product })) {
      for (const to of rooms.filter((room) => room !== from && !allowed.includes(room))) {
        modules[`${from}/bad-${to}.ts`] = `import { x } from '../${to}/room.ts';\nexport const y: string = x;\n`;
        modules[`${from}/bad-type-${to}.ts`] =
          `import type { x } from '../${to}/room.ts';\nexport type Y = typeof x;\n`;
        const rules =
          to === 'bench' || to === 'test' ? [`room-${from}`, 'nothing-imports-test-or-bench'] : [`room-${from}`];
        for (const rule of rules) expected.push(`${rule} ${from}/bad-${to}.ts`, `${rule} ${from}/bad-type-${to}.ts`);
      }
    }
    const { violations } = await readHouse(house(modules));
    expect(violations.map(({ rule, from }) => `${rule.name} ${from}`).sort()).toEqual(expected.sort());
  });

  test('dynamic imports, circles, and imports of the model of cryptography outside simulations are found', async () => {
    const importing = (name: string) => `import { model } from '${name}';\nexport const y = model;\n`;
    const outside = ['crypto', 'nodes', 'coordinator', 'gateway', 'actors', 'fault-injection', 'cli'];
    const inside = ['sim', 'world', 'runner', 'bench', 'testing', 'test', 'cli/sim', 'cli/scenario'];
    const up = (place: string) => (place.includes('/') ? '../../' : '../');
    const { violations } = await readHouse(
      house({
        'nodes/dynamic.ts': `export const load = () => import('../coordinator/room.ts');\n`,
        'crypto/a.ts': `import { b } from './b.ts';\nexport const a = () => b;\n`,
        'crypto/b.ts': `import { a } from './a.ts';\nexport const b = () => a;\n`,
        'crypto/model/switch.ts': 'export const model = 1;\n',
        'cli/up/bad.ts': importing('../../crypto/model/switch.ts'),
        ...Object.fromEntries(outside.map((room) => [`${room}/bad.ts`, importing('../crypto/model/switch.ts')])),
        ...Object.fromEntries(
          inside.map((place) => [`${place}/good.ts`, importing(`${up(place)}crypto/model/switch.ts`)]),
        ),
        'cli/sim-run.ts': importing('../crypto/model/switch.ts'),
      }),
    );
    const found = (rule: string) =>
      violations.filter((violation) => violation.rule.name === rule).map(({ from }) => from);
    expect(found('room-nodes')).toEqual(['nodes/dynamic.ts']);
    expect(found('no-circles')).toEqual(['crypto/a.ts']);
    expect(found('model-crypto-only-simulated').sort()).toEqual(
      [...outside.map((room) => `${room}/bad.ts`), 'cli/up/bad.ts'].sort(),
    );
  });

  test('folders that import each other are found: beside each other, one in the other, by a type alone', async () => {
    const ring = house({
      'custody/wallets/a.ts': `import { b } from '../intents/b.ts';\nexport const a = b;\n`,
      'custody/intents/b.ts': 'export const b = 1;\n',
      'custody/intents/c.ts': `import type { d } from '../wallets/d.ts';\nexport type C = typeof d;\n`,
      'custody/wallets/d.ts': 'export const d = 1;\n',
      'nodes/main.ts': `import { part } from './signer/part.ts';\nexport const main = part;\n`,
      'nodes/signer/part.ts': `import { record } from '../record.ts';\nexport const part = record;\n`,
      'nodes/record.ts': 'export const record = 1;\n',
      'sim/invariants/deep/e.ts': `import { x } from '../../room.ts';\nexport const e = x;\n`,
    });
    const read = await readHouse(ring);
    const { violations, rings } = read;
    expect(violations).toEqual([]);
    expect(rings).toEqual([
      ['custody/intents', 'custody/wallets'],
      ['nodes', 'nodes/signer'],
    ]);
    expect(houseFaults(read)).toContain('folders that import each other: custody/intents, custody/wallets');
  });

  test('a module is imported through its public file alone', async () => {
    const importing = (path: string) => `import { x } from '${path}';\nexport const y = x;\n`;
    const typesOf = (path: string) => `import type { x } from '${path}';\nexport type Y = typeof x;\n`;
    const inside = (path: string) => `${path}/inside.ts`;
    const x = 'export const x = 1;\n';
    const bad = {
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
    const good = {
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
    const planted = house({ ...bad, ...good, ...Object.fromEntries(insides.map((path) => [path, x])) });
    const read = await readHouse(planted);
    const { trespasses } = read;
    expect(trespasses.map(({ from }) => from).sort()).toEqual(Object.keys(bad).sort());
    expect(houseFaults(read)).toContain(
      'custody/bad.ts imports custody/connections/inside.ts: import custody/connections/public.ts',
    );
  });

  test('a room of more than 8,000 lines is found; of a room of modules, a module', async () => {
    const lines = (count: number) => `${'//\n'.repeat(count - 1)}export const x = 1;\n`;
    const large = house({
      'store/a.ts': lines(4_000),
      'store/deep/b.ts': lines(4_000),
      'faults/a.ts': lines(7_999),
      'custody/wallets/a.ts': lines(8_001),
      'custody/intents/a.ts': lines(8_000),
      'test/a.ts': lines(9_000),
    });
    const read = await readHouse(large);
    const { tooLarge } = read;
    expect([...tooLarge].sort((a, b) => (a.room < b.room ? -1 : 1))).toEqual([
      { room: 'custody/wallets', lines: 8_001 },
      { room: 'store', lines: 8_001 },
    ]);
    expect(houseFaults(read)).toContain('custody/wallets has 8001 lines');
  });

  test('the allowed imports are allowed', async () => {
    const allowed = {
      ...mayImport,
      cli: product.filter((room) => room !== 'cli'),
      tools: product,
      test: rooms.filter((room) => room !== 'test'),
    };
    const modules = Object.entries(allowed).flatMap(([from, rooms]) =>
      rooms.map(
        (to) => [`${from}/good-${to}.ts`, `import { x } from '../${to}/room.ts';\nexport const y = x;\n`] as const,
      ),
    );
    const read = await readHouse(house(Object.fromEntries(modules)));
    expect([read.violations, tooFew(read), tooFew({ ...read, modules: 0 })]).toEqual([
      [],
      undefined,
      'dependency-cruiser read 0 modules, fewer than 100',
    ]);
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
});

/**
 * A gateway dies at every call that it makes of the store and of the provider, before the call took effect and after.
 * Another one finishes what it left, and the result is always that of an undisturbed run.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { IntentDependencies } from '../../../../wallets/custody/intents/dependencies.ts';
import type { IntentRecord } from '../../../../wallets/custody/intents/record.ts';
import type { WalletRecord } from '../../../../wallets/custody/wallets/record.ts';
import { isThorough } from '../../../support/thorough.ts';
import { until } from '../../../support/until.ts';
import { FakeProvider, failedOnChain, failedUnsent, feePaid, fillFee } from './support/fake-provider.ts';
import { type Death, Process, storeCalls } from './support/mortal.ts';
import { oneEth, startWorld, type World } from './support/world.ts';

let world: World;
let tenants = 0;

beforeAll(async () => {
  world = await startWorld();
});

afterAll(async () => {
  await world.stop();
});

interface Scene {
  readonly tenant: string;
  readonly wallet: WalletRecord;
  readonly receiver: WalletRecord;
  readonly provider: FakeProvider;
  readonly intents: readonly IntentRecord[];
}

async function setScene(count: number): Promise<Scene> {
  tenants += 1;
  const tenant = `tn_${tenants}`;
  const wallet = await world.wallet(tenant, { ETH: 10n * oneEth });
  const receiver = await world.wallet(`tn_${tenants}_receiver`, {});
  const destination = { address: receiver.addresses[0]!.address };
  const intents: IntentRecord[] = [];
  for (let index = 0; index < count; index += 1) intents.push(await world.intent(tenant, wallet, { destination }));
  return { tenant, wallet, receiver, provider: new FakeProvider(), intents };
}

function dependenciesOf(process: Process, { provider }: Scene): Partial<IntentDependencies> {
  const dependencies = world.dependencies();
  const adapter = provider.adapter();
  return {
    store: process.wrap(dependencies.store, storeCalls),
    addressBook: process.wrap(dependencies.addressBook, ['ownerOf']),
    adapters: new Map([['self_hosted', process.wrap(adapter, ['advance'])]]),
    fillGap: process.wrap({ fill: provider.fillGap }, ['fill']).fill,
  };
}

/** Enqueues the intents in order, each when the one before is under way, and waits until the process is dead or all ended. */
async function runFirst(scene: Scene, process: Process): Promise<void> {
  const driver = world.driver(dependenciesOf(process, scene));
  for (const intent of scene.intents) driver.enqueue(scene.tenant, intent, scene.wallet);
  await until(async () => process.isDead || (await allEnded(scene)), 'the end of the first process');
  await driver.stop(0);
}

async function runNext(scene: Scene, process: Process): Promise<void> {
  // What the dead process held falls due.
  world.clock.offsetMs += 60_000;
  const driver = world.driver(dependenciesOf(process, scene));
  driver.start();
  await until(async () => process.isDead || (await allEnded(scene)), 'the end of the next process');
  await driver.stop(0);
}

async function allEnded({ tenant, intents }: Scene): Promise<boolean> {
  const records = await Promise.all(intents.map(({ id }) => world.read(tenant, id)));
  return records.every(({ status }) => status === 'completed' || status === 'failed');
}

/**
 * One death at every call, and then two: the second one of the process that takes over. What a death after a call leaves stored
 * is what a death before the next call leaves: a thorough run tries both.
 */
async function everyDeath(
  set: () => Promise<Scene>,
  check: (scene: Scene) => Promise<void>,
  seconds: readonly (Death | undefined)[],
): Promise<number> {
  const undisturbed = new Process();
  const scene = await set();
  await runFirst(scene, undisturbed);
  await check(scene);
  for (let atCall = 1; atCall <= undisturbed.calls; atCall += 1) {
    for (const tookEffect of isThorough || atCall === 1 ? [false, true] : [true]) {
      for (const second of seconds) {
        const disturbed = await set();
        await runFirst(disturbed, new Process({ atCall, tookEffect }));
        if (second !== undefined) await runNext(disturbed, new Process(second));
        await runNext(disturbed, new Process());
        await check(disturbed);
      }
    }
  }
  return undisturbed.calls;
}

/** Second deaths differ in their call alone: every third one, and all in a thorough run. */
const onceOrTwice: readonly (Death | undefined)[] = [
  undefined,
  ...[2, 4, 5, 6, 7]
    .flatMap((atCall) => [
      { atCall, tookEffect: false },
      { atCall, tookEffect: true },
    ])
    .filter((_, index) => isThorough || index % 3 === 0),
];

async function balances({
  tenant,
  wallet,
  receiver,
}: Scene): Promise<{ sender: bigint; reserved: bigint; got: bigint }> {
  const { available: sender, reserved } = await world.balance(tenant, wallet.id, 'ETH');
  const { available: got } = await world.balance(`${tenant}_receiver`, receiver.id, 'ETH');
  return { sender, reserved, got };
}

/** Each status was announced once, by any process, and no version went unannounced. */
async function checkEvents({ tenant, intents }: Scene): Promise<void> {
  const { events } = await world.store.events(tenant, { afterSequence: 0, limit: 1000, types: [] });
  for (const { id } of intents) {
    const record = await world.read(tenant, id);
    const own = events.filter(({ resource }) => resource.id === id);
    const types = own.map(({ type }) => type).filter((type) => type !== 'transaction_intent.updated');
    expect(types).toEqual(record.statusHistory.map(({ status }) => `transaction_intent.${status}`));
    const versions = [...new Set(own.map(({ resource }) => resource.version))];
    expect(versions).toEqual(Array.from({ length: record.version }, (_, k) => k + 1));
  }
}

describe('a gateway that dies anywhere', () => {
  test('while a transfer goes well: it is made once, and both balances are right', async () => {
    const calls = await everyDeath(
      () => setScene(1),
      async (scene) => {
        expect(scene.provider.chain.size).toBe(1);
        expect([...scene.provider.usedBy(scene.wallet.id).keys()]).toEqual([0]);
        expect(await balances(scene)).toEqual({ sender: 9n * oneEth - feePaid, reserved: 0n, got: oneEth });
        await checkEvents(scene);
      },
      onceOrTwice,
    );
    expect(calls).toBeGreaterThan(7);
  });

  test('while a transfer fails on the chain: its fee is taken once', async () => {
    await everyDeath(
      async () => {
        const scene = await setScene(1);
        scene.provider.plan = () => failedOnChain();
        return scene;
      },
      async (scene) => {
        expect([...scene.provider.usedBy(scene.wallet.id).keys()]).toEqual([0]);
        expect(await balances(scene)).toEqual({ sender: 10n * oneEth - feePaid, reserved: 0n, got: 0n });
        await checkEvents(scene);
      },
      onceOrTwice,
    );
  });

  test('while a transfer fails unsent: its number is there for the next one', async () => {
    await everyDeath(
      async () => {
        const scene = await setScene(1);
        const [first] = scene.intents;
        scene.provider.plan = ({ intent }) => (intent.id === first!.id ? failedUnsent() : 'goes');
        return scene;
      },
      async (scene) => {
        expect(await balances(scene)).toEqual({ sender: 10n * oneEth, reserved: 0n, got: 0n });
        await checkEvents(scene);
        const next = await world.intent(scene.tenant, scene.wallet);
        const driver = world.driver(dependenciesOf(new Process(), scene));
        driver.enqueue(scene.tenant, next, scene.wallet);
        await world.reach(scene.tenant, next.id, 'completed');
        await driver.stop(0);
        expect([...scene.provider.usedBy(scene.wallet.id)]).toEqual([[0, next.id]]);
      },
      [undefined, { atCall: 5, tookEffect: true }],
    );
  });

  test('while one fails unsent and another waits for its number: no number is missing, none used twice', async () => {
    const fillers = new Set<number>();
    await everyDeath(
      async () => {
        const scene = await setScene(2);
        const { provider, intents } = scene;
        provider.plan = ({ intent }) => (intent.id === intents[0]!.id ? failedUnsent() : 'goes');
        return scene;
      },
      async (scene) => {
        const { provider, wallet, tenant, intents } = scene;
        const used = provider.usedBy(wallet.id);
        const failed = await world.read(tenant, intents[0]!.id);
        const filled = [...used.values()].filter((user) => user === 'filler').length;
        fillers.add(filled);
        expect([...used.keys()].sort((a, b) => a - b)).toEqual([...Array(1 + filled).keys()]);
        expect(failed.status).toBe('failed');
        expect(await balances(scene)).toEqual({
          sender: 9n * oneEth - feePaid - BigInt(filled) * fillFee,
          reserved: 0n,
          got: oneEth,
        });
        await checkEvents(scene);
      },
      [undefined, { atCall: 6, tookEffect: false }, { atCall: 9, tookEffect: true }],
    );
    expect(fillers).toContain(1);
  });
});

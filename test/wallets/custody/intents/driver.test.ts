/** The driver on a real Redis: transfers end with any gateway and after any failure on the way. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type TokenAssetRecord,
  termsOf,
  tokenAssetId,
  tokenAssetType,
} from '../../../../wallets/custody/assets/token-assets.ts';
import { intentView } from '../../../../wallets/custody/intents/view.ts';
import { walletType } from '../../../../wallets/custody/wallets/record.ts';
import { ProviderRejected } from '../../../../wallets/providers/port/port.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import { StoreUnavailable, type TenantStore } from '../../../../wallets/store/contract.ts';
import { until } from '../../../support/until.ts';
import { failedOnChain, failedUnsent, feePaid, feeReserve, fillFee } from './support/fake-provider.ts';
import { oneEth, somewhere, startWorld, type World } from './support/world.ts';

const tenant = 'tn_acme';
let world: World;

beforeEach(async () => {
  world = await startWorld();
});

afterEach(async () => {
  await world.stop();
});

/** No lease ends while a test runs, however busy the machine is. */
const longLeases = { leaseMs: 36_000_000, abandonAfterMs: 10 ** 9 };

/** What was said of an intent, in order. */
async function eventsOf(intentId: string): Promise<object[]> {
  const { events } = await world.store.events(tenant, {
    afterSequence: 0,
    limit: 1000,
    types: [],
    resourceId: intentId,
  });
  return events.map(({ type, resource, object }) => ({
    type: type.slice('transaction_intent.'.length),
    version: resource.version,
    subStatus: (object as { sub_status: string | null }).sub_status,
  }));
}

describe('a transfer that goes well', () => {
  test('passes every status and leaves the balance without amount and fee', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const driver = world.driver();
    const intent = await world.intent(tenant, wallet);
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({
      available: 4n * oneEth - feeReserve,
      reserved: oneEth + feeReserve,
    });
    driver.enqueue(tenant, intent, wallet);
    const done = await world.reach(tenant, intent.id, 'completed');
    expect(done.statusHistory.map(({ status }) => status)).toEqual([
      'created',
      'screening',
      'approved',
      'signing',
      'broadcasting',
      'confirming',
      'completed',
    ]);
    expect(done).toMatchObject({ version: 4, providerTxId: `tx-${intent.id}`, feePaid: { units: String(feePaid) } });
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({ available: 4n * oneEth - feePaid, reserved: 0n });
    const { events } = await world.store.events(tenant, { afterSequence: 0, limit: 100, types: [] });
    expect(events.map(({ type, resource }) => `${type} ${resource.version}`)).toEqual([
      'transaction_intent.created 1',
      'transaction_intent.screening 1',
      'transaction_intent.approved 1',
      'transaction_intent.signing 2',
      'transaction_intent.broadcasting 3',
      'transaction_intent.confirming 3',
      'transaction_intent.completed 4',
    ]);
    expect((await world.store.takeDue(tenant, world.clock.nowMs() + 10 ** 9, 1, 10)).members).toEqual([]);
  });
});

describe('many transfers', () => {
  test('of one wallet get the numbers from 0 without a hole, and all complete', async () => {
    const wallet = await world.wallet(tenant, { ETH: 30n * oneEth });
    const driver = world.driver();
    world.provider.confirmAfterMs = 5;
    const intents = await Promise.all(Array.from({ length: 20 }, () => world.intent(tenant, wallet)));
    for (const intent of intents) driver.enqueue(tenant, intent, wallet);
    for (const { id } of intents) await world.reach(tenant, id, 'completed');
    expect([...world.provider.usedBy(wallet.id).keys()].sort((a, b) => a - b)).toEqual([...Array(20).keys()]);
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({
      available: 10n * oneEth - 20n * feePaid,
      reserved: 0n,
    });
  });

  test('are taken once each, although two gateways sweep for them', async () => {
    const wallet = await world.wallet(tenant, { ETH: 50n * oneEth });
    const intents = await Promise.all(Array.from({ length: 40 }, () => world.intent(tenant, wallet)));
    world.clock.offsetMs += 3_000;
    world.driver().start();
    world.driver().start();
    for (const { id } of intents) await world.reach(tenant, id, 'completed');
    expect(world.provider.chain.size).toBe(40);
    expect([...world.provider.chain.values()].every(({ attempts }) => attempts === 1)).toBe(true);
  });

  test('are taken once each in effect, although two gateways are reported the same ones', async () => {
    const wallet = await world.wallet(tenant, { ETH: 50n * oneEth });
    const intents = await Promise.all(Array.from({ length: 40 }, () => world.intent(tenant, wallet)));
    const drivers = [world.driver(), world.driver()];
    for (const intent of intents) for (const driver of drivers) driver.enqueue(tenant, intent, wallet);
    for (const { id } of intents) await world.reach(tenant, id, 'completed');
    expect([...world.provider.usedBy(wallet.id).keys()].sort((a, b) => a - b)).toEqual([...Array(40).keys()]);
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({
      available: 10n * oneEth - 40n * feePaid,
      reserved: 0n,
    });
    const { events } = await world.store.events(tenant, {
      afterSequence: 0,
      limit: 1000,
      types: ['transaction_intent.completed'],
    });
    expect(new Set(events.map(({ resource }) => resource.id)).size).toBe(40);
    expect(events).toHaveLength(40);
  });

  test('are worked on in bounded number, and no tenant waits for the whole queue of another', async () => {
    const rich = await world.wallet('tn_busy', { ETH: 100n * oneEth });
    const other = await world.wallet('tn_quiet', { ETH: 5n * oneEth });
    const busy = await Promise.all(Array.from({ length: 40 }, () => world.intent('tn_busy', rich)));
    const quiet = await world.intent('tn_quiet', other);
    const order: string[] = [];
    world.provider.plan = ({ intent }) => {
      if (intent.submission === null) order.push(intent.id);
      return 'goes';
    };
    const driver = world.driver({}, { perProviderMax: 2 });
    for (const intent of busy) driver.enqueue('tn_busy', intent, rich);
    driver.enqueue('tn_quiet', quiet, other);
    for (const { id } of busy) await world.reach('tn_busy', id, 'completed');
    expect(world.provider.inHandMost).toBe(2);
    expect(order.indexOf(quiet.id)).toBeLessThan(5);
  });
});

describe('a provider', () => {
  test('that is away is asked again, and the intent says so meanwhile', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const intent = await world.intent(tenant, wallet);
    let open = false;
    world.provider.plan = () => (open ? 'goes' : 'away');
    world.driver().enqueue(tenant, intent, wallet);
    await until(() => world.provider.advances >= 4, 'four attempts');
    // Said once, with an event: the attempts after the first make no version.
    expect(await world.read(tenant, intent.id)).toMatchObject({
      status: 'signing',
      subStatus: 'AWAITING_QUORUM',
      version: 3,
    });
    expect(await eventsOf(intent.id)).toEqual([
      { type: 'created', version: 1, subStatus: null },
      { type: 'screening', version: 1, subStatus: null },
      { type: 'approved', version: 1, subStatus: null },
      { type: 'signing', version: 2, subStatus: null },
      { type: 'updated', version: 3, subStatus: 'AWAITING_QUORUM' },
    ]);
    open = true;
    const done = await world.reach(tenant, intent.id, 'completed');
    expect(done.subStatus).toBeNull();
    expect(world.provider.chain.size).toBe(1);
  });

  test('that stays away long after the expiry makes the intent fail, if nothing was submitted', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const intent = await world.intent(tenant, wallet);
    world.provider.plan = () => 'away';
    world.driver().enqueue(tenant, intent, wallet);
    await world.reach(tenant, intent.id, 'signing');
    world.clock.offsetMs += 24 * 3_600_000 + 3_600_000;
    const { advances } = world.provider;
    await until(() => world.provider.advances > advances + 1, 'attempts after the expiry');
    world.clock.offsetMs += 6 * 3_600_000;
    const failed = await world.reach(tenant, intent.id, 'failed');
    expect(failed.providerError?.code).toBe('provider_unavailable');
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({ available: 5n * oneEth, reserved: 0n });
  });

  test('that stays away never makes a submitted transfer fail', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const intent = await world.intent(tenant, wallet);
    world.provider.plan = ({ intent: { submission } }) => (submission === null ? 'goes' : 'away');
    world.driver().enqueue(tenant, intent, wallet);
    await world.reach(tenant, intent.id, 'confirming');
    world.clock.offsetMs += 100 * 3_600_000;
    const { advances } = world.provider;
    await until(() => world.provider.advances > advances + 2, 'more attempts');
    expect((await world.read(tenant, intent.id)).status).toBe('confirming');
  });

  test('that never answers delays other transfers no longer than its lease', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const [stuck, after] = [await world.intent(tenant, wallet), await world.intent(tenant, wallet)];
    world.provider.plan = ({ intent }) => (intent.id === stuck.id ? new Promise(() => {}) : 'goes');
    world.provider.numbered = false;
    const driver = world.driver({}, { perProviderMax: 1, times: { leaseMs: 100, abandonAfterMs: 10 ** 9 } });
    driver.enqueue(tenant, stuck, wallet);
    driver.enqueue(tenant, after, wallet);
    await world.reach(tenant, after.id, 'completed');
    expect(await world.read(tenant, stuck.id)).toMatchObject({ status: 'signing', subStatus: 'AWAITING_QUORUM' });
  });

  test('whose adapter breaks is logged and asked again', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const intent = await world.intent(tenant, wallet);
    let broken = true;
    world.provider.plan = () => {
      if (!broken) return 'goes';
      broken = false;
      throw new TypeError('undefined is not a function');
    };
    world.driver().enqueue(tenant, intent, wallet);
    await world.reach(tenant, intent.id, 'completed');
    expect(world.lines.some(({ level }) => level === 'error')).toBe(true);
  });
});

describe('a transfer that fails', () => {
  test('on the chain loses its fee and gets its amount back', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const intent = await world.intent(tenant, wallet);
    world.provider.plan = () => failedOnChain();
    world.driver().enqueue(tenant, intent, wallet);
    const failed = await world.reach(tenant, intent.id, 'failed');
    expect(failed).toMatchObject({ subStatus: 'FAILED_ON_CHAIN', providerError: { code: 'REVERTED' } });
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({ available: 5n * oneEth - feePaid, reserved: 0n });
  });

  test('before it was sent gives its number to the next one, when no other is on the way', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const first = await world.intent(tenant, wallet);
    world.provider.plan = ({ intent }) => (intent.id === first.id ? failedUnsent() : 'goes');
    const driver = world.driver();
    driver.enqueue(tenant, first, wallet);
    await world.reach(tenant, first.id, 'failed');
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({ available: 5n * oneEth, reserved: 0n });
    const second = await world.intent(tenant, wallet);
    driver.enqueue(tenant, second, wallet);
    await world.reach(tenant, second.id, 'completed');
    expect([...world.provider.usedBy(wallet.id)]).toEqual([[0, second.id]]);
  });

  test('before it was sent has its number filled, when others are on the way, and they complete', async () => {
    const wallet = await world.wallet(tenant, { ETH: 9n * oneEth });
    const first = await world.intent(tenant, wallet);
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.provider.fillerAway = 2;
    world.provider.plan = async ({ intent }) => {
      if (intent.id !== first.id) return 'goes' as const;
      await held;
      return failedUnsent();
    };
    const driver = world.driver();
    driver.enqueue(tenant, first, wallet);
    await world.reach(tenant, first.id, 'signing');
    const later = await Promise.all([world.intent(tenant, wallet), world.intent(tenant, wallet)]);
    for (const intent of later) driver.enqueue(tenant, intent, wallet);
    for (const { id } of later) await world.reach(tenant, id, 'confirming');
    release();
    for (const { id } of later) await world.reach(tenant, id, 'completed');
    const failed = await world.reach(tenant, first.id, 'failed');
    expect(failed).toMatchObject({ subStatus: 'REJECTED_BY_PROVIDER', feePaid: { units: String(fillFee) } });
    expect(intentView(failed).gap_transaction).toEqual({
      provider_tx_id: '0xfill0',
      raw_transaction: '0x02',
      signing_session_ids: ['sig_fill0'],
    });
    expect(failed.gap).toBeUndefined();
    expect(world.provider.usedBy(wallet.id).get(0)).toBe('filler');
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({
      available: 7n * oneEth - 2n * feePaid - fillFee,
      reserved: 0n,
    });
  });
});

describe('a provider that refuses', () => {
  const refuses = () => {
    throw new ProviderRejected('not this one', { issue: 'rejected', providerCode: 'E_17' });
  };

  test('a transfer makes it fail with the provider’s own words', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const intent = await world.intent(tenant, wallet);
    world.provider.plan = refuses;
    world.driver().enqueue(tenant, intent, wallet);
    expect(await world.reach(tenant, intent.id, 'failed')).toMatchObject({
      subStatus: 'REJECTED_BY_PROVIDER',
      providerError: { code: 'E_17', message: 'not this one' },
    });
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({ available: 5n * oneEth, reserved: 0n });
  });

  test('to fill a gap is asked again, until long after the expiry; then the intent fails all the same', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const [first, waits] = [await world.intent(tenant, wallet), await world.intent(tenant, wallet)];
    const started = until(async () => (await world.read(tenant, waits.id)).status === 'confirming', 'the later one');
    world.provider.plan = async ({ intent }) => {
      if (intent.id !== first.id) return 'goes' as const;
      await started;
      return failedUnsent();
    };
    let fillings = 0;
    const driver = world.driver({
      fillGap: async () => {
        fillings += 1;
        return refuses();
      },
    });
    driver.enqueue(tenant, first, wallet);
    await world.reach(tenant, first.id, 'signing');
    driver.enqueue(tenant, waits, wallet);
    await until(() => fillings > 1, 'two attempts to fill the gap');
    expect(await world.read(tenant, first.id)).toMatchObject({ status: 'signing', gap: 'filled' });
    world.clock.offsetMs += 31 * 3_600_000;
    expect(await world.reach(tenant, first.id, 'failed')).toMatchObject({ subStatus: 'REJECTED_BY_PROVIDER' });
  });
});

describe('a gap', () => {
  test('whose filler was mined although its answer was lost is never given away', async () => {
    const wallet = await world.wallet(tenant, { ETH: 9n * oneEth });
    const first = await world.intent(tenant, wallet);
    const later = await world.intent(tenant, wallet);
    const started = until(async () => (await world.read(tenant, later.id)).status === 'confirming', 'the later one');
    world.provider.plan = async ({ intent }) => {
      if (intent.id !== first.id) return 'goes' as const;
      await started;
      return failedUnsent();
    };
    let lost = true;
    world.provider.loseFillers = () => lost;
    const driver = world.driver();
    driver.enqueue(tenant, first, wallet);
    await world.reach(tenant, first.id, 'signing');
    driver.enqueue(tenant, later, wallet);
    // The filler lets it through: no transfer is pending any more when the gap is checked again.
    await world.reach(tenant, later.id, 'completed');
    const { fills } = world.provider;
    await until(() => world.provider.fills > fills, 'another look at the gap');
    lost = false;
    expect(await world.reach(tenant, first.id, 'failed')).toMatchObject({ feePaid: { units: String(fillFee) } });
    const next = await world.intent(tenant, wallet);
    driver.enqueue(tenant, next, wallet);
    await world.reach(tenant, next.id, 'completed');
    expect([...world.provider.usedBy(wallet.id)].sort(([a], [b]) => a - b)).toEqual([
      [0, 'filler'],
      [1, later.id],
      [2, next.id],
    ]);
  });
});

describe('an intent that awaits approval', () => {
  const pending = { kind: 'pendingApproval', quorum: 1, approvers: [], timeoutMs: 60_000 } as const;

  test('expires when its time is over, and what it held returns', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const intent = await world.intent(tenant, wallet, {}, pending);
    const driver = world.driver();
    world.clock.offsetMs += 59_000;
    await driver.sweep();
    expect((await world.read(tenant, intent.id)).status).toBe('pending_approval');
    world.clock.offsetMs += 2_000;
    await driver.sweep();
    await world.reach(tenant, intent.id, 'expired');
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({ available: 5n * oneEth, reserved: 0n });
    expect(world.provider.advances).toBe(0);
  });
});

describe('an approved intent', () => {
  test('that no gateway resumed for a day expires and is never signed', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const intent = await world.intent(tenant, wallet);
    world.clock.offsetMs += 24 * 3_600_000 + 1;
    await world.driver().sweep();
    await world.reach(tenant, intent.id, 'expired');
    expect(world.provider.advances).toBe(0);
  });

  test('of a wallet that was frozen meanwhile waits, and continues when it is active again', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth }, { status: 'frozen' });
    const intent = await world.intent(tenant, wallet);
    world.driver().enqueue(tenant, intent, wallet);
    await until(async () => (await world.read(tenant, intent.id)).subStatus === 'WALLET_NOT_ACTIVE', 'the hold');
    expect((await world.read(tenant, intent.id)).status).toBe('approved');
    const active = { ...wallet, status: 'active' as const, version: 2 };
    await world.store.commit(tenant, { puts: [update(walletType, wallet, active)] });
    world.clock.offsetMs += 10_000;
    world.driver().start();
    await world.reach(tenant, intent.id, 'completed');
  });
});

describe('a transfer of a token of the tenant', () => {
  const gold: TokenAssetRecord = {
    ...{ id: tokenAssetId('GOLD'), version: 1, status: 'frozen', symbol: 'GOLD', name: 'Gold', decimals: 2 },
    ...{ network: 'eip155:11155111', contract: somewhere, supplyCap: '1000' },
  };
  const put = (token: TokenAssetRecord, before?: TokenAssetRecord) =>
    world.store.commit(tenant, {
      puts: [before === undefined ? create(tokenAssetType, token) : update(tokenAssetType, before, token)],
    });
  const transfer = (address: string) => ({
    ...{ asset: 'GOLD', amount: '1', units: '100', token: termsOf(gold), destination: { address } },
  });

  test('that was frozen meanwhile waits, and continues when it is active again', async () => {
    await put(gold);
    const wallet = await world.wallet(tenant, { ETH: oneEth, GOLD: 100n });
    const intent = await world.intent(tenant, wallet, transfer(somewhere));
    world.driver().enqueue(tenant, intent, wallet);
    await until(async () => (await world.read(tenant, intent.id)).subStatus === 'TOKEN_FROZEN', 'the hold');
    expect(world.provider.advances).toBe(0);
    await put({ ...gold, status: 'active', version: 2 }, gold);
    world.clock.offsetMs += 10_000;
    world.driver().start();
    await world.reach(tenant, intent.id, 'completed');
  });

  test('is credited to a wallet of the tenant, and to no other tenant’s, which does not know the token', async () => {
    await put({ ...gold, status: 'active' });
    const wallet = await world.wallet(tenant, { ETH: oneEth, GOLD: 200n });
    for (const [owner, available] of [
      [tenant, 100n],
      ['tn_other', 0n],
    ] as const) {
      const receiver = await world.wallet(owner, {});
      const intent = await world.intent(tenant, wallet, transfer(receiver.addresses[0]!.address));
      world.driver().enqueue(tenant, intent, wallet);
      await world.reach(tenant, intent.id, 'completed');
      expect(await world.balance(owner, receiver.id, 'GOLD')).toEqual({ available, reserved: 0n });
    }
  });
});

describe('a receiver that is a wallet of ours', () => {
  test('is credited once, in whatever tenant it is', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const theirs = await world.wallet('tn_other', {});
    const { address } = theirs.addresses[0]!;
    const intent = await world.intent(tenant, wallet, { destination: { address } });
    world.driver().enqueue(tenant, intent, wallet);
    await world.reach(tenant, intent.id, 'completed');
    expect(await world.balance('tn_other', theirs.id, 'ETH')).toEqual({ available: oneEth, reserved: 0n });
  });
});

describe('a gateway that starts', () => {
  test('continues transfers that another left in the middle long before their leases end, and no job before its time', async () => {
    const wallet = await world.wallet(tenant, { ETH: 99n * oneEth });
    const intents = await Promise.all(Array.from({ length: 70 }, () => world.intent(tenant, wallet)));
    world.provider.plan = () => new Promise(() => {});
    const dead = world.driver({}, { perProviderMax: 99, times: longLeases });
    for (const intent of intents) dead.enqueue(tenant, intent, wallet);
    for (const { id } of intents) await world.reach(tenant, id, 'signing');
    let jobs = 0;
    const job = async () => {
      jobs += 1;
    };
    await world.store.commit(tenant, {
      due: [{ member: 'chore/1', atMs: world.clock.nowMs() + longLeases.leaseMs - 5_000 }],
    });
    world.provider.plan = () => 'goes';
    world.driver({}, { jobs: new Map([['chore/', job]]), times: longLeases }).start();
    for (const { id } of intents) await world.reach(tenant, id, 'completed');
    expect([...world.provider.usedBy(wallet.id).keys()].sort((a, b) => a - b)).toEqual([...Array(70).keys()]);
    expect(jobs).toBe(0);
    const left = (await world.store.takeDue(tenant, world.clock.nowMs() + 10 ** 9, 1, 100)).members;
    expect(left).toEqual(['chore/1']);
  });
});

describe('a driver that stops', () => {
  test('finishes the step in hand, starts none, and another continues', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const [first, second] = [await world.intent(tenant, wallet), await world.intent(tenant, wallet)];
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.provider.plan = async ({ intent }) => {
      if (intent.id === first.id) await held;
      return 'goes' as const;
    };
    const driver = world.driver({}, { perProviderMax: 1 });
    driver.enqueue(tenant, first, wallet);
    driver.enqueue(tenant, second, wallet);
    await until(() => world.provider.inHand === 1, 'the first step');
    let stopped = false;
    const stopping = driver.stop().then(() => {
      stopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(stopped).toBe(false);
    release();
    await stopping;
    expect((await world.read(tenant, first.id)).status).toBe('confirming');
    expect((await world.read(tenant, second.id)).status).toBe('approved');
    driver.enqueue(tenant, second, wallet);
    world.clock.offsetMs += 60_000;
    world.driver().start();
    for (const { id } of [first, second]) await world.reach(tenant, id, 'completed');
    expect(world.provider.chain.get(first.id)?.attempts).toBe(1);
  });

  test('waits for a step that hangs no longer than it is told', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const intent = await world.intent(tenant, wallet);
    world.provider.plan = () => new Promise(() => {});
    const driver = world.driver();
    driver.enqueue(tenant, intent, wallet);
    await until(() => world.provider.inHand === 1, 'the step');
    await driver.stop(20);
    expect(world.provider.inHand).toBe(1);
  });
});

describe('Redis away', () => {
  test('holds everything up, and it continues when Redis is back', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const intent = await world.intent(tenant, wallet);
    let away = 3;
    const flaky = new Proxy(world.store, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => {
          if (away > 0) {
            away -= 1;
            return Promise.reject(new StoreUnavailable('away'));
          }
          return value.apply(target, given);
        };
      },
    });
    world.driver({ store: flaky }).enqueue(tenant, intent, wallet);
    await world.reach(tenant, intent.id, 'completed');
  });
});

describe('a commit whose answer is lost', () => {
  test('is found to have taken hold, and the driver continues at once', async () => {
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const intent = await world.intent(tenant, wallet);
    let commits = 0;
    const lossy = new Proxy(world.store, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (name !== 'commit') return typeof value === 'function' ? value.bind(target) : value;
        return async (...given: Parameters<TenantStore['commit']>) => {
          const outcome = await target.commit(...given);
          commits += 1;
          // The answers of claim, progress and end are lost, each once.
          if (commits <= 3) throw new StoreUnavailable('no answer');
          return outcome;
        };
      },
    });
    world.driver({ store: lossy }).enqueue(tenant, intent, wallet);
    expect(await world.reach(tenant, intent.id, 'completed')).toMatchObject({ version: 4 });
    expect([...world.provider.usedBy(wallet.id)]).toEqual([[0, intent.id]]);
  });
});

describe('other work that falls due', () => {
  test('is done by its prefix, again when it failed, and at once when the driver is woken', async () => {
    const done: string[] = [];
    let failures = 1;
    const close = async (tenantId: string, member: string): Promise<void> => {
      if (failures > 0) {
        failures -= 1;
        throw new Error('not yet');
      }
      done.push(`${tenantId} ${member}`);
      await world.store.commit(tenantId, { due: [{ member, atMs: undefined }] });
    };
    const driver = world.driver({}, { jobs: new Map([['close/', close]]) });
    const atMs = world.clock.nowMs();
    await world.store.commit(tenant, { due: ['close/1', 'unknown/1'].map((member) => ({ member, atMs })) });
    driver.wake(tenant);
    await until(() => failures === 0, 'the first attempt');
    expect(done).toEqual([]);
    world.clock.offsetMs += 31_000;
    await driver.sweep();
    await until(() => done.length > 0, 'the second attempt');
    expect(done).toEqual([`${tenant} close/1`]);
  });
});

test('a job that fails is tried again within seconds, long before its lease ends', async () => {
  const member = 'chore/1';
  let runs = 0;
  const chore = async (tenant: string): Promise<void> => {
    runs += 1;
    if (runs < 4) throw new Error('not yet');
    await world.store.commit(tenant, { due: [{ member, atMs: undefined }] });
  };
  await world.store.commit('tn_chores', { due: [{ member, atMs: world.clock.nowMs() }] });
  world.driver({}, { jobs: new Map([['chore/', chore]]), times: longLeases }).start();
  await until(() => runs === 4, 'the fourth try');
  await until(
    async () => (await world.store.takeDue('tn_chores', Date.now() + 60_000, 0, 9)).members.length === 0,
    'no more work',
  );
});

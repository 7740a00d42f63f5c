/** The driver in virtual time, over a store of plain maps: what it holds, when it waits, and what it says of failures. */
import { expect, test } from 'vitest';
import type { IntentDependencies } from '../../../../wallets/custody/intents/dependencies.ts';
import { type DriverOptions, IntentDriver } from '../../../../wallets/custody/intents/driver.ts';
import { type IntentDraft, lastOf, openIntent } from '../../../../wallets/custody/intents/machine.ts';
import type { IntentRecord } from '../../../../wallets/custody/intents/record.ts';
import type { WalletRecord } from '../../../../wallets/custody/wallets/record.ts';
import type { ProviderAdapter, Transfer, TransferProgress } from '../../../../wallets/providers/port/port.ts';
import { ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import {
  type Change,
  type EarlyDue,
  StoreUnavailable,
  type TenantStore,
  type Versioned,
} from '../../../../wallets/store/contract.ts';
import { collectLog } from '../../../support/log.ts';
import { VirtualTimers } from '../../../support/virtual-timers.ts';
import { draft } from './support/draft.ts';
import { decided, proofs } from './support/proofs.ts';

const tenant = 'tn_acme';
const wallet = {
  id: 'wal_1',
  version: 1,
  status: 'active',
  provider: 'self_hosted',
  addresses: [{ network: 'eip155:11155111', address: '0x1' }],
  network: 'eip155:11155111',
} as unknown as WalletRecord;

/** Commits everything. */
class PlainStore {
  readonly records = new Map<string, Versioned>([[wallet.id, wallet]]);
  readonly due = new Map<string, number>();
  sweeps = 0;
  /** While true, nothing can be swept or claimed. */
  isAway = false;
  /** While true, no record can be read. */
  isUnreadable = false;

  read = async (_tenant: string, _type: unknown, id: string) => this.#recordOf(id);
  readMany = async (_tenant: string, _type: unknown, ids: readonly string[]) => ids.map((id) => this.#recordOf(id));
  numberOf = async () => undefined;

  commit = async (_tenant: string, { puts = [], due = [] }: Change) => {
    for (const { after } of puts) this.records.set(after.id, after);
    for (const { member, atMs } of due) {
      if (atMs === undefined) this.due.delete(member);
      else this.due.set(member, atMs);
    }
    return { committed: true, sequence: 1, allocated: undefined, balances: undefined } as const;
  };

  sweepDue = async (nowMs: number, handle: (tenant: string) => Promise<unknown>, byMs = nowMs) => {
    this.sweeps += 1;
    if (this.isAway) throw new Error('away');
    if ([...this.due.values()].some((atMs) => atMs <= byMs)) await handle(tenant);
    return false;
  };

  takeDue = async (_tenant: string, nowMs: number, leaseMs: number, limit: number, early?: EarlyDue) => {
    if (this.isAway) throw new Error('away');
    const isTaken = (member: string, atMs: number) =>
      atMs <= nowMs || (early !== undefined && member.startsWith(early.prefix) && atMs <= early.byMs);
    const members = [...this.due].flatMap(([member, atMs]) => (isTaken(member, atMs) ? [member] : [])).slice(0, limit);
    for (const member of members) this.due.set(member, nowMs + leaseMs);
    return { members, nextAtMs: undefined };
  };

  #recordOf(id: string) {
    if (this.isUnreadable) throw new StoreUnavailable('away');
    return this.records.get(id);
  }
}

function open(options: DriverOptions = {}) {
  const timers = new VirtualTimers();
  const store = new PlainStore();
  const { log, lines } = collectLog();
  /** Which intents the provider was asked about, in order. */
  const asked: string[] = [];
  const clock = { offsetMs: 0, nowMs: () => timers.nowMs() + clock.offsetMs };
  const answers = { to: (_transfer: Transfer): TransferProgress | Promise<TransferProgress> => completed };
  const adapter = {
    info: { hosting: 'hosted' },
    sequenceCounter: () => undefined,
    advance: async (_meta: unknown, transfer: Transfer) => {
      asked.push(transfer.intent.id);
      return answers.to(transfer);
    },
  } as unknown as ProviderAdapter;
  const deps = {
    store: store as unknown as TenantStore,
    adapters: new Map([['self_hosted', adapter]]),
    ...proofs,
    addressBook: { ownerOf: async () => undefined },
    clock,
    timers,
    random: (length: number) => new Uint8Array(length).fill(255),
    log,
  } as unknown as IntentDependencies;
  const driver = new IntentDriver(deps, options);
  /** Lets time pass, and lets what hangs on no timer go on. */
  const pass = async (ms: number): Promise<void> => {
    await goOn();
    await timers.advance(ms);
    await goOn();
  };
  return { timers, clock, pass, store, lines, asked, answers, driver };
}

const completed: TransferProgress = {
  stage: 'completed',
  providerTxId: 'tx',
  providerStatus: 'DONE',
  feePaid: { asset: 'ETH', units: 0n },
};
function goOn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const never = new Promise<TransferProgress>(() => {});

function confirming(againAtMs: number): TransferProgress {
  return {
    stage: 'confirming',
    providerTxId: 'tx',
    providerStatus: 'SEEN',
    subStatus: null,
    submission: {},
    againAtMs,
  };
}

function approved(id: string, over: Partial<IntentDraft> = {}): IntentRecord {
  return lastOf(openIntent(decided(tenant, { ...draft(id, wallet), ...over }), { kind: 'approved' }, 0));
}

test('holds as many transfers as it may, and leaves the others to the store', async () => {
  const { answers, asked, driver, pass } = open({ heldMax: 2 });
  answers.to = () => never;
  for (const id of ['txi_1', 'txi_2', 'txi_3']) driver.enqueue(tenant, approved(id), wallet);
  await pass(1);
  expect(asked).toEqual(['txi_1', 'txi_2']);
});

test('claims nothing that it has no room for', async () => {
  const { answers, asked, driver, pass, store } = open({ heldMax: 2 });
  answers.to = () => never;
  for (const id of ['txi_1', 'txi_2', 'txi_3']) {
    store.records.set(id, approved(id));
    store.due.set(`intent/${id}`, 0);
  }
  driver.start();
  await pass(2_000);
  expect(asked).toEqual(['txi_1', 'txi_2']);
  expect(store.due.get('intent/txi_3')).toBe(0);
});

test('a sweep ends when memory is full, although more is due, and two at once are one', async () => {
  const { answers, driver, pass, store } = open({ heldMax: 2 });
  answers.to = () => never;
  for (const id of ['txi_1', 'txi_2', 'txi_3']) {
    store.records.set(id, approved(id));
    store.due.set(`intent/${id}`, 0);
  }
  const { sweepDue } = store;
  store.sweepDue = async (...given) => {
    await sweepDue(...given);
    if (store.sweeps > 5) throw new Error('swept without an end');
    return true as never;
  };
  await Promise.all([driver.sweep(), driver.sweep()]);
  await pass(1);
  expect([store.sweeps, store.due.get('intent/txi_3')]).toEqual([1, 0]);
});

test('waits in memory for ten seconds at most, and leaves a longer wait to the store', async () => {
  for (const [waitMs, calls] of [
    [10_000, 2],
    [10_001, 1],
  ] as const) {
    const { answers, asked, driver, pass, timers } = open();
    answers.to = () => (asked.length === 1 ? confirming(waitMs) : completed);
    driver.enqueue(tenant, approved('txi_1'), wallet);
    await pass(waitMs - 1);
    expect(asked).toHaveLength(1);
    await pass(60_000);
    expect(asked).toHaveLength(calls);
    expect(timers.pending).toBe(0);
  }
});

test('pauses when a provider without news wants to be asked in the past', async () => {
  const { answers, asked, driver, pass, timers } = open();
  answers.to = () => (asked.length < 100 ? confirming(timers.nowMs() - 1) : completed);
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(1_000);
  expect(asked.length).toBeGreaterThan(10);
  expect(asked.length).toBeLessThan(30);
});

test('wakes each waiting transfer at its own time, whatever order they began to wait in', async () => {
  const { answers, asked, driver, pass, timers } = open();
  const waits = new Map([
    ['txi_1', 500],
    ['txi_2', 200],
    ['txi_3', 900],
  ]);
  answers.to = ({ intent }) => (intent.submission === null ? confirming(waits.get(intent.id)!) : completed);
  for (const id of waits.keys()) driver.enqueue(tenant, approved(id), wallet);
  await pass(1);
  asked.length = 0;
  for (const [untilMs, expected] of [
    [199, []],
    [200, ['txi_2']],
    [499, ['txi_2']],
    [500, ['txi_2', 'txi_1']],
    [899, ['txi_2', 'txi_1']],
    [900, ['txi_2', 'txi_1', 'txi_3']],
  ] as const) {
    await pass(untilMs - timers.nowMs());
    expect(asked).toEqual(expected);
  }
  expect(timers.pending).toBe(0);
});

test('a newer version of a waiting transfer is handled at once, an old one is not', async () => {
  const { answers, asked, driver, pass, store } = open();
  answers.to = () => confirming(5_000);
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(1);
  expect(asked).toHaveLength(1);
  const record = store.records.get('txi_1') as IntentRecord;
  driver.enqueue(tenant, record, wallet);
  await pass(1);
  expect(asked).toHaveLength(1);
  answers.to = () => completed;
  driver.enqueue(tenant, { ...record, version: record.version + 1 }, wallet);
  await pass(1);
  expect(asked).toHaveLength(2);
  // It is over: its wait wakes nothing.
  await pass(10_000);
  expect(asked).toHaveLength(2);
});

test('a version that comes while its transfer is being handled is handled next', async () => {
  const { answers, asked, driver, pass, store } = open();
  let release: (progress: TransferProgress) => void = () => {};
  answers.to = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(1);
  const record = store.records.get('txi_1') as IntentRecord;
  driver.enqueue(tenant, { ...record, version: record.version + 1 }, wallet);
  answers.to = () => completed;
  release(confirming(9_000));
  await pass(1);
  await pass(1);
  expect(asked).toHaveLength(2);
  expect((store.records.get('txi_1') as IntentRecord).status).toBe('completed');
});

test('an unreachable store is tried again with growing pauses, which start anew after a success', async () => {
  const { asked, driver, pass, store, timers } = open();
  store.isUnreadable = true;
  store.records.set('txi_1', approved('txi_1'));
  store.due.set('intent/txi_1', 0);
  const { read } = store;
  const readAtMs: number[] = [];
  store.read = async (...given) => {
    readAtMs.push(timers.nowMs());
    return read(...given);
  };
  const bare = { ...approved('txi_1'), walletId: wallet.id };
  driver.enqueue(tenant, bare, undefined as unknown as WalletRecord);
  await pass(2_000);
  expect(readAtMs).toEqual([0, 200, 600, 1_400]);
  expect(asked).toEqual([]);
  store.isUnreadable = false;
  await pass(2_000);
  expect(asked).toEqual(['txi_1']);
});

test('a sweep that fails is reported once, its recovery too, and what is due is then taken up', async () => {
  const { asked, driver, lines, pass, store } = open({ sweepEveryMs: 100 });
  store.records.set('txi_1', approved('txi_1'));
  store.due.set('intent/txi_1', 0);
  store.isAway = true;
  driver.start();
  await pass(1_000);
  expect(lines).toEqual([
    { level: 'warn', fields: { reason: 'away' }, message: 'the sweep for due work failed; retrying' },
  ]);
  store.isAway = false;
  await pass(1_000);
  expect(lines.slice(1).map(({ level, message }) => `${level}: ${message}`)).toEqual([
    'info: the sweep for due work succeeds again',
  ]);
  expect(asked).toEqual(['txi_1']);
  store.isAway = true;
  await pass(1_000);
  expect(lines).toHaveLength(3);
});

test('a tenant that is woken while its work cannot be claimed is reported, and swept for as before', async () => {
  const { driver, lines, pass, store } = open();
  store.isAway = true;
  driver.wake(tenant);
  await pass(1);
  expect(lines.map(({ message }) => message)).toEqual(['a tenant’s due work could not be claimed; retrying']);
});

test('a provider that is away for an hour makes no transfer fail: its fate is unknown', async () => {
  const { driver, store, asked, answers, pass } = open();
  answers.to = () => {
    throw new ProviderUnavailable('away');
  };
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(3_600_000);
  expect(asked.length).toBeGreaterThan(300);
  expect(store.records.get('txi_1')).toMatchObject({ status: 'signing', subStatus: 'PROVIDER_UNAVAILABLE' });
  answers.to = () => completed;
  await pass(10_000);
  expect(store.records.get('txi_1')).toMatchObject({ status: 'completed' });
});

test('a stopped driver sweeps, wakes and accepts nothing more, and leaves no timer', async () => {
  const { answers, asked, driver, pass, store, timers } = open();
  answers.to = () => confirming(5_000);
  driver.start();
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(1);
  await driver.stop();
  expect(timers.pending).toBe(0);
  const { sweeps } = store;
  store.records.set('txi_2', approved('txi_2'));
  store.due.set('intent/txi_2', 0);
  driver.wake(tenant);
  driver.start();
  driver.enqueue(tenant, approved('txi_3'), wallet);
  await pass(60_000);
  expect(asked).toEqual(['txi_1']);
  expect(store.sweeps).toBe(sweeps);
  expect(store.due.get('intent/txi_2')).toBe(0);
});

test('a restored store: what was held is dropped, and what another gateway has leased is taken up at once', async () => {
  const { answers, asked, driver, lines, pass, store, timers } = open();
  answers.to = () => confirming(timers.nowMs() + 5_000);
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(1);
  store.records.clear();
  store.due.clear();
  store.records.set(wallet.id, wallet);
  store.records.set('txi_2', approved('txi_2'));
  store.due.set('intent/txi_2', timers.nowMs() + 29_000);
  await driver.restored();
  await pass(1);
  expect(asked).toEqual(['txi_1', 'txi_2']);
  await pass(4_999);
  // Of the one that it held before, it knows nothing more.
  expect(asked.slice(2)).not.toContain('txi_1');
  store.isAway = true;
  await driver.restored();
  expect(lines.at(-1)).toMatchObject({ level: 'warn', fields: { reason: 'away' } });
});

test('a clock that was ahead and is set back delays nothing: what waits here, and what was left to the store', async () => {
  const { answers, asked, clock, driver, lines, pass, store } = open();
  clock.offsetMs = 3_600_000;
  answers.to = ({ intent }) => confirming(clock.nowMs() + (intent.id === 'txi_1' ? 5_000 : 20_000));
  driver.start();
  await pass(1);
  for (const id of ['txi_1', 'txi_2']) driver.enqueue(tenant, approved(id), wallet);
  await pass(1_000);
  expect(asked).toEqual(['txi_1', 'txi_2']);
  store.due.set('recon/later', clock.nowMs() + 5_000);
  clock.offsetMs = 0;
  await pass(1_000);
  expect(asked.slice(2).sort()).toEqual(['txi_1', 'txi_2']);
  // Once, and what has a schedule of its own stays.
  expect(lines.filter(({ message }) => message.startsWith('the clock was set back'))).toHaveLength(1);
  expect(store.due.get('recon/later')).toBe(3_606_001);
  await pass(4_500);
  expect(asked.slice(4)).toEqual(['txi_1']);
  await driver.stop();
});

test('what was in progress when the store was restored is not continued', async () => {
  for (const outcome of [confirming(100), new ProviderUnavailable('no', 1), new StoreUnavailable('away')]) {
    const { answers, asked, driver, pass, store } = open();
    let settle: () => void = () => {};
    answers.to = () =>
      new Promise((resolve) => {
        settle = () => {
          if (outcome instanceof StoreUnavailable) store.commit = () => Promise.reject(outcome);
          resolve(outcome instanceof Error ? Promise.reject(outcome) : outcome);
        };
      });
    driver.enqueue(tenant, approved('txi_1'), wallet);
    await pass(1);
    store.due.clear();
    await driver.restored();
    settle();
    await pass(60_000);
    expect(asked).toEqual(['txi_1']);
  }
});

test('more than 256 transfers of a tenant wait only while the last would start within three seconds', async () => {
  const busy = open({ perProviderMax: 1 });
  const ended: (() => void)[] = [];
  busy.answers.to = () => new Promise((resolve) => ended.push(() => resolve(completed)));
  const push = (from: number, to: number) => {
    for (let index = from; index < to; index += 1) busy.driver.enqueue(tenant, approved(`txi_${index}`), wallet);
  };
  // The first is being handled; 256 wait.
  push(0, 257);
  await busy.pass(2_000);
  expect(busy.driver.pressureOf(tenant)).toBeUndefined();
  push(257, 258);
  expect(busy.driver.pressureOf(tenant)).toBe('257 transfers of this tenant are already waiting');
  expect(busy.driver.pressureOf('tn_other')).toBeUndefined();
  // At a fast pace as many may wait.
  const quick = open({ perProviderMax: 1 });
  quick.answers.to = () => new Promise((resolve) => quick.timers.start(1, () => resolve(completed)));
  for (let index = 0; index < 700; index += 1) quick.driver.enqueue(tenant, approved(`txi_${index}`), wallet);
  await quick.pass(400);
  expect(quick.asked.length).toBeGreaterThan(200);
  expect(quick.asked.length).toBeLessThan(440);
  expect(quick.driver.pressureOf(tenant)).toBeUndefined();
});

test('a transfer that is over makes room for the next one', async () => {
  const { asked, driver, lines, pass } = open({ perProviderMax: 1, heldMax: 2 });
  for (const id of ['txi_1', 'txi_2', 'txi_3']) driver.enqueue(tenant, approved(id), wallet);
  await pass(1);
  // The third found no room, and may come again.
  expect(asked).toEqual(['txi_1', 'txi_2']);
  driver.enqueue(tenant, approved('txi_3'), wallet);
  await pass(1);
  expect(asked).toEqual(['txi_1', 'txi_2', 'txi_3']);
  expect(lines).toEqual([]);
});

test('a step that breaks is logged with its stack, and its transfer is left to the store', async () => {
  const { asked, driver, lines, pass, store, timers } = open({ heldMax: 1 });
  const { commit } = store;
  store.commit = () => Promise.reject(new Error('broken'));
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(60_000);
  expect(lines).toEqual([
    {
      level: 'error',
      fields: { intent: 'txi_1', reason: expect.stringContaining('at ') },
      message: 'an intent could not be advanced; it is retried when due',
    },
  ]);
  expect([asked, timers.pending]).toEqual([[], 0]);
  store.commit = commit;
  driver.enqueue(tenant, approved('txi_2'), wallet);
  await pass(1);
  expect(asked).toEqual(['txi_2']);
});

test('after the store answered once, the pauses of its next failure begin anew', async () => {
  const { answers, asked, driver, pass, store, timers } = open();
  const { commit } = store;
  const failedAtMs: number[] = [];
  const away = () => {
    failedAtMs.push(timers.nowMs());
    return Promise.reject(new StoreUnavailable('away'));
  };
  answers.to = () => confirming(timers.nowMs() + 1_000);
  store.commit = away;
  store.records.set('txi_1', approved('txi_1'));
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(700);
  expect(failedAtMs).toEqual([0, 200, 600]);
  store.commit = commit;
  await pass(800);
  expect(asked).toHaveLength(1);
  store.commit = away;
  answers.to = () => completed;
  await pass(1_150);
  expect(failedAtMs.slice(3)).toEqual([2_400, 2_600]);
});

test('a stop waits for the step in progress, and then for nothing', async () => {
  const { answers, driver, pass } = open();
  let settle: (progress: TransferProgress) => void = () => {};
  answers.to = () =>
    new Promise((resolve) => {
      settle = resolve;
    });
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(1);
  let isStopped = false;
  const stopped = driver.stop(1_000).then(() => {
    isStopped = true;
  });
  await pass(500);
  expect(isStopped).toBe(false);
  settle(completed);
  await stopped;
});

test('work of an unknown kind is left alone, and a job of a known kind is done once', async () => {
  const done: string[] = [];
  const { driver, lines, pass, store } = open({
    jobs: new Map([['chore/', async (of: string, member: string) => void done.push(`${of} ${member}`)]]),
  });
  store.due.set('chore/1', 0);
  store.due.set('unknown/1', 0);
  driver.start();
  await pass(2_000);
  expect([done, lines]).toEqual([[`${tenant} chore/1`], []]);
});

test('an intent that is over falls due no more; one in a status that is never stored is reported, and stays due', async () => {
  const { asked, driver, lines, pass, store } = open();
  store.records.set('txi_1', { ...approved('txi_1'), status: 'cancelled' } as IntentRecord);
  store.records.set('txi_2', { ...approved('txi_2'), status: 'screening' } as IntentRecord);
  for (const id of ['txi_1', 'txi_2']) store.due.set(`intent/${id}`, 0);
  driver.start();
  await pass(1_000);
  expect([asked, [...store.due.keys()]]).toEqual([[], ['intent/txi_2']]);
  expect(lines).toMatchObject([
    { level: 'error', fields: { intent: 'txi_2', reason: expect.stringContaining('screening') } },
  ]);
  expect(lines[0]!.message).toBe('an intent could not be advanced; it is retried when due');
});

test('what was queued or in progress when the store was restored does not disturb its successor', async () => {
  for (const error of [undefined, new Error('broken')]) {
    const { answers, asked, driver, lines, pass, store } = open({ perProviderMax: 2 });
    const ends: (() => void)[] = [];
    answers.to = () => new Promise((resolve) => ends.push(() => resolve(completed)));
    for (const id of ['txi_1', 'txi_2', 'txi_3']) driver.enqueue(tenant, approved(id), wallet);
    await pass(1);
    store.due.clear();
    store.due.set('intent/txi_1', 0);
    store.records.set('txi_1', approved('txi_1'));
    await driver.restored();
    ends[1]!();
    await pass(1);
    // The third is dropped; the first begins anew from what is stored.
    expect(asked).toEqual(['txi_1', 'txi_2', 'txi_1']);
    const record = store.records.get('txi_1') as IntentRecord;
    const { commit } = store;
    if (error !== undefined) store.commit = () => Promise.reject(error);
    ends[0]!();
    await pass(1);
    store.commit = commit;
    driver.enqueue(tenant, { ...record, version: record.version + 1 }, wallet);
    await pass(1);
    // Its newer version waits for the step in progress.
    expect([asked.length, lines]).toEqual([3, []]);
  }
});

test('after a clock was set back, a wait that ends later than those before it ends in time', async () => {
  const { answers, asked, clock, driver, pass } = open();
  clock.offsetMs = 2_000;
  answers.to = () => confirming(clock.nowMs() + (asked.length === 1 ? 5_000 : 9_000));
  driver.start();
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(1_000);
  clock.offsetMs = 0;
  await pass(1_000);
  expect(asked).toHaveLength(2);
  await pass(9_000);
  expect(asked).toHaveLength(3);
});

test('a wait that a newer version has ended wakes its transfer no more', async () => {
  const { answers, asked, driver, pass, store, timers } = open();
  answers.to = () => confirming(timers.nowMs() + (asked.length === 1 ? 500 : 5_000));
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(100);
  const record = store.records.get('txi_1') as IntentRecord;
  driver.enqueue(tenant, { ...record, version: record.version + 1 }, wallet);
  await pass(4_999);
  expect(asked).toHaveLength(2);
  await pass(1);
  expect(asked).toHaveLength(3);
});

test('a transfer without news stays with its gateway, which writes that less often than it asks', async () => {
  const { answers, asked, driver, pass, store, timers } = open();
  answers.to = () => confirming(timers.nowMs() + 500);
  let commits = 0;
  const { commit } = store;
  store.commit = async (...given) => {
    commits += 1;
    return commit(...given);
  };
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(1);
  for (let tries = 0; tries < 20; tries += 1) {
    expect(store.due.get('intent/txi_1')).toBeGreaterThan(timers.nowMs() + 1_000);
    await pass(500);
  }
  expect(asked).toHaveLength(21);
  // The beginning and the news of the first answer are two.
  expect(commits - 2).toBeLessThan(12);
});

test('a transfer that another gateway has begun to sign meanwhile is left to it', async () => {
  const { asked, driver, lines, pass, store } = open();
  store.records.set('txi_1', { ...approved('txi_1'), version: 2, status: 'signing' } as IntentRecord);
  const refused = { committed: false, refusal: { kind: 'conflict', id: 'txi_1' } } as const;
  store.commit = (async () => refused) as unknown as typeof store.commit;
  driver.enqueue(tenant, approved('txi_1'), wallet);
  await pass(60_000);
  expect([asked, lines]).toEqual([[], []]);
});

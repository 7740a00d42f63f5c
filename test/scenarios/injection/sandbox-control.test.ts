/** What the control answers, over processes that only pretend. */
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ControlFault, ControlMethod, ControlTakes } from '../../../scenarios/faults/control.ts';
import { faultEngine } from '../../../scenarios/faults/engine.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { FaultInjector } from '../../../scenarios/injection/fault-injector.ts';
import { LinkProxy } from '../../../scenarios/injection/link-proxy.ts';
import type {
  ProcessControl,
  ProcessStatus,
  SnapshotControl,
  StoredClocks,
} from '../../../scenarios/injection/ports.ts';
import { SandboxController } from '../../../scenarios/injection/sandbox-control.ts';
import { until } from '../../support/until.ts';

const injectors: FaultInjector[] = [];
afterEach(async () => {
  await Promise.all(injectors.splice(0).map((injector) => injector.stop()));
});

const names = ['redis', 'coordinator', 'node/1', 'node/2', 'node/3', 'gateway', 'worker'];

function controlled({ ownsRedis = true, clocks }: { ownsRedis?: boolean; clocks?: StoredClocks } = {}) {
  const calls: string[] = [];
  const said: string[] = [];
  const states = new Map<string, ProcessStatus['state']>(names.map((name) => [name, 'running']));
  const processes: ProcessControl = {
    list: () =>
      names.map(
        (process) =>
          ({
            process,
            state: states.get(process)!,
            pid: 1,
            restarts: 0,
            startedMs: 0,
            residentBytes: null,
            cpuMs: null,
            together: [process],
          }) as const,
      ),
    crash: async (process, { loseState, restartAfterMs }) => {
      calls.push(`crash ${process} ${loseState} ${restartAfterMs}`);
      states.set(process, 'down');
    },
    restart: async (process) => {
      calls.push(`restart ${process}`);
      states.set(process, 'running');
    },
    pause: (process) => {
      calls.push(`pause ${process}`);
      states.set(process, 'paused');
      return true;
    },
    resume: (process) => {
      calls.push(`resume ${process}`);
      states.set(process, 'running');
    },
    setClock: async (process, offsetMs) => {
      calls.push(`clock ${process} ${offsetMs}`);
    },
  };
  const snapshot = { id: 'snp_1', name: 'first', takenMs: 1, bytes: 10 };
  const snapshots: SnapshotControl = {
    take: async (name, clockOffsetMs) => {
      calls.push(`take ${name} ${clockOffsetMs}`);
      return { ...snapshot, name };
    },
    list: () => [snapshot],
    restore: async (id) => {
      calls.push(`restore ${id}`);
      await Promise.resolve();
      calls.push(`restored ${id}`);
      return snapshot;
    },
    clockOffsetMs: () => 7,
    delete: (id) => {
      calls.push(`delete ${id}`);
      return snapshot;
    },
    reset: async () => {
      calls.push('reset');
    },
  };
  const engine = faultEngine({
    nodesTotal: 3,
    random: (length) => new Uint8Array(length),
    roster: { clusterId: 'c', nodes: [], coordinator: new Uint8Array(32), gateway: new Uint8Array(32) },
    identitySeed: () => undefined,
    world: 'live',
  });
  const queue = {
    doubleDelivery: async () => {
      calls.push('double');
    },
    poisonJob: () => Promise.reject(new Error('the queue is away')),
  };
  const injector = new FaultInjector({
    ...{ engine, nodesTotal: 3, processes, queue, ownsRedis, coordinatorUrl: () => 'ws://127.0.0.1:9' },
    handshakeOf: () => {
      throw new Error('no node has a second process here');
    },
    say: (line) => said.push(line),
    ...(clocks && { clocks }),
  });
  injectors.push(injector);
  const control = new SandboxController({
    ...{ injector, processes, snapshots: ownsRedis ? snapshots : undefined },
    about: { world: 'process', clusters: [{ number: 1, threshold: 2, nodes: 3 }] },
  });
  const refusal = async <M extends ControlMethod>(method: M, takes: ControlTakes<M>): Promise<ControlFault> => {
    const answer = await control.answer({ kind: 'control', id: 1, method, takes });
    if (answer.fault === undefined) throw new Error(`${method} was followed`);
    return answer.fault;
  };
  const arm = (fault: Fault, expiresInMs = 60_000) => control.ask('faults.create', { fault, expiresInMs });
  return { control, calls, said, refusal, arm };
}

describe('faults', () => {
  test('are armed, listed, removed by id and all at once', async () => {
    const { control, arm } = controlled();
    const { fault } = await arm({ fault: 'drop', target: 'node/1' });
    await arm({ fault: 'drop', target: 'node/2', id: 'mine' });
    expect((await control.ask('faults.list', {})).faults.map(({ id, state }) => [id, state])).toEqual([
      [fault.id, 'holding'],
      ['mine', 'holding'],
    ]);
    expect((await control.ask('faults.delete', { id: 'mine' })).fault).toMatchObject({ id: 'mine', state: 'over' });
    expect(await control.ask('faults.reset', {})).toEqual({ removed: 1 });
    const { events } = await control.ask('recording.read', { after: 0, limit: 100 });
    expect(events.flatMap((event) => (event.kind === 'fault' ? [`${event.id} ${event.what}`] : []))).toEqual([
      `${fault.id} armed`,
      'mine armed',
      'mine ended',
      `${fault.id} ended`,
    ]);
  });

  test('expire by themselves, and end what they hold', async () => {
    const { control, calls, arm } = controlled();
    await arm({ fault: 'pause', target: 'node/1', for_ms: 60_000 }, 20);
    await until(() => calls.includes('resume node/1'), 'the end of the pause');
    expect(calls).toEqual(['pause node/1', 'resume node/1']);
    expect((await control.ask('faults.list', {})).faults[0]).toMatchObject({ state: 'over' });
  });

  test('that are armed again under the same name live as long as they say', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { control, arm } = controlled();
    await arm({ fault: 'drop', target: 'node/1', id: 'x' }, 30);
    await control.ask('faults.delete', { id: 'x' });
    await arm({ fault: 'drop', target: 'node/1', id: 'x' }, 60_000);
    vi.advanceTimersByTime(60);
    expect((await control.ask('faults.list', {})).faults[0]).toMatchObject({ id: 'x', state: 'holding' });
  });

  test('end in time without a frame passing', async () => {
    const { calls, arm } = controlled();
    await arm({ fault: 'redis_gone', for_ms: 20 });
    await until(() => calls.includes('resume redis'), 'Redis is back');
    expect(calls).toEqual(['pause redis', 'resume redis']);
  });

  test('of clocks and the receiver are carried out, and told', async () => {
    const { control, calls, arm } = controlled();
    await arm({ fault: 'clock_skew', target: 'node/1', by_ms: 500 });
    await control.ask('clock.advance', { byMs: 1_000 });
    expect(calls).toContain('clock node/1 500');
    expect(calls).toContain('clock node/1 1500');
    expect(calls).toContain('clock gateway 1000');
    expect(calls.some((call) => call.startsWith('clock redis'))).toBe(false);
    await arm({ fault: 'receiver_status', status: 503 });
    expect(await control.ask('receiver.get', {})).toEqual({ behaviour: { status: 503 } });
    await control.ask('faults.reset', {});
    expect(await control.ask('receiver.get', {})).toEqual({ behaviour: null });
  });

  test('that cannot be carried out are said, and stop nothing', async () => {
    const { said, arm } = controlled();
    await arm({ fault: 'poison_job' });
    await until(() => said.length > 0, 'the complaint');
    expect(said).toEqual(['a fault could not be carried out: the queue is away']);
  });

  test('that make no sense are refused with their field', async () => {
    const { refusal, arm } = controlled();
    const create = (fault: Fault) => refusal('faults.create', { fault, expiresInMs: 1_000 });
    expect(await create({ fault: 'store_slow', target: 'node/1', by_ms: 5 })).toMatchObject({
      ...{ code: 'unsupported', field: 'fault' },
    });
    expect(await create({ fault: 'crash', target: ['node/1', 'gateway'], restart_after_ms: null })).toMatchObject({
      ...{ code: 'unsupported', field: 'restart_after_ms' },
    });
    expect(await create({ fault: 'drop', target: 'node/9' })).toMatchObject({ code: 'invalid' });
    await arm({ fault: 'drop', target: 'node/1', id: 'x' });
    expect(await create({ fault: 'drop', target: 'node/1', id: 'x' })).toMatchObject({ code: 'conflict', field: 'id' });
    expect(await refusal('faults.delete', { id: 'unknown' })).toMatchObject({ code: 'not_found' });
  });
});

describe('processes', () => {
  test('are crashed, paused, resumed and restarted', async () => {
    const { control, calls } = controlled();
    const act = (action: 'crash' | 'restart' | 'pause' | 'resume', more = {}) =>
      control.ask('processes.act', { process: 'worker', action, ...more });
    expect((await act('pause')).process).toMatchObject({ process: 'worker', state: 'paused', linked: null });
    expect((await act('resume')).process.state).toBe('running');
    expect((await act('crash')).process.state).toBe('down');
    await act('crash', { restartAfterMs: null });
    expect((await act('restart')).process.state).toBe('running');
    expect(calls).toEqual([
      'pause worker',
      'resume worker',
      'crash worker false 100',
      'crash worker false null',
      'restart worker',
    ]);
  });

  test('that are not there, or have no store, are refused', async () => {
    const { control, refusal } = controlled();
    const act = { action: 'crash' } as const;
    expect(await refusal('processes.act', { process: 'node/9', ...act })).toMatchObject({ code: 'not_found' });
    expect(await refusal('processes.act', { process: 'coordinator', ...act, loseState: true })).toMatchObject({
      ...{ code: 'invalid', field: 'lose_state' },
    });
    await control.ask('processes.act', { process: 'node/1', action: 'crash', loseState: true, restartAfterMs: null });
    expect(await refusal('processes.act', { process: 'node/1', action: 'pause' })).toMatchObject({ code: 'conflict' });
  });

  test('the gateway is answered first, and is never left in a state that the API cannot end', async () => {
    const { control, calls, refusal } = controlled();
    const gateway = { process: 'gateway' } as const;
    expect(await refusal('processes.act', { ...gateway, action: 'pause' })).toMatchObject({ code: 'conflict' });
    expect(await refusal('processes.act', { ...gateway, action: 'crash', restartAfterMs: null })).toMatchObject({
      ...{ code: 'conflict', field: 'restart_after_ms' },
    });
    const { process } = await control.ask('processes.act', { ...gateway, action: 'crash' });
    expect(process.state).toBe('running');
    expect(calls).toEqual([]);
    await until(() => calls.length > 0, 'the crash');
    expect(calls).toEqual(['crash gateway false 100']);
  });
});

test('what a fault has made late arrives when it ends, by itself or with all; after the end of others nothing hurries', async () => {
  const hurry = vi.spyOn(LinkProxy.prototype, 'hurry');
  const { control, arm } = controlled();
  await arm({ fault: 'drop', target: 'node/1', id: 'drop' });
  await arm({ fault: 'delay', target: 'node/1', by_ms: 60_000, id: 'delay' });
  await control.ask('faults.delete', { id: 'drop' });
  expect(hurry).toHaveBeenCalledTimes(0);
  await control.ask('faults.delete', { id: 'delay' });
  expect(hurry).toHaveBeenCalledTimes(1);
  await control.ask('faults.delete', { id: 'delay' });
  expect(hurry).toHaveBeenCalledTimes(1);
  await control.ask('faults.reset', {});
  expect(hurry).toHaveBeenCalledTimes(2);
  hurry.mockRestore();
});

describe('the whole cluster', () => {
  test('a restore ends faults, and has the later of two clocks: that of the snapshot, before the restored processes start …', async () => {
    const { control, calls, refusal, arm } = controlled();
    await arm({ fault: 'pause', target: 'node/1', for_ms: 60_000 });
    await control.ask('clock.advance', { byMs: 3 });
    expect((await control.ask('snapshots.take', { name: 'now' })).snapshot.name).toBe('now');
    await control.ask('snapshots.restore', { id: 'snp_1' });
    expect(calls.lastIndexOf('clock node/1 7')).toBeLessThan(calls.indexOf('restore snp_1'));
    expect(calls.lastIndexOf('clock node/1 7')).toBe(calls.findLastIndex((call) => call.startsWith('clock node/1')));
    expect(calls.filter((call) => !call.startsWith('clock'))).toEqual([
      'pause node/1',
      'take now 3',
      'resume node/1',
      'restore snp_1',
      'restored snp_1',
    ]);
    expect((await control.ask('clock.get', {})).offsetMs).toBe(7);
    expect(await refusal('snapshots.restore', { id: 'snp_2' })).toMatchObject({ code: 'not_found' });
  });

  test('… or the running one: events never run backwards', async () => {
    const { control } = controlled();
    await control.ask('clock.advance', { byMs: 90_000_000 });
    await control.ask('snapshots.restore', { id: 'snp_1' });
    expect((await control.ask('clock.get', {})).offsetMs).toBe(90_000_000);
  });

  test('clocks outlive the process that moves them, each before it moves, until a reset', async () => {
    const stored: unknown[] = [];
    const first = controlled({ clocks: { offsetMs: 0, ownMs: {}, store: (...clocks) => stored.push(clocks) } });
    await first.arm({ fault: 'clock_jump', target: 'worker', by_ms: 500 });
    await first.control.ask('clock.advance', { byMs: 3 });
    expect(stored).toEqual([
      [0, { worker: 500 }],
      [3, { worker: 500 }],
    ]);
    const later = controlled({
      clocks: { offsetMs: 3, ownMs: { worker: 500 }, store: (...clocks) => stored.push(clocks) },
    });
    const offsetOf = async (name: string) =>
      (await later.control.ask('processes.list', {})).processes.find(({ process }) => process === name)?.clockOffsetMs;
    expect([await offsetOf('worker'), await offsetOf('gateway')]).toEqual([503, 3]);
    await later.arm({ fault: 'clock_jump', target: 'worker', by_ms: 20 });
    await later.control.ask('clock.advance', { byMs: 4 });
    expect([await offsetOf('worker'), await offsetOf('gateway')]).toEqual([527, 7]);
    expect(stored.at(-1)).toEqual([7, { worker: 520 }]);
    await later.control.ask('reset', {});
    expect([await offsetOf('worker'), await offsetOf('gateway')]).toEqual([0, 0]);
    expect(stored.at(-1)).toEqual([0, {}]);
  });

  test('a snapshot is deleted after the restore that uses it', async () => {
    const { control, calls } = controlled();
    const { id } = (await control.ask('snapshots.list', {})).snapshots[0]!;
    await Promise.all([control.ask('snapshots.restore', { id }), control.ask('snapshots.delete', { id })]);
    expect(calls.filter((call) => call.endsWith(id))).toEqual([`restore ${id}`, `restored ${id}`, `delete ${id}`]);
  });

  test('a reset ends faults and rights every clock', async () => {
    const { control, calls, arm } = controlled();
    await arm({ fault: 'clock_jump', target: 'node/1', by_ms: 500 });
    await arm({ fault: 'pause', target: 'node/2', for_ms: 60_000 });
    await control.ask('clock.advance', { byMs: 3 });
    const { processes } = await control.ask('processes.list', {});
    const offsets = processes.map(({ process, clockOffsetMs }) => [process, clockOffsetMs]);
    // The clock of Redis stays right: nothing sets it.
    expect(Object.fromEntries(offsets)).toMatchObject({ redis: 0, coordinator: 3, 'node/1': 503, 'node/2': 3 });
    calls.length = 0;
    await control.ask('reset', {});
    expect(calls).toContain('clock node/1 0');
    expect(calls).toContain('resume node/2');
    expect(calls.at(-1)).toBe('reset');
    expect((await control.ask('clock.get', {})).offsetMs).toBe(0);
  });

  test('a clock does not go back, nor beyond all measure', async () => {
    const { refusal } = controlled();
    for (const byMs of [-1, Number.NaN, 1e15]) {
      expect(await refusal('clock.advance', { byMs })).toMatchObject({ code: 'invalid', field: 'advance_ms' });
    }
  });

  test('on a foreign Redis it is neither taken, restored nor emptied, and Redis is left alone', async () => {
    const { refusal } = controlled({ ownsRedis: false });
    const unsupported = { code: 'unsupported', message: expect.stringContaining('REDIS_URL') };
    expect(await refusal('snapshots.take', { name: 'x' })).toMatchObject(unsupported);
    expect(await refusal('snapshots.list', {})).toMatchObject(unsupported);
    expect(await refusal('reset', {})).toMatchObject(unsupported);
    const create = (fault: Fault) => refusal('faults.create', { fault, expiresInMs: 1_000 });
    expect(await create({ fault: 'redis_gone', for_ms: 5 })).toMatchObject({ ...unsupported, field: 'fault' });
    expect(await create({ fault: 'pause', target: ['redis'], for_ms: 5 })).toMatchObject({
      ...{ ...unsupported, field: 'target' },
    });
  });
});

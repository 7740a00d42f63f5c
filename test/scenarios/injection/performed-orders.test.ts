/** Each order of the fault engine reaches the live cluster's part, with its own arguments, and no other part. */
import { afterEach, expect, test, vi } from 'vitest';
import type { FaultEngine, Order } from '../../../scenarios/faults/vocabulary/engine-contract.ts';
import { FaultInjector, type FaultInjectorOptions } from '../../../scenarios/injection/fault-injector.ts';
import { LinkProxy } from '../../../scenarios/injection/link-proxy.ts';
import { SecondProcesses } from '../../../scenarios/injection/second-processes.ts';

type Call = readonly [string, ...unknown[]];

const process = 'node/2';

afterEach(() => {
  vi.restoreAllMocks();
});

/** An injector whose engine orders this at each step, and the calls that it makes. */
function performing(order: Order): { injector: FaultInjector; calls: readonly Call[] } {
  const calls: Call[] = [];
  const noted = (name: string) => (async (...args: unknown[]) => void calls.push([name, ...args])) as never;
  for (const method of ['cut', 'silence', 'deliver'] as const)
    vi.spyOn(LinkProxy.prototype, method).mockImplementation(noted(`links.${method}`));
  vi.spyOn(SecondProcesses.prototype, 'set').mockImplementation(noted('seconds.set'));
  const options = {
    engine: { step: () => [order], nextWakeMs: () => Number.POSITIVE_INFINITY } as unknown as FaultEngine,
    nodesTotal: 3,
    processes: {
      list: () => [
        { process: 'node/1', together: [] },
        { process, together: [process, 'node/3'] },
      ],
      crash: noted('crash'),
      pause: noted('pause'),
      resume: noted('resume'),
      setClock: noted('setClock'),
    },
    queue: { doubleDelivery: noted('doubleDelivery'), poisonJob: noted('poisonJob') },
    coordinatorUrl: () => 'ws://127.0.0.1:1',
    ownsRedis: true,
    handshakeOf: noted('handshakeOf'),
    vendor: noted('vendor'),
    say: noted('say'),
  } as unknown as FaultInjectorOptions;
  return { injector: new FaultInjector(options), calls };
}

const crash = { kind: 'crash', process, loseState: true, restartAfterMs: 5 } as const;
const held = [{ from: process, to: 'coordinator' }] as never;

test.each<[string, Order, readonly Call[]]>([
  [
    'a crash',
    crash,
    [
      ['links.cut', process],
      ['crash', process, crash],
    ],
  ],
  ['a second process', { kind: 'secondProcess', process, on: true }, [['seconds.set', process, true]]],
  ['the end of one', { kind: 'secondProcess', process, on: false }, [['seconds.set', process, false]]],
  ['a copy, which only the simulator has', { kind: 'copyStore', process, copy: 'c' }, []],
  ['a pause', { kind: 'pause', process }, [['pause', process]]],
  ['a continuation', { kind: 'resume', process }, [['resume', process]]],
  ['silence', { kind: 'silence', process, on: true }, [['links.silence', process, true]]],
  ['the end of silence', { kind: 'silence', process, on: false }, [['links.silence', process, false]]],
  [
    'held frames',
    { kind: 'deliver', peer: process, direction: 'out', envelopes: held },
    [['links.deliver', process, 'out', held]],
  ],
  ['a clock', { kind: 'clock', process, offsetMs: 60 }, [['setClock', process, 60]]],
  ['Redis gone', { kind: 'redis', up: false }, [['pause', 'redis']]],
  ['Redis back', { kind: 'redis', up: true }, [['resume', 'redis']]],
  ['a stalled worker', { kind: 'worker', stalled: true }, [['pause', 'worker']]],
  ['a worker that resumes', { kind: 'worker', stalled: false }, [['resume', 'worker']]],
  ['a job twice', { kind: 'queue', what: 'double_delivery' }, [['doubleDelivery']]],
  ['a poisoned job', { kind: 'queue', what: 'poison_job' }, [['poisonJob']]],
  ['a vendor', { kind: 'vendor', conduct: { by: 'silent' } } as never, [['vendor', { by: 'silent' }]]],
])('%s', (_, order, expected) => {
  const { injector, calls } = performing(order);
  injector.step('s');
  expect(calls).toEqual(expected);
});

test('a receiver behaves as ordered, and well without a behaviour', () => {
  const { injector } = performing({ kind: 'receiver', behaviour: { status: 503 } });
  expect(injector.receiver).toBeNull();
  injector.step('s');
  expect(injector.receiver).toEqual({ status: 503 });
});

test('a clock is off for every node of its process', () => {
  const { injector } = performing({ kind: 'clock', process, offsetMs: 60 });
  injector.step('s');
  expect(['node/1', process, 'node/3'].map((name) => injector.clockOffsetOf(name))).toEqual([0, 60, 60]);
});

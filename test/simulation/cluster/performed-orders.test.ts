/** Each order of the fault engine reaches its part of the simulated world, with its own arguments, and no other part. */
import { expect, test } from 'vitest';
import { type OrderedParts, performOrder } from '../../../simulation/cluster/fault-effects.ts';
import type { WorldOrder } from '../../../simulation/cluster/fault-service.ts';

type Call = readonly [string, ...unknown[]];

const envelope = { from: 'node/2', to: 'coordinator' };

/** Parts that note their calls. Only node/1, node/2 and redis exist. */
function noting(calls: Call[]): OrderedParts {
  const part = (name: string, answers: Readonly<Record<string, (...args: unknown[]) => unknown>> = {}) =>
    new Proxy(
      {},
      {
        get:
          (_, method: string) =>
          (...args: unknown[]) => {
            const answer = answers[method];
            // Questions are no effects.
            if (method !== 'has' && method !== 'clockOffsetMs') calls.push([`${name}.${method}`, ...args]);
            return answer?.(...args);
          },
      },
    );
  return {
    processes: part('processes', {
      has: (process) => ['node/1', 'node/2', 'redis'].includes(process as string),
      clockOffsetMs: () => 70,
    }),
    network: part('network', { deliver: () => [9] }),
    recorder: part('recorder'),
    deliveries: part('deliveries'),
    vendor: part('vendor'),
    copies: part('copies'),
    secondCoordinator: (on: boolean) => calls.push(['secondCoordinator', on]),
  } as unknown as OrderedParts;
}

const process = 'node/2';

test.each<[string, WorldOrder, readonly Call[]]>([
  ['a crash', { kind: 'crash', process, loseState: true, restartAfterMs: 5 }, [['processes.crash', process, true, 5]]],
  ['a crash of what does not exist', { kind: 'crash', process: 'node/9', loseState: false, restartAfterMs: 5 }, []],
  ['a copy', { kind: 'copyStore', process, copy: 'c' }, [['copies.keep', process, 'c']]],
  ['the end of a copy', { kind: 'dropCopy', process, copy: 'c' }, [['copies.drop', process, 'c']]],
  [
    'a rollback',
    { kind: 'rollBack', process, copy: 'c', restartAfterMs: 5 },
    [
      ['processes.crash', process, false, 5],
      ['copies.restore', process, 'c'],
    ],
  ],
  ['a rollback of what does not exist', { kind: 'rollBack', process: 'node/9', copy: 'c', restartAfterMs: 5 }, []],
  ['a pause', { kind: 'pause', process }, [['processes.pause', process]]],
  ['a continuation', { kind: 'resume', process }, [['processes.resume', process]]],
  ['silence', { kind: 'silence', process, on: true }, [['network.silence', process, true]]],
  ['the end of silence', { kind: 'silence', process, on: false }, [['network.silence', process, false]]],
  ['a second process', { kind: 'secondProcess', process, on: true }, [['network.second', process, true]]],
  ['a second coordinator', { kind: 'secondProcess', process: 'coordinator', on: true }, [['secondCoordinator', true]]],
  [
    'held frames',
    { kind: 'deliver', peer: process, direction: 'out', envelopes: [envelope] } as unknown as WorldOrder,
    [
      ['network.deliver', process, 'out', [envelope]],
      ['recorder.released', envelope, 9],
    ],
  ],
  [
    'a clock',
    { kind: 'clock', process, offsetMs: 60 },
    [
      ['processes.setClock', process, 60],
      ['recorder.clock', process, 70],
    ],
  ],
  ['Redis gone', { kind: 'redis', up: false }, [['processes.crash', 'redis', false, null]]],
  ['Redis back', { kind: 'redis', up: true }, [['processes.start', 'redis', true]]],
  ['a stalled worker', { kind: 'worker', stalled: true }, [['deliveries.stall', true]]],
  ['a job twice', { kind: 'queue', what: 'double_delivery' }, [['deliveries.double']]],
  ['a poisoned job', { kind: 'queue', what: 'poison_job' }, [['deliveries.poison']]],
  ['a receiver', { kind: 'receiver', behaviour: { status: 503 } }, [['deliveries.behave', { status: 503 }]]],
  [
    'a vendor',
    { kind: 'vendor', conduct: { by: 'silent' } } as unknown as WorldOrder,
    [['vendor.behave', { by: 'silent' }]],
  ],
])('%s', (_, order, expected) => {
  const calls: Call[] = [];
  performOrder(order, noting(calls));
  expect(calls).toEqual(expected);
});

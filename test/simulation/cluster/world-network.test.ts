/** The links by themselves: order, damage, silence, the end of either side. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WireEnvelope } from '../../../proto/wire.ts';
import type { FrameArrival } from '../../../scenarios/faults/vocabulary/engine-contract.ts';
import { type Direction, SimulatedNetwork } from '../../../simulation/cluster/network.ts';
import { randomStream } from '../../../simulation/cluster/random.ts';
import { VirtualTime } from '../../../simulation/cluster/virtual-time.ts';
import { runs } from '../../support/thorough.ts';

const linkTimeoutMs = 6_000;

function frame(attempt: number): WireEnvelope {
  return {
    from: 'a',
    to: 'b',
    message: { tenant: 't', session: 's', attempt, body: { case: 'dkgDiscard', value: {} } },
    trace: { correlationId: '', traceparent: '' },
  };
}

/** One link, to node/1; frames are told apart by their attempt. */
function world(options: { readonly latency?: { minMs: number; maxMs: number }; readonly seed?: string } = {}) {
  const time = new VirtualTime();
  const states = new Map<string, 'up' | 'paused' | 'down'>([
    ['node/1', 'up'],
    ['coordinator', 'up'],
  ]);
  const seen: string[] = [];
  const arrived: { readonly direction: Direction; readonly attempt: number; readonly atMs: number }[] = [];
  const fates = new Map<number, readonly Partial<FrameArrival>[]>();
  const doing = new Map<number, () => void>();
  const network = new SimulatedNetwork(
    {
      time,
      codec: 'bytes',
      latency: options.latency ?? { minMs: 1, maxMs: 1 },
      linkTimeoutMs,
      backOff: { minMs: 50, maxMs: 100 },
      random: (label) => randomStream(options.seed ?? 'links', label),
      filter: (_peer, _direction, _envelope, received) => {
        const { attempt } = received.message;
        doing.get(attempt)?.();
        const fate = fates.get(attempt);
        if (!fate) return undefined;
        const arrivals = fate.map((arrival) => ({ envelope: received, afterMs: 0, ...arrival }));
        return { arrivals, faults: [], afterwards: undefined };
      },
      left: undefined,
      arrive: (_peer, direction, { message }) => {
        seen.push(`${direction} ${message.attempt}`);
        arrived.push({ direction, attempt: message.attempt, atMs: time.nowMs() - time.beganMs });
      },
      stateOf: (process) => states.get(process) ?? 'down',
      onUp: () => seen.push('up'),
      onDown: (_peer, why) => seen.push(`down: ${why}`),
    },
    ['node/1'],
  );
  network.started('node/1', true);
  seen.splice(0);
  let count = 0;
  /** Sends the next frame; `fate`: what arrives of it. */
  const send = (direction: Direction, fate?: readonly Partial<FrameArrival>[], first?: () => void) => {
    count += 1;
    if (fate) fates.set(count, fate);
    if (first) doing.set(count, first);
    return network.send('node/1', direction, frame(count));
  };
  const become = (process: string, state: 'up' | 'paused' | 'down', how: () => void) => {
    states.set(process, state);
    how();
  };
  const stateOf = (process: string) => states.get(process);
  return { time, network, seen, arrived, send, become, stateOf };
}

describe('a link', () => {
  test('keeps the order of its frames, however long each takes', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.array(fc.record({ afterMs: fc.nat(30), out: fc.boolean(), waitMs: fc.nat(3) }), { maxLength: 40 }),
        (seed, sends) => {
          const { time, send, arrived } = world({ latency: { minMs: 1, maxMs: 20 }, seed });
          for (const { afterMs, out, waitMs } of sends) {
            send(out ? 'out' : 'in', [{ afterMs }]);
            time.advance(waitMs);
          }
          time.runUntil(() => false);
          expect(arrived).toHaveLength(sends.length);
          for (const direction of ['in', 'out']) {
            const attempts = arrived.filter((one) => one.direction === direction).map(({ attempt }) => attempt);
            expect(attempts).toEqual([...attempts].sort((a, b) => a - b));
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  test('lets a frame be overtaken that a fault made late, and no other', () => {
    const { time, send, seen } = world();
    send('out', [{ afterMs: 20, unordered: true }]);
    send('out', [{ afterMs: 5 }]);
    send('out');
    time.advance(50);
    expect(seen).toEqual(['out 2', 'out 3', 'out 1']);
  });

  test('loses, and repeats', () => {
    const { time, send, seen } = world();
    send('in', []);
    send('in', [{}, { afterMs: 3 }]);
    time.advance(50);
    expect(seen).toEqual(['in 2', 'in 2']);
  });

  test.each(['corrupt', 'truncate'] as const)('breaks over a %s frame, and comes back after a pause', (damage) => {
    const { time, send, seen } = world();
    send('out', [{ damage }]);
    send('out');
    send('in', [{ afterMs: 10 }]);
    time.advance(2);
    expect(seen).toEqual([expect.stringMatching(/^down: a frame was/)]);
    expect(send('in')).toBe('noRoute');
    time.advance(47);
    expect(seen).toHaveLength(1);
    time.advance(60);
    expect(seen.slice(1)).toEqual(['up']);
    send('in');
    time.advance(5);
    expect(seen.slice(2)).toEqual(['in 5']);
  });

  test('that carries nothing is given up after the time of the heartbeats, and not before', () => {
    const { time, network, seen, send } = world();
    network.silence('node/1', true);
    time.advance(linkTimeoutMs - 1);
    expect(seen).toEqual([]);
    expect(send('in', [])).toBeUndefined();
    time.advance(1);
    expect(seen).toEqual(['down: no sign of life']);
    time.advance(60_000);
    expect(seen).toHaveLength(1);
    network.silence('node/1', false);
    time.advance(100);
    expect(seen.slice(1)).toEqual(['up']);
  });

  test('that carries something again in time lives on', () => {
    const { time, network, seen } = world();
    network.silence('coordinator', true);
    time.advance(linkTimeoutMs - 1);
    network.silence('coordinator', false);
    time.advance(60_000);
    expect(seen).toEqual([]);
  });

  test('hands what came to a paused end over when it continues, in order', () => {
    const { time, network, seen, send, become } = world();
    become('node/1', 'paused', () => network.paused('node/1'));
    send('in');
    time.advance(10);
    send('in');
    time.advance(10);
    expect(seen).toEqual([]);
    become('node/1', 'up', () => network.resumed('node/1'));
    send('in');
    time.advance(10);
    expect(seen).toEqual(['in 1', 'in 2', 'in 3']);
  });

  test('to an end that is paused for too long goes down with what waits, and comes back', () => {
    const { time, network, seen, send, become } = world();
    become('node/1', 'paused', () => network.paused('node/1'));
    send('in');
    time.advance(linkTimeoutMs);
    expect(seen).toEqual(['down: no sign of life']);
    expect(send('in')).toBe('noRoute');
    become('node/1', 'up', () => network.resumed('node/1'));
    time.advance(200);
    expect(seen.slice(1)).toEqual(['up']);
  });

  test('brings what a dead end had sent before, and only then tells of its death', () => {
    const { time, network, seen, send, become } = world();
    send('out', [{ afterMs: 30 }]);
    send('in', [{ afterMs: 40 }]);
    time.advance(5);
    become('node/1', 'down', () => network.crashed('node/1'));
    // Until then the other end does not know: frames to it are lost.
    expect(send('in')).toBeUndefined();
    time.advance(100);
    expect(seen).toEqual(['out 1', 'down: the other end is gone']);
    expect(send('in')).toBe('noRoute');
  });

  test('brings the frame over which its sender died', () => {
    const { time, network, seen, send, become } = world();
    send('out', undefined, () => become('node/1', 'down', () => network.crashed('node/1')));
    time.advance(10);
    expect(seen).toEqual(['out 1', 'down: the other end is gone']);
  });

  test('loses the frame over which its receiver died', () => {
    const { time, network, seen, send, become } = world();
    send('in', undefined, () => become('node/1', 'down', () => network.crashed('node/1')));
    time.advance(10);
    expect(seen).toEqual(['down: the other end is gone']);
  });

  test('does not wait for what a fault makes late for longer than the heartbeats', () => {
    const { time, network, seen, send, become } = world();
    send('out', [{ afterMs: 60_000 }]);
    become('node/1', 'down', () => network.crashed('node/1'));
    time.advance(linkTimeoutMs);
    expect(seen).toEqual(['down: no sign of life']);
    time.advance(100_000);
    expect(seen).toHaveLength(1);
  });

  test('of a process that starts anew takes the place of the one before', () => {
    const { time, network, seen, send, become } = world();
    send('out', [{ afterMs: 30 }]);
    become('node/1', 'down', () => network.crashed('node/1'));
    become('node/1', 'up', () => network.started('node/1', true));
    time.advance(100);
    expect(seen).toEqual(['down: taken over', 'up']);
  });

  test('comes up when both ends are there, and not before', () => {
    const { time, network, seen, become } = world();
    become('node/1', 'down', () => network.crashed('node/1'));
    become('coordinator', 'down', () => network.crashed('coordinator'));
    become('node/1', 'up', () => network.started('node/1', true));
    time.advance(10_000);
    expect(seen).toEqual(['down: the other end is gone']);
    become('coordinator', 'up', () => network.started('coordinator', false));
    time.advance(49);
    expect(seen).toHaveLength(1);
    time.advance(60);
    expect(seen.slice(1)).toEqual(['up']);
  });

  test('delivers what was held in order, and nothing over a link that broke', () => {
    const { time, network, seen } = world();
    expect(network.deliver('node/1', 'in', [frame(8), frame(9)])).toHaveLength(2);
    time.advance(5);
    network.cut('node/1', 'cut');
    expect(network.deliver('node/1', 'in', [frame(10)])).toEqual([]);
    expect(seen).toEqual(['in 8', 'in 9', 'down: cut']);
  });

  const operations = [
    'send in',
    'send out',
    'damaged in',
    'late out',
    'crash node/1',
    'crash coordinator',
    'start node/1',
    'start coordinator',
    'pause node/1',
    'pause coordinator',
    'resume node/1',
    'resume coordinator',
    'silence',
    'speak',
  ] as const;

  test('whatever happens to its ends, is up in the end when both are, goes up and down in turn, and keeps the order', () => {
    const step = fc.record({ what: fc.constantFrom(...operations), waitMs: fc.constantFrom(0, 1, 5, 80, 7_000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { time, network, seen, arrived, send, become, stateOf } = world();
        const act = (what: (typeof operations)[number]): unknown => {
          const [verb, name = ''] = what.split(' ') as [string, string?];
          const state = stateOf(name);
          if (verb === 'send') return send(name as Direction);
          if (verb === 'damaged') return send('in', [{ damage: 'corrupt' }]);
          if (verb === 'late') return send('out', [{ afterMs: 500 }]);
          if (verb === 'crash' && state !== 'down') become(name, 'down', () => network.crashed(name));
          if (verb === 'start' && state === 'down') become(name, 'up', () => network.started(name, false));
          if (verb === 'pause' && state === 'up') become(name, 'paused', () => network.paused(name));
          if (verb === 'resume' && state === 'paused') become(name, 'up', () => network.resumed(name));
          if (verb === 'silence' || verb === 'speak') network.silence('node/1', verb === 'silence');
          return undefined;
        };
        for (const { what, waitMs } of steps) {
          act(what);
          time.advance(waitMs);
        }
        for (const name of ['node/1', 'coordinator'] as const) {
          act(`resume ${name}`);
          act(`start ${name}`);
        }
        act('speak');
        time.runUntil(() => false);
        expect(network.isUp('node/1')).toBe(true);
        const changes = seen.filter((one) => one === 'up' || one.startsWith('down')).map((one) => one.split(':')[0]);
        expect(changes).toEqual(changes.map((_, index) => (index % 2 === 0 ? 'down' : 'up')));
        for (const direction of ['in', 'out']) {
          const attempts = arrived.filter((one) => one.direction === direction).map(({ attempt }) => attempt);
          expect(attempts).toEqual([...attempts].sort((a, b) => a - b));
        }
        const before = seen.length;
        expect([send('in'), send('out')]).toEqual([undefined, undefined]);
        time.advance(5);
        expect(seen.slice(before)).toHaveLength(2);
      }),
      { numRuns: runs(130, 400) },
    );
  });
});

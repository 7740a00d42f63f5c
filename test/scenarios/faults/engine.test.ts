/** The engine alone: each kind with its trigger, count, probability and duration, and what it refuses. */

import { describe, expect, test } from 'vitest';
import { MockDirective } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBodyInit } from '../../../proto/wire.ts';
import { faultEngine } from '../../../scenarios/faults/engine.ts';
import type { Order, PortCallMade } from '../../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault, FaultKind } from '../../../scenarios/faults/vocabulary/fault.ts';
import { faultKinds } from '../../../scenarios/faults/vocabulary/fault.ts';
import { pointOf } from '../../../scenarios/faults/vocabulary/trigger-points.ts';
import { frameAt, optionsFor, samples } from './support/frames.ts';

const engineOf = (more: Parameters<typeof optionsFor>[0] = {}) => faultEngine(optionsFor(more));
const kindsOf = (orders: readonly Order[]) => orders.map(({ kind }) => kind);
/** Without what is for reports alone. */
const deeds = (orders: readonly Order[]) => orders.filter(({ kind }) => kind !== 'fired' && kind !== 'ended');

describe('a trigger', () => {
  test('by nothing strikes at arming, and is over', () => {
    const engine = engineOf();
    const { id, orders } = engine.arm({ fault: 'crash', target: 'node/2' }, 0);
    expect(id).toBe('flt_1');
    expect(orders).toEqual([
      { kind: 'fired', id, fault: 'crash', victims: ['node/2'] },
      { kind: 'crash', process: 'node/2', loseState: false, restartAfterMs: 100 },
      { kind: 'ended', id, fault: 'crash' },
    ]);
    expect(engine.idle).toBe(true);
    expect(engine.list(1)).toMatchObject([{ id, state: 'over', triggerCount: 1, armedMs: 0, endsMs: null }]);
  });

  test('by time strikes when its time has come, and asks to be woken then', () => {
    const engine = engineOf();
    const { orders } = engine.arm({ fault: 'crash', target: 'gateway', at: { after_ms: 50 } }, 1000);
    expect([orders, engine.nextWakeMs(), engine.idle]).toEqual([[], 1050, false]);
    expect(engine.wake(1049)).toEqual([]);
    expect(deeds(engine.wake(1050))).toEqual([
      { kind: 'crash', process: 'gateway', loseState: false, restartAfterMs: 100 },
    ]);
    expect(engine.nextWakeMs()).toBe(Number.POSITIVE_INFINITY);
  });

  test('by step waits for the step, and for its time after that', () => {
    const engine = engineOf();
    engine.arm({ fault: 'clock_jump', target: 'node/1', by_ms: 5, at: { step: 'sign' } }, 0);
    engine.arm({ fault: 'clock_jump', target: 'node/2', by_ms: 7, at: { step: 'sign', after_ms: 10 } }, 0);
    expect(engine.nextWakeMs()).toBe(Number.POSITIVE_INFINITY);
    expect(engine.step('other', 5)).toEqual([]);
    expect(deeds(engine.step('sign', 20))).toEqual([{ kind: 'clock', process: 'node/1', offsetMs: 5 }]);
    expect(engine.step('sign', 25)).toEqual([]);
    expect(engine.nextWakeMs()).toBe(30);
    expect(deeds(engine.wake(30))).toEqual([{ kind: 'clock', process: 'node/2', offsetMs: 7 }]);
  });

  test('by point counts the frames of its target, and loses the nth before a crash', () => {
    const engine = engineOf();
    engine.arm({ fault: 'crash', target: 'node/2', at: { point: 'partial_reply', nth: 2 } }, 0);
    expect(engine.frame(frameAt('partial_reply', 'node/1'), 1).arrivals).toHaveLength(1);
    expect(engine.frame(frameAt('partial_reply', 'node/2'), 2).arrivals).toHaveLength(1);
    expect(engine.frame(frameAt('partial_request', 'node/2'), 3).arrivals).toHaveLength(1);
    const struck = engine.frame(frameAt('partial_reply', 'node/2'), 4);
    expect([struck.arrivals, struck.faults]).toEqual([[], ['flt_1']]);
    expect(kindsOf(struck.orders)).toEqual(['fired', 'crash', 'ended']);
    expect(engine.frame(frameAt('partial_reply', 'node/2'), 5).arrivals).toHaveLength(1);
  });

  test('of frames tells each process that it hits, once', () => {
    const engine = engineOf();
    engine.arm({ fault: 'drop', target: 'node/*', at: { point: 'partial_reply' } }, 0);
    const told = ['node/1', 'node/2', 'node/1'].map(
      (name, at) => engine.frame(frameAt('partial_reply', name), at).orders,
    );
    const fired = { kind: 'fired', id: 'flt_1', fault: 'drop' };
    expect(told).toEqual([[{ ...fired, victims: ['node/1'] }], [{ ...fired, victims: ['node/2'] }], []]);
  });

  test('after a frame lets it go first', () => {
    const engine = engineOf();
    engine.arm({ fault: 'crash', target: 'node/2', at: { point: 'partial_reply', phase: 'after' } }, 0);
    const struck = engine.frame(frameAt('partial_reply', 'node/2'), 4);
    expect([struck.arrivals.length, struck.faults, kindsOf(deeds(struck.orders))]).toEqual([1, [], ['crash']]);
  });

  test('by point strikes as often as it is told, frame after frame', () => {
    const engine = engineOf();
    engine.arm({ fault: 'crash', target: 'node/2', count: 2, at: { point: 'dkg_open', nth: 2 } }, 0);
    const fates = Array.from({ length: 5 }, () => engine.frame(frameAt('dkg_open', 'node/2'), 1).arrivals.length);
    expect(fates).toEqual([1, 0, 0, 1, 1]);
    expect(engine.list(2)[0]!.triggerCount).toBe(2);
  });

  test('by point and time counts from that time on', () => {
    const engine = engineOf();
    engine.arm({ fault: 'crash', target: 'node/2', at: { point: 'dkg_open', after_ms: 10 } }, 0);
    expect(engine.frame(frameAt('dkg_open', 'node/2'), 5).arrivals).toHaveLength(1);
    engine.wake(10);
    expect(engine.frame(frameAt('dkg_open', 'node/2'), 11).arrivals).toHaveLength(0);
  });

  test('of another process strikes the target, and loses only what is the target’s', () => {
    const engine = engineOf();
    engine.arm({ fault: 'crash', target: 'node/3', at: { point: 'partial_reply', of: 'node/1' } }, 0);
    expect(engine.frame(frameAt('partial_reply', 'node/3'), 1).orders).toEqual([]);
    const struck = engine.frame(frameAt('partial_reply', 'node/1'), 2);
    expect(struck.arrivals).toHaveLength(1);
    expect(deeds(struck.orders)).toMatchObject([{ kind: 'crash', process: 'node/3' }]);
    engine.arm({ fault: 'crash', target: 'coordinator', at: { point: 'partial_reply', of: 'node/1' } }, 3);
    expect(engine.frame(frameAt('partial_reply', 'node/2'), 4).arrivals).toHaveLength(1);
    expect(engine.frame(frameAt('partial_reply', 'node/1'), 5).arrivals).toHaveLength(0);
  });

  test('on any node strikes the node whose frame it is; without a point all of them', () => {
    const engine = engineOf();
    engine.arm({ fault: 'crash', target: 'node/*', at: { point: 'dkg_sealed' } }, 0);
    expect(deeds(engine.frame(frameAt('dkg_sealed', 'node/4'), 1).orders)).toMatchObject([
      { kind: 'crash', process: 'node/4' },
    ]);
    const { orders } = engine.arm({ fault: 'crash', target: 'node/*', restart_after_ms: null, lose_state: true }, 2);
    expect(deeds(orders)).toEqual(
      [1, 2, 3, 4, 5].map((id) => ({ kind: 'crash', process: `node/${id}`, loseState: true, restartAfterMs: null })),
    );
  });

  test('of a session looks at its frames alone, calls that name it included', () => {
    const engine = engineOf();
    engine.arm({ fault: 'drop', target: ['node/*', 'gateway'], at: { session: 'sig_1' } }, 0);
    const fate = (...args: Parameters<typeof frameAt>) => engine.frame(frameAt(...args), 1).arrivals.length;
    expect(fate('partial_reply', 'node/1', 'sig_1')).toBe(0);
    expect(fate('partial_reply', 'node/1', 'sig_2')).toBe(1);
    expect(fate('deal_nonces', 'node/1', '')).toBe(1);
    expect(fate('call', 'gateway', 'sig_1')).toBe(0);
    expect(fate('call', 'gateway', 'sig_2')).toBe(1);
    expect(fate('call_reply', 'gateway', 'sig_1')).toBe(0);
  });

  test('without a frame of its own goes by any process’s', () => {
    const engine = engineOf();
    engine.arm({ fault: 'redis_gone', for_ms: 100, at: { point: 'dkg_confirmed' } }, 0);
    const struck = engine.frame(frameAt('dkg_confirmed', 'node/5'), 10);
    expect([struck.arrivals.length, deeds(struck.orders)]).toEqual([1, [{ kind: 'redis', up: false }]]);
    expect(deeds(engine.wake(110))).toEqual([{ kind: 'redis', up: true }]);
  });

  test('of a stale replay repeats the latest frame of another session, however many came before', () => {
    const engine = engineOf();
    engine.arm({ fault: 'stale_replay', target: 'node/1' }, 0);
    const replayed = Array.from({ length: 40 }, (_, index) => {
      const { arrivals } = engine.frame(frameAt('partial_reply', 'node/1', `s${index}`), index);
      return arrivals.map(({ envelope }) => envelope.message.session);
    });
    expect(replayed).toEqual([['s0'], ...replayed.slice(1).map((_, index) => [`s${index}`, `s${index + 1}`])]);
  });

  test('with probability 0 never strikes, and by time is over', () => {
    const engine = engineOf();
    expect(kindsOf(engine.arm({ fault: 'crash', target: 'node/1', probability: 0 }, 0).orders)).toEqual(['ended']);
    engine.arm({ fault: 'drop', target: 'node/1', probability: 0 }, 0);
    expect(engine.frame(frameAt('dkg_open', 'node/1'), 1).arrivals).toHaveLength(1);
  });

  test('with a probability strikes about that often', () => {
    const engine = engineOf();
    engine.arm({ fault: 'drop', target: 'node/1', probability: 0.3 }, 0);
    let lost = 0;
    for (let at = 0; at < 1000; at += 1) lost += 1 - engine.frame(frameAt('dkg_open', 'node/1'), at).arrivals.length;
    expect(lost).toBeGreaterThan(240);
    expect(lost).toBeLessThan(360);
    expect(engine.list(1000)[0]!.triggerCount).toBe(lost);
  });
});

describe('a link fault', () => {
  test('touches its direction alone, as its target sees it', () => {
    const engine = engineOf();
    engine.arm({ fault: 'drop', target: 'coordinator', direction: 'in', at: { of: 'node/1', point: 'dkg_opened' } }, 0);
    engine.arm({ fault: 'drop', target: 'node/2', direction: 'in' }, 0);
    const fate = (...args: Parameters<typeof frameAt>) => engine.frame(frameAt(...args), 1).arrivals.length;
    expect(fate('dkg_opened', 'node/1')).toBe(0);
    expect(fate('dkg_opened', 'node/3')).toBe(1);
    expect(fate('dkg_open', 'node/2')).toBe(0);
    expect(fate('dkg_opened', 'node/2')).toBe(1);
  });

  test('touches its direction alone among frames that no point names', () => {
    const engine = engineOf();
    engine.arm({ fault: 'drop', target: 'node/2', direction: 'out' }, 0);
    const fates = (['in', 'out', 'in'] as const).map((direction) => {
      const frame = { ...frameAt('dkg_open', 'node/2'), point: pointOf('deleteKey'), direction };
      return engine.frame(frame, 1).arrivals.length;
    });
    expect(fates).toEqual([1, 0, 1]);
  });

  test('of the coordinator is one of every link', () => {
    const engine = engineOf();
    engine.arm({ fault: 'slow', target: 'coordinator', by_ms: 30 }, 0);
    for (const frame of [frameAt('call', 'gateway'), frameAt('dkg_open', 'node/5')]) {
      expect(engine.frame(frame, 1).arrivals).toEqual([{ envelope: frame.envelope, afterMs: 30 }]);
    }
  });

  test('ends after its time or its count', () => {
    const engine = engineOf();
    engine.arm({ fault: 'drop', id: 'timed', target: 'node/1', for_ms: 10 }, 0);
    engine.arm({ fault: 'drop', id: 'counted', target: 'node/2', count: 2 }, 0);
    expect(engine.list(0).map(({ state, endsMs }) => [state, endsMs])).toEqual([
      ['holding', 10],
      ['holding', null],
    ]);
    const fate = (node: number, at: number) => engine.frame(frameAt('dkg_open', `node/${node}`), at).arrivals.length;
    expect([fate(2, 1), fate(2, 2), fate(2, 3)]).toEqual([0, 0, 1]);
    expect(fate(1, 9)).toBe(0);
    expect(kindsOf(engine.wake(10))).toEqual(['ended']);
    expect(fate(1, 11)).toBe(1);
    expect(engine.idle).toBe(true);
  });

  test('at an nth frame touches that one alone, unless it says how many or how long', () => {
    const fates = (fault: Partial<Fault>) => {
      const engine = engineOf();
      engine.arm({ fault: 'drop', target: 'node/1', at: { point: 'dkg_open', nth: 2 }, ...fault } as Fault, 0);
      return Array.from({ length: 5 }, () => engine.frame(frameAt('dkg_open', 'node/1'), 1).arrivals.length);
    };
    expect(fates({})).toEqual([1, 0, 1, 1, 1]);
    expect(fates({ count: 2 })).toEqual([1, 0, 0, 1, 1]);
    expect(fates({ for_ms: 50 })).toEqual([1, 0, 0, 0, 0]);
    expect(fates({ at: { point: 'dkg_open' } })).toEqual([0, 0, 0, 0, 0]);
  });

  test('delays, copies, damages and overtakes', () => {
    const only = (fault: Fault) => {
      const engine = engineOf();
      engine.arm(fault, 0);
      const frame = frameAt('dkg_open', 'node/1');
      return engine.frame(frame, 1).arrivals.map(({ envelope, ...rest }) => {
        expect(envelope).toBe(frame.envelope);
        return rest;
      });
    };
    expect(only({ fault: 'delay', target: 'node/1', by_ms: 40 })).toEqual([{ afterMs: 40 }]);
    expect(only({ fault: 'duplicate', target: 'node/1' })).toEqual([{ afterMs: 0 }, { afterMs: 0 }]);
    expect(only({ fault: 'duplicate', target: 'node/1', copies: 3 })).toHaveLength(4);
    expect(only({ fault: 'corrupt', target: 'node/1' })).toEqual([{ afterMs: 0, damage: 'corrupt' }]);
    expect(only({ fault: 'truncate', target: 'node/1' })).toEqual([{ afterMs: 0, damage: 'truncate' }]);
    const [overtaken] = only({ fault: 'reorder', target: 'node/1', within_ms: 20 });
    expect(overtaken!.unordered).toBe(true);
    expect(overtaken!.afterMs).toBeLessThanOrEqual(20);
  });

  test.each(['uniform', 'exponential'] as const)('is late within its bounds, %s', (distribution) => {
    const engine = engineOf();
    engine.arm({ fault: 'delay', target: 'node/1', min_ms: 10, max_ms: 50, distribution }, 0);
    const late = Array.from({ length: 400 }, () => engine.frame(frameAt('dkg_open', 'node/1'), 1).arrivals[0]!.afterMs);
    expect(Math.min(...late)).toBeLessThan(13);
    expect(Math.min(...late)).toBeGreaterThanOrEqual(10);
    expect(Math.max(...late)).toBeGreaterThan(40);
    expect(Math.max(...late)).toBeLessThanOrEqual(50);
    const mean = late.reduce((sum, one) => sum + one, 0) / late.length;
    if (distribution === 'uniform') expect(Math.abs(mean - 30)).toBeLessThan(3);
    else expect(Math.abs(mean - 20)).toBeLessThan(3);
  });

  test('takes the least and the longest time of its bounds', () => {
    const delays = (fault: Fault) =>
      [0x00, 0xff].map((byte) => {
        const engine = engineOf({ random: (length) => new Uint8Array(length).fill(byte) });
        engine.arm(fault, 0);
        return engine.frame(frameAt('dkg_open', 'node/1'), 1).arrivals[0]!.afterMs;
      });
    const late = { fault: 'delay', target: 'node/1', min_ms: 10, max_ms: 50 } as const;
    expect(delays({ ...late, distribution: 'uniform' })).toEqual([10, 50]);
    expect(delays({ ...late, distribution: 'exponential' })).toEqual([10, 50]);
    expect(delays({ ...late, min_ms: 50 })).toEqual([50, 50]);
    expect(delays({ fault: 'reorder', target: 'node/1', within_ms: 20 })).toEqual([0, 20]);
  });

  test('copies of copies of copies are bounded', () => {
    const engine = engineOf();
    for (let each = 0; each < 5; each += 1) engine.arm({ fault: 'duplicate', target: 'node/1', copies: 100 }, 0);
    const arrivals = engine.frame(frameAt('dkg_open', 'node/1'), 1).arrivals.length;
    expect(arrivals).toBe(101);
  });

  test('adds up with others', () => {
    const engine = engineOf();
    engine.arm({ fault: 'delay', target: 'node/1', by_ms: 5 }, 0);
    engine.arm({ fault: 'duplicate', target: 'node/1' }, 0);
    engine.arm({ fault: 'slow', target: 'coordinator', by_ms: 7 }, 0);
    const { arrivals, faults } = engine.frame(frameAt('dkg_open', 'node/1'), 1);
    expect(arrivals.map(({ afterMs }) => afterMs)).toEqual([12, 12]);
    expect([...faults].sort()).toEqual(['flt_1', 'flt_2', 'flt_3']);
  });
});

describe('what holds frames', () => {
  test('hands many on to the next that keeps them, in order and in no time', () => {
    const engine = engineOf();
    engine.arm({ fault: 'hold', target: 'node/1', id: 'first' }, 0);
    engine.arm({ fault: 'hold', target: 'node/1', id: 'second' }, 0);
    const sent = Array.from({ length: 20_000 }, () => frameAt('dkg_open', 'node/1'));
    for (const frame of sent) engine.frame(frame, 1);
    const before = process.cpuUsage();
    expect(engine.disarm('first', 2)).toEqual([{ kind: 'ended', id: 'first', fault: 'hold' }]);
    const [delivery] = engine.disarm('second', 3)!;
    // CPU time, in microseconds: other work on the machine does not count.
    expect(process.cpuUsage(before).user).toBeLessThan(4_000_000);
    const arrived = delivery?.kind === 'deliver' ? delivery.envelopes : [];
    expect(arrived.length === sent.length && arrived.every((one, at) => one === sent[at]?.envelope)).toBe(true);
  });

  const held = (engine: ReturnType<typeof engineOf>, at: number, peer = 'node/1') => {
    const frame = frameAt('dkg_open', peer);
    expect(engine.frame(frame, at).arrivals).toEqual([]);
    return frame.envelope;
  };

  test('a partition silences the link, and delivers in order when it heals', () => {
    const engine = engineOf();
    const { orders } = engine.arm({ fault: 'partition', target: 'node/1', for_ms: 100 }, 0);
    expect(deeds(orders)).toEqual([{ kind: 'silence', process: 'node/1', on: true }]);
    const first = held(engine, 1);
    const out = frameAt('dkg_opened', 'node/1');
    expect(engine.frame(out, 2).arrivals).toEqual([]);
    const second = held(engine, 3);
    expect(engine.frame(frameAt('dkg_open', 'node/2'), 4).arrivals).toHaveLength(1);
    expect(deeds(engine.wake(100))).toEqual([
      { kind: 'silence', process: 'node/1', on: false },
      { kind: 'deliver', peer: 'node/1', direction: 'in', envelopes: [first, second] },
      { kind: 'deliver', peer: 'node/1', direction: 'out', envelopes: [out.envelope] },
    ]);
  });

  test('a partition of one direction lets the other pass', () => {
    const engine = engineOf();
    engine.arm({ fault: 'partition', target: 'node/1', direction: 'in' }, 0);
    held(engine, 1);
    expect(engine.frame(frameAt('dkg_opened', 'node/1'), 2).arrivals).toHaveLength(1);
  });

  test('a partition by a point begins with that frame, or after it, and then takes all of its target', () => {
    const before = engineOf();
    before.arm({ fault: 'partition', target: 'node/1', at: { point: 'dkg_open' } }, 0);
    expect(before.frame(frameAt('dkg_opened', 'node/1'), 1).arrivals).toHaveLength(1);
    held(before, 2);
    expect(before.frame(frameAt('dkg_opened', 'node/1'), 3).arrivals).toHaveLength(0);

    const after = engineOf();
    after.arm({ fault: 'partition', target: 'node/1', at: { point: 'dkg_open', phase: 'after' } }, 0);
    expect(after.frame(frameAt('dkg_open', 'node/1'), 2).arrivals).toHaveLength(1);
    held(after, 3);

    const another = engineOf();
    another.arm({ fault: 'partition', target: 'node/3', at: { point: 'dkg_open', of: 'node/1' } }, 0);
    expect(another.frame(frameAt('dkg_open', 'node/1'), 2).arrivals).toHaveLength(1);
    held(another, 3, 'node/3');
  });

  test('a partition of the coordinator silences every link', () => {
    const { orders } = engineOf().arm({ fault: 'partition', target: 'coordinator' }, 0);
    expect(deeds(orders).map((order) => 'process' in order && order.process)).toEqual([
      'node/1',
      'node/2',
      'node/3',
      'node/4',
      'node/5',
      'gateway',
    ]);
  });

  test('two partitions of one link silence it once, and what they hold waits for both', () => {
    const engine = engineOf();
    engine.arm({ fault: 'partition', target: 'node/1', for_ms: 100 }, 0);
    const first = held(engine, 1);
    expect(deeds(engine.arm({ fault: 'partition', target: 'node/*', for_ms: 100 }, 50).orders)).toHaveLength(4);
    const second = held(engine, 60);
    expect(deeds(engine.wake(100))).toEqual([]);
    const third = held(engine, 120);
    const last = deeds(engine.wake(150));
    expect(last.filter(({ kind }) => kind === 'silence')).toHaveLength(5);
    expect(last.filter(({ kind }) => kind === 'deliver')).toEqual([
      { kind: 'deliver', peer: 'node/1', direction: 'in', envelopes: [first, second, third] },
    ]);
  });

  test('a link that came up anew has lost what was held of the old one', () => {
    const engine = engineOf();
    engine.arm({ fault: 'hold', target: 'node/*', for_ms: 100 }, 0);
    held(engine, 1);
    const other = held(engine, 2, 'node/2');
    engine.linkDown('node/1');
    expect(deeds(engine.wake(100))).toEqual([{ kind: 'deliver', peer: 'node/2', direction: 'in', envelopes: [other] }]);
  });

  test('a hold gives no orders until it ends, and is ended by its removal', () => {
    const engine = engineOf();
    const { id, orders } = engine.arm({ fault: 'hold', target: 'node/1', at: { point: 'dkg_open' }, count: 1 }, 0);
    expect(orders).toEqual([]);
    const first = held(engine, 1);
    expect(engine.frame(frameAt('dkg_open', 'node/1'), 2).arrivals).toHaveLength(1);
    expect(engine.disarm(id, 3)).toEqual([
      { kind: 'deliver', peer: 'node/1', direction: 'in', envelopes: [first] },
      { kind: 'ended', id, fault: 'hold' },
    ]);
    expect(engine.disarm(id, 4)).toEqual([]);
    expect(engine.disarm('unknown', 4)).toBeUndefined();
  });

  test('a half-open link loses frames until it is noticed, and is whole after that', () => {
    const engine = engineOf();
    engine.arm({ fault: 'half_open', target: ['node/1', 'node/2'] }, 0);
    held(engine, 1);
    engine.linkDown('node/1');
    expect(engine.nextWakeMs()).toBeLessThanOrEqual(1);
    expect(deeds(engine.wake(2))).toEqual([{ kind: 'silence', process: 'node/1', on: false }]);
    expect(engine.frame(frameAt('dkg_open', 'node/1'), 3).arrivals).toHaveLength(1);
    held(engine, 4, 'node/2');
    expect(engine.nextWakeMs()).toBe(9000);
    expect(deeds(engine.wake(9000))).toEqual([{ kind: 'silence', process: 'node/2', on: false }]);
    expect(engine.idle).toBe(true);
  });

  test('a pause keeps the frame that its process was about to send, and nothing else', () => {
    const engine = engineOf();
    engine.arm({ fault: 'pause', target: 'node/1', for_ms: 50, at: { point: 'dkg_opened' } }, 0);
    const frame = frameAt('dkg_opened', 'node/1');
    const struck = engine.frame(frame, 10);
    expect([struck.arrivals, deeds(struck.orders)]).toEqual([[], [{ kind: 'pause', process: 'node/1' }]]);
    expect(engine.frame(frameAt('dkg_open', 'node/1'), 20).arrivals).toHaveLength(1);
    expect(deeds(engine.wake(60))).toEqual([
      { kind: 'resume', process: 'node/1' },
      { kind: 'deliver', peer: 'node/1', direction: 'out', envelopes: [frame.envelope] },
    ]);
    engine.arm({ fault: 'pause', target: 'node/1', for_ms: 50, at: { point: 'dkg_open' } }, 100);
    expect(engine.frame(frameAt('dkg_open', 'node/1'), 110).arrivals).toHaveLength(1);
  });

  test('what a process says after a frame that a pause keeps does not overtake it', () => {
    const engine = engineOf();
    engine.arm({ fault: 'pause', target: 'coordinator', for_ms: 50, at: { point: 'dkg_open', of: 'node/1' } }, 0);
    const frames = [frameAt('dkg_open', 'node/1'), frameAt('dkg_seal', 'node/1')];
    for (const frame of frames) expect(engine.frame(frame, 10)).toMatchObject({ arrivals: [], faults: ['flt_1'] });
    expect(engine.frame(frameAt('dkg_seal', 'node/2'), 10).arrivals).toHaveLength(1);
    expect(engine.frame(frameAt('dkg_opened', 'node/1'), 10).arrivals).toHaveLength(1);
    expect(deeds(engine.wake(60))).toEqual([
      { kind: 'resume', process: 'coordinator' },
      { kind: 'deliver', peer: 'node/1', direction: 'in', envelopes: frames.map(({ envelope }) => envelope) },
    ]);
  });

  test('two pauses of one process end with the later one', () => {
    const engine = engineOf();
    engine.arm({ fault: 'pause', target: 'node/1', for_ms: 50 }, 0);
    expect(deeds(engine.arm({ fault: 'pause', target: 'node/1', for_ms: 50 }, 20).orders)).toEqual([]);
    expect(deeds(engine.wake(50))).toEqual([]);
    expect(deeds(engine.wake(70))).toEqual([{ kind: 'resume', process: 'node/1' }]);
  });

  test('a spell by a point strikes again when it is over', () => {
    const engine = engineOf();
    engine.arm({ fault: 'pause', target: 'node/1', for_ms: 50, count: 2, at: { point: 'dkg_open' } }, 0);
    const strike = (at: number) => deeds(engine.frame(frameAt('dkg_open', 'node/1'), at).orders).length;
    expect([strike(1), strike(2)]).toEqual([1, 0]);
    expect(engine.list(2)[0]!.state).toBe('holding');
    expect(kindsOf(engine.wake(51))).toEqual(['resume']);
    expect(engine.list(52)[0]!.state).toBe('armed');
    expect(strike(60)).toBe(1);
    expect(kindsOf(engine.wake(110))).toEqual(['resume', 'ended']);
    expect(strike(120)).toBe(0);
  });

  test('clearing ends everything, and delivers all that is held', () => {
    const engine = engineOf();
    engine.arm({ fault: 'partition', target: 'node/1' }, 0);
    engine.arm({ fault: 'hold', target: 'node/1' }, 0);
    engine.arm({ fault: 'pause', target: 'node/2', for_ms: 500 }, 0);
    engine.arm({ fault: 'clock_skew', target: 'node/3', by_ms: 500 }, 0);
    engine.arm({ fault: 'clock_jump', target: 'node/3', by_ms: 70 }, 0);
    engine.arm({ fault: 'redis_gone', for_ms: 1000 }, 0);
    engine.arm({ fault: 'worker_stalled', for_ms: 1000 }, 0);
    engine.arm({ fault: 'receiver_reset' }, 0);
    engine.arm({ fault: 'crash', target: 'node/1', at: { step: 'never' } }, 0);
    const envelope = held(engine, 1);
    expect(deeds(engine.clear(10))).toEqual([
      { kind: 'silence', process: 'node/1', on: false },
      { kind: 'resume', process: 'node/2' },
      { kind: 'clock', process: 'node/3', offsetMs: 70 },
      { kind: 'redis', up: true },
      { kind: 'worker', stalled: false },
      { kind: 'receiver', behaviour: undefined },
      { kind: 'deliver', peer: 'node/1', direction: 'in', envelopes: [envelope] },
    ]);
    expect([engine.idle, engine.nextWakeMs(), engine.clear(11)]).toEqual([true, Number.POSITIVE_INFINITY, []]);
  });
});

describe('clocks, stores, the queue and the receiver', () => {
  test('skews and jumps of one clock add up; a skew ends, a jump does not', () => {
    const engine = engineOf();
    const offsets = (orders: readonly Order[]) =>
      orders.flatMap((order) => (order.kind === 'clock' ? order.offsetMs : []));
    expect(offsets(engine.arm({ fault: 'clock_skew', target: 'node/1', by_ms: 100, for_ms: 50 }, 0).orders)).toEqual([
      100,
    ]);
    expect(offsets(engine.arm({ fault: 'clock_jump', target: 'node/1', by_ms: -30 }, 1).orders)).toEqual([70]);
    expect(offsets(engine.arm({ fault: 'clock_skew', target: 'node/1', by_ms: 5 }, 2).orders)).toEqual([75]);
    expect(offsets(engine.wake(50))).toEqual([-25]);
    expect(offsets(engine.clear(60))).toEqual([-30]);
    engine.rightClocks();
    expect(offsets(engine.arm({ fault: 'clock_jump', target: 'node/1', by_ms: 7 }, 70).orders)).toEqual([7]);
  });

  test('jumps of one clock add up; that of another process is its own', () => {
    const engine = engineOf();
    const offsets = (target: string, by_ms: number) =>
      engine.arm({ fault: 'clock_jump', target, by_ms } as Fault, 0).orders.filter(({ kind }) => kind === 'clock');
    expect(offsets('node/1', 30)).toEqual([{ kind: 'clock', process: 'node/1', offsetMs: 30 }]);
    expect(offsets('node/1', -50)).toEqual([{ kind: 'clock', process: 'node/1', offsetMs: -20 }]);
    expect(offsets('node/2', 5)).toEqual([{ kind: 'clock', process: 'node/2', offsetMs: 5 }]);
  });

  test('writes are lost, unanswered or slow, as often as the fault says', () => {
    const engine = engineOf();
    engine.arm({ fault: 'store_lost', target: 'node/1', count: 1 }, 0);
    engine.arm({ fault: 'store_unanswered', target: 'coordinator', for_ms: 10 }, 0);
    engine.arm({ fault: 'store_slow', target: ['node/1', 'node/2'], by_ms: 9 }, 0);
    expect(engine.write('node/1', 1)).toEqual({ fate: 'lost', delayMs: 9 });
    expect(kindsOf(engine.wake(1))).toEqual(['fired', 'ended', 'fired']);
    expect(engine.write('node/1', 2)).toEqual({ fate: 'answered', delayMs: 9 });
    expect(engine.write('node/2', 2)).toEqual({ fate: 'answered', delayMs: 9 });
    expect(engine.write('node/3', 2)).toEqual({ fate: 'answered', delayMs: 0 });
    expect(engine.write('coordinator', 3).fate).toBe('unanswered');
    engine.wake(10);
    expect(engine.write('coordinator', 11).fate).toBe('answered');
    expect(engine.list(12).map(({ triggerCount }) => triggerCount)).toEqual([1, 1, 3]);
  });

  test('a failing store fails reads and writes; a point says when it begins', () => {
    const engine = engineOf();
    engine.arm({ fault: 'store_failing', target: 'coordinator', at: { point: 'dkg_confirmed' }, for_ms: 5 }, 0);
    expect([engine.write('coordinator', 1).fate, engine.readsFail('coordinator', 1)]).toEqual(['answered', false]);
    expect(engine.frame(frameAt('dkg_confirmed', 'node/1'), 2).arrivals).toHaveLength(1);
    expect([engine.write('coordinator', 3).fate, engine.readsFail('coordinator', 3)]).toEqual(['lost', true]);
    expect(engine.readsFail('node/1', 3)).toBe(false);
    engine.wake(7);
    expect([engine.write('coordinator', 8).fate, engine.readsFail('coordinator', 8)]).toEqual(['answered', false]);
  });

  test('the worker stalls, and jobs come twice or make no sense', () => {
    const engine = engineOf();
    expect(deeds(engine.arm({ fault: 'worker_stalled', for_ms: 10 }, 0).orders)).toEqual([
      { kind: 'worker', stalled: true },
    ]);
    expect(deeds(engine.wake(10))).toEqual([{ kind: 'worker', stalled: false }]);
    for (const what of ['double_delivery', 'poison_job'] as const) {
      expect(deeds(engine.arm({ fault: what }, 20).orders)).toEqual([{ kind: 'queue', what }]);
    }
  });

  test('the receiver behaves as all of its faults say, and well after them', () => {
    const engine = engineOf();
    const behaviour = (orders: readonly Order[]) =>
      orders.flatMap((order) => (order.kind === 'receiver' ? [order.behaviour] : []));
    expect(behaviour(engine.arm({ fault: 'receiver_status', status: 500, for_ms: 20 }, 0).orders)).toEqual([
      { status: 500 },
    ]);
    expect(behaviour(engine.arm({ fault: 'receiver_slow', by_ms: 9, for_ms: 10 }, 0).orders)).toEqual([
      { status: 500, slowMs: 9 },
    ]);
    expect(behaviour(engine.wake(10))).toEqual([{ status: 500 }]);
    expect(behaviour(engine.wake(20))).toEqual([undefined]);
  });

  test('signing sessions begin with a directive, and other calls as they are', () => {
    const engine = engineOf();
    engine.arm({ fault: 'force_receipt', state: 'EXPIRED' }, 0);
    const asked = (method: 'initiateSigning' | 'sign' | 'submitSignatureShare') => {
      const frame = frameAt('call', 'gateway');
      const request = { case: method, value: { walletId: 'k' } } as const;
      const body = { case: 'call' as const, value: { callId: 1n, request } } as WireBodyInit;
      const message = { ...frame.envelope.message, body };
      const { arrivals, faults } = engine.frame({ ...frame, envelope: { ...frame.envelope, message } }, 1);
      const arrived = arrivals[0]!.envelope.message.body;
      const value = arrived.case === 'call' ? arrived.value.request?.value : undefined;
      return [value as { mockDirective?: MockDirective; walletId: string }, faults] as const;
    };
    for (const method of ['initiateSigning', 'sign'] as const) {
      const [{ mockDirective, walletId }, faults] = asked(method);
      expect([mockDirective, walletId, faults]).toEqual([MockDirective.FORCE_EXPIRED, 'k', ['flt_1']]);
    }
    const [{ mockDirective }, faults] = asked('submitSignatureShare');
    expect([mockDirective, faults]).toEqual([undefined, []]);
  });
});

describe('the list', () => {
  test('keeps what is over for ten minutes, and no more than 200 of them', () => {
    const engine = engineOf();
    for (let at = 0; at < 250; at += 1) engine.arm({ fault: 'crash', target: 'node/1' }, at);
    engine.arm({ fault: 'drop', target: 'node/1' }, 250);
    expect(engine.list(250)).toHaveLength(201);
    expect(engine.list(600_100)).toHaveLength(150);
    expect(engine.list(700_000).map(({ fault }) => fault.fault)).toEqual(['drop']);
  });

  test('drops those first that ended first, whenever they were armed', () => {
    const engine = engineOf();
    engine.arm({ fault: 'drop', id: 'first', target: 'node/1', for_ms: 500 }, 0);
    for (let at = 1; at <= 200; at += 1) engine.arm({ fault: 'crash', id: `crash-${at}`, target: 'node/1' }, at);
    engine.wake(500);
    const ids = engine.list(501).map(({ id }) => id);
    expect([ids.length, ids.includes('first'), ids.includes('crash-1')]).toEqual([200, true, false]);
  });

  test('says when a fault ends only while it is active and its end is known', () => {
    const engine = engineOf();
    engine.arm({ fault: 'drop', target: 'node/1', for_ms: 100, at: { after_ms: 50 } }, 0);
    engine.arm({ fault: 'drop', target: 'node/2' }, 0);
    const ends = (nowMs: number) => {
      engine.wake(nowMs);
      return engine.list(nowMs).map(({ state, endsMs }) => [state, endsMs]);
    };
    expect(ends(0)).toEqual([
      ['armed', null],
      ['holding', null],
    ]);
    expect(ends(50)).toEqual([
      ['holding', 150],
      ['holding', null],
    ]);
    expect(ends(150)).toEqual([
      ['over', null],
      ['holding', null],
    ]);
  });

  test('gives names once while they are in use', () => {
    const engine = engineOf();
    expect(engine.arm({ fault: 'drop', id: 'flt_1', target: 'node/1', count: 1 }, 0).id).toBe('flt_1');
    expect(engine.arm({ fault: 'drop', target: 'node/2' }, 0).id).toBe('flt_2');
    expect(() => engine.arm({ fault: 'drop', id: 'flt_1', target: 'node/1' }, 0)).toThrow(
      'a fault flt_1 exists already: choose another id, or remove that fault',
    );
    engine.frame(frameAt('dkg_open', 'node/1'), 1);
    expect(engine.arm({ fault: 'drop', id: 'flt_1', target: 'node/1' }, 2).id).toBe('flt_1');
    expect(engine.list(3)).toHaveLength(2);
  });
});

describe('a fault that makes no sense', () => {
  const drop = { fault: 'drop', target: 'node/1' } as const;
  const crash = { fault: 'crash', target: 'node/1' } as const;
  test.each<[string, Fault]>([
    ['target', { fault: 'crash', target: 'node/6' }],
    ['target', { fault: 'drop', target: ['node/1', 'node/6'] }],
    ['target', { fault: 'crash', target: 'receiver' }],
    ['target', { fault: 'crash', target: 'redis' }],
    ['target', { fault: 'drop', target: 'worker' }],
    ['target', { fault: 'store_lost', target: 'gateway' }],
    ['target', { fault: 'clock_jump', target: 'redis', by_ms: 1 }],
    ['lose_state', { fault: 'crash', target: 'coordinator', lose_state: true }],
    ['at.phase', { ...crash, at: { phase: 'after' } }],
    ['at.nth', { ...crash, at: { nth: 2 } }],
    ['at.of', { ...crash, at: { of: 'node/2' } }],
    ['at.of', { ...crash, at: { of: 'node/7', point: 'dkg_open' } }],
    ['at.of', { ...crash, at: { of: 'redis', point: 'dkg_open' } }],
    ['at.session', { ...crash, at: { session: 's' } }],
    ['at.session', { ...drop, at: { session: 's', point: 'deal_nonces' } }],
    ['at.phase', { ...drop, at: { point: 'dkg_open', phase: 'after' } }],
    ['at.point', { ...crash, at: { point: 'call' } }],
    ['at.point', { fault: 'crash', target: 'gateway', at: { point: 'partial_reply' } }],
    ['at.point', { ...drop, direction: 'in', at: { point: 'partial_reply' } }],
    ['at.point', { ...drop, at: { point: 'partial_reply', of: 'node/2' } }],
    ['at.point', { fault: 'bad_partial', target: 'node/1', at: { point: 'dkg_opened' } }],
    ['at.point', { fault: 'force_receipt', state: 'DENIED', at: { point: 'call_reply' } }],
    ['count', { ...crash, count: 2 }],
    ['count', { fault: 'partition', target: 'node/1', count: 2 }],
    ['count', { fault: 'receiver_reset', count: 2 }],
    ['for_ms', { ...crash, for_ms: 5 }],
    ['by_ms', { fault: 'delay', target: 'node/1' }],
    ['by_ms', { fault: 'delay', target: 'node/1', by_ms: 5, max_ms: 6 }],
    ['min_ms', { fault: 'delay', target: 'node/1', min_ms: 7, max_ms: 6 }],
    ['distribution', { fault: 'delay', target: 'node/1', by_ms: 5, distribution: 'uniform' }],
    ['for', { fault: 'bad_share', target: 'node/1', for: [6] }],
    ['for', { fault: 'bad_share', target: 'node/1', for: [1] }],
    ['about', { fault: 'false_report', target: 'node/1', about: 1 }],
    ['about', { fault: 'false_report', target: 'node/1', about: 9 }],
  ])('is refused by its %s: %j', (field, fault) => {
    const engine = engineOf();
    expect(() => engine.arm(fault, 0)).toThrow(expect.objectContaining({ name: 'FaultError', field }));
    expect([engine.idle, engine.list(0)]).toEqual([true, []]);
  });

  test('is refused live, where only the simulated world has it', () => {
    const engine = engineOf({ world: 'live' });
    for (const fault of ['store_lost', 'store_unanswered', 'store_failing'] as const) {
      expect(() => engine.arm({ fault, target: 'node/1' }, 0)).toThrow(expect.objectContaining({ field: 'fault' }));
    }
    for (const target of ['gateway/2', 'worker/3'] as const) {
      expect(() => engine.arm({ fault: 'crash', target }, 0)).toThrow('is the name of all');
    }
    expect(engine.arm({ fault: 'crash', target: 'node/1' }, 0).id).toBe('flt_1');
  });

  test('is a lie in the name of a node whose identity is not at hand', () => {
    const engine = engineOf({ identitySeed: (id) => (id === 2 ? undefined : new Uint8Array(32)) });
    expect(() => engine.arm({ fault: 'bad_share', target: 'node/*' }, 0)).toThrow('node/2');
    expect(engine.arm({ fault: 'bad_share', target: 'node/1' }, 0).id).toBe('flt_1');
    expect(engine.arm({ fault: 'bad_partial', target: 'node/2' }, 0).id).toBe('flt_2');
  });
});

test('every kind can be armed, and a frame that nothing touches arrives as it is', () => {
  expect(Object.keys(samples).sort()).toEqual([...faultKinds].sort());
  for (const kind of Object.keys(samples) as FaultKind[]) {
    const engine = engineOf({ hasPorts: true });
    const { id } = engine.arm(samples[kind], 0);
    expect(engine.disarm(id, 1)).toBeDefined();
    const frame = frameAt('partial_reply', 'node/1');
    const verdict = engine.frame(frame, 2);
    expect(verdict).toEqual({ arrivals: [{ envelope: frame.envelope, afterMs: 0 }], orders: [], faults: [] });
    expect(verdict.arrivals[0]!.envelope).toBe(frame.envelope);
  }
});

describe('calls of ports', () => {
  const engine = () => engineOf({ hasPorts: true, gateways: 2, workers: 2 });
  const commit = { process: 'gateway', port: 'redis', call: 'store/commit.lua' } as const;

  test('a crash at the second commit of one gateway, before or after it', () => {
    for (const phase of ['before', 'after'] as const) {
      const at = { port: 'redis', call: 'store/commit.lua', nth: 2, phase } as const;
      const one = engine();
      one.arm({ fault: 'crash', target: 'gateway/2', at }, 0);
      const crashes = (call: Parameters<typeof one.portCall>[0]) => {
        const verdict = one.portCall(call, 1);
        expect(verdict.fate).toBe('answered');
        return verdict[phase].flatMap((order) => (order.kind === 'crash' ? [order.process] : []));
      };
      const theirs = { ...commit, process: 'gateway/2' };
      expect([commit, theirs, { ...theirs, call: 'get' }, commit, theirs, theirs].map(crashes)).toEqual([
        ...[[], [], [], []],
        ['gateway/2'],
        [],
      ]);
    }
  });

  test('a late provider is 5 s late, unless the fault says how long', () => {
    const delayOf = (more: object) => {
      const one = engine();
      one.arm({ fault: 'provider_fails', by: 'late', ...more } as Fault, 0);
      return one.portCall({ process: 'gateway', port: 'provider', call: 'fireblocks' }, 1).delayMs;
    };
    expect([delayOf({}), delayOf({ by_ms: 70 })]).toEqual([5_000, 70]);
  });

  test('fates of stores: commands to Redis, or the calls that at.port names; the nth alone', () => {
    const fates = (fault: Parameters<ReturnType<typeof engine>['arm']>[0], calls: readonly PortCallMade[]) => {
      const one = engine();
      one.arm(fault, 0);
      return calls.map((call) => one.portCall(call, 1).fate);
    };
    const egress = { process: 'worker', port: 'egress', call: 'https://hooks.example.com' } as const;
    expect(fates({ fault: 'store_lost', target: 'gateway/1' }, [commit, egress])).toEqual(['lost', 'answered']);
    const nth = { port: 'redis', nth: 2 } as const;
    expect(fates({ fault: 'store_unanswered', target: 'gateway', at: nth }, [commit, commit, commit])).toEqual([
      ...['answered', 'unanswered', 'answered'],
    ]);
    expect(fates({ fault: 'store_failing', target: 'worker', at: { port: 'egress' } }, [commit, egress])).toEqual([
      ...['answered', 'refused'],
    ]);
    const custodian = { process: 'gateway', port: 'provider', call: 'bitgo' } as const;
    const calls = [custodian, { ...custodian, call: 'copper' }, commit];
    expect(fates({ fault: 'provider_fails', by: 'twice', provider: 'bitgo' }, calls)).toEqual([
      ...['twice', 'answered', 'answered'],
    ]);
    // Once, twice, or at every call of its time.
    const times = (more: object) =>
      fates({ fault: 'provider_fails', by: 'refuses', ...more } as Fault, [custodian, custodian, custodian]);
    expect(times({ count: 1 })).toEqual(['refused', 'answered', 'answered']);
    expect(times({ count: 2 })).toEqual(['refused', 'refused', 'answered']);
    expect(times({ at: { port: 'provider', nth: 2 }, for_ms: 100 })).toEqual(['answered', 'refused', 'refused']);
    const late = engine();
    late.arm({ fault: 'provider_fails', by: 'late', by_ms: 70 }, 0);
    expect(late.portCall(custodian, 1)).toMatchObject({ fate: 'answered', delayMs: 70 });
  });

  test.each([
    [{ fault: 'crash', target: 'gateway/3' }, 'target'],
    [{ fault: 'crash', target: 'worker/3' }, 'target'],
    [{ fault: 'drop', target: 'gateway', at: { port: 'redis' } }, 'at.port'],
    [{ fault: 'crash', target: 'gateway', at: { call: 'get' } }, 'at.call'],
    [{ fault: 'crash', target: 'gateway', at: { port: 'redis', of: 'node/1' } }, 'at.of'],
    [{ fault: 'crash', target: 'gateway', at: { port: 'redis', point: 'call' } }, 'at.port'],
    [{ fault: 'store_lost', target: 'gateway', at: { port: 'redis', phase: 'after' } }, 'at.phase'],
  ] as const)('%o is refused at %s', (fault, field) => {
    expect(() => engine().arm(fault as Fault, 0)).toThrow(expect.objectContaining({ field }));
  });

  test('need a world with the wallet API', () => {
    for (const fault of [
      { fault: 'provider_fails', by: 'late' },
      { fault: 'store_lost', target: 'worker' },
      { fault: 'pause', target: 'gateway', for_ms: 1, at: { port: 'redis' } },
    ] as const) {
      expect(() => engineOf().arm(fault, 0)).toThrow(/wallet API/);
    }
  });
});

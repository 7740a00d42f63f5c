/** Load control in simulation: a server that does so much a second, and callers that want more. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GateHost } from '../../../core/actors/admission/gate-host.ts';
import { type GateOptions, type GateWork, gateDefaults, WorkGate } from '../../../core/actors/admission/work-gate.ts';
import { runs } from '../../support/thorough.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';

interface Call extends GateWork {
  readonly offeredMs: number;
  startedMs: number | undefined;
}

interface Load {
  /** Calls a second of each tenant. */
  readonly perSecond: Readonly<Record<string, number>>;
  readonly forMs: number;
}

interface Outcome {
  /** By tenant. */
  readonly offered: Record<string, number>;
  readonly done: Record<string, number>;
  readonly refused: Record<string, number>;
  /** Milliseconds from the offer to the answer, of what was done and of what was refused. */
  readonly tookMs: number[];
  readonly refusedAfterMs: number[];
  readonly mostInHand: number;
  readonly gate: WorkGate<Call>;
  readonly endMs: number;
}

/**
 * A process that completes `capacity` calls a second, one after another, and is late by the work that it has in hand. Steps
 * of a millisecond; ticks every 100 ms, as the host makes them. Phases follow each other on one gate.
 */
function simulate(capacity: number, phases: readonly Load[], options: Partial<GateOptions> = {}): Outcome[] {
  const gate = new WorkGate<Call>(options);
  const inHand: Call[] = [];
  let nowMs = 0;
  let credit = 0;
  return phases.map(({ perSecond, forMs }) => {
    const count = (): Record<string, number> => Object.fromEntries(Object.keys(perSecond).map((name) => [name, 0]));
    const [offered, done, refused] = [count(), count(), count()];
    const owed = count();
    const [tookMs, refusedAfterMs]: [number[], number[]] = [[], []];
    let mostInHand = 0;
    const start = (calls: readonly Call[]): void => {
      for (const call of calls) {
        call.startedMs = nowMs;
        inHand.push(call);
      }
    };
    const refuse = (calls: readonly Call[]): void => {
      for (const call of calls) {
        refused[call.tenant] = (refused[call.tenant] ?? 0) + 1;
        refusedAfterMs.push(nowMs - call.offeredMs);
      }
    };
    for (const endMs = nowMs + forMs; nowMs < endMs; nowMs += 1) {
      for (const [tenant, rate] of Object.entries(perSecond)) {
        for (owed[tenant]! += rate / 1000; owed[tenant]! >= 1; owed[tenant]! -= 1) {
          const call: Call = { tenant, state: 'new', sinceMs: 0, offeredMs: nowMs, startedMs: undefined };
          offered[tenant]! += 1;
          const verdict = gate.offer(call, nowMs);
          if (verdict === 'started') start([call]);
          else if (verdict === 'refused') refuse([call]);
        }
      }
      for (credit = Math.min(credit + capacity / 1000, 1 + capacity / 1000); credit >= 1 && inHand.length > 0; ) {
        credit -= 1;
        const call = inHand.shift()!;
        done[call.tenant] = (done[call.tenant] ?? 0) + 1;
        tookMs.push(nowMs - call.offeredMs);
        start(gate.leave(call));
      }
      mostInHand = Math.max(mostInHand, inHand.length);
      if (nowMs % 100 !== 99) continue;
      const { started, refused: shed } = gate.tick(nowMs, (inHand.length / capacity) * 1000);
      refuse(shed);
      start(started);
    }
    return { offered, done, refused, tookMs, refusedAfterMs, mostInHand, gate, endMs: nowMs };
  });
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((all, one) => all + one, 0);

describe('a gate in front of a server that completes so many calls a second', () => {
  it('lets everything through, at once, while the server is fast enough', () => {
    const [run] = simulate(300, [{ perSecond: { one: 200 }, forMs: 10_000 }]);
    expect(sum(run!.refused)).toBe(0);
    expect(percentile(run!.tookMs, 0.99)).toBeLessThan(20);
  });

  it('keeps the rate at three times the maximum, refuses the rest at once, and is itself again within seconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 30, max: 1_000 }), fc.integer({ min: 3, max: 10 }), (capacity, times) => {
        const [, full, after] = simulate(capacity, [
          { perSecond: { one: capacity * times }, forMs: 10_000 },
          { perSecond: { one: capacity * times }, forMs: 10_000 },
          { perSecond: { one: capacity / 2 }, forMs: 8_000 },
        ]);
        expect(sum(full!.done)).toBeGreaterThan(0.95 * capacity * 10);
        expect(percentile(full!.refusedAfterMs, 0.95)).toBe(0);
        expect(percentile(full!.tookMs, 0.95)).toBeLessThan(1_000);
        const calm = after!.tookMs.slice(Math.floor(after!.tookMs.length / 2));
        expect(percentile(calm, 0.99)).toBeLessThan(2_500 / capacity + 20);
        expect(sum(after!.refused)).toBeLessThan(capacity);
      }),
      { numRuns: runs(4, 8) },
    );
  });

  it('refuses at once, too, where other work than its own leaves it no room', () => {
    let inHand = 0;
    const gate = new WorkGate<Call>({ mayStart: () => inHand < 20 });
    const ends: Call[] = [];
    const start = (calls: readonly Call[]) => {
      for (const call of calls) {
        inHand += 1;
        ends.push(call);
      }
    };
    const refusedAfterMs: number[] = [];
    // 100 end in a second, 300 come; the process is never late.
    for (let nowMs = 0; nowMs < 12_000; nowMs += 1) {
      const refused: Call[] = [];
      if (nowMs % 10 < 3) {
        const call: Call = { tenant: 'one', state: 'new', sinceMs: 0, offeredMs: nowMs, startedMs: undefined };
        const verdict = gate.offer(call, nowMs);
        if (verdict === 'started') start([call]);
        else if (verdict === 'refused') refused.push(call);
      }
      if (nowMs % 10 === 0 && ends.length > 0) {
        inHand -= 1;
        start(gate.leave(ends.shift()!));
      }
      if (nowMs % 100 === 99) {
        const verdicts = gate.tick(nowMs, 0);
        refused.push(...verdicts.refused);
        start(verdicts.started);
      }
      refusedAfterMs.push(...refused.map(({ offeredMs }) => nowMs - offeredMs));
    }
    expect(refusedAfterMs.length).toBeGreaterThan(2_000);
    expect(refusedAfterMs.filter((ms) => ms > 0).length).toBeLessThan(60);
  });

  it('serves a burst that it can finish in time, and refuses what would have to wait longer', () => {
    const [burst, rest] = simulate(200, [
      { perSecond: { one: 3_000_000 }, forMs: 1 },
      { perSecond: { one: 0 }, forMs: 8_000 },
    ]);
    expect(burst!.offered.one).toBe(3_000);
    const completed = sum(burst!.done) + sum(rest!.done);
    expect(completed).toBeGreaterThan(300);
    expect(completed + sum(rest!.refused)).toBe(3_000);
    expect(Math.max(...rest!.tookMs)).toBeLessThan(gateDefaults.burstWaitMs + 500);
    // Once the rate is known, which takes some tenths of a second, the rest is refused.
    expect(percentile(rest!.refusedAfterMs, 0.9)).toBeLessThan(500);
  });

  it('the flood of one tenant costs the others nothing', () => {
    fc.assert(
      fc.property(fc.integer({ min: 50, max: 800 }), (capacity) => {
        const [run] = simulate(capacity, [
          { perSecond: { flood: capacity * 10, small: capacity / 10 }, forMs: 15_000 },
        ]);
        expect(run!.refused.small).toBe(0);
        expect(run!.done.small).toBeGreaterThan(0.95 * run!.offered.small! - 2);
        expect(sum(run!.done)).toBeGreaterThan(0.95 * capacity * 15);
      }),
      { numRuns: runs(3, 6) },
    );
  });

  it('tenants that all ask for too much get equal parts', () => {
    const perSecond = { a: 400, b: 800, c: 2_000 };
    const [, run] = simulate(300, [
      { perSecond, forMs: 8_000 },
      { perSecond, forMs: 10_000 },
    ]);
    for (const tenant of ['a', 'b', 'c']) {
      expect(run!.done[tenant]).toBeGreaterThan(850);
      expect(run!.done[tenant]).toBeLessThan(1_150);
    }
  });

  it('takes on more where work waits for something else than this process', () => {
    const gate = new WorkGate<Call>();
    for (let index = 0; index < 2_000; index += 1) gate.offer(callOf('one'), 0);
    expect(gate.inHand).toBe(48);
    for (let nowMs = 100; nowMs <= 1_500; nowMs += 100) gate.tick(nowMs, 0);
    expect(gate.inHand).toBe(2_000);
  });

  it('takes on less while the process is late, and never less than its minimum', () => {
    const gate = new WorkGate<Call>({ limitMin: 10 });
    for (let nowMs = 0; nowMs < 5_000; nowMs += 100) gate.tick(nowMs, 500);
    expect(gate.limit).toBe(10);
  });
});

describe('the bookkeeping of a gate', () => {
  it('every work is started once, refused, or withdrawn, and all places come back', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('offer' as const), tenant: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ kind: fc.constant('leave' as const), index: fc.nat(200) }),
      fc.record({ kind: fc.constant('tick' as const), byMs: fc.integer({ min: 1, max: 900 }), delayMs: fc.nat(300) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const gate = new WorkGate<Call>({ limitStart: 4, limitMin: 2, limitMax: 8, waitingMax: 20 });
        const calls: Call[] = [];
        let nowMs = 0;
        const started = new Set<Call>();
        const start = (works: readonly Call[]): void => {
          for (const work of works) {
            expect(started.has(work)).toBe(false);
            started.add(work);
          }
        };
        for (const one of steps) {
          if (one.kind === 'offer') {
            const call = callOf(one.tenant);
            calls.push(call);
            if (gate.offer(call, nowMs) === 'started') start([call]);
          } else if (one.kind === 'leave') {
            const call = calls[one.index];
            if (call !== undefined) start(gate.leave(call));
          } else {
            nowMs += one.byMs;
            start(gate.tick(nowMs, one.delayMs).started);
          }
          expect(gate.inHand).toBe(calls.filter(({ state }) => state === 'inHand').length);
          expect(gate.waiting).toBe(calls.filter(({ state }) => state === 'waiting').length);
          expect(gate.waiting).toBeLessThanOrEqual(20);
          expect(gate.inHand).toBeLessThanOrEqual(8);
        }
        for (let round = 0; round < 50; round += 1) {
          for (const call of calls) start(gate.leave(call));
        }
        expect([gate.inHand, gate.waiting]).toEqual([0, 0]);
      }),
    );
  });
});

describe('the host of gates', () => {
  it('starts work, refuses it with a time to wait, and ticks only while there is work', async () => {
    const timers = new VirtualTimers();
    const host = new GateHost({
      timers,
      gates: { writes: { limitStart: 1, limitMin: 1, limitMax: 1, waitingMax: 1 } },
    });
    const said: string[] = [];
    const enter = (name: string) =>
      host.enter(
        'writes',
        'one',
        () => said.push(`${name} starts`),
        (afterMs) => said.push(`${name} refused ${afterMs > 0}`),
      );
    const first = enter('first');
    const second = enter('second');
    enter('third');
    expect(said).toEqual(['first starts', 'third refused true']);
    first.leave();
    first.leave();
    expect(said.at(-1)).toBe('second starts');
    second.leave();
    await timers.advance(500);
    expect(timers.pending).toBe(0);
  });

  it('what has waited too long is refused, and a caller that has gone is not called', async () => {
    const timers = new VirtualTimers();
    const host = new GateHost({ timers, gates: { writes: { limitStart: 1, limitMin: 1, limitMax: 1 } } });
    const said: string[] = [];
    const enter = (name: string) =>
      host.enter(
        'writes',
        'one',
        () => said.push(`${name} starts`),
        () => said.push(`${name} refused`),
      );
    enter('first');
    enter('second');
    enter('third').leave();
    await timers.advance(gateDefaults.burstWaitMs + 1_000);
    expect(said).toEqual(['first starts', 'second refused']);
  });

  it('takes the delay of each new probe in place of the one before', async () => {
    const timers = new VirtualTimers();
    let tookMs = 450;
    let probes = 0;
    const probe = () => {
      probes += 1;
      return new Promise<void>((resolve) => void timers.start(tookMs, resolve));
    };
    const host = new GateHost({ timers, gates: { writes: {} }, probe });
    host.enter('writes', 'one', nothing, nothing);
    await timers.advance(1_000);
    expect(host.delayMs).toBeGreaterThanOrEqual(400);
    tookMs = 10;
    await timers.advance(1_000);
    expect([host.delayMs, probes > 5]).toEqual([10, true]);
  });

  it('starts what stood back for another class as soon as nothing of that class waits', () => {
    const timers = new VirtualTimers();
    const one = { limitStart: 1, limitMin: 1, limitMax: 1, tenantShare: 1 };
    const gates = { reads: one, writes: { ...one, mayStart: () => !host.gate('reads').hasWaiting('one') } };
    const host: GateHost<'reads' | 'writes'> = new GateHost({ timers, gates });
    let started = 0;
    host.enter('reads', 'one', nothing, nothing);
    const waiting = host.enter('reads', 'one', nothing, nothing);
    host.enter('writes', 'one', () => (started += 1), nothing);
    expect([started, host.isWaiting]).toEqual([0, true]);
    waiting.leave();
    expect([started, host.isWaiting]).toEqual([1, false]);
  });

  it('counts a slow probe as delay', async () => {
    const timers = new VirtualTimers();
    const probe = () => new Promise<void>((resolve) => void timers.start(450, resolve));
    const host = new GateHost({ timers, gates: { writes: { limitStart: 64, limitMin: 4 } }, probe });
    host.enter(
      'writes',
      'one',
      () => {},
      () => {},
    );
    await timers.advance(3_000);
    expect(host.delayMs).toBeGreaterThanOrEqual(400);
    expect(host.gate('writes').limit).toBeLessThan(32);
  });
});

const nothing = (): void => {};

function callOf(tenant: string): Call {
  return { tenant, state: 'new', sinceMs: 0, offeredMs: 0, startedMs: undefined };
}

describe('the bounds of a gate', () => {
  const work = (tenant = 'a'): GateWork => ({ tenant, state: 'new', sinceMs: 0 });
  /** With one piece in hand and `waiting` that wait since 0. */
  function busy(options: Partial<GateOptions>, waiting = 1) {
    const gate = new WorkGate<GateWork>({ limitStart: 1, limitMin: 1, limitMax: 1, tenantShare: 1, ...options });
    const [first, ...others] = Array.from({ length: 1 + waiting }, () => work()) as [GateWork, ...GateWork[]];
    expect(gate.offer(first, 0)).toBe('started');
    for (const other of others) expect(gate.offer(other, 0)).toBe('waits');
    return { gate, first, others };
  }

  it('the number of pieces that wait', () => {
    const { gate } = busy({ waitingMax: 2 });
    expect(gate.offer(work(), 0)).toBe('waits');
    expect(gate.offer(work(), 0)).toBe('refused');
    expect(gate.waiting).toBe(2);
    // Nothing was measured yet: it comes back after the wait of a burst.
    expect(gate.refusal('a', 0)).toBe(2_000);
  });

  it('the wait of each piece: exactly as long is not too long', () => {
    const { gate, others } = busy({ burstWaitMs: 500 });
    expect(gate.tick(500, 0).refused).toEqual([]);
    expect(gate.tick(501, 0).refused).toEqual(others);
    expect(gate.waiting).toBe(0);
  });

  it('the time to come back: from one millisecond to one minute', () => {
    const slow = busy({ burstWaitMs: 100_000 }, 4);
    slow.gate.leave(slow.first);
    // One has started in 25 s, and three wait.
    expect(slow.gate.tick(25_000, 0)).toEqual({ started: [], refused: [] });
    expect(slow.gate.refusal('a', 25_000)).toBe(60_000);
    const fast = busy({ waitingMax: 30 }, 30);
    let last = fast.first;
    for (const next of fast.others.slice(0, 20)) {
      expect(fast.gate.leave(last)).toEqual([next]);
      last = next;
    }
    fast.gate.tick(100, 0);
    expect(fast.gate.rate).toBe(0.2);
    for (let count = 0; count < 20; count += 1) expect(fast.gate.offer(work(), 100)).toBe('waits');
    // 30 wait, of which a fifth starts each millisecond.
    expect(fast.gate.refusal('a', 100)).toBe(150);
  });

  it('the wait after a lasting overload, from exactly its time on', () => {
    const { gate, first, others } = busy({ standingAfterMs: 1_000, standingWaitMs: 250 }, 30);
    let last = first;
    for (const next of others.slice(0, 20)) {
      gate.leave(last);
      last = next;
    }
    gate.tick(400, 0);
    // A twentieth each millisecond, and ten ahead: 220 ms.
    expect(gate.rate).toBe(0.05);
    expect(gate.refusal('a', 1_000)).toBeUndefined();
    expect(gate.offer(work(), 999)).toBe('waits');
    expect(gate.offer(work(), 999)).toBe('waits');
    expect(gate.refusal('a', 999)).toBeUndefined();
    expect(gate.refusal('a', 1_000)).toBe(240);
  });

  it('the share of one tenant', () => {
    const gate = new WorkGate<GateWork>({ limitStart: 4, limitMin: 4, limitMax: 4, tenantShare: 0.5 });
    expect([1, 2, 3].map(() => gate.offer(work('a'), 0))).toEqual(['started', 'started', 'waits']);
    expect([1, 2, 3].map(() => gate.offer(work('b'), 0))).toEqual(['started', 'started', 'waits']);
    expect(gate.inHand).toBe(4);
  });

  it('the delay of the process: exactly the target is no delay', () => {
    const { gate } = busy({ limitStart: 10, limitMin: 2, limitMax: 10, delayTargetMs: 100 }, 0);
    gate.tick(100, 100);
    expect(gate.limit).toBe(10);
    gate.tick(200, 101);
    expect(gate.limit).toBe(2);
  });
});

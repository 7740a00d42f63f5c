/** The driver: when operations are sent, what is not sent, and from when their latency counts. */
import { describe, expect, test } from 'vitest';
import type { RunStage } from '../../../clients/load/plan/plan.ts';
import { drive, InFlight, type LoadClock, type SendTimes } from '../../../clients/load/run/drive.ts';

/** Time that passes only when the driver waits, or when a test says so. */
class HandClock implements LoadClock {
  atMs = 0;
  nowMs = () => this.atMs;
  turn = async () => undefined;
  async sleep(ms: number): Promise<void> {
    this.atMs += ms;
  }
}

interface Given {
  readonly stage: RunStage;
  readonly inFlightMax?: number;
  readonly clock?: HandClock;
  readonly operate?: (attempt: SendTimes) => Promise<boolean>;
  readonly signal?: AbortSignal;
}

async function driven({ stage, inFlightMax = 100, clock = new HandClock(), operate, signal }: Given) {
  const attempts: SendTimes[] = [];
  let unsent = 0;
  await drive({
    stage,
    arrivals: 'even',
    random: () => 0,
    clock,
    inFlight: new InFlight(inFlightMax),
    signal: signal ?? new AbortController().signal,
    operate: (attempt) => {
      attempts.push(attempt);
      return operate?.(attempt) ?? Promise.resolve(true);
    },
    onUnsent: () => {
      unsent += 1;
    },
  });
  return { attempts, unsent, tookMs: clock.atMs };
}

const tenASecond = { name: 's', shape: 'constant', rate: 10, forMs: 1000 } as const;
const never = () => new Promise<boolean>(() => undefined);

describe('an open stage', () => {
  test('sends each operation at its time, also when no answer comes', async () => {
    const { attempts, tookMs } = await driven({ stage: tenASecond, operate: never });
    expect(attempts.map(({ sentMs }) => sentMs)).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
    expect(tookMs).toBe(1000);
  });

  test('that was held up sends what is overdue at once, and counts latency from the time it was due', async () => {
    const clock = new HandClock();
    // The third operation blocks this process for half a second: the next five are late, and say so.
    const operate = async ({ intendedMs }: SendTimes) => {
      if (intendedMs === 200) clock.atMs += 500;
      return true;
    };
    const { attempts } = await driven({ stage: tenASecond, clock, operate });
    expect(attempts.map(({ intendedMs }) => intendedMs)).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
    expect(attempts.map(({ sentMs, intendedMs }) => sentMs - intendedMs)).toEqual([
      0, 0, 0, 400, 300, 200, 100, 0, 0, 0,
    ]);
  });

  test('counts what arrives while the bound is reached as unsent, and never sends it', async () => {
    const { attempts, unsent } = await driven({ stage: tenASecond, inFlightMax: 3, operate: never });
    expect(attempts).toHaveLength(3);
    expect(unsent).toBe(7);
  });

  test('ends when it is interrupted', async () => {
    const ending = new AbortController();
    const operate = async ({ intendedMs }: SendTimes) => {
      if (intendedMs === 300) ending.abort();
      return true;
    };
    const { attempts } = await driven({ stage: tenASecond, operate, signal: ending.signal });
    expect(attempts).toHaveLength(4);
  });
});

describe('a closed stage', () => {
  test('has as many operations under way as callers, and begins none after its time', async () => {
    const clock = new HandClock();
    let underWay = 0;
    let most = 0;
    const operate = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await Promise.resolve();
      clock.atMs += 50;
      underWay -= 1;
      return true;
    };
    const stage = { name: 's', shape: 'closed', callers: 3, forMs: 1000 } as const;
    const { attempts } = await driven({ stage, clock, operate });
    expect(most).toBe(3);
    expect(Math.max(...attempts.map(({ sentMs }) => sentMs))).toBeLessThan(1000);
  });
});

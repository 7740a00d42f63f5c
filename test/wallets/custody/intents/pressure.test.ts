/** When a tenant gets no new transfers, because those that it has would be handled too late. */
import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../../../wallets/custody/intents/fair-queue.ts';
import { StartRate } from '../../../../wallets/custody/intents/throughput.ts';
import { VirtualTimers } from '../../../support/virtual-timers.ts';

describe('the pace of a queue', () => {
  it('tells how long so many will wait, at the rate of the last seconds', async () => {
    const timers = new VirtualTimers();
    const pace = new StartRate(timers);
    for (let count = 0; count < 300; count += 1) {
      pace.started();
      await timers.advance(10);
    }
    expect(pace.waitMs(100)).toBeGreaterThan(900);
    expect(pace.waitMs(100)).toBeLessThan(1_100);
  });

  it('that has just grown is measured by the present window alone', async () => {
    const timers = new VirtualTimers();
    const pace = new StartRate(timers);
    const start = async (count: number, everyMs: number) => {
      for (let started = 0; started < count; started += 1) {
        pace.started();
        await timers.advance(everyMs);
      }
    };
    await start(10, 100);
    await start(50, 10);
    expect(pace.waitMs(100)).toBeGreaterThan(900);
    expect(pace.waitMs(100)).toBeLessThan(1_100);
  });

  it('remembers of a silence its whole length, however often it is asked', async () => {
    const timers = new VirtualTimers();
    const pace = new StartRate(timers);
    for (let count = 0; count < 10; count += 1) pace.started();
    await timers.advance(5_000);
    expect([pace.waitMs(10), pace.waitMs(10)]).toEqual([5_000, 5_000]);
  });

  it('knows no end of a wait when nothing starts any more', async () => {
    const timers = new VirtualTimers();
    const pace = new StartRate(timers);
    pace.started();
    await timers.advance(2_000);
    pace.waitMs(1);
    await timers.advance(2_000);
    expect(pace.waitMs(1)).toBe(Infinity);
  });
});

it('ahead of one more of a tenant are as many of each other tenant as of its own', () => {
  const queue = new FairQueue<number>();
  for (let count = 0; count < 100; count += 1) queue.push('flood', count);
  queue.push('small', 1);
  expect(queue.waiting('flood')).toEqual({ own: 100, ahead: 101 });
  expect(queue.waiting('small')).toEqual({ own: 1, ahead: 3 });
  expect(queue.waiting('new')).toEqual({ own: 0, ahead: 2 });
});

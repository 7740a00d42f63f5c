/** Parts of the kernel and the live host that compute alone: mailboxes, the pace of restarts, the queue of actors, clock jumps. */
import { describe, expect, it } from 'vitest';
import { ClockJumps } from '../../../core/actors/clock-jumps.ts';
import { Mailbox } from '../../../core/actors/kernel/mailbox.ts';
import { RestartPacer } from '../../../core/actors/kernel/restart-pacer.ts';
import { systemTimers } from '../../../core/actors/live/ports.ts';
import { RunQueue } from '../../../core/actors/live/run-queue.ts';

describe('a mailbox', () => {
  it('gives its items in order while it is filled and emptied, over thousands that wait', () => {
    const mailbox = new Mailbox<number>();
    let [pushed, shifted] = [0, 0];
    for (const [push, shift] of [
      [3_000, 1_500],
      [1, 1_000],
      [2_000, 2_500],
      [1, 2],
      [5, 5],
    ] as const) {
      for (let count = 0; count < push; count += 1) mailbox.push(pushed++);
      for (let count = 0; count < shift; count += 1) expect(mailbox.shift()).toBe(shifted++);
      expect(mailbox.length).toBe(pushed - shifted);
    }
    expect(mailbox.shift()).toBeUndefined();
    expect(mailbox.length).toBe(0);
  });

  it('drains what waits, oldest first', () => {
    const mailbox = new Mailbox<string>();
    for (const item of ['a', 'b', 'c']) mailbox.push(item);
    mailbox.shift();
    expect(mailbox.drain()).toEqual(['b', 'c']);
    expect([mailbox.length, mailbox.shift()]).toEqual([0, undefined]);
    mailbox.push('d');
    expect(mailbox.shift()).toBe('d');
  });
});

describe('restarts', () => {
  it('are immediate three times in 10 s; further ones wait 100 ms, doubled each time, up to 5 s', () => {
    const pacer = new RestartPacer();
    const waits = Array.from({ length: 12 }, (_, index) => pacer.next(1_000 + index));
    expect(waits).toEqual([0, 0, 0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
    for (let count = 0; count < 2_000; count += 1) expect(pacer.next(1_100)).toBe(5_000);
  });

  it('count no longer after 10 s', () => {
    const pacer = new RestartPacer();
    expect([0, 1, 2].map((atMs) => pacer.next(atMs))).toEqual([0, 0, 0]);
    expect(pacer.next(9_999)).toBe(100);
    // Those at 0, 1 and 2 are past; that at 9,999 counts.
    expect(pacer.next(10_002)).toBe(0);
    expect(pacer.next(10_003)).toBe(0);
    expect(pacer.next(10_004)).toBe(100);
  });

  it('that a clock dated into the future count no longer once it is set back', () => {
    const pacer = new RestartPacer();
    for (const atMs of [60_000, 60_000, 60_000]) pacer.next(atMs);
    expect(pacer.next(0)).toBe(0);
  });
});

describe('a queue of work', () => {
  it('continues in the next turn of the event loop after its number in a row, and handles nothing twice', async () => {
    const handled: number[] = [];
    const queue = new RunQueue<number>((item) => {
      handled.push(item);
      if (item < 3) queue.push(item + 10);
      // It runs already.
      queue.run();
    }, 4);
    for (const item of [1, 2, 3]) queue.push(item);
    queue.run();
    expect(handled).toEqual([1, 2, 3, 11]);
    await new Promise(setImmediate);
    expect(handled).toEqual([1, 2, 3, 11, 12]);
    queue.push(20);
    queue.run();
    expect(handled).toEqual([1, 2, 3, 11, 12, 20]);
  });
});

describe('a clock', () => {
  it('that was set back by a second or more is reported once, with the time', () => {
    let [clockMs, elapsedMs] = [1_000_000, 0];
    const jumps = new ClockJumps({
      clock: { nowMs: () => clockMs },
      timers: { ...systemTimers, elapsedMs: () => elapsedMs, start: () => () => undefined },
    });
    const step = (clockStepMs: number, elapsedStepMs: number): number => {
      clockMs += clockStepMs;
      elapsedMs += elapsedStepMs;
      return jumps.setBackMs();
    };
    expect(jumps.setBackMs()).toBe(0);
    expect(step(500, 500)).toBe(0);
    expect(step(-500, 499)).toBe(0);
    expect(step(-500, 500)).toBe(1_000);
    expect(step(100, 100)).toBe(0);
    expect(step(3_600_000, 100)).toBe(0);
    expect(step(-3_600_000, 100)).toBe(3_600_100);
  });
});

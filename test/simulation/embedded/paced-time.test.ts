/** Virtual time that a real clock paces. */
import { expect, it } from 'vitest';
import { type Pace, PacedTime } from '../../../simulation/embedded/paced-time.ts';

/** A clock that a test sets, and the next run that was planned. */
class TestPace implements Pace {
  realMs = 1_000;
  #planned: () => void = () => undefined;

  nowMs(): number {
    return this.realMs;
  }

  soon(run: () => void): void {
    this.#planned = run;
  }

  later(_ms: number, run: () => void): () => void {
    this.#planned = run;
    return () => undefined;
  }

  runAt(realMs: number): void {
    this.realMs = realMs;
    this.#planned();
  }
}

it('passes with the real clock', () => {
  const pace = new TestPace();
  const time = new PacedTime(pace);
  const ran: number[] = [];
  time.after(50, () => ran.push(time.nowMs()));
  pace.runAt(1_049);
  expect([ran, time.nowMs()]).toEqual([[], 1_049]);
  pace.runAt(1_050);
  expect([ran, time.nowMs()]).toEqual([[1_050], 1_050]);
  pace.realMs = 1_234;
  expect(time.nowMs()).toBe(1_234);
});

it('catches up in the order of virtual time when the process got no CPU time', () => {
  const pace = new TestPace();
  const time = new PacedTime(pace);
  const ran: string[] = [];
  time.after(2_000, () => ran.push('timeout'));
  time.after(10, () => {
    ran.push('request');
    time.after(5, () => time.after(0, () => ran.push('answer')));
  });
  // Before the task that is overdue, the clock does not pass it, for callers from outside either.
  pace.realMs = 60_000;
  expect(time.nowMs()).toBe(1_010);
  pace.runAt(60_000);
  expect(ran).toEqual(['request', 'answer', 'timeout']);
  expect(time.nowMs()).toBe(60_000);
});

it('lets I/O in between tasks that take long, and continues after it', () => {
  const pace = new TestPace();
  const time = new PacedTime(pace);
  let ran = 0;
  for (let task = 0; task < 1_000; task += 1) {
    time.after(0, () => {
      ran += 1;
      pace.realMs += 1;
    });
  }
  pace.runAt(1_000);
  expect(ran).toBeGreaterThan(0);
  expect(ran).toBeLessThan(100);
  while (ran < 1_000) pace.runAt(pace.realMs);
});

it('is a whole number while a store writes at half a millisecond, and for a request that comes between', () => {
  const pace = new TestPace();
  const time = new PacedTime(pace);
  const seen: number[] = [];
  time.after(10.5, () => {
    seen.push(time.nowMs());
    time.after(0, () => seen.push(time.nowMs()));
  });
  pace.realMs = 2_000;
  seen.push(time.nowMs());
  pace.runAt(2_000);
  expect(seen).toEqual([1_010, 1_010, 1_010]);
  // More tasks than run at once: the process handles requests at the moment of the last one.
  for (let task = 0; task < 20_000; task += 1) time.after(0.5, () => undefined);
  pace.runAt(2_001);
  expect(time.nowMs()).toBe(2_000);
  pace.runAt(2_001);
  expect(time.nowMs()).toBe(2_001);
});

it.each(['before', 'after'])('runs nothing that is planned %s its stop', (when) => {
  const pace = new TestPace();
  const time = new PacedTime(pace);
  let ran = 0;
  const plan = () =>
    time.after(10, () => {
      ran += 1;
    });
  if (when === 'before') plan();
  time.stop();
  if (when === 'after') plan();
  pace.runAt(2_000);
  expect(ran).toBe(0);
});

/** Timers of copies: each fires at its own time, in order, and never after it was cancelled. */
import { expect, test } from 'vitest';
import { DueTimers } from '../../../simulation/cluster/due-timers.ts';

/** Lets `ms` pass from 1000 on; returns each timer that fired, with its time. */
function passed(timers: DueTimers<string>, ms: number, fired: (timer: string) => void = () => undefined): string[] {
  const clock = { nowMs: 1_000 };
  const seen: string[] = [];
  timers.pass(clock, ms, (timer) => {
    seen.push(`${timer} at ${clock.nowMs}`);
    fired(timer);
  });
  expect(clock.nowMs).toBe(1_000 + ms);
  return seen;
}

test('fire in order of time, then of their start, and once', () => {
  const timers = new DueTimers([
    ['late', 1_030],
    ['one', 1_010],
    ['two', 1_010],
    ['next', 1_031],
  ]);
  expect(passed(timers, 30)).toEqual(['one at 1010', 'two at 1010', 'late at 1030']);
  expect(passed(timers, 31)).toEqual(['next at 1031']);
});

test('fire when another has started them, unless it has cancelled them', () => {
  const timers = new DueTimers([
    ['first', 1_010],
    ['other', 1_020],
  ]);
  const seen = passed(timers, 30, (fired) => {
    if (fired !== 'first') return;
    timers.cancel('other');
    timers.start('again', 1_030);
    timers.start('later', 1_031);
  });
  expect(seen).toEqual(['first at 1010', 'again at 1030']);
});

test('do not move the clock back for a timer that is overdue', () => {
  expect(passed(new DueTimers([['overdue', 400]]), 0)).toEqual(['overdue at 1000']);
});

test('of a fork are its own', () => {
  const timers = new DueTimers([['a', 1_010]]);
  const fork = timers.fork();
  fork.start('b', 1_005);
  timers.clear();
  expect(passed(timers, 30)).toEqual([]);
  expect(passed(fork, 30)).toEqual(['b at 1005', 'a at 1010']);
});

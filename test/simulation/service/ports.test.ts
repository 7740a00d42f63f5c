/**
 * One suite for the ports of clock, timers and randomness: those of the system, of a simulated process in virtual time, and of an
 * embedded one, whose virtual time follows the real clock. Then what the life of a simulated process adds to them.
 */
import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { Ports } from '../../../core/actors/contract.ts';
import { systemPorts } from '../../../core/actors/live/ports.ts';
import { PacedTime } from '../../../simulation/embedded/paced-time.ts';
import { runs } from '../../support/thorough.ts';
import { until } from '../../support/until.ts';
import { loneLife } from './support/lives.ts';

interface World {
  readonly ports: Ports;
  /** Lets time pass until the condition holds. */
  passes(condition: () => boolean): Promise<unknown>;
  stop(): void;
}

const stay = () => undefined;
const worlds: Readonly<Record<string, () => World>> = {
  'the system': () => ({ ports: systemPorts, passes: (condition) => until(condition, 'it', 1), stop: stay }),
  'a simulated process': () => {
    const { life, loop } = loneLife();
    return { ports: life.ports, passes: (condition) => loop.until(condition, 60_000), stop: stay };
  },
  'an embedded process': () => {
    const time = new PacedTime();
    const { life } = loneLife(time);
    return { ports: life.ports, passes: (condition) => until(condition, 'it', 1), stop: () => time.stop() };
  },
};

describe.each(Object.keys(worlds))('%s', (name) => {
  let world: World;
  const open = (): World => {
    world = worlds[name]!();
    return world;
  };
  afterEach(() => world.stop());

  test('a timer fires once, and never within the call that starts it; in virtual time at its time or later', async () => {
    const { ports, passes } = open();
    for (const afterMs of [0, 0.4, 1, 7.5, 20]) {
      const beganMs = ports.timers.elapsedMs();
      const firedMs: number[] = [];
      ports.timers.start(afterMs, () => firedMs.push(ports.timers.elapsedMs() - beganMs));
      expect(firedMs).toEqual([]);
      await Promise.resolve();
      expect(firedMs).toEqual([]);
      await passes(() => firedMs.length > 0);
      let isLater = false;
      ports.timers.start(afterMs + 2, () => {
        isLater = true;
      });
      await passes(() => isLater);
      expect(firedMs).toHaveLength(1);
      // Node counts from the beginning of the turn in which a timer is started, however long that has lasted.
      if (name !== 'the system') expect(firedMs[0]).toBeGreaterThanOrEqual(Math.floor(afterMs));
    }
  });

  test('timers fire in the order of their times, equal ones as they were started', async () => {
    // A real clock moves between two starts, and Node rounds to whole milliseconds.
    const marginMs = name === 'a simulated process' ? 0 : 2;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ afterMs: fc.integer({ min: 1, max: 6 }), isCancelled: fc.boolean() }), { maxLength: 12 }),
        async (drawn) => {
          const { ports, passes, stop } = open();
          const { timers } = ports;
          const fired: number[] = [];
          const started = drawn.map(({ afterMs }, index) => {
            const fromMs = timers.elapsedMs();
            const cancel = timers.start(afterMs, () => fired.push(index));
            return { earliestMs: fromMs + afterMs, latestMs: timers.elapsedMs() + afterMs, cancel };
          });
          drawn.forEach(({ isCancelled }, index) => void (isCancelled && started[index]!.cancel()));
          const left = drawn.flatMap(({ isCancelled }, index) => (isCancelled ? [] : [index]));
          await passes(() => fired.length >= left.length);
          let isLater = false;
          timers.start(7, () => {
            isLater = true;
          });
          await passes(() => isLater);
          stop();
          expect([...fired].sort((a, b) => a - b)).toEqual(left);
          const isEarlier = (a: number, b: number) =>
            started[a]!.latestMs + marginMs < started[b]!.earliestMs ||
            (marginMs === 0 && started[a]!.latestMs === started[b]!.earliestMs && a < b);
          const swapped = fired.flatMap((later, at) => fired.slice(0, at).filter((first) => isEarlier(later, first)));
          expect(swapped).toEqual([]);
        },
      ),
      { numRuns: runs(12, 300) },
    );
  });

  test('a timer that is cancelled by one of the same moment does not fire; one that fired may be cancelled again', async () => {
    const { ports, passes } = open();
    const fired: string[] = [];
    const cancelFirst = ports.timers.start(3, () => {
      fired.push('first');
      cancelSecond();
    });
    const cancelSecond = ports.timers.start(3, () => fired.push('second'));
    ports.timers.start(4, () => {
      cancelFirst();
      cancelSecond();
      ports.timers.start(0, () => fired.push('last'));
      fired.push('third');
    });
    await passes(() => fired.includes('last'));
    expect(fired).toEqual(['first', 'third', 'last']);
  });

  test('the clock tells whole milliseconds since 1970, and runs with the time of the timers, which never goes back', async () => {
    const { ports, passes } = open();
    const { clock, timers } = ports;
    // Real time passes between two readings: the clock's is between two of the timers.
    const read = () => ({ earliestMs: timers.elapsedMs(), clockMs: clock.nowMs(), latestMs: timers.elapsedMs() });
    const began = read();
    expect(began.clockMs).toBeGreaterThan(Date.UTC(2020));
    for (let turn = 0; turn < 10; turn += 1) {
      const beforeMs = timers.elapsedMs();
      let isOver = false;
      timers.start(2, () => {
        isOver = true;
      });
      await passes(() => isOver);
      expect(Number.isInteger(clock.nowMs())).toBe(true);
      expect(timers.elapsedMs()).toBeGreaterThan(beforeMs);
    }
    const ended = read();
    const passedMs = ended.clockMs - began.clockMs;
    // The system's clock may be set.
    const differenceMs = name === 'a simulated process' ? 1 : 2_000;
    expect(passedMs).toBeGreaterThan(ended.earliestMs - began.latestMs - differenceMs);
    expect(passedMs).toBeLessThan(ended.latestMs - began.earliestMs + differenceMs);
  });

  test('each draw of randomness has its length and is its caller’s own', () => {
    const { random } = open().ports;
    const drawn = [0, 1, 32, 32, 8_191, 9_000].map((length) => random(length));
    expect(drawn.map(({ length }) => length)).toEqual([0, 1, 32, 32, 8_191, 9_000]);
    const texts = drawn.map((bytes) => Buffer.from(bytes).toString('hex'));
    for (const bytes of drawn) bytes.fill(0);
    const next = Buffer.from(random(32)).toString('hex');
    expect(new Set([...texts, next, '00'.repeat(32)]).size).toBe(texts.length + 2);
  });
});

describe('the life of a simulated process', () => {
  const answerLater = (world: ReturnType<typeof loneLife>, text: string, heard: string[]) =>
    void world.life
      .call<string>('redis', text, (_, answer) => world.time.after(5, () => answer(() => text)))
      .then((value) => heard.push(value));

  test('after its death no timer fires, no answer and no message arrives, and no call leaves', async () => {
    const world = loneLife();
    const heard: string[] = [];
    let left = 0;
    world.life.ports.timers.start(5, () => heard.push('timer'));
    answerLater(world, 'answer', heard);
    world.time.after(5, () => world.life.enter(() => heard.push('message')));
    world.life.die();
    void world.life.call('redis', 'late', () => {
      left += 1;
    });
    let isOver = false;
    world.time.after(20, () => {
      isOver = true;
    });
    await world.loop.until(() => isOver, 100);
    expect([heard, left]).toEqual([[], 0]);
  });

  test('what comes while it is paused arrives in order when it is resumed, and not if it dies first', async () => {
    for (const isResumed of [true, false]) {
      const world = loneLife();
      const heard: string[] = [];
      world.life.pause();
      world.life.ports.timers.start(1, () => heard.push('timer'));
      answerLater(world, 'answer', heard);
      world.time.after(9, () => world.life.enter(() => heard.push('message')));
      let step = 0;
      world.time.after(20, () => {
        step = 1;
      });
      await world.loop.until(() => step === 1, 100);
      expect(heard).toEqual([]);
      if (isResumed) world.life.resume();
      else world.life.die();
      world.life.resume();
      world.time.after(1, () => {
        step = 2;
      });
      await world.loop.until(() => step === 2, 100);
      expect(heard.toSorted()).toEqual(isResumed ? ['answer', 'message', 'timer'] : []);
      if (isResumed) expect(heard.filter((each) => each !== 'answer')).toEqual(['timer', 'message']);
    }
  });

  test.each([
    ['before', 0],
    ['after', 1],
  ] as const)('that dies %s a call makes %i call, and gets no answer', async (dies, calls) => {
    const world = loneLife(undefined, () => ({ dies }));
    const heard: string[] = [];
    let made = 0;
    void world.life
      .call<string>('redis', 'set', (_, answer) => {
        made += 1;
        world.time.after(1, () => answer(() => 'OK'));
      })
      .then((value) => heard.push(value));
    let isOver = false;
    world.time.after(5, () => {
      isOver = true;
    });
    await world.loop.until(() => isOver, 100);
    expect([made, heard, world.life.isAlive]).toEqual([calls, [], false]);
  });
});

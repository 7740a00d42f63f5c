/** The queue in memory over a restore: jobs that were given out before it end without effect. */
import { expect, it } from 'vitest';
import { MemoryQueue } from '../../../simulation/service/memory-queue.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';

const way = { isAlive: () => true, enter: (run: () => void) => run() };

/** A consumer of names, whose jobs end when the test says so. */
function opened() {
  const queue = new MemoryQueue<string>(new VirtualTimers(), (name) => name);
  const ends: ((error?: Error) => void)[] = [];
  const failed: string[] = [];
  const consumer = queue.consume(
    way,
    1,
    () => new Promise((resolve, reject) => ends.push((error) => (error === undefined ? resolve() : reject(error)))),
    (name) => failed.push(name),
  );
  return { queue, ends, failed, consumer };
}

it.each([undefined, new Error('it fails')])(
  'an end of before (%s) leaves the restored job in progress',
  async (error) => {
    const { queue, ends, failed } = opened();
    queue.add(['a']);
    queue.restore(['a', 'b']);
    expect([ends.length, queue.counts]).toEqual([2, { waiting: 1, active: 1 }]);
    ends[0]!(error);
    await new Promise(setImmediate);
    expect([failed, queue.jobs, queue.counts]).toEqual([[], ['a', 'b'], { waiting: 1, active: 1 }]);
    ends[1]!();
    await new Promise(setImmediate);
    expect([queue.jobs, ends.length]).toEqual([['b'], 3]);
  },
);

it('a consumer that closes waits for its job of before, and the restored one waits for another consumer', async () => {
  const { queue, ends, consumer } = opened();
  queue.add(['a']);
  let isClosed = false;
  consumer.close().then(() => {
    isClosed = true;
  });
  queue.restore(['a']);
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  ends[0]!();
  await new Promise(setImmediate);
  expect([isClosed, queue.jobs, queue.counts]).toEqual([true, ['a'], { waiting: 1, active: 0 }]);
});

/** Waiting over the Timers port, on virtual time. */
import { describe, expect, test } from 'vitest';
import { pause, repeat, withinLimit } from '../../../core/actors/waiting.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';

describe('waiting', () => {
  test('a pause ends at its time and not before', async () => {
    const timers = new VirtualTimers();
    let ended = false;
    pause(timers, 100).then(() => {
      ended = true;
    });
    await timers.advance(99);
    expect(ended).toBe(false);
    await timers.advance(1);
    expect(ended).toBe(true);
  });

  test('a repetition runs until it is cancelled, also from within', async () => {
    const timers = new VirtualTimers();
    const atMs: number[] = [];
    const cancel = repeat(timers, 10, () => {
      atMs.push(timers.elapsedMs());
      if (atMs.length === 3) cancel();
    });
    await timers.advance(100);
    expect(atMs).toEqual([10, 20, 30]);
    expect(timers.pending).toBe(0);
  });

  test('work within its limit gives its result and leaves no timer', async () => {
    const timers = new VirtualTimers();
    const late = () => 'late' as const;
    expect(await withinLimit(timers, 50, Promise.resolve('done'), late)).toBe('done');
    await expect(withinLimit(timers, 50, Promise.reject(new Error('broken')), late)).rejects.toThrow('broken');
    expect(timers.pending).toBe(0);
  });

  test('work beyond its limit gives what `late` returns or throws', async () => {
    const timers = new VirtualTimers();
    const never = new Promise<never>(() => {});
    const [value, refused] = [
      withinLimit(timers, 50, never, () => 'late'),
      withinLimit(timers, 60, never, () => {
        throw new Error('no answer in time');
      }),
    ];
    const refusal = expect(refused).rejects.toThrow('no answer in time');
    await timers.advance(60);
    expect(await value).toBe('late');
    await refusal;
  });
});

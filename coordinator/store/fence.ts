/**
 * The fence against two coordinators of one cluster. Each start takes the next number of a counter; every script that writes
 * compares it (fence.lua), so that a paused coordinator writes nothing after its successor has written.
 */
import type { Redis } from 'ioredis';

const retryMs = 250;

/** An attempt with a lost answer may have raised it: unused numbers do no harm. */
export async function raiseFence(redis: Redis, counter: string): Promise<number> {
  for (;;) {
    try {
      return await redis.incr(counter);
    } catch {
      // The watch logs the reason.
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}

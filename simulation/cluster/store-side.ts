/**
 * The path from a simulated process to its store: its latency and its faults. Redis is a separate process, which may be
 * unreachable: commands then wait, as in the live client.
 */
import type { WriteOutcome } from '../../core/actors/contract.ts';
import type { Found, Unavailable, Written } from '../../core/actors/kernel/host.ts';
import type { WriteVerdict } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { LaterStore } from './machine-ports.ts';
import { MemoryStoreUnavailable, type SyncStore } from './memory-stores.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The live client's timeout for an answer (coordinator/store/redis-store.ts). */
const commandTimeoutMs = 5_000;

/** A store that calls back, at once or later; it reports itself when it is unreachable. */
export interface CalledStore<W, R> {
  load(key: string, found: (found: Found<R>) => void): void;
  write(write: W, written: (written: Written<R>) => void): void;
}

/** A store in memory calls back at once. */
export function called<W, R>(store: SyncStore<W, R>): CalledStore<W, R> {
  const tried = <T>(perform: () => T): T | Unavailable => {
    try {
      return perform();
    } catch (error) {
      return unavailableBy(error);
    }
  };
  return {
    load: (key, found) => found(tried(() => ({ record: store.loadNow(key) }))),
    write: (write, written) => written(tried(() => store.writeNow(write))),
  };
}

export interface StoreSideOptions<W, R> {
  readonly time: VirtualTime;
  readonly store: CalledStore<W, R>;
  readonly latencyMs: number;
  /** Whether the calling process still lives: its unsent commands are lost with it. */
  readonly isAlive: () => boolean;
  /** The fate of a write; undefined: no fault is armed. */
  readonly verdict: () => WriteVerdict | undefined;
  readonly readsFail: () => boolean;
  /** undefined: a separate store, on its own disk. */
  readonly redis: RedisReach | undefined;
  /** Called for every write that took effect or was refused, at that moment. */
  readonly wrote: ((write: W, outcome: WriteOutcome<R>['kind']) => void) | undefined;
}

/** A store as a process sees it. */
export function storeSide<W, R>(options: StoreSideOptions<W, R>): LaterStore<W, R> {
  const { time, store, latencyMs, isAlive, verdict, readsFail, redis, wrote } = options;
  const reach = (perform: () => void, timedOut: () => void): void => {
    if (redis === undefined || redis.isUp) perform();
    else {
      // A command whose caller stopped waiting still runs.
      const cancel = time.after(commandTimeoutMs, timedOut);
      redis.whenUp(() => {
        cancel();
        perform();
      });
    }
  };

  function load(key: string, answer: (found: Found<R>) => void): void {
    time.after(latencyMs, () => {
      if (!isAlive()) return;
      if (readsFail()) {
        answer(unavailable('the read failed'));
        return;
      }
      let isWaiting = true;
      const perform = () => {
        if (!isWaiting || !isAlive()) return;
        store.load(key, (found) => {
          if (isAlive()) answer(found);
        });
      };
      reach(perform, () => {
        isWaiting = false;
        answer(unavailable('the store does not answer'));
      });
    });
  }

  function write(write: W, answer: (outcome: Written<R>) => void): void {
    const drawn = verdict();
    const fate = drawn?.fate ?? 'answered';
    time.after(latencyMs / 2 + (drawn?.delayMs ?? 0), () => {
      if (!isAlive()) return;
      // At a whole millisecond, whatever the time of the write: everything after an answer has whole times.
      const later = (outcome: Written<R>, afterMs = 1) =>
        time.after(Math.floor(time.nowMs()) + afterMs - time.nowMs(), () => answer(outcome));
      if (fate === 'lost') {
        // A failing store reports it. A store that only loses a write lets its writer wait.
        if (readsFail()) later(unavailable('the write failed'));
        else later(unavailable('the write was lost'), commandTimeoutMs);
        return;
      }
      let isWaiting = true;
      const perform = () => {
        if (!isAlive()) return;
        store.write(write, (outcome) => {
          if (outcome.kind !== 'unavailable') wrote?.(write, outcome.kind);
          if (!isWaiting) return;
          if (fate === 'unanswered') later(unavailable('the answer was lost'), commandTimeoutMs);
          else later(outcome);
        });
      };
      reach(perform, () => {
        isWaiting = false;
        answer(unavailable('the store does not answer'));
      });
    });
  }
  return { load, write };
}

function unavailable(message: string): Unavailable {
  return { kind: 'unavailable', message };
}

function unavailableBy(error: unknown): Unavailable {
  if (!(error instanceof MemoryStoreUnavailable)) throw error;
  return unavailable(error.message);
}

/** Whether processes reach Redis. Its content survives. */
export class RedisReach {
  #up = true;
  #waiting: (() => void)[] = [];

  get isUp(): boolean {
    return this.#up;
  }

  /** Returns whether the state changed. */
  set(up: boolean): boolean {
    if (this.#up === up) return false;
    this.#up = up;
    if (up) for (const perform of this.#waiting.splice(0)) perform();
    return true;
  }

  /** Now, or once Redis is back. */
  whenUp(perform: () => void): void {
    if (this.#up) perform();
    else this.#waiting.push(perform);
  }
}

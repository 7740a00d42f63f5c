/**
 * The queues of jobs in memory, in place of BullMQ's: webhooks' tries and reconciliation jobs. A job exists once by its id, one
 * consumer at a time gets it, and it ends when it was done or has failed. When the consumer of a job dies, another one gets it
 * after its lock expires. test/simulation/service/queues.test.ts tests this and BullMQ with one suite.
 */
import type { Cancel, Timers } from '../../core/actors/contract.ts';

export interface QueueTimes {
  /** After this time without a sign of its consumer, another may do a job. */
  readonly lockMs: number;
}

const timesDefault: QueueTimes = { lockMs: 10_000 };

/** A consumer's view of the queue: the ways there and back, and whether its process lives. */
export interface ConsumerWay {
  readonly isAlive: () => boolean;
  /** Runs in the process of the consumer. */
  enter(run: () => void): void;
}

interface Consumer<J> {
  readonly way: ConsumerWay;
  readonly places: number;
  readonly work: (job: J) => Promise<void>;
  readonly onFailed: (job: J, error: unknown) => void;
  readonly running: Set<string>;
  /** Jobs in progress, for callers that wait for their end. */
  readonly onIdle: (() => void)[];
  /** It was closed without waiting: other consumers get its jobs. */
  isCut: boolean;
}

export interface OpenConsumer {
  close(cut?: boolean): Promise<void>;
}

export class MemoryQueue<J> {
  readonly #idOf: (job: J) => string;
  /** Of the queue's own process, which does not die. */
  readonly #timers: Pick<Timers, 'start'>;
  readonly #lockMs: number;
  /** Every job that waits or is in progress, by id, oldest first. */
  readonly #jobs = new Map<string, J>();
  readonly #waiting = new Set<string>();
  readonly #locks = new Map<string, Cancel>();
  readonly #consumers: Consumer<J>[] = [];
  #stalled = false;
  /** Jobs given out before a restore end without effect. */
  #generation = 0;

  constructor(timers: Pick<Timers, 'start'>, idOf: (job: J) => string, times: QueueTimes = timesDefault) {
    this.#timers = timers;
    this.#idOf = idOf;
    this.#lockMs = times.lockMs;
  }

  get counts(): { readonly waiting: number; readonly active: number } {
    return { waiting: this.#waiting.size, active: this.#locks.size };
  }

  /** An existing job is unchanged. */
  add(jobs: readonly J[]): void {
    for (const job of jobs) {
      const id = this.#idOf(job);
      if (this.#jobs.has(id)) continue;
      this.#jobs.set(id, job);
      this.#waiting.add(id);
    }
    this.#hand();
  }

  /** Every job that waits or is in progress, oldest first. */
  get jobs(): readonly J[] {
    return [...this.#jobs.values()];
  }

  /** Replaces its jobs with these; none is in progress. */
  restore(jobs: readonly J[]): void {
    for (const cancel of this.#locks.values()) cancel();
    this.#locks.clear();
    this.#jobs.clear();
    this.#waiting.clear();
    for (const consumer of this.#consumers) consumer.running.clear();
    this.#generation += 1;
    this.add(jobs);
  }

  /** Gives no job to any consumer while it is stalled. */
  stall(on: boolean): void {
    this.#stalled = on;
    if (!on) this.#hand();
  }

  /** Gives a job in progress out a second time, as after a lost lock; returns whether there was one. */
  double(): boolean {
    const [id] = this.#locks.keys();
    if (id === undefined) return false;
    this.#waiting.add(id);
    this.#hand();
    return true;
  }

  consume(
    way: ConsumerWay,
    places: number,
    work: (job: J) => Promise<void>,
    onFailed: (job: J, error: unknown) => void,
  ): OpenConsumer {
    const consumer: Consumer<J> = { way, places, work, onFailed, running: new Set(), onIdle: [], isCut: false };
    this.#consumers.push(consumer);
    this.#hand();
    return {
      close: async (cut = false) => {
        if (cut) consumer.isCut = true;
        const at = this.#consumers.indexOf(consumer);
        if (at >= 0) this.#consumers.splice(at, 1);
        if (cut || consumer.running.size === 0) return;
        await new Promise<void>((resolve) => {
          consumer.onIdle.push(resolve);
        });
      },
    };
  }

  /** To the consumer with the fewest jobs in progress, and among those the earliest. */
  #hand(): void {
    if (this.#stalled) return;
    for (const id of [...this.#waiting]) {
      const consumer = this.#freest();
      if (consumer === undefined) return;
      this.#waiting.delete(id);
      this.#give(id, this.#jobs.get(id)!, consumer);
    }
  }

  #freest(): Consumer<J> | undefined {
    let best: Consumer<J> | undefined;
    for (const one of this.#consumers) {
      if (!one.way.isAlive() || one.running.size >= one.places) continue;
      if (best === undefined || one.running.size < best.running.size) best = one;
    }
    return best;
  }

  #give(id: string, job: J, consumer: Consumer<J>): void {
    this.#locks.get(id)?.();
    consumer.running.add(id);
    this.#lock(id, consumer);
    const generation = this.#generation;
    const ended = (error?: unknown): void => {
      const isRestored = generation !== this.#generation;
      // A consumer that closes still waits for it.
      if (isRestored && this.#consumers.includes(consumer)) return;
      consumer.running.delete(id);
      if (consumer.isCut) return;
      if (!isRestored) {
        if (error !== undefined) consumer.onFailed(job, error);
        this.#ended(id);
      }
      if (consumer.running.size === 0) for (const resolve of consumer.onIdle.splice(0)) resolve();
    };
    consumer.way.enter(() => {
      consumer.work(job).then(
        () => ended(),
        (error: unknown) => ended(error ?? new Error('failed')),
      );
    });
  }

  /** A living consumer renews its lock. */
  #lock(id: string, consumer: Consumer<J>): void {
    const cancel = this.#timers.start(this.#lockMs, () => {
      if (consumer.way.isAlive() && !consumer.isCut && consumer.running.has(id)) {
        this.#lock(id, consumer);
        return;
      }
      this.#locks.delete(id);
      if (!this.#jobs.has(id)) return;
      this.#waiting.add(id);
      this.#hand();
    });
    this.#locks.set(id, cancel);
  }

  #ended(id: string): void {
    this.#locks.get(id)?.();
    this.#locks.delete(id);
    // Given out twice, another consumer still has it.
    if (this.#consumers.some(({ running, way }) => running.has(id) && way.isAlive())) return;
    this.#waiting.delete(id);
    this.#jobs.delete(id);
    this.#hand();
  }
}

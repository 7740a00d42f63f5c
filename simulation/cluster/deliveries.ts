/**
 * Webhooks in the simulated world: one receiver that wants every event of every tenant, and the worker that delivers to it. The
 * effect of a try is the real worker's (wallets/delivery/deliveries/attempt.ts); the rest is a small model of it: outstanding
 * deliveries are durable, the jobs that name their next try are not.
 *
 * At least once: after a crash the worker repeats the tries that it had not recorded.
 */
import type { RandomBytes } from '../../core/actors/contract.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import type { ReceiverBehaviour } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import { evaluateTry } from '../../wallets/delivery/deliveries/attempt.ts';
import { deliveryTimeoutMs } from '../../wallets/delivery/deliveries/retry-schedule.ts';
import type { Life, ProcessState } from './processes.ts';
import type { VirtualTime } from './virtual-time.ts';

/** One try that reached the receiver, or failed to. `status` 0: no answer. */
export interface Delivery {
  readonly eventId: string;
  readonly type: string;
  readonly tenant: string;
  readonly status: number;
  readonly atMs: number;
}

export interface DeliveryPorts {
  readonly time: VirtualTime;
  readonly scheduleMs: readonly number[];
  readonly random: RandomBytes;
  /** The log of the store, oldest first. */
  readonly events: (tenant: string) => readonly LoggedEvent[];
  readonly tenants: () => readonly string[];
  readonly stateOf: (process: 'worker' | 'receiver') => ProcessState;
  /** Whether Redis, with the log and the records, is reachable. */
  readonly isRedisUp: () => boolean;
  readonly tried: (tenant: string, event: LoggedEvent, status: number, triesBefore: number, isFirst: boolean) => void;
}

type DeliveryRecord = Parameters<typeof evaluateTry>[0];
type SendOutcome = Parameters<typeof evaluateTry>[1];

/** Durable: one delivery that is not final. */
interface Outstanding {
  readonly tenant: string;
  readonly event: LoggedEvent;
  record: DeliveryRecord;
}

/** A job of the queue: make this try, unless it was made. */
interface Job {
  readonly key: string;
  readonly tries: number;
}

/** The state that survives the worker. */
export interface DeliveriesSnapshot {
  readonly cursors: ReadonlyMap<string, number>;
  readonly outstanding: ReadonlyMap<string, Readonly<Outstanding>>;
}

/** Between the worker and the receiver, one way. */
const latencyMs = 1;

export class Deliveries {
  readonly #ports: DeliveryPorts;
  #cursors = new Map<string, number>();
  #outstanding = new Map<string, Outstanding>();
  /** Rises with every start of the worker: jobs of an earlier start are lost. */
  #life = 0;
  #stalled = false;
  /** The worker's tasks for when it can work again. */
  #waiting: (() => void)[] = [];
  #latest: Job | undefined;
  #doubles = 0;
  #putAside = 0;
  #behaviour: ReceiverBehaviour | undefined;
  readonly #log: Delivery[] = [];
  readonly #acknowledged = new Map<string, string>();

  constructor(ports: DeliveryPorts) {
    this.#ports = ports;
  }

  /** Every try so far. */
  log(): readonly Delivery[] {
    return this.#log;
  }

  /** The type of every event that the receiver has acknowledged, in the order of the acknowledgements. */
  delivered(): readonly string[] {
    return [...this.#acknowledged.values()];
  }

  /** Deliveries that are not final. */
  get outstanding(): number {
    return this.#outstanding.size;
  }

  /** The number of invalid jobs. */
  get putAside(): number {
    return this.#putAside;
  }

  /** The log has new events, or the worker can continue. */
  wake(): void {
    if (!this.#canWork()) return;
    for (const tenant of this.#ports.tenants()) this.#takeOn(tenant);
    for (const act of this.#waiting.splice(0)) act();
  }

  stall(stalled: boolean): void {
    this.#stalled = stalled;
    if (!stalled) this.wake();
  }

  behave(behaviour: ReceiverBehaviour | undefined): void {
    this.#behaviour = behaviour;
  }

  /** Duplicates a job: the latest one, or else the next. */
  double(): void {
    if (
      this.#latest !== undefined &&
      this.#outstanding.get(this.#latest.key)?.record.attemptCount === this.#latest.tries
    ) {
      this.#queue(this.#latest, 0);
    } else this.#doubles += 1;
  }

  /** Adds a job that names no delivery. */
  poison(): void {
    this.#queue({ key: 'poison', tries: 0 }, 0);
  }

  /** The worker's life: its jobs are lost with it, and it makes them again from the outstanding deliveries. */
  readonly life: Life = {
    start: () => {
      const { time } = this.#ports;
      for (const [key, { record }] of this.#outstanding) {
        this.#queue({ key, tries: record.attemptCount }, (record.nextAttemptAtMs ?? time.nowMs()) - time.nowMs());
      }
      this.wake();
    },
    crash: () => {
      this.#life += 1;
      this.#waiting = [];
    },
    pause: () => undefined,
    resume: () => this.wake(),
  };

  snapshot(): DeliveriesSnapshot {
    const outstanding = new Map([...this.#outstanding].map(([key, delivery]) => [key, { ...delivery }]));
    return { cursors: new Map(this.#cursors), outstanding };
  }

  /** The caller must start the worker afterwards. */
  restore({ cursors, outstanding }: DeliveriesSnapshot): void {
    this.#cursors = new Map(cursors);
    this.#outstanding = new Map([...outstanding].map(([key, delivery]) => [key, { ...delivery }]));
  }

  #canWork(): boolean {
    const { stateOf, isRedisUp } = this.#ports;
    return stateOf('worker') === 'up' && !this.#stalled && isRedisUp();
  }

  #takeOn(tenant: string): void {
    const events = this.#ports.events(tenant);
    for (let cursor = this.#cursors.get(tenant) ?? 0; cursor < events.length; cursor += 1) {
      const event = events[cursor]!;
      const key = `${tenant}/${cursor + 1}`;
      this.#cursors.set(tenant, cursor + 1);
      this.#outstanding.set(key, { tenant, event, record: queued(key, event, cursor + 1, this.#ports.time.nowMs()) });
      const job = { key, tries: 0 };
      this.#queue(job, 0);
      if (this.#doubles > 0) {
        this.#doubles -= 1;
        this.#queue(job, 0);
      }
    }
  }

  #queue(job: Job, delayMs: number): void {
    const life = this.#life;
    if (job.key !== 'poison') this.#latest = job;
    this.#ports.time.after(delayMs, () => {
      if (this.#life === life) this.#take(job);
    });
  }

  #take(job: Job): void {
    if (!this.#canWork()) {
      this.#waiting.push(() => this.#take(job));
      return;
    }
    const delivery = this.#outstanding.get(job.key);
    if (delivery === undefined && job.key === 'poison') this.#putAside += 1;
    // Another job has made its try already.
    if (delivery?.record.attemptCount !== job.tries) return;
    this.#try(job, delivery);
  }

  #try(job: Job, delivery: Outstanding): void {
    const { time, stateOf } = this.#ports;
    const life = this.#life;
    time.after(latencyMs, () => {
      const { status = 200, slowMs = 0, reset = false } = this.#behaviour ?? {};
      const receiver = stateOf('receiver');
      // A late answer counts as none.
      const silent = receiver === 'paused' || slowMs >= deliveryTimeoutMs;
      const given = receiver === 'down' || reset || silent ? 0 : status;
      const tookMs = silent ? deliveryTimeoutMs : slowMs;
      time.after(tookMs, () => {
        const isFirst = this.#reached(delivery, given);
        this.#ports.tried(delivery.tenant, delivery.event, given, job.tries, isFirst);
        const outcome: SendOutcome =
          given === 0
            ? { kind: 'failed', code: 'no_answer', message: '', tookMs }
            : { kind: 'answered', status: given, retryAfter: undefined, tookMs };
        time.after(latencyMs, () => this.#record(job, delivery, outcome, life));
      });
    });
  }

  /** The receiver's view of the try. Returns whether it acknowledged the event now, for the first time. */
  #reached({ tenant, event }: Outstanding, status: number): boolean {
    const { time } = this.#ports;
    const { id, type } = event;
    this.#log.push({ eventId: id, type, tenant, status, atMs: time.nowMs() - time.beganMs });
    if (status < 200 || status > 299 || this.#acknowledged.has(id)) return false;
    this.#acknowledged.set(id, type);
    return true;
  }

  #record(job: Job, delivery: Outstanding, outcome: SendOutcome, life: number): void {
    // A crashed worker has recorded nothing; of two jobs for the same try, the first result counts.
    if (this.#life !== life || this.#outstanding.get(job.key) !== delivery) return;
    if (delivery.record.attemptCount !== job.tries) return;
    if (!this.#canWork()) {
      this.#waiting.push(() => this.#record(job, delivery, outcome, life));
      return;
    }
    const { time, random, scheduleMs } = this.#ports;
    const [high = 0, low = 0] = random(2);
    const chance = (high * 256 + low) / 65_536;
    const { after, retryAtMs } = evaluateTry(delivery.record, outcome, time.nowMs(), chance, scheduleMs);
    delivery.record = after;
    if (retryAtMs === undefined) this.#outstanding.delete(job.key);
    else this.#queue({ key: job.key, tries: after.attemptCount }, retryAtMs - time.nowMs());
  }
}

function queued(id: string, event: LoggedEvent, sequence: number, nowMs: number): DeliveryRecord {
  return {
    ...{ id, version: 1, webhookId: 'receiver', eventId: event.id, eventType: event.type, sequence },
    ...{ status: 'queued', attempts: [], attemptCount: 0, failedTries: 0, nextAttemptAtMs: nowMs },
    ...{ createdAtMs: nowMs, updatedAtMs: nowMs },
  };
}

/**
 * Runs work gates (work-gate.ts) on timers: ticks while there is work, measures how late the process is, and calls back.
 * All gates of a host share that delay. `probe` may measure more of it, e.g. one round trip to Redis.
 */
import type { Cancel, Timers } from '../contract.ts';
import { type GateOptions, type GateWork, WorkGate } from './work-gate.ts';

export interface GateHostOptions<K extends string> {
  readonly timers: Timers;
  /** The classes of work, each with a gate of its own. */
  readonly gates: Readonly<Record<K, Partial<GateOptions>>>;
  /** Resolves when the dependency of the work has answered; never rejects. Its time counts as delay. */
  readonly probe?: () => Promise<unknown>;
  readonly tickMs?: number;
}

/** A place, or a wait for one. */
export interface GatePlace {
  /** The work is over, or its caller has gone. Repeatable. */
  leave(): void;
}

interface Queued extends GateWork {
  readonly onStart: () => void;
  readonly onRefused: (retryAfterMs: number) => void;
}

const tickDefaultMs = 100;

export class GateHost<K extends string> {
  readonly #timers: Timers;
  readonly #gates: Readonly<Record<K, WorkGate<Queued>>>;
  readonly #all: readonly WorkGate<Queued>[];
  readonly #probe: (() => Promise<unknown>) | undefined;
  readonly #tickMs: number;
  #cancelTick: Cancel | undefined;
  #tickedMs = 0;
  #probedMs: number | undefined;
  #probeTookMs = 0;
  #delayMs = 0;

  constructor({ timers, gates, probe, tickMs = tickDefaultMs }: GateHostOptions<K>) {
    this.#timers = timers;
    this.#probe = probe;
    this.#tickMs = tickMs;
    const made = (Object.keys(gates) as K[]).map((name): [K, WorkGate<Queued>] => [name, new WorkGate(gates[name])]);
    this.#gates = Object.fromEntries(made) as Record<K, WorkGate<Queued>>;
    this.#all = made.map(([, gate]) => gate);
  }

  /** As last measured; not measured while there is no work. */
  get delayMs(): number {
    return this.#delayMs;
  }

  gate(name: K): Pick<WorkGate<Queued>, 'inHand' | 'waiting' | 'limit' | 'rate' | 'hasWaiting'> {
    return this.#gates[name];
  }

  /** Whether any work waits: without it, no work is refused. */
  get isWaiting(): boolean {
    for (const gate of this.#all) if (gate.waiting > 0) return true;
    return false;
  }

  /** If work would be refused now, the milliseconds after which to retry. It takes no place. */
  refusal(name: K, tenant: string): number | undefined {
    return this.#gates[name].refusal(tenant, this.#timers.elapsedMs());
  }

  /**
   * Calls one of the two, once, possibly before it returns; neither after `leave`. Work that starts gets the place that it
   * must leave at its end.
   */
  enter(
    name: K,
    tenant: string,
    onStart: (place: GatePlace) => void,
    onRefused: (retryAfterMs: number) => void,
  ): GatePlace {
    const gate = this.#gates[name];
    const place: GatePlace = {
      leave: () => {
        const wasWaiting = gate.waiting > 0;
        for (const next of gate.leave(work)) next.onStart();
        // Other classes may have stood back for what waited here.
        if (wasWaiting && gate.waiting === 0) this.#fillAll();
      },
    };
    const work: Queued = { tenant, state: 'new', sinceMs: 0, onStart: () => onStart(place), onRefused };
    const nowMs = this.#timers.elapsedMs();
    const verdict = gate.offer(work, nowMs);
    if (verdict === 'refused') {
      onRefused(gate.refusal(tenant, nowMs) ?? this.#tickMs);
      return place;
    }
    this.#startTicking(nowMs);
    if (verdict === 'started') work.onStart();
    return place;
  }

  #fillAll(): void {
    for (const gate of this.#all) for (const work of gate.fill()) work.onStart();
  }

  #startTicking(nowMs: number): void {
    if (this.#cancelTick !== undefined) return;
    this.#tickedMs = nowMs;
    this.#cancelTick = this.#timers.start(this.#tickMs, () => this.#tick());
  }

  #tick(): void {
    const nowMs = this.#timers.elapsedMs();
    this.#delayMs = Math.max(nowMs - this.#tickedMs - this.#tickMs, this.#probed(nowMs));
    this.#tickedMs = nowMs;
    const verdicts = this.#all.map((gate) => ({ gate, ...gate.tick(nowMs, this.#delayMs) }));
    const isBusy = this.#all.some(({ inHand, waiting }) => inHand > 0 || waiting > 0);
    this.#cancelTick = isBusy ? this.#timers.start(this.#tickMs, () => this.#tick()) : undefined;
    for (const { gate, started, refused } of verdicts) {
      for (const work of refused) work.onRefused(gate.refusal(work.tenant, nowMs) ?? this.#tickMs);
      for (const work of started) work.onStart();
    }
  }

  /** How long the last probe took, or the running one has taken so far; starts another if none runs. */
  #probed(nowMs: number): number {
    if (this.#probe === undefined) return 0;
    if (this.#probedMs !== undefined) return Math.max(this.#probeTookMs, nowMs - this.#probedMs);
    this.#probedMs = nowMs;
    this.#probe().then(() => {
      this.#probeTookMs = this.#timers.elapsedMs() - nowMs;
      this.#probedMs = undefined;
    });
    return this.#probeTookMs;
  }
}

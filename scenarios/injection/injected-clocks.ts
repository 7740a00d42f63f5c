/** The clocks of a live cluster: the offset of all, and what faults of this run, and of earlier ones, added to single processes. */
import type { StoredClocks } from './ports.ts';

export class InjectedClocks {
  /** undefined: clocks are right at the start, and end with this process. */
  readonly #stored: StoredClocks | undefined;
  readonly #skews = new Map<string, number>();
  readonly #earlierSkews: Map<string, number>;
  #offsetMs: number;

  constructor(stored: StoredClocks | undefined) {
    this.#stored = stored;
    this.#offsetMs = stored?.offsetMs ?? 0;
    this.#earlierSkews = new Map(Object.entries(stored?.ownMs ?? {}));
  }

  /** Of every process. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** Of one process, in all. */
  offsetOf(process: string): number {
    return this.#offsetMs + this.#ownOffsetOf(process);
  }

  set(offsetMs: number): void {
    this.#offsetMs = offsetMs;
    this.#store();
  }

  skew(processes: readonly string[], offsetMs: number): void {
    for (const process of processes) this.#skews.set(process, offsetMs);
    this.#store();
  }

  /** Clocks of single processes are right again. `set` stores it. */
  right(): void {
    this.#skews.clear();
    this.#earlierSkews.clear();
  }

  #ownOffsetOf(process: string): number {
    return (this.#earlierSkews.get(process) ?? 0) + (this.#skews.get(process) ?? 0);
  }

  /** Before any process has the time: a death in between must not set it back. */
  #store(): void {
    const moved = [...new Set([...this.#earlierSkews.keys(), ...this.#skews.keys()])];
    const ownMs = moved.map((process) => [process, this.#ownOffsetOf(process)] as const).filter(([, ms]) => ms !== 0);
    this.#stored?.store(this.#offsetMs, Object.fromEntries(ownMs));
  }
}

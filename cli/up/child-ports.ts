/**
 * The ports of one child through its restarts, by the variable of each. The child binds and then reports (0: any port). A restarted
 * child tries its old ports for `oldPortForMs`. After that a port that only our own processes know is given up for another one;
 * a port that callers know (it is configured, or was announced) is not: then `up` ends.
 */
import type { Environment } from '../settings/config.ts';

export interface ChildPort {
  /** 0: any. */
  readonly configured: number;
  /** Callers know it: it is not replaced once it is bound. */
  readonly isAnnounced?: boolean;
}

export const oldPortForMs = 2_000;
const againMs = 200;

export class ChildPorts {
  readonly #configured: Readonly<Record<string, ChildPort>>;
  readonly #now = new Map<string, number>();
  #takenSinceMs: number | undefined;

  constructor(configured: Readonly<Record<string, ChildPort>>) {
    this.#configured = configured;
  }

  /** 0: not known yet. */
  of(variable: string): number {
    return this.#now.get(variable) ?? this.#configured[variable]?.configured ?? 0;
  }

  /** For its next start. */
  get environment(): Environment {
    return Object.fromEntries(Object.keys(this.#configured).map((variable) => [variable, String(this.of(variable))]));
  }

  /** Returns whether a port differs from what was known. */
  report(ports: Readonly<Record<string, number>>): boolean {
    const changed = Object.entries(ports).filter(([variable, port]) => this.of(variable) !== port);
    for (const [variable, port] of changed) this.#now.set(variable, port);
    this.#takenSinceMs = undefined;
    return changed.length > 0;
  }

  /** Returns the time until the next attempt; undefined: there is none, its callers would not find it elsewhere. */
  taken(variable: string, wasReady: boolean, nowMs = performance.now()): number | undefined {
    this.#takenSinceMs ??= nowMs;
    if (wasReady && nowMs - this.#takenSinceMs < oldPortForMs) return againMs;
    const port = this.#configured[variable];
    if (port === undefined || port.configured !== 0 || port.isAnnounced === true) return undefined;
    this.#now.delete(variable);
    return 0;
  }
}

/**
 * The log of refused peers that have not proven who they are. Anyone who reaches a port can cause such refusals, so their lines
 * are bounded: of each code `linesMax` an interval, then one line at its end that counts the rest. Codes are few, so a flood of one
 * hides no other.
 */
import type { Log } from './ports.ts';

/** Of one code in one interval. */
export const linesMax = 10;
export const intervalMs = 60_000;

export class RefusalLog {
  readonly #log: Log;
  readonly #message: string;
  /** By code: how often it was refused in this interval. */
  readonly #counts = new Map<string, number>();

  /** `message`: of each line. */
  constructor(log: Log, message: string) {
    this.#log = log;
    this.#message = message;
  }

  refused(fields: { readonly code: string; readonly [field: string]: unknown }): void {
    const { code } = fields;
    if (this.#counts.size === 0) setTimeout(() => this.#endInterval(), intervalMs).unref();
    const count = (this.#counts.get(code) ?? 0) + 1;
    this.#counts.set(code, count);
    if (count <= linesMax) this.#log.warn(fields, this.#message);
  }

  #endInterval(): void {
    for (const [code, count] of this.#counts) {
      const further = count - linesMax;
      if (further > 0) this.#log.warn({ code, further, intervalMs }, this.#message);
    }
    this.#counts.clear();
  }
}

/**
 * Finds that the clock of this process was set back. Times that were noted while it was ahead would come only when it reaches
 * them again.
 */
import type { Ports } from './contract.ts';

/** Clocks are slewed by less between two looks. */
const slackMs = 1_000;

export class ClockJumps {
  readonly #ports: Pick<Ports, 'clock' | 'timers'>;
  /** The clock less the elapsed time, at the last look. */
  #offsetMs = Number.NEGATIVE_INFINITY;

  constructor(ports: Pick<Ports, 'clock' | 'timers'>) {
    this.#ports = ports;
  }

  /** By how many milliseconds the clock was set back since the last look; 0: it was not. */
  setBackMs(): number {
    const { clock, timers } = this.#ports;
    const offsetMs = clock.nowMs() - timers.elapsedMs();
    const setBackMs = Math.round(this.#offsetMs - offsetMs);
    this.#offsetMs = offsetMs;
    return setBackMs >= slackMs ? setBackMs : 0;
  }
}

/**
 * Asks the service's health ten times a second, on a new connection each time, as a prober does. Its times include the delays of
 * the generator's own event loop, which the report shows beside them.
 */
import { setTimeout } from 'node:timers/promises';
import { request } from 'undici';
import { type Latency, LatencyHistogram } from './histogram.ts';

const everyMs = 100;
const answerWithinMs = 60_000;

export class HealthProbe {
  readonly #url: string;
  readonly #answers = new LatencyHistogram(2);

  constructor(url: string) {
    this.#url = `${url}/v1/health`;
  }

  /** Ends with the signal. A question without an answer counts until its failure. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const beganMs = performance.now();
      await request(this.#url, { reset: true, signal, headersTimeout: answerWithinMs })
        .then(({ body }) => body.dump())
        .catch(() => undefined);
      if (!signal.aborted) this.#answers.recordMs(performance.now() - beganMs);
      await setTimeout(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Since the last call, or the start. */
  stage(): Latency {
    const latency = this.#answers.latency();
    this.#answers.reset();
    return latency;
  }
}

/**
 * A closed load: a fixed number of workers, each of which begins its next ceremony after its last one. So the rate is the
 * service's, and the latency is that of a caller who waits for his turn. (An open load above the service's rate would queue
 * without end; this does not show that.)
 *
 * Every phase warms up, then counts for a fixed time. It counts ceremonies that end within that time; it waits for the rest
 * without counting them. A phase without any end by then continues until the first: a short one on a busy machine would measure
 * nothing. Latencies are of whole ceremonies, in an HDR histogram of microseconds.
 */

import { failureOf } from '../../../clients/load/calls/call-failed.ts';
import { type Latency, LatencyHistogram } from '../../../clients/load/measure/histogram.ts';
import type { Observe, Operation } from '../../../clients/load/operations/operation.ts';

export interface LoadOptions {
  readonly inFlight: number;
  /** Counting begins after this time and after so many ceremonies, failed ones too; 0 by default. */
  readonly warmMs: number;
  readonly warmCount?: number;
  /** It waits at most so long for those: some ceremonies take a second each. 30,000 by default. */
  readonly warmCountMsMax?: number;
  readonly countMs: number;
  /** One ceremony; rejects when it failed. */
  readonly ceremony: () => Promise<void>;
  /** Called when counting begins. */
  readonly onCounting?: () => void;
  /** Called at its end, before the wait for ceremonies in progress. */
  readonly onCounted?: () => void;
}

export interface LoadResult {
  readonly inFlight: number;
  readonly completed: number;
  /** In the whole phase, warm-up included. */
  readonly errors: number;
  /** The first few distinct ones. */
  readonly errorTexts: readonly string[];
  readonly seconds: number;
  readonly perSecond: number;
  readonly latency: Latency;
  /** The whole histogram (HdrHistogram V2, compressed), so that runs can be merged. */
  readonly histogram: string;
}

/** One operation of the load generator; `last`: the ceremony ends with this call of it; the rest continues. */
export function ceremonyOf(operation: Operation, last?: string): () => Promise<void> {
  return () =>
    new Promise((resolve, reject) => {
      const observe: Observe = async (endpoint, call) => {
        const answer = await call();
        if (endpoint === last) resolve();
        return answer;
      };
      operation.run(observe).then(resolve, reject);
    });
}

const warmCountMsMaxDefault = 30_000;
const errorTextsMax = 5;
/** A pause, so that workers do not overrun a service that refuses at once. */
const afterErrorMs = 20;

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { inFlight, warmMs, warmCount = 0, warmCountMsMax = warmCountMsMaxDefault, countMs, ceremony } = options;
  const histogram = new LatencyHistogram();
  const errorTexts = new Set<string>();
  let errors = 0;
  let completed = 0;
  let counting = false;
  let over = false;
  let ended = (): void => undefined;
  const firstEnded = new Promise<void>((resolve) => {
    ended = resolve;
  });
  let coldLeft = warmCount;
  let warm = (): void => undefined;
  const isWarm = new Promise<void>((resolve) => {
    const latest = setTimeout(resolve, warmCountMsMax);
    warm = () => {
      clearTimeout(latest);
      resolve();
    };
    if (warmCount === 0) warm();
  });

  async function worker(): Promise<void> {
    while (!over) {
      const beganMs = performance.now();
      try {
        await ceremony();
      } catch (error) {
        errors += 1;
        if (counting) ended();
        if (errorTexts.size < errorTextsMax) errorTexts.add(failureOf(error).code);
        await sleep(afterErrorMs);
        continue;
      } finally {
        coldLeft -= 1;
        if (coldLeft === 0) warm();
      }
      if (!counting) continue;
      completed += 1;
      ended();
      histogram.recordMs(performance.now() - beganMs);
    }
  }

  const workers = Array.from({ length: inFlight }, worker);
  await sleep(warmMs);
  await isWarm;
  options.onCounting?.();
  counting = true;
  const beganMs = performance.now();
  await sleep(countMs);
  await firstEnded;
  counting = false;
  over = true;
  const seconds = (performance.now() - beganMs) / 1000;
  options.onCounted?.();
  await Promise.all(workers);
  return {
    inFlight,
    completed,
    errors,
    errorTexts: [...errorTexts],
    seconds,
    perSecond: completed / seconds,
    latency: histogram.latency(),
    histogram: histogram.encoded(),
  };
}

function sleep(forMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, forMs));
}

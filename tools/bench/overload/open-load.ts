/**
 * An open load: calls arrive at a rate, independent of earlier ones, so that an overload is one. Times count from the moment at
 * which a call should have been sent, so that a late generator hides nothing.
 */

export interface OpenResult {
  readonly perSecond: number;
  readonly seconds: number;
  readonly sent: number;
  /** Answers with a status of 2xx. */
  readonly good: number;
  readonly goodPerSecond: number;
  /** 429. */
  readonly refused: number;
  /** Of these, those that had begun something: its cost is lost. */
  readonly wasted: number;
  /** Any other answer, or none, by its kind. */
  readonly other: Readonly<Record<string, number>>;
  /** Milliseconds to the answer. */
  readonly goodMs: Percentiles;
  readonly refusedMs: Percentiles;
  /** The largest delay of the generator itself, in milliseconds. */
  readonly generatorLateMs: number;
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface Answered {
  readonly status: number;
  /** Seconds. */
  readonly retryAfter?: string | undefined;
  /** It was refused after a part of its work was done. */
  readonly isWaste?: boolean;
}

const tickMs = 10;

export async function openLoad(perSecond: number, forMs: number, call: () => Promise<Answered>): Promise<OpenResult> {
  const [goodMs, refusedMs]: [number[], number[]] = [[], []];
  const other: Record<string, number> = {};
  const under: Promise<void>[] = [];
  const beganMs = performance.now();
  let generatorLateMs = 0;
  let sent = 0;
  let wasted = 0;
  const one = async (dueMs: number): Promise<void> => {
    let what: string;
    try {
      const { status, retryAfter, isWaste } = await call();
      if (isWaste) wasted += 1;
      const tookMs = performance.now() - dueMs;
      if (status >= 200 && status < 300) {
        goodMs.push(tookMs);
        return;
      }
      if (status === 429 && Number(retryAfter) >= 1) {
        refusedMs.push(tookMs);
        return;
      }
      what = status === 429 ? '429 without Retry-After' : `HTTP ${status}`;
    } catch (error) {
      what = error instanceof Error ? error.message : String(error);
    }
    other[what] = (other[what] ?? 0) + 1;
  };
  for (let nowMs = beganMs; nowMs < beganMs + forMs; nowMs = performance.now()) {
    for (let dueMs = beganMs + (sent * 1000) / perSecond; dueMs <= nowMs; dueMs = beganMs + (sent * 1000) / perSecond) {
      generatorLateMs = Math.max(generatorLateMs, nowMs - dueMs);
      sent += 1;
      under.push(one(dueMs));
    }
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  }
  const seconds = (performance.now() - beganMs) / 1000;
  // Answers after the end of the load count as good, but not in the rate.
  const goodPerSecond = goodMs.length / seconds;
  await Promise.all(under);
  return {
    ...{ perSecond, seconds, sent, good: goodMs.length, goodPerSecond, refused: refusedMs.length, wasted, other },
    goodMs: percentiles(goodMs),
    refusedMs: percentiles(refusedMs),
    generatorLateMs,
  };
}

export function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((one, other) => one - other);
  const at = (share: number) => Math.round((sorted[Math.floor(sorted.length * share)] ?? sorted.at(-1) ?? 0) * 10) / 10;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Draws operations of a mix, runs them, and records the result of each of their calls. */
import { failureOf, type RateLimit } from '../calls/call-failed.ts';
import type { LoadRecorder } from '../measure/recorder.ts';
import { type Observe, type Operation, Unexpected } from '../operations/operation.ts';
import type { OperationName } from '../plan/plan.ts';
import type { LimitHit } from '../report/results.ts';
import type { LoadClock, SendTimes } from './drive.ts';

export interface OperatorOptions {
  readonly operations: ReadonlyMap<OperationName, Operation>;
  /** Weights. */
  readonly mix: ReadonlyMap<OperationName, number>;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly recorder: LoadRecorder;
  readonly clock: LoadClock;
}

export class LoadOperator {
  readonly #options: OperatorOptions;
  readonly #limits = new Map<string, { limit: RateLimit; refused: number }>();

  constructor(options: OperatorOptions) {
    this.#options = options;
  }

  /** Rate limits of the service that refused calls. */
  limits(): LimitHit[] {
    return [...this.#limits.values()];
  }

  /** Resolves with whether the operation succeeded; never rejects. */
  async operate(stage: number, { intendedMs, sentMs }: SendTimes): Promise<boolean> {
    const { recorder, clock, operations } = this.#options;
    recorder.sent(stage, sentMs - intendedMs);
    const name = this.#draw();
    // The first call of an operation counts from the time it was due.
    let dueMs: number | undefined = intendedMs;
    const observe: Observe = async (endpoint, call) => {
      const beganMs = dueMs ?? clock.nowMs();
      dueMs = undefined;
      try {
        const answer = await call();
        recorder.call(stage, endpoint, clock.nowMs() - beganMs, undefined);
        return answer;
      } catch (error) {
        recorder.call(stage, endpoint, clock.nowMs() - beganMs, failureCode(error));
        throw error;
      }
    };
    try {
      await operations.get(name)!.run(observe);
      recorder.operation(stage, name, clock.nowMs() - intendedMs, undefined);
      return true;
    } catch (error) {
      recorder.operation(stage, name, clock.nowMs() - intendedMs, failureCode(error));
      const { limit } = failureOf(error);
      if (limit !== undefined) this.#limited(limit);
      return false;
    }
  }

  #limited(limit: RateLimit): void {
    const hit = this.#limits.get(limit.policy) ?? { limit, refused: 0 };
    hit.refused += 1;
    this.#limits.set(limit.policy, hit);
  }

  #draw(): OperationName {
    const { mix, random } = this.#options;
    const [only] = mix.keys();
    if (mix.size === 1) return only!;
    let left = random() * [...mix.values()].reduce((sum, weight) => sum + weight, 0);
    for (const [name, weight] of mix) {
      left -= weight;
      if (left < 0) return name;
    }
    return only!;
  }
}

/** The name of a failure in reports. */
export function failureCode(error: unknown): string {
  return error instanceof Unexpected ? error.code : failureOf(error).code;
}

/**
 * The invariants of a simulated run: the checkers of each cluster see its observations, in its own names; those of the first
 * cluster that cover all clusters see every observation.
 */

import {
  allCheckers,
  type CheckContext,
  ofAllClusters,
  ownCheckers,
} from '../../simulation/cluster/invariants/checkers.ts';
import type { Checker, Observation } from '../../simulation/cluster/observation.ts';
import type { Violation } from '../../simulation/cluster/violation.ts';
import type { RunEvent } from '../faults/recording.ts';
import type { Verdict } from './world.ts';

export interface RunCheckersOptions {
  /** 1 by default. */
  readonly clusters?: number | undefined;
  readonly context: CheckContext;
  /** Instead of the first cluster's own. */
  readonly first?: readonly Checker[] | undefined;
  /** Invariants that this world checks elsewhere. */
  readonly without?: readonly string[];
  /** Gets violations too; undefined: the run is not recorded. */
  readonly events: RunEvent[] | undefined;
  /** A list that continues; a new one by default. */
  readonly violations?: Violation[];
}

export class RunCheckers {
  readonly violations: Violation[];
  /** By cluster. */
  readonly #checkers: readonly (readonly Checker[])[];
  readonly #events: RunEvent[] | undefined;

  constructor({ clusters = 1, context: given, first, without = [], events, violations = [] }: RunCheckersOptions) {
    this.violations = violations;
    const context = { ...given, isOneOfMany: clusters > 1 };
    const wanted = ({ invariant }: Checker) => !without.includes(invariant);
    const further = Array.from({ length: clusters - 1 }, () => ownCheckers({ ...context, delivers: false }));
    this.#checkers = [first ?? allCheckers(context).filter(wanted), ...further.map((own) => own.filter(wanted))];
    this.#events = events;
  }

  observe(observation: Observation, cluster: number): void {
    const checkers = this.#checkers[cluster - 1]!;
    // A plain loop: it runs some forty times at every event.
    for (let at = 0; at < checkers.length; at += 1) {
      const text = checkers[at]!.observe(observation);
      if (text !== undefined) this.#violated(checkers[at]!, text, cluster, observation);
    }
    if (cluster === 1) return;
    for (const checker of this.#checkers[0]!) {
      if (!ofAllClusters.has(checker.invariant)) continue;
      const text = checker.observe(observation);
      if (text !== undefined) this.#violated(checker, text, cluster, observation);
    }
  }

  /** Whether a checker has something to check at the end. */
  get hasEnd(): boolean {
    return this.#checkers.flat().some(({ finish }) => finish !== undefined);
  }

  /** The run is over, and its pending outcomes have completed. */
  finish(atMs: number): void {
    for (const checker of this.#checkers.flat()) {
      const text = checker.finish?.();
      if (text !== undefined) this.violate(checker.invariant, text, atMs);
    }
  }

  violate(invariant: string, text: string, atMs: number): void {
    this.violations.push({ invariant, text, atMs });
    this.#events?.push({ kind: 'violation', atMs, invariant, text });
  }

  /** The verdict of the first violation. */
  get verdict(): Verdict | undefined {
    const [first] = this.violations;
    return first && { kind: 'violated', invariant: first.invariant, cause: first.text };
  }

  #violated({ invariant }: Checker, text: string, cluster: number, { atMs }: Observation): void {
    this.violate(invariant, cluster === 1 ? text : `cluster ${cluster}: ${text}`, atMs);
  }
}

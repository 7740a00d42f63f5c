/** A verdict in words: one sentence with the outcome of the run, and the cause below it. */
import type { Verdict } from '../../scenarios/runner/world.ts';

export interface VerdictWords {
  readonly kind: Verdict['kind'];
  /** "failed: the signature of t1 verifies". */
  readonly sentence: string;
  /** The finding and its cause; empty after success. */
  readonly cause: string;
  /** Further expectations that do not hold. */
  readonly also: readonly string[];
}

export function verdictInWords(verdict: Verdict): VerdictWords {
  return { also: [], ...wordsOf(verdict) };
}

function wordsOf(verdict: Verdict): Omit<VerdictWords, 'also'> & Partial<VerdictWords> {
  const { kind } = verdict;
  switch (verdict.kind) {
    case 'passed':
      return { kind, sentence: 'passed: every expectation holds', cause: '' };
    case 'failed':
      return { kind, sentence: `failed: ${verdict.what}`, cause: verdict.cause, also: verdict.also ?? [] };
    case 'violated':
      return { kind, sentence: `violated: ${verdict.invariant}`, cause: verdict.cause };
    case 'stuck':
      return { kind, sentence: `stuck: ${verdict.what}`, cause: verdict.cause };
    case 'unsupported':
      return { kind, sentence: 'unsupported: this world cannot run it', cause: verdict.cause };
  }
}

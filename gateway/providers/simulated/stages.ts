/**
 * The stages of a transfer, one after the other. A provider may be further than we last heard; an intent still walks
 * through every state, so an adapter reports at most one stage more than it reported before, and asks to be called again
 * at once.
 */
const stages = ['signing', 'broadcasting', 'confirming'] as const;
export type Stage = (typeof stages)[number];

/** No provider is asked about the same transfer more often than this. */
export const minimumWaitMs = 20;
/** How often a transfer is looked at that nothing more will become of. */
export const idleWaitMs = 60_000;

export interface NextStage {
  readonly stage: Stage;
  /** The provider is further than this already. */
  readonly isBehind: boolean;
}

/**
 * What to report: the stage after the last reported one, or 'end' once the provider is done and every stage was
 * reported. `last` null: none yet.
 */
export function nextStage(last: Stage | null, reached: Stage | 'completed'): NextStage | 'end' {
  const lastIndex = last === null ? -1 : stages.indexOf(last);
  const reachedIndex = reached === 'completed' ? stages.length : stages.indexOf(reached);
  if (lastIndex === stages.length - 1 && reachedIndex === stages.length) return 'end';
  const index = Math.max(0, lastIndex, Math.min(reachedIndex, lastIndex + 1));
  return { stage: stages[Math.min(index, stages.length - 1)]!, isBehind: reachedIndex > index };
}

/** The stage in what an adapter left in the intent's `submission`; null when there is none. */
export function reportedStage(submission: unknown): Stage | null {
  const stage = (submission as { readonly stage?: unknown } | null)?.stage;
  return stages.find((known) => known === stage) ?? null;
}

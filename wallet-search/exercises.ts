/**
 * Exercises: what a run does after its healing, when all work has ended. Each takes one part of the product through its life,
 * alone, so that the one right answer to every call is known: operations that random steps seldom reach, the longest values,
 * refusals, repetitions. Its changes are in the log, and all checks at the end of a run apply to them too.
 */
import { evaluations, nameLists, policyVersions, wholeRiskRule } from './control-exercises.ts';
import { Draw } from './draw.ts';
import type { Exercise } from './exercise.ts';
import { frozenToken, market, wholeStrategy, wholeVault } from './module-exercises.ts';
import { brokenRules, envelope, unknownIds, wrongQueries } from './refusals.ts';
import { connection, modules, oneDelivery, oneSession, receipts, rotated, wholeWebhook } from './service-exercises.ts';
import type { Tenancy } from './tenancy.ts';
import { wholeIntent, wholeWallet } from './wallet-exercises.ts';

type Run = (exercise: Exercise) => Promise<void>;

const exercises: Readonly<Record<string, Run>> = {
  wholeWallet,
  wholeIntent,
  policyVersions,
  evaluations,
  nameLists,
  wholeRiskRule,
  wholeWebhook,
  oneDelivery,
  connection,
  modules,
  receipts,
  rotated,
  oneSession,
  brokenRules,
  unknownIds,
  wrongQueries,
  envelope,
};
const ofModules: typeof exercises = { wholeVault, wholeStrategy, frozenToken, market };
/** Of the run's tenants together. */
const exercisesEach = 4;

/** Throws a Finding. Work that it began may still be open. */
export async function exercise(tenancy: Tenancy, share: number): Promise<void> {
  const draw = new Draw(tenancy.world.random(`exercises/${tenancy.name}`));
  const left = Object.entries({ ...exercises, ...(tenancy.modules !== undefined && ofModules) });
  for (let count = Math.ceil(exercisesEach * share); count > 0; count -= 1) {
    const [[name, run]] = left.splice(draw.integer(0, left.length - 1), 1) as [[string, Run]];
    tenancy.landmarks.reach(`exercise ${name}`);
    await run({ tenancy, operator: draw.pick(tenancy.operators), draw });
  }
}

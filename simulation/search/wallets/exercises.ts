/**
 * Exercises: what a run does after its healing, when all work has ended. Each takes one part of the product through its life,
 * alone, so that the one right answer to every call is known: operations that random steps seldom reach, the longest values,
 * refusals, repetitions. Its changes are in the log, and all checks at the end of a run apply to them too.
 */
import { evaluations, nameLists, policyVersions, wholeRiskRule } from './control-exercises.ts';
import { drawFrom } from './draw.ts';
import type { Exercise } from './exercise.ts';
import { pausedWebhook, retriedDelivery } from './hook-exercises.ts';
import { signedMessages } from './message-exercise.ts';
import { frozenToken, market, wholeStrategy, wholeVault } from './module-exercises.ts';
import { oneDifference, silentProvider } from './recon-exercises.ts';
import { envelope } from './refusals.ts';
import { connection, modules, oneDelivery, oneSession, receipts, rotated, wholeWebhook } from './service-exercises.ts';
import { stuckTransfer, undoneTransfer } from './stuck-exercise.ts';
import type { Tenancy } from './tenancy.ts';
import { wholeIntent, wholeWallet } from './wallet-exercises.ts';

type Run = (exercise: Exercise) => Promise<void>;

const exercises: Readonly<Record<string, Run>> = {
  wholeWallet,
  wholeIntent,
  stuckTransfer,
  signedMessages,
  undoneTransfer,
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
  envelope,
};
const ofModules: typeof exercises = { wholeVault, wholeStrategy, frozenToken, market };
/** The share of runs without faults that take `oneDifference`, and one of those that compare times. */
const timedShare = 0.6;
const timed: typeof exercises = { retriedDelivery, pausedWebhook, silentProvider };
/** Of the run's tenants together. */
const exercisesEach = 4;

/** Throws a Finding. Work that it began may still be open. */
export async function exercise(tenancy: Tenancy, share: number): Promise<void> {
  const draw = drawFrom(tenancy.world.random(`exercises/${tenancy.name}`));
  const left = Object.entries({ ...exercises, ...(tenancy.modules !== undefined && ofModules) });
  const drawn = Array.from(
    { length: Math.ceil(exercisesEach * share) },
    () => left.splice(draw.int(0, left.length - 1), 1)[0]!,
  );
  if (tenancy.isCalm && draw.chance(timedShare)) drawn.push(['oneDifference', oneDifference]);
  if (tenancy.isCalm && draw.chance(share * timedShare)) drawn.push(draw.pick(Object.entries(timed)));
  for (const [name, run] of drawn) {
    tenancy.landmarks.reach(`exercise ${name}`);
    await run({ tenancy, operator: draw.pick(tenancy.operators), draw });
  }
}

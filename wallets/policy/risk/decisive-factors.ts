/**
 * Determines when the built-in factors of a wallet's balance and history could change a decision. Pure.
 *
 * Simultaneous transfers of one wallet change these values for each other. If the factors together cannot move the score across
 * a threshold of a policy, the decision does not depend on them, and the transfers need not wait for each other.
 */
import type { RiskResult, TransactionFacts } from '../../custody/intents/public.ts';
import { type FieldRead, mergeReads, type StateReads } from '../rules/state-reads.ts';
import { builtInFactors } from './factors.ts';
import { riskLevels, scoreMax } from './score.ts';

const habits = builtInFactors.flatMap(({ code, points, reads }) =>
  reads === undefined ? [] : [{ code, points, reads }],
);
const habitCodes: ReadonlySet<string> = new Set(habits.map(({ code }) => code));

/** The state reads of the factors, if they could change the result of the evaluated rules; else none. */
export function decisiveHabits(facts: TransactionFacts, risk: RiskResult, rules: StateReads): StateReads {
  if (facts.kind === 'message' || !turnsWithin(scoreRead(rules), scoreSpan(risk))) return new Map();
  return mergeReads(...habits.map(({ reads }) => new Map([[reads.field, reads.breaks(facts)]])));
}

/** The lowest and the highest possible score of this transaction for other values of the state. */
function scoreSpan({ factors }: RiskResult): { readonly low: bigint; readonly high: bigint } {
  const fixed = factors
    .filter(({ code }) => !habitCodes.has(code))
    .reduce((sum, { contribution }) => sum + contribution, 0);
  const most = habits.reduce((sum, { points }) => sum + points, fixed);
  const clamped = (score: number): bigint => BigInt(Math.max(0, Math.min(scoreMax, score)));
  return { low: clamped(fixed), high: clamped(most) };
}

/** Level and action follow from the score. */
function scoreRead(rules: StateReads): FieldRead {
  const byLevel = rules.has('risk.level') || rules.has('risk.action');
  const read = rules.get('risk.score') ?? [];
  if (read === 'exactly' || !byLevel) return read;
  return [...read, ...riskLevels.map(({ from }) => BigInt(from))];
}

function turnsWithin(read: FieldRead, { low, high }: { readonly low: bigint; readonly high: bigint }): boolean {
  if (read === 'exactly') return low !== high;
  return read.some((point) => low < point && point <= high);
}

/**
 * What the built-in factors make of a wallet's balance and its habits, and when that could turn a decision. Pure.
 *
 * Many transfers of one wallet at a time change these readings for each other. Where the factors together cannot lift or
 * lower the score across a number that a policy asks for, the decision does not depend on them, and the transfers need
 * not wait for each other.
 */
import type { RiskResult, TransactionFacts } from '../../custody/intents/public.ts';
import { type FieldRead, mergeReads, type StateReads } from '../rules/state-reads.ts';
import { builtInFactors } from './factors.ts';
import { riskLevels, scoreMax } from './score.ts';

const habits = builtInFactors.flatMap(({ code, points, reads }) =>
  reads === undefined ? [] : [{ code, points, reads }],
);
const habitCodes: ReadonlySet<string> = new Set(habits.map(({ code }) => code));

/** What the factors read of the state, if the rules that were evaluated could say something else for it; else nothing. */
export function decisiveHabits(facts: TransactionFacts, risk: RiskResult, rules: StateReads): StateReads {
  if (!turnsWithin(scoreRead(rules), scoreSpan(risk))) return new Map();
  return mergeReads(...habits.map(({ reads }) => new Map([[reads.field, reads.breaks(facts)]])));
}

/** The lowest and the highest score that other readings of the same transaction could give. */
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

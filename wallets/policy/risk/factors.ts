/**
 * The built-in factors of every risk score, before a tenant's own rules. docs/wallet-api.md shows this table.
 *
 * The factors of a wallet's balance and history add up to less than 70, the score from which the default policy requires an
 * approval: reaching it takes a compliance match, a test amount or a tenant's own rule.
 */
import type { RiskFactor, ScreeningResult, TransactionFacts } from '../../custody/intents/public.ts';
import type { TestOutcome } from '../../providers/port/test-triggers.ts';
import type { StateField } from '../rules/state-reads.ts';

export interface FactorInput {
  readonly facts: TransactionFacts;
  readonly screening: ScreeningResult;
  /** Of the amount, in a sandbox. */
  readonly trigger: TestOutcome | undefined;
}

export interface BuiltInFactor {
  readonly code: string;
  readonly points: number;
  /** When it counts, for the docs. */
  readonly when: string;
  /** Its evidence, or undefined when it does not count. */
  readonly find: (input: FactorInput) => string | undefined;
  /** Of a factor that counts what other transactions change at the same time: what it reads of that. */
  readonly reads?: { readonly field: StateField; readonly breaks: (facts: TransactionFacts) => readonly bigint[] };
}

const hourlyMax = 30;
const dailyMax = 200;

/** Percent of the available balance, rounded down; undefined when the balance is not known, or nothing is taken from it. */
function shareOf({ kind, units, availableUnits }: TransactionFacts): bigint | undefined {
  return kind !== 'mint' && availableUnits > 0n ? (units * 100n) / availableUnits : undefined;
}

/** The share is so many percent or more from an available balance of 1 up to a largest one, and not beyond it. */
function shareBreaks({ units }: TransactionFacts, percent: bigint): readonly bigint[] {
  return [1n, (units * 100n) / percent + 1n];
}

function countIf(holds: boolean, evidence: string): string | undefined {
  return holds ? evidence : undefined;
}

export const builtInFactors: readonly BuiltInFactor[] = [
  {
    code: 'balance_share_half',
    points: 15,
    when: 'the amount is half of the available balance or more',
    find: ({ facts }) => {
      const share = shareOf(facts);
      return countIf(share !== undefined && share >= 50n, `${share} % of the available ${facts.asset}`);
    },
    reads: { field: 'tx.available', breaks: (facts) => shareBreaks(facts, 50n) },
  },
  {
    code: 'balance_share_nearly_all',
    points: 10,
    when: 'the amount is 90 % of the available balance or more, too',
    find: ({ facts }) => {
      const share = shareOf(facts);
      return countIf(share !== undefined && share >= 90n, `${share} % of the available ${facts.asset}`);
    },
    reads: { field: 'tx.available', breaks: (facts) => shareBreaks(facts, 90n) },
  },
  {
    code: 'first_transfer',
    points: 10,
    when: 'the wallet has no earlier intent to this destination',
    find: ({ facts }) => countIf(facts.history.intentsToDestination === 0, 'no earlier intent to this destination'),
    reads: { field: 'history.intents_to_destination', breaks: () => [1n] },
  },
  {
    code: 'velocity_hour',
    points: 10,
    when: `the wallet had more than ${hourlyMax} intents in the last hour`,
    find: ({ facts: { history } }) =>
      countIf(history.intentsLastHour > hourlyMax, `${history.intentsLastHour} intents in the last hour`),
    reads: { field: 'history.intents_last_hour', breaks: () => [BigInt(hourlyMax + 1)] },
  },
  {
    code: 'velocity_day',
    points: 10,
    when: `the wallet had more than ${dailyMax} intents in the last 24 hours`,
    find: ({ facts: { history } }) =>
      countIf(history.intentsLastDay > dailyMax, `${history.intentsLastDay} intents in the last 24 hours`),
    reads: { field: 'history.intents_last_day', breaks: () => [BigInt(dailyMax + 1)] },
  },
  {
    code: 'compliance_review',
    points: 40,
    when: 'compliance says `review`',
    find: ({ screening }) => countIf(screening.decision === 'review', matchEvidence(screening)),
  },
  {
    code: 'compliance_blocked',
    points: 100,
    when: 'compliance says `blocked`',
    find: ({ screening }) => countIf(screening.decision === 'blocked', matchEvidence(screening)),
  },
  {
    code: 'magic_risk_high',
    points: 75,
    when: 'a sandbox’s test amount asks for it',
    find: ({ trigger }) => countIf(trigger === 'risk_high', 'test amount'),
  },
  {
    code: 'magic_risk_critical',
    points: 100,
    when: 'a sandbox’s test amount asks for it',
    find: ({ trigger }) => countIf(trigger === 'risk_critical', 'test amount'),
  },
];

function matchEvidence({ matches }: ScreeningResult): string {
  const [first] = matches;
  return first === undefined ? 'compliance match' : `on the ${first.kind} list ${first.listName}`;
}

/** None of a message: it takes no money and has no destination. */
export function builtInFactorsOf(input: FactorInput): readonly RiskFactor[] {
  if (input.facts.kind === 'message') return [];
  return builtInFactors.flatMap(({ code, points, find }) => {
    const evidence = find(input);
    return evidence === undefined ? [] : [{ code, contribution: points, evidence }];
  });
}

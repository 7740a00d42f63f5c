/**
 * The risk score of a transaction, computed from the factors in docs/wallet-api.md and the tenant's own rules: a second opinion
 * that shares no code with the product.
 */

import type { Draw } from '../../cluster/draw.ts';
import { decimal, type ToldEvent } from '../../service/invariants/documented-ledger.ts';
import type { Listing, RuleAction } from './policies.ts';

export interface RiskFacts {
  /** Decimal. */
  readonly amount: string;
  /** Of the intent or order: a mint takes nothing from the wallet, a message nothing and goes nowhere. */
  readonly kind: string;
  readonly listing: Listing;
  readonly intentsLastHour: number;
  readonly intentsToDestination: number;
  /** In units of 10^-18. */
  readonly available: bigint;
}

/** The condition of a rule, and what it asks for where it holds. */
export interface RiskTerms {
  readonly action?: RuleAction | undefined;
  readonly when: string;
  readonly holds: (facts: RiskFacts) => boolean;
}

interface RuleInForce {
  readonly name: string;
  readonly points: number;
  readonly mode: 'enforce' | 'shadow' | 'disabled';
}

const scoreMax = 100;
const hourlyMax = 30;

export class RiskRules {
  readonly #rules = new Map<string, RuleInForce>();
  readonly #terms: ReadonlyMap<string, RiskTerms>;

  /** `terms`: by the names of rules. */
  constructor(terms: ReadonlyMap<string, RiskTerms>) {
    this.#terms = terms;
  }

  take({ type, resource, data }: ToldEvent): void {
    if (type === 'risk.rule.deleted') this.#rules.delete(resource.id);
    else if (type.startsWith('risk.rule.')) this.#rules.set(resource.id, data.object);
  }

  score(facts: RiskFacts): number {
    const sum = builtIn(facts) + this.#matching(facts).reduce((points, rule) => points + rule.points, 0);
    return Math.max(0, Math.min(scoreMax, sum));
  }

  /** "The strictest action of all matching rules decides beside the policies"; `allow`: none asks for more. */
  action(facts: RiskFacts): RuleAction {
    const actions = this.#matching(facts).map(({ name }) => this.#terms.get(name)?.action);
    return (['deny', 'review'] as const).find((action) => actions.includes(action)) ?? 'allow';
  }

  #matching(facts: RiskFacts): readonly RuleInForce[] {
    return [...this.#rules.values()].filter(
      ({ name, mode }) => mode === 'enforce' && this.#terms.get(name)?.holds(facts) === true,
    );
  }
}

function builtIn({ amount, kind, listing, intentsLastHour, intentsToDestination, available }: RiskFacts): number {
  if (kind === 'message') return 0;
  const takes = (percent: bigint) => kind !== 'mint' && available > 0n && decimal(amount) * 100n >= available * percent;
  const tests: Readonly<Record<string, number>> = { '0.00477': 75, '0.004799': 100 };
  return (
    (takes(50n) ? 15 : 0) +
    (takes(90n) ? 10 : 0) +
    (intentsToDestination === 0 ? 10 : 0) +
    (intentsLastHour > hourlyMax ? 10 : 0) +
    { clear: 0, review: 40, blocked: 100 }[listing] +
    (tests[amount] ?? 0)
  );
}

/** Points that make sums at the borders of levels, with the built-in factors. */
const points = [-10, 20, 30, 60, 80] as const;

/** A body for `POST /v1/risk/rules` without its name, and its condition. `isWhole`: for assets without decimals. */
export function drawRule(draw: Draw, isWhole: boolean): { readonly body: object; readonly terms: RiskTerms } {
  const large = draw.pick(isWhole ? ['1', '5'] : ['0.2', '0.35']);
  const few = draw.int(1, 3);
  const when = draw.pick([
    'true',
    `tx.amount >= units("${large}")`,
    `history.intents_to_destination >= ${few}`,
    `history.intents_last_hour < ${few}`,
    'compliance.decision == "review"',
  ]);
  // A rule that denied everything would leave the other clients nothing to do.
  const actions: readonly (RuleAction | undefined)[] =
    when === 'true' ? [undefined, undefined, undefined, 'review'] : [undefined, undefined, 'review', 'deny', 'allow'];
  const action = draw.pick(actions);
  const asked = { ...(action !== undefined && { action }), priority: draw.int(0, 1_000) };
  return {
    body: { when, points: draw.pick(points), mode: draw.pick(['enforce', 'enforce', 'shadow']), ...asked },
    terms: ruleOf(when, action)!,
  };
}

/** A rule as `drawRule` writes it; undefined: it says something else. */
export function ruleOf(when: string, action: RuleAction | undefined): RiskTerms | undefined {
  const [, number = ''] = /"?(\d[\d.]*)"?\)?$/.exec(when) ?? [];
  const holds = conditions[when.replace(number || '0', 'n')]?.(number);
  return holds && { when, action, holds };
}

const conditions: Readonly<Record<string, (number: string) => RiskTerms['holds']>> = {
  true: () => () => true,
  'tx.amount >= units("n")': (least) => (facts) => decimal(facts.amount) >= decimal(least),
  'history.intents_to_destination >= n': (least) => (facts) => facts.intentsToDestination >= Number(least),
  'history.intents_last_hour < n': (most) => (facts) => facts.intentsLastHour < Number(most),
  'compliance.decision == "review"': () => (facts) => facts.listing === 'review',
};

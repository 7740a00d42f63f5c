/**
 * The policies of random runs, and their required decisions, computed here from the rules in docs/wallet-api.md: a second opinion
 * on every decision that shares no code with the product.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Draw } from '../../cluster/draw.ts';
import { decimal } from '../../service/invariants/documented-ledger.ts';

/** Amounts in units of the asset, as decimals; undefined: there is no such rule. */
export interface PolicyTerms {
  readonly denyFrom: string | undefined;
  readonly askFrom: string | undefined;
  /** Denies when the wallet had this many intents within the last hour. */
  readonly denyAfter: number | undefined;
  /** Asks when the wallet had this many intents to the destination. */
  readonly askAfter: number | undefined;
  /** Denies when less is available before the transaction. */
  readonly denyBelow: string | undefined;
  /** Asks from this risk score on. */
  readonly askScore: number | undefined;
  /** Asks for messages of wallets and vaults: the one rule that names their kind. */
  readonly asksMessages: boolean;
  readonly quorum: number;
  /** Empty: any. */
  readonly approvers: readonly string[];
  readonly timeoutS: number;
  readonly isDryRun: boolean;
}

export type RuleEffect = 'allow' | 'require_approval' | 'deny';
export type RuleAction = 'allow' | 'review' | 'deny';
export type Listing = 'blocked' | 'review' | 'clear';

/** The inputs of a decision, at its moment. */
export interface DecisionFacts {
  readonly kind: string;
  /** It is decided as a transfer too. */
  readonly isAlsoTransfer: boolean;
  readonly amount: string;
  readonly listing: Listing;
  readonly intentsLastHour: number;
  readonly intentsToDestination: number;
  /** In units of 10^-18. */
  readonly available: bigint;
  readonly riskScore: number;
  /** The strictest of the enforced risk rules that match. */
  readonly ruleAction: RuleAction;
  readonly initiator: string;
  readonly wantsHuman: boolean;
}

export interface Expected {
  readonly effect: RuleEffect;
  readonly quorum: number;
  readonly approvers: readonly string[];
  /** 0 without approvals. */
  readonly timeoutS: number;
}

export const calmTerms: PolicyTerms = {
  denyFrom: undefined,
  askFrom: '0.2',
  denyAfter: undefined,
  askAfter: undefined,
  denyBelow: undefined,
  askScore: undefined,
  asksMessages: false,
  quorum: 1,
  approvers: [],
  timeoutS: 3_600,
  isDryRun: false,
};

const humanTimeoutS = 86_400;

/** Of version 1 of `default`, which every tenant has from the beginning. */
export const startingTerms: PolicyTerms = { ...calmTerms, askFrom: undefined, askScore: 70, timeoutS: humanTimeoutS };

/** The levels and actions of scores, as another way to write a limit. */
const byLevel: Readonly<Record<number, string>> = {
  40: 'risk.level != "low"',
  70: 'risk.level in ["high", "critical"]',
  90: 'risk.level == "critical"',
};

/** `isWhole`: its limits of balances suit assets without decimals. */
export function drawTerms(draw: Draw, actors: readonly string[], isWhole: boolean): PolicyTerms {
  const quorum = draw.chance(0.4) ? 2 : 1;
  // Half of them are as few as the quorum: then every other actor is a stranger, and one of them as initiator is one too few.
  const some = actors.slice(draw.chance(0.5) ? -quorum : draw.int(0, actors.length - quorum));
  return {
    // Orders and trades of modules are larger than transfers.
    denyFrom: draw.chance(0.35) ? draw.pick(isWhole ? ['0.35', '50', '20000'] : ['0.35', '0.5', '0.3']) : undefined,
    askFrom: draw.chance(0.8) ? draw.pick(isWhole ? ['0.2', '8', '500'] : ['0.1', '0.2', '0.25']) : undefined,
    denyAfter: draw.chance(0.3) ? draw.int(2, 6) : undefined,
    askAfter: draw.chance(0.3) ? draw.int(1, 3) : undefined,
    denyBelow: draw.chance(0.3) ? draw.pick(isWhole ? ['9', '5'] : ['9.9', '9.5', '9']) : undefined,
    quorum,
    approvers: draw.chance(0.3) ? some : [],
    timeoutS: draw.pick([60, 120, 3_600, 3_600]),
    isDryRun: draw.chance(0.1),
    askScore: draw.chance(0.35) ? draw.pick([10, 25, ...Object.keys(byLevel).map(Number)]) : undefined,
    asksMessages: draw.chance(0.5),
  };
}

export function policyBody(name: string, terms: PolicyTerms): object {
  const { denyFrom, askFrom, denyAfter, askAfter, denyBelow, quorum, approvers, timeoutS, isDryRun } = terms;
  const { askScore, asksMessages } = terms;
  const approvals = { quorum, timeout_s: timeoutS, ...(approvers.length > 0 && { approvers }) };
  const ask = (id: string, when: string) => ({ id, effect: 'require_approval', when, approvals });
  const deny = (id: string, when: string) => ({ id, effect: 'deny', when });
  return {
    name,
    ...(isDryRun && { mode: 'dry_run' }),
    rules: [
      ...(denyFrom === undefined ? [] : [deny('large', `tx.amount >= units("${denyFrom}")`)]),
      ...(denyAfter === undefined ? [] : [deny('often', `history.intents_last_hour >= ${denyAfter}`)]),
      ...(denyBelow === undefined ? [] : [deny('poor', `tx.available < units("${denyBelow}")`)]),
      ...(askFrom === undefined ? [] : [ask('middle', `tx.amount >= units("${askFrom}")`)]),
      ...(askAfter === undefined ? [] : [ask('known', `history.intents_to_destination >= ${askAfter}`)]),
      ...(askScore === undefined ? [] : [ask('risky', byLevel[askScore] ?? `risk.score >= ${askScore}`)]),
      ...(asksMessages ? [ask('message', 'tx.kind in ["message", "typed_data", "contract_call"]')] : []),
      ask('watched', 'compliance.decision == "review"'),
      { id: 'rest', effect: 'allow', when: 'true' },
    ],
  };
}

/** The terms of a policy as `policyBody` writes it; undefined: it says something else. */
export function termsOf(body: { readonly name: string; readonly mode?: string; readonly rules: readonly RuleBody[] }) {
  const of = (id: string) => body.rules.find((rule) => rule.id === id);
  const said = (id: string) => /"?(\d[\d.]*)"?\)?$/.exec(of(id)?.when ?? '')?.[1];
  const count = (id: string) => (said(id) === undefined ? undefined : Number(said(id)));
  const risky = of('risky')?.when;
  const byWords = Object.entries(byLevel).find(([, when]) => when === risky)?.[0];
  const { quorum = 1, timeout_s: timeoutS = 0, approvers = [] } = of('watched')?.approvals ?? {};
  const terms: PolicyTerms = {
    ...{ denyFrom: said('large'), askFrom: said('middle'), denyBelow: said('poor') },
    ...{ denyAfter: count('often'), askAfter: count('known') },
    ...{
      askScore: byWords === undefined ? count('risky') : Number(byWords),
      asksMessages: of('message') !== undefined,
    },
    ...{ quorum, approvers, timeoutS, isDryRun: body.mode === 'dry_run' },
  };
  return isDeepStrictEqual(policyBody(body.name, terms), body) ? terms : undefined;
}

interface RuleBody {
  readonly id: string;
  readonly when: string;
  readonly approvals?: { readonly quorum: number; readonly timeout_s: number; readonly approvers?: readonly string[] };
}

const denied: Expected = { effect: 'deny', quorum: 0, approvers: [], timeoutS: 0 };
const allowed: Expected = { effect: 'allow', quorum: 0, approvers: [], timeoutS: 0 };

/** The joint decision of the policies and risk rules in force, with the wallet's own setting and without the initiator's vote. */
export function decisionOf(policies: readonly PolicyTerms[], facts: DecisionFacts): Expected {
  const { initiator, wantsHuman, ruleAction } = facts;
  const views = facts.isAlsoTransfer ? [facts, { ...facts, kind: 'transfer' }] : [facts];
  let decision = strictest(policies.flatMap((terms) => views.map((view) => ofOne(terms, view))));
  if (ruleAction === 'deny') return denied;
  if (decision.effect === 'allow' && (wantsHuman || ruleAction === 'review')) {
    decision = { effect: 'require_approval', quorum: 1, approvers: [], timeoutS: humanTimeoutS };
  }
  const { approvers, quorum } = decision;
  if (approvers.length > 0 && approvers.filter((one) => one !== initiator).length < quorum) return denied;
  return decision;
}

function ofOne(terms: PolicyTerms, facts: DecisionFacts): Expected {
  const { denyFrom, askFrom, denyAfter, askAfter, denyBelow, askScore, quorum, approvers, timeoutS } = terms;
  const isToName = ['message', 'typed_data', 'contract_call'].includes(facts.kind);
  const units = decimal(facts.amount);
  const isDenied =
    (isToName && !terms.asksMessages) ||
    facts.listing === 'blocked' ||
    (denyFrom !== undefined && units >= decimal(denyFrom)) ||
    (denyAfter !== undefined && facts.intentsLastHour >= denyAfter) ||
    (denyBelow !== undefined && facts.available < decimal(denyBelow));
  if (isDenied) return denied;
  const asks =
    isToName ||
    facts.listing === 'review' ||
    (askFrom !== undefined && units >= decimal(askFrom)) ||
    (askAfter !== undefined && facts.intentsToDestination >= askAfter) ||
    (askScore !== undefined && facts.riskScore >= askScore);
  return asks ? { effect: 'require_approval', quorum, approvers, timeoutS } : allowed;
}

function strictest(all: readonly Expected[]): Expected {
  if (all.some(({ effect }) => effect === 'deny')) return denied;
  const asking = all.filter(({ effect }) => effect === 'require_approval');
  if (asking.length === 0) return allowed;
  const quorum = Math.max(...asking.map((one) => one.quorum));
  const timeoutS = Math.min(...asking.map((one) => one.timeoutS));
  const named = asking.filter(({ approvers }) => approvers.length > 0);
  const approvers = (named[0]?.approvers ?? []).filter((one) => named.every((other) => other.approvers.includes(one)));
  if (named.length > 0 && approvers.length < quorum) return denied;
  return { effect: 'require_approval', quorum, approvers, timeoutS };
}

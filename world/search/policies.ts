/**
 * The policies of random runs, and what each must decide, computed here from what docs/wallet-api.md says of rules: a
 * second opinion on every decision that shares no code with the product.
 */
import { decimal, type IntentTold } from '../invariants/documented-ledger.ts';
import type { Draw } from './draw.ts';

/** In units of the asset, as decimals; undefined: there is no such rule. */
export interface PolicyTerms {
  readonly denyFrom: string | undefined;
  readonly askFrom: string | undefined;
  readonly quorum: number;
  readonly approvers: readonly string[];
  readonly isDryRun: boolean;
}

export type Effect = 'allow' | 'require_approval' | 'deny';

export interface Expected {
  readonly effect: Effect;
  readonly quorum: number;
  readonly approvers: readonly string[];
}

export const calmTerms: PolicyTerms = {
  denyFrom: undefined,
  askFrom: '0.2',
  quorum: 1,
  approvers: [],
  isDryRun: false,
};

export function drawTerms(draw: Draw, approvers: readonly string[]): PolicyTerms {
  return {
    denyFrom: draw.chance(0.4) ? draw.pick(['0.35', '0.5', '0.3']) : undefined,
    askFrom: draw.chance(0.8) ? draw.pick(['0.1', '0.2', '0.25']) : undefined,
    quorum: draw.chance(0.4) ? 2 : 1,
    approvers: draw.chance(0.2) ? approvers : [],
    isDryRun: false,
  };
}

export function policyBody(name: string, { denyFrom, askFrom, quorum, approvers }: PolicyTerms): object {
  const approvals = { quorum, timeout_s: 3_600, ...(approvers.length > 0 && { approvers }) };
  const ask = (id: string, when: string) => ({ id, effect: 'require_approval', when, approvals });
  return {
    name,
    rules: [
      ...(denyFrom === undefined ? [] : [{ id: 'large', effect: 'deny', when: `tx.amount >= units("${denyFrom}")` }]),
      ...(askFrom === undefined ? [] : [ask('middle', `tx.amount >= units("${askFrom}")`)]),
      ask('watched', 'compliance.decision == "review"'),
      { id: 'rest', effect: 'allow', when: 'true' },
    ],
  };
}

export function expected(
  terms: PolicyTerms,
  { amount }: Pick<IntentTold, 'amount'>,
  listed: 'blocked' | 'review' | 'clear',
): Expected {
  const { denyFrom, askFrom, quorum, approvers } = terms;
  if (listed === 'blocked') return { effect: 'deny', quorum: 0, approvers: [] };
  if (denyFrom !== undefined && decimal(amount) >= decimal(denyFrom))
    return { effect: 'deny', quorum: 0, approvers: [] };
  const asks = listed === 'review' || (askFrom !== undefined && decimal(amount) >= decimal(askFrom));
  return asks ? { effect: 'require_approval', quorum, approvers } : { effect: 'allow', quorum: 0, approvers: [] };
}

/** The strictest of several. */
export function strictest(all: readonly Expected[]): Expected {
  if (all.some(({ effect }) => effect === 'deny')) return { effect: 'deny', quorum: 0, approvers: [] };
  const asking = all.filter(({ effect }) => effect === 'require_approval');
  if (asking.length === 0) return { effect: 'allow', quorum: 0, approvers: [] };
  const named = asking.filter(({ approvers }) => approvers.length > 0);
  const [first, ...rest] = named;
  const approvers = (first?.approvers ?? []).filter((one) => rest.every((other) => other.approvers.includes(one)));
  return { effect: 'require_approval', quorum: Math.max(...asking.map(({ quorum }) => quorum)), approvers };
}

/** A tenant's own risk rule as stored: one immutable record a version. */
import type { RecordType, Versioned } from '../../store/contract.ts';

/** `shadow`: shown in the factors with the points that it would add, but not counted. */
export const riskRuleModes = ['enforce', 'shadow', 'disabled'] as const;
export type RiskRuleMode = (typeof riskRuleModes)[number];
export const riskActions = ['allow', 'review', 'deny'] as const;
export type RiskAction = (typeof riskActions)[number];

export interface RiskRuleRecord extends Versioned {
  readonly ruleId: string;
  readonly ruleVersion: number;
  readonly name: string;
  /** CEL, see ../rules. */
  readonly when: string;
  /** -100 to 100. */
  readonly points: number;
  /** When it matches, `deny` denies and `review` asks for an approval; the strictest of all rules wins. */
  readonly action: RiskAction | null;
  /** Matching rules are listed in this order, the lowest first; it decides nothing. */
  readonly priority: number;
  readonly mode: RiskRuleMode;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export const riskRuleType: RecordType<RiskRuleRecord> = { name: 'risk_rule', status: () => '', indices: () => [] };

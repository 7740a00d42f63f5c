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
  /** The action when it matches; null: the score's action. */
  readonly action: RiskAction | null;
  /** Of matching rules with an action the one with the lowest number decides; of equal ones the strictest. */
  readonly priority: number;
  readonly mode: RiskRuleMode;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export const riskRuleType: RecordType<RiskRuleRecord> = { name: 'risk_rule', status: () => '', indices: () => [] };

/** A stored policy: one immutable record a version. The catalog lists the versions in force. */

import type { RecordType } from '../../store/contract.ts';
import { type ReplaceableVersion, replacedIndices } from '../rules/retained-versions.ts';

export const policyEffects = ['allow', 'deny', 'require_approval'] as const;
export type PolicyEffect = (typeof policyEffects)[number];
export const policyModes = ['enforce', 'dry_run'] as const;
export type PolicyMode = (typeof policyModes)[number];

export interface ApprovalTerms {
  /** How many must approve. */
  readonly quorum: number;
  /** Permitted approvers; empty: any caller with the scope. */
  readonly approvers: readonly string[];
  readonly timeoutS: number;
}

export interface PolicyRule {
  readonly id: string;
  readonly effect: PolicyEffect;
  /** CEL, see ../rules. */
  readonly when: string;
  /** With require_approval. */
  readonly approvals: ApprovalTerms | null;
}

export interface PolicyWarning {
  /** Id of the rule; empty: the whole policy. */
  readonly rule: string;
  readonly code: 'never_matches' | 'unreachable' | 'denies_everything';
  readonly message: string;
}

export interface PolicyVersionRecord extends ReplaceableVersion {
  readonly policyId: string;
  readonly policyVersion: number;
  readonly name: string;
  readonly mode: PolicyMode;
  readonly rules: readonly PolicyRule[];
  readonly warnings: readonly PolicyWarning[];
  readonly createdAtMs: number;
}

export const policyVersionType: RecordType<PolicyVersionRecord> = {
  name: 'policy',
  status: ({ mode }) => mode,
  indices: (record) => replacedIndices(record.policyId, record),
};

/**
 * The policy that every tenant starts with, as version 1 of `default`. It decides on every intent, beside those that
 * the wallet and the intent name. A tenant replaces it with a version of its own. Receipts name this version: its rules must not change.
 */
import { builtInId, type PolicyEntry, versionKey } from '../rules/catalog.ts';
import type { PolicyRule, PolicyVersionRecord } from './record.ts';

export const defaultPolicyName = 'default';

/** Seconds that approvers have, where a rule does not say. */
export const approvalTimeoutDefaultS = 86_400;

export const defaultRules: readonly PolicyRule[] = [
  { id: 'blocked', effect: 'deny', when: 'compliance.decision == "blocked"', approvals: null },
  {
    id: 'review',
    effect: 'require_approval',
    when: 'compliance.decision == "review" || risk.score >= 70',
    approvals: { quorum: 1, approvers: [], timeoutS: approvalTimeoutDefaultS },
  },
  { id: 'clear', effect: 'allow', when: 'compliance.decision == "clear" && risk.score < 70', approvals: null },
];

export function builtInPolicy(tenant: string): PolicyVersionRecord {
  const policyId = builtInId('pol', tenant, defaultPolicyName);
  return {
    id: versionKey(policyId, 1),
    version: 1,
    policyId,
    policyVersion: 1,
    name: defaultPolicyName,
    mode: 'enforce',
    rules: defaultRules,
    warnings: [],
    createdAtMs: 0,
  };
}

export function builtInEntry(tenant: string): PolicyEntry {
  const { policyId: id, name } = builtInPolicy(tenant);
  return { id, name, version: 1, enforcedVersion: 1, createdAtMs: 0, updatedAtMs: 0 };
}

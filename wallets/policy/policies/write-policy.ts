/** Making the next version of a policy from a request. */
import type { Static } from 'typebox';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import { type FieldIssue, ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { eventOf } from '../../../gateway/api/event.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { Change, Put, RecordType, Versioned } from '../../store/contract.ts';
import {
  catalogLimits,
  catalogOf,
  catalogPut,
  datesOf,
  type PolicyEntry,
  versionKey,
  withEntry,
} from '../rules/catalog.ts';
import { ruleLimits } from '../rules/cel.ts';
import { needRoomForVersion, replaced } from '../rules/retained-versions.ts';
import { compileRule } from '../rules/rule.ts';
import { approvalTimeoutDefaultS } from './default-policy.ts';
import { policyEntries, policyVersion } from './load.ts';
import { type PolicyRule, type PolicyVersionRecord, policyVersionType } from './record.ts';
import type { PolicyBody } from './schemas.ts';
import { type PolicyView, policyView } from './view.ts';
import { type CompiledRule, warningsOf } from './warnings.ts';

type Body = Static<typeof PolicyBody>;

export async function nextPolicyVersion(
  context: RequestContext,
  body: Body,
): Promise<{ readonly view: PolicyView; readonly change: Change }> {
  const rules = compileRules(body.rules);
  const catalog = await catalogOf(context);
  const before = policyEntries(context, catalog).find(({ name }) => name === body.name);
  if (before !== undefined) await needRoomForVersion(context, before.id);
  const { nowMs } = context;
  const version = (before?.version ?? 0) + 1;
  const mode = body.mode ?? 'enforce';
  const entry: PolicyEntry = {
    id: before?.id ?? context.newId('pol'),
    name: body.name,
    version,
    enforcedVersion: mode === 'enforce' ? version : (before?.enforcedVersion ?? null),
    createdAtMs: before?.createdAtMs ?? nowMs,
    updatedAtMs: nowMs,
  };
  const record: PolicyVersionRecord = {
    id: versionKey(entry.id, version),
    version: 1,
    policyId: entry.id,
    policyVersion: version,
    name: entry.name,
    mode,
    rules: rules.map(({ rule }) => rule),
    warnings: warningsOf(rules),
    createdAtMs: nowMs,
  };
  const view = policyView(entry, record, await datesOf(context));
  const event = eventOf(context, {
    type: version === 1 ? 'policy.created' : 'policy.updated',
    resource: 'policy',
    record: entry,
    object: view,
  });
  const change: Change = {
    puts: [
      catalogPut(catalog, { policies: withEntry(catalog.policies, entry, catalogLimits.policies) }),
      { type: policyVersionType as unknown as RecordType<Versioned>, before: undefined, after: record },
      ...(before === undefined ? [] : await replacedBy(context, before, entry)),
    ],
    events: [event],
  };
  return { view, change };
}

/** Versions that neither are the newest nor hold while the newest is a dry run. */
async function replacedBy(context: RequestContext, before: PolicyEntry, after: PolicyEntry): Promise<readonly Put[]> {
  const held = new Set([before.version, before.enforcedVersion ?? before.version]);
  held.delete(after.enforcedVersion ?? 0);
  const records = await Promise.all([...held].map((version) => policyVersion(context, before.id, version)));
  return records.flatMap((record) =>
    // The initial policy of a tenant is not stored.
    record === undefined || record.createdAtMs === 0 ? [] : replaced(policyVersionType, record, context.nowMs),
  );
}

/** Mistakes that one answer names, at most. */
const issuesMax = 10;

/** The mistakes of all rules in one answer. Throws ServiceError 400. */
function compileRules(rules: Body['rules']): readonly CompiledRule[] {
  const issues: FieldIssue[] = [];
  const chars = rules.reduce((total, { when }) => total + when.length, 0);
  if (chars > ruleLimits.policyCharsMax) {
    const message = `at most ${ruleLimits.policyCharsMax} characters of conditions in all`;
    throw invalidFields([{ field: 'rules', issue: 'too_large', message }], 'the policy');
  }
  const seen = new Set<string>();
  const compiled = rules.flatMap((given, index): CompiledRule[] => {
    // Finding and explaining each mistake costs time, so the check stops at the limit of one answer.
    if (issues.length >= issuesMax) return [];
    const field = `rules[${index}]`;
    if (seen.has(given.id))
      issues.push({ field: `${field}.id`, issue: 'duplicate', message: 'ids differ in a policy' });
    seen.add(given.id);
    issues.push(...approvalIssues(given, field));
    try {
      const condition = compileRule(given.when, 'policy', `${field}.when`);
      return [{ rule: ruleOf(given), condition }];
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      issues.push(...(error.details ?? []));
      return [];
    }
  });
  const cost = compiled.reduce((total, { condition }) => total + condition.cost, 0);
  if (cost > ruleLimits.policyCostMax) {
    issues.push({ field: 'rules', issue: 'too_large', message: 'the rules together are too expensive to evaluate' });
  }
  if (issues.length > 0) {
    throw invalidFields(issues.slice(0, issuesMax), 'the policy');
  }
  return compiled;
}

function approvalIssues({ effect, approvals }: Body['rules'][number], field: string): readonly FieldIssue[] {
  if (effect !== 'require_approval') {
    if (approvals === undefined) return [];
    return [{ field: `${field}.approvals`, issue: 'not_applicable', message: 'is for require_approval' }];
  }
  if (approvals === undefined) return [{ field: `${field}.approvals`, issue: 'missing_required' }];
  const approvers = new Set(approvals.approvers);
  if (approvers.size === 0 || approvers.size >= approvals.quorum) return [];
  const message = `takes at most ${approvers.size}, the number of approvers`;
  return [{ field: `${field}.approvals.quorum`, issue: 'too_large', message }];
}

function ruleOf({ id, effect, when, approvals }: Body['rules'][number]): PolicyRule {
  if (effect !== 'require_approval' || approvals === undefined) return { id, effect, when, approvals: null };
  const { quorum, approvers = [], timeout_s: timeoutS = approvalTimeoutDefaultS } = approvals;
  return { id, effect, when, approvals: { quorum, approvers: [...new Set(approvers)], timeoutS } };
}

/** The policy routes. An evaluation is recorded, so it asks for `policies:write`. */

import Type from 'typebox';
import { exampleIds, exampleTransfer } from '../../../gateway/api/examples.ts';
import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, ListOf, PathId, pageQuery, WholeNumberText } from '../../../gateway/api/schema-kit.ts';
import { noSuch } from '../../../gateway/api/visibility.ts';
import { screenTransaction } from '../compliance/public.ts';
import { type ReceiptSigner, receiptClaims } from '../receipts/public.ts';
import { assessTransaction, factsOfRequest } from '../risk/public.ts';
import { catalogOf, datesOf, newestFirst, type PolicyEntry, pageOfEntries } from '../rules/catalog.ts';
import { decisionsIndex, evaluationOf, evaluationPut, evaluationType, maySee } from '../rules/evaluation-record.ts';
import { needWholeTenant } from '../rules/tenant-wide.ts';
import { decisionOf } from './decide.ts';
import { findPolicy, loadPolicy, policyEntries, policyVersion } from './load.ts';
import { Decision, EvaluateBody, Evaluation, Policy, PolicyBody } from './schemas.ts';
import { decisionView, isDecided, policyView } from './view.ts';
import { nextPolicyVersion } from './write-policy.ts';

const shared = { tag: 'Policy' } as const;
const params = Closed({ id: PathId('id of the policy') });

export function policyRoutes(signer: ReceiptSigner): readonly Route[] {
  return [createPolicy, listPolicies, getPolicy, evaluateRoute(signer), listDecisions];
}

const createPolicy = route({
  ...shared,
  method: 'POST',
  path: '/v1/policies',
  operationId: 'putPolicy',
  clientName: 'policies.put',
  example: {
    name: 'large-transfers',
    rules: [
      { id: 'large', effect: 'require_approval', when: 'tx.amount > units("10")', approvals: { quorum: 1 } },
      { id: 'rest', effect: 'allow', when: 'true' },
    ],
  },
  summary: 'Make a policy, or the next version of one',
  description:
    'A new name is version 1; the same name makes the next version, and versions never change. Rules have no order: `deny` beats `require_approval` beats `allow`, and without a matching rule the transaction is denied. A version in mode `dry_run` is evaluated and shown beside each decision, but has no effect: the newest version in mode `enforce` does, or else the policy `default`.',
  scope: 'policies:write',
  body: PolicyBody,
  responses: { 201: { schema: Policy, description: 'the new version, with warnings about rules without effect' } },
  errors: [409],
  controlled: (context, { body }) => newestPolicy(context, body.name),
  handle: async (context, { body }) => {
    needWholeTenant(context.principal);
    const { view, change } = await nextPolicyVersion(context, body);
    return { status: 201, body: view, change };
  },
});

const listPolicies = route({
  ...shared,
  method: 'GET',
  path: '/v1/policies',
  operationId: 'listPolicies',
  clientName: 'policies.list',
  summary: 'List the policies in their newest versions',
  description: 'Every tenant starts with the policy `default`.',
  scope: 'policies:read',
  query: Closed(pageQuery),
  responses: { 200: { schema: ListOf('policies', Policy), description: 'newest first' } },
  handle: async (context, { query }) => {
    const request = readPage(context, 'policies', query);
    const page = pageOfEntries(newestFirst(policyEntries(context, await catalogOf(context))), request.query);
    const dateOf = await datesOf(context);
    const items = await Promise.all(
      page.items.map(async (entry) => {
        const { record } = await loadPolicy(context, entry.id, entry.version);
        return policyView(entry, record, dateOf);
      }),
    );
    return {
      status: 200,
      body: listBody('policies', { ...page, items, balances: new Map() }, (view) => view, request),
    };
  },
});

const getPolicy = route({
  ...shared,
  method: 'GET',
  path: '/v1/policies/:id',
  operationId: 'getPolicy',
  clientName: 'policies.get',
  summary: 'Read a version of a policy',
  scope: 'policies:read',
  params,
  query: Closed({
    version: Type.Optional(WholeNumberText('^[1-9][0-9]{0,8}$', 1, 999_999_999, 'the newest by default')),
  }),
  responses: { 200: { schema: Policy, description: 'the version' } },
  errors: [404],
  handle: async (context, { params: { id }, query }) => {
    const entry = await policyOf(context, id);
    const version = query.version === undefined ? entry.version : Number(query.version);
    const record = version > entry.version ? undefined : await policyVersion(context, entry.id, version);
    if (record === undefined) throw noSuch('policy version');
    return { status: 200, body: policyView(entry, record, await datesOf(context)) };
  },
});

function evaluateRoute(signer: ReceiptSigner): Route {
  return route({
    ...shared,
    method: 'POST',
    path: '/v1/policies/:id/evaluate',
    operationId: 'evaluatePolicy',
    clientName: 'policies.evaluate',
    example: { transaction: { wallet_id: exampleIds.wallet, ...exampleTransfer } },
    summary: 'Evaluate a policy without effect',
    description:
      'Evaluates the newest version, also in mode `dry_run`, for a transaction given by its intent or in full. The decision is recorded; no intent changes.',
    scope: 'policies:write',
    params,
    body: EvaluateBody,
    responses: { 200: { schema: Evaluation, description: 'the decision, its reason, and its receipt' } },
    errors: [404],
    handle: async (context, { params: { id: policyId }, body }) => {
      const entry = await policyOf(context, policyId);
      const id = context.newId('dec');
      const facts = await factsOfRequest(context, body, id);
      const { result: screening } = await screenTransaction(context, { ...facts, id });
      const { result: risk } = await assessTransaction(context, facts, screening);
      const policy = await loadPolicy(context, entry.id, entry.version);
      const decision = decisionOf(id, policy, facts, screening, risk);
      const record = evaluationOf(context, id, facts, screening, risk, decision);
      const receipt = signer.sign(receiptClaims(context.tenant, 'evaluation', facts, decision, risk));
      if (!isDecided(record)) throw new Error('a decision was recorded without itself');
      return {
        status: 200,
        body: { ...decisionView(record), policy_receipt: receipt },
        change: { puts: [evaluationPut(record)] },
      };
    },
  });
}

const listDecisions = route({
  ...shared,
  method: 'GET',
  path: '/v1/policies/:id/decisions',
  operationId: 'listPolicyDecisions',
  clientName: 'policies.decisions',
  summary: 'List the decisions of a policy',
  description:
    'Decisions about intents and evaluations by all versions of the policy, for 30 days, including dry runs.',
  scope: 'policies:read',
  params,
  query: Closed(pageQuery),
  responses: { 200: { schema: ListOf('decisions', Decision), description: 'newest first' } },
  errors: [404],
  handle: async (context, { params: { id }, query }) => {
    const { store, tenant, principal } = context;
    const entry = await policyOf(context, id);
    const request = readPage(context, `policies/${entry.id}/decisions`, query);
    const page = await store.list(tenant, evaluationType, {
      indices: [decisionsIndex(entry.id)],
      order: 'newest',
      ...request.query,
    });
    // A page may be shorter than its limit: decisions outside of the token's connections do not exist for it.
    const items = page.items.filter((record) => maySee(principal, record)).filter(isDecided);
    return { status: 200, body: listBody('decisions', { ...page, items }, decisionView, request) };
  },
});

async function newestPolicy(context: RequestContext, name: string): Promise<object | undefined> {
  const entry = await findPolicy(context, name);
  if (entry === undefined) return undefined;
  const { record } = await loadPolicy(context, entry.id, entry.version);
  return policyView(entry, record, await datesOf(context));
}

/** Throws ServiceError 404. */
async function policyOf(context: RequestContext, policyId: string): Promise<PolicyEntry> {
  const entry = policyEntries(context, await catalogOf(context)).find(({ id }) => id === policyId);
  if (entry === undefined) throw noSuch('policy');
  return entry;
}

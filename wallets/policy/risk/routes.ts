/** The risk routes. An evaluation is recorded, so it asks for `risk:write`. */

import { exampleIds, exampleTransfer } from '../../../gateway/api/examples.ts';
import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, ListOf, PathId, pageQuery } from '../../../gateway/api/schema-kit.ts';
import { noSuch } from '../../../gateway/api/visibility.ts';
import type { RiskResult } from '../../custody/intents/public.ts';
import { screenTransaction } from '../compliance/public.ts';
import { catalogOf, newestFirst, pageOfEntries } from '../rules/catalog.ts';
import {
  type EvaluationRecord,
  evaluationOf,
  evaluationPut,
  evaluationType,
  maySee,
  scoresIndex,
  sibling,
} from '../rules/evaluation-record.ts';
import { needWholeTenant } from '../rules/tenant-wide.ts';
import { assessTransaction } from './assess.ts';
import { riskRulesOf } from './load.ts';
import { EvaluateBody, RiskRule, RiskRuleBody, RiskRulePatch, RiskScore } from './schemas.ts';
import { factsOfRequest } from './transaction.ts';
import { riskRuleView, riskView } from './view.ts';
import { patchRule, removeRule, writeRule } from './write-rule.ts';

const shared = { tag: 'Risk' } as const;

export function riskRoutes(): readonly Route[] {
  return [evaluate, getScore, createRule, listRules, changeRule, deleteRule];
}

const evaluate = route({
  ...shared,
  method: 'POST',
  path: '/v1/risk/evaluate',
  operationId: 'evaluateRisk',
  clientName: 'risk.evaluate',
  example: { transaction: { wallet_id: exampleIds.wallet, ...exampleTransfer } },
  summary: 'Score a transaction',
  description:
    'Scores a transaction given by its intent or in full. It screens the transaction first, since the screening affects the score. No policy decides and no intent changes; the score is stored for 30 days.',
  scope: 'risk:write',
  body: EvaluateBody,
  responses: { 200: { schema: RiskScore, description: 'the score and its factors' } },
  errors: [404],
  handle: async (context, { body }) => {
    const id = context.newId('rsk');
    const facts = await factsOfRequest(context, body, id);
    // The screening is this evaluation's own: the intent's report stays what it was.
    const { result: screening } = await screenTransaction(context, { ...facts, id });
    const { result: risk } = await assessTransaction(context, facts, screening);
    const record = evaluationOf(context, id, facts, screening, risk, null);
    return { status: 200, body: riskView(risk, facts.nowMs), change: { puts: [evaluationPut(record)] } };
  },
});

const getScore = route({
  ...shared,
  method: 'GET',
  path: '/v1/risk/scores/:txId',
  operationId: 'getRiskScore',
  clientName: 'risk.score',
  summary: 'Read the newest score of a transaction',
  scope: 'risk:read',
  params: Closed({ txId: PathId('id of the intent, or `tx_id` of an evaluation') }),
  responses: { 200: { schema: RiskScore, description: 'the score' } },
  errors: [404],
  handle: async (context, { params: { txId } }) => {
    const record = await newestScore(context, txId);
    if (record === undefined) throw noSuch('risk score');
    return { status: 200, body: riskView(record.risk, record.createdAtMs) };
  },
});

type ScoredRecord = EvaluationRecord & { readonly risk: RiskResult };

/** An intent is scored when it is made, and again at each request. */
async function newestScore(context: RequestContext, txId: string): Promise<ScoredRecord | undefined> {
  const { store, tenant, principal } = context;
  const isIntent = txId.startsWith('txi_');
  if (!isIntent && !txId.startsWith('rsk_')) return undefined;
  const [own, later] = await Promise.all([
    store.read(tenant, evaluationType, isIntent ? sibling(txId, 'dec') : txId),
    isIntent
      ? store.list(tenant, evaluationType, { indices: [scoresIndex(txId)], order: 'newest', limit: 1 })
      : undefined,
  ]);
  return [later?.items[0], own].find(
    (record): record is ScoredRecord =>
      record !== undefined && record.risk !== null && record.txId === txId && maySee(principal, record),
  );
}

const createRule = route({
  ...shared,
  method: 'POST',
  path: '/v1/risk/rules',
  operationId: 'putRiskRule',
  clientName: 'risk.putRule',
  example: { name: 'large-transfer', when: 'tx.asset == "ETH" && tx.amount > units("10")', points: 25 },
  summary: 'Make a risk rule, or the next version of one',
  description:
    'A new name is version 1; the same name makes the next version. A rule in mode `shadow` appears in the factors with the points that it would add, but changes neither score nor decision. In mode `enforce` the strictest action of all matching rules decides beside the policies. A rule that cannot be evaluated adds points but takes none, and its action counts.',
  scope: 'risk:write',
  body: RiskRuleBody,
  responses: { 201: { schema: RiskRule, description: 'the rule, with warnings if it can make no difference' } },
  errors: [409],
  controlled: async (context, { body }) => {
    const { riskRules } = await catalogOf(context);
    const entries = riskRules.filter(({ name }) => name === body.name);
    return (await riskRulesOf(context, entries)).map(riskRuleView)[0];
  },
  handle: async (context, { body }) => {
    needWholeTenant(context.principal);
    const { rule, change } = await writeRule(context, body);
    return { status: 201, body: riskRuleView(rule), change };
  },
});

const listRules = route({
  ...shared,
  method: 'GET',
  path: '/v1/risk/rules',
  operationId: 'listRiskRules',
  clientName: 'risk.rules',
  summary: 'List the risk rules of the tenant',
  description: 'Beside the built-in factors.',
  scope: 'risk:read',
  query: Closed(pageQuery),
  responses: { 200: { schema: ListOf('rules', RiskRule), description: 'newest first' } },
  handle: async (context, { query }) => {
    const request = readPage(context, 'risk/rules', query);
    const page = pageOfEntries(newestFirst((await catalogOf(context)).riskRules), request.query);
    const items = (await riskRulesOf(context, page.items)).map(riskRuleView);
    return { status: 200, body: listBody('rules', { ...page, items, balances: new Map() }, (view) => view, request) };
  },
});

const ruleParams = Closed({ id: PathId('id of the rule') });

/** Throws ServiceError 404. */
async function ruleOf(context: RequestContext, ruleId: string) {
  const catalog = await catalogOf(context);
  const entry = catalog.riskRules.find(({ id }) => id === ruleId);
  const [rule] = entry === undefined ? [] : await riskRulesOf(context, [entry]);
  if (entry === undefined || rule === undefined) throw noSuch('risk rule');
  return { catalog, entry, rule };
}

const changeRule = route({
  ...shared,
  method: 'PATCH',
  path: '/v1/risk/rules/:id',
  operationId: 'changeRiskRule',
  clientName: 'risk.changeRule',
  example: { mode: 'shadow' },
  summary: 'Change mode, points or priority of a risk rule',
  description: 'Mode `disabled` takes a rule out without removing it. The change is the rule’s next version.',
  scope: 'risk:write',
  params: ruleParams,
  body: RiskRulePatch,
  responses: { 200: { schema: RiskRule, description: 'the new version' } },
  errors: [404, 409],
  controlled: async (context, { params }) => riskRuleView((await ruleOf(context, params.id)).rule),
  handle: async (context, { params, body }) => {
    needWholeTenant(context.principal);
    const { catalog, entry, rule: before } = await ruleOf(context, params.id);
    const { rule, change } = patchRule(context, catalog, entry, before, body);
    return { status: 200, body: riskRuleView(rule), change };
  },
});

const deleteRule = route({
  ...shared,
  method: 'DELETE',
  path: '/v1/risk/rules/:id',
  operationId: 'deleteRiskRule',
  clientName: 'risk.deleteRule',
  summary: 'Remove a risk rule',
  scope: 'risk:write',
  params: ruleParams,
  responses: { 204: { description: 'the rule is removed; earlier scores do not change' } },
  errors: [404, 409],
  controlled: async (context, { params }) => riskRuleView((await ruleOf(context, params.id)).rule),
  handle: async (context, { params }) => {
    needWholeTenant(context.principal);
    const { catalog, entry, rule } = await ruleOf(context, params.id);
    return { status: 204, change: removeRule(context, catalog, entry, rule) };
  },
});

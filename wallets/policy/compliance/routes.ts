/** The compliance routes. Screening makes a report, so it asks for `compliance:write`. */

import Type, { type Static } from 'typebox';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import { exampleNetwork, exampleReceiver } from '../../../gateway/api/examples.ts';
import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { actorOf } from '../../../gateway/api/principal.ts';
import { type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, ListOf, PathId, pageQuery } from '../../../gateway/api/schema-kit.ts';
import { mayUseConnection, noSuch } from '../../../gateway/api/visibility.ts';
import { findAsset } from '../../custody/assets/token-assets.ts';
import { intentType, type ScreeningResult } from '../../custody/intents/public.ts';
import { amountTakes, parseAmount } from '../../networks/amounts.ts';
import { catalogOf, datesOf, type ListEntry, newestFirst, pageOfEntries } from '../rules/catalog.ts';
import { type EvaluationRecord, evaluationPut, evaluationType, maySee, sibling } from '../rules/evaluation-record.ts';
import { needWholeTenant } from '../rules/tenant-wide.ts';
import { listedAddressProblem } from './listed-address.ts';
import { currentLists, listEntries, listVersion } from './load.ts';
import { screenSubject } from './match.ts';
import { nameKey } from './name-key.ts';
import {
  ComplianceList,
  ComplianceListVersion,
  ListBody,
  Report,
  ScreenBody,
  Screening,
  VersionText,
} from './schemas.ts';
import { screeningEvent } from './screening.ts';
import { listVersionView, listView, reportView, screeningView } from './view.ts';
import { nextListVersion } from './write-list.ts';

const shared = { tag: 'Compliance' } as const;

export function complianceRoutes(): readonly Route[] {
  return [screen, getReport, listLists, createList, getList];
}

const screen = route({
  ...shared,
  method: 'POST',
  path: '/v1/compliance/screen',
  operationId: 'screenSubject',
  clientName: 'compliance.screen',
  example: { subject: { type: 'address', address: exampleReceiver, network: exampleNetwork } },
  summary: 'Screen an address or a name',
  description:
    'Screens against all lists of the tenant, in their newest versions. A match on a `sanctions` or `deny` list is `blocked`, also if an `allow` list has it; a match on a `watch` list is `review`, unless an `allow` list has the subject too; anything else is `clear`.',
  scope: 'compliance:write',
  body: ScreenBody,
  responses: { 200: { schema: Screening, description: 'the decision; its report is kept for 30 days' } },
  errors: [404],
  handle: async (context, { body }) => {
    await checkScreening(context, body);
    const connectionId = await connectionOf(context, body.intent_id);
    const { subject, asset = null, amount = null, direction = null, intent_id: intentId = null } = body;
    const { address = null, network = null, name = null } = subject;
    const outcome = screenSubject({ address, network, name }, await currentLists(context));
    const id = context.newId('scr');
    const screening: ScreeningResult = { id, reportId: sibling(id, 'rep'), ...outcome };
    const record: EvaluationRecord = {
      id,
      version: 1,
      txId: id,
      connectionId,
      by: actorOf(context.principal),
      subject: { type: subject.type, address, network, name },
      details: { asset, amount, direction, intentId },
      transaction: null,
      screening,
      risk: null,
      decision: null,
      createdAtMs: context.nowMs,
    };
    const events = [screeningEvent(context, record, undefined)];
    return { status: 200, body: screeningView(record), change: { puts: [evaluationPut(record)], events } };
  },
});

/** What the schema cannot say. Throws ServiceError 400. */
async function checkScreening(
  context: RequestContext,
  { subject, asset, amount }: Static<typeof ScreenBody>,
): Promise<void> {
  const refuse = (field: string, issue: string, message?: string): never => {
    throw invalidFields([{ field, issue, ...(message === undefined ? {} : { message }) }]);
  };
  if (subject.address === undefined && subject.name === undefined) {
    refuse(subject.type === 'address' ? 'subject.address' : 'subject.name', 'missing_required');
  }
  if (subject.address !== undefined) {
    const problem = listedAddressProblem(subject.network ?? null, subject.address);
    if (problem !== undefined) refuse('subject.address', problem);
  }
  if (subject.name !== undefined && nameKey(subject.name) === '') {
    refuse('subject.name', 'invalid_value', 'a name has letters');
  }
  const known = asset === undefined ? undefined : await findAsset(context, asset);
  if (asset !== undefined && known === undefined) refuse('asset', 'unknown_asset');
  if (amount === undefined) return;
  const units = parseAmount(amount, known?.decimals ?? 18);
  if (typeof units !== 'bigint') refuse('amount', units, amountTakes(units, known?.decimals));
}

/** The connection of the intent that a screening is about. Throws ServiceError 404 when the token sees no such intent. */
async function connectionOf(context: RequestContext, intentId: string | undefined): Promise<string | null> {
  if (intentId === undefined) return null;
  const intent = await context.store.read(context.tenant, intentType, intentId);
  if (intent === undefined || !mayUseConnection(context.principal, intent.connectionId)) {
    throw noSuch('transaction intent');
  }
  return intent.connectionId;
}

const getReport = route({
  ...shared,
  method: 'GET',
  path: '/v1/compliance/reports/:id',
  operationId: 'getComplianceReport',
  clientName: 'compliance.report',
  summary: 'Read a screening report',
  description: 'The report of a screening, or of an intent’s screening. Reports never change.',
  scope: 'compliance:read',
  params: Closed({ id: PathId('id of the report') }),
  responses: { 200: { schema: Report, description: 'the report' } },
  errors: [404],
  handle: async ({ tenant, store, principal }, { params: { id } }) => {
    if (!id.startsWith('rep_')) throw noSuch('report');
    const ids = [sibling(id, 'dec'), sibling(id, 'scr'), sibling(id, 'rsk')];
    const found = await store.readMany(tenant, evaluationType, ids);
    const record = found.find((candidate) => candidate?.screening.reportId === id);
    if (record === undefined || !maySee(principal, record)) throw noSuch('report');
    return { status: 200, body: reportView(record) };
  },
});

const listLists = route({
  ...shared,
  method: 'GET',
  path: '/v1/compliance/lists',
  operationId: 'listComplianceLists',
  clientName: 'compliance.lists',
  summary: 'List the compliance lists in their newest versions',
  scope: 'compliance:read',
  query: Closed(pageQuery),
  responses: { 200: { schema: ListOf('lists', ComplianceList), description: 'newest first, without their entries' } },
  handle: async (context, { query }) => {
    const request = readPage(context, 'compliance/lists', query);
    const entries = newestFirst(listEntries(context, await catalogOf(context)));
    const page = pageOfEntries(entries, request.query);
    const dateOf = await datesOf(context);
    const view = (entry: ListEntry) => listView(entry, dateOf);
    return { status: 200, body: listBody('lists', { ...page, balances: new Map() }, view, request) };
  },
});

const createList = route({
  ...shared,
  method: 'POST',
  path: '/v1/compliance/lists',
  operationId: 'putComplianceList',
  clientName: 'compliance.putList',
  example: { name: 'known-bad', kind: 'deny', entries: [{ name: 'Mallory Malone', note: 'an example' }] },
  summary: 'Make a list, or the next version of one',
  description:
    'A new name is version 1; the same name makes the next version, which applies to every later screening. A replaced version stays readable for 30 days; a list has at most 100 versions at a time. `append` adds to the entries of the previous version.',
  scope: 'compliance:write',
  body: ListBody,
  responses: { 201: { schema: ComplianceList, description: 'the new version' } },
  errors: [409],
  controlled: async (context, { body }) => {
    const entry = listEntries(context, await catalogOf(context)).find(({ name }) => name === body.name);
    return entry && listView(entry, await datesOf(context));
  },
  handle: async (context, { body }) => {
    needWholeTenant(context.principal);
    const { view, change } = await nextListVersion(context, body);
    return { status: 201, body: view, change };
  },
});

const getList = route({
  ...shared,
  method: 'GET',
  path: '/v1/compliance/lists/:id',
  operationId: 'getComplianceList',
  clientName: 'compliance.getList',
  summary: 'Read a version of a list with its entries',
  scope: 'compliance:read',
  params: Closed({ id: PathId('id of the list') }),
  query: Closed({ version: Type.Optional(VersionText) }),
  responses: { 200: { schema: ComplianceListVersion, description: 'the version' } },
  errors: [404],
  handle: async (context, { params, query }) => {
    const entry = listEntries(context, await catalogOf(context)).find(({ id }) => id === params.id);
    const asked = query.version === undefined ? entry?.version : Number(query.version);
    const list =
      entry === undefined || asked === undefined || asked > entry.version
        ? undefined
        : await listVersion(context, entry.id, asked);
    if (list === undefined) throw noSuch('list');
    return { status: 200, body: listVersionView(list, await datesOf(context)) };
  },
});

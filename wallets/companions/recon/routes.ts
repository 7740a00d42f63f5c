/** The reconciliation routes: jobs and exceptions. */
import Type, { type Static } from 'typebox';
import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { type Answer, type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, Id, ListOf, OneOf, PathId, pageQuery } from '../../../gateway/api/schema-kit.ts';
import { visibleIndices } from '../../../gateway/api/visibility.ts';
import {
  exceptionResolving,
  exceptionsOfConnection,
  exceptionType,
  exceptionTypes,
  severities,
} from './exception-record.ts';
import { jobCancelling, jobKinds, jobStatuses, jobsOfConnection, jobType } from './job-record.ts';
import { cancelJob, createJob, findJob, type Wake } from './jobs.ts';
import { findException, resolveException } from './resolve.ts';
import { Exception, Job, JobBody, ResolveBody } from './schemas.ts';
import { exceptionView, jobView } from './view.ts';

const shared = { tag: 'Reconciliation' } as const;
const reading = { ...shared, method: 'GET', scope: 'recon:read' } as const;
const writing = { ...shared, method: 'POST', scope: 'recon:write' } as const;
const jobParams = Closed({ id: PathId('id of the job') });
const exceptionParams = Closed({ id: PathId('id of the exception') });
const oneJob = { 200: { schema: Job, description: 'the job' } } as const;
const oneException = { 200: { schema: Exception, description: 'the exception' } } as const;

const JobQuery = Closed({
  ...pageQuery,
  status: Type.Optional(OneOf(jobStatuses)),
  kind: Type.Optional(OneOf(jobKinds)),
  provider_connection_id: Type.Optional(Id('pcn')),
});

const ExceptionQuery = Closed({
  ...pageQuery,
  status: Type.Optional(OneOf(['open', 'resolved'])),
  type: Type.Optional(OneOf(exceptionTypes)),
  severity: Type.Optional(OneOf(severities)),
  wallet_id: Type.Optional(Id('wal')),
  provider_connection_id: Type.Optional(Id('pcn')),
  job_id: Type.Optional(Id('rcj')),
});

export function reconRoutes({ wake }: { readonly wake: Wake }): readonly Route[] {
  return [
    route({
      ...writing,
      path: '/v1/recon/jobs',
      operationId: 'createReconJob',
      clientName: 'recon.createJob',
      example: { kind: 'transactions', scope: { asset: 'ETH' }, tolerance: { absolute: '0', bps: 0 } },
      summary: 'Compare our ledger with the providers’ statements',
      description:
        'Covers all wallets, or those in `scope`. `transactions` compares the movements of a time window, by default the last 24 hours and at most the last 30 days; `balances` compares the present balances of wallets. A worker runs the job; two jobs of a tenant run at a time.',
      body: JobBody,
      responses: { 202: { schema: Job, description: 'the job waits; poll it, or follow `recon.job.*`' } },
      errors: [404, 409],
      handle: (context, { body }) => createJob(context, body, wake),
    }),
    route({
      ...reading,
      path: '/v1/recon/jobs',
      operationId: 'listReconJobs',
      clientName: 'recon.jobs',
      summary: 'List reconciliation jobs',
      description: 'Newest first. A job is kept for 30 days after its end.',
      query: JobQuery,
      responses: { 200: { schema: ListOf('jobs', Job), description: 'newest first' } },
      handle: (context, { query }) => listJobs(context, query),
    }),
    route({
      ...reading,
      path: '/v1/recon/jobs/:id',
      operationId: 'getReconJob',
      clientName: 'recon.job',
      summary: 'Read a reconciliation job and its progress',
      params: jobParams,
      responses: oneJob,
      errors: [404],
      handle: async (context, { params }) => ({ status: 200, body: jobView(await findJob(context, params.id)) }),
    }),
    route({
      ...writing,
      path: '/v1/recon/jobs/:id/cancel',
      operationId: 'cancelReconJob',
      clientName: 'recon.cancelJob',
      summary: 'Cancel a reconciliation job',
      description: 'Idempotent. Exceptions that it found remain. 409 when it has ended otherwise.',
      params: jobParams,
      responses: oneJob,
      errors: [404, 409],
      states: jobCancelling,
      handle: (context, { params }) => cancelJob(context, params.id),
    }),
    route({
      ...reading,
      path: '/v1/recon/exceptions',
      operationId: 'listReconExceptions',
      clientName: 'recon.exceptions',
      summary: 'List the exceptions that reconciliation found',
      description:
        'Newest first. A subject has at most one open exception. `job_id` lists the exceptions that a job found first or last.',
      query: ExceptionQuery,
      responses: { 200: { schema: ListOf('exceptions', Exception), description: 'newest first' } },
      handle: (context, { query }) => listExceptions(context, query),
    }),
    route({
      ...reading,
      path: '/v1/recon/exceptions/:id',
      operationId: 'getReconException',
      clientName: 'recon.exception',
      summary: 'Read an exception',
      params: exceptionParams,
      responses: oneException,
      errors: [404],
      handle: async (context, { params }) => ({
        status: 200,
        body: exceptionView(await findException(context, params.id)),
      }),
    }),
    route({
      ...writing,
      path: '/v1/recon/exceptions/:id/resolve',
      operationId: 'resolveReconException',
      clientName: 'recon.resolveException',
      example: { resolution: 'false_positive', note: 'the provider has answered by phone' },
      summary: 'Resolve an exception, once',
      description:
        '`adjusted` adds `corrections` to the wallet’s available balance, in the same step; the others change no balance. 409 when it is resolved already, when the transfer behind it is not over or has changed since, or when the balance does not cover the correction. A resolved exception is reopened only when the values of the two sides change.',
      params: exceptionParams,
      body: ResolveBody,
      responses: oneException,
      errors: [404, 409],
      states: exceptionResolving,
      handle: (context, { params, body }) => resolveException(context, params.id, body),
    }),
  ];
}

async function listJobs(context: RequestContext, query: Static<typeof JobQuery>): Promise<Answer> {
  const page = readPage(context, 'recon/jobs', query);
  const { status, kind, provider_connection_id: connection } = query;
  const found = await context.store.list(context.tenant, jobType, {
    indices: [
      status === undefined ? 'recon:jobs' : `recon:jobs:status:${status}`,
      ...(kind === undefined ? [] : [`recon:jobs:kind:${kind}`]),
      ...(connection === undefined ? [] : [jobsOfConnection(connection)]),
    ],
    ...visibleIndices(context.principal, jobsOfConnection),
    ...{ order: 'newest', ...page.query },
  });
  return { status: 200, body: listBody('jobs', found, jobView, page) };
}

async function listExceptions(context: RequestContext, query: Static<typeof ExceptionQuery>): Promise<Answer> {
  const page = readPage(context, 'recon/exceptions', query);
  const { status, type, severity, wallet_id: wallet, provider_connection_id: connection, job_id: job } = query;
  const index = (name: string, value: string | undefined) =>
    value === undefined ? [] : [`recon:exceptions:${name}:${value}`];
  const found = await context.store.list(context.tenant, exceptionType, {
    indices: [
      'recon:exceptions',
      ...index('status', status),
      ...index('type', type),
      ...index('severity', severity),
      ...index('wallet', wallet),
      ...index('connection', connection),
      ...index('job', job),
    ],
    ...visibleIndices(context.principal, exceptionsOfConnection),
    ...{ order: 'newest', ...page.query },
  });
  return { status: 200, body: listBody('exceptions', found, exceptionView, page) };
}

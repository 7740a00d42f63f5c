/** Validates a route's input strictly: it collects every fault of query and body before it refuses the request. */
import type { IncomingHttpHeaders } from 'node:http';
import type { TSchema } from 'typebox';
import { invalidFields } from './errors/invalid-fields.ts';
import { type FieldIssue, ServiceError } from './errors/service-error.ts';
import type { JsonBody } from './json-body.ts';
import type { Route, RouteInput } from './route.ts';
import { Closed, enumReader } from './schema-kit.ts';
import { joinField } from './schema-text.ts';
import { compileSchema, issuesMax, scanJson, type Validate } from './validate.ts';

export type RequestInput = Omit<RouteInput<TSchema, TSchema, TSchema>, 'idempotencyKey'>;

/** What came, undecided. */
export interface ReceivedInput {
  /** Of the path, decoded. */
  readonly params: object;
  readonly query: object;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonBody | undefined;
}

const nothing = Closed({});

/** Throws ServiceError. A malformed id in the path is a resource that does not exist. */
export function inputReader(route: Route): (received: ReceivedInput) => RequestInput {
  const checkParams = compileSchema(route.params ?? nothing);
  const checkQuery = compileSchema(route.query ?? nothing);
  const readQueryEnums = enumReader(route.query ?? nothing);
  const readHeaders = headerReader(route);
  const readBody = bodyReader(route);
  return (received) => {
    const params = { ...received.params };
    const query = { ...received.query };
    readQueryEnums(query);
    if (checkParams(params) !== undefined) throw new ServiceError('notFound', 'no such resource');
    const issues: FieldIssue[] = [...queryIssues(query, checkQuery)];
    const headers = readHeaders(received, issues);
    const body = readBody(received, issues);
    if (issues.length > 0) throw invalidFields(issues.slice(0, issuesMax));
    return { params, query, headers, body };
  };
}

function queryIssues(query: Record<string, unknown>, check: Validate): readonly FieldIssue[] {
  const twice = Object.keys(query).filter((name) => Array.isArray(query[name]));
  if (twice.length === 0) return check(query) ?? [];
  const once = Object.fromEntries(Object.entries(query).filter(([name]) => !twice.includes(name)));
  const given = (field: string): boolean => twice.some((name) => joinField('', name) === field);
  return [
    ...twice.map((name) => ({ field: joinField('', name), issue: 'duplicate_field', message: 'is given once' })),
    ...(check(once) ?? []).filter(({ issue, field }) => issue !== 'missing_required' || !given(field)),
  ];
}

type HeaderReader = (received: ReceivedInput, issues: FieldIssue[]) => RequestInput['headers'];

function headerReader({ headers: schema }: Route): HeaderReader {
  if (schema === undefined) return () => ({});
  const names = Object.keys(schema.properties);
  const check = compileSchema(schema);
  return ({ headers }, issues) => {
    const given = Object.fromEntries(
      names.flatMap((name) => (headers[name] === undefined || headers[name] === '' ? [] : [[name, headers[name]]])),
    ) as RequestInput['headers'];
    issues.push(...(check(given) ?? []));
    return given;
  };
}

type BodyReader = (received: ReceivedInput, issues: FieldIssue[]) => unknown;

function bodyReader(route: Route): BodyReader {
  const { method, body: schema = nothing } = route;
  if (method === 'GET') {
    return ({ headers }) => {
      const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers;
      if (length === '0' && encoding === undefined) return undefined;
      throw new ServiceError('invalidRequest', 'this call takes no body');
    };
  }
  const check = compileSchema(schema);
  const readEnums = enumReader(schema);
  const mayBeAbsent = route.body === undefined || route.bodyOptional === true;
  return ({ body }, issues) => {
    if (body === undefined && mayBeAbsent) return {};
    if (body === undefined) throw absent(check);
    if (isPlain(body.value)) readEnums(body.value);
    const faults = [...scanJson(body.value, body.hasSurrogateEscapes), ...(check(body.value) ?? [])];
    for (const fault of faults) {
      if (!issues.some(({ field, issue }) => field === fault.field && issue === fault.issue)) issues.push(fault);
    }
    return body.value;
  };
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function absent(check: Validate): ServiceError {
  const details = check({});
  return new ServiceError('invalidRequest', 'the body is empty: a JSON object is needed', {
    ...(details === undefined ? {} : { details }),
  });
}

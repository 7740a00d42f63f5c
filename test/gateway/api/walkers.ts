/**
 * Walks over every operation of an OpenAPI document: with dozens of good and bad requests each (`fuzzOperation`), and
 * with a second tenant that must find nothing of the first one's (`walkTenants`).
 */
import fc from 'fast-check';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { Compile } from 'typebox/compile';
import { errorKinds } from '../../../gateway/api/errors/kinds.ts';
import { ErrorBody } from '../../../gateway/api/schema-kit.ts';
import { type Hints, hostile, nastyTexts, spoiled, valid } from './support/arbitraries.ts';
import { type Document, type Operation, operationsOf, type Parameter } from './support/document.ts';

export { type Document, type Operation, operationsOf };

export interface FuzzOptions {
  /** Without rate limits. */
  readonly app: FastifyInstance;
  /** A token with every scope. */
  readonly headers: Readonly<Record<string, string>>;
  readonly runs?: number;
  readonly seed?: number;
  /** Ids that exist, for a parameter of a path: then more than 404s are reached. */
  readonly idsOf?: (operation: Operation, parameter: string) => readonly string[];
  /** Values that mean something, by the name of the field of body or query: then more is reached than 400s. */
  readonly hints?: Hints;
}

/** How often each status was answered. Rejects with the smallest request that it found a fault with. */
export async function fuzzOperation(operation: Operation, options: FuzzOptions): Promise<ReadonlyMap<number, number>> {
  const statuses = new Map<number, number>();
  const { app, runs = 200, seed } = options;
  await fc.assert(
    fc.asyncProperty(requestOf(operation, options), async (request) => {
      const answer = await (operation.streams ? firstOf(app, request) : app.inject(request));
      statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
      const faults = faultsOf(operation, answer);
      if (faults.length > 0)
        throw new Error(`${operation.operationId}: ${faults.join('; ')}\n${answer.body.slice(0, 500)}`);
    }),
    { numRuns: runs, includeErrorInReport: true, ...(seed === undefined ? {} : { seed }) },
  );
  return statuses;
}

/** What a stream answers at first; it is left when it has begun. */
async function firstOf(app: FastifyInstance, request: InjectOptions): Promise<LightMyRequestResponse> {
  const answer = await app.inject({ ...request, payloadAsStream: true });
  const stream = answer.stream();
  let body = '';
  if (answer.statusCode === 200) stream.destroy();
  else for await (const chunk of stream) body += String(chunk);
  return { ...answer, statusCode: answer.statusCode, headers: answer.headers, body } as LightMyRequestResponse;
}

const isErrorBody = Compile(ErrorBody);
const codes = new Set<string>(Object.values(errorKinds).map(({ http, code }) => `${http} ${code}`));

/** The fault of an answer, whatever was asked. */
export function faultsOf(operation: Operation, answer: LightMyRequestResponse): string[] {
  const { statusCode: status, headers } = answer;
  const faults: string[] = [];
  const need = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(`${status}: ${fault}`);
  };
  need(/^[A-Za-z0-9_-]{8,128}$/.test(String(headers['x-request-id'])), 'X-Request-Id is missing');
  need(operation.responses.has(status), 'the status is not in the document');
  const judge = operation.responses.get(status);
  if (judge === undefined) {
    need(answer.body === '', 'a body where none is declared');
    return faults;
  }
  need(String(headers['content-type']).startsWith('application/json'), 'the content type is not JSON');
  let body: unknown;
  try {
    body = JSON.parse(answer.body);
  } catch {
    return [...faults, `${status}: the body is not JSON`];
  }
  if (!judge.Check(body)) {
    const texts = judge.Errors(body).slice(0, 5);
    faults.push(
      `${status}: body: ${texts.map(({ instancePath, message }) => `${instancePath} ${message}`).join(', ')}`,
    );
  }
  if (status < 400 || !isErrorBody.Check(body)) return faults;
  const { error } = body as { error: { code: string; request_id: string; details?: unknown[] } };
  need(error.request_id === headers['x-request-id'], 'request_id is not X-Request-Id');
  need(codes.has(`${status} ${error.code}`), `the code ${error.code} belongs to another status`);
  need(status < 500 || (status === 503 && error.code === 'provider_unavailable'), 'a fault of ours');
  need((error.details?.length ?? 0) <= 20, 'too many details');
  need(status !== 503 || headers['retry-after'] !== undefined, 'Retry-After is missing');
  return faults;
}

function requestOf(operation: Operation, options: FuzzOptions): fc.Arbitrary<InjectOptions> {
  const of = (place: Parameter['in']): Parameter[] =>
    operation.parameters.filter((parameter) => parameter.in === place);
  const path = fc.tuple(
    ...of('path').map(({ name, schema }) => {
      const ids = options.idsOf?.(operation, name) ?? [];
      const strange = fc.oneof(valid(schema, name).map(String), fc.constantFrom(...nastyTexts));
      const known = fc.constantFrom(...(ids.length === 0 ? ['wal_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e'] : ids));
      return fc
        .oneof({ arbitrary: known, weight: 4 }, { arbitrary: strange, weight: 1 })
        .map((id) => [name, id] as const);
    }),
  );
  return fc
    .tuple(
      path,
      queryOf(operation, of('query'), options.hints),
      payloadOf(operation, options.hints),
      headersOf(operation),
    )
    .map(([ids, query, payload, headers]) => ({
      method: operation.method,
      url: `${ids.reduce((at, [name, id]) => at.replace(`{${name}}`, encode(id)), operation.path)}${query}`,
      headers: {
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
        ...options.headers,
      },
      ...(payload === undefined ? {} : { payload }),
    }));
}

/**
 * Half of a surrogate pair has no UTF-8: it becomes the replacement character, as in browsers. A segment of dots alone
 * would be another path.
 */
function encode(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd').replace(/^\.{1,2}$/, 'dots'));
}

function queryOf({ method }: Operation, parameters: readonly Parameter[], hints: Hints = {}): fc.Arbitrary<string> {
  const names = [...parameters.map(({ name }) => name), 'unknown', 'limit', 'cursor', '__proto__'];
  // A cursor cannot be guessed.
  const guessable = parameters.filter(({ name }) => name !== 'cursor');
  const good = fc
    .record(Object.fromEntries(guessable.map(({ name, schema }) => [name, valid(schema, name, hints)])), {
      requiredKeys: [],
    })
    .map((query) => Object.entries(query).map(([name, value]) => [name, String(value)] as const));
  const bad = fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...nastyTexts, '0', '-1', '1e3', '101')), {
    maxLength: 3,
  });
  const write = (pairs: readonly (readonly [string, string])[]): string =>
    pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')}`;
  const raw = fc.constantFrom(
    '?',
    '?&',
    '?=',
    '?a',
    '?%',
    '?limit',
    '?limit=1&limit=2',
    '?limit=%ff',
    '?a[b]=1',
    '?limit=5',
  );
  return fc.oneof(
    { arbitrary: good.map(write), weight: method === 'GET' ? 6 : 30 },
    { arbitrary: fc.tuple(good, bad).map(([one, other]) => write([...one, ...other])), weight: 2 },
    { arbitrary: raw, weight: 1 },
  );
}

const bomb = 50_000;
const rawBodies: readonly string[] = [
  ...[
    '',
    'null',
    '[]',
    '"x"',
    '1',
    '{',
    '{"a":1,}',
    '{"__proto__":{"a":1}}',
    '\ufeff{}',
    '{}{}',
    '{"a":"\\ud800"}',
    '{}',
  ],
  ...[
    '['.repeat(bomb),
    '{"a":'.repeat(bomb),
    `{"a":${'['.repeat(60)}${']'.repeat(60)}}`,
    `{"a":"${'x'.repeat(300_000)}"}`,
  ],
  ...['{"limit":1e999}', '{"name":1e999}', '{"amount":1e999}', `{"name":${'9'.repeat(400)}}`],
];

function payloadOf({ method, body }: Operation, hints: Hints = {}): fc.Arbitrary<string | Buffer | undefined> {
  const raw = fc.oneof(fc.constantFrom(...rawBodies), fc.constant(Buffer.from('{"a":"\xff"}', 'latin1')));
  const none = fc.constant(undefined);
  if (method === 'GET') return fc.oneof({ arbitrary: none, weight: 9 }, { arbitrary: raw, weight: 1 });
  const good = body === undefined ? fc.constant({}) : valid(body.schema, '', hints);
  const json = (value: unknown): string => JSON.stringify(value) ?? '';
  return fc.oneof(
    { arbitrary: good.map(json), weight: 8 },
    { arbitrary: good.chain(spoiled).map(json), weight: 8 },
    { arbitrary: good.chain(spoiled).chain(spoiled).map(json), weight: 2 },
    { arbitrary: hostile.map(json), weight: 1 },
    { arbitrary: raw, weight: 1 },
    { arbitrary: none, weight: 1 },
  );
}

function headersOf({ method }: Operation): fc.Arbitrary<Record<string, string>> {
  const odd: Record<string, string>[] = [
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': 'nonsense' },
    { 'content-encoding': 'gzip' },
    { 'x-request-id': '<script>' },
    { traceparent: '00-0-0-00' },
    { 'idempotency-key': 'a b' },
    { 'idempotency-key': 'k'.repeat(256) },
    { 'idempotency-key': 'the-same-for-all' },
  ];
  return fc.oneof(
    { arbitrary: fc.constant({}), weight: 8 },
    { arbitrary: fc.constantFrom(...(method === 'GET' ? odd.slice(4) : odd)), weight: 1 },
  );
}

export interface TenantWalkOptions {
  readonly app: FastifyInstance;
  /** Whose resources they are: a token with every scope. */
  readonly owner: Readonly<Record<string, string>>;
  /** A token of another tenant with every scope, or one of the same tenant that may not see them. */
  readonly stranger: Readonly<Record<string, string>>;
  /** The stranger's token lacks scopes by its nature: a 403 is as good as a 404. */
  readonly strangerLacksScopes?: boolean;
  /** Ids of the owner's resources for the parameters of a path. Every operation with parameters needs them. */
  readonly idsOf: (operation: Operation) => Readonly<Record<string, string>> | undefined;
  /** Runs a request, and says which calls of the store it made: the path that it took. */
  readonly watched?: <T>(work: () => Promise<T>) => Promise<{ readonly result: T; readonly calls: readonly string[] }>;
  /** A body that passes every check which comes before the resource is looked for; by default one of the schema's. */
  readonly bodyOf?: (operation: Operation) => object | undefined;
}

/**
 * Every operation with an id in its path answers the stranger 404, in the very words that it has for what never was, and by the
 * same calls of the store, so that its time tells nothing either.
 * Resolves with the operations that were walked; rejects with all faults at once.
 */
export async function walkTenants(document: Document, options: TenantWalkOptions): Promise<readonly string[]> {
  const faults: string[] = [];
  const walked: string[] = [];
  const operations = operationsOf(document);
  const everyId = new Set(operations.flatMap((operation) => Object.values(options.idsOf(operation) ?? {})));
  for (const operation of operations) {
    if (operation.isPublic || !operation.path.includes('{')) continue;
    const name = `${operation.method} ${operation.path}`;
    walked.push(name);
    const ids = options.idsOf(operation);
    if (ids === undefined) {
      faults.push(`${name}: no ids are given for it`);
      continue;
    }
    const nowhere = Object.fromEntries(Object.keys(ids).map((key) => [key, unknownLike(ids[key]!)]));
    const { watched = async (work) => ({ result: await work(), calls: [] }) } = options;
    const asked = (of: Readonly<Record<string, string>>) =>
      watched(() => ask(operation, of, options.stranger, options));
    // What the first request of a caller looks up is cached for the others. Its id is a third one: its answer may be kept.
    await asked(Object.fromEntries(Object.keys(ids).map((key) => [key, unknownLike(ids[key]!, 'eeee')])));
    const { result: stranger, calls } = await asked(ids);
    const { result: unknown, calls: ofUnknown } = await asked(nowhere);
    const isHidden =
      stranger.statusCode === 404 || (options.strangerLacksScopes === true && stranger.statusCode === 403);
    if (!isHidden) faults.push(`${name}: ${stranger.statusCode} for a stranger: ${stranger.body.slice(0, 300)}`);
    else if (inWords(stranger) !== inWords(unknown)) faults.push(`${name}: other words than for what never was`);
    if (calls.join() !== ofUnknown.join()) {
      faults.push(`${name}: another path than for what never was: ${calls.join(' ')} | ${ofUnknown.join(' ')}`);
    }
    if (operation.method !== 'GET') continue;
    const owner = await ask(operation, ids, options.owner, options);
    // 422: it exists, and its provider has nothing of the kind.
    if (owner.statusCode >= 300 && owner.statusCode !== 422)
      faults.push(`${name}: ${owner.statusCode} for its owner: the ids prove nothing`);
    faults.push(...(await ofOtherKinds(operation, ids, everyId, options)));
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return walked;
}

/** An id that exists, but names something of another kind: for this path it does not exist. */
async function ofOtherKinds(
  operation: Operation,
  ids: Readonly<Record<string, string>>,
  everyId: ReadonlySet<string>,
  options: TenantWalkOptions,
): Promise<string[]> {
  const faults: string[] = [];
  for (const [name, own] of Object.entries(ids)) {
    for (const other of everyId) {
      if (other.slice(0, 4) === own.slice(0, 4)) continue;
      const answer = await ask(operation, { ...ids, [name]: other }, options.owner, options);
      if (answer.statusCode === 404) continue;
      faults.push(`GET ${operation.path}: ${answer.statusCode} for ${other.slice(0, 4)}… as ${name}`);
    }
  }
  return faults;
}

/** Ids end in hexadecimal digits: the last ones are turned. */
function unknownLike(id: string, ending = 'ffff'): string {
  return id.replace(/.{4}$/, (end) => (end === ending ? '0000' : ending));
}

function inWords({ statusCode, body }: LightMyRequestResponse): string {
  const { code, message, details } = (JSON.parse(body) as { error: Record<string, unknown> }).error;
  return JSON.stringify([statusCode, code, message, details]);
}

/** A body that validation refuses is made anew: what is wrong with it says nothing of the resource. */
async function ask(
  operation: Operation,
  ids: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
  options: TenantWalkOptions,
): Promise<LightMyRequestResponse> {
  const url = Object.entries(ids).reduce((at, [name, id]) => at.replace(`{${name}}`, encode(id)), operation.path);
  const given = options.bodyOf?.(operation);
  const schema = operation.body?.schema;
  const bodies =
    given !== undefined || schema === undefined ? [given] : fc.sample(valid(schema), { numRuns: 20, seed: 7 });
  let answer: LightMyRequestResponse | undefined;
  for (const body of bodies) {
    const payload = body === undefined ? {} : { payload: body as object };
    answer = await options.app.inject({ method: operation.method, url, headers, ...payload });
    if (answer.statusCode !== 400) return answer;
  }
  if (answer === undefined) throw new Error('no body was tried');
  return answer;
}

/** The requests that a sandbox's gateway remembers: which, in what order, how many, and that no secret is among what it shows. */
import { create, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import Type from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom, systemTimers } from '../../../core/actors/live/ports.ts';
import { AccessEntry } from '../../../gateway/access-log/access-log.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { route } from '../../../gateway/api/route.ts';
import { Closed, secret, secretQuery } from '../../../gateway/api/schema-kit.ts';
import { newToken } from '../../../gateway/auth/token-format.ts';
import { openapiDocument } from '../../../gateway/openapi/document.ts';
import { type MaskSchema, masked, type NamedMaskSchemas } from '../../../gateway/sandbox/masking.ts';
import { RequestLog } from '../../../gateway/sandbox/request-log.ts';
import { requestRoutes } from '../../../gateway/sandbox/request-routes.ts';
import type { DescribedBodies } from '../../../gateway/sandbox/request-views.ts';
import { SignatureShareRequestSchema } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { faultsHeader } from '../../../scenarios/faults/api-fault-answers.ts';
import { restRoutes, sandboxRoutes } from '../../../tools/docs/rest-routes.ts';
import type { TenantStore } from '../../../wallets/store/contract.ts';
import { grpcCall } from '../../support/gateway.ts';
import { type RestApp, restApp } from '../../support/rest-app.ts';
import { until } from '../../support/until.ts';

const canary = 'CANARY';

describe('a log of requests', () => {
  const add = (log: RequestLog, tenant: string, requestId: string, body = 0) => {
    const entry = new AccessEntry(requestId, systemTimers.elapsedMs());
    if (tenant === '') entry.error = new ServiceError('authenticationFailed', 'no');
    else entry.principal = { tenant } as AccessEntry['principal'];
    entry.body = new Uint8Array(body);
    log.ended(entry, { door: 'http', route: '/v1/x', endedMs: 0, aborted: false, isProbe: false });
  };
  const idsOf = (log: RequestLog, tenants?: string[], from = 0) =>
    log.since(from, tenants).requests.map(({ entry }) => entry.requestId);

  it('gives them in the order in which they ended, of each tenant the last ones', () => {
    const log = new RequestLog(systemTimers, { ofTenantMax: 3 });
    const begin = log.end;
    for (const id of ['a1', 'b1', 'a2', 'a3', 'b2', 'a4']) add(log, id[0]!, id);
    expect(idsOf(log)).toEqual(['b1', 'a2', 'a3', 'b2', 'a4']);
    expect(idsOf(log, ['a'])).toEqual(['a2', 'a3', 'a4']);
    // a1 alone is gone.
    expect([log.since(begin).lost, log.since(begin + 1).lost]).toEqual([true, false]);
    const { end } = log;
    expect(log.since(end)).toEqual({ requests: [], lost: false });
    for (let count = 0; count < 5_000; count += 1) add(log, 'a', `c${count}`);
    expect(idsOf(log, ['a'])).toEqual(['c4997', 'c4998', 'c4999']);
    expect(log.since(end)).toMatchObject({ lost: true });
    expect(idsOf(log, ['b'])).toEqual(['b1', 'b2']);
  });

  it('keeps within its bytes; the tenant that was quiet for longest loses first', () => {
    const log = new RequestLog(systemTimers, { bytesMax: 50_000 });
    for (let count = 0; count < 5; count += 1) add(log, 'quiet', `q${count}`, 1_000);
    for (let count = 0; count < 30; count += 1) add(log, 'busy', `b${count}`, 1_000);
    expect(idsOf(log, ['quiet'])).toEqual([]);
    expect(idsOf(log)).toEqual(Array.from({ length: 25 }, (_, index) => `b${index + 5}`));
    add(log, 'busy', 'huge', 100_000);
    expect(idsOf(log)).toEqual([]);
  });

  it('has nothing of before a restore, and tells a reader of another life', () => {
    const log = new RequestLog(systemTimers);
    const { end } = log;
    add(log, 'a', 'a1');
    log.clear();
    expect(log.since(end)).toEqual({ requests: [], lost: true });
    expect(log.since(17).lost).toBe(true);
    add(log, 'a', 'a2');
    expect(idsOf(log)).toEqual(['a2']);
  });
});

describe('masking', () => {
  const document = openapiDocument([...restRoutes(), ...sandboxRoutes()], '1') as unknown as DescribedBodies;
  const named = document.components.schemas;
  const bodies = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody, responses }]) => [
      ...(requestBody === undefined ? [] : [[`${method} ${path}`, requestBody.content] as const]),
      ...Object.entries(responses).map(([status, { content }]) => [`${method} ${path} ${status}`, content] as const),
    ]),
  );
  const schemas = bodies.flatMap(([name, content]) => {
    const schema = content?.['application/json']?.schema;
    return schema === undefined ? [] : [[name, schema] as const];
  });

  /** A value with every field, in which each secret is the canary; alternatives as `pick` says. */
  const filled = (schema: MaskSchema, pick: () => number, camel: boolean, hides = false): unknown => {
    const isSecret = hides || schema['x-secret'] === true || schema.writeOnly === true;
    const inner = (one: MaskSchema) => filled(one, pick, camel, isSecret);
    if (schema.$ref !== undefined) return inner(named[schema.$ref.split('/').at(-1)!]!);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return inner(choices[pick() % choices.length]!);
    if (schema.items !== undefined) return [inner(schema.items)];
    const { properties, patternProperties, additionalProperties } = schema;
    const rest =
      typeof additionalProperties === 'object' ? additionalProperties : Object.values(patternProperties ?? {})[0];
    if (properties !== undefined || rest !== undefined) {
      const name = (key: string) =>
        camel ? key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : key;
      return {
        ...Object.fromEntries(Object.entries(properties ?? {}).map(([key, each]) => [name(key), inner(each)])),
        ...(rest !== undefined && { some_key: inner(rest) }),
        ...(properties !== undefined && rest === undefined && { mistyped_secret: canary }),
      };
    }
    if (schema['x-secret'] === 'query') return `https://example.com/hook?token=${canary}&${canary}`;
    return isSecret ? canary : 'shown';
  };

  it('shows the secret fields of no schema, under neither form of their names, and no field that the schema does not know', () => {
    expect(schemas.length).toBeGreaterThan(150);
    let secrets = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...schemas),
        fc.infiniteStream(fc.nat(7)),
        fc.boolean(),
        ([, schema], picks, camel) => {
          const value = filled(schema, () => picks.next().value, camel);
          if (JSON.stringify(value).includes(canary)) secrets += 1;
          const { value: shown, fields } = masked(value, schema, named);
          expect(JSON.stringify(shown)).not.toContain(canary);
          expect(fields.length > 0).toBe(JSON.stringify(value) !== JSON.stringify(shown));
        },
      ),
      { numRuns: 600 },
    );
    expect(secrets).toBeGreaterThan(50);
  });

  it.each<MaskSchema>([{ 'x-secret': true }, { writeOnly: true }])('hides what one mark alone hides: %j', (mark) => {
    expect(masked({ a: canary }, { properties: { a: mark } }, {}).fields).toEqual(['a']);
  });

  it('every field whose name says that it is secret is marked', () => {
    /** Of an asset; who holds a token. */
    const harmless = new Set(['Intent.token', 'Me.token']);
    const unmarked: string[] = [];
    const look = (name: string, schema: MaskSchema): void => {
      for (const [field, each] of Object.entries(schema.properties ?? {})) {
        if (
          /(^|_)(secret|token|credentials|password|private_key|seed|encrypted_share|partial|partial_signature|witness)$/.test(
            field,
          )
        ) {
          const inner = [each, ...(each.anyOf ?? [])];
          const says = inner.some((one) => one['x-secret'] === true || one.writeOnly === true);
          if (!says && !harmless.has(`${name}.${field}`)) unmarked.push(`${name}.${field}`);
        }
        look(name, each);
      }
      for (const each of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.items ? [schema.items] : [])])
        look(name, each);
    };
    for (const [name, schema] of Object.entries<MaskSchema>(named as NamedMaskSchemas)) look(name, schema);
    for (const [name, schema] of schemas) look(name, schema);
    expect(unmarked).toEqual([]);
  });
});

describe('/v1/sandbox/requests', () => {
  let gateway: RestApp;
  const tokens = { own: newToken('sandbox', systemRandom), other: newToken('sandbox', systemRandom) };
  beforeAll(async () => {
    gateway = await restApp({
      store: {} as TenantStore,
      routes: (_, { seen }) => {
        const own = [
          route({
            ...{ method: 'POST', path: '/v1/things/:id', operationId: 'thing', tag: 'Sandbox', summary: '' },
            ...{ scope: 'wallets:write', limitClass: 'writes', idempotent: false },
            params: Closed({ id: Type.String() }),
            body: Closed({
              url: Type.String(secretQuery),
              pin: Type.String(secret),
              size: Type.Optional(Type.Integer()),
            }),
            responses: { 200: { description: '', schema: Closed({ id: Type.String(), key: Type.String(secret) }) } },
            handle: async (_context, { params }) => ({ status: 200, body: { id: params.id, key: canary } }),
          }),
        ];
        const deps = { requests: seen, version: '', routes: () => [...own, ...reads] } as unknown as Parameters<
          typeof requestRoutes
        >[0];
        const reads = requestRoutes(deps);
        return [...own, ...reads];
      },
    });
    gateway.tokens.put(tokens.own, { tenant: 'tn_own', id: 'tok_own' });
    gateway.tokens.put(tokens.other, { tenant: 'tn_other', id: 'tok_other' });
  });
  afterAll(() => gateway.stop());

  const call = async (
    method: 'GET' | 'POST',
    url: string,
    payload?: object | string,
    more: Record<string, string> = {},
  ) => {
    const headers = {
      authorization: `Bearer ${tokens.own}`,
      ...(payload && { 'content-type': 'application/json' }),
      ...more,
    };
    const answer = await gateway.http.inject({ method, url, headers, ...(payload && { payload }) });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
    return { status: answer.statusCode, body: answer.json() as any };
  };
  /** The last one; its end is noted when its answer is out. */
  const lastOf = async (requestId: string) => {
    let line: { id: string } | undefined;
    await until(async () => {
      [line] = (await call('GET', `/v1/sandbox/requests?request_id=${requestId}`)).body.requests;
      return line !== undefined;
    }, `the line of ${requestId}`);
    return (await call('GET', `/v1/sandbox/requests/${line!.id}`)).body;
  };

  it('shows what was asked and answered, its secrets masked', async () => {
    const body = { url: `https://example.com/?token=${canary}`, pin: canary, size: 7 };
    const headers = { 'x-request-id': 'request-one', 'user-agent': 'a client', [faultsHeader]: 'flt_1,flt_2' };
    await call('POST', '/v1/things/a', body, headers);
    const seen = await lastOf('request-one');
    expect(JSON.stringify(seen)).not.toContain(canary);
    expect(JSON.stringify(seen)).not.toContain(tokens.own);
    expect(seen).toMatchObject({
      ...{
        tenant: 'tn_own',
        door: 'http',
        method: 'POST',
        route: '/v1/things/:id',
        target: '/v1/things/a',
        status: 200,
      },
      ...{ error_code: null, field: null, user_agent: 'a client', faults: ['flt_1', 'flt_2'], aborted: false },
      body: {
        text: '{"url":"https://example.com/?token=***","pin":"(secret)","size":7}',
        masked: ['url', 'pin'],
        is_whole: false,
      },
      answer: { text: '{"id":"a","key":"(secret)"}', masked: ['key'] },
    });
    expect(Math.abs(Date.parse(seen.began_at) - Date.now())).toBeLessThan(60_000);
  });

  it('says which field an answer blames, and shows no text that is no JSON', async () => {
    await call(
      'POST',
      '/v1/things/a',
      { url: '', pin: canary, pim: canary, size: 'big' },
      { 'x-request-id': 'request-two' },
    );
    const seen = await lastOf('request-two');
    expect(seen).toMatchObject({ status: 400, error_code: 'invalid_request', field: 'pim' });
    expect(seen.body.text).toBe('{"url":"","pin":"(secret)","pim":"(unknown field)","size":"big"}');
    expect(JSON.parse(seen.answer.text).error.details).toContainEqual({
      ...{ field: 'pim', issue: 'unknown_field', message: 'the fields here are url, pin, size' },
    });
    await call('POST', '/v1/things/a', `{"pin": "${canary}"`, { 'x-request-id': 'request-three' });
    expect(await lastOf('request-three')).toMatchObject({
      status: 400,
      body: { text: null, bytes: 16, is_whole: false },
    });
  });

  it('cuts long bodies, and gives a whole one back as it was', async () => {
    const long = `https://example.com/${'x'.repeat(8_000)}`;
    await call(
      'POST',
      '/v1/signing/initiate',
      { wallet_id: 'w', transaction_intent_id: 'i' },
      { 'x-request-id': 'request-whole' },
    );
    expect(await lastOf('request-whole')).toMatchObject({
      ...{ receipt_state: 'ACCEPTED', status: 200 },
      body: { text: '{"wallet_id":"w","transaction_intent_id":"i"}', is_whole: true, masked: [] },
    });
    await call('POST', '/v1/things/a', { url: long, pin: '' }, { 'x-request-id': 'request-long' });
    const { body } = await lastOf('request-long');
    expect(body.text).toHaveLength(4_096);
    expect(body).toMatchObject({ is_whole: false });
    expect(body.bytes).toBeGreaterThan(8_000);
  });

  it('shows calls over gRPC in the form of HTTP', async () => {
    const share = create(SignatureShareRequestSchema, { signingSessionId: 's', partialSignature: Buffer.from(canary) });
    const path = '/svc.mesh.v1.MpcWalletService/SubmitSignatureShare';
    const bytes = toBinary(SignatureShareRequestSchema, share);
    await grpcCall(await gateway.grpcClient(), path, bytes, {
      authorization: `Bearer ${tokens.own}`,
      'x-request-id': 'request-rpc',
    });
    const seen = await lastOf('request-rpc');
    expect(seen).toMatchObject({ door: 'grpc', method: null, route: path, grpc_status: 'OK', tenant: 'tn_own' });
    expect(JSON.parse(seen.body.text)).toMatchObject({ signing_session_id: 's', partial_signature: '(secret)' });
    expect(JSON.parse(seen.answer.text)).toMatchObject({ receipt: { receipt_id: 'rcp_1' } });
  });

  it('shows a tenant its own requests, and those that no token admitted', async () => {
    await call('POST', '/v1/things/a', {}, { 'x-request-id': 'request-stranger', authorization: 'Bearer nonsense' });
    await lastOf('request-stranger');
    const own = (await call('GET', '/v1/sandbox/requests?limit=1000')).body.requests;
    expect(new Set(own.map(({ tenant }: { tenant: string }) => tenant))).toEqual(new Set(['tn_own', null]));
    const numbers = own.map(({ id }: { id: string }) => Number(id));
    expect(numbers).toEqual(numbers.toSorted((one: number, other: number) => other - one));
    const theirs = { authorization: `Bearer ${tokens.other}` };
    const { requests } = (await call('GET', '/v1/sandbox/requests', undefined, theirs)).body;
    expect(requests.map((line: { request_id: string }) => line.request_id)).toEqual(['request-stranger']);
    const { id } = own.find((line: { tenant: string | null }) => line.tenant === 'tn_own');
    expect((await call('GET', `/v1/sandbox/requests/${id}`, undefined, theirs)).status).toBe(404);
  });
});

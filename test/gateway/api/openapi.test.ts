/** The OpenAPI document is well-formed, whole and true, and the page that shows it weakens nothing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../core/actors/live/ports.ts';
import type { Route } from '../../../gateway/api/route.ts';
import type { JsonSchema } from '../../../gateway/api/schema-text.ts';
import { signingMethods } from '../../../gateway/api/signing-methods.ts';
import { compileSchema } from '../../../gateway/api/validate.ts';
import { openapiDocument, openapiPath } from '../../../gateway/openapi/document.ts';
import { docsPath } from '../../../gateway/serve/documents.ts';
import { eventRoutes } from '../../../wallets/delivery/events/routes.ts';
import { eventTypes } from '../../../wallets/delivery/events/types.ts';
import { webhookRoutes } from '../../../wallets/delivery/webhooks/routes.ts';
import type { TenantStore } from '../../../wallets/store/contract.ts';
import { type RestApp, restApp, testSeal, tokenOf } from '../../support/rest-app.ts';
import { type Document, inline, operationsOf, resolve } from './support/document.ts';
import { notes } from './support/notes.ts';
import { documentFaults } from './support/openapi-rules.ts';
import { idleWebhookService } from './support/webhook-service.ts';
import { faultsOf } from './walkers.ts';

const webhooks = webhookRoutes({
  environment: 'sandbox',
  seal: testSeal,
  random: systemRandom,
  webhookService: idleWebhookService,
});
const routes: readonly Route[] = [...notes().routes, ...eventRoutes(), ...webhooks];
const document = openapiDocument(routes, '1.2.3') as Document;
let rest: RestApp;

beforeAll(async () => {
  rest = await restApp({ routes, store: {} as TenantStore });
});
afterAll(async () => {
  await rest.app.close();
});

type Part = Record<string, unknown>;

describe('the document', () => {
  it('keeps the rules of OpenAPI 3.1', () => {
    expect(documentFaults(document)).toEqual([]);
  });

  it.each<[string, (copy: Document) => void, RegExp]>([
    ['a reference to nothing', (copy) => set(copy, ['components', 'schemas', 'Webhook'], undefined), /Webhook/],
    ['an operationId twice', (copy) => set(copy, ['paths', '/v1/notes', 'get', 'operationId'], 'createNote'), /twice/],
    [
      'an undeclared path parameter',
      (copy) => set(copy, ['paths', '/v1/notes/{id}', 'get', 'parameters'], []),
      /\{id\}/,
    ],
    [
      'a response without words',
      (copy) => set(copy, ['components', 'responses', 'NotFound', 'description'], ''),
      /description/,
    ],
    ['an unknown field', (copy) => set(copy, ['paths', '/v1/notes', 'get', 'parametres'], []), /parametres/],
    ['an unknown scheme', (copy) => set(copy, ['paths', '/v1/notes', 'get', 'security'], [{ basic: [] }]), /basic/],
    ['a tag that is not listed', (copy) => set(copy, ['paths', '/v1/notes', 'get', 'tags'], ['Other']), /Other/],
  ])('with %s would break them', (_name, spoil, fault) => {
    const copy = structuredClone(document);
    spoil(copy);
    expect(documentFaults(copy).join('\n')).toMatch(fault);
  });

  it('has every route with its scope, and the signing calls', () => {
    const listed = operationsOf(document).map(({ method, path }) => `${method} ${path}`);
    const expected = [
      ...routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
      ...signingMethods.map(({ httpPath }) => `POST ${httpPath}`),
      'GET /v1/health',
      `GET ${openapiPath}`,
    ];
    expect([...listed].sort()).toEqual([...expected].sort());
    for (const { method, path, scope } of routes) {
      const at = ['paths', path.replace(/:(\w+)/g, '{$1}'), method.toLowerCase()];
      const operation = at.reduce<unknown>((part, step) => (part as Part)[step], document) as Part;
      expect(operation['x-required-scope']).toBe(scope);
      expect(operation.security).toEqual([{ bearer: [scope] }]);
      expect(operation.description).toContain(`Scope: \`${scope}\`.`);
    }
  });

  it('says where a key may stand, and what its answers carry', () => {
    const create = (document.paths as Record<string, Record<string, Part>>)['/v1/notes']!.post!;
    expect(create.parameters).toContainEqual({ $ref: '#/components/parameters/IdempotencyKey' });
    expect(create.description).toContain('as `idempotency_key`');
    const created = (create.responses as Record<string, Part>)['201']!;
    expect(Object.keys(created.headers as Part)).toEqual([
      'X-Request-Id',
      'RateLimit',
      'RateLimit-Policy',
      'Idempotent-Replayed',
    ]);
    const list = (document.paths as Record<string, Record<string, Part>>)['/v1/notes']!.get!;
    expect(JSON.stringify(list.parameters)).not.toContain('IdempotencyKey');
  });

  it('gives examples that their schemas take', () => {
    let examples = 0;
    const walk = (part: unknown): void => {
      if (part === null || typeof part !== 'object') return;
      const { examples: given, type } = part as JsonSchema;
      if (Array.isArray(given) && typeof type === 'string') {
        const check = compileSchema(inline(part, document) as never);
        for (const example of given) {
          examples += 1;
          expect(check(example), JSON.stringify(part)).toBeUndefined();
        }
      }
      for (const item of Object.values(part)) walk(item);
    };
    walk(document);
    expect(examples).toBeGreaterThan(10);
    const error = compileSchema(resolve('#/components/schemas/Error', document) as never);
    const responses = (document.components as Record<string, Record<string, Part>>).responses!;
    for (const response of Object.values(responses)) {
      const json = (response.content as Record<string, Part>)['application/json']!;
      expect(error(json.example)).toBeUndefined();
    }
  });

  it('describes the signing calls as they answer', async () => {
    for (const { httpPath } of signingMethods) {
      const operation = operationsOf(document).find(({ path }) => path === httpPath)!;
      const good = await rest.app.inject({ method: 'POST', url: httpPath, headers: tokenOf('a'), payload: {} });
      expect([good.statusCode, faultsOf(operation, good)]).toEqual([200, []]);
      const bad = await rest.app.inject({ method: 'POST', url: httpPath, headers: tokenOf('a'), payload: '[' });
      expect(faultsOf(operation, bad)).toEqual([]);
    }
  });

  it('names the schemas of every body and of every resource', () => {
    const unnamed = JSON.stringify(document.paths).match(/"schema":\{"type":"object","(properties|title)/g) ?? [];
    expect(unnamed).toEqual([]);
    const { schemas } = document.components as Record<string, Part>;
    expect(Object.keys(schemas!)).toEqual(
      expect.arrayContaining(['Intent', 'Wallet', 'Error', 'Event', 'CreateWebhook']),
    );
  });

  it('says numbers and true or false where the text of a query stands for them', () => {
    const list = operationsOf(document).find(({ operationId }) => operationId === 'listEvents')!;
    const schemaOf = (name: string) => list.parameters.find((parameter) => parameter.name === name)!.schema;
    expect(schemaOf('limit')).toEqual({ type: 'integer', minimum: 1, maximum: 100 });
    expect(schemaOf('after_sequence')).toMatchObject({ type: 'integer', minimum: 0 });
  });

  it('fills nothing in on its page but paths', () => {
    for (const { parameters } of operationsOf(document)) {
      for (const parameter of parameters as unknown as readonly (Part & { schema: Part })[]) {
        expect([parameter.example, parameter.examples, parameter.schema.examples]).toEqual([
          undefined,
          undefined,
          undefined,
        ]);
      }
    }
  });

  it('types every event by its family', () => {
    const event = resolve('#/components/schemas/Event', document) as Part;
    const { propertyName, mapping } = event.discriminator as { propertyName: string; mapping: Record<string, string> };
    expect(propertyName).toBe('type');
    expect(Object.keys(mapping)).toEqual(Object.keys(eventTypes));
    for (const [type, reference] of Object.entries(mapping)) {
      const { properties } = resolve(reference, document) as { properties: { type: { enum: string[] } } };
      expect(properties.type.enum).toContain(type);
      expect(JSON.stringify(event.anyOf)).toContain(reference);
    }
    const { event: webhook } = document.webhooks as Record<string, { post: { requestBody: Part } }>;
    expect(JSON.stringify(webhook!.post.requestBody)).toContain('#/components/schemas/Event');
  });

  it('describes health and itself', async () => {
    for (const url of ['/v1/health', openapiPath]) {
      const operation = operationsOf(document).find(({ path }) => path === url)!;
      expect(faultsOf(operation, await rest.app.inject({ url }))).toEqual([]);
    }
  });

  it('refuses two schemas of one name', () => {
    const [first, ...others] = notes().routes;
    const other = { ...first!.responses[201]!.schema, title: 'Webhook' } as never;
    const clash = { ...first!, responses: { 201: { description: '', schema: other } } };
    expect(() => openapiDocument([clash, ...others, ...webhooks], '1')).toThrow(
      'two different schemas are called Webhook',
    );
  });
});

function set(document: Document, path: readonly string[], value: unknown): void {
  const last = path.at(-1)!;
  const parent = path.slice(0, -1).reduce<unknown>((part, step) => (part as Part)[step], document) as Part;
  if (value === undefined) delete parent[last];
  else parent[last] = value;
}

describe('the page', () => {
  it('is where the root leads', async () => {
    const root = await rest.app.inject({ url: '/' });
    expect([root.statusCode, root.headers.location]).toEqual([302, docsPath]);
  });

  it('shows no token unless it is public', () => {
    expect(JSON.stringify(document)).not.toContain('svc_sk_test_0');
    expect(JSON.stringify(openapiDocument(routes, '1', 'svc_sk_test_0'))).toContain('svc_sk_test_0');
  });

  it('is served with its files from here, under a policy that loads nothing else', async () => {
    const page = await rest.app.inject({ url: `${docsPath}/createNote` });
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
    expect(page.body).not.toMatch(/(src|href)="(https?:)?\/\//);
    for (const [, url] of page.body.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
      const file = await rest.app.inject({ url: url! });
      expect([file.statusCode, file.headers['x-content-type-options']], url).toEqual(
        url === openapiPath ? [200, undefined] : [200, 'nosniff'],
      );
    }
  });

  it.each([docsPath, `${docsPath}/`, `${docsPath}/page.css`, openapiPath])(
    '%s answers HEAD, and 405 to what changes',
    async (url) => {
      const head = await rest.app.inject({ method: 'HEAD', url });
      expect([head.statusCode, head.body]).toEqual([200, '']);
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
        const refused = await rest.app.inject({ method, url });
        expect([refused.statusCode, refused.headers.allow]).toEqual([405, 'GET, HEAD']);
        expect(refused.json().error.request_id).toBe(refused.headers['x-request-id']);
      }
    },
  );

  it.each([
    'static/nothing.js',
    'static/%2e%2e/%2e%2e/package.json',
    'static/..%2f..%2fpackage.json',
    'static/%00',
    'nothing',
  ])('has no %s', async (path) => {
    const answer = await rest.app.inject({ url: `${docsPath}/${path}` });
    expect([400, 404]).toContain(answer.statusCode);
    expect(answer.json().error.request_id).toBe(answer.headers['x-request-id']);
    expect(answer.body).not.toContain('dependencies');
  });
});

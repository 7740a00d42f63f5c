/** Every operation of the API shows what it takes and what it answers, and every example is one that its schema takes. */
import { expect, it } from 'vitest';
import { compileSchema } from '../../../gateway/api/validate.ts';
import { openapiDocument } from '../../../gateway/openapi/document.ts';
import { restRoutes } from '../../../tools/docs/rest-routes.ts';
import { type Document, inline } from './support/document.ts';

type Part = Record<string, unknown>;

/** What is missing or wrong, a line each. */
function exampleFaults(document: Document): string[] {
  const checks = new Map<string, (value: unknown) => unknown>();
  const faultOf = (schema: unknown, example: unknown): unknown => {
    const text = JSON.stringify(schema);
    const check = checks.get(text) ?? compileSchema(inline(schema, document) as never);
    checks.set(text, check);
    return check(example);
  };
  const faults: string[] = [];
  const look = (where: string, of: unknown) => {
    const json = (inline(of, document) as { content?: Record<string, Part> }).content?.['application/json'];
    if (json === undefined) return;
    const raw = (of as { content?: Record<string, Part> }).content?.['application/json'] ?? json;
    if (json.example === undefined) faults.push(`${where} has no example`);
    else {
      const fault = faultOf(raw.schema, json.example);
      if (fault !== undefined) faults.push(`${where}: ${JSON.stringify(fault)} in ${JSON.stringify(json.example)}`);
    }
  };
  for (const group of ['paths', 'webhooks'] as const) {
    for (const [path, item] of Object.entries(document[group] as Record<string, Record<string, Part>>)) {
      for (const [method, { requestBody, responses }] of Object.entries(item)) {
        if (requestBody !== undefined) look(`${method} ${path} request`, requestBody);
        for (const [status, response] of Object.entries(responses as Part))
          look(`${method} ${path} ${status}`, response);
      }
    }
  }
  return faults;
}

it('has an example of each request and each answer, the event of webhooks too', () => {
  const document = openapiDocument(restRoutes(), '1.2.3') as Document;
  expect(exampleFaults(document)).toEqual([]);
  // An example is checked, and its absence is found.
  const operation = (document.paths as Record<string, Record<string, Part>>)['/v1/wallets']!.post!;
  const answer = (operation.responses as Record<string, { content: Record<string, Part> }>)['201']!;
  const json = answer.content['application/json']!;
  json.example = { ...(json.example as object), status: 'lost' };
  expect(exampleFaults(document)).toHaveLength(1);
  delete json.example;
  expect(exampleFaults(document)).toEqual(['post /v1/wallets 201 has no example']);
});

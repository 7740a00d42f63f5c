/** The rules of OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.0) that a document made by code can break. */
import { Compile } from 'typebox/compile';
import { type Document, inline, resolve } from './document.ts';

type Part = Record<string, unknown>;

/** Fixed fields of the objects that we use; `x-…` is allowed everywhere. */
const fixedFields: Record<string, readonly string[]> = {
  document: ['openapi', 'info', 'servers', 'security', 'tags', 'paths', 'components', 'externalDocs', 'webhooks'],
  info: ['title', 'version', 'summary', 'description', 'license', 'contact', 'termsOfService'],
  operation: [
    ...['operationId', 'tags', 'summary', 'description', 'externalDocs', 'parameters', 'requestBody', 'responses'],
    ...['callbacks', 'deprecated', 'security', 'servers'],
  ],
  parameter: [
    'name',
    'in',
    'description',
    'required',
    'deprecated',
    'schema',
    'example',
    'examples',
    'style',
    'explode',
  ],
  requestBody: ['description', 'content', 'required'],
  response: ['description', 'headers', 'content', 'links'],
  header: ['description', 'required', 'deprecated', 'schema', 'example', 'examples'],
  media: ['schema', 'example', 'examples', 'encoding'],
  components: [
    ...['schemas', 'responses', 'parameters', 'examples', 'requestBodies', 'headers', 'securitySchemes', 'links'],
    ...['callbacks', 'pathItems'],
  ],
};

/** Every breach, with its place. */
export function documentFaults(document: Document): string[] {
  const faults: string[] = [];
  const need = (holds: boolean, place: string, fault: string): void => {
    if (!holds) faults.push(`${place}: ${fault}`);
  };
  const fields = (part: Part, kind: string, place: string): void => {
    for (const name of Object.keys(part)) {
      need(fixedFields[kind]!.includes(name) || name.startsWith('x-'), place, `a ${kind} has no field ${name}`);
    }
  };
  const follow = (part: unknown, place: string): Part => {
    try {
      return inline(part, document) as Part;
    } catch (error) {
      faults.push(`${place}: ${(error as Error).message}`);
      return {};
    }
  };

  fields(document, 'document', 'document');
  fields(document.info as Part, 'info', 'info');
  need(/^3\.1\.\d+$/.test(String(document.openapi)), 'document', 'openapi must be 3.1.x');
  const components = document.components as Record<string, Record<string, Part>>;
  fields(components, 'components', 'components');
  for (const [kind, parts] of Object.entries(components)) {
    for (const [name, part] of Object.entries(parts)) {
      const place = `components.${kind}.${name}`;
      need(/^[a-zA-Z0-9.\-_]+$/.test(name), place, 'the name is not allowed');
      follow(part, place);
      if (kind === 'responses') checkResponse(part, place);
    }
  }
  references(document).forEach((reference) => {
    try {
      resolve(reference, document);
    } catch (error) {
      faults.push((error as Error).message);
    }
  });

  const tags = new Set((document.tags as { name: string }[]).map(({ name }) => name));
  const operationIds = new Set<unknown>();
  for (const [path, item] of Object.entries(document.paths as Record<string, Record<string, Part>>)) {
    need(path.startsWith('/'), path, 'a path begins with a slash');
    for (const [method, operation] of Object.entries(item)) checkOperation(path, method, operation);
  }
  return faults;

  function checkOperation(path: string, method: string, operation: Part): void {
    const place = `${method} ${path}`;
    need(['get', 'post', 'patch', 'put', 'delete'].includes(method), place, 'no such method');
    fields(operation, 'operation', place);
    need(!operationIds.has(operation.operationId), place, `the operationId ${operation.operationId} stands twice`);
    operationIds.add(operation.operationId);
    for (const tag of operation.tags as string[]) need(tags.has(tag), place, `the tag ${tag} is not listed`);
    for (const requirement of operation.security as Part[]) {
      for (const scheme of Object.keys(requirement))
        need(scheme in components.securitySchemes!, place, `no scheme ${scheme}`);
    }
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const parameters = ((operation.parameters ?? []) as Part[]).map((parameter) => follow(parameter, place));
    const declared = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
    need(
      String([...declared].sort()) === String([...inPath].sort()),
      place,
      `{${inPath}} must be declared: ${declared}`,
    );
    const names = parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
    need(new Set(names).size === names.length, place, 'a parameter stands twice');
    for (const parameter of parameters) {
      fields(parameter, 'parameter', place);
      need(parameter.in !== 'path' || parameter.required === true, place, 'a path parameter is required');
      checkSchema(parameter.schema, place);
    }
    if (operation.requestBody !== undefined) {
      fields(operation.requestBody as Part, 'requestBody', place);
      need(method !== 'get', place, 'a GET has no body');
      checkContent((operation.requestBody as Part).content, place);
    }
    const responses = Object.entries(operation.responses as Record<string, Part>);
    need(
      responses.some(([status]) => status.startsWith('2')),
      place,
      'no success is described',
    );
    for (const [status, response] of responses) {
      need(/^[1-5]\d\d$/.test(status), place, `${status} is no status`);
      checkResponse(follow(response, place), `${place} ${status}`);
    }
  }

  function checkResponse(response: Part, place: string): void {
    if ('$ref' in response) return;
    fields(response, 'response', place);
    need(typeof response.description === 'string' && response.description !== '', place, 'a description is needed');
    for (const header of Object.values((response.headers ?? {}) as Part))
      fields(follow(header, place), 'header', place);
    if (response.content !== undefined) checkContent(response.content, place);
  }

  function checkContent(content: unknown, place: string): void {
    for (const [type, media] of Object.entries(content as Record<string, Part>)) {
      need(/^[a-z]+\/[a-z0-9.+-]+$/.test(type), place, `${type} is no media type`);
      fields(media, 'media', place);
      checkSchema(media.schema, place);
    }
  }

  function checkSchema(schema: unknown, place: string): void {
    try {
      Compile(inline(schema, document) as object).Check({});
    } catch (error) {
      faults.push(`${place}: the schema does not compile: ${(error as Error).message}`);
    }
  }
}

function references(part: unknown): string[] {
  if (part === null || typeof part !== 'object') return [];
  const { $ref } = part as { $ref?: unknown };
  return [...(typeof $ref === 'string' ? [$ref] : []), ...Object.values(part).flatMap(references)];
}

/**
 * clients/client/generated-api.ts: the types and the table of operations of `signmesh/client`, from the OpenAPI document, which comes
 * from the schemas of the routes and the descriptors of the signing API. So the client matches the gateway, and nothing is
 * written twice. A route says the name of its method.
 */
import { openapiDocument } from '../../gateway/openapi/document.ts';
import { reasonCodes } from '../../proto/reason-codes.ts';
import { clientNames, dryRuns, withoutMethod } from './client-names.ts';
import { restRoutes, sandboxRoutes } from './rest-routes.ts';

export interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Parameter {
  readonly name?: string;
  readonly in?: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  readonly $ref?: string;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly 'x-required-scope'?: string;
  readonly security: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content & { readonly required: boolean };
  readonly responses: Readonly<Record<string, Content>>;
}

interface Named {
  readonly method: string;
  /** With ":name" parameters. */
  readonly path: string;
  readonly name: string;
  readonly operation: Operation;
  /** Required in every call of the method. */
  readonly query?: string;
}

type Schemas = Readonly<Record<string, Schema>>;

export function clientApiModule(): string {
  const routes = [...restRoutes(), ...sandboxRoutes()];
  const document = openapiDocument(routes, '') as unknown as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: { readonly schemas: Schemas };
  };
  const { schemas } = document.components;
  const { Error: _, ...described } = schemas;
  const types = {
    EveryEvent: commonOf(schemas.Event!, schemas),
    EveryFault: commonOf(schemas.SandboxFault!.properties!.fault!, schemas),
    ...described,
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: path.replace(/\{(\w+)\}/g, ':$1'),
      operation,
    })),
  );
  const named = nameAll(operations, clientNames(routes), schemas);
  const groups = [...new Set(named.map(({ name }) => groupOf(name)))];
  return `/** Made from the routes and the proto by "npm run docs". Do not edit: see tools/docs/client-api.ts. */
import type { CallOptions, Operation } from './contract.ts';
import type { Pages } from './pages.ts';

/** Every \`reason_code\` of a receipt of the signing API: docs/reason-codes.md. */
export type ReasonCode = ${Object.keys(reasonCodes).map(quote).join(' | ')};

${Object.entries(types)
  .map(([name, schema]) => declaration(name, schema, types))
  .join('\n')}
${groups.map((group) => groupInterface(group, named, schemas)).join('\n')}
/** Every operation, by group. */
export interface Api {
${groups.map((group) => `  readonly ${group}: ${groupType(group)};`).join('\n')}
}

export const operations: Readonly<Record<keyof Api, Readonly<Record<string, Operation>>>> = {
${groups.map((group) => `  ${group}: {\n${table(group, named, schemas)}\n  },`).join('\n')}
};
`;
}

function nameAll(
  operations: readonly Omit<Named, 'name' | 'query'>[],
  names: Readonly<Record<string, string>>,
  schemas: Schemas,
): Named[] {
  const known = new Set(operations.map(({ operation }) => operation.operationId));
  const stray = [...Object.keys(names), ...withoutMethod].filter((id) => !known.has(id));
  if (stray.length > 0) throw new Error(`these operations do not exist: ${stray.join(', ')}`);
  return operations.flatMap((entry) => {
    const { operationId } = entry.operation;
    if (withoutMethod.has(operationId)) return [];
    const name = names[operationId];
    if (name === undefined) throw new Error(`the route ${operationId} lacks its clientName`);
    const dryRun = dryRuns[operationId];
    if (dryRun === undefined) return [{ ...entry, name }];
    const { parameters = [], responses, ...rest } = entry.operation;
    const [asked] = dryRun.query.split('=');
    const part = (isDry: boolean): Operation => ({
      ...rest,
      summary: isDry ? `${rest.summary.replace(/^./, (first) => first.toUpperCase())}, without effect` : rest.summary,
      parameters: parameters.filter(
        (parameter) => parameter.name !== asked && !(isDry && parameter.$ref !== undefined),
      ),
      responses: Object.fromEntries(
        Object.entries(responses).flatMap(([status, response]) => {
          const schema = schemaOf(response);
          if (schema === undefined || status >= '3') return [[status, response]];
          const ofCall = (resolved(schema, schemas)?.anyOf ?? [schema]).filter(
            ({ $ref = '' }) => (refName($ref) === dryRun.answer) === isDry,
          );
          return ofCall.map((one) => [status, { content: { 'application/json': { schema: one } } }]);
        }),
      ),
    });
    return [
      { ...entry, name, operation: part(false) },
      { ...entry, name: dryRun.name, operation: part(true), query: dryRun.query },
    ];
  });
}

const groupOf = (name: string): string => name.split('.')[0]!;
const methodOf = (name: string): string => name.split('.')[1]!;
const groupType = (group: string): string => `${group.charAt(0).toUpperCase()}${group.slice(1)}Api`;

function groupInterface(group: string, named: readonly Named[], schemas: Schemas): string {
  const methods = named.filter(({ name }) => groupOf(name) === group).map((entry) => signature(entry, schemas));
  return `export interface ${groupType(group)} {\n${methods.join('\n')}\n}\n`;
}

function signature({ method, path, name, operation }: Named, schemas: Schemas): string {
  const { summary, 'x-required-scope': scope, security, parameters = [], requestBody } = operation;
  const inPath = parameters.filter((parameter) => parameter.in === 'path');
  const inQuery = parameters.filter((parameter) => parameter.in === 'query');
  if (requestBody !== undefined && inQuery.length > 0) throw new Error(`${name}: a body and a query`);
  const isQueryNeeded = inQuery.some(({ required }) => required);
  const parts = [
    ...inPath.map((parameter) => `${parameter.name}: string`),
    ...(requestBody === undefined
      ? []
      : [`body${requestBody.required ? '' : '?'}: ${typeOf(schemaOf(requestBody)!, '  ')}`]),
    ...(inQuery.length === 0 ? [] : [`query${isQueryNeeded ? '' : '?'}: ${queryType(inQuery)}`]),
    'options?: CallOptions',
  ];
  const { pageOf, type } = answerOf(operation, schemas);
  const answer = pageOf === undefined ? `Promise<${type}>` : `Pages<${pageOf.item}, ${type}>`;
  const scoped = scope === undefined ? (security.length === 0 ? 'no token' : 'any token') : `scope \`${scope}\``;
  return `  /** ${summary}: \`${method} ${path}\`, ${scoped}. */\n  ${methodOf(name)}(${parts.join(', ')}): ${answer};`;
}

function queryType(parameters: readonly Parameter[]): string {
  const fields = parameters.map(({ name, required, schema }) => `${name}${required ? '' : '?'}: ${typeOf(schema!)}`);
  return `{ ${fields.join('; ')} }`;
}

function schemaOf({ content }: Content): Schema | undefined {
  return content?.['application/json']?.schema;
}

interface AnswerType {
  readonly type: string;
  /** Of a list: the field that holds the items, and their type. */
  readonly pageOf?: { readonly field: string; readonly item: string };
  /** Statuses with it as the answer; 2xx and, for the service's health, 503. */
  readonly statuses: readonly number[];
}

function answerOf({ responses }: Operation, schemas: Schemas): AnswerType {
  const answers = Object.entries(responses).filter(
    ([status, response]) => status.startsWith('2') || schemaOf(response) !== undefined,
  );
  const statuses = answers.map(([status]) => Number(status));
  const found = answers.map(([, response]) => schemaOf(response));
  const type = [...new Set(found.map((schema) => (schema === undefined ? 'void' : typeOf(schema))))].join(' | ');
  const page = found.length === 1 ? resolved(found[0], schemas) : undefined;
  const list = Object.entries(page?.properties ?? {}).find(([, { items }]) => items !== undefined);
  if (page?.properties?.next_cursor === undefined || list === undefined) return { type, statuses };
  return { type, statuses, pageOf: { field: list[0], item: typeOf(list[1].items!) } };
}

function resolved(schema: Schema | undefined, schemas: Schemas): Schema | undefined {
  return schema?.$ref === undefined ? schema : schemas[refName(schema.$ref)];
}

const refName = (ref: string): string => ref.slice('#/components/schemas/'.length);

function declaration(name: string, schema: Schema, types: Schemas): string {
  const { properties, required } = schema;
  if (properties === undefined) return `export type ${name} = ${typeOf(schema)};\n`;
  const base = baseOf(name, schema, types);
  const inherited = Object.keys(base === undefined ? {} : types[base]!.properties!);
  const own = Object.fromEntries(Object.entries(properties).filter(([field]) => !inherited.includes(field)));
  const text =
    base === undefined
      ? `export interface ${name} ${objectType(schema, '')}\n`
      : `export interface ${name} extends ${base} ${objectType({ properties: own, required: required ?? [] }, '')}\n`;
  return terse.test(name) ? text.replace(/^ *\/\*\* .* \*\/\n/gm, '') : text;
}

/** Fewer common fields may be the same by chance. */
const inheritedMin = 4;

/** The largest other type with every field of which this one has the same: its interface extends that one. */
function baseOf(name: string, { properties = {}, required = [] }: Schema, types: Schemas): string | undefined {
  const has = (field: string, other: Schema): boolean =>
    JSON.stringify(properties[field]) === JSON.stringify(other.properties?.[field]) &&
    required.includes(field) === (other.required ?? []).includes(field);
  const sizeOf = (type: string): number => Object.keys(types[type]?.properties ?? {}).length;
  return Object.keys(types)
    .filter((type) => sizeOf(type) >= inheritedMin && sizeOf(type) < Object.keys(properties).length)
    .filter((type) => terse.test(type) === terse.test(name))
    .filter((type) => Object.keys(types[type]!.properties!).every((field) => has(field, types[type]!)))
    .sort((one, other) => sizeOf(other) - sizeOf(one))[0];
}

/** The fields that all members of a union have. */
function commonOf({ anyOf = [] }: Schema, schemas: Schemas): Schema {
  const [first, ...others] = anyOf.map((member) => resolved(member, schemas)!);
  const isCommon = ([name, field]: [string, Schema]): boolean =>
    others.every(({ properties }) => JSON.stringify(properties?.[name]) === JSON.stringify(field));
  const properties = Object.fromEntries(Object.entries(first!.properties!).filter(isCommon));
  return { properties, required: first!.required!.filter((name) => name in properties) };
}

/** Types whose fields have no comments here; docs/faults.md and docs/sandbox-api.md have them: the package is to stay small. */
const terse = /^Sandbox|Fault(Request|Trigger)?$/;

function typeOf(schema: Schema, indent = ''): string {
  const { $ref, anyOf, const: only, enum: values, type } = schema;
  if ($ref !== undefined) return refName($ref);
  if (anyOf !== undefined) return [...new Set(anyOf.map((each) => typeOf(each, indent)))].join(' | ');
  if (only !== undefined) return quote(only);
  if (values !== undefined) return values.map(quote).join(' | ');
  if (type === 'array') return `readonly ${wrapped(typeOf(schema.items ?? {}, indent))}[]`;
  if (type === 'object') return objectType(schema, indent);
  if (type === 'integer') return 'number';
  return type ?? 'unknown';
}

const wrapped = (type: string): string => (/^\w+$/.test(type) ? type : `(${type})`);

export function objectType(schema: Schema, indent: string): string {
  const { properties, required = [], additionalProperties, patternProperties } = schema;
  if (properties === undefined || Object.keys(properties).length === 0) {
    const [values] = Object.values(patternProperties ?? {});
    const value = values ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
    if (value !== undefined) return `Readonly<Record<string, ${typeOf(value, indent)}>>`;
    return additionalProperties === false ? 'Readonly<Record<string, never>>' : 'Readonly<Record<string, unknown>>';
  }
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, field]) => {
    const key = /^\w+$/.test(name) ? name : quote(name);
    const optional = required.includes(name) ? '' : '?';
    return `${comment(field, inner)}${inner}readonly ${key}${optional}: ${typeOf(field, inner)};\n`;
  });
  return `{\n${fields.join('')}${indent}}`;
}

/** The schema's description of a field, for editors. */
export function comment({ description }: Schema, indent: string): string {
  if (description === undefined) return '';
  return `${indent}/** ${description.replaceAll('*/', '*\\/').replaceAll('\n', ' ')} */\n`;
}

function table(group: string, named: readonly Named[], schemas: Schemas): string {
  return named
    .filter(({ name }) => groupOf(name) === group)
    .map((entry) => `    ${methodOf(entry.name)}: ${row(entry, schemas)},`)
    .join('\n');
}

function row({ method, path, operation, query }: Named, schemas: Schemas): string {
  const { parameters = [], requestBody, operationId } = operation;
  const { pageOf, statuses } = answerOf(operation, schemas);
  const isKeyed = parameters.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey'));
  const hasQuery = parameters.some((parameter) => parameter.in === 'query');
  const repeat = method === 'GET' || query !== undefined ? 'always' : isKeyed ? 'keyed' : 'refused';
  const fields = [
    `id: ${quote(operationId)}`,
    `method: ${quote(method)}`,
    `path: ${quote(query === undefined ? path : `${path}?${query}`)}`,
    `repeat: ${quote(repeat)}`,
    ...(requestBody === undefined ? [] : ["input: 'body'"]),
    ...(hasQuery ? ["input: 'query'"] : []),
    ...(pageOf === undefined ? [] : [`list: ${quote(pageOf.field)}`]),
    ...(statuses.some((status) => status >= 300) ? [`answers: [${statuses.join(', ')}]`] : []),
  ];
  return `{ ${fields.join(', ')} }`;
}

const quote = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'` : JSON.stringify(value);

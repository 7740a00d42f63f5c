/** An OpenAPI document as the walkers read it: operations with their schemas in one piece. */
import { Compile, type Validator } from 'typebox/compile';
import type { JsonSchema } from '../../../../gateway/api/schema-text.ts';

export type Document = Record<string, unknown>;
type Part = Record<string, unknown>;

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: JsonSchema;
}

export interface Operation {
  readonly operationId: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With {name} parameters. */
  readonly path: string;
  readonly isPublic: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly schema: JsonSchema; readonly required: boolean } | undefined;
  /** A good answer continues without end. */
  readonly streams: boolean;
  /** By status; undefined: no body. */
  readonly responses: ReadonlyMap<number, Validator | undefined>;
}

export function operationsOf(document: Document): readonly Operation[] {
  const operations: Operation[] = [];
  for (const [path, item] of Object.entries(document.paths as Record<string, Part>)) {
    for (const [method, raw] of Object.entries(item)) {
      const operation = inline(raw, document) as Part & { security?: unknown[] };
      const requestBody = operation.requestBody as { required?: boolean; content: Part } | undefined;
      const responses = Object.entries(operation.responses as Record<string, Part>).map(
        ([status, response]) => [Number(status), compiled(schemaOf(response.content))] as const,
      );
      operations.push({
        operationId: operation.operationId as string,
        method: method.toUpperCase() as Operation['method'],
        path,
        streams: Object.hasOwn(
          (operation.responses as Record<string, Part>)['200']?.content ?? {},
          'text/event-stream',
        ),
        isPublic: operation.security?.length === 0,
        parameters: (operation.parameters ?? []) as Parameter[],
        body:
          requestBody === undefined
            ? undefined
            : { schema: schemaOf(requestBody.content) ?? {}, required: requestBody.required === true },
        responses: new Map(responses),
      });
    }
  }
  return operations;
}

function schemaOf(content: unknown): JsonSchema | undefined {
  return (content as Record<string, { schema: JsonSchema }> | undefined)?.['application/json']?.schema;
}

const judges = new Map<string, Validator>();

function compiled(schema: JsonSchema | undefined): Validator | undefined {
  if (schema === undefined) return undefined;
  const text = JSON.stringify(schema);
  const judge = judges.get(text) ?? Compile(schema as object);
  judges.set(text, judge);
  return judge;
}

/** The part with every reference replaced by what it refers to. Throws when one leads nowhere. */
export function inline(part: unknown, document: Document): unknown {
  if (Array.isArray(part)) return part.map((item) => inline(item, document));
  if (part === null || typeof part !== 'object') return part;
  const { $ref } = part as { $ref?: unknown };
  if (typeof $ref === 'string') return inline(resolve($ref, document), document);
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, inline(value, document)]));
}

export function resolve(ref: string, document: Document): unknown {
  const steps = ref.replace(/^#\//, '').split('/');
  const found = steps.reduce<unknown>((at, step) => (at as Part | undefined)?.[step], document);
  if (found === undefined) throw new Error(`${ref} refers to nothing`);
  return found;
}

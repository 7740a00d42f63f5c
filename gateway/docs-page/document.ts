/** What the page reads of the OpenAPI document (gateway/openapi/document.ts). */
import type { JsonSchema } from '../api/schema-text.ts';

export type Schema = JsonSchema;

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Referred {
  readonly $ref: string;
}

interface Content {
  readonly schema?: Schema;
  readonly example?: unknown;
}

export interface DescribedAnswer {
  readonly description: string;
  readonly content?: Readonly<Record<string, Content>>;
}

export interface DescribedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly 'x-maturity'?: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly (Parameter | Referred)[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, DescribedAnswer | Referred>>;
}

export interface DescribedApi {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** An operation, with its place. */
export interface ApiOperation extends DescribedOperation {
  /** In capitals. */
  readonly method: string;
  /** With {parameters}. */
  readonly path: string;
}

export function operationsOf({ paths }: DescribedApi): readonly ApiOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
}

/** What a `$ref` names; anything else is itself. */
export function resolved<T extends object>(api: DescribedApi, part: T | Referred): T {
  if (!('$ref' in part) || typeof part.$ref !== 'string') return part as T;
  const [kind, name] = part.$ref.split('/').slice(-2);
  return api.components[kind!]![name!] as T;
}

/**
 * Bodies of requests and answers as a page may show them: what the OpenAPI document marks as secret is replaced, and so is what it
 * does not know. Without a schema nothing is shown.
 */
import { withoutQueryValues } from '../../wallets/delivery/webhooks/public.ts';
import { secretText, withoutSecrets } from '../access-log/secret-text.ts';

/** The parts of a JSON Schema that it reads. */
export interface MaskSchema {
  readonly $ref?: string;
  readonly 'x-secret'?: true | 'query';
  readonly writeOnly?: boolean;
  readonly properties?: Readonly<Record<string, MaskSchema>>;
  readonly patternProperties?: Readonly<Record<string, MaskSchema>>;
  readonly additionalProperties?: boolean | MaskSchema;
  readonly items?: MaskSchema;
  readonly anyOf?: readonly MaskSchema[];
  readonly oneOf?: readonly MaskSchema[];
  readonly allOf?: readonly MaskSchema[];
}

export type NamedMaskSchemas = Readonly<Record<string, MaskSchema>>;

export interface Masked {
  readonly value: unknown;
  /** The fields whose values are not shown, as paths. */
  readonly fields: readonly string[];
}

const unknownText = '(unknown field)';

export function masked(value: unknown, schema: MaskSchema, named: NamedMaskSchemas): Masked {
  const fields: string[] = [];
  return { value: maskedAt(value, schemasOf(schema, named), named, '', fields), fields };
}

function maskedAt(
  value: unknown,
  schemas: readonly MaskSchema[],
  named: NamedMaskSchemas,
  path: string,
  fields: string[],
): unknown {
  const hide = (text: string): string => {
    fields.push(path);
    return text;
  };
  if (value === null) return null;
  if (schemas.some((schema) => schema['x-secret'] === true || schema.writeOnly === true)) return hide(secretText);
  if (typeof value === 'string') {
    const isUrl = schemas.some((schema) => schema['x-secret'] === 'query');
    const shown = withoutSecrets(isUrl ? withoutQueryValues(value) : value);
    return shown === value ? value : hide(shown);
  }
  if (typeof value !== 'object') return value;
  const below = (inner: unknown, found: readonly MaskSchema[], name: string): unknown =>
    maskedAt(
      inner,
      found.flatMap((schema) => schemasOf(schema, named)),
      named,
      path === '' ? name : `${path}.${name}`,
      fields,
    );
  if (Array.isArray(value)) {
    const items = schemas.flatMap(({ items: each }) => each ?? []);
    return value.map((inner, index) => below(inner, items, String(index)));
  }
  const isFree = schemas.every(
    ({ properties, patternProperties }) => properties === undefined && patternProperties === undefined,
  );
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const found = schemas.flatMap((schema) => schemaOfField(schema, name));
      if (found.length > 0 || isFree) return [name, below(inner, found, name)];
      fields.push(path === '' ? name : `${path}.${name}`);
      return [name, unknownText];
    }),
  );
}

/** The signing API takes names in both forms. */
function schemaOfField(schema: MaskSchema, name: string): readonly MaskSchema[] {
  const { properties = {}, patternProperties = {}, additionalProperties } = schema;
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  for (const key of [name, snake]) if (Object.hasOwn(properties, key)) return [properties[key]!];
  const matching = Object.entries(patternProperties).filter(([pattern]) => new RegExp(pattern, 'u').test(name));
  if (matching.length > 0) return matching.map(([, found]) => found);
  return typeof additionalProperties === 'object' ? [additionalProperties] : [];
}

/** It and its alternatives: a value is secret when one of them says so. */
function schemasOf(schema: MaskSchema, named: NamedMaskSchemas): readonly MaskSchema[] {
  const { $ref, anyOf = [], oneOf = [], allOf = [] } = schema;
  const target = $ref === undefined ? undefined : named[$ref.slice($ref.lastIndexOf('/') + 1)];
  const others = [...(target === undefined ? [] : [target]), ...anyOf, ...oneOf, ...allOf];
  return [schema, ...others.flatMap((other) => schemasOf(other, named))];
}

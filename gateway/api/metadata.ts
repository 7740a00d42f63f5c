/**
 * Metadata: a JSON object of the caller, stored and shown unchanged. The service does not interpret it; rules may read it. Any
 * name may be a key, `__proto__` and `constructor` among them: JSON.parse makes plain own properties of them, and no code
 * copies single entries of metadata into other objects.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import Type from 'typebox';

export type MetadataValue = Readonly<Record<string, unknown>>;

export const metadataLimits = {
  /** Keys of the object itself. */
  keysMax: 50,
  /** Objects and lists within each other, the metadata itself among them. */
  depthMax: 8,
  /** Of its shortest JSON text in UTF-8. */
  bytesMax: 16 * 1024,
} as const;

const { keysMax, depthMax, bytesMax } = metadataLimits;

/** In the schema of a body or an answer. Refinements express the rules that JSON Schema cannot; `error` names the issue. */
export const Metadata = Type.Refine(
  Type.Refine(
    Type.Unsafe<MetadataValue>({
      type: 'object',
      maxProperties: keysMax,
      additionalProperties: true,
      description: `a JSON object of up to ${keysMax} keys, ${depthMax} levels and ${bytesMax} bytes`,
      examples: [{ team: 'treasury', cost_center: 4711, tags: ['payroll', 'monthly'] }],
    }),
    (value) => depthWithin(value, depthMax),
    () => 'too_deep',
  ),
  (value) => Buffer.byteLength(JSON.stringify(value)) <= bytesMax,
  () => 'too_large',
);

function depthWithin(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return true;
  return levels > 0 && Object.values(value).every((part) => depthWithin(part, levels - 1));
}

/** What a list takes to find records by their metadata. */
export const MetadataFilter = Type.String({
  pattern: '^[^:]+:[^]+$',
  maxLength: 1_000,
  description:
    '`key:value`: records whose metadata has this key at its first level with this value: a text, a number or a boolean. The key has no colon',
  examples: ['invoice:INV-2026-0117'],
});

/** The indices by which `MetadataFilter` finds a record with this metadata. `list`: the beginning of their names. */
export function metadataIndices(list: string, metadata: MetadataValue): string[] {
  return Object.entries(metadata).flatMap(([key, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value) ? [metadataIndex(list, `${key}:${String(value)}`)] : [],
  );
}

/** `filter`: as `MetadataFilter` has it. A digest, since a value may have 16 KiB and be personal. */
export function metadataIndex(list: string, filter: string): string {
  return `${list}:${createHash('sha256').update(filter).digest('base64url').slice(0, 22)}`;
}

/** The order of the keys does not count. */
export function sameMetadata(one: MetadataValue, other: MetadataValue): boolean {
  return isDeepStrictEqual(one, other);
}

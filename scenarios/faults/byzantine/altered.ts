/**
 * A message with one field altered: to a value out of its range, or contradicting the rest. A signature or MAC over
 * the field does not change.
 */
import type { WireBody, WireEnvelope } from '../../../proto/wire.ts';
import type { Alteration, AlterationKind } from '../vocabulary/fault-parts.ts';

/** The length that `huge` adds to a text, in characters, or to bytes: above every limit of a field (proto/limits.ts). */
const hugeChars = 2_000;
const hugeBytes = 70_000;
/** More than any count or id. */
const hugeNumber = 1_000_000;

/** `tenant`, `session` and `attempt` are those of the frame. Undefined: no such field, or it already has that value. */
export function alteredFrame(envelope: WireEnvelope, { field, change }: Alteration): WireEnvelope | undefined {
  const { body, ...about } = envelope.message;
  if (field in about) {
    const message = altered(about, { field, change });
    return message && { ...envelope, message: { ...message, body } };
  }
  const value = altered(body.value as object, { field, change });
  return value && { ...envelope, message: { ...about, body: { ...body, value } as WireBody } };
}

/** A copy with the field altered; undefined: no such field exists, or it already has that value. */
export function altered<M extends object>(message: M, { field, change }: Alteration): M | undefined {
  return within(message, field.split('.').map(camelCase), change) as M | undefined;
}

function within(value: unknown, path: readonly string[], change: AlterationKind): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return instead(value, change);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return undefined;
  // One of several fields: its name is the case.
  if ('case' in value && 'value' in value && value.case === name) {
    const inner = within(value.value, rest, change);
    return inner === undefined ? undefined : { ...value, value: inner };
  }
  const before = (value as Readonly<Record<string, unknown>>)[name];
  if (before === undefined) return undefined;
  if (rest.length === 0 && change === 'missing') {
    if (typeof before !== 'object' || before instanceof Uint8Array || Array.isArray(before)) return undefined;
    const { [name]: _, ...others } = value as Readonly<Record<string, unknown>>;
    return others;
  }
  const inner = within(before, rest, change);
  if (inner === undefined) return undefined;
  return Array.isArray(value) ? value.with(Number(name), inner) : { ...value, [name]: inner };
}

function instead(value: unknown, change: AlterationKind): unknown {
  const found = changed(value, change);
  return isSame(found, value) ? undefined : found;
}

function changed(value: unknown, change: AlterationKind): unknown {
  if (typeof value === 'boolean') return change === 'other' ? !value : undefined;
  if (typeof value === 'number') return numberInstead(value, change);
  if (typeof value === 'bigint') {
    const found = numberInstead(Number(value), change);
    return found === undefined ? undefined : BigInt(found);
  }
  if (typeof value === 'string') return textInstead(value, change);
  if (value instanceof Uint8Array) return bytesInstead(value, change);
  return Array.isArray(value) ? listInstead(value, change) : undefined;
}

function numberInstead(value: number, change: AlterationKind): number | undefined {
  if (change === 'zero') return 0;
  if (change === 'above') return value + 1;
  if (change === 'below') return Math.max(0, value - 1);
  return change === 'huge' ? hugeNumber : undefined;
}

function textInstead(value: string, change: AlterationKind): string | undefined {
  if (change === 'empty') return '';
  if (change === 'shorter') return value.slice(0, -1);
  if (change === 'longer') return `${value}x`;
  if (change === 'huge') return value + 'x'.repeat(hugeChars);
  return change === 'other' ? value.slice(0, -1) + (value.endsWith('x') ? 'y' : 'x') : undefined;
}

function bytesInstead(value: Uint8Array, change: AlterationKind): Uint8Array | undefined {
  if (change === 'empty') return new Uint8Array(0);
  if (change === 'zero') return new Uint8Array(value.length);
  if (change === 'shorter') return value.slice(0, -1);
  if (change === 'longer') return Uint8Array.of(...value, 1);
  if (change === 'huge') return new Uint8Array(value.length + hugeBytes);
  if (change !== 'other' || value.length === 0) return undefined;
  // A copy: a buffer's own slice would change the original frame too.
  const copy = Uint8Array.from(value);
  copy[copy.length - 1]! ^= 1;
  return copy;
}

function listInstead(value: readonly unknown[], change: AlterationKind): unknown[] | undefined {
  if (change === 'empty') return [];
  if (change === 'shorter') return value.slice(0, -1);
  if (change === 'reversed') return [...value].reverse();
  return change === 'twice' && value.length > 0 ? [value[0], ...value] : undefined;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, index) => one === b[index]);
  return a === b;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

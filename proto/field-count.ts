/**
 * Counts the fields of encoded messages. A few bytes can hold a field, so a small message can hold hundreds of thousands
 * of them, and each costs the decoder an object. Counting them first costs almost nothing.
 */
import type { DescMessage } from '@bufbuild/protobuf';

/**
 * Whether a message and those within it have more than `fieldsMax` fields, entries of lists counted each. Bytes that are
 * no message are left to the decoder, which refuses them.
 */
export function hasTooManyFields(schema: DescMessage, bytes: Uint8Array, fieldsMax: number): boolean {
  return count(schema, bytes, { begin: 0, end: bytes.length }, 0, fieldsMax) > fieldsMax;
}

/** Fields so far, with those of this part; not much more than the limit once that is passed. */
function count(
  schema: DescMessage,
  bytes: Uint8Array,
  { begin, end }: { readonly begin: number; readonly end: number },
  soFar: number,
  fieldsMax: number,
): number {
  let fields = soFar;
  let at = begin;
  /** Varints of lengths and tags: a value above 32 bits is no length, and the decoder refuses it. */
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; at < end; shift += 7) {
      const byte = bytes[at]!;
      at += 1;
      if (shift < 35) value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return value;
  };
  while (at < end && fields <= fieldsMax) {
    const tag = varint();
    fields += 1;
    switch (tag & 7) {
      case 0:
        varint();
        break;
      case 1:
        at += 8;
        break;
      case 2: {
        const length = varint();
        const inner = schema.fields.find((field) => field.number === tag >>> 3);
        if (inner?.fieldKind === 'message') {
          const part = { begin: at, end: Math.min(at + length, end) };
          fields = count(inner.message, bytes, part, fields, fieldsMax);
        }
        at += length;
        break;
      }
      case 5:
        at += 4;
        break;
      // The begin or end of a group: its fields count like the rest.
      case 3:
      case 4:
        break;
      default:
        return fields;
    }
  }
  return fields;
}

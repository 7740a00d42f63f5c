/**
 * Request messages off the wire, within bounds: a few bytes can hold a field, so a small message can hold hundreds of
 * thousands of them, and each costs the decoder an object. They are counted first, which costs next to nothing.
 */
import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import { requestFieldsMax } from './limits.ts';

/** Drops fields that the contract does not know. Throws when the bytes do not decode, or hold too much. */
export function decodeRequest<D extends DescMessage>(schema: D, bytes: Uint8Array): MessageShape<D> {
  if (hasTooManyFields(schema, bytes)) throw new RangeError(`more than ${requestFieldsMax} fields in one message`);
  return fromBinary(schema, bytes, { readUnknownFields: false });
}

/**
 * Whether a message and those within it have more than `requestFieldsMax` fields, entries of lists counted each. Bytes
 * that are no message are for the decoder to refuse.
 */
export function hasTooManyFields(schema: DescMessage, bytes: Uint8Array): boolean {
  return count(schema, bytes, 0, bytes.length, 0) > requestFieldsMax;
}

/** Fields so far, with those between `begin` and `end`; not much more than the limit once that is passed. */
function count(schema: DescMessage, bytes: Uint8Array, begin: number, end: number, soFar: number): number {
  let fields = soFar;
  let at = begin;
  /** Varints of lengths and tags: what is longer than 32 bits is no length, and the decoder says so. */
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
  while (at < end && fields <= requestFieldsMax) {
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
          fields = count(inner.message, bytes, at, Math.min(at + length, end), fields);
        }
        at += length;
        break;
      }
      case 5:
        at += 4;
        break;
      // The begin or end of a group: what is in it counts like the rest.
      case 3:
      case 4:
        break;
      default:
        return fields;
    }
  }
  return fields;
}

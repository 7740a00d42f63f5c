/** Messages of any of this repository's schemas, for properties of the codec. */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { codePoint } from '../../support/code-point.ts';

export const text = fc.oneof(
  fc.constant(''),
  fc.string({ maxLength: 300 }),
  fc.string({ unit: codePoint, maxLength: 300 }),
  // Names are as long as their varints' edges.
  fc.constantFrom(126, 127, 128, 129).map((length) => 'x'.repeat(length)),
);
export const bytes = fc.uint8Array({ maxLength: 200 });
/** Whatever a message of a schema may hold: every field at its default, at its edges, or left out. */
export function arbitraryOf(schema: DescMessage, depth = 0): fc.Arbitrary<Record<string, unknown>> {
  const member = (field: DescField): fc.Arbitrary<unknown> => {
    switch (field.fieldKind) {
      case 'message':
        return arbitraryOf(field.message, depth + 1);
      case 'enum':
        return fc.integer({ min: -2, max: 300 });
      case 'list': {
        const one =
          field.listKind === 'message'
            ? arbitraryOf(field.message, depth + 1)
            : field.listKind === 'enum'
              ? fc.integer({ min: 0, max: 9 })
              : scalarOf(field.scalar);
        return fc.array(one, { maxLength: depth > 1 ? 1 : 3 });
      }
      case 'scalar':
        return scalarOf(field.scalar);
      default:
        throw new Error('no frame has a map');
    }
  };
  const plain = schema.fields
    .filter(({ oneof }) => oneof === undefined)
    .map((field) => [field.localName, member(field)]);
  const oneofs = schema.oneofs.map((oneof) => [
    oneof.localName,
    fc.oneof(
      fc.constant({ case: undefined }),
      ...oneof.fields.map((field) => member(field).map((value) => ({ case: field.localName, value }))),
    ),
  ]);
  return fc.record(Object.fromEntries([...plain, ...oneofs]), { requiredKeys: [] });
}

function scalarOf(scalar: ScalarType): fc.Arbitrary<unknown> {
  switch (scalar) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BYTES:
      return bytes;
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.UINT32:
      return fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 ** 32 - 1 }));
    case ScalarType.INT32:
      return fc.oneof(fc.constant(0), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }));
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }));
    case ScalarType.INT64:
      return fc.oneof(fc.constant(0n), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
    default:
      throw new Error(`no frame has a scalar of kind ${scalar}`);
  }
}

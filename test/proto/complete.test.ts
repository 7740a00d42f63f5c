/** Completing plain objects: what the library's own `create` makes, for every message of this repository's schemas. */
import { create, type DescField, type DescMessage, ScalarType, toBinary } from '@bufbuild/protobuf';
import { StructSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { complete } from '../../proto/complete.ts';
import { file_signmesh_wire_v1_cluster } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { file_signmesh_wire_v1_dkg } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { FrameSchema, file_signmesh_wire_v1_frame } from '../../proto/gen/signmesh/wire/v1/frame_pb.ts';
import { file_signmesh_wire_v1_signing } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { file_svc_mesh_v1_mpc_wallet } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

const schemas = [
  file_signmesh_wire_v1_cluster,
  file_signmesh_wire_v1_dkg,
  file_signmesh_wire_v1_frame,
  file_signmesh_wire_v1_signing,
  file_svc_mesh_v1_mpc_wallet,
].flatMap(({ messages }) => messages);

function scalar(field: DescField & { readonly fieldKind: 'scalar' | 'list' }): fc.Arbitrary<unknown> {
  switch (field.scalar) {
    case ScalarType.BYTES:
      return fc.oneof(fc.uint8Array({ maxLength: 8 }), fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 4 }));
    case ScalarType.STRING:
      return fc.string({ maxLength: 5 });
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return fc.bigInt({ min: 0n, max: 1n << 60n });
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return fc.constant(1.5);
    default:
      return fc.integer({ min: 0, max: 1000 });
  }
}

function valueFor(field: DescField, depth: number): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case 'message':
      return initOf(field.message, depth - 1);
    case 'enum':
      return fc.integer({ min: 0, max: 3 });
    case 'scalar':
      return scalar(field);
    case 'list': {
      const item =
        field.listKind === 'message'
          ? initOf(field.message, depth - 1)
          : field.listKind === 'enum'
            ? fc.integer({ min: 0, max: 3 })
            : scalar(field);
      return fc.array(item, { maxLength: 3 });
    }
    case 'map':
      return fc.constant({});
  }
}

/** Plain objects, complete messages among them, with members that are missing, undefined and null. */
function initOf(schema: DescMessage, depth: number): fc.Arbitrary<unknown> {
  if (depth < 0) return fc.constant({});
  const members = schema.members.map((member): [string, fc.Arbitrary<unknown>] => {
    if (member.kind !== 'oneof') return [member.localName, valueFor(member, depth)];
    const cases = member.fields.map((field) =>
      valueFor(field, depth).map((value) => ({ case: field.localName, value })),
    );
    return [member.localName, fc.oneof(fc.constant({ case: undefined }), ...cases)];
  });
  const plain = fc.record(
    Object.fromEntries(
      members.map(([name, value]) => [
        name,
        fc.oneof({ weight: 4, arbitrary: value }, fc.constantFrom(undefined, null)),
      ]),
    ),
    { requiredKeys: [] },
  );
  return fc.oneof(
    { weight: 4, arbitrary: plain },
    plain.map((init) => create(schema, init as never)),
  );
}

describe('a completed message', () => {
  test.each(schemas.map((schema) => [schema.typeName, schema] as const))('%s is what create makes', (_name, schema) => {
    fc.assert(
      fc.property(initOf(schema, 3), (init) => {
        const made = complete(schema, init as never);
        const expected = create(schema, init as never);
        expect(made).toStrictEqual(expected);
        expect(toBinary(schema, made)).toEqual(toBinary(schema, expected));
      }),
      { numRuns: 30 },
    );
  });

  test('shares no list and no oneof with another', () => {
    const [one, two] = [complete(FrameSchema, {}), complete(FrameSchema, {})];
    expect(one.body).toEqual({ case: undefined });
    expect(one.body).not.toBe(two.body);
  });

  test('is returned as it is when it is complete already', () => {
    const frame = create(FrameSchema, { to: 'node/1' });
    expect(complete(FrameSchema, frame)).toBe(frame);
  });

  test('leaves what this repository has none of to the library', () => {
    const init = { fields: { a: { kind: { case: 'numberValue' as const, value: 1 } } } };
    expect(complete(StructSchema, init as never)).toStrictEqual(create(StructSchema, init as never));
  });
});

/**
 * A call whose request does not decode can still be refused by its id. Its gateway wrote the bytes around the request, and they
 * are intact; only then can the coordinator answer.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { CallSchema } from './gen/signmesh/wire/v1/cluster_pb.ts';
import { FrameSchema } from './gen/signmesh/wire/v1/frame_pb.ts';

const callField = FrameSchema.field.call.number;
const callIdField = CallSchema.field.callId.number;

/**
 * The bytes of the same frame, with a call that only has its id. undefined: the frame is not one call, or is broken
 * outside of its request.
 */
export function withoutRequest(frame: Uint8Array): Uint8Array | undefined {
  try {
    const stripped = new BinaryWriter();
    const reader = new BinaryReader(frame);
    let calls = 0;
    while (reader.pos < reader.len) {
      const begin = reader.pos;
      const [field, wireType] = reader.tag();
      if (field === callField && wireType === WireType.LengthDelimited) {
        calls += 1;
        const call = new BinaryWriter().tag(callIdField, WireType.Varint).uint64(callIdOf(reader.bytes()));
        stripped.tag(callField, WireType.LengthDelimited).bytes(call.finish());
      } else {
        reader.skip(wireType, field);
        stripped.raw(frame.subarray(begin, reader.pos));
      }
    }
    return calls === 1 ? stripped.finish() : undefined;
  } catch {
    return undefined;
  }
}

/** Throws if the call's own fields do not fill it exactly, or none of them is the id. */
function callIdOf(call: Uint8Array): bigint {
  const reader = new BinaryReader(call);
  let callId: bigint | undefined;
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === callIdField && wireType === WireType.Varint) callId = BigInt(reader.uint64());
    else reader.skip(wireType, field);
  }
  if (callId === undefined) throw new Error('a call without an id');
  return callId;
}

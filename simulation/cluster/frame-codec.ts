/**
 * Encodes and decodes each frame, so that a receiver shares nothing with the sender. Without the codec, frames only get their
 * missing fields, which is cheaper; their bytes are then shared.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { complete } from '../../proto/complete.ts';
import { FrameSchema } from '../../proto/gen/signmesh/wire/v1/frame_pb.ts';
import { decodeFrames, encodeFrame, type ReceivedWireMessage, type WireEnvelope } from '../../proto/wire.ts';

export type Codec = 'bytes' | 'none';
export type ReceivedEnvelope = WireEnvelope<ReceivedWireMessage>;

const schemas: ReadonlyMap<string, DescMessage> = new Map(
  (FrameSchema.oneofs[0]?.fields ?? []).flatMap((field): [string, DescMessage][] =>
    field.fieldKind === 'message' ? [[field.localName, field.message]] : [],
  ),
);

/** A frame as its receiver sees it; `bytes` only with the codec. Throws for a frame that cannot be encoded. */
export function throughCodec(
  envelope: WireEnvelope,
  codec: Codec,
): { readonly envelope: ReceivedEnvelope; readonly bytes: Uint8Array | undefined } {
  if (codec === 'none') return { envelope: completed(envelope), bytes: undefined };
  const bytes = encodeFrame(envelope);
  return { envelope: decodeFrames(bytes)[0]!, bytes };
}

/** The frame with the fields that it lacks. */
export function completed(envelope: WireEnvelope): ReceivedEnvelope {
  const { from, to, message, trace } = envelope;
  const { tenant, session, attempt, body } = message;
  const value = complete(schemas.get(body.case)!, body.value as never);
  return { from, to, message: { tenant, session, attempt, body: { case: body.case, value } as never }, trace };
}

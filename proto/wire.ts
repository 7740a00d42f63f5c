/**
 * The codec of the internal wire: frames and handshake steps to bytes and back.
 *
 * One WebSocket message carries one or more frames, each after its length as a varint (protobuf's delimited form), so
 * that a burst costs one system call. Bytes from a peer are data: bytes that do not decode throw WireError, and nothing else throws.
 */
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { writeFrame } from './frame-encoding.ts';
import type { Call, CallReply } from './gen/signmesh/wire/v1/cluster_pb.ts';
import { type Frame, FrameSchema } from './gen/signmesh/wire/v1/frame_pb.ts';
import { type Handshake, HandshakeSchema } from './gen/signmesh/wire/v1/handshake_pb.ts';
import { frameFieldsMax, identifierCharsMax } from './limits.ts';
import { decodeMessage } from './message-decoding.ts';
import { withoutRequest } from './refused-request.ts';

/** The wire protocol versions that this build speaks, best first. */
export const wireProtocolVersions: readonly number[] = [3];

export class WireError extends Error {
  override readonly name = 'WireError';
}

/** A body as received from the wire. */
export type WireBody = Exclude<Frame['body'], { case: undefined }>;
export type WireCase = WireBody['case'];
/** A body as an actor writes it: nested messages as plain objects. */
export type WireBodyInit = Extract<NonNullable<MessageInitShape<typeof FrameSchema>['body']>, { case: WireCase }>;

/** The request of a call, as received from the wire. Its case names the method. */
export type CallRequest = Exclude<Call['request'], { case: undefined }>;
export type CallCase = CallRequest['case'];

const beginning: ReadonlySet<CallCase> = new Set(['initiateDkg', 'initiateSigning', 'makeKey', 'refreshKey', 'sign']);

/** Whether a call begins a session; the others continue one, or end a key. */
export function beginsSession(asked: CallCase): boolean {
  return beginning.has(asked);
}

/** The answer to a call that has a response: its case is the request's. */
export type CallResponse = Exclude<CallReply['outcome'], { case: undefined | 'error' }>;

type Requests = { [R in CallRequest as R['case']]: R['value'] };
type Responses = { [R in CallResponse as R['case']]: R['value'] };
/** The request of each kind, and the response to it. */
export type RequestOf<K extends CallCase> = Requests[K];
export type ResponseOf<K extends CallCase> = Responses[K];

/** The message of an envelope between processes. `attempt` 0, `session` and `tenant` empty: the frame has none. */
export interface WireMessage {
  readonly tenant: string;
  readonly session: string;
  readonly attempt: number;
  readonly body: WireBodyInit | WireBody;
}

/** A received message: its body is complete. */
export interface ReceivedWireMessage extends WireMessage {
  readonly body: WireBody;
}

export interface WireEnvelope<M extends WireMessage = WireMessage> {
  readonly from: string;
  readonly to: string;
  readonly message: M;
  readonly trace: { readonly correlationId: string; readonly traceparent: string };
}

/** One frame after its length. Throws on numbers that their fields cannot hold. */
export function encodeFrame(envelope: WireEnvelope): Uint8Array {
  return writeFrame(envelope);
}

/**
 * All frames of one WebSocket message, without fields that this version does not know, and with a trace of at most
 * `identifierCharsMax` characters a field. A call of which only the request does not decode is returned without a request, so that
 * it can only be refused. Throws WireError on anything else, also on a frame without a body.
 */
export function decodeFrames(bytes: Uint8Array): WireEnvelope<ReceivedWireMessage>[] {
  const envelopes: WireEnvelope<ReceivedWireMessage>[] = [];
  try {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      envelopes.push(toEnvelope(decodeFrame(reader.bytes())));
    }
  } catch (error) {
    if (error instanceof WireError) throw error;
    throw new WireError(`malformed frame: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
  return envelopes;
}

function decodeFrame(bytes: Uint8Array): Frame {
  try {
    return decodeMessage(FrameSchema, bytes, frameFieldsMax);
  } catch (error) {
    const refusable = withoutRequest(bytes);
    if (refusable === undefined) throw error;
    return decodeMessage(FrameSchema, refusable, frameFieldsMax);
  }
}

function toEnvelope(frame: Frame): WireEnvelope<ReceivedWireMessage> {
  if (frame.body.case === undefined) throw new WireError('a frame without a body, or of a kind this version lacks');
  return {
    to: frame.to,
    from: frame.from,
    message: { tenant: frame.tenant, session: frame.session, attempt: frame.attempt, body: frame.body },
    trace: {
      correlationId: frame.correlationId.slice(0, identifierCharsMax),
      traceparent: frame.traceparent.slice(0, identifierCharsMax),
    },
  };
}

export type HandshakeStep = Exclude<Handshake['step'], { case: undefined }>;
export type HandshakeStepInit = Extract<
  NonNullable<MessageInitShape<typeof HandshakeSchema>['step']>,
  { case: HandshakeStep['case'] }
>;

export function encodeHandshake(step: HandshakeStepInit): Uint8Array {
  return toBinary(HandshakeSchema, create(HandshakeSchema, { step }));
}

/** Throws WireError on anything but a handshake step. */
export function decodeHandshake(bytes: Uint8Array): HandshakeStep {
  let handshake: Handshake;
  try {
    handshake = fromBinary(HandshakeSchema, bytes);
  } catch (error) {
    throw new WireError(`malformed handshake: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
  if (handshake.step.case === undefined) throw new WireError('a handshake message without a step');
  return handshake.step;
}

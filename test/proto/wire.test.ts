/** The versions of the wire: the answer to an older process, and the fate of its frames. */
import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { describe, expect, test } from 'vitest';
import { callRouterBehaviour } from '../../coordinator/call-router.ts';
import { clientHandshake, serverHandshake } from '../../core/actors/live/handshake.ts';
import { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { FrameSchema } from '../../proto/gen/signmesh/wire/v1/frame_pb.ts';
import { InitiateSigningRequestSchema } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { frameFieldsMax } from '../../proto/limits.ts';
import { decodeFrames, type WireBody, WireError, wireProtocolVersions } from '../../proto/wire.ts';
import { clientConfig, codec, serverConfig } from '../core/actors/support/harness.ts';

const nonce = (value: number) => new Uint8Array(32).fill(value);

/** A frame to the coordinator whose body field has these bytes. */
function frameWith(bodyField: number, body: Uint8Array): Uint8Array {
  const frame = new BinaryWriter();
  frame.tag(1, WireType.LengthDelimited).string('coordinator');
  frame.tag(2, WireType.LengthDelimited).string('gateway/1');
  frame.tag(bodyField, WireType.LengthDelimited).bytes(body);
  return new BinaryWriter().bytes(frame.finish()).finish();
}

const callField = FrameSchema.field.call.number;

/** A call as version 2 wrote it: a number for the method, and the encoded request. */
function callOfVersion2(): Uint8Array {
  const request = toBinary(InitiateSigningRequestSchema, create(InitiateSigningRequestSchema, { walletId: 'w' }));
  const call = new BinaryWriter();
  call.tag(1, WireType.Varint).uint64(7n);
  call.tag(2, WireType.Varint).int32(3);
  call.tag(3, WireType.LengthDelimited).bytes(request);
  return frameWith(callField, call.finish());
}

describe('a process of version 2', () => {
  const current = { protocolVersions: wireProtocolVersions };
  const older = { protocolVersions: [2] };

  test('is told PROTOCOL_VERSION by a coordinator of this version', () => {
    const hub = serverHandshake(serverConfig(current), codec, nonce(1));
    // A peer that speaks what it is offered, and says that it speaks version 2.
    const peer = clientHandshake(clientConfig('gateway', 0, current), codec, nonce(2));
    const answer = peer.receive(hub.challenge);
    if (answer.kind !== 'hello') throw new Error('no hello');
    const hello = codec.decodeHandshake(answer.hello);
    if (hello.case !== 'hello') throw new Error('no hello');
    const old = codec.encodeHandshake({ case: 'hello', value: { ...hello.value, protocolVersion: 2 } });
    expect(hub.receive(old)).toMatchObject({ kind: 'refused', code: 'PROTOCOL_VERSION' });
  });

  test('is told so when it is the coordinator, and refuses a peer of this version by the same name', () => {
    const old = serverHandshake(serverConfig(older), codec, nonce(1));
    const peer = clientHandshake(clientConfig('node', 1, current), codec, nonce(2));
    expect(peer.receive(old.challenge)).toMatchObject({ kind: 'refused', code: 'PROTOCOL_VERSION' });
    const hub = serverHandshake(serverConfig(current), codec, nonce(1));
    const oldPeer = clientHandshake(clientConfig('node', 1, older), codec, nonce(2));
    expect(oldPeer.receive(hub.challenge)).toMatchObject({ kind: 'refused', code: 'PROTOCOL_VERSION' });
  });

  test('has its call answered as one without a request, should it arrive', () => {
    const [envelope] = decodeFrames(callOfVersion2());
    const { body } = envelope!.message;
    expect(body).toMatchObject({ case: 'call', value: { callId: 7n, request: { case: undefined } } });
    const front = callRouterBehaviour({ resumeKey: nonce(3), sandbox: true });
    const context = { self: 'coordinator', nowMs: 0, random: (length: number) => new Uint8Array(length) };
    const { from, message, trace } = envelope!;
    const { effects } = front.receive(null, { kind: 'message', from, message, trace }, context);
    expect(effects).toHaveLength(1);
    const [reply] = effects;
    if (reply?.kind !== 'send' || !('body' in reply.message)) throw new Error('no reply');
    const { value } = reply.message.body as Extract<WireBody, { case: 'callReply' }>;
    expect(value).toMatchObject({ callId: 7n, outcome: { case: 'error', value: { code: CallErrorCode.MALFORMED } } });
  });
});

describe('a frame', () => {
  test('with a trace beyond the limit of ids is read with a shorter one, so that it does not fill the frames that follow', () => {
    const [correlationId, traceparent] = ['c'.repeat(100_000), 't'.repeat(100_000)];
    const body = { case: 'dkgDiscard', value: {} } as const;
    const frame = toBinary(FrameSchema, create(FrameSchema, { from: 'node/1', correlationId, traceparent, body }));
    const [read] = decodeFrames(new BinaryWriter().bytes(frame).finish());
    expect(read?.trace).toEqual({ correlationId: 'c'.repeat(256), traceparent: 't'.repeat(256) });
  });

  test('without a body, or with one that this version lacks, is refused', () => {
    for (const bytes of [frameWith(99, new Uint8Array()), Uint8Array.of(0)]) {
      expect(() => decodeFrames(bytes)).toThrow(WireError);
    }
  });

  test('that holds more fields than any needs is refused', () => {
    const status = new BinaryWriter();
    for (let index = 0; index <= frameFieldsMax; index += 1) status.tag(1, WireType.Varint).uint32(1);
    const bytes = frameWith(FrameSchema.field.clusterStatus.number, status.finish());
    expect(() => decodeFrames(bytes)).toThrow(`more than ${frameFieldsMax} fields`);
  });
});

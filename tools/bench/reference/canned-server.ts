/**
 * A bare server that answers the two calls of a signature with the same bytes each time, over REST and over gRPC: a measurement
 * against it shows only the load generator. It ends when its parent does.
 */
import { createServer as createHttp2 } from 'node:http2';
import { type AddressInfo, createServer } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import {
  InitiateSigningResponseSchema,
  SignatureShareResponseSchema,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

const sessionId = 'sig_00000000-0000-7000-8000-000000000000';
/** The size of a real answer: the client parses all of it. */
const filler = 'x'.repeat(700);
const receipt = (reasonCode: string) => ({ reasonCode, receiptId: 'rcp_canned', message: filler });

const bodies = {
  initiate: rest({ signing_session_id: sessionId, receipt: restReceipt('SESSION_ACCEPTED'), checkpoint: null }),
  share: rest({
    session_id: sessionId,
    full_signature: Buffer.alloc(64).toString('base64'),
    recovery_id: 'AA==',
    receipt: restReceipt('SIGNATURE_COMPLETED'),
    checkpoint: null,
  }),
};
const frames = {
  InitiateSigning: grpcFrame(
    toBinary(
      InitiateSigningResponseSchema,
      create(InitiateSigningResponseSchema, { signingSessionId: sessionId, receipt: receipt('SESSION_ACCEPTED') }),
    ),
  ),
  SubmitSignatureShare: grpcFrame(
    toBinary(
      SignatureShareResponseSchema,
      create(SignatureShareResponseSchema, {
        signingSessionId: sessionId,
        receipt: receipt('SIGNATURE_COMPLETED'),
        fullSignature: Buffer.alloc(64),
      }),
    ),
  ),
};

function restReceipt(reason_code: string) {
  return { reason_code, receipt_id: 'rcp_canned', message: filler };
}

function rest(body: object): Buffer {
  const text = JSON.stringify(body);
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  );
}

function grpcFrame(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}

// The generator sends one request at a time on a connection, each in one piece: no parser is needed.
const http = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    if (chunk.includes('POST /v1/signing/initiate')) socket.write(bodies.initiate);
    else if (chunk.includes('POST /v1/signing/share')) socket.write(bodies.share);
  });
});

const grpc = createHttp2();
grpc.on('stream', (stream, headers) => {
  const method = String(headers[':path']).split('/').at(-1) as keyof typeof frames;
  stream.on('error', () => undefined);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(frames[method]);
  stream.resume();
});

http.listen(0, '127.0.0.1', () =>
  grpc.listen(0, '127.0.0.1', () => {
    const port = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
    process.send?.({ http: port(http), grpc: port(grpc) });
  }),
);
process.once('disconnect', () => process.exit());

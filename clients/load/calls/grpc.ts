/**
 * gRPC through Node's own HTTP/2, over a few connections: on a single one all calls would wait for one flow-control window. A
 * general gRPC client costs twice as much CPU a call, and the load generator shares the machine with the measured service. The
 * protocol: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { fromBinary } from '@bufbuild/protobuf';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../proto/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.ts';
import { LoadCallFailed, type LoadCallFailure, rateLimitOf } from './call-failed.ts';
import { protobufCaller } from './messages.ts';
import type { SigningCaller } from './signing-caller.ts';

const service = '/svc.mesh.v1.MpcWalletService';
const connections = 4;
const answerWithinMs = 30_000;
/** Of a message: a byte that says whether it is compressed, and four bytes of its length. */
const prefixBytes = 5;

/** By number: https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
const statusNames = [
  ...['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
  ...['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED'],
  ...['INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'],
];
/** Statuses with which the service refuses before any effect. */
const withoutEffect: ReadonlySet<string> = new Set([
  ...['INVALID_ARGUMENT', 'UNAUTHENTICATED', 'PERMISSION_DENIED', 'NOT_FOUND', 'FAILED_PRECONDITION'],
  ...['UNIMPLEMENTED', 'RESOURCE_EXHAUSTED'],
]);

export function grpcCaller(address: string, token: string): SigningCaller {
  const sessions: (ClientHttp2Session | undefined)[] = Array.from({ length: connections }, () => undefined);
  const fixed = {
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_SCHEME]: 'http',
    [constants.HTTP2_HEADER_AUTHORITY]: address,
    'content-type': 'application/grpc',
    te: 'trailers',
    'grpc-timeout': `${answerWithinMs}m`,
    authorization: `Bearer ${token}`,
  };
  let turn = 0;

  /** The next connection in turn; reopened when it has broken. */
  function session(): ClientHttp2Session {
    turn = (turn + 1) % connections;
    const known = sessions[turn];
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const opened = connect(`http://${address}`);
    // Its calls fail with it, and report it.
    opened.on('error', () => undefined);
    sessions[turn] = opened;
    return opened;
  }

  return protobufCaller(
    (rpc, request) => unary(session(), { ...fixed, [constants.HTTP2_HEADER_PATH]: `${service}/${rpc}` }, request),
    async () => {
      await Promise.all(sessions.map((each) => each && new Promise<void>((resolve) => each.close(resolve))));
    },
  );
}

function unary(session: ClientHttp2Session, headers: Record<string, string>, request: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: false });
    const chunks: Buffer[] = [];
    let first: IncomingHttpHeaders = {};
    let last: IncomingHttpHeaders | undefined;
    let broken: Error | undefined;
    stream.on('response', (received) => {
      first = received;
    });
    stream.on('trailers', (received: IncomingHttpHeaders) => {
      last = received;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', (error) => {
      broken = error;
    });
    stream.setTimeout(answerWithinMs, () => stream.close(constants.NGHTTP2_CANCEL));
    stream.on('close', () => {
      // An answer without a message has its status in the first headers.
      const end = last ?? first;
      const status = end['grpc-status'];
      const message = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      if (status === '0' && message.length >= prefixBytes) resolve(message.subarray(prefixBytes));
      else if (status === undefined) reject(broken ?? new LoadCallFailed({ code: 'NO_ANSWER', effect: 'unknown' }));
      else
        reject(
          new LoadCallFailed(failureOf(Number(status), { ...first, ...end }), `gRPC ${String(end['grpc-message'])}`),
        );
    });
    const frame = Buffer.allocUnsafe(prefixBytes + request.length);
    frame[0] = 0;
    frame.writeUInt32BE(request.length, 1);
    frame.set(request, prefixBytes);
    stream.end(frame);
  });
}

function failureOf(status: number, metadata: IncomingHttpHeaders): LoadCallFailure {
  const name = statusNames[status] ?? String(status);
  const effect = withoutEffect.has(name) ? 'none' : 'unknown';
  if (name !== 'RESOURCE_EXHAUSTED') return { code: name, effect };
  const { reason, retryAfterS } = detailsOf(metadata['grpc-status-details-bin']);
  const policy = metadata['ratelimit-policy'];
  const limit = reason === 'RATE_LIMITED' && typeof policy === 'string' ? rateLimitOf(policy) : undefined;
  return { code: `${name} ${reason}`.trim(), effect, retryAfterS, ...(limit !== undefined && { limit }) };
}

/** `ErrorInfo.reason`, empty if there is none, and the delay of `RetryInfo`. */
function detailsOf(details: string | string[] | undefined): { reason: string; retryAfterS: number | undefined } {
  if (typeof details !== 'string') return { reason: '', retryAfterS: undefined };
  const { details: parts } = fromBinary(StatusSchema, Buffer.from(details, 'base64'));
  const part = (typeName: string) => parts.find(({ typeUrl }) => typeUrl.endsWith(typeName))?.value;
  const [info, retry] = [part(ErrorInfoSchema.typeName), part(RetryInfoSchema.typeName)];
  return {
    reason: info === undefined ? '' : fromBinary(ErrorInfoSchema, info).reason,
    retryAfterS: retry && Number(fromBinary(RetryInfoSchema, retry).retryDelay?.seconds ?? 0),
  };
}

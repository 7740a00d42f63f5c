/** gRPC through grpc-js, over a few channels: one alone would make all calls wait for one flow-control window. */
import { fromBinary } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { ErrorInfoSchema } from '../../proto/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../proto/gen/google/rpc/status_pb.ts';
import { CallFailed, type CallFailure, rateLimitOf } from './call-failed.ts';
import type { Door } from './door.ts';
import { protobufDoor } from './messages.ts';

const service = '/svc.mesh.v1.MpcWalletService';
const channels = 4;
const answerWithinMs = 30_000;
const asTheyAre = (bytes: Buffer): Buffer => bytes;

export function grpcDoor(address: string, token: string): Door {
  const clients = Array.from(
    { length: channels },
    () => new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 }),
  );
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  let turn = 0;
  return protobufDoor(
    (rpc, request) =>
      new Promise((resolve, reject) => {
        turn = (turn + 1) % channels;
        clients[turn]!.makeUnaryRequest(
          `${service}/${rpc}`,
          asTheyAre,
          asTheyAre,
          Buffer.from(request.buffer, request.byteOffset, request.length),
          metadata,
          { deadline: Date.now() + answerWithinMs },
          (error, response) => {
            if (error !== null) reject(new CallFailed(grpcFailure(error), `gRPC ${error.message}`));
            else if (response === undefined) reject(new CallFailed({ code: 'NO_RESPONSE', effect: 'unknown' }));
            else resolve(response);
          },
        );
      }),
    async () => {
      for (const client of clients) client.close();
    },
  );
}

/** Statuses with which the service refuses before any effect. */
const withoutEffect: ReadonlySet<number> = new Set([
  status.INVALID_ARGUMENT,
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.NOT_FOUND,
  status.FAILED_PRECONDITION,
  status.UNIMPLEMENTED,
  status.RESOURCE_EXHAUSTED,
]);

function grpcFailure({ code, metadata }: ServiceError): CallFailure {
  const name = status[code] ?? String(code);
  const effect = withoutEffect.has(code) ? 'none' : 'unknown';
  if (code !== status.RESOURCE_EXHAUSTED) return { code: name, effect };
  const reason = reasonOf(metadata);
  const limit = reason === 'RATE_LIMITED' ? rateLimitOf(metadata.get('ratelimit-policy')[0]?.toString()) : undefined;
  return { code: `${name} ${reason}`.trim(), effect, limit };
}

/** `ErrorInfo.reason` of the details; empty: there is none. */
function reasonOf(metadata: Metadata): string {
  const [bytes] = metadata.get('grpc-status-details-bin');
  if (!(bytes instanceof Buffer)) return '';
  const info = fromBinary(StatusSchema, bytes).details.find(({ typeUrl }) =>
    typeUrl.endsWith(ErrorInfoSchema.typeName),
  );
  return info === undefined ? '' : fromBinary(ErrorInfoSchema, info.value).reason;
}

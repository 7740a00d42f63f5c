/**
 * Errors on the gRPC door: the status code, and the details of google.rpc.Status in `grpc-status-details-bin`, so that
 * clients can act on a reason instead of reading a sentence.
 */
import { create, type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { type Any, anyPack } from '@bufbuild/protobuf/wkt';
import { type ServiceError as GrpcError, Metadata } from '@grpc/grpc-js';
import type { ServiceError } from '../../api/errors/service-error.ts';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../proto/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../proto/gen/google/rpc/status_pb.ts';

/** The `domain` of every google.rpc.ErrorInfo. */
export const errorDomain = 'signmesh';
export const statusDetailsKey = 'grpc-status-details-bin';

/** What the callback of a grpc-js handler takes. */
export type StatusReply = Pick<GrpcError, 'code' | 'details' | 'metadata'>;

export function toStatus(error: ServiceError, requestId: string): StatusReply {
  const { grpc, reason } = error.entry;
  const details: Any[] = [pack(ErrorInfoSchema, { reason, domain: errorDomain, metadata: { request_id: requestId } })];
  if (error.details !== undefined) {
    const fieldViolations = error.details.map(({ field, issue }) => ({ field, description: issue }));
    details.push(pack(BadRequestSchema, { fieldViolations }));
  }
  if (error.retryAfterS !== undefined) {
    details.push(pack(RetryInfoSchema, { retryDelay: { seconds: BigInt(error.retryAfterS) } }));
  }
  const status = create(StatusSchema, { code: grpc, message: error.message, details });
  const metadata = new Metadata();
  metadata.set(statusDetailsKey, Buffer.from(toBinary(StatusSchema, status)));
  return { code: grpc, details: error.message, metadata };
}

function pack<D extends DescMessage>(schema: D, init: Parameters<typeof create<D>>[1]): Any {
  return anyPack(schema, create(schema, init) as MessageShape<D>);
}

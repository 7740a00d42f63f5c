/** The details of a gRPC error are written by hand where the library is slow: they are the bytes that it would write. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ServiceError } from '../../gateway/api/errors/service-error.ts';
import { errorDomain, statusDetailsKey, toStatus } from '../../gateway/grpc/status.ts';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../proto/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../proto/gen/google/rpc/status_pb.ts';

const requestIds = fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/);

test('an error carries its reason with the request id, its issues and its pause, as the library writes them', () => {
  fc.assert(
    fc.property(requestIds, fc.string(), fc.integer({ min: 1, max: 90 }), (requestId, message, retryAfterS) => {
      const details = [{ field: 'a.b', issue: 'too_long' }];
      const { code, metadata } = toStatus(new ServiceError('overloaded', message, { details, retryAfterS }), requestId);
      const bytes = metadata.get(statusDetailsKey)[0] as Buffer;
      const status = fromBinary(StatusSchema, bytes);
      expect(status).toMatchObject({ code, message: Buffer.from(message).toString() });
      const [info, issues, retry] = status.details;
      const expected = { reason: 'OVERLOADED', domain: errorDomain, metadata: { request_id: requestId } };
      expect(anyUnpack(info!, ErrorInfoSchema)).toMatchObject(expected);
      expect(new Uint8Array(info!.value)).toEqual(toBinary(ErrorInfoSchema, create(ErrorInfoSchema, expected)));
      expect(anyUnpack(issues!, BadRequestSchema)?.fieldViolations).toMatchObject([
        { field: 'a.b', description: 'too_long' },
      ]);
      expect(anyUnpack(retry!, RetryInfoSchema)?.retryDelay?.seconds).toBe(BigInt(retryAfterS));
    }),
    { numRuns: 50 },
  );
});

/** Around those where a length takes a second byte. */
test.each([112, 113, 114, 127, 128])('a request id of %i characters comes as it is', (length) => {
  const requestId = 'x'.repeat(length);
  const { metadata } = toStatus(new ServiceError('overloaded', 'much'), requestId);
  const [info] = fromBinary(StatusSchema, metadata.get(statusDetailsKey)[0] as Buffer).details;
  expect(anyUnpack(info!, ErrorInfoSchema)?.metadata).toEqual({ request_id: requestId });
});

test('errors that come in floods have no stack, those of a bug do', () => {
  expect(new ServiceError('overloaded', 'much').stack).toBe('ServiceError: much');
  expect(new ServiceError('internalError', 'a bug').stack).toContain('grpc-status.test.');
});

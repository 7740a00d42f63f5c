/**
 * svc.mesh.v1.MpcWalletService for grpc-js, made from the table. The definition passes raw bytes both ways: grpc-js
 * answers INTERNAL when its own deserializer throws, and bytes that do not decode are the caller's mistake.
 */
import { Metadata, type MethodDefinition, type Server, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import type { GrpcAccess } from '../access-log/grpc-access.ts';
import { type SigningMethod, signingMethods } from '../api/signing-methods.ts';
import { type RpcDeps, serveRpc } from './serve-rpc.ts';
import { toStatus } from './status.ts';

export interface SigningServiceDeps extends RpcDeps {
  readonly access: GrpcAccess;
}

type RawDefinition = MethodDefinition<Buffer, Buffer>;
type RawCall = ServerUnaryCall<Buffer, Buffer>;

const asTheyAre = (bytes: Buffer): Buffer => bytes;

/** The service with raw bytes: the server's definition, and a client's that decodes by itself. */
export const signingServiceDefinition: Readonly<Record<string, RawDefinition>> = Object.fromEntries(
  signingMethods.map(({ name, grpcPath }): [string, RawDefinition] => [
    name,
    {
      path: grpcPath,
      requestStream: false,
      responseStream: false,
      requestSerialize: asTheyAre,
      requestDeserialize: asTheyAre,
      responseSerialize: asTheyAre,
      responseDeserialize: asTheyAre,
      originalName: name,
    },
  ]),
);

export function addSigningService(server: Server, deps: SigningServiceDeps): void {
  const handlers = signingMethods.map((method) => {
    const handle = (call: RawCall, callback: sendUnaryData<Buffer>) => serve(method, call, callback, deps);
    return [method.name, handle];
  });
  server.addService(signingServiceDefinition, Object.fromEntries(handlers));
}

function serve(method: SigningMethod, call: RawCall, callback: sendUnaryData<Buffer>, deps: SigningServiceDeps): void {
  const deadline = call.getDeadline();
  const request = {
    method,
    message: call.request,
    metadata: (key: string) => onlyText(call.metadata, key),
    // grpc-js has added the client's grpc-timeout to the machine's clock: back to what is left.
    leftMs: Number(deadline) - deps.timers.epochMs(),
    get isCancelled() {
      return call.cancelled;
    },
    onCancelled: (leave: () => void) => void call.once('cancelled', leave),
    entry: deps.access.entryOf(call.metadata),
  };
  serveRpc(deps, request, {
    initial: (entries) => call.sendMetadata(metadataOf(entries)),
    answered: ({ buffer, byteOffset, byteLength }) => callback(null, Buffer.from(buffer, byteOffset, byteLength)),
    failed: (error, requestId) => callback(toStatus(error, requestId)),
  });
}

function metadataOf(entries: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(entries)) metadata.set(key, value);
  return metadata;
}

/** The value of an entry that is there exactly once. */
function onlyText(metadata: Metadata, key: string): string | undefined {
  const values = metadata.get(key);
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : undefined;
}

/**
 * Server reflection (v1 and v1alpha), so that grpcurl, buf curl, Postman and evans work with no files. It is fed the
 * descriptors compiled into proto/gen: no .proto file has to be found at run time.
 */
import { type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Server } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { service as healthService } from 'grpc-health-check';
import { file_svc_mesh_v1_mpc_wallet } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

type Packages = ConstructorParameters<typeof ReflectionService>[0];

export function addReflection(server: Server): void {
  const files = [...withImports(file_svc_mesh_v1_mpc_wallet)].map((file) =>
    Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)),
  );
  // All that the service reads of a package definition is its file descriptors.
  const packages = { signmesh: { fileDescriptorProtos: files }, health: healthService.Check?.requestType };
  new ReflectionService(packages as unknown as Packages).addToServer(server);
}

/** A file and everything that it imports. */
function withImports(file: DescFile, found = new Set<DescFile>()): Set<DescFile> {
  found.add(file);
  for (const imported of file.dependencies) if (!found.has(imported)) withImports(imported, found);
  return found;
}

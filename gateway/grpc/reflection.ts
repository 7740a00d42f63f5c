/**
 * Server reflection (v1 and v1alpha), so that grpcurl, buf curl, Postman and evans work with no files. It is fed the
 * descriptors compiled into proto/gen: no .proto file has to be found at run time.
 *
 * The library parses its own .proto files and visits every descriptor when it is set up. That is a fifth of a gateway's
 * start, so it happens at the first call; until then bytes and calls pass through the definitions made here.
 */
import { type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { MethodDefinition, Server, ServerDuplexStream, ServiceDefinition } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { service as healthService } from 'grpc-health-check';
import { file_svc_mesh_v1_mpc_wallet } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

type Packages = ConstructorParameters<typeof ReflectionService>[0];
type Info = MethodDefinition<object, object>;
type Serve = (stream: ServerDuplexStream<object, object>) => void;

/** A version of the service as the library would have added it to a server. */
interface Version {
  readonly info: Info;
  readonly serve: Serve;
}

const versions = ['v1', 'v1alpha'] as const;

export function addReflection(server: Server): void {
  let made: ReadonlyMap<string, Version> | undefined;
  const version = (path: string): Version => {
    made ??= makeVersions();
    return made.get(path)!;
  };
  for (const name of versions) {
    const path = `/grpc.reflection.${name}.ServerReflection/ServerReflectionInfo`;
    const info: Info = {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: (message) => version(path).info.requestSerialize(message),
      requestDeserialize: (bytes) => version(path).info.requestDeserialize(bytes),
      responseSerialize: (message) => version(path).info.responseSerialize(message),
      responseDeserialize: (bytes) => version(path).info.responseDeserialize(bytes),
    };
    const serve: Serve = (stream) => version(path).serve(stream);
    server.addService({ ServerReflectionInfo: info }, { ServerReflectionInfo: serve });
  }
}

function makeVersions(): ReadonlyMap<string, Version> {
  const files = [...withImports(file_svc_mesh_v1_mpc_wallet)].map((file) =>
    Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)),
  );
  // All that the service reads of a package definition is its file descriptors.
  const packages = { signmesh: { fileDescriptorProtos: files }, health: healthService.Check?.requestType };
  const made = new Map<string, Version>();
  const collect = (
    { ServerReflectionInfo: info }: ServiceDefinition,
    { ServerReflectionInfo: serve }: Record<string, Serve>,
  ) => made.set(info!.path, { info: info as Info, serve: serve! });
  new ReflectionService(packages as unknown as Packages).addToServer({ addService: collect } as unknown as Server);
  return made;
}

/** A file and everything that it imports. */
function withImports(file: DescFile, found = new Set<DescFile>()): Set<DescFile> {
  found.add(file);
  for (const imported of file.dependencies) if (!found.has(imported)) withImports(imported, found);
  return found;
}

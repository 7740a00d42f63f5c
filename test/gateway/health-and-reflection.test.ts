import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { type Client, status } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { healthyCluster } from '../support/fake-coordinator.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let client: Client;
beforeAll(async () => {
  gateway = await openGateway();
  client = await gateway.grpcClient();
});
afterAll(() => gateway.stop());

const names = ['', 'svc.mesh.v1.MpcWalletService'];

function check(service: string, caller = client): Promise<string | status> {
  const { path, requestSerialize, responseDeserialize } = healthService.Check!;
  return new Promise((resolve) => {
    caller.makeUnaryRequest<object, { status: string }>(
      path,
      requestSerialize as (value: object) => Buffer,
      responseDeserialize as (bytes: Buffer) => { status: string },
      { service },
      (error, response) => resolve(error ? error.code : response!.status),
    );
  });
}

describe('health', () => {
  const states: [string, () => void, number, string, string][] = [
    ['every node is ready', () => gateway.coordinator.status(healthyCluster), 200, 'ok', 'SERVING'],
    [
      'nodes are missing but a quorum is there',
      () => gateway.coordinator.status({ ...healthyCluster, nodesReady: [1, 3, 5] }),
      200,
      'degraded',
      'SERVING',
    ],
    [
      'there is no quorum',
      () => gateway.coordinator.status({ ...healthyCluster, nodesReady: [1, 3] }),
      503,
      'unavailable',
      'NOT_SERVING',
    ],
    [
      'the session store is away',
      () => gateway.coordinator.status({ ...healthyCluster, storeReady: false }),
      503,
      'unavailable',
      'NOT_SERVING',
    ],
    ['the coordinator is away', () => gateway.coordinator.link(false), 503, 'unavailable', 'NOT_SERVING'],
    [
      'the coordinator is back but has not spoken',
      () => gateway.coordinator.link(true),
      503,
      'unavailable',
      'NOT_SERVING',
    ],
    ['it has', () => gateway.coordinator.status(healthyCluster), 200, 'ok', 'SERVING'],
  ];

  it.each(states)('tells HTTP and gRPC that %s', async (_, arrange, code, state, serving) => {
    arrange();
    const answer = await gateway.http.inject({ method: 'GET', url: '/v1/health' });
    expect(answer.statusCode).toBe(code);
    expect(answer.json()).toMatchObject({ status: state, environment: 'sandbox' });
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
    for (const name of names) expect(await check(name)).toBe(serving);
  });

  it('says what it knows of the cluster', async () => {
    gateway.coordinator.status({ ...healthyCluster, nodesReady: [1, 2, 4, 5] });
    const answer = await gateway.http.inject({ method: 'GET', url: '/v1/health' });
    expect(answer.json()).toEqual({
      status: 'degraded',
      environment: 'sandbox',
      version: '0.0.0-test',
      coordinator: 'connected',
      session_store: 'ready',
      nodes_ready: 4,
      nodes_total: 5,
      quorum: 3,
      crypto: 'native',
      reasons: ['4 of 5 nodes are ready'],
    });
  });

  it('answers HEAD too', async () => {
    const answer = await gateway.http.inject({ method: 'HEAD', url: '/v1/health' });
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
  });

  it('does not know other services', async () => {
    expect(await check('no.such.Service')).toBe(status.NOT_FOUND);
  });

  it('of a gateway that stops is NOT_SERVING until its end, whatever becomes of the cluster', async () => {
    const stopping = await openGateway();
    const own = await stopping.grpcClient();
    stopping.announceStop();
    stopping.coordinator.link(false);
    stopping.coordinator.link(true);
    stopping.coordinator.status(healthyCluster);
    expect(await check('', own)).toBe('NOT_SERVING');
    await stopping.stop();
  });

  it('tells watchers of every change', async () => {
    gateway.coordinator.status(healthyCluster);
    const { path, requestSerialize, responseDeserialize } = healthService.Watch!;
    const stream = client.makeServerStreamRequest<object, { status: string }>(
      path,
      requestSerialize as (value: object) => Buffer,
      responseDeserialize as (bytes: Buffer) => { status: string },
      { service: '' },
    );
    stream.on('error', () => {});
    const seen: string[] = [];
    stream.on('data', ({ status: state }: { status: string }) => seen.push(state));
    await expect.poll(() => seen).toEqual(['SERVING']);
    gateway.coordinator.link(false);
    await expect.poll(() => seen).toEqual(['SERVING', 'NOT_SERVING']);
    stream.cancel();
    gateway.coordinator.link(true);
    gateway.coordinator.status(healthyCluster);
  });
});

describe('server reflection', () => {
  interface Answer {
    readonly files: readonly FileDescriptorProto[];
    readonly services: readonly string[];
    readonly isError: boolean;
  }
  /** Field numbers of grpc.reflection.{v1,v1alpha}.ServerReflectionRequest. */
  const fields = { fileByFilename: 3, fileContainingSymbol: 4, listServices: 7 };

  /** What a generic client asks, over the wire. */
  function ask(version: string, field: keyof typeof fields, text: string): Promise<Answer> {
    const request = new BinaryWriter().tag(fields[field], WireType.LengthDelimited).string(text).finish();
    return new Promise((resolve, reject) => {
      const stream = client.makeBidiStreamRequest<Buffer, Answer>(
        `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
        (bytes) => bytes,
        readAnswer,
      );
      stream.on('data', resolve);
      stream.on('error', reject);
      stream.write(Buffer.from(request));
      stream.end();
    });
  }

  /** ServerReflectionResponse: file_descriptor_response = 4, list_services_response = 6, error_response = 7. */
  function readAnswer(bytes: Buffer): Answer {
    const [files] = lengthDelimited(bytes, 4);
    const [services] = lengthDelimited(bytes, 6);
    return {
      files: files ? lengthDelimited(files, 1).map((file) => fromBinary(FileDescriptorProtoSchema, file)) : [],
      services: services ? lengthDelimited(services, 1).map((one) => lengthDelimited(one, 1).toString()) : [],
      isError: lengthDelimited(bytes, 7).length > 0,
    };
  }

  function lengthDelimited(bytes: Uint8Array, field: number): Buffer[] {
    const found: Buffer[] = [];
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [number, type] = reader.tag();
      if (number === field && type === WireType.LengthDelimited) found.push(Buffer.from(reader.bytes()));
      else reader.skip(type, number);
    }
    return found;
  }

  it.each(['v1', 'v1alpha'])('%s lists the services', async (version) => {
    const { services } = await ask(version, 'listServices', '*');
    expect([...services].sort()).toEqual(['grpc.health.v1.Health', 'svc.mesh.v1.MpcWalletService']);
  });

  it.each(['v1', 'v1alpha'])('%s gives the contract and everything it imports', async (version) => {
    const { files } = await ask(version, 'fileContainingSymbol', 'svc.mesh.v1.MpcWalletService');
    const contract = files.find((file) => file.name === 'svc/mesh/v1/mpc_wallet.proto')!;
    expect(contract.service[0]!.method.map(({ name }) => name)).toContain('SubmitSignatureShare');
    // A client fetches imports by name until it has them all.
    const open = new Set(contract.dependency);
    for (const name of open) {
      const answer = await ask(version, 'fileByFilename', name);
      expect(answer.isError, name).toBe(false);
      for (const dependency of answer.files.find((file) => file.name === name)!.dependency) open.add(dependency);
    }
    expect([...open].sort()).toEqual([
      'google/api/annotations.proto',
      'google/api/http.proto',
      'google/protobuf/descriptor.proto',
    ]);
  });
});

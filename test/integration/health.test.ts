/** Health tells the truth, on HTTP and gRPC, while nodes die and come back; and what a generic gRPC client finds. */

import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Client } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { until } from '../support/until.ts';

let cluster: BorrowedCluster;
let connection: Client;

beforeAll(async () => {
  cluster = await borrowCluster();
  connection = cluster.grpc().connection;
}, borrowWithinMs);
afterAll(() => cluster?.stop());

function grpcHealth(): Promise<string> {
  const { path, requestSerialize, responseDeserialize } = healthService.Check!;
  return new Promise((resolve) => {
    connection.makeUnaryRequest<object, { status: string }>(
      path,
      requestSerialize as (value: object) => Buffer,
      responseDeserialize as (bytes: Buffer) => { status: string },
      { service: 'svc.mesh.v1.MpcWalletService' },
      (error, response) => resolve(error ? `error ${error.code}` : response!.status),
    );
  });
}

/** The HTTP status and body, and what gRPC says of the same. */
async function bothDoors() {
  const response = await fetch(`${cluster.httpUrl}/v1/health`);
  const body = (await response.json()) as { status: string; nodes_ready: number; nodes_total: number; quorum: number };
  return { http: response.status, ...body, grpc: await grpcHealth() };
}

describe.sequential('health', () => {
  test('goes from ok to degraded to unavailable and back, as nodes go and come', async () => {
    expect(await bothDoors()).toMatchObject({
      http: 200,
      status: 'ok',
      nodes_ready: 5,
      nodes_total: 5,
      quorum: 3,
      grpc: 'SERVING',
    });
    const release = [await cluster.hold('node-1'), await cluster.hold('node-2')];
    await until(async () => (await bothDoors()).nodes_ready === 3, 'two nodes away');
    expect(await bothDoors()).toMatchObject({ http: 200, status: 'degraded', grpc: 'SERVING' });
    release.push(await cluster.hold('node-3'));
    await until(async () => (await bothDoors()).nodes_ready === 2, 'three nodes away');
    expect(await bothDoors()).toMatchObject({ http: 503, status: 'unavailable', grpc: 'NOT_SERVING' });
    release[0]!();
    await until(async () => (await bothDoors()).nodes_ready === 3, 'one node back');
    expect(await bothDoors()).toMatchObject({ http: 200, status: 'degraded', grpc: 'SERVING' });
    for (const letGo of release) letGo();
    await cluster.untilHealth('ok');
    expect(await bothDoors()).toMatchObject({ http: 200, nodes_ready: 5, grpc: 'SERVING' });
  });
});

test('reflection lists the service', async () => {
  const listServices = 7;
  const request = new BinaryWriter().tag(listServices, WireType.LengthDelimited).string('*').finish();
  const stream = connection.makeBidiStreamRequest<Uint8Array, string>(
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    (bytes) => Buffer.from(bytes),
    (bytes) => bytes.toString('latin1'),
  );
  const answer = await new Promise<string>((resolve, reject) => {
    stream.on('data', resolve);
    stream.on('error', reject);
    stream.write(request);
  });
  stream.cancel();
  expect(answer).toContain('svc.mesh.v1.MpcWalletService');
  expect(answer).toContain('grpc.health.v1.Health');
});

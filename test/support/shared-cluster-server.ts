/** Set-up of a run with tests of the tier `system`: starts the shared cluster when a worker asks for it, and ends it. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import type { ReadyLine } from '../../testing/ready-line.ts';
import type { Place } from '../../testing/up-process.ts';
import { startCluster, type TestCluster } from './cluster.ts';

/** Over those of every test's cluster. */
const settings = {
  SIGNMESH_NODES_WAIT_MS: '2000',
  SIGNMESH_CHAIN_BLOCK_MS: '100',
  SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS: '100,200,400,800',
};

export interface Running {
  readonly place: Place;
  readonly ready: ReadyLine;
}

let server: Server | undefined;
let starting: Promise<TestCluster> | undefined;

export async function setup(project: TestProject): Promise<void> {
  server = createServer((_request, response) => {
    starting ??= startCluster({ environment: settings });
    starting.then(
      ({ place, ready }) => response.end(JSON.stringify({ place, ready } satisfies Running)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  project.provide('sharedClusterUrl', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

export async function teardown(): Promise<void> {
  await starting?.then((cluster) => cluster.stop()).catch(() => undefined);
  await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
}

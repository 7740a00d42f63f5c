/** Clusters that the tests of a run share (cluster-kinds.ts). A test whose settings no kind has starts its own (cluster.ts). */
import { randomUUID } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { inject } from 'vitest';
import { readSecret, secretFiles } from '../../cli/cluster-files/cluster-material.ts';
import { systemPorts } from '../../core/actors/live/ports.ts';
import { allScopes } from '../../gateway/api/scopes.ts';
import { TokenStore } from '../../gateway/auth/token-store.ts';
import { TestCluster } from './cluster.ts';
import { type ClusterKind, clusterOptions } from './cluster-kinds.ts';
import type { Running } from './shared-cluster-server.ts';

/** Without the ways to harm it. `stop` closes this test's connections. */
export type SharedCluster = Pick<
  TestCluster,
  'http' | 'rest' | 'grpc' | 'httpUrl' | 'token' | 'ready' | 'dataDir' | 'redisUrl' | 'coordinatorUrl' | 'stop'
>;

/** One that the borrower may kill any process of, but not end. */
export type BorrowedCluster = Omit<TestCluster, 'start' | 'end' | 'killEverything'>;

/** For `beforeAll`: the borrowers before may need long on a busy machine. */
export const borrowWithinMs = 3_600_000;

/**
 * For all tests that leave its processes, faults and clock alone. Names and tenants are their own: any token
 * `svc_sk_test_…` is a tenant. Resolves when it serves; the first to ask has it started.
 */
export async function sharedCluster(): Promise<SharedCluster> {
  const { place, ready } = await ask('share', 'shared', (response) => response.destroy());
  return TestCluster.attach({ place, ready });
}

/**
 * For this file alone, until `stop`; then it heals for the next one. `token` is of a tenant of its own, with every scope;
 * `ready.token` is the sandbox's. Output and logs begin now.
 */
export async function borrowCluster(): Promise<BorrowedCluster> {
  let giveBack: () => void = () => undefined;
  const { place, ready, outputFile } = await ask('lend', 'borrowed', (response) => {
    giveBack = () => response.destroy();
  });
  const options = { ...clusterOptions('borrowed'), outputFile };
  const token = await issueToken(TestCluster.attach({ place, ready, options }));
  const cluster = TestCluster.attach({ place, ready, options, token });
  const detach = cluster.stop.bind(cluster);
  cluster.stop = () => detach().finally(giveBack);
  return cluster;
}

function ask(way: 'share' | 'lend', kind: ClusterKind, got: (response: IncomingMessage) => void): Promise<Running> {
  return new Promise((resolve, reject) => {
    const request = get(`${inject('clustersUrl')}/${way}/${kind}`, { agent: false }, (response) => {
      createInterface(response).once('line', (line) => {
        got(response);
        if (response.statusCode === 200) resolve(JSON.parse(line) as Running);
        else reject(new Error(`the cluster "${kind}" did not start: ${line}`));
      });
    });
    request.once('error', reject);
  });
}

/** Of a tenant of its own, with every scope: no other test makes events there. */
export async function issueToken(cluster: Pick<TestCluster, 'redisUrl' | 'dataDir'>): Promise<string> {
  const redis = new Redis(cluster.redisUrl());
  try {
    const tokens = new TokenStore(redis, readSecret(cluster.dataDir, secretFiles.gatewayToken), systemPorts);
    const request = { tenant: `tn_${randomUUID()}`, environment: 'sandbox', scopes: allScopes } as const;
    return (await tokens.issueToken(request)).token;
  } finally {
    redis.disconnect();
  }
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly clustersUrl: string;
  }
}

/**
 * One cluster for all tests of a run that leave its processes, faults and clock alone. Names and tenants are their own: any
 * token `svc_sk_test_…` is a tenant. A test that disturbs the cluster starts its own (cluster.ts).
 */
import { inject } from 'vitest';
import { TestCluster } from './cluster.ts';
import type { Running } from './shared-cluster-server.ts';

/** Without the ways to harm it. `stop` closes this test's connections. */
export type SharedCluster = Pick<
  TestCluster,
  'http' | 'grpc' | 'httpUrl' | 'token' | 'ready' | 'dataDir' | 'redisUrl' | 'coordinatorUrl' | 'stop'
>;

/** Resolves when it serves; the first to ask has it started. */
export async function sharedCluster(): Promise<SharedCluster> {
  const response = await fetch(inject('sharedClusterUrl'), { signal: AbortSignal.timeout(300_000) });
  if (!response.ok) throw new Error(`the shared cluster did not start: ${await response.text()}`);
  const { place, ready } = (await response.json()) as Running;
  return TestCluster.attach(place, ready);
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly sharedClusterUrl: string;
  }
}

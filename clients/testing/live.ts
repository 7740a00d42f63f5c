/** A live cluster for a test: a new sandbox, of processes or in this process, or a running one. */

import { firstCluster } from '../../core/redis/clusters.ts';
import { isNode, splitName } from '../../scenarios/faults/cluster-names.ts';
import { ambientPorts } from '../client/ambient.ts';
import type { SandboxNode } from '../client/generated-api.ts';
import { TestCluster } from './cluster.ts';
import { startLiveProcess, testVariables } from './live-process.ts';
import { LiveWorld } from './live-world.ts';
import type { OwnSandbox } from './own-sandbox.ts';
import { ApiError, SandboxApi } from './sandbox-api.ts';

export interface LiveClusterOptions {
  /** Of a sandbox in this process, which listens; undefined: of processes. */
  readonly seed?: string;
  /** Of a new sandbox. */
  readonly clusters: number;
  /** Of each cluster. */
  readonly nodes: number;
  readonly partialTimeoutMs: number;
  readonly nodesWaitMs: number;
  readonly receiver: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  /** A running sandbox, and one of its tokens with every scope. */
  readonly running?: { readonly baseUrl: string; readonly token: string };
}

/** Relative URLs begin at the cluster. */
function fetchAt(baseUrl: string): typeof globalThis.fetch {
  return async (input, init) => globalThis.fetch(typeof input === 'string' ? new URL(input, baseUrl) : input, init);
}

/** The first call of a cluster: its errors name the address of a running sandbox, and the remedy. */
async function processesOf(api: SandboxApi, running: LiveClusterOptions['running']): Promise<readonly SandboxNode[]> {
  try {
    return await api.processes();
  } catch (error) {
    if (running === undefined) throw error;
    const remedy =
      'start one with `npx signmesh up` and pass the address and the token of its banner, or use cluster({ live: true }), which starts its own';
    if (error instanceof SyntaxError) {
      throw new ApiError(0, 'no_answer', `the server at ${running.baseUrl} is no signmesh sandbox: ${remedy}`);
    }
    if (!(error instanceof ApiError) || error.status !== 0) throw error;
    const { code, message } = error;
    throw new ApiError(0, code, `no sandbox answers at ${running.baseUrl} (${message}): ${remedy}`);
  }
}

export async function liveCluster(options: LiveClusterOptions): Promise<TestCluster> {
  const { running, receiver, seed, environment, clusters, nodes, partialTimeoutMs, nodesWaitMs } = options;
  let own: OwnSandbox | undefined;
  if (seed !== undefined) {
    const { startListening } = await import('./listening.ts');
    own = await startListening({ clusters, nodes, seed, partialTimeoutMs, nodesWaitMs });
  } else if (!running) {
    const settings = testVariables({ clusters, nodes, partialTimeoutMs, nodesWaitMs });
    own = await startLiveProcess({ environment: { ...settings, ...environment } });
  }
  const { baseUrl, token } = running ?? { baseUrl: own!.ready.http, token: own!.ready.token };
  const api = new SandboxApi({ baseUrl, token });
  const fetch = fetchAt(baseUrl);
  try {
    const all = (await processesOf(api, running)).map(({ process }) => process).filter(isNode);
    const ofFirst = all.filter((process) => splitName(process).cluster === firstCluster).length;
    const world = await LiveWorld.open({ api, nodes: all.length, receiver: receiver && 'registered' });
    let stopping: Promise<void> | undefined;
    return new TestCluster(world, {
      clusters: new Set(all.map((process) => splitName(process).cluster)).size,
      nodes: ofFirst,
      ports: { ...ambientPorts, fetch },
      userPorts: { fetch },
      since: world.since,
      drive: (work) => work,
      obstacles: () => world.obstacles(),
      openReceiver: world.openReceiver,
      ...(own?.issueToken && { issueToken: own.issueToken }),
      address: { url: baseUrl, token, ...(own && { grpc: own.ready.grpc, approverToken: own.ready.approver_token }) },
      takeSnapshot: () => api.takeSnapshot('test'),
      restoreSnapshot: (snapshot) => api.restoreSnapshot(snapshot as string),
      reset: () => api.reset(),
      recording: async () => {
        await world.readRecording();
        return world.recording();
      },
      stop: () => {
        // A private sandbox is removed with all its data; a shared one is only healed.
        stopping ??= own ? world.abandon().then(() => own.stop()) : world.close();
        return stopping;
      },
    });
  } catch (error) {
    await own?.stop();
    throw error;
  }
}

/** The simulated service on real ports and in real time (simulation/embedded/), in this process: a sandbox for a test. */
import { createHash } from 'node:crypto';
import { startEmbedded } from '../../simulation/embedded/service.ts';
import { consoleFiles } from '../console/files.ts';
import type { TokenOptions } from './cluster-ports.ts';
import type { OwnSandbox } from './own-sandbox.ts';

export interface ListeningOptions {
  readonly clusters: number;
  /** Of each cluster. */
  readonly nodes: number;
  readonly seed: string;
  readonly partialTimeoutMs: number;
  readonly nodesWaitMs: number;
}

const tenant = 'tn_test';
const anyPort = { host: '127.0.0.1', port: 0 } as const;
/** The same schedule as in live-process.ts. */
const retryScheduleMs = [200, 1_000, 5_000] as const;

export async function startListening(options: ListeningOptions): Promise<OwnSandbox> {
  const { clusters, nodes, partialTimeoutMs, nodesWaitMs } = options;
  const drawn = (label: string) => createHash('sha256').update(`signmesh/testing/${label}/${options.seed}`).digest();
  const tokenOf = (principal: string) => `svc_sk_test_${drawn(principal).toString('hex')}`;
  const sandbox = {
    kind: 'text',
    seed: drawn('seed'),
    token: tokenOf('owner'),
    approverToken: tokenOf('approver'),
  } as const;
  const service = await startEmbedded({
    ...{ clusters, nodes, sandbox, retryScheduleMs, http: anyPort, grpc: anyPort },
    config: { partialTimeoutMs, nodesWaitMs },
    version: '0.0.0-test',
    consoleFiles,
    acceptAnyTestToken: true,
    // A test makes the keys that it needs itself.
    readyMade: { tenant, schemes: {} },
    makeKeys: async () => undefined,
  });
  return {
    ready: {
      http: `http://${service.httpAddress}`,
      grpc: service.grpcAddress,
      token: sandbox.token,
      approver_token: sandbox.approverToken,
    },
    issueToken: (wanted: TokenOptions) => service.world.token({ tenant, ...wanted }),
    stop: () => service.stop(),
  };
}

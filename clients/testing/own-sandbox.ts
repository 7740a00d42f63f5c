/** The base of a private cluster: processes (live-process.ts), or a service in this process (listening.ts). */
import type { ClusterPorts } from './cluster-ports.ts';
import type { ReadyLine } from './ready-line.ts';

/** A sandbox that was started for a cluster, and ends with it. */
export interface OwnSandbox {
  readonly ready: Pick<ReadyLine, 'http' | 'grpc' | 'token' | 'approver_token'>;
  readonly issueToken?: ClusterPorts['issueToken'];
  stop(): Promise<void>;
}

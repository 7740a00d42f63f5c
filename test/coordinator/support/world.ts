/** Small steps that the coordinator's tests share, over the simulated cluster. */
import { expect } from 'vitest';
import type {
  DiagnosticReceipt,
  InitiateSigningResponse,
  SessionCheckpoint,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { reasonCodes } from '../../../proto/reason-codes.ts';
import type { SimCluster } from '../../../simulation/cluster/cluster.ts';

export const tenant = 'tn_sim';
export const digest = Uint8Array.from({ length: 32 }, (_, index) => index + 1);
export const witness = Buffer.from('a human said yes');

export interface Answered {
  readonly receipt?: DiagnosticReceipt | undefined;
  readonly checkpoint?: SessionCheckpoint | undefined;
}

export function codeOf(answer: Answered): string {
  return answer.receipt!.reasonCode;
}

export function tokenOf(answer: Answered): string {
  return answer.checkpoint!.resumeToken;
}

/** Runs a whole DKG; returns the compressed group key. */
export function makeKey(cluster: SimCluster, sessionId: string, curve = 'secp256k1', threshold = 2, totalNodes = 3) {
  const begun = cluster.initiateDkg({ sessionId, threshold, totalNodes, derivation: { curve } }).result();
  expect(codeOf(begun)).toBe('SESSION_ACCEPTED');
  const done = cluster.exchangeDkgShares({ sessionId }).result();
  expect(codeOf(done)).toBe('DKG_COMPLETED');
  return groupKey(cluster, sessionId);
}

/** Of a key that was made: as the coordinator stored it. */
export function groupKey(cluster: SimCluster, sessionId: string): Uint8Array {
  return Buffer.from(cluster.storedKey(tenant, sessionId)!.publicKey, 'hex');
}

/** Begins a signing session that is accepted. */
export function begin(
  cluster: SimCluster,
  transactionIntentId: string,
  more: Parameters<SimCluster['initiateSigning']>[0] = {},
): InitiateSigningResponse {
  const begun = cluster.initiateSigning({ walletId: 'k', messageHash: digest, transactionIntentId, ...more }).result();
  expect(codeOf(begun)).toBe('SESSION_ACCEPTED');
  return begun;
}

/** The nodes that are blamed. What is observed of sessions stands in the event log as well; malformed nonces have no session. */
export function blamed(cluster: SimCluster): number[] {
  const culpritsOf = ({ event }: SimCluster['events'][number]) => (event.fields.culprits ?? []) as number[];
  const observed = cluster.events.flatMap(culpritsOf);
  const ofSessions = cluster.events.filter(({ event }) => event.type !== 'node.nonces_malformed').flatMap(culpritsOf);
  const logged = cluster.eventLog(tenant).flatMap(({ object }) => (object as { culprits?: number[] }).culprits ?? []);
  expect(new Set(logged)).toEqual(new Set(ofSessions));
  return [...new Set(observed)];
}

/** Every field of a receipt that can be filled is filled, and agrees with its checkpoint and the registry. */
export function expectComplete({ receipt, checkpoint }: Answered, sessionId: string): void {
  expect(receipt!.receiptId).toMatch(/^rcp_/);
  expect(receipt!.correlationId).not.toBe('');
  expect(receipt!.contractVersion).toBe('1.0');
  expect(receipt!.checkpointId).toMatch(/^ckp_/);
  expect(receipt!.state).not.toBe(0);
  expect(receipt!.approvalMode).not.toBe(0);
  expect(receipt!.keystoreType).not.toBe(0);
  expect(receipt!.backendRoute).toMatch(/^m0\//);
  expect(receipt!.message).not.toBe('');
  expect(Object.keys(reasonCodes)).toContain(receipt!.reasonCode);
  expect(receipt!.sessionId).toBe(sessionId);
  expect(checkpoint!.checkpointId).toBe(receipt!.checkpointId);
  expect(checkpoint!.epoch).toBe(receipt!.epoch);
  expect(checkpoint!.createdAtEpochMs > 0n).toBe(true);
  expect(checkpoint!.state).not.toBe(0);
  expect(checkpoint!.resumeToken !== '').toBe(receipt!.resumable);
  if (sessionId === '') expect([receipt!.epoch, checkpoint!.resumeToken]).toEqual([0n, '']);
  else expect(receipt!.epoch >= 1n).toBe(true);
}

/**
 * `signmesh/testing`: a cluster for a test of your own, with vitest, node:test or anything else. docs/testing.md explains
 * it; examples/testing/ shows it.
 */
export { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
export type { Fault } from '../../scenarios/faults/vocabulary/generated-types.ts';
export { CeremonyFailed, type Key, type Signature, type SignOptions } from './ceremonies.ts';
export { ChaosFailed, type ChaosOptions, type ChaosProfile, type ChaosSummary, chaos } from './chaos.ts';
export { type InjectedFault, TestCluster } from './cluster.ts';
export type { ClusterEvents, ClusterWebhooks, TokenOptions } from './cluster-ports.ts';
export type { EventMatch, EventOf, EventPattern } from './event-reader.ts';
export { type ClusterOptions, cluster } from './make-cluster.ts';
export { ApiError, CallFailed } from './sandbox-api.ts';
export { StillPending } from './still-pending.ts';
export { ClusterStopped } from './stopped.ts';
export type { ApproveOptions, IntentRef, NextOptions, RejectOptions, WaitForOptions } from './wallet-side.ts';
export type { ReceivedRequest, Respond, Webhook, WebhookDelivery, WebhookOptions } from './webhooks.ts';

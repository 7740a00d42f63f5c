/**
 * Words of scenario files that the world (world.ts) uses too: the declarations of signmesh/testing, and what
 * writes files, need no schema for them.
 */

/** The status codes of gRPC that a call without an answer may end with. */
export const grpcCodes = [
  ...(['CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'PERMISSION_DENIED'] as const),
  ...(['RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE'] as const),
  'UNAUTHENTICATED',
] as const;
export type GrpcCode = (typeof grpcCodes)[number];

/** Keystore types with their own kind of key. */
export const ownKeystores = ['MULTISIG_EVM_WALLET', 'HSM_PKCS11', 'MPC_VENDOR'] as const;
export type OwnKeystore = (typeof ownKeystores)[number];

/** What a wallet asks of clients' calls that sign with its key. */
export const walletTerms = ['archived', 'intents_only', 'human_required', 'custodian'] as const;
export type ScenarioWalletTerms = (typeof walletTerms)[number];

/** The answer of a receiver to a delivery: a status, none, or a connection that is cut. */
export type ReceiverAnswer = number | 'never' | 'reset';

/** Constants of the product that a scenario may set for a simulated cluster. */
export const clusterConstants = [
  'signing_lifetime_ms',
  'pending_lifetime_ms',
  'key_lifetime_ms',
  'idle_ms',
  'sweep_ms',
  'calls_waiting',
  'nonce_batch',
  'mailbox',
  'link_news_ms',
] as const;

/** Optional settings: the number of processes of a role (one), rate limits (none), and keys of cluster 1 (none). */
export const optionalSettings = ['gateways', 'workers', 'rate_limits', 'ready_made'] as const;

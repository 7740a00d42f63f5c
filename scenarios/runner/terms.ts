/** Words of scenario files that the world (world.ts) uses too: the declarations of signmesh/testing need no schema for them. */

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

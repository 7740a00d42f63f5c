/** Every limit of the contract, with its unit in the name. The docs quote these. */

/** Node ids are 1..nodesMax. */
export const nodesMax = 100;
/** Clusters that may share a Redis are 1..clustersMax. */
export const clustersMax = 100;
export const thresholdMin = 2;
export const defaultThreshold = 3;
export const defaultTotalNodes = 5;

export const sessionIdPattern = /^[A-Za-z0-9._:-]{1,128}$/;
/** Prefixes of session ids that only the service creates. */
export const reservedSessionPrefixes: readonly string[] = ['wal_', 'vky_', 'sig_', 'rfr_'];

/** Whether a session makes new shares of a key; only a gateway begins one (refreshSessionId, ids.ts). */
export function isRefreshSession(sessionId: string): boolean {
  return sessionId.startsWith('rfr_');
}

/** The form of a gateway's id for a signing session that it orders. */
export const signingIdPattern = /^sig_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * A wallet's key has the wallet's id, a vault's key id begins with `vky_`: only the wallet service makes such keys, and
 * only they can be closed.
 */
export function isWalletKey(keyId: string): boolean {
  return keyId.startsWith('wal_') || isVaultKey(keyId);
}

/** Clients sign with it only through the vault's own route. */
export function isVaultKey(keyId: string): boolean {
  return keyId.startsWith('vky_');
}

export const digestBytes = 32;
export const ed25519MessageBytesMax = 65_536;
export const scalarBytes = 32;

/** transaction_intent_id, wallet_id, network_id, correlation_id, traceparent, client fields: characters. */
export const identifierCharsMax = 256;
export const derivationPathCharsMax = 1024;
/** context.payload, policy_approval_token, human_approval_witness. */
export const opaqueBytesMax = 65_536;
export const resumeTokenCharsMax = 512;
/** Fields of one request, including those of inner messages and entries of lists. The largest needs about 130. */
export const requestFieldsMax = 1000;

/** Fields of one frame between processes, counted alike. The largest, a whole round of 100 nodes, needs about 11,000. */
export const frameFieldsMax = 20_000;

export const httpBodyBytesMax = 256 * 1024;
export const grpcMessageBytesMax = 1024 * 1024;
/** One WebSocket message between processes: room for a whole round of 100 nodes. */
export const wireMessageBytesMax = 8 * 1024 * 1024;

export const signingLifetimeMs = 15 * 60_000;
export const pendingLifetimeMs = 24 * 3_600_000;
export const dkgLifetimeMs = 10 * 60_000;
/** The store retains terminal sessions and intent guards as long as events. */
export const retentionMs = 30 * 24 * 3_600_000;
/** The most sessions in a page of their list. */
export const sessionsPageMax = 100;
/** The lifetime of a gateway's order: as long as the guard of its intent may exist. */
export const orderLifetimeMs = retentionMs + pendingLifetimeMs;
/** The time that a call waits for unreachable nodes. */
export const nodesWaitMs = 10_000;

/** The longest time that a session waits for the vendor of its key, whatever the vendor answers. */
export const vendorOrderLifetimeMaxMs = 24 * 3_600_000;

/**
 * The cost model of docs/scale.md: frames, bytes on the links and durable writes of one ceremony that meets no fault, as functions
 * of n (nodes that share the key) and t (nodes that sign). test/bench/costs.test.ts holds it against what the simulated world counts.
 *
 * Frames and writes are exact. Bytes are those of frames, without WebSocket, TLS and TCP; the names of tenants, sessions and
 * intents are in them, so they hold within a tenth for names of the usual length.
 */
import type { ReleasedKind } from '../../crypto/frost/released.ts';

export interface Sharing {
  /** Nodes that share the key. */
  readonly n: number;
  /** Nodes that sign. */
  readonly t: number;
}

/** One ceremony, over all links of a cluster. */
export interface CeremonyCost {
  /** By the kind of message. */
  readonly frames: Readonly<Record<string, number>>;
  readonly bytes: number;
  /** The coordinator's writes of sessions and keys: each is one script in Redis. */
  readonly coordinatorWrites: number;
  /** Writes to the nodes' own stores, over all nodes. */
  readonly nodeWrites: number;
}

/** InitiateDkg, and one ExchangeDkgShares for the whole round. Every node gets what every dealer committed to: n²·t. */
export function dkgCost({ n, t }: Sharing): CeremonyCost {
  const requests = { dkgOpen: n, dkgSeal: n, dkgVerify: n, dkgConfirm: n };
  const answers = { dkgOpened: n, dkgSealed: n, dkgVerified: n, dkgConfirmed: n };
  return {
    frames: { call: 2, callReply: 2, ...requests, ...answers },
    bytes: 960 * n + 1_050 * n ** 2 + 88 * n ** 2 * t,
    coordinatorWrites: 3,
    nodeWrites: 3 * n,
  };
}

/**
 * InitiateSigning and SubmitSignatureShare; the wallet service's Sign has one call. FROST sends each signer the nonce commitments of all
 * (t²); the order that comes with a call has a MAC for each node (17·n). Nonces are dealt ahead, see `dealingFrames`.
 */
export function signingCost({ n, t }: Sharing, kind: ReleasedKind): CeremonyCost {
  return {
    frames: { call: 2, callReply: 2, partialRequest: t, partialReply: t },
    bytes: kind === 'ecdsa' ? 1_220 + 17 * n + 540 * t : 1_200 + 17 * n + 505 * t + 71 * t ** 2,
    coordinatorWrites: 2,
    nodeWrites: t,
  };
}

/** Frames that deal nonces, on average for one signature: a node deals a batch when it has given as many. */
export function dealingFrames(t: number, batch: number): number {
  return (2 * t) / batch;
}

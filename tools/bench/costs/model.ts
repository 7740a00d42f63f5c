/**
 * The cost model of docs/scale.md: frames, bytes on the links and durable writes of one ceremony that meets no fault, as functions
 * of n (nodes that share the key) and t (nodes that sign). test/tools/bench/costs.test.ts holds it against what the simulated world counts.
 *
 * Frames and writes are exact. Bytes are those of frames, without WebSocket, TLS and TCP; the names of tenants, sessions and
 * intents are in them, so they hold within a tenth for names of the usual length.
 */
import type { ReleasedKind } from '../../../core/crypto/frost/released.ts';

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

/** InitiateDkg, and one ExchangeDkgShares for the whole round. Every node gets the commitments of every dealer: n²·t. */
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

/** Frames with new nonces, on average for one signature: a node makes a batch when it has used as many. */
export function dealingFrames(t: number, batch: number): number {
  return (2 * t) / batch;
}

/** Operations on curve points, over all nodes and the coordinator: CPU time grows with them. */
export interface PointOperations {
  /** Multiplications of the generator. */
  readonly base: number;
  /** Multiplications of other points, terms of linear combinations among them. */
  readonly point: number;
  /** Points of a polynomial in the exponent whose values at the nodes' numbers are computed: an addition each. */
  readonly evaluated: number;
  /** Points whose validity is checked individually. */
  readonly checked: number;
}

/** A process checks each dealer's proof of possession, and computes the key's public part, once; in the simulated world all nodes are one process. */
export function dkgPoints({ n, t }: Sharing): PointOperations {
  return {
    base: n * t + 3 * n,
    point: n,
    evaluated: n * t,
    // By the coordinator and the nodes' process. The last is the key's own, for the xpub of its event.
    checked: 2 * n * t + 1,
  };
}

/** With nonces made before; without the verification of the whole signature, by the native library. */
export function signingPoints({ t }: Sharing, kind: ReleasedKind): PointOperations {
  if (kind === 'ecdsa') return { base: 1, point: 0, evaluated: 0, checked: 1 };
  const even = kind === 'bip340' ? 1 : 0;
  return { base: t + even, point: t * (t - 1) + even, evaluated: 0, checked: t ** 2 + 1 + 2 * even };
}

/** Calls of a transfer to Redis and others, except periodic work, by process; a tenant with one policy and one webhook. */
export function transferCost(kind: TransferKind, { t }: Sharing): Readonly<Record<string, number>> {
  const events = transferEvents[kind];
  const decided = { 'gateway store/begin-idempotent.lua': 1, 'gateway store/count.lua': 2 };
  // Whether the tenant is frozen: for the decision, the beginning, the provider's step, and the order of a signature.
  const frozen = kind === 'custodian' ? 3 : 4;
  const read = { 'gateway get': 1, 'gateway hmget': 3 + frozen, 'gateway store/with-balances.lua': 2 };
  const delivered = {
    'worker delivery/deliveries/move.lua': events,
    'worker egress': events,
    'worker hmget': 2 * events,
  };
  const common = { ...decided, ...read, ...delivered };
  if (kind === 'custodian')
    return { ...common, 'gateway hgetall': 1, 'gateway store/commit.lua': 10, 'gateway provider': 9 };
  const signed = { 'frame call': 1, 'frame callReply': 1, 'frame partialRequest': t, 'frame partialReply': t };
  const written = { 'coordinator writes': 2, 'node writes': t };
  const sent = {
    'gateway hgetall': 2,
    // The fee market.
    'gateway mget': 1,
    'gateway store/commit.lua': 5,
    'gateway providers/chains/submit-evm.lua': 1,
  };
  return { ...common, ...sent, ...signed, ...written };
}

export type TransferKind = 'self_hosted' | 'custodian';

/** Each is delivered to each subscribed webhook. */
export const transferEvents: Readonly<Record<TransferKind, number>> = { self_hosted: 10, custodian: 12 };

/** The events of a moment are taken from the log and put into the queue together: at most this often a transfer. */
export const batchesMax: Readonly<Record<TransferKind, number>> = { self_hosted: 5, custodian: 8 };

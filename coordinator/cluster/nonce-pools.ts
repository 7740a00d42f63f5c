/**
 * Nonces that nodes dealt ahead, waiting to be drawn. A pool belongs to one scheme, one node and one boot of it: a
 * node's restart voids what it dealt before. Memory only.
 *
 * Invariant: a nonce enters its pool at most once, and leaves it once. Numbers rise within a boot of the node, so what is
 * not above the highest seen is a frame delivered twice, or late, and is left out; that outlives a dropped pool, since a
 * link may come back to the same boot.
 *
 * The pools are owned by the cluster actor and change in place.
 */
import type { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { DrawnNonce } from '../messages.ts';

/** Where the size of a pool's batches begins, and the most that it asks for at once. */
const batchFirst = 32;
const batchMax = 512;
/** What a pool holds at most. */
const poolMax = 2 * batchMax;

interface Pool {
  readonly nonces: DrawnNonce[];
  /** Nonces asked for and not dealt yet. */
  awaited: number;
  /** The size of the next batch; doubles when the pool runs low before the batch arrives. */
  batch: number;
}

export interface NoncePools {
  readonly batchFirst: number;
  readonly pools: Map<string, Pool>;
  /** The highest number that came in, by pool. */
  readonly highest: Map<string, { readonly nodeBoot: string; readonly number: bigint }>;
}

/** @param first in place of `batchFirst`: at least 1 */
export function noNoncePools(first: number = batchFirst): NoncePools {
  return { batchFirst: first, pools: new Map(), highest: new Map() };
}

export function depth(state: NoncePools, scheme: Scheme, nodeId: number): number {
  return state.pools.get(poolKey(scheme, nodeId))?.nonces.length ?? 0;
}

export function take(state: NoncePools, scheme: Scheme, nodeId: number): DrawnNonce | undefined {
  return state.pools.get(poolKey(scheme, nodeId))?.nonces.shift();
}

export function put(state: NoncePools, scheme: Scheme, nodeId: number, nonces: readonly DrawnNonce[]): void {
  const pool = poolOf(state, scheme, nodeId);
  pool.awaited = Math.max(0, pool.awaited - nonces.length);
  const key = poolKey(scheme, nodeId);
  for (const nonce of nonces) {
    const { nodeBoot, number } = nonce;
    const highest = state.highest.get(key);
    if (highest?.nodeBoot === nodeBoot && number <= highest.number) continue;
    // More than was ever asked for: a node cannot fill this process's memory.
    if (pool.nonces.length >= poolMax) return;
    state.highest.set(key, { nodeBoot, number });
    pool.nonces.push(nonce);
  }
}

/** How many nonces to ask this node for now; they count as awaited. 0: the pool is deep enough. */
export function shortage(state: NoncePools, scheme: Scheme, nodeId: number): number {
  const pool = poolOf(state, scheme, nodeId);
  if (pool.awaited > 0 || pool.nonces.length > pool.batch / 2) return 0;
  if (pool.nonces.length < pool.batch / 8) pool.batch = Math.min(batchMax, pool.batch * 2);
  pool.awaited = pool.batch;
  return pool.batch;
}

/** What was asked for may be asked for again. */
export function forgetAwaited(state: NoncePools): void {
  for (const pool of state.pools.values()) pool.awaited = 0;
}

/** Forgets all that a node dealt. */
export function drop(state: NoncePools, nodeId: number): void {
  for (const key of [...state.pools.keys()]) if (key.endsWith(`/${nodeId}`)) state.pools.delete(key);
}

function poolOf(state: NoncePools, scheme: Scheme, nodeId: number): Pool {
  const key = poolKey(scheme, nodeId);
  let pool = state.pools.get(key);
  if (!pool) {
    pool = { nonces: [], awaited: 0, batch: state.batchFirst };
    state.pools.set(key, pool);
  }
  return pool;
}

function poolKey(scheme: Scheme, nodeId: number): string {
  return `${scheme}/${nodeId}`;
}

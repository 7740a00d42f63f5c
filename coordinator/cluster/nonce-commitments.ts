/**
 * Nonces that nodes made ahead, waiting to be drawn. A pool belongs to one scheme, one node and one boot of it: a node's
 * restart voids its earlier nonces. Memory only.
 *
 * Invariants
 * - A nonce enters its pool at most once, and leaves it once. Numbers rise within a boot of the node, so a number that is not
 *   above the highest seen comes from a duplicate or late frame, and is ignored. The highest number outlives a dropped pool,
 *   since a link may reconnect to the same boot.
 * - Only requested nonces enter: a node cannot exhaust this process's memory or CPU.
 * - A node drops its oldest nonces first: a nonce that it no longer knows also voids the earlier ones, and those of the same
 *   batch.
 *
 * The pools are owned by the cluster actor and change in place.
 */
import type { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { DrawnNonce } from '../contract/messages.ts';

/** The first size of a pool's batches, and the largest. */
const batchFirst = 32;
const batchMax = 512;

interface Pool {
  readonly nonces: DrawnNonce[];
  /** The first number of each batch that has nonces here, rising. */
  begins: bigint[];
  /** Nonces asked for and not dealt yet. */
  awaited: number;
  /** The size of the next batch; doubles when the pool runs low before the batch arrives. */
  batch: number;
}

export interface CommitmentPools {
  readonly batchFirst: number;
  readonly pools: Map<string, Pool>;
  /** The highest number that came in, by pool. */
  readonly highest: Map<string, { readonly nodeBoot: string; readonly number: bigint }>;
}

/** @param first in place of `batchFirst`: at least 1 */
export function noNoncePools(first: number = batchFirst): CommitmentPools {
  return { batchFirst: first, pools: new Map(), highest: new Map() };
}

export function depth(state: CommitmentPools, scheme: Scheme, nodeId: number): number {
  return state.pools.get(poolKey(scheme, nodeId))?.nonces.length ?? 0;
}

export function take(state: CommitmentPools, scheme: Scheme, nodeId: number): DrawnNonce | undefined {
  return state.pools.get(poolKey(scheme, nodeId))?.nonces.shift();
}

/** Nonces that this node was asked for and has not dealt yet. */
export function awaited(state: CommitmentPools, scheme: Scheme, nodeId: number): number {
  return state.pools.get(poolKey(scheme, nodeId))?.awaited ?? 0;
}

/** One batch; nonces beyond the requested number are ignored. */
export function put(state: CommitmentPools, scheme: Scheme, nodeId: number, nonces: readonly DrawnNonce[]): void {
  const pool = poolOf(state, scheme, nodeId);
  const wanted = nonces.slice(0, pool.awaited);
  pool.awaited -= wanted.length;
  const key = poolKey(scheme, nodeId);
  let isFirst = true;
  for (const nonce of wanted) {
    const { nodeBoot, number } = nonce;
    const highest = state.highest.get(key);
    if (highest?.nodeBoot === nodeBoot && number <= highest.number) continue;
    state.highest.set(key, { nodeBoot, number });
    if (isFirst) beginBatch(pool, number);
    isFirst = false;
    pool.nonces.push(nonce);
  }
}

function beginBatch(pool: Pool, number: bigint): void {
  const [oldest] = pool.nonces;
  // The last batch that begins at or before the oldest nonce is the first with remaining nonces.
  while (pool.begins.length > 1 && (oldest === undefined || pool.begins[1]! <= oldest.number)) pool.begins.shift();
  pool.begins.push(number);
}

/** The node no longer knows this nonce of its present boot, nor its earlier ones. */
export function forgotten(state: CommitmentPools, scheme: Scheme, nodeId: number, number: bigint): void {
  const pool = poolOf(state, scheme, nodeId);
  const next = pool.begins.find((begin) => begin > number);
  const kept = next === undefined ? [] : pool.nonces.filter((nonce) => nonce.number >= next);
  pool.nonces.splice(0, pool.nonces.length, ...kept);
  pool.begins = pool.begins.filter((begin) => begin > number);
}

/** How many nonces to request from this node now; they count as requested. 0: the pool is full enough. */
export function shortage(state: CommitmentPools, scheme: Scheme, nodeId: number): number {
  const pool = poolOf(state, scheme, nodeId);
  if (pool.awaited > 0 || pool.nonces.length > pool.batch / 2) return 0;
  if (pool.nonces.length < pool.batch / 8) pool.batch = Math.min(batchMax, pool.batch * 2);
  pool.awaited = pool.batch;
  return pool.batch;
}

/** Allows another request to every node, also to one whose answer is outstanding. */
export function resetAwaited(state: CommitmentPools): void {
  for (const pool of state.pools.values()) pool.awaited = 0;
}

/** Drops all nonces of a node. */
export function drop(state: CommitmentPools, nodeId: number): void {
  for (const key of [...state.pools.keys()]) if (key.endsWith(`/${nodeId}`)) state.pools.delete(key);
}

function poolOf(state: CommitmentPools, scheme: Scheme, nodeId: number): Pool {
  const key = poolKey(scheme, nodeId);
  let pool = state.pools.get(key);
  if (!pool) {
    pool = { nonces: [], begins: [], awaited: 0, batch: state.batchFirst };
    state.pools.set(key, pool);
  }
  return pool;
}

function poolKey(scheme: Scheme, nodeId: number): string {
  return `${scheme}/${nodeId}`;
}

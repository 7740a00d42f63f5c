/**
 * The registry of clusters in Redis: each coordinator announces its cluster every second; gateways read which clusters are
 * alive, and count the keys that they place. It also reads the cluster from the records of sessions and keys.
 */
import type { Redis } from 'ioredis';
import {
  type ClusterEntry,
  type ClusterRegistry,
  type ClusterState,
  firstCluster,
  keyRecordKey,
  type StoredSessionFacts,
  sessionRecordKey,
} from './clusters.ts';
import { luaCommand, luaScript } from './lua.ts';
import { isWrongType } from './wrong-type.ts';

interface Announce {
  readonly keys: { readonly clustersKey: string };
  readonly args: {
    readonly number: number;
    readonly clusterId: string;
    readonly silentMs: number;
    readonly entry: string;
  };
}

interface List {
  readonly keys: { readonly clustersKey: string; readonly placedKey: string };
  readonly args: object;
}

const announceScript = luaScript<Announce, readonly ['OK'] | readonly ['TAKEN', string]>(
  'core/redis/announce-cluster.lua',
);
const listScript = luaScript<List, readonly (readonly string[])[]>('core/redis/list-clusters.lua');

/** Both in one slot. */
export const clusterKeys = { clustersKey: 'sm:{clusters}', placedKey: 'sm:{clusters}:placed' };

/** After this time without an announcement a cluster is not alive, and its number is free. */
export const clusterSilentMs = 10_000;

export class RedisClusters implements ClusterRegistry {
  readonly #redis: Redis;
  readonly #announce;
  readonly #list;

  constructor(redis: Redis) {
    this.#redis = redis;
    this.#announce = luaCommand(redis, announceScript);
    this.#list = luaCommand(redis, listScript);
  }

  /** Returns the id of a living cluster with this number; undefined: the number is ours. */
  async announce(number: number, clusterId: string, state: ClusterState): Promise<string | undefined> {
    const { clustersKey } = clusterKeys;
    const about = { number, clusterId, silentMs: clusterSilentMs, entry: JSON.stringify(state) };
    return (await this.#announce({ clustersKey }, about))[1];
  }

  /** Announces an orderly stop. */
  async withdraw(number: number): Promise<void> {
    await this.#redis.hdel(clusterKeys.clustersKey, String(number));
  }

  async list(): Promise<readonly ClusterEntry[]> {
    const found = await this.#list(clusterKeys, {});
    return found.flatMap(([number, silentMs, clusterId = '', entry = '', placed]) => {
      const state = stateOf(entry);
      if (state === undefined) return [];
      return [{ ...state, number: Number(number), clusterId, silentMs: Number(silentMs), placed: Number(placed) }];
    });
  }

  placed(number: number): Promise<number> {
    return this.#redis.hincrby(clusterKeys.placedKey, String(number), 1);
  }

  /**
   * From the record of a session, else of a key. undefined also for a record that names no cluster's number, or is of another
   * Redis type: any coordinator finds out that it was replaced.
   */
  async locate(tenant: string, id: string): Promise<number | undefined> {
    const [held, key] = await Promise.all([
      readable(this.#redis.hmget(sessionRecordKey(tenant, id), 'state', 'cluster')),
      readable(this.#redis.get(keyRecordKey(tenant, id))),
    ]);
    const [state, cluster] = held ?? [];
    if (typeof state === 'string') return numberOf(cluster);
    return typeof key === 'string' ? numberOf(/"cluster":(\d+)}$/.exec(key)?.[1]) : undefined;
  }

  async session(tenant: string, sessionId: string): Promise<StoredSessionFacts | undefined> {
    const { epoch, state, checkpointId, checkpointMs, data } = await this.#redis.hgetall(
      sessionRecordKey(tenant, sessionId),
    );
    if (epoch === undefined || state === undefined) return undefined;
    const { approvalMode, keystoreType, correlationId } = parsed(data ?? '');
    return {
      epoch: Number(epoch),
      state: Number(state),
      checkpointId: checkpointId ?? '',
      checkpointMs: Number(checkpointMs ?? 0),
      approvalMode: Number(approvalMode ?? 0),
      keystoreType: Number(keystoreType ?? 0),
      correlationId: typeof correlationId === 'string' ? correlationId : '',
    };
  }
}

/** undefined: the key is of another type. */
function readable<T>(reply: Promise<T>): Promise<T | undefined> {
  return reply.catch((error: unknown) => {
    if (isWrongType(error)) return undefined;
    throw error;
  });
}

/** Records of earlier versions name no cluster: they are of the first. */
function numberOf(cluster: string | null | undefined): number | undefined {
  const number = Number(cluster ?? firstCluster);
  return Number.isInteger(number) && number >= firstCluster ? number : undefined;
}

function stateOf(entry: string): ClusterState | undefined {
  const state = parsed(entry) as Partial<ClusterState>;
  return typeof state.url === 'string' && typeof state.nodesTotal === 'number' ? (state as ClusterState) : undefined;
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/**
 * Connections to what REDIS_URL names: one Redis, or a Redis Cluster (address.ts). Those who use a connection need not know
 * which: a client of a Redis Cluster has the same commands and events, and sends each command to the master of its slot.
 *
 * An answer of a Redis Cluster that sends the command elsewhere (MOVED, ASK) or asks to try again (TRYAGAIN) has changed
 * nothing; the client follows it some times. It never repeats by itself a command whose answer was lost, unless the
 * connection is patient: patient users repeat safely.
 */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { redisAddress } from './address.ts';
import { timeOutByAnswers } from './command-timeout.ts';
import { waitForReplicas } from './replicas.ts';
import { slotOf, slotsTotal } from './slots.ts';

export interface ConnectOptions
  extends Pick<
    RedisOptions,
    | 'commandTimeout'
    | 'connectTimeout'
    | 'enableAutoPipelining'
    | 'enableOfflineQueue'
    | 'lazyConnect'
    | 'retryStrategy'
  > {
  /** Commands wait while Redis is unreachable, and are sent again when their answer was lost. Otherwise they fail at once. */
  readonly isPatient: boolean;
  /** A command has its answer only when so many replicas have what it changed; 0 by default. */
  readonly replicas?: number | undefined;
}

/** After an answer that sends the command on, a client tries again so often, with such a pause where one is needed. */
const impatientRedirections = 6;
const patientRedirections = 64;
const retryDelayMs = 100;
/** A master that stands still sends no client elsewhere: that another took its slots is read from the others. */
const slotsRefreshMs = 5_000;

/** The client's own words. */
const closedText = 'Connection is closed.';
const noClusterText = "Cluster isn't ready and enableOfflineQueue options is false";

/** Begins to connect, unless told to be lazy. Throws a RangeError for no address. */
export function connectRedis(url: string, { isPatient, replicas = 0, ...options }: ConnectOptions): Redis {
  const address = redisAddress(url);
  if (address === undefined) throw new RangeError('this is no address of a Redis');
  timeOutByAnswers();
  const maxRetriesPerRequest = isPatient ? null : 0;
  if (address.nodes.length === 1) {
    const redis = new Redis(url, { ...options, maxRetriesPerRequest });
    if (replicas > 0) waitForReplicas(redis, replicas);
    return redis;
  }
  const { username, password, isTls } = address;
  const { commandTimeout, connectTimeout, lazyConnect = false, retryStrategy } = options;
  const ofNodes = {
    maxRetriesPerRequest,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(commandTimeout !== undefined && { commandTimeout }),
    ...(connectTimeout !== undefined && { connectTimeout }),
    ...(isTls && { tls: {} }),
  };
  const repeatMs = isPatient ? retryDelayMs : 0;
  const cluster = new Cluster(
    address.nodes.map((node) => ({ ...node })),
    {
      redisOptions: ofNodes,
      lazyConnect,
      ...(retryStrategy && { clusterRetryStrategy: (times: number) => retryStrategy(times) ?? null }),
      // A pipeline whose commands go to several slots is not sent on when one of them is moved.
      enableAutoPipelining: false,
      maxRedirections: isPatient ? patientRedirections : impatientRedirections,
      retryDelayOnTryAgain: retryDelayMs,
      retryDelayOnFailover: repeatMs,
      retryDelayOnClusterDown: repeatMs,
      slotsRefreshInterval: slotsRefreshMs,
      // Names stay names: certificates hold them.
      dnsLookup: (host, done) => done(null, host),
    },
  );
  if (options.enableOfflineQueue === false) failWithoutCluster(cluster);
  // The client sends ASKING itself and leaves its failure to no handler; the command that follows fails as well.
  cluster.on('+node', (node: Redis) => {
    const asking = node.asking.bind(node);
    node.asking = (() => asking().catch(() => 'OK')) as typeof node.asking;
  });
  // One node's trouble; the cluster says its own.
  cluster.on('node error', () => undefined);
  if (replicas > 0) cluster.on('+node', (node: Redis) => waitForReplicas(node, replicas));
  // It has every command and event that is used of a Redis, but for `duplicate` (subscriber.ts).
  return cluster as unknown as Redis;
}

/**
 * Commands fail at once while no node is known. The client's own option would fail too much: whatever comes while the
 * connection to one node is being opened.
 */
function failWithoutCluster(cluster: Cluster): void {
  const send = cluster.sendCommand.bind(cluster);
  cluster.sendCommand = (command, stream, node) => {
    if (cluster.status === 'ready' || command.name === 'cluster') return send(command, stream, node);
    command.reject(new Error(noClusterText));
    return command.promise;
  };
}

/** What a watch needs of a connection (actors/live/redis-watch.ts). */
export interface WatchedConnection {
  readonly status: string;
  set(key: string, value: string, unit: 'PX', milliseconds: number): Promise<unknown>;
  on(event: 'connect' | 'ready' | 'close' | 'error', listener: (error?: Error) => void): unknown;
}

/** Of a Redis Cluster a write goes to every master, each under a name of its own slots. */
export function watchedConnection(redis: Redis): WatchedConnection {
  if (!redis.isCluster) return redis;
  const cluster = redis as unknown as Cluster;
  return {
    get status() {
      return cluster.status;
    },
    on: (event, listener) => cluster.on(event, listener),
    set: (key, value, unit, milliseconds) =>
      Promise.all(probeNames(cluster, key).map((name) => redis.set(name, value, unit, milliseconds))).catch(
        (error: Error) => {
          // The client says no more of a master that cannot be reached.
          throw error.message === closedText ? new Error('CLUSTERDOWN a master cannot be reached') : error;
        },
      ),
  };
}

/** One name for each master that has slots. */
function probeNames(cluster: Cluster, key: string): string[] {
  const names = new Map<string, string>();
  const owners = new Set(cluster.slots.map((nodes) => nodes?.[0]));
  for (let number = 0; names.size < owners.size && number < slotsTotal; number += 1) {
    const name = `${key}:${number}`;
    const owner = cluster.slots[slotOf(name)]?.[0];
    if (owner !== undefined && !names.has(owner)) names.set(owner, name);
  }
  return [...names.values()];
}

/** Calls the listener whenever another node has become the master of the key's slot; never for one Redis. */
export function onNewMaster(redis: Redis, key: string, listener: () => void): void {
  if (!redis.isCluster) return;
  const { slots } = redis as unknown as Cluster;
  const slot = slotOf(key);
  let known: string | undefined;
  redis.on('refresh', () => {
    const owner = slots[slot]?.[0];
    if (known !== undefined && owner !== undefined && owner !== known) listener();
    known = owner ?? known;
  });
}

/** Each master of a Redis Cluster, or the one Redis: for commands that look through all keys. */
export function mastersOf(redis: Redis): readonly Redis[] {
  return redis.isCluster ? (redis as unknown as Cluster).nodes('master') : [redis];
}

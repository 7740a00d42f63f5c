/**
 * Connections to REDIS_URL: one Redis, or a Redis Cluster (address.ts). The users of a connection need not know
 * which: a client of a Redis Cluster has the same commands and events, and sends each command to the master of its slot.
 *
 * An answer of a Redis Cluster that sends the command elsewhere (MOVED, ASK) or asks to try again (TRYAGAIN) has changed
 * nothing; the client follows it a few times. It never repeats a command whose answer was lost, unless the
 * connection is patient: patient users repeat safely.
 */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { redisAddress } from './address.ts';
import { timeOutByAnswers } from './command-timeout.ts';
import { gatherWrites } from './gathered-writes.ts';
import { waitForReplicas } from './replicas.ts';
import { slotOf, slotsTotal } from './slots.ts';

export interface ConnectOptions
  extends Pick<
    RedisOptions,
    'commandTimeout' | 'connectTimeout' | 'enableOfflineQueue' | 'lazyConnect' | 'retryStrategy'
  > {
  /** Commands wait while Redis is unreachable, and are sent again when their answer was lost. Otherwise they fail at once. */
  readonly isPatient: boolean;
  /** A command has its answer only when so many replicas have what it changed; 0 by default. */
  readonly replicas?: number | undefined;
  /** Commands of one turn of the event loop leave in one write to the socket. Not in a Redis Cluster. */
  readonly gathersWrites?: boolean;
}

/** The number of redirections that a client follows, and the pause between attempts where one is needed. */
const impatientRedirections = 6;
const patientRedirections = 64;
const retryDelayMs = 100;
/** The interval of reading the slots: a master that hangs redirects no client, so the other nodes report its replacement. */
const slotsRefreshMs = 5_000;

/** The client's error text. */
const closedText = 'Connection is closed.';
const noClusterText = "Cluster isn't ready and enableOfflineQueue options is false";

/** Begins to connect, unless told to be lazy. Throws a RangeError for an invalid address. */
export function connectRedis(
  url: string,
  { isPatient, replicas = 0, gathersWrites = false, ...options }: ConnectOptions,
): Redis {
  const address = redisAddress(url);
  if (address === undefined) throw new RangeError('this is no address of a Redis');
  timeOutByAnswers();
  const maxRetriesPerRequest = isPatient ? null : 0;
  if (address.nodes.length === 1) {
    const redis = new Redis(url, { ...options, maxRetriesPerRequest, reconnectOnError: isDemoted });
    if (gathersWrites) gatherWrites(redis);
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
      maxRedirections: isPatient ? patientRedirections : impatientRedirections,
      retryDelayOnTryAgain: retryDelayMs,
      retryDelayOnFailover: repeatMs,
      retryDelayOnClusterDown: repeatMs,
      slotsRefreshInterval: slotsRefreshMs,
      // Keeps host names unresolved, since certificates contain them.
      dnsLookup: (host, done) => done(null, host),
    },
  );
  if (options.enableOfflineQueue === false) failWithoutCluster(cluster);
  // The client sends ASKING itself without a handler for its failure; the command that follows fails as well.
  cluster.on('+node', (node: Redis) => {
    const asking = node.asking.bind(node);
    node.asking = (() => asking().catch(() => 'OK')) as typeof node.asking;
  });
  // Trouble of a single node; the cluster reports its own.
  cluster.on('node error', () => undefined);
  if (replicas > 0) cluster.on('+node', (node: Redis) => waitForReplicas(node, replicas));
  // It has every Redis command and event in use, except `duplicate` (subscriber.ts).
  return cluster as unknown as Redis;
}

/**
 * Whether Redis has become a replica: after a failover its name may lead to the new primary already, which a connection that stays
 * open never finds.
 */
function isDemoted({ message }: Error): boolean {
  return message.startsWith('READONLY');
}

/**
 * Makes commands fail at once while no node is known. The client's own option would also fail commands that arrive while the
 * connection to one node opens.
 */
function failWithoutCluster(cluster: Cluster): void {
  const send = cluster.sendCommand.bind(cluster);
  cluster.sendCommand = (command, stream, node) => {
    if (cluster.status === 'ready' || command.name === 'cluster') return send(command, stream, node);
    command.reject(new Error(noClusterText));
    return command.promise;
  };
}

/** The parts of a connection that a watch needs (core/actors/live/redis-watch.ts). */
export interface WatchedConnection {
  readonly status: string;
  set(key: string, value: string, unit: 'PX', milliseconds: number): Promise<unknown>;
  on(event: 'connect' | 'ready' | 'close' | 'error', listener: (error?: Error) => void): unknown;
}

/** In a Redis Cluster a write goes to every master, each with a key in its own slots. */
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
          // The client gives no other error for a master that is unreachable.
          throw error.message === closedText ? new Error('CLUSTERDOWN a master cannot be reached') : error;
        },
      ),
  };
}

/** One key name for each master that has slots. */
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

/** Each master of a Redis Cluster, or the one Redis: for commands that scan all keys. */
export function mastersOf(redis: Redis): readonly Redis[] {
  return redis.isCluster ? (redis as unknown as Cluster).nodes('master') : [redis];
}

/**
 * A connection that subscribes, reopened whenever it ends. In a Redis Cluster it connects to any node: a node forwards
 * published messages to all others.
 */
import type { Cluster, Redis } from 'ioredis';

export interface Subscriber {
  /** The current connection; undefined: none is open. */
  readonly connection: Redis | undefined;
  close(): void;
}

const reopenMs = 200;

/** `prepare` gets every connection before it is ready, and subscribes on `ready`: also after one was lost. */
export function openSubscriber(redis: Redis, prepare: (connection: Redis) => void): Subscriber {
  const options = { autoResubscribe: false, enableAutoPipelining: false } as const;
  const prepared = (connection: Redis): Redis => {
    // The process's other connection logs that Redis is unreachable.
    connection.on('error', () => undefined);
    prepare(connection);
    return connection;
  };
  if (!redis.isCluster) {
    const connection = prepared(redis.duplicate(options));
    return { connection, close: () => connection.disconnect() };
  }
  let current: Redis | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const open = (): void => {
    const nodes = (redis as unknown as Cluster).nodes('all');
    const node = nodes[Math.floor(Math.random() * nodes.length)];
    if (node === undefined) {
      timer = setTimeout(open, reopenMs);
      return;
    }
    // A lost node is not tried again: another replaces it.
    current = prepared(
      node.duplicate({ ...options, retryStrategy: () => null, lazyConnect: false, enableReadyCheck: true }),
    );
    current.once('end', () => {
      current = undefined;
      if (!isClosed) timer = setTimeout(open, reopenMs);
    });
  };
  open();
  return {
    get connection() {
      return current;
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      current?.disconnect();
    },
  };
}

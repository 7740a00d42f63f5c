/**
 * Waits for replicas: a command has its answer only when so many replicas have what it changed (WAIT). A command that they
 * do not have in time fails with ReplicasLate; its change stands at the master, so its fate is unknown to the caller.
 *
 * One WAIT for all answers of a turn of the event loop: it counts everything that the connection has sent before it.
 */
import { Command, type Redis } from 'ioredis';

/** Below the timeout of commands, so that the reason is told. */
const withinMs = 500;

/** Commands that change nothing, and those of the connection itself. */
const withoutChange: ReadonlySet<string> = new Set([
  ...['get', 'mget', 'hget', 'hmget', 'hgetall', 'hvals', 'hkeys', 'hexists', 'exists', 'pttl', 'scan', 'type'],
  ...['zrange', 'zrangebyscore', 'zcard', 'zscore', 'zcount', 'smembers', 'xrange', 'lrange'],
  ...[
    'wait',
    'ping',
    'info',
    'cluster',
    'asking',
    'auth',
    'hello',
    'client',
    'select',
    'readonly',
    'readwrite',
    'quit',
  ],
  ...['subscribe', 'psubscribe', 'unsubscribe', 'punsubscribe', 'publish', 'script', 'command'],
]);

export class ReplicasLate extends Error {
  override readonly name = 'ReplicasLate';

  constructor(found: number, needed: number) {
    super(`REPLICAS ${found} of ${needed} replicas have a change in time`);
  }
}

interface Settling {
  readonly name: string;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export function waitForReplicas(redis: Redis, needed: number): void {
  const send = redis.sendCommand.bind(redis);
  let next: Promise<void> | undefined;
  const acknowledged = (): Promise<void> => {
    next ??= new Promise((resolve) => setImmediate(resolve)).then(async () => {
      next = undefined;
      // A master that has become a replica refuses, and a connection that is lost says nothing: no replica is known to have it.
      // Sent past the client's own pipelines, which wait for the answers that wait for this one.
      const wait = new Command('wait', [String(needed), String(withinMs)]);
      const found = Number(await Promise.resolve(send(wait)).catch(() => 0));
      if (found < needed) throw new ReplicasLate(found, needed);
    });
    return next;
  };
  redis.sendCommand = (command, stream) => {
    const settling = command as unknown as Settling;
    if (!withoutChange.has(settling.name.toLowerCase())) {
      const resolve = settling.resolve;
      settling.resolve = (value) => {
        acknowledged().then(
          () => resolve.call(command, value),
          (error: Error) => settling.reject(error),
        );
      };
    }
    return send(command, stream);
  };
}

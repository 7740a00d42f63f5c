/**
 * Waits for replicas: a command has its answer only when enough replicas have its change (WAIT). A command that they do not
 * have in time fails with ReplicasLate; the master keeps its change, so the caller does not know its fate.
 *
 * One WAIT for all answers of one turn of the event loop: it covers all earlier commands of the connection.
 */
import { Command, type Redis } from 'ioredis';

/** Below the timeout of commands, so that the caller gets this reason. */
const withinMs = 500;

/** Read-only commands, and commands about the connection itself. */
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
      // A master that became a replica refuses, and a lost connection gives no answer: no replica is known to have the change.
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

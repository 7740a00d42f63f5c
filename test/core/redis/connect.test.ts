/** Connections: what the client sends by itself, beside the commands that it is given, and when it gives one up. */
import { EventEmitter } from 'node:events';
import { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { connectRedis } from '../../../core/redis/connect.ts';
import { startRedis } from '../../support/redis.ts';
import { startSlowProxy } from '../../support/slow-proxy.ts';
import { until } from '../../support/until.ts';

const late = () => Promise.reject(new Error('Command timed out'));
let redis: Redis | undefined;
afterEach(() => redis?.disconnect());

/** Rejections without a handler that `run` leaves behind, by the end of the turn. */
async function unhandled(run: () => unknown): Promise<string[]> {
  const found: string[] = [];
  const note = (reason: Error) => void found.push(reason.message);
  const before = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
  try {
    run();
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off('unhandledRejection', note);
    for (const listener of before) process.on('unhandledRejection', listener);
  }
  return found;
}

test('a name that leads to another primary after a failover: the connection to the old one is given up', async () => {
  const [old, other] = [await startRedis(), await startRedis()];
  const name = await startSlowProxy(old.port, 0);
  redis = connectRedis(`redis://127.0.0.1:${name.port}`, { isPatient: false });
  try {
    await redis.set('key', 'old');
    await redis.replicaof('127.0.0.1', other.port);
    name.targetPort = other.port;
    await until(() => redis?.set('key', 'new'), 'a write');
    const reader = new Redis(other.url);
    expect(await reader.get('key')).toBe('new');
    reader.disconnect();
  } finally {
    redis.disconnect();
    await Promise.all([name, old, other].map((each) => each.stop()));
  }
});

test('an ASKING that a node which stands still does not answer in time ends no process', async () => {
  redis = connectRedis('redis://127.0.0.1:1,redis://127.0.0.1:2', { isPatient: true, lazyConnect: true });
  // As the client finds a node, and sends it ASKING before a command (ioredis, cluster/index.js: without a handler).
  const node = Object.assign(new EventEmitter(), { asking: late });
  expect(await unhandled(() => node.asking())).toEqual(['Command timed out']);
  redis.emit('+node', node);
  expect(await unhandled(() => node.asking())).toEqual([]);
});

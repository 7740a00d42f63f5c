/** Connections to a Redis Cluster: what the client sends by itself, beside the commands that it is given. */
import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { connectRedis } from '../../../core/redis/connect.ts';

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

test('an ASKING that a node which stands still does not answer in time ends no process', async () => {
  redis = connectRedis('redis://127.0.0.1:1,redis://127.0.0.1:2', { isPatient: true, lazyConnect: true });
  // As the client finds a node, and sends it ASKING before a command (ioredis, cluster/index.js: without a handler).
  const node = Object.assign(new EventEmitter(), { asking: late });
  expect(await unhandled(() => node.asking())).toEqual(['Command timed out']);
  redis.emit('+node', node);
  expect(await unhandled(() => node.asking())).toEqual([]);
});

/** Set-up of a run with tests that talk to Redis: one redis-server for each worker of vitest. */
import type { TestProject } from 'vitest/node';
import { startRedis, type TestRedis } from './redis.ts';

/**
 * More databases than a run has tests that open one (redis-database.ts), and no FLUSHALL: it would take the keys of the test
 * that runs beside.
 */
const settings = ['--databases', '10000', '--rename-command', 'FLUSHALL', ''];

let servers: readonly TestRedis[] = [];

export async function setup(project: TestProject): Promise<void> {
  const workers = Number(project.vitest.config.maxWorkers);
  servers = await Promise.all(Array.from({ length: workers }, () => startRedis(undefined, settings)));
  project.provide(
    'redisUrls',
    servers.map(({ url }) => url),
  );
}

export async function teardown(): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()));
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly redisUrls: readonly string[];
  }
}

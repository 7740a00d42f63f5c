/** Set-up of a run with tests that talk to Redis: one redis-server for each worker of vitest. */
import type { TestProject } from 'vitest/node';
import { startRedis, type TestRedis } from './redis.ts';

/** More than a run has tests that open one (redis-database.ts). */
const databases = ['--databases', '10000'];

let servers: readonly TestRedis[] = [];

export async function setup(project: TestProject): Promise<void> {
  const workers = Number(project.config.maxWorkers);
  servers = await Promise.all(Array.from({ length: workers }, () => startRedis(undefined, databases)));
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

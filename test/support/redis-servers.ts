/** Set-up of a run with tests that talk to Redis: one redis-server for each worker of vitest. */
import type { TestProject } from 'vitest/node';
import { startRedis } from './redis.ts';
import { databases } from './redis-database.ts';

/** No FLUSHALL: it would take the keys of the test that runs beside. */
const settings = ['--databases', String(databases), '--rename-command', 'FLUSHALL', ''];

/** Resolves with what ends the servers. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const workers = Number(project.vitest.config.maxWorkers);
  const servers = await Promise.all(Array.from({ length: workers }, () => startRedis(undefined, settings)));
  project.provide(
    'redisUrls',
    servers.map(({ url }) => url),
  );
  return async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly redisUrls: readonly string[];
  }
}

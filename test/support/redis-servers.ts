/** Set-up of a run with tests that talk to Redis: one redis-server for each worker of vitest. */
import type { TestProject } from 'vitest/node';
import { startRedis, type TestRedis } from './redis.ts';
import { databases } from './redis-database.ts';

/** No FLUSHALL: it would take the keys of the test that runs beside. */
const settings = ['--databases', String(databases), '--rename-command', 'FLUSHALL', ''];

/** Of this process, which both projects of a run share. Each project loads this module by itself. */
const shared = globalThis as { redisOfTests?: { readonly servers: Promise<readonly TestRedis[]>; users: number } };

/** Resolves with what ends the servers after their last user. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const workers = Number(project.vitest.config.maxWorkers);
  shared.redisOfTests ??= {
    servers: Promise.all(Array.from({ length: workers }, () => startRedis(undefined, settings))),
    users: 0,
  };
  const { redisOfTests } = shared;
  redisOfTests.users += 1;
  const servers = await redisOfTests.servers;
  project.provide(
    'redisUrls',
    servers.map(({ url }) => url),
  );
  return async () => {
    redisOfTests.users -= 1;
    if (redisOfTests.users > 0) return;
    delete shared.redisOfTests;
    await Promise.all(servers.map((server) => server.stop()));
  };
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly redisUrls: readonly string[];
  }
}

/** Set-up of a run with tests that talk to Redis: one redis-server for each worker of vitest. */
import type { TestProject } from 'vitest/node';
import { startRedis, type TestRedis } from './redis.ts';
import { databases } from './redis-database.ts';

/** No FLUSHALL: it would take the keys of the test that runs beside. */
const settings = ['--databases', String(databases), '--rename-command', 'FLUSHALL', ''];

/** Those of this process, which both projects of a run share. */
let running: Promise<readonly TestRedis[]> | undefined;
let users = 0;

/** Resolves with what ends the servers after their last user. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  users += 1;
  const workers = Number(project.vitest.config.maxWorkers);
  running ??= Promise.all(Array.from({ length: workers }, () => startRedis(undefined, settings)));
  const servers = await running;
  project.provide(
    'redisUrls',
    servers.map(({ url }) => url),
  );
  return async () => {
    users -= 1;
    if (users > 0) return;
    running = undefined;
    await Promise.all(servers.map((server) => server.stop()));
  };
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly redisUrls: readonly string[];
  }
}

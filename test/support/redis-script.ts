/**
 * The test of one Redis script: what it answers, refuses and changes, called with its keys and arguments by name.
 * tools/check/redis-scripts.ts lists the scripts that have none.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { luaCommand, luaScript } from '../../redis/lua.ts';
import { keptFolder } from '../cli/support/temporary.ts';
import { openDatabase, type RedisDatabase } from './redis-database.ts';
import { dumpRedis } from './redis-dump.ts';

export interface ScriptUnderTest {
  call(keys: Readonly<Record<string, string | undefined>>, args: object): Promise<unknown>;
  /** Empty before each test. */
  readonly redis: Redis;
  /** Everything that the database holds, as text. */
  content(): Promise<string>;
  /** As `call`; throws when the call has changed what the database holds. */
  refused(keys: Readonly<Record<string, string | undefined>>, args: object): Promise<unknown>;
}

/** `body`: of a file that others include, a script over it: its directives and what it answers. */
export function describeScript(path: string, define: (script: ScriptUnderTest) => void, body?: string): void {
  describe(path, () => {
    let database: RedisDatabase;
    let redis: Redis;
    let call: ScriptUnderTest['call'];
    beforeAll(async () => {
      database = await openDatabase();
      redis = new Redis(database.url);
      const folder = keptFolder();
      const over = join(folder, 'over.lua');
      if (body !== undefined) writeFileSync(over, `-- @include ${path}\n${body}\n`);
      call = luaCommand(redis, luaScript(body === undefined ? path : over));
      rmSync(folder, { recursive: true });
    });
    beforeEach(async () => {
      await redis.flushdb();
    });
    afterAll(async () => {
      redis.disconnect();
      await database.stop();
    });
    const content = () => dumpRedis(redis);
    define({
      call: (keys, args) => call(keys, args),
      get redis() {
        return redis;
      },
      content,
      refused: async (keys, args) => {
        const before = await content();
        const reply = await call(keys, args);
        const after = await content();
        if (before !== after)
          throw new Error(`${path} answered ${JSON.stringify(reply)} and changed\n${before}\nto\n${after}`);
        return reply;
      },
    });
  });
}

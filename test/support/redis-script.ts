/**
 * The test of one Redis script: what it answers, refuses and changes, called with its keys and arguments by name. It runs on
 * a real Redis, and on the in-memory Redis, which compiles the same text. tools/check/redis-scripts.ts lists the scripts that
 * have none.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { systemClock } from '../../core/actors/live/ports.ts';
import { luaCommand, luaScript } from '../../core/redis/lua.ts';
import { MemoryRedis } from '../../simulation/redis/memory-redis.ts';
import { keptFolder } from '../cli/support/temporary.ts';
import { openDatabase } from './redis-database.ts';
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

interface World {
  readonly redis: Redis;
  stop(): Promise<unknown>;
}

const worlds: Readonly<Record<string, () => Promise<World>>> = {
  Redis: async () => {
    const database = await openDatabase();
    const redis = new Redis(database.url);
    return {
      redis,
      stop: () => {
        redis.disconnect();
        return database.stop();
      },
    };
  },
  memory: async () => ({ redis: new MemoryRedis(systemClock).client(), stop: () => Promise.resolve() }),
};

interface Options {
  /** Of a file that others include, a script over it: its directives and what it answers. */
  readonly body?: string;
  /** The world of the scripts that only `signmesh up` runs, over a whole server. */
  readonly only?: 'Redis';
}

export function describeScript(
  path: string,
  define: (script: ScriptUnderTest) => void,
  { body, only }: Options = {},
): void {
  for (const [name, open] of Object.entries(worlds).filter(([name]) => only === undefined || name === only)) {
    describe(`${path} (${name})`, () => {
      let world: World;
      let call: ScriptUnderTest['call'];
      beforeAll(async () => {
        world = await open();
        const folder = keptFolder();
        const over = join(folder, 'over.lua');
        if (body !== undefined) writeFileSync(over, `-- @include ${path}\n${body}\n`);
        call = luaCommand(world.redis, luaScript(body === undefined ? path : over));
        rmSync(folder, { recursive: true });
      });
      beforeEach(async () => {
        await world.redis.flushdb();
      });
      afterAll(() => world.stop());
      const content = () => dumpRedis(world.redis);
      define({
        call: (keys, args) => call(keys, args),
        get redis() {
          return world.redis;
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
}

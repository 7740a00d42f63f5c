/** A stored state that becomes another, over a real Redis: whole, or not at all, or completed by the next start. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { dumpRedis } from '../../cli/up/redis-state.ts';
import { completeChange, DamagedSnapshot, digestOf, prepareChange, redisFile } from '../../cli/up/state-change.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { temporaryFolder } from './support/temporary.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('a Redis that holds too much for a snapshot is not copied, and the refusal says what to do', async () => {
  await expect(dumpRedis(server.url, 1_000)).rejects.toThrow(
    /^Redis uses \d+ MiB, and a snapshot takes at most 1: reset/,
  );
});

/** A port without a listener: a change there fails, like one that is interrupted. */
const unreachable = 'redis://127.0.0.1:9';

/** Two nodes and a Redis that say "now", and a snapshot of them that says "then". */
async function place() {
  const dataDir = temporaryFolder();
  const redis = new Redis(server.url);
  onTestFinished(() => redis.disconnect());
  const store = (node: number) => join(dataDir, `node-${node}`, 'store');
  const snapshot = join(dataDir, 'snapshots', 'snp_1');
  const says = async (word: string) => {
    await redis.flushdb();
    await redis.set('word', word);
    for (const node of [1, 2]) {
      mkdirSync(store(node), { recursive: true });
      writeFileSync(join(store(node), 'word'), word);
    }
  };
  mkdirSync(join(dataDir, 'run'));
  await says('then');
  for (const node of [1, 2]) {
    mkdirSync(join(snapshot, `node-${node}`), { recursive: true });
    writeFileSync(join(snapshot, `node-${node}`, 'word'), 'then');
  }
  writeFileSync(join(snapshot, redisFile), await dumpRedis(server.url));
  const target = { id: 'snp_1', digest: digestOf(snapshot) };
  await says('now');
  const stored = async () => [
    await redis.get('word'),
    ...[1, 2].map((node) => existsSync(store(node)) && readFileSync(join(store(node), 'word'), 'utf8')),
  ];
  const said: string[] = [];
  return {
    ...{ snapshot, target, stored, said, store },
    at: (redisUrl = server.url) => ({ dataDir, nodes: ['node/1', 'node/2'], redisUrl }),
    nextStart: () =>
      completeChange({ dataDir, nodes: ['node/1', 'node/2'], redisUrl: server.url }, (line) => said.push(line)),
  };
}

describe('the stored state', () => {
  test('becomes that of a snapshot, and an empty one; what was only prepared is forgotten', async () => {
    const { at, target, stored, nextStart, said, store } = await place();
    await prepareChange(at(), target);
    expect(existsSync(`${store(1)}.next`)).toBe(true);
    expect(await stored()).toEqual(['now', 'now', 'now']);
    await nextStart();
    expect(existsSync(`${store(1)}.next`)).toBe(false);
    await (await prepareChange(at(), target)).perform();
    expect(await stored()).toEqual(['then', 'then', 'then']);
    await (await prepareChange(at(), null)).perform();
    expect(await stored()).toEqual([null, false, false]);
    await nextStart();
    expect(said).toEqual([]);
  });

  test.each([
    ['a snapshot', 'then'],
    ['an empty one', null],
  ] as const)('that was becoming %s when it was interrupted becomes it at the next start, once', async (_, word) => {
    const { at, target, stored, nextStart, said } = await place();
    const change = await prepareChange(at(unreachable), word === null ? null : target);
    await expect(change.perform()).rejects.toThrow();
    expect(await stored()).toEqual(['now', 'now', 'now']);
    await nextStart();
    expect(await stored()).toEqual(word === null ? [null, false, false] : [word, word, word]);
    expect(said).toEqual([expect.stringContaining('was interrupted; completing it')]);
    await nextStart();
    expect(said).toHaveLength(1);
  });

  test.each([redisFile, 'node-2/word'])('stays as it is when %s of the snapshot is damaged', async (file) => {
    const { at, target, stored, snapshot, store } = await place();
    writeFileSync(join(snapshot, file), 'damaged');
    await expect(prepareChange(at(), target)).rejects.toThrow(DamagedSnapshot);
    expect(await stored()).toEqual(['now', 'now', 'now']);
    expect(existsSync(`${store(1)}.next`)).toBe(false);
  });

  test('that cannot become what it was becoming is said, and the cluster starts', async () => {
    const { at, target, nextStart, said, snapshot } = await place();
    await expect((await prepareChange(at(unreachable), target)).perform()).rejects.toThrow();
    writeFileSync(join(snapshot, redisFile), 'damaged');
    await nextStart();
    expect(said.at(-1)).toContain('reset the sandbox');
    await nextStart();
    expect(said).toHaveLength(2);
  });
});

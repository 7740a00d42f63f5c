/** Writes that come in one tick go to Redis together, and each has an answer of its own. */
import { expect, test } from 'vitest';
import { WriteBatches } from '../../coordinator/store/batches.ts';
import type { SessionWriteArguments } from '../../coordinator/store/layout.ts';
import type { BatchReply } from '../../coordinator/store/scripts.ts';

const write = (sessionId: string, data = '') => ({ sessionId, data }) as SessionWriteArguments;

function gathering(answer: (ids: readonly string[]) => Promise<BatchReply>) {
  const sent: string[][] = [];
  const ticks = { begun: 0 };
  let flush: () => void = () => undefined;
  const batches = new WriteBatches(
    (later) => {
      ticks.begun += 1;
      flush = later;
    },
    (tenant, writes) => {
      const ids = writes.map(({ sessionId }) => sessionId);
      sent.push([tenant, ...ids]);
      return answer(ids);
    },
  );
  return { batches, sent, ticks, flush: () => flush() };
}

const fine = async (ids: readonly string[]): Promise<BatchReply> => ids.map((): BatchReply[number] => ['OK']);

test('those of a tenant and a tick are one script, in their order; the next tick has its own', async () => {
  const { batches, sent, ticks, flush } = gathering(fine);
  const first = [batches.write('a', write('1')), batches.write('b', write('2')), batches.write('a', write('3'))];
  expect(sent).toEqual([]);
  flush();
  expect(sent).toEqual([
    ['a', '1', '3'],
    ['b', '2'],
  ]);
  expect(await Promise.all(first)).toEqual([['OK'], ['OK'], ['OK']]);
  expect(ticks.begun).toBe(1);
  const next = batches.write('a', write('4'));
  expect(ticks.begun).toBe(2);
  flush();
  expect(await next).toEqual(['OK']);
  expect(sent.at(-1)).toEqual(['a', '4']);
});

test('a refusal, and an error, are of their own write; of two that go together the last one answers', async () => {
  const { batches, flush } = gathering(async () => [['OK'], ['EPOCH', []], ['ERROR', 'WRONGTYPE'], ['OK'], ['QUOTA']]);
  const [fineOne, refused, failed, pair] = [
    batches.write('a', write('1')),
    batches.write('a', write('2')),
    batches.write('a', write('3')),
    batches.write('a', write('held'), write('4')),
  ];
  flush();
  await expect(failed).rejects.toThrow('WRONGTYPE');
  expect(await Promise.all([fineOne, refused, pair])).toEqual([['OK'], ['EPOCH', []], ['QUOTA']]);
});

test('a script that is lost leaves the fate of all its writes unknown', async () => {
  const { batches, flush } = gathering(() => Promise.reject(new Error('no answer')));
  const all = [batches.write('a', write('1')), batches.write('a', write('2'))];
  flush();
  for (const each of await Promise.allSettled(all)) expect(each.status).toBe('rejected');
});

test('a script is bounded in writes and in size, and what goes together stays together', async () => {
  const { batches, sent, flush } = gathering(fine);
  const all = Array.from({ length: 70 }, (_, index) => batches.write('a', write(`held${index}`), write(String(index))));
  const large = 'x'.repeat(600_000);
  for (const id of ['l1', 'l2', 'l3']) all.push(batches.write('b', write(id, large)));
  flush();
  await Promise.all(all);
  expect(sent.map(([tenant, ...ids]) => [tenant, ids.length])).toEqual([
    ['a', 64],
    ['a', 64],
    ['a', 12],
    ['b', 2],
    ['b', 1],
  ]);
  expect(sent.flatMap((ids) => ids.slice(1)).filter((id) => !id.startsWith('held'))).toHaveLength(73);
});

test('a script that is full to the limit is the last of its batch, and no empty one follows', async () => {
  for (const [count, data, sizes] of [
    [64, '', [64]],
    [65, '', [64, 1]],
    [2, 'x'.repeat(1_048_576), [1, 1]],
    [2, 'x'.repeat(1_048_575), [2]],
  ] as const) {
    const { batches, sent, flush } = gathering(fine);
    const all = Array.from({ length: count }, (_, index) => batches.write('a', write(String(index), data)));
    flush();
    await Promise.all(all);
    expect(sent.map((ids) => ids.length - 1)).toEqual(sizes);
  }
});

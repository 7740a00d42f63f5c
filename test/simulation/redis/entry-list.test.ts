/** The entries of a stream, in blocks and not: every trim and range equals that of a plain list. */
import { expect, it } from 'vitest';
import { BlockReader } from '../../../simulation/redis/blocks.ts';
import { EntryList, type StreamEntry } from '../../../simulation/redis/entry-list.ts';

const entries: readonly StreamEntry[] = Array.from({ length: 20 }, (_, index) => {
  return { sequence: 10 + 3 * index, fields: ['event', `number ${index}`] };
});

/** Blocks of three: four of them, and a tail of eight. */
function filled(): EntryList {
  const list = new EntryList(new BlockReader(), { values: 3, charsMin: 0 });
  for (const entry of entries) list.push(entry);
  expect(list.stored()).toMatchObject({ blocks: { length: 4 }, tail: { length: 8 } });
  return list;
}

it('a trim at any sequence removes what is below it, once, and what comes later is there too', () => {
  for (let sequence = 0; sequence <= 75; sequence += 1) {
    const list = filled();
    const left = entries.filter((entry) => entry.sequence >= sequence);
    expect([sequence, list.trimBelow(sequence)]).toEqual([sequence, entries.length - left.length]);
    expect(list.trimBelow(sequence)).toBe(0);
    expect([list.size, list.range(0, 1_000)]).toEqual([left.length, left]);
    const next = { sequence: 100, fields: ['event', 'next'] };
    list.push(next);
    expect(list.range(0, 1_000)).toEqual([...left, next]);
    const again = new EntryList(new BlockReader(), { values: 3, charsMin: 0 }, structuredClone(list.stored()));
    expect([again.size, again.range(0, 1_000)]).toEqual([left.length + 1, [...left, next]]);
  }
});

it('a trim leaves whole blocks as they are, and no block without entries', () => {
  const list = filled();
  const { blocks } = list.stored();
  list.trimBelow(entries[4]!.sequence);
  expect(list.stored().blocks.map(({ sequences }) => sequences.length)).toEqual([2, 3, 3]);
  expect(list.stored().blocks[1]).toBe(blocks[2]);
  list.trimBelow(entries[6]!.sequence);
  expect(list.stored().blocks).toEqual([blocks[2], blocks[3]]);
});

it('a range is that of a plain list, from and to any sequence, of any number', () => {
  const list = filled();
  for (let from = 8; from <= 70; from += 1) {
    for (const to of [from - 1, from, from + 4, from + 13, 70]) {
      const expected = entries.filter(({ sequence }) => sequence >= from && sequence <= to);
      for (const most of [0, 1, 4, 100]) expect(list.range(from, to, most)).toEqual(expected.slice(0, most));
    }
  }
});

/** The entries of a stream, in the order of their sequences. With `packing`, older ones are in blocks (blocks.ts). */
import { type Block, type BlockReader, type Packing, packed, unpackedBlocks } from './blocks.ts';

export interface StreamEntry {
  readonly sequence: number;
  readonly fields: readonly string[];
}

interface EntryBlock {
  readonly sequences: readonly number[];
  readonly block: Block;
}

/** Plain values. */
export interface StoredEntries {
  readonly blocks: readonly EntryBlock[];
  readonly tail: readonly StreamEntry[];
}

export class EntryList {
  readonly #reader: BlockReader;
  readonly #blockSize: number;
  #blocks: EntryBlock[];
  readonly #tail: StreamEntry[];
  #size: number;

  constructor(
    reader: BlockReader,
    packing: Packing | undefined,
    { blocks, tail }: StoredEntries = { blocks: [], tail: [] },
  ) {
    this.#reader = reader;
    this.#blockSize = packing?.values ?? Number.POSITIVE_INFINITY;
    this.#blocks = [...blocks];
    this.#tail = [...tail];
    this.#size = blocks.reduce((sum, { sequences }) => sum + sequences.length, tail.length);
  }

  get size(): number {
    return this.#size;
  }

  /** Entries are immutable, so copies share them. */
  stored(): StoredEntries {
    return { blocks: [...this.#blocks], tail: [...this.#tail] };
  }

  /** `entry` comes after all others. */
  push(entry: StreamEntry): void {
    this.#tail.push(entry);
    this.#size += 1;
    if (this.#tail.length <= unpackedBlocks * this.#blockSize) return;
    this.#blocks.push(blockOf(this.#tail.splice(0, this.#blockSize)));
  }

  /** From `from` to `to`, at most `most`. */
  range(from: number, to: number, most = Number.POSITIVE_INFINITY): StreamEntry[] {
    const found: StreamEntry[] = [];
    const take = (entries: readonly StreamEntry[]): void => {
      for (let at = firstFrom(entries, from); at < entries.length; at += 1) {
        const entry = entries[at]!;
        if (entry.sequence > to || found.length >= most) return;
        found.push(entry);
      }
    };
    for (const block of this.#blocks) {
      if (block.sequences[0]! > to || found.length >= most) return found;
      if (block.sequences.at(-1)! >= from) take(this.#entriesOf(block));
    }
    take(this.#tail);
    return found;
  }

  /** Removes the entries below that sequence; returns how many. */
  trimBelow(sequence: number): number {
    const before = this.#size;
    const blocks = this.#blocks.filter(({ sequences }) => sequences.at(-1)! >= sequence);
    const [first] = blocks;
    if (first !== undefined && first.sequences[0]! < sequence) {
      blocks[0] = blockOf(this.#entriesOf(first).filter((entry) => entry.sequence >= sequence));
    }
    this.#blocks = blocks;
    this.#tail.splice(0, firstFrom(this.#tail, sequence));
    this.#size = blocks.reduce((sum, { sequences }) => sum + sequences.length, this.#tail.length);
    return before - this.#size;
  }

  #entriesOf({ sequences, block }: EntryBlock): StreamEntry[] {
    return this.#reader.values(block).map((fields, index) => ({ sequence: sequences[index]!, fields }));
  }
}

function blockOf(entries: readonly StreamEntry[]): EntryBlock {
  return { sequences: entries.map(({ sequence }) => sequence), block: packed(entries.map(({ fields }) => fields)) };
}

function firstFrom(entries: readonly StreamEntry[], sequence: number): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entries[middle]!.sequence >= sequence) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Values that are rarely read, many in one compressed block: records and events of a service repeat most of their text, so that
 * a block takes about a fifth of it. Reading a value inflates its block; a reader keeps the last one that it inflated.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Never changed, so that copies share it. */
export type Block = Uint8Array;

export interface Packing {
  /** Of one block. */
  readonly values: number;
  /** A value of fewer characters stays as it is. */
  readonly charsMin: number;
}

/** The newest values, so many blocks of them, stay as they are. */
export const unpackedBlocks = 3;

/** The fastest level: higher ones save a few percent. */
const level = 1;

/** `values`: texts of bytes, one character a byte. */
export function packed(values: readonly (readonly string[])[]): Block {
  // A copy: the result of zlib is a part of a larger buffer.
  return new Uint8Array(deflateRawSync(Buffer.from(JSON.stringify(values), 'latin1'), { level }));
}

export class BlockReader {
  #block: Block | undefined;
  #values: readonly (readonly string[])[] = [];

  values(block: Block): readonly (readonly string[])[] {
    if (block !== this.#block) {
      this.#values = JSON.parse(inflateRawSync(block).toString('latin1')) as string[][];
      this.#block = block;
    }
    return this.#values;
  }

  forget(): void {
    this.#block = undefined;
    this.#values = [];
  }
}

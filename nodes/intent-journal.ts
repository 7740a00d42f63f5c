/**
 * The journal of a node's store: the digests that the node signed for each intent, in order.
 *
 * Every partial signature waits for such a write. LevelDB would make each write on a worker thread, which costs more than the
 * signature; the journal makes one system call. KeyStore moves the records into LevelDB in one batch, and removes the file.
 *
 * Invariants
 * - A record survives the death of the process once `append` has returned (with `sync` a power loss too).
 * - Files are numbered; a later one holds later records. One file holds whole frames; bytes after the last whole one were never
 *   acknowledged and are ignored.
 * - Values are already encrypted; a frame's checksum detects a failing disk or a torn write, not an attacker.
 *
 * Frame: 4 bytes length of the body, 4 bytes CRC-32 of it, the body: for each record 4 bytes length and key, 4 bytes length and
 * value. All big-endian.
 */
import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

/** A record as LevelDB gets it: its key, and its encrypted value. */
export type SealedRecord = readonly [key: string, sealed: Uint8Array];

const fileName = /^intents-(\d+)\.journal$/;
const headBytes = 8;

export class IntentJournal {
  readonly #path: string;
  readonly #sync: boolean;
  readonly #file: number;
  #bytes = 0;
  #scratch = Buffer.allocUnsafe(4096);
  /** A write failed half-way and could not be undone: later records would be unreadable. */
  #broken = false;

  /** A new, empty file. Throws the system's error. */
  constructor(folder: string, number: number, sync: boolean) {
    this.#path = join(folder, `intents-${number}.journal`);
    this.#sync = sync;
    this.#file = openSync(this.#path, 'wx', 0o600);
  }

  /** All of the records or none. Throws the system's error. */
  append(records: readonly SealedRecord[]): void {
    if (this.#broken) throw new Error('the journal cannot be written since an earlier write failed');
    const frame = this.#frameOf(records);
    try {
      if (writeSync(this.#file, frame, 0, frame.length, this.#bytes) !== frame.length) throw new Error('a short write');
      if (this.#sync) fdatasyncSync(this.#file);
    } catch (error) {
      this.#takeBack();
      throw error;
    }
    this.#bytes += frame.length;
  }

  /** A view: the next call overwrites it. */
  #frameOf(records: readonly SealedRecord[]): Buffer {
    let length = headBytes;
    // A character of UTF-16 takes three bytes at most.
    for (const [key, sealed] of records) length += 8 + 3 * key.length + sealed.length;
    if (length > this.#scratch.length) this.#scratch = Buffer.allocUnsafe(2 * length);
    const bytes = this.#scratch;
    let at = headBytes;
    for (const [key, sealed] of records) {
      const keyBytes = bytes.write(key, at + 4);
      at = bytes.writeUInt32BE(keyBytes, at) + keyBytes;
      at = bytes.writeUInt32BE(sealed.length, at);
      bytes.set(sealed, at);
      at += sealed.length;
    }
    bytes.writeUInt32BE(at - headBytes, 0);
    bytes.writeUInt32BE(crc32(bytes.subarray(headBytes, at)), 4);
    return bytes.subarray(0, at);
  }

  #takeBack(): void {
    try {
      ftruncateSync(this.#file, this.#bytes);
    } catch {
      this.#broken = true;
    }
  }

  /** Closes the file; its records are elsewhere now, or read again at the next start. */
  close(): void {
    closeSync(this.#file);
  }

  remove(): void {
    this.close();
    rmSync(this.#path, { force: true });
  }
}

/** The files of earlier processes, oldest first; `next`: a number for a new file. */
export function leftJournals(folder: string): { readonly files: readonly string[]; readonly next: number } {
  const numbers = readdirSync(folder)
    .flatMap((name) => fileName.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
  const files = numbers.map((number) => join(folder, `intents-${number}.journal`));
  return { files, next: (numbers.at(-1) ?? 0) + 1 };
}

/** The records of a file, oldest first. */
export function readJournal(path: string): SealedRecord[] {
  const bytes = readFileSync(path);
  const records: SealedRecord[] = [];
  for (let at = 0; at + headBytes <= bytes.length; ) {
    const end = at + headBytes + bytes.readUInt32BE(at);
    const body = bytes.subarray(at + headBytes, end);
    if (end > bytes.length || crc32(body) !== bytes.readUInt32BE(at + 4)) break;
    records.push(...recordsIn(body));
    at = end;
  }
  return records;
}

function* recordsIn(body: Buffer): Generator<SealedRecord> {
  const part = (at: number) => body.subarray(at + 4, at + 4 + body.readUInt32BE(at));
  for (let at = 0; at < body.length; ) {
    const key = part(at);
    const sealed = part(at + 4 + key.length);
    yield [key.toString('utf8'), new Uint8Array(sealed)];
    at += 8 + key.length + sealed.length;
  }
}

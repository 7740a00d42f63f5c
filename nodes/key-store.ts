/**
 * The Store port of a node, on LevelDB: every value encrypted at rest (AES-256-GCM, crypto/at-rest.ts), every write one
 * atomic batch.
 *
 * Invariants
 * - The associated data of a value is its record key and the node id, so that no value can be moved to another place.
 * - A write that was acknowledged survives the death of the process (the operating system has it); with `sync` also a
 *   loss of power.
 * - A marker record, written at the first opening, tells a wrong storage key at once, before anything is served.
 * - A deletion is acknowledged when the record's bytes have left the files too: what is deleted is seldom and secret.
 * - Errors name the record, never its bytes. Record keys (tenant, session) are not encrypted: they are no secret.
 */
import { ClassicLevel } from 'classic-level';
import type { RandomBytes, Store, WriteOutcome } from '../actors/contract.ts';
import { decryptRecord, encryptRecord } from '../crypto/at-rest.ts';
import { encodeParts, equalBytes, u32be, utf8 } from '../crypto/bytes.ts';
import { CryptoError } from '../crypto/errors.ts';
import type { NodeRecord, NodeWrite } from './records/records.ts';

/** What is wrong with a store. */
export type KeyStoreErrorCode =
  /** The directory cannot be opened: another process has it, or it cannot be read or made. */
  | 'STORE_UNAVAILABLE'
  /** The store was made with another storage key, or for another node. */
  | 'STORAGE_KEY_WRONG'
  /** One record does not decrypt: it was changed or moved. */
  | 'RECORD_CORRUPT';

export class KeyStoreError extends Error {
  override readonly name = 'KeyStoreError';
  readonly code: KeyStoreErrorCode;

  constructor(code: KeyStoreErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export interface KeyStoreOptions {
  readonly storeDir: string;
  readonly nodeId: number;
  /** Secret, 32 bytes. */
  readonly storageKey: Uint8Array;
  readonly random: RandomBytes;
  /** Wait for the disk with every write. Default false. */
  readonly sync?: boolean;
}

/** Outside the names that records have ("dkg/…", "key/…"). */
const markerKey = 'meta/marker';
const marker = utf8('signmesh/node-store/v1');
/** A node must stay small; these are buffers of LevelDB, in bytes. */
const levelOptions = {
  keyEncoding: 'utf8',
  valueEncoding: 'view',
  cacheSize: 1024 * 1024,
  writeBufferSize: 1024 * 1024,
  // Values are encrypted: nothing to compress.
  compression: false,
} as const;

/** The store of one node. One process at a time has it open. */
export class KeyStore implements Store<NodeWrite, NodeRecord> {
  readonly #level: ClassicLevel<string, Uint8Array>;
  readonly #options: KeyStoreOptions;

  private constructor(level: ClassicLevel<string, Uint8Array>, options: KeyStoreOptions) {
    this.#level = level;
    this.#options = options;
  }

  /** Opens or makes the store. Throws KeyStoreError. */
  static async open(options: KeyStoreOptions): Promise<KeyStore> {
    const level = new ClassicLevel<string, Uint8Array>(options.storeDir, levelOptions);
    try {
      await level.open();
    } catch (error) {
      throw new KeyStoreError('STORE_UNAVAILABLE', `the store ${options.storeDir} cannot be opened: ${causeOf(error)}`);
    }
    const store = new KeyStore(level, options);
    try {
      await store.#checkMarker();
    } catch (error) {
      await level.close();
      throw error;
    }
    return store;
  }

  /** Rejects with KeyStoreError RECORD_CORRUPT when the record does not decrypt. */
  async load(key: string): Promise<NodeRecord | undefined> {
    // On this thread: LevelDB answers in microseconds; a worker thread's detour costs ten times that.
    const sealed = this.#level.getSync(key);
    if (sealed === undefined) return undefined;
    const record = this.#decrypt(key, sealed);
    if (record === undefined) throw new KeyStoreError('RECORD_CORRUPT', `the record ${key} does not decrypt`);
    return record;
  }

  async write(write: NodeWrite): Promise<WriteOutcome<NodeRecord>> {
    // A value and its deletion that leave memory together would both be written into a table that no compaction takes up.
    for (const key of write.deletes) await this.#level.compactRange(key, key);
    // Chained: an array of operations is copied, operation by operation, before LevelDB gets it.
    const batch = this.#level.batch();
    for (const { key, record } of write.puts) batch.put(key, this.#encrypt(key, record));
    for (const key of write.deletes) batch.del(key);
    await batch.write({ sync: this.#options.sync === true });
    // Until then the old value stands in a log or a table of LevelDB.
    for (const key of write.deletes) await this.#level.compactRange(key, key);
    return { kind: 'written' };
  }

  /** Waits for what is under way. Repeatable. */
  async close(): Promise<void> {
    await this.#level.close();
  }

  async #checkMarker(): Promise<void> {
    const sealed = await this.#level.get(markerKey);
    if (sealed === undefined) {
      await this.write({ puts: [{ key: markerKey, record: marker }], deletes: [] });
      return;
    }
    const found = this.#decrypt(markerKey, sealed);
    if (found === undefined || !equalBytes(found, marker)) {
      const { storeDir, nodeId } = this.#options;
      throw new KeyStoreError(
        'STORAGE_KEY_WRONG',
        `the store ${storeDir} was made with another storage key, or for another node than ${nodeId}`,
      );
    }
  }

  #encrypt(key: string, record: NodeRecord): Uint8Array {
    return encryptRecord(this.#options.storageKey, this.#associatedData(key), record, this.#options.random);
  }

  #decrypt(key: string, sealed: Uint8Array): NodeRecord | undefined {
    try {
      return decryptRecord(this.#options.storageKey, this.#associatedData(key), sealed);
    } catch (error) {
      if (error instanceof CryptoError && error.code === 'RECORD_BROKEN') return undefined;
      throw error;
    }
  }

  #associatedData(key: string): Uint8Array {
    return encodeParts(marker, u32be(this.#options.nodeId), utf8(key));
  }
}

/** LevelDB says why in the cause, for example that the lock is held. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message : 'unknown reason';
}

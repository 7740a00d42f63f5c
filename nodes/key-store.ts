/**
 * The Store port of a node, on LevelDB: every value encrypted at rest (core/crypto/at-rest.ts), every write one atomic batch.
 *
 * Invariants
 * - The associated data of a value is its record key and the node id, so that a value moved to another record does not decrypt.
 * - A write that was acknowledged survives the death of the process (the operating system has it); with `sync` also a
 *   loss of power.
 * - A marker record, written at the first opening, detects a wrong storage key before the node serves requests.
 * - Records of signed intents go into a journal (intent-journal.ts), and from there into LevelDB, many in one batch. No other
 *   record does, so that a journal never contains a share.
 * - A deletion, and the replacement of a share, is acknowledged only when the old bytes have left the files: both are rare and
 *   concern secrets.
 * - Errors name the record, never its bytes. Record keys (tenant, session) are not encrypted: they are no secret.
 */
import { rmSync } from 'node:fs';
import { ClassicLevel } from 'classic-level';
import type { RandomBytes, Store, WriteOutcome } from '../core/actors/contract.ts';
import { decryptRecord, encryptBriefRecord, encryptRecord } from '../core/crypto/at-rest.ts';
import { encodeParts, equalBytes, u32be, utf8 } from '../core/crypto/bytes.ts';
import { CryptoError } from '../core/crypto/errors.ts';
import { IntentJournal, leftJournals, readJournal } from './intent-journal.ts';
import { isIntentBucket, type NodeRecord, type NodeWrite, vendorRecordName } from './records/records.ts';

/** The faults of a store. */
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

/** Outside the names that records have ("dkg/…", "key/…", "vendor/…"). */
const markerKey = 'meta/marker';
const marker = utf8('signmesh/node-store/v1');
/** Buffers of LevelDB in bytes; small, since a node must use little memory. */
const levelOptions = {
  keyEncoding: 'utf8',
  valueEncoding: 'view',
  cacheSize: 1024 * 1024,
  writeBufferSize: 1024 * 1024,
  // Values are encrypted: nothing to compress.
  compression: false,
} as const;

/** The number of journal records that are moved into LevelDB at once. */
const movedAtOnce = 512;
/** A write waits for that when so many have gathered meanwhile. */
const gatheredMax = 8 * movedAtOnce;

/** The store of one node. One process at a time has it open. */
export class KeyStore implements Store<NodeWrite, NodeRecord> {
  readonly #level: ClassicLevel<string, Uint8Array>;
  readonly #options: KeyStoreOptions;
  #journal: IntentJournal;
  #journalNumber: number;
  /** The journal's records that are not in LevelDB yet, encrypted. */
  #gathered = new Map<string, Uint8Array>();
  /** The same of the journal before, while it is being moved. */
  #leaving: ReadonlyMap<string, Uint8Array> = new Map();
  #moving: Promise<void> | undefined;
  /** Journals whose records are in `#leaving`. */
  readonly #leftBehind: IntentJournal[] = [];
  #closed = false;

  private constructor(level: ClassicLevel<string, Uint8Array>, options: KeyStoreOptions, journalNumber: number) {
    this.#level = level;
    this.#options = options;
    this.#journalNumber = journalNumber;
    this.#journal = new IntentJournal(options.storeDir, journalNumber, options.sync === true);
  }

  /** Opens or makes the store. Throws KeyStoreError. */
  static async open(options: KeyStoreOptions): Promise<KeyStore> {
    const level = new ClassicLevel<string, Uint8Array>(options.storeDir, levelOptions);
    try {
      await level.open();
    } catch (error) {
      throw new KeyStoreError('STORE_UNAVAILABLE', `the store ${options.storeDir} cannot be opened: ${causeOf(error)}`);
    }
    try {
      await checkMarker(level, options);
      return new KeyStore(level, options, await takeUp(level, options));
    } catch (error) {
      await level.close();
      throw error;
    }
  }

  /** Rejects with KeyStoreError RECORD_CORRUPT when the record does not decrypt. */
  async load(key: string): Promise<NodeRecord | undefined> {
    // On this thread: LevelDB answers in microseconds; a worker thread costs ten times that.
    const sealed = this.#gathered.get(key) ?? this.#leaving.get(key) ?? this.#level.getSync(key);
    if (sealed === undefined) return undefined;
    const record = decrypt(this.#options, key, sealed);
    if (record === undefined) throw new KeyStoreError('RECORD_CORRUPT', `the record ${key} does not decrypt`);
    return record;
  }

  async write(write: NodeWrite): Promise<WriteOutcome<NodeRecord>> {
    if (write.deletes.length === 0 && write.puts.every(({ key }) => isIntentBucket(key))) {
      if (this.#gathered.size >= gatheredMax) await (this.#moving ?? this.#startMoving());
      this.#append(write.puts);
      return { kind: 'written' };
    }
    await this.#moveAll();
    const erased = [...write.deletes, ...(write.erased ?? [])];
    // A value and its deletion that leave memory together would both be written into a table that no compaction takes up.
    for (const key of erased) await this.#level.compactRange(key, key);
    // Chained: an array of operations is copied, operation by operation, before LevelDB gets it.
    const batch = this.#level.batch();
    for (const { key, record } of write.puts) batch.put(key, encrypt(this.#options, key, record));
    for (const key of write.deletes) batch.del(key);
    await batch.write({ sync: this.#options.sync === true });
    // Until then a log or a table of LevelDB contains the old value.
    for (const key of erased) await this.#level.compactRange(key, key);
    return { kind: 'written' };
  }

  /** The names of the orders at a vendor that it has. */
  async vendorOrders(): Promise<{ readonly tenant: string; readonly reference: string }[]> {
    const keys = await this.#level.keys({ gte: 'vendor/', lt: 'vendor0' }).all();
    return keys.flatMap((key) => vendorRecordName(key) ?? []);
  }

  /** Waits for what is under way. Repeatable. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // Records that cannot be moved stay in their journal, for the next start.
    await this.#moveAll().catch(() => undefined);
    if (this.#gathered.size === 0 && this.#leaving.size === 0) this.#journal.remove();
    else this.#journal.close();
    await this.#level.close();
  }

  #append(puts: NodeWrite['puts']): void {
    const records = puts.map(({ key, record }) => [key, encrypt(this.#options, key, record)] as const);
    this.#journal.append(records);
    for (const [key, sealed] of records) this.#gathered.set(key, sealed);
    if (this.#gathered.size >= movedAtOnce && this.#moving === undefined) {
      // A failure is told to the write that has to wait for it.
      this.#startMoving().catch(() => undefined);
    }
  }

  async #moveAll(): Promise<void> {
    await this.#moving;
    if (this.#gathered.size > 0 || this.#leaving.size > 0) await this.#startMoving();
  }

  #startMoving(): Promise<void> {
    const moving = this.#move().finally(() => {
      if (this.#moving === moving) this.#moving = undefined;
    });
    this.#moving = moving;
    return moving;
  }

  /** Empties the journal into LevelDB. After a failure both hold what they held, and the next attempt moves all of it. */
  async #move(): Promise<void> {
    const leaving = new Map([...this.#leaving, ...this.#gathered]);
    const before = this.#journal;
    this.#journalNumber += 1;
    this.#journal = new IntentJournal(this.#options.storeDir, this.#journalNumber, this.#options.sync === true);
    this.#leftBehind.push(before);
    this.#leaving = leaving;
    this.#gathered = new Map();
    await putAll(this.#level, leaving, this.#options);
    this.#leaving = new Map();
    for (const journal of this.#leftBehind.splice(0)) journal.remove();
  }
}

/** Moves into LevelDB what an earlier process left in journals. Resolves with the number of the next journal. */
async function takeUp(level: ClassicLevel<string, Uint8Array>, options: KeyStoreOptions): Promise<number> {
  const { files, next } = leftJournals(options.storeDir);
  const records = new Map(files.flatMap((file) => readJournal(file)));
  if (records.size > 0) await putAll(level, records, options);
  for (const file of files) rmSync(file);
  return next;
}

async function putAll(
  level: ClassicLevel<string, Uint8Array>,
  records: ReadonlyMap<string, Uint8Array>,
  { sync }: KeyStoreOptions,
): Promise<void> {
  const batch = level.batch();
  for (const [key, sealed] of records) batch.put(key, sealed);
  await batch.write({ sync: sync === true });
}

async function checkMarker(level: ClassicLevel<string, Uint8Array>, options: KeyStoreOptions): Promise<void> {
  const sealed = await level.get(markerKey);
  if (sealed === undefined) {
    await level.put(markerKey, encrypt(options, markerKey, marker), { sync: options.sync === true });
    return;
  }
  const found = decrypt(options, markerKey, sealed);
  if (found === undefined || !equalBytes(found, marker)) {
    const { storeDir, nodeId } = options;
    throw new KeyStoreError(
      'STORAGE_KEY_WRONG',
      `the store ${storeDir} was made with another storage key, or for another node than ${nodeId}`,
    );
  }
}

/** Records written for every signature use the faster cipher. */
function encrypt(options: KeyStoreOptions, key: string, record: NodeRecord): Uint8Array {
  const encryptOne = isIntentBucket(key) ? encryptBriefRecord : encryptRecord;
  return encryptOne(options.storageKey, associatedData(options, key), record, options.random);
}

function decrypt(options: KeyStoreOptions, key: string, sealed: Uint8Array): NodeRecord | undefined {
  try {
    return decryptRecord(options.storageKey, associatedData(options, key), sealed);
  } catch (error) {
    if (error instanceof CryptoError && error.code === 'RECORD_BROKEN') return undefined;
    throw error;
  }
}

function associatedData({ nodeId }: KeyStoreOptions, key: string): Uint8Array {
  return encodeParts(marker, u32be(nodeId), utf8(key));
}

/** LevelDB says why in the cause, for example that the lock is held. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message : 'unknown reason';
}

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFile, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ClassicLevel } from 'classic-level';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IntentJournal, readJournal } from '../../nodes/intent-journal.ts';
import { KeyStore, KeyStoreError } from '../../nodes/key-store.ts';
import { intentBucketKey } from '../../nodes/records/records.ts';
import { childProgram } from '../support/child-program.ts';

const storageKey = new Uint8Array(32).fill(7);
const random = (length: number) => new Uint8Array(randomBytes(length));
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (record: Uint8Array | undefined) => (record === undefined ? undefined : new TextDecoder().decode(record));

let storeDir = '';
const opened: KeyStore[] = [];

async function openStore(
  options: { nodeId?: number; storageKey?: Uint8Array; sync?: boolean } = {},
): Promise<KeyStore> {
  const store = await KeyStore.open({ storeDir, nodeId: 1, storageKey, random, ...options });
  opened.push(store);
  return store;
}

async function failureOf(promise: Promise<unknown>): Promise<KeyStoreError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof KeyStoreError)) throw new Error(`expected a KeyStoreError, got ${String(error)}`);
  return error;
}

beforeEach(async () => {
  storeDir = join(await mkdtemp(join(tmpdir(), 'signmesh-store-')), 'store');
});

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  await rm(join(storeDir, '..'), { recursive: true, force: true });
});

describe('the key store, as a Store port', () => {
  it('loads nothing where nothing was written', async () => {
    const store = await openStore();
    expect(await store.load('dkg/t/s')).toBeUndefined();
  });

  it('takes what is deleted out of its files, whether it lies in the log or in a table', async () => {
    const store = await openStore();
    const key = 'key/t/s';
    /** Whether a file of the store holds these bytes. */
    const isOnDisk = async (needle: Uint8Array) => {
      const names = await readdir(storeDir);
      const files = await Promise.all(names.map((name) => readFile(join(storeDir, name))));
      return files.some((file) => file.includes(Buffer.from(needle)));
    };
    const sealedBytes = async () => {
      await store.close();
      const level = new ClassicLevel<string, Uint8Array>(storeDir, { keyEncoding: 'utf8', valueEncoding: 'view' });
      const sealed = await level.get(key);
      await level.close();
      return sealed!;
    };
    await store.write({ puts: [{ key, record: bytes('a share'.repeat(30)) }], deletes: [] });
    // Reading it by hand has opened the store twice: the value has moved from the log into a table.
    const sealed = await sealedBytes();
    const again = await openStore();
    const neighbours = Array.from({ length: 50 }, (_, index) => ({ key: `key/t/n${index}`, record: bytes('another') }));
    await again.write({ puts: neighbours, deletes: [] });
    expect(await isOnDisk(sealed)).toBe(true);
    await again.write({ puts: [], deletes: [key] });
    expect(await isOnDisk(sealed)).toBe(false);
    expect(await again.load(key)).toBeUndefined();
    expect(text(await again.load('key/t/n49'))).toBe('another');
  });

  it('takes what a refresh replaces out of its files', async () => {
    const store = await openStore();
    const keys = ['dkg/t/s', 'key/t/s'];
    const puts = (text: string) => keys.map((key) => ({ key, record: bytes(`${key} ${text}`.repeat(20)) }));
    const sealed: Uint8Array[] = [];
    await store.write({ puts: puts('old'), deletes: [] });
    await store.close();
    const level = new ClassicLevel<string, Uint8Array>(storeDir, { keyEncoding: 'utf8', valueEncoding: 'view' });
    for (const key of keys) sealed.push((await level.get(key))!);
    await level.close();
    const again = await openStore();
    const filesHold = async (needle: Uint8Array): Promise<boolean> => {
      const files = await Promise.all((await readdir(storeDir)).map((name) => readFile(join(storeDir, name))));
      return files.some((file) => file.includes(Buffer.from(needle)));
    };
    expect(await Promise.all(sealed.map(filesHold))).toEqual([true, true]);
    await again.write({ puts: puts('new'), deletes: [], erased: keys });
    expect(await Promise.all(sealed.map(filesHold))).toEqual([false, false]);
    expect(text(await again.load('key/t/s'))).toContain('new');
  });

  it('takes out of its files what was written, rewritten and deleted in one go, among other records', async () => {
    const store = await openStore();
    const sealedNow = async (key: string): Promise<Uint8Array> => {
      const copy = join(storeDir, '..', 'copy');
      await cp(storeDir, copy, { recursive: true });
      const level = new ClassicLevel<string, Uint8Array>(copy, { valueEncoding: 'view' });
      const sealed = await level.get(key);
      await level.close();
      await rm(copy, { recursive: true });
      return sealed!;
    };
    const filesHold = async (needle: Uint8Array): Promise<boolean> => {
      const files = await Promise.all((await readdir(storeDir)).map((name) => readFile(join(storeDir, name))));
      return files.some((file) => file.includes(Buffer.from(needle)));
    };
    for (const round of [1, 2, 3]) {
      const seen: Uint8Array[] = [];
      for (const version of [1, 2]) {
        const puts = ['dkg/t/s', 'key/t/s', `key/t/other${round}`].map((key) => {
          return { key, record: bytes(`${key} ${version}`.repeat(20)) };
        });
        await store.write({ puts, deletes: [] });
        seen.push(await sealedNow('dkg/t/s'), await sealedNow('key/t/s'));
      }
      expect(await Promise.all(seen.map(filesHold))).toEqual([true, true, true, true]);
      await store.write({ puts: [], deletes: ['dkg/t/s', 'key/t/s'] });
      expect(await Promise.all(seen.map(filesHold)), `round ${round}`).toEqual([false, false, false, false]);
    }
  });

  it.each([false, true])('loads what was written, the newest, and nothing after a delete (sync %s)', async (sync) => {
    const store = await openStore({ sync });
    const written = await store.write({
      puts: [
        { key: 'dkg/t/s', record: bytes('one') },
        { key: 'key/t/s', record: bytes('') },
      ],
      deletes: [],
    });
    expect(written).toEqual({ kind: 'written' });
    expect(text(await store.load('dkg/t/s'))).toBe('one');
    expect(text(await store.load('key/t/s'))).toBe('');
    await store.write({ puts: [{ key: 'key/t/s', record: bytes('two') }], deletes: ['dkg/t/s', 'dkg/t/none'] });
    expect(await store.load('dkg/t/s')).toBeUndefined();
    expect(text(await store.load('key/t/s'))).toBe('two');
  });

  it('keeps everything over a reopening', async () => {
    const store = await openStore();
    await store.write({ puts: [{ key: 'key/t/s', record: bytes('kept') }], deletes: [] });
    await store.close();
    expect(text(await (await openStore()).load('key/t/s'))).toBe('kept');
  });
});

describe('what a node signed for which intent', () => {
  const bucket = (number: number) => intentBucketKey('t', String(number));
  const intents = (from: number, to: number, record: string) => ({
    puts: Array.from({ length: to - from }, (_, index) => ({ key: bucket(from + index), record: bytes(record) })),
    deletes: [],
  });
  const journals = async (folder = storeDir) => (await readdir(folder)).filter((name) => name.endsWith('.journal'));
  /** Opens the files as they are now, as if the process had been killed. */
  const afterKill = async (spoil?: (folder: string) => Promise<void>) => {
    const copy = join(storeDir, '..', 'copy');
    await cp(storeDir, copy, { recursive: true });
    await spoil?.(copy);
    const store = await KeyStore.open({ storeDir: copy, nodeId: 1, storageKey, random });
    opened.push(store);
    return store;
  };

  it('is in a journal before it is acknowledged, and no share is', async () => {
    const store = await openStore();
    await store.write(intents(0, 3, 'first'));
    await store.write(intents(2, 4, 'second'));
    const [name] = await journals();
    expect(readJournal(join(storeDir, name!)).map(([key]) => key)).toEqual([0, 1, 2, 2, 3].map(bucket));
    const again = await afterKill();
    for (const [number, said] of ['first', 'first', 'second', 'second'].entries()) {
      expect(text(await store.load(bucket(number)))).toBe(said);
      expect(text(await again.load(bucket(number)))).toBe(said);
    }
    const puts = [{ key: 'key/t/s', record: bytes('a share') }, ...intents(0, 1, 'third').puts];
    await store.write({ puts, deletes: [] });
    const left = await Promise.all((await journals()).map((file) => readJournal(join(storeDir, file))));
    expect(left.flat()).toEqual([]);
    expect(text(await store.load(bucket(0)))).toBe('third');
    expect(text(await store.load(bucket(3)))).toBe('second');
  });

  it('leaves out a last write that was cut off, and keeps those before it', async () => {
    const store = await openStore();
    await store.write(intents(0, 2, 'whole'));
    const [name] = await journals();
    const whole = await readFile(join(storeDir, name!));
    for (const rest of [whole.subarray(0, whole.length - 1), whole.subarray(0, 5), Buffer.alloc(64)]) {
      const again = await afterKill((folder) => appendFile(join(folder, name!), rest));
      expect(text(await again.load(bucket(1)))).toBe('whole');
      await again.close();
    }
  });

  it('is read from journals in the order of their numbers, of any length', async () => {
    const store = await openStore();
    await store.write(intents(0, 1, 'first'));
    const [name] = await journals();
    const first = await readFile(join(storeDir, name!));
    await store.write(intents(0, 1, 'second'));
    const second = (await readFile(join(storeDir, name!))).subarray(first.length);
    const again = await afterKill(async (folder) => {
      await rm(join(folder, name!));
      await writeFile(join(folder, 'intents-9.journal'), first);
      await writeFile(join(folder, 'intents-10.journal'), second);
    });
    expect(text(await again.load(bucket(0)))).toBe('second');
  });

  it('moves into LevelDB, many at once, and its journals go', async () => {
    const store = await openStore();
    for (let at = 0; at < 3000; at += 100) await store.write(intents(at, at + 100, `at ${at}`));
    expect((await journals()).length).toBeLessThanOrEqual(2);
    expect(text(await (await afterKill()).load(bucket(2999)))).toBe('at 2900');
    await store.close();
    expect(await journals()).toEqual([]);
    const again = await openStore();
    expect(text(await again.load(bucket(0)))).toBe('at 0');
    expect(text(await again.load(bucket(2950)))).toBe('at 2900');
  });

  it('is refused when the journal cannot be written, and nothing of it is read', async () => {
    await openStore();
    const journal = new IntentJournal(storeDir, 99, false);
    journal.append([['intent/t/1', bytes('sealed')]]);
    journal.close();
    expect(() => journal.append([['intent/t/2', bytes('sealed')]])).toThrow(/EBADF/);
    expect(() => journal.append([['intent/t/2', bytes('sealed')]])).toThrow(/earlier write failed/);
    expect(readJournal(join(storeDir, 'intents-99.journal'))).toHaveLength(1);
  });
});

describe('the key store at rest', () => {
  it('shows no byte of a record on the disk', async () => {
    const store = await openStore();
    await store.write({ puts: [{ key: 'key/t/s', record: bytes('a very secret share'.repeat(10)) }], deletes: [] });
    await store.close();
    for (const file of await readdir(storeDir)) {
      expect((await readFile(join(storeDir, file))).includes('secret')).toBe(false);
    }
  });

  it('refuses a wrong storage key, another node and an unusable directory by name', async () => {
    await (await openStore()).close();
    const wrongKey = await failureOf(openStore({ storageKey: new Uint8Array(32).fill(8) }));
    expect(wrongKey.code).toBe('STORAGE_KEY_WRONG');
    expect(wrongKey.message).not.toMatch(/0808|0707/);
    expect((await failureOf(openStore({ nodeId: 2 }))).code).toBe('STORAGE_KEY_WRONG');
    await openStore();
    expect((await failureOf(openStore())).code).toBe('STORE_UNAVAILABLE');
  });

  it('refuses a record that was changed or moved, by name and without its bytes', async () => {
    const store = await openStore();
    const puts = ['a', 'b', 'c'].map((name) => ({ key: `key/t/${name}`, record: bytes(`share of ${name}`) }));
    await store.write({ puts, deletes: [] });
    await store.close();
    const level = new ClassicLevel<string, Uint8Array>(storeDir, { valueEncoding: 'view' });
    const a = new Uint8Array((await level.get('key/t/a'))!);
    await level.put('key/t/b', a);
    a[20]! ^= 1;
    await level.put('key/t/a', a);
    await level.put('key/t/c', a.subarray(0, 5));
    await level.close();
    const reopened = await openStore();
    for (const name of ['a', 'b', 'c']) {
      const error = await failureOf(reopened.load(`key/t/${name}`));
      expect(error).toMatchObject({ code: 'RECORD_CORRUPT', message: `the record key/t/${name} does not decrypt` });
    }
  });
});

describe('the key store when its process is killed', () => {
  it('has every acknowledged batch, whole', async () => {
    const script = childProgram(new URL('child/write-until-killed.ts', import.meta.url));
    const child = spawn(process.execPath, [script, storeDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const gone = new Promise<string | null>((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
    let acknowledged = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      acknowledged = Number(line);
      if (acknowledged === 100) child.kill('SIGKILL');
    }
    expect(await gone).toBe('SIGKILL');
    expect(acknowledged).toBeGreaterThanOrEqual(100);

    const store = await openStore();
    // The last batch may be on the disk although it was not acknowledged.
    const latest = Number(text(await store.load('key/t/latest'))!.split(' ')[1]);
    expect(latest - acknowledged).toBeGreaterThanOrEqual(0);
    expect(text(await store.load(`dkg/t/${latest}`))).toBe(`record ${latest}`);
    expect(text(await store.load(`dkg/t/${latest - 1}`))).toBe(`record ${latest - 1}`);
    expect(await store.load(`dkg/t/${latest - 2}`)).toBeUndefined();
    expect(await store.load(`dkg/t/${latest + 1}`)).toBeUndefined();
    for (const number of [1, acknowledged - 1, acknowledged]) {
      expect(text(await store.load(intentBucketKey('t', String(number))))).toBe(`record ${number}`);
    }
  });
});

/** One suite for the store of a node: LevelDB with its journal, and the one in memory of a simulated world. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Store } from '../../core/actors/contract.ts';
import { KeyStore } from '../../nodes/key-store.ts';
import {
  dkgRecordKey,
  intentBucketKey,
  keyRecordKey,
  type NodeRecord,
  type NodeWrite,
  vendorRecordKey,
} from '../../nodes/records/records.ts';
import { asStore, memoryNodeStore } from '../../simulation/cluster/memory-stores.ts';
import { runs } from '../support/thorough.ts';

interface World {
  readonly store: Store<NodeWrite, NodeRecord>;
  /** Another start of the process. */
  again(): Promise<World>;
  stop(): Promise<void>;
}

async function onDisk(storeDir: string): Promise<World> {
  const random = (length: number) => new Uint8Array(randomBytes(length));
  const store = await KeyStore.open({ storeDir, nodeId: 1, storageKey: new Uint8Array(32).fill(7), random });
  return {
    store,
    again: async () => {
      await store.close();
      return onDisk(storeDir);
    },
    stop: async () => {
      await store.close();
      await rm(storeDir, { recursive: true });
    },
  };
}

function inMemory(memory = memoryNodeStore()): World {
  return { store: asStore(memory), again: async () => inMemory(memory), stop: async () => undefined };
}

const worlds: Readonly<Record<string, () => Promise<World>>> = {
  'on disk': async () => onDisk(await mkdtemp(join(tmpdir(), 'signmesh-stores-'))),
  'in memory': async () => inMemory(),
};

const tenants = ['tn_a', 'tn_b'];
const keys = tenants.flatMap((tenant) => [
  ...['s1', 's2'].flatMap((session) => [dkgRecordKey(tenant, session), keyRecordKey(tenant, session)]),
  ...['0000', 'ffff'].map((bucket) => intentBucketKey(tenant, bucket)),
  vendorRecordKey(tenant, '0'.repeat(32)),
]);

const record = fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ minLength: 5_000, maxLength: 5_001 }));
/** Each key stands at most once in it; undefined: it is deleted. */
const change = fc.uniqueArray(fc.tuple(fc.constantFrom(...keys), fc.option(record, { nil: undefined })), {
  minLength: 1,
  maxLength: 5,
  selector: ([key]) => key,
});
const step = fc.oneof({ weight: 6, arbitrary: change }, { weight: 1, arbitrary: fc.constant('again' as const) });

describe.each(Object.keys(worlds))('the store of a node %s', (name) => {
  test('holds what was written last, in every order of writes, deletions and starts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        let world = await worlds[name]!();
        const expected = new Map<string, string>();
        for (const one of steps) {
          if (one === 'again') {
            world = await world.again();
            continue;
          }
          const puts = one.flatMap(([key, bytes]) => (bytes === undefined ? [] : [{ key, record: bytes.slice() }]));
          const deletes = one.flatMap(([key, bytes]) => (bytes === undefined ? [key] : []));
          expect(await world.store.write({ puts, deletes })).toEqual({ kind: 'written' });
          // The caller's bytes are its own again.
          for (const { key, record: bytes } of puts) {
            expected.set(key, Buffer.from(bytes).toString('hex'));
            bytes.fill(0);
          }
          for (const key of deletes) expected.delete(key);
        }
        world = await world.again();
        for (const key of keys) {
          const [first, second] = [await world.store.load(key), await world.store.load(key)];
          expect(first && Buffer.from(first).toString('hex'), key).toBe(expected.get(key));
          first?.fill(0);
          expect(second && Buffer.from(second).toString('hex'), key).toBe(expected.get(key));
        }
        await world.stop();
      }),
      { numRuns: runs(8, 300) },
    );
  });
});

/** The signer's keys at hand, the requests that wait for one to be loaded, and the changes that wait to be written. */
import { expect, it } from 'vitest';
import { dkgIdleMs } from '../../nodes/dkg/dkg-actor.ts';
import { parseRecord } from '../../nodes/records/key-record.ts';
import { isRecordName, vendorRecordKey, vendorRecordName } from '../../nodes/records/records.ts';
import { bucketsCachedMax } from '../../nodes/signer/intent-memory.ts';
import { PendingNodeWrite } from '../../nodes/signer/pending-write.ts';
import { childrenMax, keysMax, SigningKeys } from '../../nodes/signer/signing-keys.ts';
import { WaitingRequests, waitingBytesMax, waitingRequestsMax } from '../../nodes/signer/waiting-requests.ts';
import { tellMs } from '../../nodes/vendor/messages.ts';
import { pollMs } from '../../nodes/vendor/order-actor.ts';
import { Ceremony } from './ceremony.ts';

it('a key is bound to one scheme, once', () => {
  const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 2 });
  ceremony.run();
  const keys = new SigningKeys();
  expect(() => keys.bind('key', 'frost_bip340')).toThrow('not at hand');
  keys.add('key', { keyPackage: ceremony.keyPackages()[0]!, scheme: '', version: 1 });
  expect(keys.bind('key', 'frost_bip340').scheme).toBe('frost_bip340');
  expect(() => keys.bind('key', 'mock_ecdsa')).toThrow('bound already');
  expect(keys.schemeOf('key')).toBe('frost_bip340');
});

it('a key of a node’s own has no children, and is the same at the path of its account', () => {
  const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 2 });
  ceremony.run();
  const keys = new SigningKeys();
  keys.add('key', { keyPackage: ceremony.keyPackages()[0]!, scheme: 'owner_ecdsa', version: 1 });
  expect(() => keys.find('key', 'm/1')).toThrow('no children');
  expect(keys.find('key', "m/44'")).toBe(keys.find('key', ''));
});

it('for a key that no request waits for there is none to take', () => {
  const waiting = new WaitingRequests<string>();
  waiting.add('a', 'one', 10);
  expect([waiting.take('b'), waiting.take('a'), waiting.take('a'), waiting.count]).toEqual([[], ['one'], [], 0]);
});

it('a node keeps so many keys, children and buckets of intents at hand, and looks, tells and ends after so long', () => {
  expect([keysMax, childrenMax, bucketsCachedMax]).toEqual([1_024, 4_096, 64]);
  expect([dkgIdleMs, pollMs, tellMs]).toEqual([60_000, 15_000, 5_000]);
});

it('so many requests wait, over all keys, and a request that is taken out makes room', () => {
  const waiting = new WaitingRequests<number>();
  expect(waiting.add('a', 0, 0)).toBe('first');
  for (let index = 1; index < waitingRequestsMax; index += 1) expect(waiting.add('b', index, 0)).not.toBe('full');
  expect(waiting.add('a', 9, 0)).toBe('full');
  expect(waiting.count).toBe(waitingRequestsMax);
  expect(waiting.take('a')).toEqual([0]);
  expect(waiting.has('a')).toBe(false);
  expect(waiting.add('b', 9, 0)).toBe('queued');
  expect(waiting.add('b', 9, 0)).toBe('full');
});

it('requests wait up to a size in bytes, over all keys', () => {
  expect([waitingRequestsMax, waitingBytesMax]).toEqual([1_024, 8_388_608]);
  const waiting = new WaitingRequests<string>();
  expect(waiting.add('a', 'half', waitingBytesMax / 2)).toBe('first');
  expect(waiting.add('a', 'more', 1)).toBe('queued');
  expect(waiting.add('b', 'too much', waitingBytesMax / 2)).toBe('full');
  expect(waiting.has('b')).toBe(false);
  expect(waiting.add('b', 'rest', waitingBytesMax / 2 - 1)).toBe('first');
  expect(waiting.add('c', 'none', 0)).toBe('first');
  expect(waiting.add('c', 'one', 1)).toBe('full');
  expect(waiting.take('a')).toEqual(['half', 'more']);
  expect(waiting.add('c', 'as much again', waitingBytesMax / 2 + 1)).toBe('queued');
  expect(waiting.add('c', 'one', 1)).toBe('full');
});

it('the last change of a record counts, and a deleted one is not an unknown one', () => {
  const pending = new PendingNodeWrite();
  expect(pending.isEmpty).toBe(true);
  const record = Uint8Array.of(1);
  pending.put('a', Uint8Array.of(0));
  pending.put('a', record);
  pending.put('b', record);
  pending.delete('b');
  pending.after([{ kind: 'stop' }]);
  expect(pending.isEmpty).toBe(false);
  expect(['a', 'b', 'c'].map((key) => pending.holds(key))).toEqual([true, true, false]);
  expect(['a', 'b', 'c'].map((key) => pending.deletes(key))).toEqual([false, true, false]);
  expect(pending.content()).toEqual({
    write: { puts: [{ key: 'a', record }], deletes: ['b'] },
    effects: [{ kind: 'stop' }],
  });
});

it('an evicted key is loaded again, and an unknown one has no binding', () => {
  const ceremony = new Ceremony({ curve: 'ed25519', threshold: 2, totalNodes: 2 });
  ceremony.run();
  const keys = new SigningKeys();
  expect([keys.has('key'), keys.schemeOf('key')]).toEqual([false, '']);
  expect(() => keys.find('key', '')).toThrow('not at hand');
  keys.add('key', { keyPackage: ceremony.keyPackages()[0]!, scheme: 'frost_ed25519', version: 1 });
  const parent = keys.find('key', '');
  // Hardened components name an account and derive nothing; the same path gives the same child.
  expect(keys.find('key', "m/44'/0'")).toBe(parent);
  const child = keys.find('key', 'm/0/1');
  expect(child.publicKey).not.toEqual(parent.publicKey);
  expect(keys.find('key', 'm/0/1')).toBe(child);
  keys.evict('key');
  expect(keys.has('key')).toBe(false);
});

it('the name of a record holds a tenant and a session, or is none', () => {
  expect(isRecordName('acme', 'sig-1')).toBe(true);
  for (const [tenant, session] of [
    ['', 'sig-1'],
    ['ac/me', 'sig-1'],
    ['acme', ''],
    ['acme', 'sig/1'],
  ] as const) {
    expect(isRecordName(tenant, session)).toBe(false);
  }
  expect(vendorRecordName(vendorRecordKey('acme', 'ab'))).toEqual({ tenant: 'acme', reference: 'ab' });
  for (const key of ['key/acme/ab', 'vendor/acme', 'vendor//ab', 'vendor/acme/']) {
    expect(vendorRecordName(key)).toBeUndefined();
  }
});

it('a record that this version did not write is refused without its content', () => {
  const parse = (text: string) => () => parseRecord(Buffer.from(text), 'key');
  expect(parse('{"v":1,"a":2}')()).toEqual({ v: 1, a: 2 });
  expect(parse('secret')).toThrow(/^a key record is not JSON$/);
  for (const text of ['{"v":2}', '{}', 'null', '7', '"v"'])
    expect(parse(text)).toThrow('a key record is not of version 1');
});

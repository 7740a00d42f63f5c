/** The signer's keys at hand, and the requests that wait for one to be loaded. */
import { expect, it } from 'vitest';
import { SigningKeys } from '../../nodes/signer/signing-keys.ts';
import { WaitingRequests } from '../../nodes/signer/waiting-requests.ts';
import { Ceremony } from './ceremony.ts';

it('a key is bound to one scheme, once', () => {
  const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 2 });
  ceremony.run();
  const keys = new SigningKeys();
  expect(() => keys.bind('key', 'frost_bip340')).toThrow('not at hand');
  keys.add('key', { keyPackage: ceremony.keyPackages()[0]!, scheme: '' });
  expect(keys.bind('key', 'frost_bip340').scheme).toBe('frost_bip340');
  expect(() => keys.bind('key', 'mock_ecdsa')).toThrow('bound already');
  expect(keys.schemeOf('key')).toBe('frost_bip340');
});

it('for a key that no request waits for there is none to take', () => {
  const waiting = new WaitingRequests<string>();
  waiting.add('a', 'one', 10);
  expect([waiting.take('b'), waiting.take('a'), waiting.take('a'), waiting.count]).toEqual([[], ['one'], [], 0]);
});

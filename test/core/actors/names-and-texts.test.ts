/** Addresses, the texts of errors in logs, and the identity of a process: exact values, without a system around them. */
import { describe, expect, it, test } from 'vitest';
import { liesUnder, peerOf, prefixTable } from '../../../core/actors/address.ts';
import { returnLeastMs } from '../../../core/actors/admission/return-times.ts';
import { gateDefaults } from '../../../core/actors/admission/work-gate.ts';
import { safeErrorText, safeStack } from '../../../core/actors/error-text.ts';
import { backOffMinMs } from '../../../core/actors/kernel/restart-pacer.ts';
import { furtherHandles } from '../../../core/actors/live/acceptors.ts';
import { handshakeBytesMax } from '../../../core/actors/live/handshake.ts';
import { identityFromSeed, verifyIdentity } from '../../../core/actors/live/handshake-crypto.ts';
import { closeCodes, defaultLinkLimits } from '../../../core/actors/live/link.ts';
import {
  identify,
  isRunning,
  isStopped,
  parseRecord,
  processorMs,
  signal,
} from '../../../core/actors/live/process-identity.ts';
import { intervalMs, linesMax } from '../../../core/actors/live/refusal-log.ts';
import { roleGateway, roleNode } from '../../../core/actors/live/wire-port.ts';

describe('an address', () => {
  it.each([
    ['node/3', 'node/3', true],
    ['node/3/dkg/x', 'node/3', true],
    ['node/31', 'node/3', false],
    ['node/3', 'node/3/dkg', false],
    ['xnode/3', 'node/3', false],
    ['node', 'node/3', false],
  ])('%s under %s: %s', (address, owner, expected) => {
    expect(liesUnder(address, owner)).toBe(expected);
  });

  it.each([
    ['node/3/dkg/t/s', 'node/3'],
    ['node/3/', 'node/3'],
    ['node/3', 'node/3'],
    ['coordinator', 'coordinator'],
    ['', ''],
  ])('%s leads to the peer %s', (address, peer) => {
    expect(peerOf(address)).toBe(peer);
  });

  it('is served by the longest prefix of whole segments', () => {
    const find = prefixTable([{ prefix: 'node' }, { prefix: 'node/1' }, { prefix: 'node/1/dkg' }]);
    const served = ['node', 'node/12', 'node/1', 'node/1/x', 'node/1/dkg/x', 'nodes'].map((each) => find(each)?.prefix);
    expect(served).toEqual(['node', 'node', 'node/1', 'node/1', 'node/1/dkg', undefined]);
    for (const prefixes of [[''], ['node/'], ['node', 'node']]) {
      expect(() => prefixTable(prefixes.map((prefix) => ({ prefix })))).toThrow();
    }
  });
});

describe('the text of an error', () => {
  const [hex, base64] = ['0123456789abcdef'.repeat(4), Buffer.alloc(32, 0xfb).toString('base64')];

  it.each([
    [new TypeError('short'), 'TypeError: short'],
    [new Error(`key ${hex} is wrong`), 'Error: key … is wrong'],
    [new Error(`two: "${base64}", ${hex}`), 'Error: two: "…", …'],
    [new Error(`url ${Buffer.alloc(32, 0xff).toString('base64url')}.`), 'Error: url ….'],
    [new Error('x'.repeat(31)), `Error: ${'x'.repeat(31)}`],
    [new Error('x'.repeat(32)), 'Error: …'],
    [new Error('ab '.repeat(100)), `Error: ${'ab '.repeat(100)}`.slice(0, 200)],
    [hex, 'string'],
    [{ message: hex }, 'object'],
    [undefined, 'undefined'],
  ])('has no run of 32 characters that may be a key, and at most 200: %o', (error, text) => {
    expect(safeErrorText(error)).toBe(text);
  });

  it('has its place in the code beside it, without what the message says', () => {
    const error = new Error(`line\n${hex}`);
    const places = safeStack(error);
    expect(places.length).toBeGreaterThan(0);
    expect(places.length).toBeLessThanOrEqual(8);
    for (const place of places) expect(place).toMatch(/^at /);
    expect(places.join()).not.toContain(hex);
    expect([safeStack(hex), safeStack(undefined)]).toEqual([[], []]);
  });
});

describe('an identity of a link', () => {
  // RFC 8032, section 7.1, test 2.
  const seed = Buffer.from('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb', 'hex');
  const key = Buffer.from('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c', 'hex');
  const signature = Buffer.from(
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    'hex',
  );
  const message = Uint8Array.of(0x72);

  it('has the key and the signature of its seed', () => {
    const identity = identityFromSeed(seed);
    expect(Buffer.from(identity.publicKey)).toEqual(key);
    expect(Buffer.from(identity.sign(message))).toEqual(signature);
    expect(verifyIdentity(key, message, signature)).toBe(true);
  });

  it('takes no other length, message, signature or key', () => {
    for (const length of [0, 31, 33]) expect(() => identityFromSeed(new Uint8Array(length))).toThrow(RangeError);
    const changed = (bytes: Uint8Array, at: number) => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));
    expect(verifyIdentity(key, Uint8Array.of(0x73), signature)).toBe(false);
    expect(verifyIdentity(key, message, changed(signature, 63))).toBe(false);
    expect(verifyIdentity(changed(key, 0), message, signature)).toBe(false);
    expect(verifyIdentity(key, message, Uint8Array.of(...signature, 0))).toBe(false);
    expect(verifyIdentity(key, message, signature.subarray(0, 63))).toBe(false);
    expect(verifyIdentity(key.subarray(1), message, signature)).toBe(false);
  });
});

describe('the identity of a process', () => {
  const own = identify(process.pid);

  it('is that of this process alone', () => {
    expect(own.began).not.toBe('');
    expect([isRunning(own), isRunning({ ...own, began: `${own.began}1` }), isStopped(process.pid)]).toEqual([
      ...[true, false, false],
    ]);
    // No system has a process of this id.
    const none = identify(2 ** 31 - 1);
    expect([none.began, isRunning(none), processorMs(none.pid)]).toEqual(['', false, 0]);
    expect(isRunning({ pid: process.pid, began: '' })).toBe(false);
    expect(processorMs(process.pid)).toBeGreaterThan(0);
  });

  it('keeps a signal from a later process of the same id', () => {
    const seen: string[] = [];
    const take = () => seen.push('SIGUSR2');
    process.on('SIGUSR2', take);
    try {
      signal({ ...own, began: `${own.began}1` }, 'SIGUSR2');
      signal({ pid: 2 ** 31 - 1, began: '1' }, 'SIGUSR2');
    } finally {
      process.off('SIGUSR2', take);
    }
    expect(seen).toEqual([]);
  });

  test.each([
    ['{"pid":7,"began":"1"}', { pid: 7, began: '1' }],
    ['{"pid":7,"began":"1","more":2}', { pid: 7, began: '1' }],
    ['{"pid":"7","began":"1"}', undefined],
    ['{"pid":7,"began":1}', undefined],
    ['{"pid":7}', undefined],
    ['null', undefined],
    ['{"pid":7,', undefined],
    ['', undefined],
  ])('is read from its record: %s', (text, expected) => {
    expect(parseRecord(text)).toEqual(expected);
  });
});

test('every limit of links, load control and restarts is the stated one', () => {
  expect(defaultLinkLimits).toEqual({
    ...{ heartbeatMs: 2_000, heartbeatsMissedMax: 3, closeGraceMs: 1_000 },
    ...{ messageBytesMax: 8_388_608, batchBytesMax: 262_144, sendBufferBytesMax: 16_777_216 },
  });
  expect(closeCodes).toEqual({
    ...{ GOING_AWAY: 1001, TEXT_FRAME: 1003, TOO_LARGE: 1009, HANDSHAKE_REFUSED: 4000 },
    ...{ MALFORMED_FRAME: 4001, SPOOFED_SENDER: 4002, TAKEN_OVER: 4003, UNASKED_FRAMES: 4004 },
  });
  expect([handshakeBytesMax, roleNode, roleGateway, linesMax, intervalMs]).toEqual([4_096, 1, 2, 10, 60_000]);
  expect([returnLeastMs, backOffMinMs, furtherHandles]).toEqual([1_000, 100, 15]);
  expect(gateDefaults).toMatchObject({
    ...{ limitStart: 64, limitMin: 16, limitMax: 4_096, tenantShare: 0.75, waitingMax: 8_192, delayTargetMs: 100 },
    ...{ burstWaitMs: 2_000, standingWaitMs: 250, standingAfterMs: 1_000 },
  });
});

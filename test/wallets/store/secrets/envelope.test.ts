/** Envelopes open for what they were sealed for, and for nothing else; keys are read from files and never shown. */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemPorts, systemRandom } from '../../../../core/actors/live/ports.ts';
import { answerSeal } from '../../../../wallets/store/secrets/answer-seal.ts';
import {
  EnvelopeBroken,
  open,
  rewrap,
  type SealAbout,
  seal,
  wrappingKeyId,
} from '../../../../wallets/store/secrets/envelope.ts';
import { fileKeyRing } from '../../../../wallets/store/secrets/file-key-ring.ts';
import type { KeyRing } from '../../../../wallets/store/secrets/key-ring.ts';

let directory: string;
let nowMs: number;
const timers = { elapsedMs: () => nowMs };
const hex = () => randomBytes(32).toString('hex');
const put = (number: number | string, text = `${hex()}\n`): void =>
  writeFileSync(join(directory, `${number}.key`), text);
const openRing = (): KeyRing => fileKeyRing(directory, { timers, random: systemRandom });

beforeEach(() => {
  nowMs = 1_790_000_000_000;
  directory = mkdtempSync(join(tmpdir(), 'signmesh-keys-'));
  put(1);
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

const about: SealAbout = { purpose: 'credentials', tenant: 'acme', kind: 'provider_connection', id: 'pcn_1' };

describe('an envelope', () => {
  it('gives back any text, and does not hold it', () => {
    const ring = openRing();
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 8, maxLength: 200 }), (text) => {
        const envelope = seal(ring, about, text);
        expect(envelope).toMatch(/^e1\.1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/);
        expect(Buffer.from(envelope.split('.')[3]!, 'base64url').includes(Buffer.from(text))).toBe(false);
        expect(open(ring, about, envelope)).toBe(text);
      }),
    );
  });

  it('is another one each time, with a data key of its own', () => {
    const ring = openRing();
    const [one, other] = [seal(ring, about, 'text'), seal(ring, about, 'text')];
    const [, , oneKey, oneText] = one.split('.');
    const [, , otherKey, otherText] = other.split('.');
    expect(oneText).not.toBe(otherText);
    // The data key of one does not open the text of the other.
    expect(() => open(ring, about, `e1.1.${oneKey}.${otherText}`)).toThrow(EnvelopeBroken);
    expect(() => open(ring, about, `e1.1.${otherKey}.${oneText}`)).toThrow(EnvelopeBroken);
  });

  it.each([
    ['purpose', 'other'],
    ['tenant', 'evil'],
    ['kind', 'webhook'],
    ['id', 'pcn_2'],
  ])('does not open where its %s is another', (field, value) => {
    const ring = openRing();
    const envelope = seal(ring, about, 'text');
    expect(() => open(ring, { ...about, [field]: value }, envelope)).toThrow(EnvelopeBroken);
  });

  it('does not take words that were shifted from one field to the next', () => {
    const ring = openRing();
    const envelope = seal(ring, { ...about, tenant: 'ab', kind: 'c' }, 'text');
    expect(() => open(ring, { ...about, tenant: 'a', kind: 'bc' }, envelope)).toThrow(EnvelopeBroken);
  });

  it('does not open once a character of it has changed', () => {
    const ring = openRing();
    const envelope = seal(ring, about, 'a text of some length');
    fc.assert(
      fc.property(fc.nat(envelope.length - 1), fc.constantFrom(...'ABab01-_.x'), (index, character) => {
        const changed = envelope.slice(0, index) + character + envelope.slice(index + 1);
        // The last character of a base64url part has bits that mean nothing.
        const same = (text: string) =>
          text.split('.').map((part, n) => (n < 2 ? part : Buffer.from(part, 'base64url').toString('hex')));
        fc.pre(JSON.stringify(same(changed)) !== JSON.stringify(same(envelope)));
        expect(() => open(ring, about, changed)).toThrow(EnvelopeBroken);
      }),
    );
  });

  it.each(['', 'e1', 'e1.1..', 'e2.1.AAAA.AAAA', 'e1.0.AAAA.AAAA', 'e1.1.AAAA.AAAA.AAAA', 'e1.9999999999.AA.AA'])(
    'is not %j',
    (text) => {
      expect(() => open(openRing(), about, text)).toThrow(EnvelopeBroken);
    },
  );

  it('says nothing of key or text when it does not open', () => {
    const ring = openRing();
    const envelope = seal(ring, about, 'the-plain-text');
    const key = Buffer.from(ring.current().key).toString('hex');
    try {
      open(ring, { ...about, id: 'pcn_2' }, envelope);
      throw new Error('it opened');
    } catch (error) {
      const said = `${(error as Error).message} ${(error as Error).stack}`;
      expect(said).not.toContain('the-plain-text');
      expect(said).not.toContain(key);
      expect(said).not.toContain(envelope.split('.')[3]);
    }
  });
});

describe('rotation', () => {
  it('wraps the data key anew and leaves the text sealed as it was', () => {
    const before = seal(openRing(), about, 'text');
    put(2);
    const ring = openRing();
    const after = rewrap(before, ring);
    expect(wrappingKeyId(after)).toBe('2');
    expect(after.split('.')[3]).toBe(before.split('.')[3]);
    expect(after.split('.')[2]).not.toBe(before.split('.')[2]);
    expect(open(ring, about, after)).toBe('text');
    expect(open(ring, about, before)).toBe('text');
    rmSync(join(directory, '1.key'));
    expect(open(openRing(), about, after)).toBe('text');
    expect(() => open(openRing(), about, before)).toThrow('key 1 is not there');
  });

  it('leaves an envelope of the current key as it is', () => {
    const ring = openRing();
    const envelope = seal(ring, about, 'text');
    expect(rewrap(envelope, ring)).toBe(envelope);
  });

  it('does not bind an envelope that was moved to its new place', () => {
    const before = seal(openRing(), about, 'text');
    put(2);
    const ring = openRing();
    expect(() => open(ring, { ...about, id: 'pcn_2' }, rewrap(before, ring))).toThrow(EnvelopeBroken);
  });
});

describe('the key ring', () => {
  it('takes the highest number as current, by number and not by name', () => {
    for (const number of [2, 9, 10]) put(number);
    expect(openRing().current().id).toBe('10');
  });

  it('finds a key that another process made since', () => {
    const ring = openRing();
    put(2);
    const sealed = seal(openRing(), about, 'text');
    nowMs += 249;
    expect(() => open(ring, about, sealed)).toThrow('key 2 is not there');
    nowMs += 1;
    expect(open(ring, about, sealed)).toBe('text');
  });

  it('continues with its current key for ten seconds, then takes the newer one', () => {
    const ring = openRing();
    put(2);
    nowMs += 9_999;
    expect(ring.current().id).toBe('1');
    nowMs += 1;
    expect(ring.current().id).toBe('2');
  });

  it('continues with what it has while the directory cannot be read', () => {
    const ring = openRing();
    rmSync(join(directory, '1.key'));
    nowMs += 60_000;
    expect(ring.current().id).toBe('1');
    expect(ring.find('1')?.id).toBe('1');
    expect(ring.find('2')).toBeUndefined();
  });

  it('ignores files that are no keys', () => {
    for (const name of ['0', '01', 'x', '2.key.123.tmp']) writeFileSync(join(directory, `${name}.txt`), 'x');
    put('01');
    put('x');
    expect(openRing().current().id).toBe('1');
  });

  it.each(['', 'zz', `${'0'.repeat(63)}\n`, `${'0'.repeat(65)}\n`, `${'A'.repeat(64)}\n`])(
    'refuses a damaged key file %j and shows nothing of it',
    (text) => {
      put(2, text);
      expect(() => openRing()).toThrow(`${join(directory, '2.key')} is damaged: it must hold 64 hex digits`);
    },
  );

  it('refuses a directory without keys, and one that is not there', () => {
    rmSync(join(directory, '1.key'));
    expect(() => openRing()).toThrow(`there is no credential key in ${directory}`);
    expect(() => fileKeyRing(join(directory, 'none'), systemPorts)).toThrow('ENOENT');
  });
});

describe('the seal of answers', () => {
  it('opens for the same request alone', () => {
    const { seal: sealAnswer, open: openAnswer } = answerSeal(openRing());
    const sealed = sealAnswer('{"secret":"whsec_1"}', 'idempotency/acme/1');
    expect(sealed).not.toContain('whsec_1');
    expect(openAnswer(sealed, 'idempotency/acme/1')).toBe('{"secret":"whsec_1"}');
    expect(() => openAnswer(sealed, 'idempotency/acme/2')).toThrow(EnvelopeBroken);
    // Nor as another kind of secret.
    expect(() => open(openRing(), about, sealed)).toThrow(EnvelopeBroken);
  });
});

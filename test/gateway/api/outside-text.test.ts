/**
 * Every decoder of text from outside, beside an independent one, over valid texts and slightly wrong ones: the same value or a
 * refusal, never another value. Addresses: test/wallets/networks/destinations.test.ts; signed receipts: test/wallets/store/event-text.test.ts.
 */
import { hexToBytes } from '@noble/hashes/utils.js';
import { base64, base64nopad, base64url, base64urlnopad } from '@scure/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hexKey, integer } from '../../../cli/settings/config-kinds.ts';
import { fromBase64 } from '../../../clients/client/base64.ts';
import { verifyWebhook } from '../../../clients/client/webhooks.ts';
import { readResumeToken, resumeToken } from '../../../coordinator/session/resume-token.ts';
import type { MachineMs } from '../../../core/actors/contract.ts';
import { fromHex } from '../../../core/crypto/bytes.ts';
import { parseTraceparent } from '../../../core/telemetry/traceparent.ts';
import { readPage } from '../../../gateway/api/pages.ts';
import { decodeProtoJson } from '../../../gateway/api/proto-json.ts';
import { Base64Text, Id, pageQuery, Timestamp } from '../../../gateway/api/schema-kit.ts';
import { compileSchema } from '../../../gateway/api/validate.ts';
import { newToken, tokenEnvironment } from '../../../gateway/auth/token-format.ts';
import { readBase64 } from '../../../proto/base64.ts';
import { isSupportedContractVersion } from '../../../proto/contract-version.ts';
import {
  DkgShareExchangeRequestSchema,
  InitiateSigningRequestSchema,
  SignatureShareRequestSchema,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { fieldOf } from '../../../scenarios/runner/references.ts';
import { signDelivery } from '../../../wallets/delivery/deliveries/webhook-signature.ts';
import { parseAmount } from '../../../wallets/networks/amounts.ts';
import { runs } from '../../support/thorough.ts';

/** What decoders are lenient about: spaces, padding, alphabets, signs, leading zeros, exponents, digits of other scripts. */
const strays = [...' \n\t=-_+/.,0179aAfFzZxeE', '\r\n', '==', '0x', 'e1', '\0', '\ufeff', '\u0663', '\uff11', '\u00e9'];

/** The text, or the text with up to two places changed, repeated, or in another case. */
function nearly(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const change = fc.record({ place: fc.nat(), where: fc.nat(2), stray: fc.constantFrom(...strays), how: fc.nat(7) });
  return fc.tuple(texts, fc.array(change, { maxLength: 2 })).map(([text, changes]) =>
    changes.reduce((was, { place, where, stray, how }) => {
      // The first characters hold signs and leading zeros, the last ones padding and spare bits.
      const at = Math.max(0, [0, was.length - (place % 3), place % (was.length + 1)][where]!);
      const [head, tail] = [was.slice(0, at), was.slice(at)];
      if (how < 2) return head + stray + tail;
      if (how < 4) return head + stray + tail.slice(1);
      if (how < 6) return head + tail.slice(1);
      return how === 6 ? was + was : was.toUpperCase();
    }, text),
  );
}

interface Case {
  readonly valid: fc.Arbitrary<string>;
  /** undefined: refused. */
  readonly ours: (text: string) => unknown;
  readonly theirs: (text: string) => unknown;
}

/** Whatever ours reads, theirs reads alike; and ours reads every valid text. */
function compare({ valid, ours, theirs }: Case): void {
  fc.assert(
    fc.property(valid, (text) => {
      expect(ours(text)).not.toBeUndefined();
      expect(ours(text)).toEqual(theirs(text));
    }),
    { numRuns: runs(100, 1_000) },
  );
  fc.assert(
    fc.property(nearly(valid), (text) => {
      const value = ours(text);
      if (value !== undefined) expect([text, value]).toEqual([text, theirs(text)]);
    }),
    { numRuns: runs(1_000, 20_000) },
  );
}

const orRefused =
  <T>(decode: (text: string) => T) =>
  (text: string): T | undefined => {
    try {
      return decode(text);
    } catch {
      return undefined;
    }
  };
const plain = (bytes: Uint8Array | undefined) => bytes && new Uint8Array(bytes);
const bytes = fc.uint8Array({ minLength: 1, maxLength: 70 });

describe('base64', () => {
  const coders = [base64, base64nopad, base64url, base64urlnopad];
  const valid = fc.tuple(bytes, fc.constantFrom(...coders)).map(([each, coder]) => coder.encode(each));
  const theirs = (text: string) => coders.map((coder) => orRefused(coder.decode)(text)).find((found) => found);
  const refusedBody = compileSchema(Base64Text(70, 'bytes'));

  it.each<[string, Case['ours']]>([
    ['the reader', readBase64],
    ['the client', (text) => orRefused(() => fromBase64(text, 'message'))(text)],
    ['a field', (text) => decodeProtoJson(InitiateSigningRequestSchema, { message_hash: text }).message?.messageHash],
    [
      'a list',
      (text) => decodeProtoJson(DkgShareExchangeRequestSchema, { commitments: [text] }).message?.commitments[0],
    ],
    ['a body of the wallet API', (text) => (refusedBody(text) === undefined ? readBase64(text) : undefined)],
  ])('of %s', (_, ours) => {
    compare({ valid, ours: (text) => (text === '' ? undefined : plain(ours(text) as Uint8Array)), theirs });
  });
});

describe('hex', () => {
  const valid = bytes.map((each) => Buffer.from(each).toString('hex'));
  it('of bytes', () =>
    compare({ valid, ours: (text) => plain(orRefused(fromHex)(text)), theirs: orRefused(hexToBytes) }));
  it('of a configured key', () => {
    const keys = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((each) => Buffer.from(each).toString('hex'));
    const ours = (text: string) => hexKey().parse(text);
    compare({ valid: keys, ours, theirs: (text) => Buffer.from(hexToBytes(text)).toString('hex') });
  });
});

/** Digits one by one: no library is strict. */
function whole(text: string): bigint | undefined {
  let value = 0n;
  if (text === '' || (text.length > 1 && text[0] === '0')) return undefined;
  for (const digit of text) {
    const at = '0123456789'.indexOf(digit);
    if (at < 0) return undefined;
    value = value * 10n + BigInt(at);
  }
  return value;
}

describe('decimals', () => {
  const naturals = fc.bigInt({ min: 0n, max: 10n ** 15n - 1n }).map(String);

  it('of an amount', () => {
    const theirs = (text: string) => {
      const [integer = '', fraction, ...more] = text.split('.');
      const digits = (fraction ?? '0').split('').map(whole);
      if (whole(integer) === undefined || more.length > 0 || digits.length === 0 || digits.length > 6) return undefined;
      if (digits.includes(undefined)) return undefined;
      const part = digits.reduce<bigint>((sum, digit) => sum * 10n + digit!, 0n) * 10n ** BigInt(6 - digits.length);
      return whole(integer)! * 10n ** 6n + part;
    };
    const ours = (text: string) => {
      const units = parseAmount(text, 6);
      return typeof units === 'bigint' ? units : undefined;
    };
    const fraction = fc.option(
      fc.nat(999_999).map((each) => `.${each}`),
      { nil: '' },
    );
    const valid = fc.tuple(naturals, fraction).map((parts) => parts.join(''));
    compare({ valid: valid.filter((text) => !/^0(\.0+)?$/.test(text)), ours, theirs });
  });

  it('of a setting', () => {
    const theirs = (text: string) => Number(whole(text.replace(/^0+(?=.)/, '')));
    compare({ valid: naturals, ours: (text) => integer(0, 10 ** 15).parse(text), theirs });
  });

  it('of a list index in a scenario', () => {
    const list = Array.from({ length: 1_000 }, (_, index) => BigInt(index));
    compare({ valid: fc.nat(999).map(String), ours: (text) => fieldOf(list, [text]), theirs: whole });
  });

  it('of a query', () => {
    const refused = compileSchema(pageQuery.limit);
    const valid = fc.integer({ min: 1, max: 100 }).map(String);
    const ours = (text: string) => (refused(text) === undefined ? Number(text) : undefined);
    compare({ valid, ours, theirs: (text) => Number(whole(text)) });
  });

  it('of a whole number as text in ProtoJSON, which is a number of JSON', () => {
    const ours = (node_id: string) => decodeProtoJson(SignatureShareRequestSchema, { node_id }).message?.nodeId;
    const theirs = (text: string) => (text.trim() === text ? orRefused(JSON.parse)(text) : undefined);
    compare({ valid: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }).map(String), ours, theirs });
  });

  it('of a contract version', () => {
    const theirs = (text: string) => {
      const parts = text
        .replace(/^v/, '')
        .split('.')
        .map((part) => whole(part.replace(/^0+(?=.)/, '')));
      return (
        text === '' || (parts.length <= 3 && !parts.includes(undefined) && parts[0] === 1n && (parts[1] ?? 0n) === 0n)
      );
    };
    const valid = fc.constantFrom('1', 'v1', '1.0', 'v1.0.7');
    compare({ valid, ours: (text) => isSupportedContractVersion(text) || undefined, theirs });
  });
});

describe('times and ids', () => {
  it('a time is a time that exists', () => {
    const refused = compileSchema(Timestamp);
    const pattern = /^(\d{4})-(\d\d)-(\d\d)[tT](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[zZ]|([+-])(\d\d):(\d\d))$/;
    const theirs = (text: string) => {
      const found = pattern.exec(text);
      if (found === null) return undefined;
      const [year, month, day, hour, minute, second] = found.slice(1, 7).map(Number) as [
        number,
        number,
        number,
        number,
        number,
        number,
      ];
      const at = new Date(0);
      at.setUTCFullYear(year, month - 1, day);
      at.setUTCHours(hour, minute, second, Math.floor(Number(`0.${found[7] ?? 0}`) * 1000));
      const [hours, minutes] = [Number(found[9] ?? 0), Number(found[10] ?? 0)];
      const isReal =
        at.getUTCMonth() === month - 1 && at.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
      if (!isReal || hours > 23 || minutes > 59) return undefined;
      return at.getTime() - (found[8] === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000;
    };
    const offsets = fc.constantFrom('Z', '+02:00', '-09:30', '+00:00');
    const time = fc.date({ min: new Date(0), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true });
    const valid = fc.tuple(time, offsets).map(([each, offset]) => each.toISOString().replace('Z', offset));
    const ours = (text: string) => (refused(text) === undefined ? Date.parse(text) : undefined);
    compare({ valid, ours, theirs });
    for (const day of ['2026-02-29', '2026-02-30', '2026-04-31', '2026-13-01', '2026-00-10', '2100-02-29']) {
      expect(ours(`${day}T00:00:00Z`)).toBeUndefined();
    }
  });

  it('an id is a UUIDv7 in its one spelling', () => {
    const refused = compileSchema(Id('wal'));
    const valid = fc.uuid({ version: 7 }).map((each) => `wal_${each}`);
    const ours = (text: string) =>
      refused(text) === undefined ? Buffer.from(text.slice(4).replaceAll('-', ''), 'hex') : undefined;
    compare({
      valid,
      ours,
      theirs: (text) => {
        const id = Buffer.from(hexToBytes(text.slice(4).split('-').join('')));
        expect([text.slice(0, 4), id.length, id[6]! >> 4, id[8]! >> 6]).toEqual(['wal_', 16, 7, 2]);
        const hex = id.toString('hex');
        expect(text).toBe(
          `wal_${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')}`,
        );
        return id;
      },
    });
  });

  it('a traceparent is hex of its lengths', () => {
    const hex = (length: number) =>
      fc.uint8Array({ minLength: length, maxLength: length }).map((each) => Buffer.from(each).toString('hex'));
    const valid = fc.tuple(hex(16), hex(8), hex(1)).map((parts) => `00-${parts.join('-')}`);
    compare({
      valid: valid.filter((text) => !/-(0{32}|0{16})-/.test(text)),
      ours: parseTraceparent,
      theirs: (text) => {
        const [version, traceId, spanId, flags, ...more] = text.split('-');
        const lengths = [version, traceId, spanId, flags].map((part) => hexToBytes(part!).length);
        expect([lengths, more, text]).toEqual([[1, 16, 8, 1], [], text.toLowerCase()]);
        return { traceId, spanId, isSampled: (hexToBytes(flags!)[0]! & 1) === 1 };
      },
    });
  });
});

/** Texts that the service made: no other text is read as one of them. */
describe('of what the service made, only the very text', () => {
  const only = (made: string, ours: (text: string) => unknown): void =>
    compare({ valid: fc.constant(made), ours, theirs: (text) => (text === made ? ours(made) : undefined) });

  it('is a cursor', () => {
    const context = { tenant: 'tn_a', cursorKey: new Uint8Array(32).fill(1) };
    const made = readPage(context, 'wallets', {}).cursorOf('wal_1');
    only(
      made,
      orRefused((cursor) => readPage(context, 'wallets', { cursor }).query.afterId),
    );
  });

  it('is a resume token', () => {
    const key = new Uint8Array(32).fill(1);
    const session = { tenant: 'tn_a', sessionId: 'sig_1' };
    const point = { ...session, checkpointId: 'ckp_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e', epoch: 3 };
    only(resumeToken(key, point), (text) => readResumeToken(key, session, text));
  });

  it('is a live token', () => {
    only(
      newToken('production', (length) => new Uint8Array(length).fill(7)),
      tokenEnvironment,
    );
  });

  it('is the signature of a webhook', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const made = signDelivery([secret], 'evt_1', 1_790_000_000_000 as MachineMs, Buffer.from('{}'));
    const signature = made['webhook-signature'];
    const isTaken = (text: string) =>
      verifyWebhook('{}', { ...made, 'webhook-signature': text }, secret, { nowMs: 1_790_000_000_000 }).then(
        () => true,
        (error) => expect(error).toMatchObject({ name: 'WebhookVerificationError' }) ?? false,
      );
    await fc.assert(
      fc.asyncProperty(nearly(fc.constant(signature)), async (text) => {
        const isSame = text.split(' ').includes(signature);
        expect([text, (await isTaken(text)) === true]).toEqual([text, isSame]);
      }),
      { numRuns: runs(300, 5_000) },
    );
  });
});

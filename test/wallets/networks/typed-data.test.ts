/** Typed data is hashed as other libraries hash it, and read strictly. */
import fc from 'fast-check';
import { hashTypedData as viemHash } from 'viem';
import { describe, expect, it } from 'vitest';
import {
  fieldsOf,
  hashTypedData,
  readTypedData,
  type TypedData,
  typeTextOf,
} from '../../../wallets/networks/typed-data.ts';
import { runs } from '../../support/thorough.ts';

const network = 'eip155:11155111';
const contract = '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC';
const bob = '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB';
const cow = '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826';

/** The example of EIP-712, on our network. */
const mail: TypedData = {
  types: {
    Person: [
      { name: 'name', type: 'string' },
      { name: 'wallet', type: 'address' },
    ],
    Mail: [
      { name: 'from', type: 'Person' },
      { name: 'to', type: 'Person' },
      { name: 'contents', type: 'string' },
    ],
  },
  primaryType: 'Mail',
  domain: { name: 'Ether Mail', version: '1', chainId: 11155111, verifyingContract: contract },
  message: { from: { name: 'Cow', wallet: cow }, to: { name: 'Bob', wallet: bob }, contents: 'Hello, Bob!' },
};

/** One struct with one field, and its value. */
const one = (type: string, value: unknown, over: Partial<TypedData> = {}): TypedData => ({
  types: { One: [{ name: 'x', type }] },
  primaryType: 'One',
  domain: { chainId: 11155111 },
  message: { x: value },
  ...over,
});
const read = (given: unknown) => readTypedData(network, given as TypedData);
const refused = (given: unknown, field: string) => {
  let found = '';
  try {
    read(given);
  } catch (error) {
    found = (error as { readonly field: string }).field;
  }
  expect(found).toBe(`typed_data.${field}`);
};

describe('the hash', () => {
  it('is that of the example of EIP-712', () => {
    const domain = { ...mail.domain, chainId: 1 };
    expect(hashTypedData({ ...mail, domain })).toBe(
      '0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2',
    );
    expect(typeTextOf(mail)).toBe('Mail(Person from,Person to,string contents)Person(string name,address wallet)');
  });

  it('is that of viem, for random types and values, and stays the same when it is read again', () => {
    const hex = (bytes: number) =>
      fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((all) => `0x${Buffer.from(all).toString('hex')}`);
    const leaf: fc.Arbitrary<readonly [string, unknown]> = fc.oneof(
      fc
        .integer({ min: 1, max: 32 })
        .chain((size) =>
          fc.bigInt({ min: 0n, max: (1n << BigInt(8 * size)) - 1n }).map((n) => [`uint${8 * size}`, `${n}`] as const),
        ),
      fc
        .integer({ min: 1, max: 32 })
        .chain((size) =>
          fc
            .bigInt({ min: -(1n << BigInt(8 * size - 1)), max: (1n << BigInt(8 * size - 1)) - 1n })
            .map((n) => [`int${8 * size}`, `${n}`] as const),
        ),
      fc.integer({ min: 1, max: 32 }).chain((size) => hex(size).map((text) => [`bytes${size}`, text] as const)),
      fc.integer({ min: 0, max: 40 }).chain((size) => hex(size).map((text) => ['bytes', text] as const)),
      hex(20).map((text) => ['address', text] as const),
      fc.boolean().map((value) => ['bool', value] as const),
      fc.string({ unit: 'grapheme' }).map((text) => ['string', text] as const),
    );
    const listed = fc.tuple(leaf, fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 2 }), fc.boolean());
    const field = listed.map(([[type, value], length, depth, isFixed]) => {
      let [given, named]: [unknown, string] = [value, type];
      for (let level = 0; level < depth; level += 1) {
        given = Array.from({ length }, () => given);
        named = `${named}[${isFixed && length > 0 ? length : ''}]`;
      }
      return [named, given] as const;
    });
    const struct = fc.array(field, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(struct, struct, (outer, inner) => {
        const fieldsIn = (all: typeof outer) => all.map(([type], at) => ({ name: `f${at}`, type }));
        const valuesIn = (all: typeof outer) => Object.fromEntries(all.map(([, value], at) => [`f${at}`, value]));
        const given: TypedData = {
          types: { Outer: [...fieldsIn(outer), { name: 'inner', type: 'Inner[]' }], Inner: fieldsIn(inner) },
          primaryType: 'Outer',
          domain: { name: 'x', chainId: '0xaa36a7', salt: `0x${'5a'.repeat(32)}` },
          message: { ...valuesIn(outer), inner: [valuesIn(inner), valuesIn(inner)] },
        };
        const known = read(given);
        const hash = hashTypedData(known);
        expect(hash).toBe(viemHash({ ...given, domain: { ...given.domain, chainId: 11155111n } } as never));
        expect(hashTypedData(read(JSON.parse(JSON.stringify(known))))).toBe(hash);
      }),
      { numRuns: runs(40, 2_000) },
    );
  });
});

describe('typed data', () => {
  it('shows every value by its path and in one spelling', () => {
    expect(Object.fromEntries(fieldsOf(read(mail)))).toMatchObject({
      primaryType: 'Mail',
      'domain.chainId': '11155111',
      'domain.verifyingContract': contract.toLowerCase(),
      'message.to.wallet': bob.toLowerCase(),
      'message.contents': 'Hello, Bob!',
    });
    const lists = one('uint8[2][]', [
      ['0x01', 2],
      ['3', 4],
    ]);
    expect([...fieldsOf(read(lists))].slice(2)).toEqual([
      ['message.x[0][0]', '1'],
      ['message.x[0][1]', '2'],
      ['message.x[1][0]', '3'],
      ['message.x[1][1]', '4'],
    ]);
    expect(fieldsOf(read(one('bool', false))).get('message.x')).toBe('false');
  });

  it.each([
    ['uint8', [256, -1, 1.5, '01', '1e3', '', '0x', '0x100', ' 1', true, null, 2 ** 53]],
    ['int8', [128, -129, '-0x1', '--1']],
    ['uint256', [`${1n << 256n}`, '1'.repeat(79)]],
    ['bool', ['true', 'false', 0, 1, null]],
    ['address', [bob.replace('b', 'B').replace('BbB', 'bbB'), '0x12', 5, null, `${bob}00`]],
    ['bytes2', ['0x01', '0x010203', '0xzz00', '0102', 258]],
    ['bytes', ['0x0', 'text', 5, null]],
    ['string', [5, null, '\ud800', ['x']]],
    ['uint8[2]', [[1], [1, 2, 3], '12', { 0: 1, 1: 2 }, null]],
  ])('refuses a wrong value of %s', (type, values) => {
    for (const value of values as unknown[]) refused(one(type, value), 'message.x');
  });

  it('refuses fields that are missing or surplus', () => {
    refused({ ...mail, message: { ...mail.message, amount: 1 } }, 'message.amount');
    refused({ ...mail, message: { from: mail.message.from, to: mail.message.to } }, 'message.contents');
    refused({ ...mail, message: { ...mail.message, to: null } }, 'message.to');
    refused({ ...mail, message: { ...mail.message, to: [mail.message.to] } }, 'message.to');
    refused({ ...mail, domain: { ...mail.domain, chain: 1 } }, 'domain.chain');
    refused(one('bool', true, { message: JSON.parse('{"x": true, "__proto__": 1}') }), 'message.__proto__');
  });

  it('refuses another chain than the wallet’s, or none', () => {
    for (const chainId of [1, '1', '0x1', '11155112'])
      refused({ ...mail, domain: { ...mail.domain, chainId } }, 'domain.chainId');
    const { chainId: _, ...domain } = mail.domain;
    refused({ ...mail, domain }, 'domain.chainId');
    for (const chainId of [11155111, '11155111', '0xaa36a7', '0xAA36A7']) {
      expect(hashTypedData(read({ ...mail, domain: { ...mail.domain, chainId } }))).toBe(hashTypedData(read(mail)));
    }
  });

  it('takes EIP712Domain if it is what the domain has, in the order of the standard', () => {
    const own = [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
      { name: 'chainId', type: 'uint256' },
      { name: 'verifyingContract', type: 'address' },
    ];
    const withOwn = (EIP712Domain: object) => ({ ...mail, types: { ...mail.types, EIP712Domain } });
    expect(hashTypedData(read(withOwn(own)))).toBe(hashTypedData(read(mail)));
    refused(withOwn(own.toReversed()), 'types.EIP712Domain');
    refused(withOwn(own.slice(1)), 'types.EIP712Domain');
    refused(withOwn([]), 'types.EIP712Domain');
    refused({ ...mail, primaryType: 'EIP712Domain' }, 'primaryType');
  });

  it.each([
    ['in a circle', { A: [{ name: 'b', type: 'B' }], B: [{ name: 'a', type: 'A' }] }],
    ['of itself', { One: [{ name: 'x', type: 'One[]' }] }],
    ['unknown', { One: [{ name: 'x', type: 'Two' }] }],
    ['unused', { One: [{ name: 'x', type: 'bool' }], Two: [{ name: 'x', type: 'bool' }] }],
    ['none', {}],
  ])('refuses types that are %s', (_, types) => refused(one('bool', true, { types }), 'types'));

  it('refuses types with other names than structs have, and integers without a width', () => {
    refused(one('bool', true, { types: { 'One ': [{ name: 'x', type: 'bool' }] } }), 'types.One ');
    refused(
      one('bool', true, { types: { address: [{ name: 'x', type: 'bool' }] }, primaryType: 'address' }),
      'types.address',
    );
    refused(one('bool', true, { types: { constructor: [{ name: 'x', type: 'bool' }] } }), 'types.constructor');
    refused(one('bool', true, { types: { One: [{ name: 'x,bool y', type: 'bool' }] } }), 'types.One[0].name');
    refused(one('bool', true, { types: { One: [{ name: 'toString', type: 'bool' }] } }), 'types.One[0].name');
    for (const type of ['uint', 'int[]', 'uint8 x,bool', 'bool[-1]', '']) refused(one(type, 1), 'types.One[0].type');
    for (const type of ['uint7', 'uint264', 'bytes33', 'float']) refused(one(type, 1), 'types');
    refused(one('bool', true, { types: { One: Array(2).fill({ name: 'x', type: 'bool' }) } }), 'types');
  });

  it('has limits, so that few bytes cannot take long', () => {
    const wide = Array.from({ length: 20 }, (_, at) => `T${at}`);
    // Every type uses all after it: 2^19 ways through them.
    const types = Object.fromEntries(
      wide.map((name, at) => [
        name,
        [{ name: 'x', type: 'bool' }, ...wide.slice(at + 1).map((type) => ({ name: type, type }))],
      ]),
    );
    refused(one('bool', true, { types, primaryType: 'T0' }), 'types');
    refused(one('bool[]', Array(200).fill(true)), 'message.x[196]');
    refused(one('bool[][]', Array(200).fill([])), 'message.x[196]');
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`A${at}`, []]));
    refused(one('bool', true, { types: many }), 'types');
    refused(
      one('bool', true, { types: { One: Array.from({ length: 201 }, (_, at) => ({ name: `f${at}`, type: 'bool' })) } }),
      'types',
    );
    refused(one('bool', true, { types: { One: [{ name: 'x'.repeat(65), type: 'bool' }] } }), 'types.One[0].name');
  });
});

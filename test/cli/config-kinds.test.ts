/** The kinds of settings: the values at their limits, and how a value is written back. */
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  choice,
  hexKey,
  host,
  integer,
  integers,
  type Kind,
  onOff,
  origins,
  path,
  portOrFree,
  redis,
  text,
  url,
  urls,
} from '../../cli/settings/config-kinds.ts';

const hex = '0123456789abcdef'.repeat(4);

interface Row {
  readonly name: string;
  readonly taken: Readonly<Record<string, unknown>>;
  readonly refused: readonly string[];
  readonly parse: (given: string) => unknown;
  /** Reads what the kind writes of the value of a text. */
  readonly again: (given: string) => unknown;
}

/** A kind, the texts that it takes with their values, and texts that it refuses. */
function row<T>(name: string, kind: Kind<T>, taken: Readonly<Record<string, T>>, refused: readonly string[]): Row {
  return { name, taken, refused, parse: kind.parse, again: (given) => kind.parse(kind.print(kind.parse(given)!)) };
}

const kinds: readonly Row[] = [
  row('integer', integer(2, 10), { 2: 2, 10: 10, '007': 7 }, ['1', '11', '', '-2', '2.5', '0x5', ' 5', '1e1', '5 ']),
  row('integers', integers(1, 9, 3, 'ids'), { 1: [1], '1, 9,5': [1, 9, 5] }, ['1,2,3,4', '0', '1,10', '1,', '', '1;2']),
  row('portOrFree', portOrFree(), { 0: 0, 65535: 65_535 }, ['-1', '65536']),
  row('hexKey', hexKey(), { [hex]: hex, [hex.toUpperCase()]: hex }, [hex.slice(1), `${hex}0`, `g${hex.slice(1)}`, '']),
  row<'a' | 'b'>('choice', choice('a', 'b'), { a: 'a', b: 'b' }, ['A', 'ab', '']),
  row('onOff', onOff(), { on: true, off: false }, ['true', 'ON', '']),
  row('path', path(), { '/a/../b': '/a/../b', a: resolve('a') }, ['a\0b']),
  row('host', host(), { 'a-b.c': 'a-b.c', '::1': '::1', ['a'.repeat(253)]: 'a'.repeat(253) }, [
    'a'.repeat(254),
    '',
    'a b',
  ]),
  row('url', url('ws:', 'wss:'), { 'ws://a': 'ws://a', 'wss://a:1/b': 'wss://a:1/b' }, [
    'http://a',
    'a',
    'ws:',
    'ws://',
  ]),
  row('urls', urls(2, 'http:'), { 'http://a, http://b': ['http://a', 'http://b'] }, [
    'http://a,b',
    'http://a,http://b,http://c',
  ]),
  row('redis', redis(), { 'rediss://a,b': 'rediss://a,b' }, ['a', 'http://a']),
  row('origins', origins(2), { '*': ['*'], 'https://a.example, http://b:81': ['https://a.example', 'http://b:81'] }, [
    'https://a/',
    'https://a:443',
    'https://*.a',
    'ftp://a',
    'https://a,https://b,https://c',
    '',
  ]),
  row('text', text(3), { '': '', abc: 'abc' }, ['abcd']),
];

describe.each(kinds)('$name', ({ taken, refused, parse, again }) => {
  test('takes the values that it allows', () => {
    expect(Object.fromEntries(Object.keys(taken).map((given) => [given, parse(given)]))).toEqual(taken);
  });

  test.each(refused.map((given) => [given]))('refuses %j', (given) => {
    expect(parse(given)).toBeUndefined();
  });

  test('reads what it writes', () => {
    for (const given of Object.keys(taken)) expect(again(given)).toEqual(parse(given));
  });
});

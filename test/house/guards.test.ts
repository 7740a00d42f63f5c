/** Guards that `signmesh guards` plants: each is asked for by its number, and says what its test says unless it is off. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../../tools/check/repository.ts';
import { explained } from '../../tools/guards/explained.ts';
import { type Guard, nameOf, plantGuards } from '../../tools/guards/plant.ts';

const source = `
  const f = (limit: number, amount: number): string => {
    if (amount > limit) return 'above';
    if (amount === limit) return 'at';
    return 'below';
  };
`;

test('every `if` has a number, and its test is kept', () => {
  const guards: Guard[] = [];
  const text = plantGuards('example.ts', source, guards);
  expect(guards.map(({ id, line, text: told }) => [id, line, told])).toEqual([
    [0, 3, 'amount > limit'],
    [1, 4, 'amount === limit'],
  ]);
  const { code } = transformSync(text, { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } });
  const seen: [number, boolean][] = [];
  const off = { id: -1 };
  const guardHolds = (id: number, holds: boolean) => {
    seen.push([id, holds]);
    return id === off.id ? false : holds;
  };
  const f = new Function('globalThis', `${code}; return f;`)({ guardHolds });
  expect([4, 5, 6].map((amount) => f(5, amount))).toEqual(['below', 'at', 'above']);
  expect(seen.slice(0, 2)).toEqual([
    [0, false],
    [1, false],
  ]);
  off.id = 0;
  expect(f(5, 6)).toBe('below');
});

test('guards of a file with the same test have different names', () => {
  const guards: Guard[] = [];
  const text = 'if (a) b(); if (a) c(); if (d) e();';
  plantGuards('example.ts', text, guards);
  plantGuards('other.ts', 'if (a) b();', guards);
  expect(guards.map(nameOf)).toEqual(['example.ts: a', 'example.ts: a #2', 'example.ts: d', 'other.ts: a']);
});

test('every explanation is of a guard that stands in the sources', () => {
  const files = new Set(Object.keys(explained).map((name) => name.slice(0, name.indexOf(':'))));
  const standing = new Set<string>();
  for (const file of files) {
    const guards: Guard[] = [];
    plantGuards(file, readFileSync(join(repositoryRoot(), file), 'utf8'), guards);
    for (const guard of guards) standing.add(nameOf(guard));
  }
  expect(Object.keys(explained).filter((name) => !standing.has(name))).toEqual([]);
});

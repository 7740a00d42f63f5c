/**
 * Small faults that `signmesh mutate` plants: behind its switch, each changes what it names and nothing else. A comparison of two
 * checkouts takes the same faults in both.
 */
import { transformSync } from '@swc/core';
import { expect, test } from 'vitest';
import { commonMutants } from '../../tools/mutate/common.ts';
import { confidence, mutantsOf, switched } from '../../tools/mutate/mutants.ts';

const source = `
  (limit: number, amount: number) => {
    const seen: string[] = [];
    if (amount > limit) seen.push('above');
    else seen.push('below');
    return seen.join();
  }
`;
const mutants = mutantsOf('example.ts', source).map((mutant, index) => ({ id: index + 1, ...mutant }));

/** What the function returns for a limit of 5 while the mutant is on; 0: none is. Only the mutants named are planted. */
function resultsOf(planted: readonly number[], on: number): string[] {
  const text = switched(
    source,
    mutants.filter(({ id }) => planted.includes(id)),
  );
  const { code } = transformSync(`export default ${text}`.replace('export default', 'const f ='), {
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
  });
  const f = new Function('globalThis', `${code}; return f;`)({ mutantIsOn: (id: number) => id === on });
  return [4, 5, 6].map((amount) => f(5, amount));
}

test('a guard, a comparison and each statement have a mutant', () => {
  expect(mutants.map(({ what }) => what).sort()).toEqual([
    '> is >=',
    'guard always holds',
    'guard never holds',
    'statement left out',
    'statement left out',
  ]);
});

test('operators and booleans have mutants, types have none', () => {
  const text = 'const f = (a: number, only: true, done = false): a is 1 => (a - 1 && only) || (done as true);';
  expect(mutantsOf('example.ts', text).map(({ what }) => what)).toEqual([
    'false is true',
    '|| is &&',
    '&& is ||',
    '- is +',
  ]);
});

test('planted and switched off they change nothing, an else behind a statement included', () => {
  for (const { id } of mutants) expect(resultsOf([id], 0)).toEqual(['below', 'below', 'above']);
});

test('switched on, each does what it says', () => {
  const result = (what: string) =>
    mutants.filter((mutant) => mutant.what === what).map(({ id }) => resultsOf([id], id).join());
  expect(result('guard never holds')).toEqual(['below,below,below']);
  expect(result('guard always holds')).toEqual(['above,above,above']);
  expect(result('> is >=')).toEqual(['below,above,above']);
  expect(result('statement left out').sort()).toEqual([',,above', 'below,below,'].sort());
});

test('planted all at once, in one place and inside of each other, each is active alone', () => {
  const all = mutants.map(({ id }) => id);
  for (const id of [0, ...all]) expect(resultsOf(all, id)).toEqual(resultsOf([id], id));
});

test('pairs the faults of lines that both checkouts have once, in files of any name', () => {
  const side = (files: Readonly<Record<string, string>>) => ({
    mutants: Object.entries(files).flatMap(([file, text]) => mutantsOf(file, text)),
    read: (file: string) => files[file]!,
  });
  const before = side({
    'old/é.ts': 'export const é = true;\nexport const isOpen = a < b;\ncall(a === b, c === d);\ntwice();',
    'old/gone.ts': 'export const isGone = true;',
  });
  const after = side({
    'new/a.ts': 'export const isNew = true;\n\n  call(a === b, c === d);\ntwice();\ntwice();',
    'new/b.ts': 'export const isOpen = a < b;\nexport const é = true;',
  });
  const placeOf = ({ file, line, what }: { file: string; line: number; what: string }) => `${file}:${line} ${what}`;
  const pairs = commonMutants(before, after);
  expect(pairs.map((pair) => [placeOf(pair.before), placeOf(pair.after)])).toEqual([
    ['old/é.ts:3 statement left out', 'new/a.ts:3 statement left out'],
    ['old/é.ts:3 === is !==', 'new/a.ts:3 === is !=='],
    ['old/é.ts:3 === is !==', 'new/a.ts:3 === is !=='],
    ['old/é.ts:2 < is <=', 'new/b.ts:1 < is <='],
    ['old/é.ts:1 true is false', 'new/b.ts:2 true is false'],
  ]);
  // Of two faults of one kind in one line, the first with the first.
  expect(pairs[1]!.before.start).toBeLessThan(pairs[2]!.before.start);
  expect(pairs[1]!.after.start).toBeLessThan(pairs[2]!.after.start);
});

test('the confidence in a rate is the published one, and grows with the sample', () => {
  // Wilson (1927), as statistics packages compute it.
  expect(confidence(15, 50).map((rate) => rate.toFixed(4))).toEqual(['0.1910', '0.4375']);
  expect(confidence(50, 50)[1]).toBeCloseTo(1);
  expect(confidence(0, 50)[0]).toBeCloseTo(0);
  const width = (count: number) => confidence(count / 2, count)[1] - confidence(count / 2, count)[0];
  expect(width(300)).toBeLessThan(width(60));
});

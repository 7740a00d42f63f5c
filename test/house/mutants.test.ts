/** Small faults that `signmesh mutate` plants: behind its switch, each changes what it names and nothing else. */
import { transformSync } from '@swc/core';
import { expect, test } from 'vitest';
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

test('the confidence in a rate is the published one, and grows with the sample', () => {
  // Wilson (1927), as statistics packages compute it.
  expect(confidence(15, 50).map((rate) => rate.toFixed(4))).toEqual(['0.1910', '0.4375']);
  expect(confidence(50, 50)[1]).toBeCloseTo(1);
  expect(confidence(0, 50)[0]).toBeCloseTo(0);
  const width = (count: number) => confidence(count / 2, count)[1] - confidence(count / 2, count)[0];
  expect(width(300)).toBeLessThan(width(60));
});

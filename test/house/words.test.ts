/** Words that hide who acts stay out of docs, comments, help texts, errors and tests. A backstop: it replaces no reading. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../cli/support/up-process.ts';

const riddles = new RegExp(
  [
    /\b(nobody|anybody|everybody|whoever|somebody|befalls?|befell|theatre)\b/,
    /\b(of its making|sees to it|what bec(o|a)mes? of|lets? go of|(is|was|were|are) told of|no part in|goes on)\b/,
    /\b(again and again|now and then|what came of|does no harm|as it should be|t(a|oo)kes? hold|the three judges)\b/,
    /\b(stands? in the way|both doors|either door|at the door|after its making|fault plane|has no say)\b/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);
const withoutWords = /^(test\/house\/words\.test\.ts$|proto\/gen\/|LICENSE$|package-lock\.json$)|\.png$/;

function riddlesIn(text: string): number[] {
  return text.split('\n').flatMap((line, index) => (riddles.test(line) ? [index + 1] : []));
}

test('the repository’s own files name who acts', () => {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
  const read = files.filter((file) => !withoutWords.test(file));
  expect(read.length).toBeGreaterThan(500);
  const found = read.flatMap((file) => riddlesIn(readFileSync(join(root, file), 'utf8')).map((at) => `${file}:${at}`));
  expect(found).toEqual([]);
});

test('a riddle is found', () => {
  expect(riddlesIn('Clear words.\n// Goes on with what nobody goes on with.\n/** Whom a fault befalls. */')).toEqual([
    2, 3,
  ]);
});

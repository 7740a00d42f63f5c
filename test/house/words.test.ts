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

function unfinishedIn(text: string): number[] {
  return text.split('\n').flatMap((line, index) => (/^(<{7}|>{7}) /.test(line) ? [index + 1] : []));
}

/** Files of the repository that people wrote, with their texts. */
function texts(): [file: string, text: string][] {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
  return files.filter((file) => !withoutWords.test(file)).map((file) => [file, readFileSync(join(root, file), 'utf8')]);
}

test('the repository’s own files name who acts', () => {
  const read = texts();
  expect(read.length).toBeGreaterThan(500);
  const found = read.flatMap(([file, text]) => riddlesIn(text).map((at) => `${file}:${at}`));
  expect(found).toEqual([]);
});

test('no file holds the marks of a merge that was not finished', () => {
  expect(unfinishedIn('a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> d')).toEqual([2, 6]);
  const found = texts().flatMap(([file, text]) => unfinishedIn(text).map((at) => `${file}:${at}`));
  expect(found).toEqual([]);
});

test('a riddle is found', () => {
  expect(riddlesIn('Clear words.\n// Goes on with what nobody goes on with.\n/** Whom a fault befalls. */')).toEqual([
    2, 3,
  ]);
});

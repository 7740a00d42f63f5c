/**
 * An exported type has a name of its own in the product, so that a reader who meets it knows which one it is. `signmesh/client` has
 * its own: it names the service's resources for its users, as the service names them.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isProduct } from '../../tools/check/rooms.ts';
import { root } from '../cli/support/up-process.ts';

const namedAlike = /^(clients\/client|proto\/gen)\//;
const declaration = /^export (?:declare )?(?:abstract )?(?:type|interface|class|(?:const )?enum) ([A-Z]\w*)/gm;

/** "Name: file, file" for each name that two files declare. */
function repeatedNames(files: Iterable<readonly [file: string, text: string]>): string[] {
  const places = new Map<string, string[]>();
  for (const [file, text] of files) {
    for (const [, name] of text.matchAll(declaration)) places.set(name!, [...(places.get(name!) ?? []), file]);
  }
  return [...places].filter(([, at]) => at.length > 1).map(([name, at]) => `${name}: ${at.join(', ')}`);
}

test('no exported type name occurs twice in the product', () => {
  const files = execFileSync('git', ['ls-files', '*.ts'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
  const product = files.filter((file) => isProduct(file) && !namedAlike.test(file));
  expect(product.length).toBeGreaterThan(500);
  expect(repeatedNames(product.map((file) => [file, readFileSync(join(root, file), 'utf8')]))).toEqual([]);
});

test('a name that two files declare is found, and one that is only passed on is not', () => {
  const files = [
    ['a.ts', 'export interface Told {}\nexport type Other = 1;'],
    ['b.ts', 'export abstract class Told {}\nexport type { Other } from "./a.ts";'],
    ['c.ts', 'type Told = 1;'],
  ] as const;
  expect(repeatedNames(files)).toEqual(['Told: a.ts, b.ts']);
});

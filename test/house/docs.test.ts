/** Generated pages are current, and the ones written by hand name what exists. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { variables } from '../../cli/settings/variables.ts';
import { configurationPage } from '../../tools/docs/configuration.ts';
import { stalePages } from '../../tools/docs.ts';
import { temporaryFolder } from '../cli/support/temporary.ts';
import { root } from '../cli/support/up-process.ts';

test('the generated pages are what the code says ("npm run docs" writes them)', () => {
  expect(stalePages(root)).toEqual([]);
});

test('a page that is missing or old is found', () => {
  expect(stalePages(temporaryFolder())).toEqual([
    'ARCHITECTURE.md',
    'clients/client/generated-api.ts',
    'docs/configuration.md',
    'docs/faults.md',
    'docs/metrics.md',
    'docs/reason-codes.md',
    'docs/sandbox-api.md',
    'docs/scenarios.md',
    'docs/signing-api.md',
    'docs/signing-round.md',
    'docs/tokens.md',
    'docs/treasury.md',
    'docs/wallet-api.md',
    'scenarios/faults/vocabulary/generated-types.ts',
    'scenarios/runner/generated-operations.ts',
    'scenarios/schema.json',
  ]);
});

test('every variable is documented', () => {
  for (const name of Object.keys(variables)) expect(configurationPage()).toContain(`| \`${name}\` |`);
});

test('docs/dependencies.md names every dependency, and no other', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };
  const page = readFileSync(join(root, 'docs/dependencies.md'), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const named = rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!));
  const types = (name: string) => name.startsWith('@types/');
  const declared = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).filter(
    (name) => !types(name),
  );
  expect(named.sort()).toEqual(declared.sort());
  const pinned = [...page.matchAll(/`([^`]+)` (\d+\.\d+\.\d+(?:-\d+)?)[,:]/g)].map(([, name, version]) => [
    name,
    version,
  ]);
  expect(pinned.length).toBeGreaterThan(5);
  const versions: Record<string, string> = { ...manifest.dependencies, ...manifest.devDependencies };
  for (const [name, version] of pinned) expect(versions[name!], name).toBe(version);
});

test('ARCHITECTURE.md has at most 2,000 words beside the table of folders', () => {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').replace(/<!-- generated[\s\S]*?<!-- end -->/, '');
  const words = page.split(/\s+/).filter(Boolean);
  expect(words.length).toBeLessThanOrEqual(2_000);
});

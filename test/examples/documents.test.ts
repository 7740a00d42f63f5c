/** What the documents name exists: links, anchors, files, functions, scripts. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isPackaged } from '../../tools/package.mjs';
import { root } from '../cli/support/up-process.ts';

const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const written = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'docs/signing-api.md',
  'docs/wallet-api.md',
  'docs/wallet-guide.md',
  'docs/scenarios.md',
  'docs/simulation.md',
  'docs/sandbox-api.md',
  'docs/testing.md',
  'docs/reports.md',
  'docs/signing-path.md',
  'docs/wallet-path.md',
  'docs/durability.md',
  'docs/two-worlds.md',
  'docs/trust.md',
  'docs/change-guide.md',
  'docs/glossary.md',
];
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** As the sites that show Markdown make them. */
function anchors(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe.each(documents)('%s', (path) => {
  const text = read(path);

  test('links to what exists', () => {
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target!)) continue;
      const [file, anchor] = target!.split('#') as [string, string?];
      const linked = file === '' ? path : join(dirname(path), file);
      expect(existsSync(join(root, linked)), `${target} of ${path}`).toBe(true);
      if (anchor !== undefined) expect(anchors(read(linked)), `${target} of ${path}`).toContain(anchor);
    }
  });
});

describe('the npm package', () => {
  const linksOf = (path: string) =>
    // Its image is in the repository alone, which shows it where there is one.
    [...read(path).matchAll(/(?<!!\[[^\]]*)\]\(([^)\s#]+)(?:#[^)]*)?\)/g)]
      .map(([, target]) => target!)
      .filter((target) => !/^https?:/.test(target))
      .map((target) => join(dirname(path), target));

  test('holds every file that its pages link to', () => {
    const pages = documents.filter(isPackaged);
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/testing.md', 'docs/client.md']));
    expect(pages.flatMap(linksOf).length).toBeGreaterThan(100);
    for (const page of pages)
      expect(
        linksOf(page).filter((file) => !isPackaged(file)),
        page,
      ).toEqual([]);
  });

  test('holds its own pages, and not those for contributors', () => {
    const inside = ['docs', 'docs/testing.md', 'scenarios/bad-partial.yaml', 'proto/svc/mesh/v1/mpc_wallet.proto'];
    const outside = ['docs/wire.md', 'docs/console-ceremony.png', 'ARCHITECTURE.md', 'proto/limits.ts'];
    expect([...inside, ...outside].filter(isPackaged)).toEqual(inside);
  });
});

describe.each(written)('%s', (path) => {
  const text = read(path);
  const rooms =
    /^(proto|core|nodes|coordinator|wallets|gateway|scenarios|simulation|clients|cli|tools|examples|test|docs)\//;

  test('names files that exist', () => {
    const named = [...text.matchAll(/`([^`\s]+)`/g)].map(([, name]) => name!);
    // Keys lie in the data directory, in folders of the same names.
    for (const name of named.filter((one) => rooms.test(one) && !one.endsWith('.key')))
      expect(existsSync(join(root, name)), `${name} in ${path}`).toBe(true);
  });

  test('names functions where they are', () => {
    for (const [, file, name] of text.matchAll(/\| `([^`]+\.ts)` \| `(\w+)` \|$/gm)) {
      expect(read(file!), `${name} in ${file}`).toMatch(
        new RegExp(`(function|const) ${name}\\b|^  (async )?${name}\\(`, 'm'),
      );
    }
    for (const [, name, file] of text.matchAll(/\(?`(\w+)`(?: in|:) `([^`]+\.ts)`/g)) {
      expect(read(file!), `${name} in ${file}`).toContain(name!);
    }
  });

  test('names npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const [, name] of text.matchAll(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(name);
  });

  test('names variables that exist', () => {
    const known = read('docs/configuration.md');
    for (const [name] of text.matchAll(/\b(SIGNMESH_\w+|REDIS_URL)\b/g)) expect(known).toContain(`| \`${name}\` |`);
  });
});

test('the README says what must never be done with M0, before it says how to start', () => {
  const readme = read('README.md');
  expect(readme.indexOf('must never guard real funds')).toBeLessThan(readme.indexOf('npm start'));
});

/** What a release publishes, and the workflow that does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { publishedManifest } from '../../tools/package.mjs';
import { released } from '../../tools/release.mjs';
import { root } from '../cli/support/up-process.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const ofCheckout = JSON.parse(read('package.json')) as { readonly version: string; readonly scripts: object };
const manifest = publishedManifest(ofCheckout, ['sodium-native']);
const repository = 'https://git.example.com/them/signmesh';
const changelog = `## [${ofCheckout.version}] – 2027-01-31\n`;
const tag = `v${ofCheckout.version}`;

describe('a release', () => {
  test('is public, has provenance and names the repository of its workflow', () => {
    const made = released(manifest, { tag, repository, changelog });
    expect(made).toMatchObject({
      publishConfig: { access: 'public', provenance: true },
      repository: { type: 'git', url: `git+${repository}.git` },
    });
    expect(ofCheckout).toHaveProperty('private', true);
    for (const name of ['private', 'scripts', 'devDependencies', 'overrides']) expect(made).not.toHaveProperty(name);
  });

  test.each([
    ['another version’s tag', { tag: 'v9.9.9' }, /v9\.9\.9 is not/],
    [
      'no date in the change log',
      { changelog: read('CHANGELOG.md').replace(/– \d{4}-.*/g, '– Unreleased') },
      /no date/,
    ],
  ])('is refused for %s', (_, wrong, why) => {
    expect(() => released(manifest, { tag, repository, changelog, ...wrong })).toThrow(why);
  });

  test('is refused without provenance', () => {
    const without = { ...manifest, publishConfig: { access: 'public' } };
    expect(() => released(without, { tag, repository, changelog })).toThrow(/provenance/);
  });
});

describe('its workflow', () => {
  interface Step {
    readonly uses?: string;
    readonly run?: string;
  }
  const text = read('.github/workflows/release.yml');
  const workflow = parse(text) as {
    readonly on: { readonly push: { readonly tags: readonly string[] } };
    readonly permissions: object;
    readonly jobs: { readonly publish: { readonly permissions: object; readonly steps: readonly Step[] } };
  };
  const { permissions, steps } = workflow.jobs.publish;

  test('runs for tags, and may sign and read, nothing else', () => {
    expect(workflow.on).toEqual({ push: { tags: ['v*'] } });
    expect(workflow.permissions).toEqual({ contents: 'read' });
    expect(permissions).toEqual({ contents: 'read', 'id-token': 'write' });
  });

  test('uses actions of a fixed commit, and no secret', () => {
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
    expect(text).not.toMatch(/secrets\.|TOKEN/);
  });

  test('tests before it publishes, by commands that exist', () => {
    const commands = steps.flatMap(({ run }) => (run?.startsWith('npm ') ? [run] : []));
    expect(commands.slice(-3)).toEqual(['npm ci', 'npm test', 'npm run release']);
    expect(Object.keys(ofCheckout.scripts)).toEqual(expect.arrayContaining(['test', 'release']));
  });
});

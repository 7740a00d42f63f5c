/** What a release publishes, and the workflows. */
import { readdirSync, readFileSync } from 'node:fs';
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

  test('tests before it publishes, by commands that exist', () => {
    const commands = steps.flatMap(({ run }) => (run?.startsWith('npm ') ? [run] : []));
    expect(commands.slice(-3)).toEqual(['npm ci', 'npm test -- --strict', 'npm run release']);
    expect(Object.keys(ofCheckout.scripts)).toEqual(expect.arrayContaining(['test', 'release']));
  });
});

describe.each(readdirSync(join(root, '.github/workflows')))('the workflow %s', (file) => {
  const text = read(`.github/workflows/${file}`);

  test('uses actions of a fixed commit, reads alone unless it publishes, and has no secret', () => {
    const used = [...text.matchAll(/uses: (.*)$/gm)].map(([, action]) => action);
    expect(used.length).toBeGreaterThan(1);
    for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v[\d.]+$/);
    expect(parse(text)).toMatchObject({ permissions: { contents: 'read' } });
    expect(text).not.toMatch(/secrets\.|TOKEN/);
  });

  test('runs scripts that package.json has', () => {
    const scripts = [...text.matchAll(/npm (?:run (\S+)|(test))/g)].map(([, run, test_]) => run ?? test_);
    expect(scripts).toContain('test');
    expect(Object.keys(ofCheckout.scripts)).toEqual(expect.arrayContaining(scripts));
  });
});

test('tests run on every line of Node.js that is supported, the oldest first', () => {
  const { jobs } = parse(read('.github/workflows/test.yml'));
  const { engines } = JSON.parse(read('package.json')) as { readonly engines: { readonly node: string } };
  const [oldest, ...later] = jobs.test.strategy.matrix.node as string[];
  expect(`>=${oldest}`).toBe(engines.node);
  expect(later).toEqual(['22', '24']);
});

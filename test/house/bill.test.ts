/** The bill of materials, against the build: what the source maps of the bundles name, and the files that were copied. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtFile } from '../../cli/common/built.ts';
import { root } from '../cli/support/up-process.ts';

interface Component {
  readonly type: string;
  readonly name: string;
  readonly 'bom-ref': string;
  readonly purl?: string;
  readonly licenses?: readonly { readonly license?: { readonly id: string }; readonly expression?: string }[];
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
  readonly components?: readonly Component[];
}

const dist = join(root, 'dist');
const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const bill = read('dist/sbom.cdx.json') as {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};
const { scripts, unbundled } = read('dist/.shipped') as Record<'scripts' | 'unbundled', readonly string[]>;
const lock = read('package-lock.json').packages as Record<
  string,
  { readonly version: string; readonly integrity: string }
>;
/** Its published source map names a folder of the machine that built it. */
const elsewhere = new Map([['node_modules/@js-sdsl/.build-data', 'node_modules/@js-sdsl/ordered-map']]);
/** Scripts of HTML pages, which are packed as texts: no source map names them. */
const ofPages = ['preact', 'uplot'];

/** Folders of packages whose code the shipped bundles hold. */
function bundledFolders(): string[] {
  const folders = scripts.flatMap((script) => {
    const { sources } = read(`dist/${script}.map`) as { readonly sources: readonly string[] };
    return sources.flatMap(
      (source) =>
        /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(relative(root, join(dist, dirname(script), source)))?.[0] ?? [],
    );
  });
  return [...new Set(folders.map((folder) => elsewhere.get(folder) ?? folder))].sort();
}

describe('dist/sbom.cdx.json', () => {
  const folders = [...bundledFolders(), ...ofPages.map((name) => `node_modules/${name}`)];

  test('lists the packages that the bundles hold, and no other', () => {
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' });
    const expected = folders.map((folder) => {
      const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return `pkg:npm/${name.replace('@', '%40')}@${lock[folder]!.version}`;
    });
    expect(expected.length).toBeGreaterThan(80);
    expect(new Set(bill.components.map(({ purl }) => purl))).toEqual(new Set(expected));
  });

  test('gives each a licence and the hash of its tarball', () => {
    const hashes = folders.map((folder) =>
      Buffer.from(lock[folder]!.integrity.replace('sha512-', ''), 'base64').toString('hex'),
    );
    expect(new Set(bill.components.map(({ hashes: [first] }) => first?.content))).toEqual(new Set(hashes));
    for (const {
      name,
      licenses,
      hashes: [first],
    } of bill.components) {
      expect(first?.alg, name).toBe('SHA-512');
      expect(licenses?.[0]?.license?.id ?? licenses?.[0]?.expression, name).toMatch(/^[A-Z0-9(]/);
    }
  });

  test('gives each file that is copied as it is its hash', () => {
    const files = bill.components.flatMap(({ components = [] }) => components);
    const copied = ['assets', 'native'].flatMap((folder) =>
      readdirSync(join(dist, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(root, join(entry.parentPath, entry.name))),
    );
    expect(files.map(({ name }) => name).sort()).toEqual(copied.sort());
    for (const { name, hashes } of files) {
      const content = createHash('sha256')
        .update(readFileSync(join(root, name)))
        .digest('hex');
      expect(hashes, name).toEqual([{ alg: 'SHA-256', content }]);
    }
  });

  test('names what depends on what, by references that exist', () => {
    const known = new Set([...bill.components.map((component) => component['bom-ref']), 'pkg:npm/signmesh@0.1.0']);
    for (const { ref, dependsOn } of bill.dependencies)
      expect([ref, ...dependsOn].filter((one) => !known.has(one))).toEqual([]);
    const of = (name: string) => bill.dependencies.find(({ ref }) => ref.startsWith(`pkg:npm/${name}@`))?.dependsOn;
    expect(of('ioredis')).toContainEqual(expect.stringMatching(/^pkg:npm\/denque@/));
  });

  test('holds no elliptic, and the packages outside the bundles are dependencies', () => {
    expect(bill.components.map(({ name }) => name)).not.toContain('elliptic');
    const { dependencies } = read('package.json') as { readonly dependencies: object };
    // ws tries to load the first two, which make it faster, and ioredis' `debug` the third, which colours its lines.
    const optional = ['bufferutil', 'utf-8-validate', 'supports-color'];
    expect(unbundled.filter((name) => !(name in dependencies) && !optional.includes(name))).toEqual([]);
  });
});

test('the bundles hold the modules of packages as they are published: their long texts stand there', () => {
  // A long text continues on the next line.
  const bundles = scripts.map((script) => readFileSync(join(dist, script), 'utf8').replaceAll('\\\n', '')).join('\n');
  // WebAssembly in base64, and the comments of scripts for Redis: what a build that saves bytes would take out.
  const texts = [
    'undici/lib/llhttp/llhttp-wasm.js',
    'undici/lib/llhttp/llhttp_simd-wasm.js',
    'bullmq/dist/esm/scripts/moveToActive-11.js',
  ]
    .map((path) => readFileSync(join(root, 'node_modules', path), 'utf8'))
    .flatMap((text) => text.match(/[A-Za-z0-9+/=]{1000,}|^ *-- [^`\\]+$/gm) ?? []);
  expect(texts.length).toBeGreaterThan(2);
  expect(texts.filter((text) => !bundles.includes(text)).map((text) => text.slice(0, 60))).toEqual([]);
});

test('processes of the tests, and examples that import the package, run the build', () => {
  expect(builtFile('cli/main.js')).toBe(join(dist, 'cli/main.js'));
  expect(createRequire(join(root, 'examples/testing/payouts.test.ts')).resolve('signmesh/testing')).toBe(
    join(dist, 'clients/testing/index.js'),
  );
});

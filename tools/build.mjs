/**
 * The build: `node tools/build.mjs OUT` bundles the entries of the product, the tools, the bench and the examples into
 * OUT. Code that several entries share lies in chunks, so a process has one instance of each module. `signmesh/client` is one
 * file without imports, for browsers too.
 *
 * Packages go into the bundles as they are published: nothing rewrites them. Those that find files
 * beside their own code stay outside.
 *
 * It does not check types; `npm test` does. It is plain JavaScript because it runs before anything is built.
 *
 * OUT/sbom.cdx.json lists the bundled packages, OUT/licenses.txt holds their licences (tools/bill.mjs).
 *
 * OUT/.stamp maps every file of this repository that the build has read to the digest of its content. cli/signmesh.mjs
 * builds again when a digest has changed.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';
import { packPage } from '../core/pages/pack.mjs';
import { billOfMaterials, licenseTexts, packagesOf } from './bill.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Each becomes OUT/<path>.js, at the path where processes, workers and commands look for it. */
const entries = [
  ...[
    'main',
    'certificates',
    'completion',
    'credentials',
    'demo',
    'listen',
    'load',
    'modules',
    'scenario',
    'service',
    'sim',
    'sim/worker',
    'tokens',
    'trigger',
  ].map((name) => `cli/${name}`),
  'nodes/hsm/child',
  'clients/testing/index',
  ...['bench', 'check', 'docs', 'mutate'].map((name) => `tools/${name}`),
  ...[
    'main',
    'probe',
    'floor/floor-process',
    'reference/bare-server',
    'reference/canned-server',
    'reference/echo-server',
  ].map((name) => `tools/bench/${name}`),
  ...[
    'grpc-client',
    'http-client',
    'reconciliation',
    'tokens-client',
    'treasury-proposer',
    'vault-client',
    'wallet-client',
    'webhook-receiver',
  ].map((name) => `examples/${name}`),
];

/** Modules that the scripts of HTML pages begin with, and whether the page loads its as a module. */
const pageScripts = [
  ['clients/console/browser/main.ts', true],
  ['clients/load/html/browser/main.ts', false],
  ['clients/report/html/browser/main.ts', false],
  ['gateway/docs-page/browser/main.ts', false],
];

/** Packages that find binaries beside their own code. They are the package's dependencies. */
const outside = ['classic-level', 'sodium-native'];

const { folders } = JSON.parse(readFileSync(join(root, 'rooms.json'), 'utf8'));
/** Folders that the package's bundles do not have: their packages are loaded from node_modules. */
const unbundled = Object.keys(folders).filter((folder) => folders[folder].packaged !== undefined);
const isBundled = (path) => !unbundled.some((folder) => path.startsWith(`${folder}/`));

/** Files of bundled packages that are copied: what they read beside their code, and the binaries that core/crypto/secp256k1.ts loads. */
const files = {
  'grpc-health-check/proto/health/v1/health.proto': 'assets/proto/health/v1/health.proto',
  '@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto':
    'assets/proto/grpc/reflection/v1/reflection.proto',
  '@grpc/reflection/build/proto/grpc/reflection/v1alpha/reflection.proto':
    'assets/proto/grpc/reflection/v1alpha/reflection.proto',
  ...Object.fromEntries(
    ['darwin-arm64/secp256k1', 'linux-x64/secp256k1.glibc', 'linux-x64/secp256k1.musl', 'win32-x64/secp256k1'].map(
      (binary) => [`secp256k1/prebuilds/${binary}.node`, `native/secp256k1/${binary}.node`],
    ),
  ),
};

const common = {
  absWorkingDir: root,
  outbase: '.',
  bundle: true,
  format: 'esm',
  minify: true,
  // For stack traces and errors' names.
  keepNames: true,
  // A crash prints the line that threw.
  lineLimit: 2000,
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
};

/** @param {string} out */
async function main(out) {
  const pages = pageScripts.map(([entry, isModule]) => ({ entry, ...packPage(entry, isModule) }));
  const { metafile } = await build({
    ...common,
    entryPoints: entries.map((entry) => `${entry}.ts`),
    outdir: out,
    chunkNames: 'chunks/[name]-[hash]',
    splitting: true,
    platform: 'node',
    target: 'node20.19',
    // ES modules, of which esbuild leaves out what is not used, before CommonJS.
    mainFields: ['module', 'main'],
    external: outside,
    define: { copiedBinaries: '"../native/secp256k1"' },
    // What CommonJS packages expect. They look for their files two folders above their own.
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url),__dirname=import.meta.dirname+'/../assets/package/src';",
    },
    plugins: [resolution, reportPages(pages)],
  });
  const client = await build({
    ...common,
    entryPoints: ['clients/client/index.ts'],
    outdir: out,
    platform: 'neutral',
    target: 'es2022',
  });
  const redisScripts = luaFiles();
  for (const path of redisScripts) copy(join(root, path), join(out, path));
  for (const [from, to] of Object.entries(files)) copy(join(root, 'node_modules', from), join(out, to));
  const shipped = shippedOutputs(metafile.outputs);
  // For tools/package.mjs: the scripts that it packs, and the packages that they import.
  const scripts = ['clients/client/index.js', ...shipped.map((path) => relative(out, join(root, path)))].sort();
  const imports = shipped.flatMap((path) => metafile.outputs[path].imports);
  const imported = imports
    .filter(({ path, external }) => external && !path.startsWith('node:') && !isBuiltin(path))
    .map(({ path }) => path);
  writeFileSync(join(out, '.shipped'), JSON.stringify({ scripts, unbundled: [...new Set(imported)].sort() }));
  const contained = shipped.flatMap((path) => Object.keys(metafile.outputs[path].inputs));
  const pageInputs = pages.flatMap(({ inputs }) => inputs);
  const packages = packagesOf(root, [
    ...contained,
    ...pageInputs,
    ...Object.keys(files).map((path) => `node_modules/${path}`),
  ]);
  writeFileSync(join(out, 'sbom.cdx.json'), `${JSON.stringify(billOfMaterials(root, packages, files), null, 2)}\n`);
  writeFileSync(join(out, 'licenses.txt'), licenseTexts(root, packages));
  const read = [metafile, client.metafile].flatMap(({ inputs }) => Object.keys(inputs));
  const inputs = [
    ...new Set([...read, ...pageInputs].filter((path) => !path.startsWith('node_modules/'))),
    ...redisScripts,
    'package.json',
    'package-lock.json',
    'rooms.json',
    'tsconfig.json',
    'tools/bill.mjs',
    'tools/build.mjs',
  ];
  writeFileSync(
    join(out, '.stamp'),
    JSON.stringify(Object.fromEntries(inputs.sort().map((path) => [path, digest(path)]))),
  );
  if (process.env.METAFILE) writeFileSync(process.env.METAFILE, JSON.stringify(metafile));
}

/** The JavaScript that the package needs: its entries, and the chunks that they load. */
function shippedOutputs(outputs) {
  const shipped = new Set();
  const add = (path) => {
    if (shipped.has(path) || outputs[path] === undefined) return;
    shipped.add(path);
    for (const { path: imported } of outputs[path].imports) add(imported);
  };
  for (const [path, { entryPoint }] of Object.entries(outputs)) {
    const isEntry = entryPoint !== undefined && entries.includes(entryPoint.replace(/[.]ts$/, ''));
    if (isEntry && isBundled(entryPoint)) add(path);
  }
  return [...shipped].sort();
}

const resolution = {
  name: 'resolution',
  setup({ onResolve }) {
    onResolve({ filter: /^[@a-z]/ }, ({ path, importer, kind }) => {
      if (kind === 'entry-point') return undefined;
      if (!isBundled(relative(root, importer))) return { path, external: true };
      // Its package.json does not say that an import alone has no effect: its queues in Postgres would be in every gateway.
      if (path === 'bullmq') return { path: join(root, 'node_modules/bullmq/dist/esm/index.js'), sideEffects: false };
      return undefined;
    });
  },
};

/**
 * Puts the packed scripts of pages in the place of our module that packs them. They are compressed: their plain text would be a
 * thirtieth of the package.
 */
function reportPages(pages) {
  const texts = Object.fromEntries(
    pages.map(({ entry, text, chunks }) => [
      entry,
      brotliCompressSync(JSON.stringify({ text, chunks })).toString('base64'),
    ]),
  );
  return {
    name: 'report pages',
    setup({ onLoad }) {
      onLoad({ filter: /[/\\]core[/\\]pages[/\\]pack\.mjs$/ }, () => ({
        contents: [
          "import { brotliDecompressSync } from 'node:zlib';",
          `const texts = ${JSON.stringify(texts)};`,
          "export const packPage = (entry) => JSON.parse(brotliDecompressSync(Buffer.from(texts[entry], 'base64')).toString());",
        ].join('\n'),
        loader: 'js',
      }));
    },
  };
}

function luaFiles() {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^(node_modules|dist|test)$|^\./.test(entry.name))
    .flatMap(({ name }) =>
      readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map((path) => `${name}/${path}`),
    )
    .filter((path) => path.endsWith('.lua'));
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

function digest(path) {
  return createHash('sha256')
    .update(readFileSync(join(root, path)))
    .digest('hex');
}

await main(resolve(process.argv[2]));

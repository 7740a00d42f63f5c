/**
 * The build: `node tools/build.mjs OUT` bundles the entries of the product, the tools, the bench and the examples into
 * OUT. Code that several entries share lies in chunks, so a process has one instance of each module. `signmesh/client` is one
 * file without imports, for browsers too.
 *
 * It does not check types; `npm test` does. It is plain JavaScript because it runs before anything is built.
 *
 * OUT/licenses.txt holds the licence of every package that the bundles contain.
 *
 * OUT/.stamp maps every file of this repository that the build has read to the digest of its content. cli/signmesh.mjs
 * builds again when a digest has changed.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build, transform } from 'esbuild';
import { packPage } from '../report/html/pack.mjs';
import { thinMap } from './thin-maps.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Each becomes OUT/<path>.js, at the path where processes, workers and commands look for it. */
const entries = [
  ...[
    'main',
    'certificates',
    'credentials',
    'demo',
    'listen',
    'load',
    'modules',
    'scenario',
    'sim',
    'sim/worker',
    'tokens',
    'trigger',
  ].map((name) => `cli/${name}`),
  'nodes/hsm/child',
  'testing/index',
  ...['bench', 'check', 'docs', 'guards', 'mutate', 'sim', 'sim/worker'].map((name) => `tools/${name}`),
  ...[
    'main',
    'probe',
    'floor/floor-process',
    'overload/health-probe',
    'reference/bare-server',
    'reference/canned-server',
    'reference/echo-server',
  ].map((name) => `bench/${name}`),
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

/** Modules that the scripts of HTML pages begin with. */
const pageScripts = ['load/html/browser/main.ts', 'report/html/browser/main.ts'];

/** Packages with files of their own beside the code: binaries, and the page of the API. */
const unbundled = /^(secp256k1|@fastify\/swagger(-ui)?)(\/|$)/;

/** Rooms whose packages are development dependencies: they are loaded from node_modules. */
const unbundledRooms = /^(bench|examples|tools)\b/;

/** Files that a bundled package reads beside its own code, by package: they are copied to OUT/assets. */
const assets = {
  'grpc-health-check': ['proto/health/v1/health.proto'],
  '@grpc/reflection': [
    'build/proto/grpc/reflection/v1/reflection.proto',
    'build/proto/grpc/reflection/v1alpha/reflection.proto',
  ],
};

/** @param {string} out */
async function main(out) {
  const pages = pageScripts.map((entry) => ({ entry, ...packPage(entry) }));
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entries.map((entry) => `${entry}.ts`),
    outdir: out,
    outbase: '.',
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    // What a module exports keeps its name, for stack traces; see withShortNames.
    minifyWhitespace: true,
    minifySyntax: true,
    // A crash prints the line that threw.
    lineLimit: 1000,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    // CommonJS packages require Node's own modules by `require`, which ES modules do not have.
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const __chunk=import.meta.url,require=__createRequire(__chunk),__packages=require;",
    },
    plugins: [packages, publicNames, reportPages(pages)],
  });
  const client = await build({
    absWorkingDir: root,
    entryPoints: ['client/index.ts'],
    outdir: out,
    outbase: '.',
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 1000,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  for (const map of Object.keys(metafile.outputs).filter((path) => path.endsWith('.map'))) {
    writeFileSync(join(root, map), thinMap(readFileSync(join(root, map), 'utf8')));
  }
  writeFileSync(join(out, 'chunks', '.npmignore'), repositoryChunks(metafile.outputs).join('\n'));
  const scripts = luaFiles();
  for (const path of scripts) copy(join(root, path), join(out, path));
  for (const [name, files] of Object.entries(assets)) {
    for (const file of files) copy(join(root, 'node_modules', name, file), join(out, 'assets', name, file));
  }
  const bundled = [metafile, client.metafile].flatMap(({ inputs }) => Object.keys(inputs));
  const packed = pages.flatMap(({ inputs }) => inputs);
  writeFileSync(join(out, 'licenses.txt'), licenses([...bundled, ...packed]));
  const inputs = [
    ...new Set([...bundled, ...packed, ...publicFiles].filter((path) => !path.startsWith('node_modules/'))),
    ...scripts,
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tools/build.mjs',
    'tools/thin-maps.mjs',
  ];
  writeFileSync(
    join(out, '.stamp'),
    JSON.stringify(Object.fromEntries(inputs.sort().map((path) => [path, digest(path)]))),
  );
  if (process.env.METAFILE) writeFileSync(process.env.METAFILE, JSON.stringify(metafile));
}

const require = createRequire(import.meta.url);

/** The parser of HTTP of undici, a WebAssembly module, compressed. */
const parser = require('../node_modules/undici/lib/llhttp/llhttp_simd-wasm.js');

/** Of the parser's constants, those that a client of HTTP/1.1 reads. */
const { ERROR, TYPE } = require('../node_modules/undici/lib/llhttp/constants.js');

/** The options of Fastify that have defaults. */
const { defaultInitOptions } = require('../node_modules/fastify/lib/config-validator.js');

/**
 * Modules of packages that go into the bundles as another text.
 *
 * A bundled package finds its binary in its folder in node_modules, where the package's own loader looks too. That of
 * sodium-native reads a dozen files to find it, so the usual place is tried first.
 *
 * What the product does not use of a package is left out: it would be parsed at every start. An import of undici that is
 * missing here fails the build; the others fail where they are called.
 */
const replaced = {
  'sodium-native/binding.js': `
    const { join, dirname } = require('node:path');
    const folder = dirname(__packages.resolve('sodium-native/package.json'));
    const binary = join(folder, 'prebuilds', process.platform + '-' + process.arch, 'sodium-native.node');
    try { module.exports = __packages(binary); } catch { module.exports = __packages('sodium-native/binding.js'); }`,
  'sodium-native/index.js': declaredSodium(),
  'classic-level/binding.js': `
    const { dirname } = require('node:path');
    module.exports = require('node-gyp-build')(dirname(__packages.resolve('classic-level/package.json')));`,
  // Connections alone: no fetch, no cache, no mocks.
  'undici/index.js': `
    import Client from './lib/dispatcher/client.js';
    import Dispatcher from './lib/dispatcher/dispatcher.js';
    import Pool from './lib/dispatcher/pool.js';
    import api from './lib/api/index.js';
    Object.assign(Dispatcher.prototype, api);
    export { Client, Pool };`,
  // HTTP/1.1 alone.
  'undici/lib/dispatcher/client-h2.js': unused('HTTP/2 of undici'),
  // Bodies here are texts and bytes: no forms.
  'undici/lib/web/fetch/body.js': unused('fetch of undici', 'extractBody'),
  // Its parser twice, for machines with and without SIMD; Node.js 20 runs on none without.
  'undici/lib/llhttp/llhttp-wasm.js': `module.exports = require('./llhttp_simd-wasm.js');`,
  'undici/lib/llhttp/llhttp_simd-wasm.js': `
    const { brotliDecompressSync } = require('node:zlib');
    module.exports = brotliDecompressSync(Buffer.from('${brotliCompressSync(parser).toString('base64')}', 'base64'));`,
  'undici/lib/llhttp/constants.js': `module.exports = ${JSON.stringify({ ERROR, TYPE })};`,
  // Certificates of a service of Redis, which only its users could select, by name.
  'ioredis/built/constants/TLSProfiles.js': 'exports.default = {};',
  // What BullMQ and Fastify ask about versions.
  'semver/index.js': ['coerce', 'gt', 'lt', 'satisfies', 'valid']
    .map((name) => `exports.${name} = require('./functions/${name}');`)
    .join('\n'),
  // A client of gRPC has one address here: no choice among several.
  '@grpc/grpc-js/build/src/load-balancer-outlier-detection.js': 'exports.setup = () => undefined;',
  '@grpc/grpc-js/build/src/load-balancer-weighted-round-robin.js': 'exports.setup = () => undefined;',
  // Histograms of 32-bit counts in JavaScript alone, and Node's own zlib for their encoding.
  'hdr-histogram-js/dist/index.js': `
    exports.build = require('./HistogramBuilder').build;
    Object.assign(exports, require('./encoding'));`,
  'hdr-histogram-js/dist/wasm/index.js': `
    exports.webAssemblyAvailable = false;
    exports.WasmHistogram = class WasmHistogram {};`,
  'hdr-histogram-js/dist/JsHistogramFactory.js': `
    const { default: Int32Histogram } = require('./Int32Histogram');
    exports.constructorFromBucketSize = () => Int32Histogram;`,
  'pako/index.js': `
    const { deflateSync, inflateSync } = require('node:zlib');
    module.exports = { deflate: deflateSync, inflate: inflateSync };`,
  // Types out of texts, in the grammar of TypeScript: ours are written as calls.
  'typebox/build/type/script/script.mjs': `
    export function Script() { throw new Error('the build leaves typebox Script out: see tools/build.mjs'); }`,
  // The same parser, for template literals: no schema has one.
  'typebox/build/type/engine/patterns/pattern.mjs': `
    export function ParsePatternIntoTypes() { throw new Error('the build leaves typebox patterns out: see tools/build.mjs'); }`,
  'typebox/build/type/engine/patterns/template.mjs': `
    export function ParseTemplateIntoTypes() { throw new Error('the build leaves typebox templates out: see tools/build.mjs'); }`,
  // No path of a route has an expression.
  'safe-regex2/index.js': 'module.exports = () => true;',
  // Pino writes to a stream of this thread.
  'thread-stream/index.js': unused('thread-stream'),
  // Its clients of Redis are ioredis's.
  'bullmq/dist/esm/classes/bun-redis-client.js': `export const createBunRedisClient = undefined;`,
  'bullmq/dist/esm/classes/node-redis-client.js': `export const createNodeRedisClient = undefined;`,
  // BullMQ reads times of repeated jobs with it; jobs here do not repeat.
  'cron-parser/dist/index.js': unused('cron-parser', 'CronExpressionParser'),
  // The page of the API asks Fastify with fixed options.
  'light-my-request/lib/config-validator.js': 'module.exports = () => true;',
  // gateway/http gives Fastify fixed options: nothing to validate, only defaults to fill in.
  'fastify/lib/config-validator.js': `
    const defaults = ${JSON.stringify(defaultInitOptions)};
    module.exports = (options) => {
      for (const name of Object.keys(options)) if (!(name in defaults)) delete options[name];
      for (const name in defaults) options[name] ??= structuredClone(defaults[name]);
      return true;
    };
    module.exports.defaultInitOptions = defaults;`,
  // gateway/http gives Fastify its own compilers of schemas, which are never asked.
  '@fastify/ajv-compiler/index.js': unused('@fastify/ajv-compiler'),
  '@fastify/fast-json-stringify-compiler/index.js': unused('@fastify/fast-json-stringify-compiler'),
};

/** Packages of ES modules whose names nothing reads: theirs are made short, as those of CommonJS packages are. */
const shortened =
  /^(typebox|@bufbuild[/]protobuf|@noble[/]\w+|@opentelemetry[/][\w-]+|@scure[/][\w-]+|micro-packed|micro-eth-signer|tslib|bullmq|@marcbachmann[/]cel-js|asn1js|pvutils|pvtsutils|@peculiar[/][\w-]+|lru-cache|msgpackr|commander|ws|yaml|ipaddr.js)$/;

/**
 * Scripts of BullMQ for what no queue here has: priorities, schedulers, parents, relays, and searches. They are a third of its
 * size.
 */
const unusedScripts =
  /^(relay\w+|addPrioritizedJob|(add|update|remove)JobScheduler|addParentJob|cleanJobsInSet|remove(UnprocessedChildren|ChildDependency|OrphanedJobs)|releaseParentIfNoPendingDependencies|reprocessJob|change(Priority|Delay)|moveToWaitingChildren|moveJobsToWait|promote|paginate|obliterate|drain)$/;

/** sodium-native's module with those of its functions that crypto/native.d.ts declares: it has hundreds. */
function declaredSodium() {
  const declared = readFileSync(join(root, 'crypto/native.d.ts'), 'utf8').matchAll(/^ {4}(crypto_\w+)\(/gm);
  const names = new Set([...declared].map(([, name]) => name));
  const source = readFileSync(join(root, 'node_modules/sodium-native/index.js'), 'utf8');
  const left = source.replace(/^exports[.](\w+) = function [\s\S]*?^\}\n/gm, (text, name) =>
    names.delete(name) ? text : '',
  );
  if (names.size > 0) throw new Error(`sodium-native has no ${[...names].join(', ')}`);
  return left;
}

/** The module of a script that refuses to run. */
function emptied(source) {
  return source.replace(
    /^const content = `[^`]*`;/m,
    'const content = `return redis.error_reply("the build leaves this script out: see tools/build.mjs")`;',
  );
}

/** A module whose use throws. */
function unused(name, property) {
  const text = JSON.stringify(`the build leaves ${name} out: see tools/build.mjs`);
  const fail = `() => { throw new Error(${text}); }`;
  return property === undefined
    ? `module.exports = ${fail};`
    : `exports.${property} = new Proxy({}, { get: ${fail} });`;
}

/** Chunks that no entry of the package needs: of the bench, the tools and the examples alone. */
function repositoryChunks(outputs) {
  const needed = new Set();
  const need = (path) => {
    if (needed.has(path) || outputs[path] === undefined) return;
    needed.add(path);
    for (const { path: imported } of outputs[path].imports) need(imported);
  };
  for (const [path, { entryPoint }] of Object.entries(outputs)) {
    if (
      entryPoint !== undefined &&
      entries.includes(entryPoint.replace(/[.]ts$/, '')) &&
      !unbundledRooms.test(entryPoint)
    ) {
      need(path);
    }
  }
  return Object.keys(outputs)
    .filter((path) => path.endsWith('.js') && basename(dirname(path)) === 'chunks' && !needed.has(path))
    .flatMap((path) => [basename(path), `${basename(path)}.map`])
    .sort();
}

/** How packages go into the bundles. */
const packages = {
  name: 'packages',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[@a-z]/ }, ({ path, importer, kind }) => {
      if (kind === 'entry-point' || path.startsWith('node:')) return undefined;
      if (path === 'bullmq' && !unbundledRooms.test(relative(root, importer))) {
        return { path: join(root, 'node_modules/bullmq/dist/esm/index.js'), sideEffects: false };
      }
      // BullMQ has an older patch of its own.
      if (path === 'semver') return { path: join(root, 'node_modules/semver/index.js') };
      // Three packages bring three patches of it.
      if (path === '@grpc/proto-loader')
        return { path: join(root, 'node_modules/@grpc/proto-loader/build/src/index.js') };
      if (withModules.test(path)) return { path: moduleOf(path), sideEffects: false };
      if (unbundled.test(path) || unbundledRooms.test(relative(root, importer))) return { path, external: true };
      return undefined;
    });
    onLoad({ filter: /[/\\]node_modules[/\\].*\.[cm]?js$/ }, async ({ path }) => {
      const [, name, file] = /.*[/\\]node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)[/\\](.*)$/.exec(path);
      const original = replaced[`${name}/${file}`] ?? readFileSync(path, 'utf8');
      const script = /^bullmq\/dist\/esm\/scripts\/(\w+)-/.exec(`${name}/${file}`)?.[1];
      const contents =
        script === undefined ? original : withoutLuaComments(unusedScripts.test(script) ? emptied(original) : original);
      const folder = JSON.stringify(`../assets/${name}/${dirname(file)}`);
      const here =
        assets[name] && contents.includes('__dirname')
          ? `const __dirname=require('node:url').fileURLToPath(new URL(${folder},__chunk));`
          : '';
      // Names within functions of CommonJS become short; those of a module's own level, and with them of classes, stay.
      const isModule = /^\s*(import|export)\b/m.test(contents);
      const code =
        isModule && !shortened.test(name) ? contents : (await transform(contents, { minifyIdentifiers: true })).code;
      return { contents: `${here}${code}\n${wholeFileMap(basename(file))}`, loader: 'js' };
    });
  },
};

/** BullMQ's scripts are texts of Lua, half of them comments and indentation. */
function withoutLuaComments(source) {
  return source.replace(/`[^`]*`/, (text) =>
    text
      .replace(/^(`?)[ \t]*--\[\[[\s\S]*?\]\][ \t]*$/gm, '$1')
      .replace(/^[ \t]*--.*$/gm, '')
      .replace(/\n\s+/g, '\n'),
  );
}

/**
 * Packages whose main file is CommonJS, and which have ES modules too: half of the size once what is not used has left them.
 */
const withModules = /^(@opentelemetry[/](?!semantic-conventions)|@peculiar[/]|(asn1js|pvtsutils|pvutils)$)/;

/** The ES module of such a package. */
function moduleOf(path) {
  const [, name, inner] = /^(@[^/]+[/][^/]+|[^/]+)[/]?(.*)$/.exec(path);
  const folder = join(root, 'node_modules', name);
  const { module, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { module: file, import: imported } = exports?.[`./${inner}`] ?? {};
  return join(folder, inner === '' ? module : (file ?? imported));
}

const publicFiles = ownFiles().filter((path) => path.endsWith('/public.ts'));

/**
 * A module's public file names what others may use (tools/check/public-files.ts). Here an import from it becomes an import
 * from the files that it names: esbuild puts all that a shared file imports into every process that uses any of it.
 */
const publicNames = {
  name: 'public names',
  setup({ onLoad }) {
    const named = new Map(publicFiles.map((path) => [join(root, path), namesOf(path)]));
    onLoad({ filter: /[.]ts$/ }, async ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const file = relative(root, path);
      const isOurs = !file.startsWith('node_modules');
      if (!isOurs || (unbundledRooms.test(file) && !source.includes("/public.ts'"))) return undefined;
      const contents = source.replace(/^import \{([^}]*)\} from '(\.[^']*\/public\.ts)';$/gm, (text, list, from) => {
        const files = named.get(join(dirname(path), from));
        const values = list.split(',').map((name) => name.trim());
        const imports = values
          .filter((name) => name !== '' && !name.startsWith('type '))
          .map((name) => `import{${name}}from'${from.replace('public.ts', files.get(name.split(' ')[0]))}';`);
        // As many lines as before, for stack traces.
        return imports.join('') + '\n'.repeat(text.split('\n').length - 1);
      });
      if (unbundledRooms.test(file)) return { contents, loader: 'ts' };
      return { contents: await withShortNames(contents, path), loader: 'js' };
    });
  },
};

/**
 * A module of ours with short names for all that it does not export: parameters, variables, private fields. Stack traces show
 * what it exports, and public methods.
 */
async function withShortNames(source, path) {
  const options = { loader: 'ts', target: 'node20.19', minifyIdentifiers: true, legalComments: 'none' };
  const { code } = await transform(source, { ...options, sourcemap: 'inline', sourcefile: basename(path) });
  return code;
}

/** The file of the folder that each name comes from. */
function namesOf(path) {
  const exported = readFileSync(join(root, path), 'utf8').matchAll(/^export \{([^}]*)\} from '\.\/([^']+)';$/gm);
  return new Map(
    [...exported].flatMap(([, list, file]) => list.split(',').map((name) => [name.replace('type ', '').trim(), file])),
  );
}

/** Puts the packed scripts of pages in the place of the module that packs them. */
function reportPages(pages) {
  const texts = Object.fromEntries(pages.map(({ entry, text }) => [entry, text]));
  return {
    name: 'report pages',
    setup({ onLoad }) {
      onLoad({ filter: /[/\\]report[/\\]html[/\\]pack\.mjs$/ }, () => ({
        contents: `const texts = ${JSON.stringify(texts)};\nexport const packPage = (entry) => ({ text: texts[entry] });`,
        loader: 'js',
      }));
    },
  };
}

/** A map that names the file of a package and no lines: full maps of all packages would be larger than our own. */
function wholeFileMap(file) {
  const map = JSON.stringify({ version: 3, sources: [file], mappings: 'AAAA' });
  return `//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`;
}

/** A line that says whose the copyright is, and since when. */
const owner = /^\W*copyright\s*(\(c\)|©|\d|\[)|^\(c\)\s*\d/i;

/**
 * The licences of the packages that the bundles contain, each text once under the packages that it belongs to. Throws for
 * a package that names no licence.
 *
 * @param {readonly string[]} inputs paths of bundled files
 */
function licenses(inputs) {
  const folders = new Set(inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean));
  const byText = new Map();
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    if (typeof license !== 'string') throw new Error(`${folder}/package.json names no licence`);
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? readFileSync(join(root, folder, file), 'utf8') : `(The package holds no text of it.)`;
    const lines = text.split('\n').map((line) => line.trim());
    const owners = lines.filter((line) => owner.test(line));
    // Of what is the same but for its owners and where its lines end, one is enough.
    const rest = lines.map((line) => (owner.test(line) ? '' : line)).join('\n');
    const key = rest
      .split(/\n{2,}/)
      .map((paragraph) => paragraph.replace(/\s+/g, ' ').trim())
      .filter((paragraph) => paragraph !== '')
      .join('\n\n');
    byText.set(key, [...(byText.get(key) ?? []), [`${name} ${version} (${license})`, ...owners].join('\n  ')]);
  }
  const parts = [...byText].map(([text, names]) => `${[...new Set(names)].join('\n')}\n\n${text}\n`);
  return `The bundles of signmesh contain these packages.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

function luaFiles() {
  return ownFiles().filter((path) => path.endsWith('.lua'));
}

function ownFiles() {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^(node_modules|dist|test)$|^\./.test(entry.name))
    .flatMap(({ name }) =>
      readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map((path) => `${name}/${path}`),
    );
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

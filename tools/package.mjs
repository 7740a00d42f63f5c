/**
 * The npm package: `node tools/package.mjs FOLDER` makes FOLDER hold what is published, and nothing else, with a package.json of
 * its own. `npm pack FOLDER` and `npm publish FOLDER` take it from there. dist/ must be built.
 *
 * Its package.json asks for what the bundles do not contain. The package-lock.json beside it is for images: `npm ci` there
 * installs what this repository has tested. npm leaves it out of the tarball.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));

/** Beside what the bundles import: its types stand in our declarations. */
const typed = ['@bufbuild/protobuf'];

/** Pages of docs/ for contributors. */
const contributorPages =
  /\/(change-guide|dependencies|performance|protocol|scale|signing-path|signing-round|two-worlds|wallet-path|wire)\.md$|\.png$/;

const { folders } = read('rooms.json');
const sources = ['docs', ...Object.keys(folders).filter((folder) => folders[folder].packaged === 'source')];
const packagedFiles =
  /^(CHANGELOG|README)\.md$|^(LICENSE|cli\/signmesh\.mjs)$|^scenarios\/?$|^scenarios\/([^/]+\.yaml|schema\.json)$|^proto\/(signmesh|svc)\/.*\.proto$/;

/** Whether the package holds a file beside dist/. */
export function isPackaged(path) {
  const isSource = sources.some((folder) => `${path}/`.startsWith(`${folder}/`));
  return (isSource || packagedFiles.test(path)) && !contributorPages.test(`/${path}`);
}

/**
 * The package.json that is published.
 *
 * @param {Record<string, any>} manifest that of the repository
 * @param {readonly string[]} unbundled packages that the bundles import
 */
export function publishedManifest(manifest, unbundled) {
  const { name, version, description, license, type, engines, bin, publishConfig, exports, optionalDependencies } =
    manifest;
  const asked = Object.entries(manifest.dependencies).filter(([one]) => [...unbundled, ...typed].includes(one));
  return {
    ...{ name, version, description, license, type, engines, bin, exports, publishConfig },
    dependencies: Object.fromEntries(asked),
    optionalDependencies,
  };
}

/** The lock file of a project with this manifest: the part of ours that it reaches. */
export function publishedLock(lock, manifest) {
  const { name, version, license, engines, bin, dependencies, optionalDependencies } = manifest;
  const packages = { '': { name, version, license, engines, bin, dependencies, optionalDependencies } };
  /** Node.js searches a package in the folder of the one that asks for it, then in those above. */
  const add = (from, wanted) => {
    const path = `${from === '' ? '' : `${from}/`}node_modules/${wanted}`;
    const entry = lock.packages[path];
    if (entry === undefined) {
      if (from !== '') add(from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), wanted);
    } else if (packages[path] === undefined) {
      packages[path] = entry;
      for (const one of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })) add(path, one);
    }
  };
  for (const one of Object.keys({ ...dependencies, ...optionalDependencies })) add('', one);
  const sorted = Object.fromEntries(Object.entries(packages).sort(([one], [two]) => (one < two ? -1 : 1)));
  return { name, version, lockfileVersion: lock.lockfileVersion, requires: true, packages: sorted };
}

/** @param {string} folder is replaced */
function makePackage(folder) {
  rmSync(folder, { recursive: true, force: true });
  const { scripts, unbundled } = read('dist/.shipped');
  const shipped = new Set(scripts);
  const built = listing('dist').filter((path) => (path.endsWith('.js') ? shipped.has(path) : !/\.map$|^\./.test(path)));
  const others = listing('.', /^(cli|docs|examples|proto|scenarios)$/).filter(isPackaged);
  for (const path of [...built.map((path) => `dist/${path}`), ...others]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(root, path), join(folder, path));
  }
  writeDeclarations(join(folder, 'dist'));
  const manifest = publishedManifest(read('package.json'), unbundled);
  const write = (path, value) => writeFileSync(join(folder, path), `${JSON.stringify(value, null, 2)}\n`);
  write('package.json', manifest);
  write('package-lock.json', publishedLock(read('package-lock.json'), manifest));
}

/** Files below a folder of the repository, relative to it; `folders`: which of its folders. */
function listing(folder, folders = /^/) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() || folders.test(entry.name))
    .flatMap((entry) =>
      entry.isDirectory() ? listing(join(folder, entry.name)).map((path) => `${entry.name}/${path}`) : [entry.name],
    );
}

/** Declarations of signmesh/client and signmesh/testing, and of what theirs refer to: an eighth of what the compiler writes. */
function writeDeclarations(dist) {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const settings = ['-p', 'tsconfig.build.json', '--declaration', '--emitDeclarationOnly', '--outDir', dist];
  const { status } = spawnSync(process.execPath, [compiler, ...settings], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('the compiler made no declarations');
  const reached = new Set();
  const waiting = ['client', 'testing'].map((name) => join(dist, 'clients', name, 'index.d.ts'));
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from|import\(|import) ?['"](\.[^'"]+)['"]/g)) {
      const imported = join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts'));
      if (!existsSync(imported)) throw new Error(`${file} imports ${path}, which has no declarations`);
      waiting.push(imported);
    }
  }
  for (const path of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    const file = join(dist, path);
    if (path.endsWith('.d.ts') && !reached.has(file)) rmSync(file);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) makePackage(resolve(process.argv[2]));

/**
 * What the bundles contain: a bill of materials in CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/), and the licences.
 * Both follow from the files that the bundler has read, and from the lock file.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {object} Bundled
 * @property {string} folder below the root of the repository: `node_modules/ws`
 * @property {string} name
 * @property {string} version
 * @property {string} license an SPDX expression
 * @property {Readonly<Record<string, string>>} dependencies
 */

/**
 * The packages that the files belong to, by folder. Throws for a package that names no licence.
 *
 * @param {string} root
 * @param {readonly string[]} inputs paths of files, below the root
 * @returns {Bundled[]}
 */
export function packagesOf(root, inputs) {
  const folders = new Set(inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean));
  return [...folders].sort().map((folder) => {
    const {
      name,
      version,
      license,
      dependencies = {},
    } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    if (typeof license !== 'string') throw new Error(`${folder}/package.json names no licence`);
    return { folder, name, version, license, dependencies };
  });
}

/**
 * The bill: each bundled package with its licence and the SHA-512 of its tarball, as the lock file has it, and below it the
 * files that are copied as they are, with their SHA-256.
 *
 * @param {string} root
 * @param {readonly Bundled[]} packages
 * @param {Readonly<Record<string, string>>} copied where each copied file lies in the build, by its path below node_modules
 */
export function billOfMaterials(root, packages, copied) {
  const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));
  const { name, version, license, description } = read('package.json');
  const lock = read('package-lock.json').packages;
  const product = `pkg:npm/${name}@${version}`;
  const byFolder = new Map(packages.map((one) => [one.folder, one]));
  const components = packages.map((one) => {
    const files = Object.entries(copied).filter(([path]) =>
      path.startsWith(`${one.folder.slice('node_modules/'.length)}/`),
    );
    const [, digest] = /^sha512-(.*)$/.exec(lock[one.folder].integrity);
    return {
      type: 'library',
      'bom-ref': reference(one),
      ...(one.name.startsWith('@') && { group: one.name.split('/')[0] }),
      name: one.name.split('/').at(-1),
      version: one.version,
      licenses: licensesOf(one.license),
      hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
      purl: reference(one),
      ...(files.length > 0 && { components: files.map(([from, to]) => fileComponent(root, from, to)) }),
    };
  });
  const dependencies = packages.map((one) => ({
    ref: reference(one),
    dependsOn: Object.keys(one.dependencies)
      .flatMap((dependency) => resolved(byFolder, one.folder, dependency) ?? [])
      .map(reference)
      .sort(),
  }));
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      lifecycles: [{ phase: 'build' }],
      component: {
        type: 'application',
        'bom-ref': product,
        name,
        version,
        description,
        licenses: licensesOf(license),
        purl: product,
      },
    },
    components,
    dependencies: [{ ref: product, dependsOn: packages.map(reference) }, ...dependencies],
  };
}

/** https://github.com/package-url/purl-spec */
function reference({ name, version }) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function licensesOf(license) {
  return /^[\w.+-]+$/.test(license) ? [{ license: { id: license } }] : [{ expression: license }];
}

function fileComponent(root, from, to) {
  const content = createHash('sha256')
    .update(readFileSync(join(root, 'node_modules', from)))
    .digest('hex');
  return { type: 'file', 'bom-ref': `file:dist/${to}`, name: `dist/${to}`, hashes: [{ alg: 'SHA-256', content }] };
}

/** The bundled package that `dependency` means in `folder`, as Node.js finds it; undefined: none of it is bundled. */
function resolved(byFolder, folder, dependency) {
  for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const found = byFolder.get(`${at === '' ? '' : `${at}/`}node_modules/${dependency}`);
    if (found !== undefined || at === '') return found;
  }
}

/** A line that says whose the copyright is, and since when. */
const owner = /^\W*copyright\s*(\(c\)|©|\d|\[)|^\(c\)\s*\d/i;

/**
 * The licences, each text once under the packages that it belongs to.
 *
 * @param {string} root
 * @param {readonly Bundled[]} packages
 */
export function licenseTexts(root, packages) {
  const byText = new Map();
  for (const { folder, name, version, license } of packages) {
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

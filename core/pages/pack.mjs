/**
 * The script of a page, packed by esbuild. The build packs each page's once and puts the texts in the place of
 * this module; what runs from the sources (tests) packs it at the first page.
 */
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * The same sources give the same bytes. `chunks`: by the names under which the script and they import each other, all in one folder;
 * none without `isModule`. `inputs`: the files that it is made of, from the root of the repository.
 *
 * @param {string} entry the module that it begins with, from the root of the repository
 * @param {boolean} isModule the page loads it as a module, and what that imports dynamically when it is needed
 */
export function packPage(entry, isModule = false) {
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    format: isModule ? 'esm' : 'iife',
    splitting: isModule,
    outdir: root,
    chunkNames: '[name]-[hash]',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const { [`${basename(entry, '.ts')}.js`]: text, ...chunks } = Object.fromEntries(
    outputFiles.map((file) => [basename(file.path), file.text]),
  );
  return {
    ...{ text, chunks },
    inputs: Object.keys(metafile.inputs),
  };
}

/**
 * The script of a page, packed by esbuild. The build packs each page's once and puts the texts in the place of
 * this module; what runs from the sources (tests) packs it at the first page.
 */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * The same sources give the same bytes. `inputs`: the files that it is made of, from the root of the repository.
 *
 * @param {string} entry the module that it begins with, from the root of the repository
 */
export function packPage(entry) {
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  return { text: outputFiles[0].text, inputs: Object.keys(metafile.inputs) };
}

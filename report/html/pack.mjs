/**
 * The script of the page, packed by esbuild from browser/main.ts. The build packs it once and puts the text in the place of
 * this module; what runs from the sources (tests) packs it at the first page.
 */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The same sources give the same bytes. `inputs`: the files that it is made of, from the root of the repository. */
export function packPage() {
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: [join('report', 'html', 'browser', 'main.ts')],
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

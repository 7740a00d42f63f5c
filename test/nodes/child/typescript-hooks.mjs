/** A module hook that strips types, so that a child process runs the sources as they are, without a build. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';

export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  const filename = fileURLToPath(url);
  const jsc = { parser: { syntax: 'typescript' }, target: 'es2022' };
  const { code } = await transform(await readFile(filename, 'utf8'), {
    filename,
    jsc,
    swcrc: false,
    configFile: false,
    module: { type: 'es6' },
  });
  return { format: 'module', source: code, shortCircuit: true };
}

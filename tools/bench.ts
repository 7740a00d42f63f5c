/**
 * `signmesh bench`. The product does not depend on its benchmarks: this finds the harness (tools/bench/) by its path, on demand; it
 * needs the development dependencies.
 */
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { builtFile } from '../cli/common/built.ts';
import { Failure } from '../cli/common/failure.ts';

/** Resolves with an exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const harness = builtFile('tools/bench/main.js');
  if (!existsSync(harness)) throw new Failure('The bench is not part of this build.');
  const { run: measure } = (await import(pathToFileURL(harness).href)) as {
    run(args: readonly string[]): Promise<number>;
  };
  return measure(args);
}

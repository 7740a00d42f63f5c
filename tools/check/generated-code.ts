/**
 * Checks that proto/gen is buf's present output for the .proto files: generates it into a new folder and compares, byte for byte,
 * in both directions.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readIfThere } from '../../cli/common/files.ts';
import { runTool } from './tool.ts';

/** The differences, or an empty text. */
export async function generatedCodeDrift(root: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'signmesh-gen-'));
  try {
    const { exitCode, output } = await runTool(root, 'buf', ['generate', '--output', folder]);
    if (exitCode !== 0) return output;
    const fresh = join(folder, 'proto', 'gen');
    const stored = join(root, 'proto', 'gen');
    const files = new Set([...filesOf(fresh), ...filesOf(stored)]);
    const stale = [...files].filter((file) => readIfThere(join(fresh, file)) !== readIfThere(join(stored, file)));
    return stale.length === 0 ? '' : `Not what "npm run generate" makes: ${stale.sort().join(', ')}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    statSync(join(folder, path)).isFile(),
  );
}

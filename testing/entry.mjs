/**
 * `signmesh/testing`, for whoever imports the package: makes sure that it is built, as the command does, and hands on what
 * the build holds. Plain JavaScript, since it runs before there is a build.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = new URL('../dist/testing/index.js', import.meta.url);
if (!existsSync(built)) {
  const command = fileURLToPath(new URL('../cli/signmesh.mjs', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [command, '--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`signmesh could not be built:\n${stderr}`);
}
export const { ApiError, CallFailed, CeremonyFailed, cluster, TestCluster } = await import(built.href);

/**
 * `signmesh init`: makes a cluster's keys and secrets, for setups that start each role alone. Repeatable.
 */
import { ensureClusterMaterial } from './cluster-files/cluster-material.ts';
import { ensureSandbox } from './cluster-files/sandbox.ts';
import { makeDirectory } from './common/files.ts';
import type { Settings } from './settings/config.ts';

/** Returns what a person should know, never a secret but the public sandbox's tokens. */
export function initialise(settings: Settings, seed: string | undefined, nodes: number | undefined): string {
  const dataDir = settings.SIGNMESH_DATA_DIR;
  makeDirectory(dataDir);
  const roster = ensureClusterMaterial(dataDir, nodes, settings.SIGNMESH_NODES, settings.SIGNMESH_ENVIRONMENT);
  const cluster = `cluster ${roster.clusterId} with ${roster.nodes.length} nodes in ${dataDir}`;
  if (settings.SIGNMESH_ENVIRONMENT !== 'sandbox') return cluster;
  const sandbox = ensureSandbox(dataDir, seed ?? settings.SIGNMESH_SEED);
  return sandbox.kind === 'public'
    ? `${cluster}\ntoken ${sandbox.token}\napprover's token ${sandbox.approverToken}`
    : `${cluster}\nthe tokens are in sandbox.json there`;
}

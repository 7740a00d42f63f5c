/**
 * `signmesh init`: makes the keys, secrets and certificates of clusters, for set-ups that start each role separately. Repeatable.
 */
import { ensureCertificates } from './cluster-files/certificates.ts';
import { ensureClusters } from './cluster-files/clusters.ts';
import { exposureWarning } from './cluster-files/exposed-files.ts';
import { ensureSandbox } from './cluster-files/sandbox.ts';
import { makeDataDirectory } from './common/files.ts';
import type { Settings } from './settings/config.ts';

/** Returns text for the person, without secrets except the public sandbox's tokens. */
export function initialise(settings: Settings, seed: string | undefined, nodes: number | undefined): string {
  const dataDir = settings.SIGNMESH_DATA_DIR;
  makeDataDirectory(dataDir);
  const exposed = exposureWarning('init', settings, []);
  if (exposed !== undefined) process.stderr.write(`signmesh: ${exposed}\n`);
  const rosters = ensureClusters(dataDir, {
    clusters: settings.SIGNMESH_CLUSTERS,
    nodes,
    nodesDefault: settings.SIGNMESH_NODES,
    threshold: settings.SIGNMESH_THRESHOLD,
    environment: settings.SIGNMESH_ENVIRONMENT,
  });
  const certificates = ensureCertificates(dataDir, rosters, new Date());
  const made =
    certificates === 0 ? '' : `\n${certificates} certificates for links, of the authority in ${dataDir}/authority`;
  const clusters = `${rosters
    .map(({ clusterId, nodes: members }) => `cluster ${clusterId} with ${members.length} nodes in ${dataDir}`)
    .join('\n')}${made}`;
  if (settings.SIGNMESH_ENVIRONMENT !== 'sandbox') return clusters;
  const sandbox = ensureSandbox(
    dataDir,
    seed ?? settings.SIGNMESH_SEED,
    rosters[0]!.nodes.map(({ id }) => id),
  );
  return sandbox.kind === 'public'
    ? `${clusters}\ntoken ${sandbox.token}\napprover's token ${sandbox.approverToken}`
    : `${clusters}\nthe tokens are in sandbox.json there`;
}

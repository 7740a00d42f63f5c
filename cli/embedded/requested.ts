/**
 * The settings that `signmesh up --embedded` was asked for: those that one process cannot fulfil are refused by name, and the
 * size of a service whose state is loaded from a file is that of the file.
 */

import { firstCluster } from '../../core/redis/clusters.ts';
import type { StoredState } from '../../simulation/embedded/state-file.ts';
import { hasCluster } from '../cluster-files/cluster-material.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import type { Settings } from '../settings/config.ts';

export interface Size {
  readonly clusters: number;
  /** Of each cluster. */
  readonly nodes: number;
  /** The default threshold of a key; undefined: 3 of 5, or of fewer nodes. */
  readonly threshold: number | undefined;
}

export interface SizeOptions {
  readonly settings: Settings;
  /** undefined: the number in the state, else the default. */
  readonly nodes: number | undefined;
}

/** Throws a Failure when the state has another size than was asked for, or no key could have its threshold. */
export function sizeOf(options: SizeOptions, stored: StoredState | undefined, stateFile: string | undefined): Size {
  const { settings } = options;
  const nodes = options.nodes ?? stored?.nodes ?? settings.SIGNMESH_NODES;
  const refused = (made: string, option: string) =>
    new Failure(`${stateFile} has ${made}: omit ${option}, or choose another file.`, exitCodes.usage);
  if (stored !== undefined && nodes !== stored.nodes) throw refused(`${stored.nodes} nodes`, '--nodes');
  const storedClusters = stored && (stored.clusters ?? firstCluster);
  const clusters = settings.SIGNMESH_CLUSTERS ?? storedClusters ?? firstCluster;
  if (storedClusters !== undefined && clusters !== storedClusters) {
    throw refused(storedClusters === 1 ? 'one cluster' : `${storedClusters} clusters`, '--clusters');
  }
  const asked = settings.SIGNMESH_THRESHOLD;
  const threshold = stored === undefined ? asked : stored.threshold;
  if (stored !== undefined && asked !== undefined && asked !== threshold) {
    throw refused(threshold === undefined ? 'no threshold of its own' : `threshold ${threshold}`, '--threshold');
  }
  if (threshold !== undefined && threshold > nodes) {
    const text = `--threshold ${threshold} is more than the ${nodes} nodes. Choose a lower one, or more --nodes.`;
    throw new Failure(text, exitCodes.usage);
  }
  return { clusters, nodes, threshold };
}

/** Throws a Failure that names the options and settings of which one process has none. */
export function checkSettings(settings: Settings): void {
  const wrong = unsupported(settings);
  if (wrong.length === 0) return;
  throw new Failure(
    `"up --embedded" is one sandbox in one process: it does not support ${wrong.join(', ')}. Omit it, or omit --embedded.`,
    exitCodes.usage,
  );
}

/**
 * The first line of a service that runs embedded because there is no redis-server. Throws a Failure, which says what to install,
 * when the embedded service cannot stand in: for an existing cluster, or for what was asked. `missing`: why there is none.
 * `refused`: an option of the call that it cannot fulfil. `state`: the file of --state.
 */
export function standInLine(
  missing: string,
  settings: Settings,
  refused: string | undefined,
  state: string | undefined,
): string {
  const { SIGNMESH_DATA_DIR: dataDir } = settings;
  const wrong = [...(refused === undefined ? [] : [refused]), ...unsupported(settings)];
  if (wrong.length > 0)
    throw new Failure(`${missing} Without it "up" runs embedded, but not with ${wrong.join(', ')}.`);
  if (hasCluster(dataDir, firstCluster)) {
    throw new Failure(`${missing} ${dataDir} holds a cluster, which needs it; "up --embedded" starts a new sandbox.`);
  }
  const kept = state === undefined ? 'is lost at the end (--state FILE keeps it)' : `is kept in ${state}`;
  return `no redis-server: embedded, state ${kept}`;
}

function unsupported(settings: Settings): readonly string[] {
  const { SIGNMESH_GATEWAYS: gateways, SIGNMESH_WORKERS: workers } = settings;
  return [
    settings.SIGNMESH_ENVIRONMENT !== 'sandbox' && 'SIGNMESH_ENVIRONMENT=production',
    gateways > 1 && '--gateways (SIGNMESH_GATEWAYS)',
    workers > 1 && '--workers (SIGNMESH_WORKERS)',
    settings.SIGNMESH_NODES_PER_PROCESS > 1 && '--nodes-per-process (SIGNMESH_NODES_PER_PROCESS)',
    settings.SIGNMESH_DOOR_FAULTS && '--door-faults (SIGNMESH_DOOR_FAULTS: it always has API faults)',
    settings.SIGNMESH_FAULTS === false && 'SIGNMESH_FAULTS=off',
    settings.SIGNMESH_MODULE_ACCESS === 'operator' && 'SIGNMESH_MODULE_ACCESS=operator',
    settings.SIGNMESH_TLS_CERT !== undefined && 'SIGNMESH_TLS_CERT',
    settings.SIGNMESH_PKCS11_MODULE !== undefined && 'SIGNMESH_PKCS11_MODULE (its tokens are simulated)',
    settings.SIGNMESH_VENDOR_URL !== undefined && 'SIGNMESH_VENDOR_URL (its vendor is simulated)',
    settings.REDIS_URL !== undefined && 'REDIS_URL',
  ].filter((name) => name !== false);
}

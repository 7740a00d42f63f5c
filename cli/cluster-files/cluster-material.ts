/**
 * Makes the files of a cluster: the roster that every process pins, one identity a process, the secrets that they share.
 *
 * Cluster 1 is in the data directory itself, cluster 2 in its folder cluster-2, and so on. Each has its own coordinator, nodes
 * and join secret; all share the gateways and their secrets.
 *
 * Made once. Every file appears whole or not at all, and the roster comes last: a data directory with a cluster.json is complete;
 * without one, the next run continues where the last stopped. After the roster exists, nothing it pins is made again; only
 * missing secrets of the gateways are added to an older directory. Secrets come from the operating system, never from the
 * sandbox's seed.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { identityFromSeed } from '../../core/crypto/identity.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import {
  type ClusterEnvironment,
  defaultSharing,
  parseEnvironment,
  parseRoster,
  type Roster,
  serializeRoster,
} from '../../proto/roster.ts';
import { errorText, exitCodes, Failure } from '../common/failure.ts';
import { makeDirectory, readIfThere, writeOnce } from '../common/files.ts';
import { carryOver, checkDataFormat, rosterFile, withDataFormat } from './data-format.ts';
import { markToSeal } from './record-sealing.ts';

/** Secrets of 32 bytes, as 64 hex digits and a newline, by their path in the cluster's folder; the gateways' in cluster 1's. */
export const secretFiles = {
  join: 'join.secret',
  coordinatorIdentity: 'coordinator/identity.key',
  coordinatorResume: 'coordinator/resume.key',
  gatewayIdentity: 'gateway/identity.key',
  gatewayToken: 'gateway/token.key',
  gatewayReceipt: 'gateway/receipt.key',
  gatewayRecord: 'gateway/record.key',
  nodeIdentity: (id: number) => `node-${id}/identity.key`,
  nodeStorage: (id: number) => `node-${id}/storage.key`,
  /** Of a sandbox with a secret seed. */
  nodeSandbox: (id: number) => `node-${id}/sandbox.key`,
} as const;

/** The keys that seal provider credentials: 1.key, 2.key, …; the highest is current. Rotation adds to them. */
export const credentialKeysDir = 'gateway/credential-keys';

/** Secrets that only gateways and workers know, so that an older data directory can get them later. */
const lateSecrets = [secretFiles.gatewayReceipt, secretFiles.gatewayRecord, `${credentialKeysDir}/1.key`];

/** The place of a cluster's files. */
export function clusterFolder(dataDir: string, cluster: number): string {
  return cluster === firstCluster ? dataDir : join(dataDir, `cluster-${cluster}`);
}

/** Work that gives way between its steps: on a busy disk the files of 100 nodes take many seconds. */
export type Steps<T> = Generator<void, T, void>;

export interface ClusterShape {
  /** 1 by default. The clusters before it exist. */
  readonly cluster?: number;
  /** The default threshold of a key over all nodes; undefined: 3 of 5. */
  readonly threshold?: number | undefined;
}

/** The result of a work in steps, without a pause between them. */
export function atOnce<T>(work: Steps<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** As `clusterMaterial`, at once. */
export function ensureClusterMaterial(...args: Parameters<typeof clusterMaterial>): Roster {
  return atOnce(clusterMaterial(...args));
}

/**
 * Makes the missing files of one cluster. `nodes` undefined: the existing number, else `nodesDefault`. Throws a Failure when the
 * directory holds a cluster of another size or another environment.
 */
export function* clusterMaterial(
  dataDir: string,
  nodes: number | undefined,
  nodesDefault: number,
  environment: ClusterEnvironment,
  { cluster = firstCluster, threshold }: ClusterShape = {},
): Steps<Roster> {
  const folder = clusterFolder(dataDir, cluster);
  makeDirectory(folder);
  const exists = readIfThere(join(folder, rosterFile)) !== undefined;
  if (!exists) yield* make(dataDir, cluster, nodes ?? nodesDefault, environment, threshold);
  else carryOver(folder);
  const roster = readRoster(dataDir, environment, cluster);
  if (nodes !== undefined && nodes !== roster.nodes.length) {
    throw new Failure(
      `${folder} holds a cluster of ${roster.nodes.length} nodes, not ${nodes}. ` +
        'Leave --nodes out to keep it, or choose another --data-dir.',
    );
  }
  if (threshold !== undefined && threshold !== roster.sharing?.threshold) {
    const made = roster.sharing === undefined ? 'no threshold of its own' : `threshold ${roster.sharing.threshold}`;
    throw new Failure(
      `${folder} holds a cluster with ${made}, not ${threshold}. ` +
        'Leave --threshold out to keep it, or choose another --data-dir.',
    );
  }
  if (cluster === firstCluster) makeLateSecrets(dataDir);
  yield* verify(dataDir, cluster, roster);
  return roster;
}

/** The clusters of a data directory, by number. Errors as of `readRoster`. */
export function readRosters(dataDir: string, environment: ClusterEnvironment | undefined): readonly Roster[] {
  const rosters = [readRoster(dataDir, environment)];
  while (hasCluster(dataDir, rosters.length + 1)) rosters.push(readRoster(dataDir, environment, rosters.length + 1));
  return rosters;
}

export function hasCluster(dataDir: string, cluster: number): boolean {
  return readIfThere(join(clusterFolder(dataDir, cluster), rosterFile)) !== undefined;
}

/**
 * The roster of a data directory. Throws a Failure when there is none, when another version wrote it, and when the directory was
 * set up for another environment than the process's: a role that took a production cluster for a sandbox would open what
 * production closes. `environment` undefined: the caller serves neither.
 */
export function readRoster(
  dataDir: string,
  environment: ClusterEnvironment | undefined,
  cluster: number = firstCluster,
): Roster {
  const folder = clusterFolder(dataDir, cluster);
  checkDataFormat(folder);
  const text = readIfThere(join(folder, rosterFile));
  if (text === undefined) {
    throw new Failure(`There is no cluster in ${folder}. Make one with "signmesh init", or set SIGNMESH_DATA_DIR.`);
  }
  let setUpFor: ClusterEnvironment;
  let roster: Roster;
  try {
    roster = parseRoster(text);
    setUpFor = parseEnvironment(text);
  } catch (error) {
    throw new Failure(`${join(folder, rosterFile)}: ${errorText(error)}`);
  }
  if ((roster.number ?? firstCluster) !== cluster) {
    throw new Failure(
      `${join(folder, rosterFile)} belongs to cluster ${roster.number ?? firstCluster}, not to cluster ${cluster}.`,
    );
  }
  if (environment === undefined || environment === setUpFor) return roster;
  throw new Failure(
    `${folder} holds a ${setUpFor} cluster, and SIGNMESH_ENVIRONMENT says ${environment}. ` +
      `Set SIGNMESH_ENVIRONMENT=${setUpFor}, or choose another SIGNMESH_DATA_DIR.`,
    exitCodes.usage,
  );
}

/** 32 bytes. The caller owns them. */
export function readSecret(dataDir: string, file: string): Uint8Array {
  const text = readIfThere(join(dataDir, file));
  if (text === undefined)
    throw new Failure(
      `${join(dataDir, file)} is missing: the cluster is incomplete. "signmesh init" adds secrets that an older version did not make.`,
    );
  return parseSecret(join(dataDir, file), text);
}

/** A secret of 32 bytes from a file elsewhere. The caller owns them. */
export function readSecretFile(path: string): Uint8Array {
  const text = readIfThere(path);
  if (text === undefined) throw new Failure(`${path} is missing.`);
  return parseSecret(path, text);
}

function* make(
  dataDir: string,
  cluster: number,
  nodes: number,
  environment: ClusterEnvironment,
  threshold: number | undefined,
): Steps<void> {
  const isFirst = cluster === firstCluster;
  const folder = clusterFolder(dataDir, cluster);
  const ids = Array.from({ length: nodes }, (_, index) => index + 1);
  for (const part of ['coordinator', ...(isFirst ? ['gateway'] : []), ...ids.map((id) => `node-${id}`)])
    makeDirectory(join(folder, part));
  const secret = (file: string) => ensureSecret(folder, file);
  for (const file of [secretFiles.join, secretFiles.coordinatorResume]) secret(file);
  if (isFirst) for (const file of [secretFiles.gatewayToken, secretFiles.gatewayRecord]) secret(file);
  for (const id of ids) {
    for (const file of [secretFiles.nodeStorage(id), secretFiles.nodeIdentity(id)]) secret(file);
    yield;
  }
  const sharing = threshold === undefined ? defaultSharing(nodes) : { threshold, totalNodes: nodes };
  if (sharing.threshold > nodes) {
    throw new Failure(
      `--threshold ${threshold} is more than the ${nodes} nodes of a cluster. Choose a lower one, or more --nodes.`,
      exitCodes.usage,
    );
  }
  const roster: Roster = {
    clusterId: `cl_${randomBytes(12).toString('hex')}`,
    number: cluster,
    ...(!isFirst && { installation: readRoster(dataDir, environment).clusterId }),
    sharing,
    nodes: ids.map((id) => ({ id, publicKey: identityFromSeed(secret(secretFiles.nodeIdentity(id))).publicKey })),
    coordinator: identityFromSeed(secret(secretFiles.coordinatorIdentity)).publicKey,
    gateway: identityFromSeed(ensureSecret(dataDir, secretFiles.gatewayIdentity)).publicKey,
  };
  // Another process may have been faster: the roster on disk counts.
  writeOnce(join(folder, rosterFile), withDataFormat(serializeRoster(roster, environment)));
}

function makeLateSecrets(dataDir: string): void {
  // Before the key: without it, what an earlier version stored would be refused for ever.
  if (readIfThere(join(dataDir, secretFiles.gatewayRecord)) === undefined) markToSeal(dataDir);
  const folder = join(dataDir, credentialKeysDir);
  makeDirectory(folder);
  for (const file of lateSecrets) {
    // A rotation may have retired the first credential key: it must not come back as another one.
    if (file.startsWith(credentialKeysDir) && readdirSync(folder).some((name) => name.endsWith('.key'))) continue;
    ensureSecret(dataDir, file);
  }
}

export function ensureSecret(dataDir: string, file: string): Uint8Array {
  const path = join(dataDir, file);
  return parseSecret(path, readIfThere(path) ?? writeOnce(path, `${randomBytes(32).toString('hex')}\n`));
}

/** Refuses to start a cluster whose files do not belong together. */
function* verify(dataDir: string, cluster: number, roster: Roster): Steps<void> {
  const own = clusterFolder(dataDir, cluster);
  const identity = (file: string, expected: Uint8Array, folder = own) => {
    if (Buffer.compare(identityFromSeed(readSecret(folder, file)).publicKey, expected) !== 0) {
      throw new Failure(`${join(folder, file)} is not the identity that ${rosterFile} names.`);
    }
  };
  identity(secretFiles.coordinatorIdentity, roster.coordinator);
  identity(secretFiles.gatewayIdentity, roster.gateway, dataDir);
  for (const node of roster.nodes) {
    identity(secretFiles.nodeIdentity(node.id), node.publicKey);
    yield;
  }
  const { join: joinSecret, coordinatorResume, gatewayToken, gatewayReceipt, gatewayRecord } = secretFiles;
  for (const file of [joinSecret, coordinatorResume]) readSecret(own, file);
  for (const file of [gatewayToken, gatewayReceipt, gatewayRecord]) readSecret(dataDir, file);
}

function parseSecret(path: string, text: string): Uint8Array {
  if (!/^[0-9a-f]{64}\n?$/.test(text)) throw new Failure(`${path} is damaged: it must hold 64 hex digits.`);
  return Buffer.from(text.trim(), 'hex');
}

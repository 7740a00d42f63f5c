/**
 * What makes a cluster: the roster that every process pins, one identity a process, the secrets they share.
 *
 * Made once. Every file appears whole or not at all, and the roster comes last: a data directory with a cluster.json
 * is complete, one without is continued where its making stopped. Nothing is ever made anew once the roster stands,
 * for it pins the identities; secrets that only gateways know are added to a directory that is older than they are.
 * Secrets come from the operating system, never from the sandbox's seed.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { identityFromSeed } from '../../crypto/identity.ts';
import {
  type ClusterEnvironment,
  parseEnvironment,
  parseRoster,
  type Roster,
  serializeRoster,
} from '../../proto/roster.ts';
import { errorText, exitCodes, Failure } from '../common/failure.ts';
import { makeDirectory, readIfThere, writeOnce } from '../common/files.ts';
import { checkDataFormat, rosterFile, withDataFormat } from './data-format.ts';

/** Secrets of 32 bytes, as 64 hex digits and a newline, by their path in the data directory. */
export const secretFiles = {
  join: 'join.secret',
  coordinatorIdentity: 'coordinator/identity.key',
  coordinatorResume: 'coordinator/resume.key',
  gatewayIdentity: 'gateway/identity.key',
  gatewayToken: 'gateway/token.key',
  gatewayReceipt: 'gateway/receipt.key',
  nodeIdentity: (id: number) => `node-${id}/identity.key`,
  nodeStorage: (id: number) => `node-${id}/storage.key`,
} as const;

/** The keys that seal provider credentials: 1.key, 2.key, …; the highest is current. Rotation adds to them. */
export const credentialKeysDir = 'gateway/credential-keys';

/** Secrets that no other process knows, so that a data directory made before they were can get them later. */
const lateSecrets = [secretFiles.gatewayReceipt, `${credentialKeysDir}/1.key`];

/**
 * Makes what is missing. `nodes` undefined: what is there, else `nodesDefault`. Throws a Failure when the directory holds a
 * cluster of another size or another environment.
 */
export function ensureClusterMaterial(
  dataDir: string,
  nodes: number | undefined,
  nodesDefault: number,
  environment: ClusterEnvironment,
): Roster {
  makeDirectory(dataDir);
  const exists = readIfThere(join(dataDir, rosterFile)) !== undefined;
  if (!exists) make(dataDir, nodes ?? nodesDefault, environment);
  const roster = readRoster(dataDir, environment);
  if (nodes !== undefined && nodes !== roster.nodes.length) {
    throw new Failure(
      `${dataDir} holds a cluster of ${roster.nodes.length} nodes, not ${nodes}. ` +
        'Leave --nodes out to keep it, or choose another --data-dir.',
    );
  }
  makeLateSecrets(dataDir);
  verify(dataDir, roster);
  return roster;
}

/**
 * The roster of a data directory. Throws a Failure when there is none, when it is another version's, and when the directory was set up for another
 * environment than the process runs in: a role that took a production cluster for a sandbox would open what production
 * closes. `environment` undefined: the caller serves neither.
 */
export function readRoster(dataDir: string, environment: ClusterEnvironment | undefined): Roster {
  checkDataFormat(dataDir);
  const text = readIfThere(join(dataDir, rosterFile));
  if (text === undefined) {
    throw new Failure(`There is no cluster in ${dataDir}. Make one with "signmesh init", or set SIGNMESH_DATA_DIR.`);
  }
  let setUpFor: ClusterEnvironment;
  let roster: Roster;
  try {
    roster = parseRoster(text);
    setUpFor = parseEnvironment(text);
  } catch (error) {
    throw new Failure(`${join(dataDir, rosterFile)}: ${errorText(error)}`);
  }
  if (environment === undefined || environment === setUpFor) return roster;
  throw new Failure(
    `${dataDir} holds a ${setUpFor} cluster, and SIGNMESH_ENVIRONMENT says ${environment}. ` +
      `Set SIGNMESH_ENVIRONMENT=${setUpFor}, or choose another SIGNMESH_DATA_DIR.`,
    exitCodes.usage,
  );
}

/** 32 bytes. The caller owns them. */
export function readSecret(dataDir: string, file: string): Uint8Array {
  const text = readIfThere(join(dataDir, file));
  if (text === undefined)
    throw new Failure(
      `${join(dataDir, file)} is missing; this cluster is incomplete. "signmesh init" adds the secrets that it is too old to have.`,
    );
  return parseSecret(join(dataDir, file), text);
}

/** A secret of 32 bytes from a file that lies elsewhere. The caller owns them. */
export function readSecretFile(path: string): Uint8Array {
  const text = readIfThere(path);
  if (text === undefined) throw new Failure(`${path} is missing.`);
  return parseSecret(path, text);
}

function make(dataDir: string, nodes: number, environment: ClusterEnvironment): void {
  const ids = Array.from({ length: nodes }, (_, index) => index + 1);
  for (const folder of ['coordinator', 'gateway', ...ids.map((id) => `node-${id}`)])
    makeDirectory(join(dataDir, folder));
  const secret = (file: string) => ensureSecret(dataDir, file);
  for (const file of [secretFiles.join, secretFiles.coordinatorResume, secretFiles.gatewayToken]) secret(file);
  for (const id of ids) secret(secretFiles.nodeStorage(id));
  const roster: Roster = {
    clusterId: `cl_${randomBytes(12).toString('hex')}`,
    nodes: ids.map((id) => ({ id, publicKey: identityFromSeed(secret(secretFiles.nodeIdentity(id))).publicKey })),
    coordinator: identityFromSeed(secret(secretFiles.coordinatorIdentity)).publicKey,
    gateway: identityFromSeed(secret(secretFiles.gatewayIdentity)).publicKey,
  };
  // Another process may have been quicker: what stands on the disk is the roster.
  writeOnce(join(dataDir, rosterFile), withDataFormat(serializeRoster(roster, environment)));
}

function makeLateSecrets(dataDir: string): void {
  const folder = join(dataDir, credentialKeysDir);
  makeDirectory(folder);
  for (const file of lateSecrets) {
    // The first credential key may have been retired after a rotation: it must not come back as another one.
    if (file.startsWith(credentialKeysDir) && readdirSync(folder).some((name) => name.endsWith('.key'))) continue;
    ensureSecret(dataDir, file);
  }
}

function ensureSecret(dataDir: string, file: string): Uint8Array {
  const path = join(dataDir, file);
  return parseSecret(path, readIfThere(path) ?? writeOnce(path, `${randomBytes(32).toString('hex')}\n`));
}

/** Refuses to start a cluster whose files do not belong together. */
function verify(dataDir: string, roster: Roster): void {
  const identity = (file: string, expected: Uint8Array) => {
    if (Buffer.compare(identityFromSeed(readSecret(dataDir, file)).publicKey, expected) !== 0) {
      throw new Failure(`${join(dataDir, file)} is not the identity that ${rosterFile} names.`);
    }
  };
  identity(secretFiles.coordinatorIdentity, roster.coordinator);
  identity(secretFiles.gatewayIdentity, roster.gateway);
  for (const node of roster.nodes) {
    identity(secretFiles.nodeIdentity(node.id), node.publicKey);
  }
  const { join: joinSecret, coordinatorResume, gatewayToken, gatewayReceipt } = secretFiles;
  for (const file of [joinSecret, coordinatorResume, gatewayToken, gatewayReceipt]) readSecret(dataDir, file);
}

function parseSecret(path: string, text: string): Uint8Array {
  if (!/^[0-9a-f]{64}\n?$/.test(text)) throw new Failure(`${path} is damaged: it must hold 64 hex digits.`);
  return Buffer.from(text.trim(), 'hex');
}

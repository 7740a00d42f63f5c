/**
 * The configuration of each role process: settings from the environment, secrets from the data directory. A role reads only its
 * own secrets, so that each can run without the others' files.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CoordinatorConfig } from '../coordinator/contract/config.ts';
import type { LinkTls } from '../core/actors/live/link-tls.ts';
import { firstCluster } from '../core/redis/clusters.ts';
import type { GatewayConfig, WorkerConfig } from '../gateway/config.ts';
import type { ApiServerTls } from '../gateway/http/server-tls.ts';
import type { NodeConfig } from '../nodes/config.ts';
import type { HsmConfig } from '../nodes/hsm/protocol.ts';
import type { VendorConfig } from '../nodes/vendor/http-vendor.ts';
import type { LinkRole } from '../proto/link-names.ts';
import type { Roster } from '../proto/roster.ts';
import type { SandboxControl } from '../scenarios/faults/control.ts';
import { readApiServerTls, readLinkTls } from './cluster-files/certificate-checks.ts';
import {
  clusterFolder,
  credentialKeysDir,
  readRoster,
  readRosters,
  readSecret,
  readSecretFile,
  secretFiles,
} from './cluster-files/cluster-material.ts';
import { readNodeSeed, readSandbox, sandboxSchemes, sandboxSessions, sandboxTenant } from './cluster-files/sandbox.ts';
import { builtFile } from './common/built.ts';
import { exitCodes, Failure } from './common/failure.ts';
import { readIfThere } from './common/files.ts';
import { clientDealersAllowed, rateLimitsOf, required, type Settings } from './settings/config.ts';
import { coordinatorTakesTls, linksUseTls } from './settings/links.ts';

export function coordinatorConfig(settings: Settings): CoordinatorConfig {
  const { SIGNMESH_DATA_DIR: dataDir, SIGNMESH_CLUSTER: cluster } = settings;
  const redisUrl = required(settings, 'REDIS_URL');
  const folder = clusterFolder(dataDir, cluster);
  const roster = readRoster(dataDir, settings.SIGNMESH_ENVIRONMENT, cluster);
  return {
    roster,
    identitySeed: readSecret(folder, secretFiles.coordinatorIdentity),
    joinSecret: readSecret(folder, secretFiles.join),
    resumeKey: readSecret(folder, secretFiles.coordinatorResume),
    listenHost: settings.SIGNMESH_COORDINATOR_HOST,
    listenPort: settings.SIGNMESH_COORDINATOR_PORT,
    linkTls: coordinatorTakesTls(settings) ? linkTlsOf(settings, roster, 'coordinator') : undefined,
    announcedUrl: settings.SIGNMESH_COORDINATOR_URL?.[0],
    redisUrl,
    tenantBytesMax: settings.SIGNMESH_TENANT_BYTES,
    redisReplicas: settings.SIGNMESH_REDIS_WAIT_REPLICAS,
    lifetimes: {
      signingMs: settings.SIGNMESH_SIGNING_LIFETIME_MS,
      pendingMs: settings.SIGNMESH_PENDING_LIFETIME_MS,
      dkgMs: settings.SIGNMESH_DKG_LIFETIME_MS,
    },
    nodesWaitMs: settings.SIGNMESH_NODES_WAIT_MS,
    partialTimeoutMs: settings.SIGNMESH_PARTIAL_TIMEOUT_MS,
    sandbox: settings.SIGNMESH_ENVIRONMENT === 'sandbox',
    readyMade:
      settings.SIGNMESH_ENVIRONMENT === 'sandbox' && cluster === firstCluster
        ? { tenant: sandboxTenant, sessions: Object.values(sandboxSessions) }
        : undefined,
    logLevel: settings.SIGNMESH_LOG_LEVEL,
  };
}

/** `reservedPorts`: of other listeners. */
export function nodeConfig(settings: Settings, nodeId: number, reservedPorts?: ReadonlySet<number>): NodeConfig {
  const { SIGNMESH_DATA_DIR: dataDir, SIGNMESH_CLUSTER: cluster } = settings;
  const coordinatorUrl = required(settings, 'SIGNMESH_COORDINATOR_URL')[0]!;
  const roster = readRoster(dataDir, settings.SIGNMESH_ENVIRONMENT, cluster);
  const folder = clusterFolder(dataDir, cluster);
  if (!roster.nodes.some(({ id }) => id === nodeId)) {
    throw new Failure(
      `There is no node ${nodeId}: this cluster has nodes 1 to ${roster.nodes.length}.`,
      exitCodes.usage,
    );
  }
  // The ready-made keys are those of the first cluster.
  const isSandbox = settings.SIGNMESH_ENVIRONMENT === 'sandbox' && cluster === firstCluster;
  const seed = isSandbox ? readNodeSeed(dataDir, nodeId) : undefined;
  return {
    nodeId,
    roster,
    identitySeed: readSecret(folder, secretFiles.nodeIdentity(nodeId)),
    joinSecret: readSecret(folder, secretFiles.join),
    coordinatorUrl,
    linkTls: linksUseTls(settings, [coordinatorUrl]) ? linkTlsOf(settings, roster, 'node', nodeId) : undefined,
    storeDir: join(folder, `node-${nodeId}`, 'store'),
    storageKey: storageKeyOf(settings, nodeId),
    allowClientDealers: clientDealersAllowed(settings, false),
    sandbox: seed && { seed, tenant: sandboxTenant, sessions: Object.values(sandboxSessions) },
    hsm: hsmConfig(settings),
    vendor: vendorConfig(settings, reservedPorts),
    logLevel: settings.SIGNMESH_LOG_LEVEL,
  };
}

function linkTlsOf(settings: Settings, roster: Roster, role: LinkRole, nodeId?: number): LinkTls {
  const { SIGNMESH_DATA_DIR: dataDir, SIGNMESH_CLUSTER: cluster } = settings;
  const part = nodeId === undefined ? role : `node-${nodeId}`;
  const folder = join(role === 'gateway' ? dataDir : clusterFolder(dataDir, cluster), part);
  return readLinkTls({ dataDir, folder, roster, role, nodeId, nowMs: Date.now() });
}

/** undefined: the API servers use no TLS. */
export function apiServerTlsOf(settings: Settings): ApiServerTls | undefined {
  const { SIGNMESH_TLS_CERT: cert, SIGNMESH_TLS_KEY: key, SIGNMESH_TLS_CLIENT_CA: clientCa } = settings;
  return readApiServerTls({ cert, key, clientCa, nowMs: Date.now() });
}

/** undefined: no module is configured. */
function hsmConfig(settings: Settings): HsmConfig | undefined {
  const module = settings.SIGNMESH_PKCS11_MODULE;
  if (module === undefined) return undefined;
  return {
    module,
    token: settings.SIGNMESH_PKCS11_TOKEN,
    pin: readPin(required(settings, 'SIGNMESH_PKCS11_PIN_FILE')),
    program: builtFile('nodes/hsm/child.js'),
    timeoutMs: settings.SIGNMESH_PKCS11_TIMEOUT_MS,
  };
}

/** undefined: no vendor is configured. */
function vendorConfig(settings: Settings, reservedPorts?: ReadonlySet<number>): VendorConfig | undefined {
  const url = settings.SIGNMESH_VENDOR_URL;
  if (url === undefined) return undefined;
  return {
    url,
    secret: readSecretFile(required(settings, 'SIGNMESH_VENDOR_SECRET_FILE')),
    timeoutMs: settings.SIGNMESH_VENDOR_TIMEOUT_MS,
    callbackHost: settings.SIGNMESH_VENDOR_CALLBACK_HOST,
    callbackPort: settings.SIGNMESH_VENDOR_CALLBACK_PORT,
    ...(reservedPorts && { reservedPorts }),
    callbackUrl: settings.SIGNMESH_VENDOR_CALLBACK_URL,
  };
}

/** Secret. An empty file is refused here: the token would count it as a wrong PIN. */
function readPin(path: string): string {
  const pin = readIfThere(path)?.trim();
  if (pin === undefined) throw new Failure(`SIGNMESH_PKCS11_PIN_FILE: ${path} is missing.`);
  if (pin === '') throw new Failure(`SIGNMESH_PKCS11_PIN_FILE: ${path} is empty.`);
  return pin;
}

/** From the variable, from the file in a variable, or from beside the store. */
function storageKeyOf(settings: Settings, nodeId: number): Uint8Array {
  const { SIGNMESH_STORAGE_KEY: key, SIGNMESH_STORAGE_KEY_FILE: file, SIGNMESH_DATA_DIR: dataDir } = settings;
  const folder = clusterFolder(dataDir, settings.SIGNMESH_CLUSTER);
  if (key !== undefined && file !== undefined) {
    throw new Failure('SIGNMESH_STORAGE_KEY and SIGNMESH_STORAGE_KEY_FILE are both set: unset one.', exitCodes.usage);
  }
  if (key !== undefined) return Buffer.from(key, 'hex');
  return file === undefined ? readSecret(folder, secretFiles.nodeStorage(nodeId)) : readSecretFile(file);
}

/** `sandboxControl`: the port of the process supervisor, for a sandbox. */
export function gatewayConfig(settings: Settings, sandboxControl?: SandboxControl): GatewayConfig {
  const dataDir = settings.SIGNMESH_DATA_DIR;
  const redisUrl = required(settings, 'REDIS_URL');
  const [coordinatorUrl, ...furtherUrls] = required(settings, 'SIGNMESH_COORDINATOR_URL') as [string, ...string[]];
  const environment = settings.SIGNMESH_ENVIRONMENT;
  const sandbox = environment === 'sandbox' ? readSandbox(dataDir) : undefined;
  const [roster, ...further] = readRosters(dataDir, environment) as [Roster, ...Roster[]];
  // The registry may name coordinators on other hosts.
  const mayFind = further.length > furtherUrls.length && existsSync(join(dataDir, 'gateway', 'tls.crt'));
  const needsLinkTls = linksUseTls(settings, [coordinatorUrl, ...furtherUrls]) || mayFind;
  return {
    environment,
    httpHost: settings.SIGNMESH_HTTP_HOST,
    httpPort: settings.SIGNMESH_HTTP_PORT,
    grpcHost: settings.SIGNMESH_GRPC_HOST,
    grpcPort: settings.SIGNMESH_GRPC_PORT,
    apiServerTls: apiServerTlsOf(settings),
    coordinatorUrl,
    linkTls: needsLinkTls ? linkTlsOf(settings, roster, 'gateway') : undefined,
    plainLinks: settings.SIGNMESH_LINK_TLS === false,
    redisUrl,
    redisReplicas: settings.SIGNMESH_REDIS_WAIT_REPLICAS,
    roster,
    furtherClusters: further.map((each, index) => ({
      roster: each,
      coordinatorUrl: furtherUrls[index],
      joinSecret: readSecret(clusterFolder(dataDir, index + 2), secretFiles.join),
    })),
    identitySeed: readSecret(dataDir, secretFiles.gatewayIdentity),
    joinSecret: readSecret(dataDir, secretFiles.join),
    tokenKey: readSecret(dataDir, secretFiles.gatewayToken),
    receiptSeed: readSecret(dataDir, secretFiles.gatewayReceipt),
    recordKey: readSecret(dataDir, secretFiles.gatewayRecord),
    credentialKeysDir: join(dataDir, credentialKeysDir),
    chainBlockMs: settings.SIGNMESH_CHAIN_BLOCK_MS,
    providerTimeoutMs: settings.SIGNMESH_PROVIDER_TIMEOUT_MS,
    rateLimit: rateLimitsOf(settings) ?? false,
    connectionsMax: settings.SIGNMESH_CONNECTIONS,
    ...(settings.SIGNMESH_CORS_ORIGINS !== undefined && { corsOrigins: settings.SIGNMESH_CORS_ORIGINS }),
    ...(settings.SIGNMESH_ALLOWED_HOSTS !== undefined && { allowedHosts: settings.SIGNMESH_ALLOWED_HOSTS }),
    tenantBytesMax: settings.SIGNMESH_TENANT_BYTES,
    load: { inHandMax: settings.SIGNMESH_LOAD_CALLS, waitMs: settings.SIGNMESH_LOAD_WAIT_MS },
    acceptAnyTestToken: environment === 'sandbox' && settings.SIGNMESH_ACCEPT_ANY_TEST_TOKEN,
    modulesByOperator: settings.SIGNMESH_MODULE_ACCESS === 'operator',
    ...(sandbox && {
      bannerToken: { token: sandbox.token, tenant: sandboxTenant },
      approverToken: sandbox.approverToken,
      readyMadeKeys: { tenant: sandboxTenant, schemes: sandboxSchemes },
      ...(sandbox.kind === 'public' && { publicToken: sandbox.token }),
    }),
    ...(sandboxControl && { sandboxControl }),
    accessLog: settings.SIGNMESH_ACCESS_LOG,
    logLevel: settings.SIGNMESH_LOG_LEVEL,
  };
}

export function workerConfig(settings: Settings): WorkerConfig {
  const environment = settings.SIGNMESH_ENVIRONMENT;
  const redisUrl = required(settings, 'REDIS_URL');
  readRoster(settings.SIGNMESH_DATA_DIR, environment);
  const retryScheduleMs = settings.SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS;
  if (retryScheduleMs !== undefined && environment !== 'sandbox') {
    throw new Failure('SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS works only in a sandbox: unset it.', exitCodes.usage);
  }
  return {
    environment,
    redisUrl,
    redisReplicas: settings.SIGNMESH_REDIS_WAIT_REPLICAS,
    credentialKeysDir: join(settings.SIGNMESH_DATA_DIR, credentialKeysDir),
    recordKey: readSecret(settings.SIGNMESH_DATA_DIR, secretFiles.gatewayRecord),
    chainBlockMs: settings.SIGNMESH_CHAIN_BLOCK_MS,
    ...(retryScheduleMs !== undefined && { retryScheduleMs }),
    logLevel: settings.SIGNMESH_LOG_LEVEL,
  };
}

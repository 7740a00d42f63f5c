/**
 * Every environment variable that signmesh reads, in one table: docs/configuration.md is made from it, a test compares
 * docker-compose.yml with it, and the start of every command checks the whole environment against it.
 *
 * An empty value counts as unset, as compose files pass unset variables on as empty ones.
 */
import {
  clustersMax,
  defaultTotalNodes,
  dkgLifetimeMs,
  nodesMax,
  nodesWaitMs,
  pendingLifetimeMs,
  signingLifetimeMs,
} from '../../proto/limits.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import {
  choice,
  hexKey,
  host,
  integer,
  integers,
  type Kind,
  onOff,
  origins,
  path,
  port,
  portOrFree,
  redis,
  text,
  url,
  urls,
} from './config-kinds.ts';

export const roles = ['up', 'init', 'coordinator', 'node', 'gateway', 'worker'] as const;
export type Role = (typeof roles)[number];

export interface Variable<T> {
  readonly kind: Kind<T>;
  /** undefined: unset means absent. */
  readonly fallback: T | undefined;
  /** Who reads it. */
  readonly roles: readonly Role[];
  /** Its value is never shown. */
  readonly secret: boolean;
  readonly description: string;
}

function variable<T>(kind: Kind<T>, fallback: T, forRoles: readonly Role[], description: string): Variable<T> {
  return { kind, fallback, roles: forRoles, secret: false, description };
}

/** A variable without a default. */
function optional<T>(
  kind: Kind<T>,
  forRoles: readonly Role[],
  description: string,
  secret = false,
): Variable<T | undefined> {
  return { kind: kind as Kind<T | undefined>, fallback: undefined, roles: forRoles, secret, description };
}

const everyone = roles;
const dayMs = 24 * 3_600_000;
const duration = (maxMs: number) => integer(1, maxMs, 'milliseconds');

export const variables = {
  SIGNMESH_HTTP_HOST: variable(
    host(),
    '127.0.0.1',
    ['up', 'gateway'],
    'Address the REST API listens on. Anything but loopback opens a sandbox to the network: any well-formed test token is accepted there.',
  ),
  SIGNMESH_HTTP_PORT: variable(port(), 8080, ['up', 'gateway'], 'Port of the REST API.'),
  SIGNMESH_GRPC_HOST: variable(host(), '127.0.0.1', ['up', 'gateway'], 'Address the gRPC API listens on.'),
  SIGNMESH_GRPC_PORT: variable(port(), 50051, ['up', 'gateway'], 'Port of the gRPC API.'),
  SIGNMESH_DATA_DIR: variable(
    path(),
    '.signmesh',
    everyone,
    'Where the cluster keeps its keys, stores, logs and private Redis. Relative to the current directory.',
  ),
  REDIS_URL: optional(
    redis(),
    ['up', 'coordinator', 'gateway', 'worker'],
    'The Redis (7 or newer) that holds the state, or a Redis Cluster: some of its nodes (docs/redis-cluster.md). Unset: `signmesh up` starts a private one; the role processes need it.',
    true,
  ),
  SIGNMESH_REDIS_WAIT_REPLICAS: variable(
    integer(0, 10),
    0,
    ['up', 'coordinator', 'gateway', 'worker'],
    'Replicas that must have a write before it is acknowledged. With 0 a failover of Redis may lose the last acknowledged writes; with more, writes are refused while a master has fewer replicas that follow it.',
  ),
  SIGNMESH_REDIS_SERVER: optional(path(), ['up'], 'The redis-server to start, when it is not on the PATH.'),
  SIGNMESH_REDIS_FSYNC: variable(
    choice('no', 'always'),
    'no',
    ['up'],
    'Whether the private Redis waits for the disk with every write. `no` survives the death of any process, of Redis too; `always` also a loss of power, at about half the write speed. (Redis’s own `everysec` is not offered: it may lose acknowledged writes when Redis is killed.)',
  ),
  SIGNMESH_NODES: variable(
    integer(2, nodesMax),
    defaultTotalNodes,
    ['up', 'init'],
    'Signer nodes of a new cluster. An existing cluster keeps its number.',
  ),
  SIGNMESH_CLUSTERS: optional(
    integer(1, clustersMax),
    ['up', 'init'],
    'Clusters: coordinators with nodes of their own. Unset: those that the data directory has, or one. More than it has: they are added.',
  ),
  SIGNMESH_THRESHOLD: optional(
    integer(2, nodesMax),
    ['up', 'init'],
    'Nodes that sign with a key that asks for no number, of all nodes of a new cluster. Unset: 3 of 5, or of fewer.',
  ),
  SIGNMESH_GATEWAYS: variable(
    integer(1, 16),
    1,
    ['up'],
    'Gateways that `signmesh up` starts. The second one listens on the ports that follow those of the first, and so on.',
  ),
  SIGNMESH_NODES_PER_PROCESS: variable(
    integer(1, nodesMax),
    1,
    ['up'],
    'Nodes of a cluster that share a process. They crash, pause and change their clock together (docs/clusters.md).',
  ),
  SIGNMESH_CLUSTER: variable(
    integer(1, clustersMax),
    1,
    ['coordinator', 'node'],
    'The number of the cluster that this coordinator or node belongs to, where several share a Redis. Its files lie in `cluster-N/` of the data directory, those of cluster 1 in the data directory itself.',
  ),
  SIGNMESH_SEED: optional(
    text(1024),
    ['up', 'init'],
    'Seed of the ready-made keys of a new sandbox: a text, or `random` for a secret one. Unset: a fixed, public seed.',
    true,
  ),
  SIGNMESH_ENVIRONMENT: variable(
    choice('sandbox', 'production'),
    'sandbox',
    everyone,
    'The environment of the service. It must be that of the data directory: a role refuses to start otherwise. Production makes no ready-made keys and accepts no test tokens. M0 is a mock in both and must never guard real funds.',
  ),
  SIGNMESH_STORAGE_KEY: optional(
    hexKey(),
    ['node'],
    'The key that encrypts this node’s store, in place of `node-N/storage.key` beside it.',
    true,
  ),
  SIGNMESH_STORAGE_KEY_FILE: optional(
    path(),
    ['node'],
    'A file that holds that key: 64 hex digits and at most a newline, for example a mounted secret. Once it is set, the file beside the store is not read and may be removed.',
  ),
  SIGNMESH_PKCS11_MODULE: optional(
    path(),
    ['up', 'node'],
    'The PKCS#11 module (a shared library) of this node’s token, for keys of HSM_PKCS11. Unset: they are refused with `KEYSTORE_UNAVAILABLE`. Needs the package `pkcs11js`, built.',
  ),
  SIGNMESH_PKCS11_TOKEN: variable(text(32), 'signmesh', ['up', 'node'], 'The label of that token.'),
  SIGNMESH_PKCS11_PIN_FILE: optional(
    path(),
    ['up', 'node'],
    'A file that holds the PIN of the token’s user, and at most a newline. Needed with a module.',
  ),
  SIGNMESH_PKCS11_TIMEOUT_MS: variable(
    duration(60_000),
    5000,
    ['up', 'node'],
    'How long a request to the token may take, in milliseconds; then its process is ended.',
  ),
  SIGNMESH_VENDOR_URL: optional(
    url('http:', 'https:'),
    ['up', 'node'],
    'The vendor of this node’s MPC_VENDOR keys. Unset: `signmesh up` runs a simulated one in a sandbox; otherwise such keys are refused with `KEYSTORE_UNAVAILABLE`.',
  ),
  SIGNMESH_VENDOR_SECRET_FILE: optional(
    path(),
    ['up', 'node'],
    'A file that holds the secret which node and vendor share: 64 hex digits and at most a newline. Needed with a vendor.',
  ),
  SIGNMESH_VENDOR_TIMEOUT_MS: variable(
    duration(60_000),
    1500,
    ['up', 'node'],
    'How long a request to the vendor may take, in milliseconds.',
  ),
  SIGNMESH_VENDOR_CALLBACK_HOST: variable(
    host(),
    '127.0.0.1',
    ['up', 'node'],
    'Address on which a node with a vendor listens for its callbacks.',
  ),
  SIGNMESH_VENDOR_CALLBACK_PORT: variable(
    portOrFree(),
    0,
    ['up', 'node'],
    'Port for the vendor’s callbacks; 0 is a free one. The nodes of one machine need different ones.',
  ),
  SIGNMESH_VENDOR_CALLBACK_URL: optional(
    url('http:', 'https:'),
    ['up', 'node'],
    'Where the vendor reaches that port, when it is not at host and port themselves.',
  ),
  SIGNMESH_SIMULATED_VENDOR: variable(
    onOff(),
    true,
    ['up'],
    'Whether `signmesh up` runs a simulated vendor in a sandbox, for MPC_VENDOR keys.',
  ),
  SIGNMESH_SIMULATED_VENDOR_DECIDES_MS: variable(
    duration(dayMs),
    1000,
    ['up'],
    'How long the simulated vendor takes to decide on an order, in milliseconds.',
  ),
  SIGNMESH_ACCEPT_ANY_TEST_TOKEN: variable(
    onOff(),
    true,
    ['up', 'gateway'],
    'Whether a sandbox accepts any well-formed `svc_sk_test_…` token at first sight.',
  ),
  SIGNMESH_MODULE_ACCESS: variable(
    choice('automatic', 'operator'),
    'automatic',
    ['up', 'gateway'],
    'Who grants access to modules that are PLANNED, in a sandbox: the gateway at once, or the operator with `signmesh modules`.',
  ),
  SIGNMESH_RATE_LIMIT: variable(onOff(), true, ['up', 'gateway'], 'Rate limits per tenant. Off for load tests.'),
  SIGNMESH_RATE_LIMIT_READS: variable(
    integer(1, 1_000_000, 'calls'),
    300,
    ['up', 'gateway'],
    'Reads of one tenant in 10 s, over all gateways and both doors.',
  ),
  SIGNMESH_RATE_LIMIT_WRITES: variable(
    integer(1, 1_000_000, 'calls'),
    100,
    ['up', 'gateway'],
    'Writes of one tenant in 10 s, over all gateways and both doors.',
  ),
  SIGNMESH_RATE_LIMIT_SIGNING: variable(
    integer(1, 1_000_000, 'calls'),
    2000,
    ['up', 'gateway'],
    'Signing calls of one tenant in 10 s, over all gateways and both doors.',
  ),
  SIGNMESH_CONNECTIONS: variable(
    integer(1, 1_000_000, 'connections'),
    10_000,
    ['up', 'gateway'],
    'Connections to each door of a gateway at once, at most. At the bound a new one of HTTP takes the place of the one that has been idle for longest.',
  ),
  SIGNMESH_CORS_ORIGINS: optional(
    origins(32),
    ['up', 'gateway'],
    'Origins of browsers’ pages that may call the HTTP API, e.g. `https://app.example.com`; `*` for all. Unset: none but the gateway’s own.',
  ),
  SIGNMESH_TENANT_BYTES: variable(
    integer(1_000, 1e15, 'bytes'),
    4 * 1024 ** 3,
    ['up', 'gateway', 'coordinator'],
    'What one tenant may store in Redis, in bytes: its records, sessions and kept answers. At the bound new records and sessions are refused (429 `tenant_quota_exceeded`, `TENANT_QUOTA_EXCEEDED`); existing ones continue. The event log has bounds of its own.',
  ),
  SIGNMESH_LOAD_CALLS: variable(
    integer(1, 100_000, 'calls'),
    4096,
    ['up', 'gateway'],
    'Calls of one class (reads, writes, transfers, signing) that a gateway works on at once, at most. It takes on fewer while it is late.',
  ),
  SIGNMESH_LOAD_WAIT_MS: variable(
    duration(60_000),
    500,
    ['up', 'gateway'],
    'How long a call may wait for its turn in a burst, in milliseconds, and in a lasting overload an eighth of it. A call that would have to wait longer is refused at once: 429, RESOURCE_EXHAUSTED.',
  ),
  SIGNMESH_CHAIN_BLOCK_MS: variable(
    integer(10, 600_000, 'milliseconds'),
    1000,
    ['up', 'gateway', 'worker'],
    'Time between two blocks of the simulated chains, in milliseconds: how long a transfer takes to be confirmed.',
  ),
  SIGNMESH_WORKERS: variable(
    integer(1, 16, 'workers'),
    1,
    ['up'],
    'Worker processes that `signmesh up` starts. They deliver webhooks.',
  ),
  SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS: optional(
    integers(1, 7 * dayMs, 20, 'pauses in milliseconds'),
    ['up', 'worker'],
    'Pauses between the tries of a webhook delivery, in milliseconds, e.g. `100,200,400`: four tries at most. For a sandbox alone. Unset: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h.',
  ),
  SIGNMESH_COORDINATOR_HOST: variable(
    host(),
    '127.0.0.1',
    ['coordinator'],
    'Address the coordinator listens on for nodes and gateways. Anything but loopback takes links over TLS alone, with the certificates of `signmesh init`.',
  ),
  SIGNMESH_LINK_TLS: optional(
    onOff(),
    ['coordinator', 'node', 'gateway'],
    'Whether the links between coordinator, nodes and gateways use TLS. Unset: across hosts they must, and on loopback they follow SIGNMESH_COORDINATOR_URL. `on`: on loopback too. `off`: plain links across hosts are allowed; anyone on the way can read them and rewrite them.',
  ),
  SIGNMESH_TLS_CERT: optional(
    path(),
    ['coordinator', 'node', 'gateway', 'worker'],
    'A certificate (PEM, with its chain) for the doors of this process: REST, gRPC and `/metrics` then speak TLS alone. Unset: they are plain.',
  ),
  SIGNMESH_TLS_KEY: optional(
    path(),
    ['coordinator', 'node', 'gateway', 'worker'],
    'The file of its private key (PEM). Needed with a certificate.',
  ),
  SIGNMESH_TLS_CLIENT_CA: optional(
    path(),
    ['coordinator', 'node', 'gateway', 'worker'],
    'Certificates (PEM) of the authorities of the clients: every client of a door then needs a certificate that one of them issued. Unset: none.',
  ),
  SIGNMESH_CERTIFICATE_WARN_DAYS: variable(
    integer(0, 3650, 'days'),
    30,
    ['coordinator', 'node', 'gateway', 'worker'],
    'How many days before a certificate of this process expires its start says so.',
  ),
  SIGNMESH_COORDINATOR_PORT: variable(portOrFree(), 0, ['up', 'coordinator'], 'Port the coordinator listens on.'),
  SIGNMESH_COORDINATOR_URL: optional(
    urls(clustersMax, 'ws:', 'wss:'),
    ['coordinator', 'node', 'gateway'],
    'Where nodes and gateways find the coordinator. `signmesh up` sets it for its children. For a gateway of several clusters: those of cluster 1, 2, …; a gateway finds the coordinators that are not named in the registry in Redis, where each announces the address that this variable gives it, or the one it listens on.',
  ),
  SIGNMESH_SIGNING_LIFETIME_MS: variable(
    duration(30 * dayMs),
    signingLifetimeMs,
    ['up', 'coordinator'],
    'Life of a signing session, in milliseconds.',
  ),
  SIGNMESH_PENDING_LIFETIME_MS: variable(
    duration(30 * dayMs),
    pendingLifetimeMs,
    ['up', 'coordinator'],
    'Life of a session that waits for a human, in milliseconds.',
  ),
  SIGNMESH_DKG_LIFETIME_MS: variable(
    duration(30 * dayMs),
    dkgLifetimeMs,
    ['up', 'coordinator'],
    'Life of a DKG session, in milliseconds.',
  ),
  SIGNMESH_NODES_WAIT_MS: variable(
    duration(600_000),
    nodesWaitMs,
    ['up', 'coordinator'],
    'How long a call waits for unreachable nodes, in milliseconds.',
  ),
  SIGNMESH_PARTIAL_TIMEOUT_MS: variable(
    duration(600_000),
    2000,
    ['up', 'coordinator'],
    'How long the coordinator waits for one node’s answer before it asks another, in milliseconds.',
  ),
  SIGNMESH_FAULTS: optional(
    onOff(),
    ['up', 'gateway'],
    'Whether `/v1/sandbox/…` can inject faults into a sandbox that `signmesh up` runs, and take and restore snapshots of it. Unset: on in a sandbox. Off removes the proxy hop from every message between the processes: for load tests. Production has none of it.',
  ),
  SIGNMESH_DOOR_FAULTS: variable(
    onOff(),
    false,
    ['up'],
    'Whether a proxy stands before the gateway of a sandbox that `signmesh up` runs, so that faults of the door can be injected (`answer_lost` and others). Every request takes a hop more.',
  ),
  SIGNMESH_ALLOW_CLIENT_DEALERS: optional(
    onOff(),
    ['up', 'node'],
    'Whether a node takes dealers whose commitments and shares a client supplies in key generation; never for a wallet’s key. For a sandbox alone. Unset: on in a sandbox that `signmesh up` runs, off in a node started by itself.',
  ),
  SIGNMESH_LOG_LEVEL: variable(
    choice('debug', 'info', 'warn', 'error', 'silent'),
    'info',
    everyone,
    'The lowest level that is logged.',
  ),
  SIGNMESH_ACCESS_LOG: variable(
    onOff(),
    true,
    ['up', 'gateway'],
    'Whether a gateway logs a line for every request, at level `info`. Off saves its cost: for load tests.',
  ),
  SIGNMESH_METRICS_PORT: optional(
    portOrFree(),
    everyone,
    'Port on which a process serves `/metrics` for Prometheus. `signmesh up` gives it to the first of its processes and the next ports to the others (0: each a free one), and writes `metrics-targets.json` into the data directory. Unset: no metrics.',
  ),
  SIGNMESH_METRICS_HOST: variable(
    host(),
    '127.0.0.1',
    everyone,
    'Address that `/metrics` is served on. It needs no token: listen where only Prometheus is.',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(
    url('http:', 'https:'),
    everyone,
    'Where spans go by OTLP over HTTP, e.g. `http://127.0.0.1:4318`; OpenTelemetry’s other variables apply as well. Unset: no traces.',
  ),
  NO_COLOR: optional(text(64), ['up'], 'Set to anything: no colours on the terminal (see no-color.org).'),
} as const;

export type VariableName = keyof typeof variables;
export type Settings = {
  readonly [K in VariableName]: (typeof variables)[K] extends Variable<infer T> ? T : never;
};
export type Environment = Readonly<Record<string, string | undefined>>;

/** Throws a Failure (exit 2) that names every bad variable, one line each. Warnings are for a person, never fatal. */
export function loadSettings(environment: Environment): { settings: Settings; warnings: readonly string[] } {
  const settings: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, entry] of Object.entries(variables) as [VariableName, Variable<unknown>][]) {
    const given = environment[name];
    const parsed = given === undefined || given === '' ? fallbackOf(entry) : entry.kind.parse(given);
    if (given !== undefined && given !== '' && parsed === undefined) {
      const shown = entry.secret ? 'its value (not shown)' : JSON.stringify(given);
      problems.push(`${name}: ${shown} must be ${entry.kind.allowed.replaceAll('`', '')}.`);
    }
    settings[name] = parsed;
  }
  if (problems.length > 0) throw new Failure(problems.join('\n'), exitCodes.usage);
  return { settings: settings as Settings, warnings: unknownVariables(environment) };
}

/** Paths are the one kind whose default means something only in the current directory. */
function fallbackOf(entry: Variable<unknown>): unknown {
  return typeof entry.fallback === 'string' ? entry.kind.parse(entry.fallback) : entry.fallback;
}

/** The value of a variable that this role cannot do without. */
export function required<K extends VariableName>(settings: Settings, name: K): NonNullable<Settings[K]> {
  const value = settings[name];
  if (value !== undefined) return value as NonNullable<Settings[K]>;
  throw new Failure(
    `${name} is not set; it must be ${variables[name].kind.allowed.replaceAll('`', '')}.`,
    exitCodes.usage,
  );
}

/** Whether faults can be put into this cluster. Throws a Failure (exit 2) when production asks for them. */
export function faultsOn({ SIGNMESH_FAULTS: asked, SIGNMESH_ENVIRONMENT: environment }: Settings): boolean {
  if (environment === 'sandbox') return asked ?? true;
  if (asked !== true) return false;
  throw new Failure('SIGNMESH_FAULTS is for a sandbox alone: unset it in production.', exitCodes.usage);
}

/**
 * Whether a node takes client-supplied dealers; `unset`: what an unset variable means to the role that asks. Throws a
 * Failure (exit 2) when production asks for them.
 */
export function clientDealersAllowed(settings: Settings, unset: boolean): boolean {
  const { SIGNMESH_ALLOW_CLIENT_DEALERS: asked, SIGNMESH_ENVIRONMENT: environment } = settings;
  if (environment === 'sandbox') return asked ?? unset;
  if (asked !== true) return false;
  throw new Failure('SIGNMESH_ALLOW_CLIENT_DEALERS is for a sandbox alone: unset it in production.', exitCodes.usage);
}

function unknownVariables(environment: Environment): string[] {
  const known = Object.keys(variables);
  return Object.keys(environment)
    .filter((name) => name.startsWith('SIGNMESH_') && !known.includes(name))
    .sort()
    .map((name) => {
      const candidate = nearest(name, known);
      const hint = candidate === undefined ? '' : ` Did you mean ${candidate}?`;
      return `${name} is not a variable of signmesh and is ignored.${hint}`;
    });
}

/** The word that was meant, perhaps. */
export function nearest(text: string, words: readonly string[]): string | undefined {
  const [first] = words
    .map((word) => ({ word, distance: editDistance(text, word) }))
    .sort((a, b) => a.distance - b.distance);
  return first !== undefined && first.distance <= 8 ? first.word : undefined;
}

/** Levenshtein's, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

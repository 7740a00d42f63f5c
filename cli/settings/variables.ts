/**
 * Every environment variable that signmesh reads, in one table: docs/configuration.md is generated from it, a test compares
 * docker-compose.yml with it, and every command checks the whole environment against it at its start (config.ts).
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
import {
  choice,
  hexKey,
  host,
  hostNames,
  integer,
  integers,
  type Kind,
  onOff,
  origins,
  path,
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
  /** The roles that read it. */
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
    'Address the REST API listens on. An address other than loopback opens a sandbox to the network, where it accepts any well-formed test token.',
  ),
  SIGNMESH_HTTP_PORT: variable(
    portOrFree(),
    8080,
    ['up', 'gateway'],
    'Port of the REST API. 0: a free one, which the ready line of `signmesh up` names.',
  ),
  SIGNMESH_GRPC_HOST: variable(host(), '127.0.0.1', ['up', 'gateway'], 'Address the gRPC API listens on.'),
  SIGNMESH_GRPC_PORT: variable(
    portOrFree(),
    50051,
    ['up', 'gateway'],
    'Port of the gRPC API. 0: a free one, likewise.',
  ),
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
    'Number of replicas that must have a write before it is acknowledged. With 0 a failover of Redis may lose the last acknowledged writes; with more, a master with fewer replicas refuses writes.',
  ),
  SIGNMESH_REDIS_SERVER: optional(path(), ['up'], 'The redis-server to start, when it is not on the PATH.'),
  SIGNMESH_REDIS_FSYNC: variable(
    choice('no', 'always'),
    'no',
    ['up'],
    'Whether the private Redis waits for the disk with every write. `no` survives the death of any process, of Redis too; `always` also a loss of power, at about half the write speed. (signmesh does not offer Redis’s `everysec`, which may lose acknowledged writes when Redis is killed.)',
  ),
  SIGNMESH_NODES: variable(
    integer(2, nodesMax),
    defaultTotalNodes,
    ['up', 'init'],
    'Number of signer nodes of a new cluster. An existing cluster keeps its number.',
  ),
  SIGNMESH_CLUSTERS: optional(
    integer(1, clustersMax),
    ['up', 'init'],
    'Number of clusters: coordinators with their nodes. Unset: the clusters of the data directory, or one. A larger number adds clusters.',
  ),
  SIGNMESH_THRESHOLD: optional(
    integer(2, nodesMax),
    ['up', 'init'],
    'Default threshold of keys in a new cluster. Unset: 3 of 5, or of fewer nodes.',
  ),
  SIGNMESH_GATEWAYS: variable(
    integer(1, 16),
    1,
    ['up'],
    'Number of gateways that `signmesh up` starts. Each listens on the ports after those of the previous one.',
  ),
  SIGNMESH_NODES_PER_PROCESS: variable(
    integer(1, nodesMax),
    1,
    ['up'],
    'Number of nodes of a cluster in one process. They crash, pause and change their clock together (docs/clusters.md).',
  ),
  SIGNMESH_CLUSTER: variable(
    integer(1, clustersMax),
    1,
    ['coordinator', 'node'],
    'The number of the cluster that this coordinator or node belongs to, where several share a Redis. Its files are in `cluster-N/` of the data directory, those of cluster 1 in the data directory itself.',
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
    'The environment of the service. It must match the data directory, else a role refuses to start. Production makes no ready-made keys and accepts no test tokens. M0 is a mock in both environments and must never guard real funds.',
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
    'A file that holds that key: 64 hex digits and at most a newline, for example a mounted secret. With this setting the node does not read the file beside the store; you may remove it.',
  ),
  SIGNMESH_PKCS11_MODULE: optional(
    path(),
    ['up', 'node'],
    'The PKCS#11 module (a shared library) of this node’s token, for keys of HSM_PKCS11. Unset: the node refuses them with `KEYSTORE_UNAVAILABLE`. Needs a build of the package `pkcs11js`.',
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
    'Timeout of a request to the token, in milliseconds; after it the node ends the module’s process.',
  ),
  SIGNMESH_VENDOR_URL: optional(
    url('http:', 'https:'),
    ['up', 'node'],
    'The vendor of this node’s MPC_VENDOR keys. Unset: `signmesh up` runs a simulated one in a sandbox; otherwise the node refuses such keys with `KEYSTORE_UNAVAILABLE`.',
  ),
  SIGNMESH_VENDOR_SECRET_FILE: optional(
    path(),
    ['up', 'node'],
    'A file with the secret that node and vendor share: 64 hex digits and at most a newline. Needed with a vendor.',
  ),
  SIGNMESH_VENDOR_TIMEOUT_MS: variable(
    duration(60_000),
    1500,
    ['up', 'node'],
    'Timeout of a request to the vendor, in milliseconds.',
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
    'Port for the vendor’s callbacks; 0 selects a free one. Nodes on one machine need different ports.',
  ),
  SIGNMESH_VENDOR_CALLBACK_URL: optional(
    url('http:', 'https:'),
    ['up', 'node'],
    'The URL of that port for the vendor, if it differs from host and port.',
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
    'Time until the simulated vendor decides on an order, in milliseconds.',
  ),
  SIGNMESH_ACCEPT_ANY_TEST_TOKEN: variable(
    onOff(),
    true,
    ['up', 'gateway'],
    'Whether a sandbox accepts any well-formed `svc_sk_test_…` token, without issuing it.',
  ),
  SIGNMESH_MODULE_ACCESS: variable(
    choice('automatic', 'operator'),
    'automatic',
    ['up', 'gateway'],
    'Who grants access to PLANNED modules in a sandbox: the gateway at once, or the operator with `signmesh modules`.',
  ),
  SIGNMESH_RATE_LIMIT: variable(onOff(), true, ['up', 'gateway'], 'Rate limits per tenant. Off for load tests.'),
  SIGNMESH_RATE_LIMIT_READS: variable(
    integer(1, 1_000_000, 'calls'),
    300,
    ['up', 'gateway'],
    'Reads of one tenant in 10 s, over all gateways and both APIs.',
  ),
  SIGNMESH_RATE_LIMIT_WRITES: variable(
    integer(1, 1_000_000, 'calls'),
    100,
    ['up', 'gateway'],
    'Writes of one tenant in 10 s, over all gateways and both APIs.',
  ),
  SIGNMESH_RATE_LIMIT_SIGNING: variable(
    integer(1, 1_000_000, 'calls'),
    2000,
    ['up', 'gateway'],
    'Signing calls of one tenant in 10 s, over all gateways and both APIs.',
  ),
  SIGNMESH_CONNECTIONS: variable(
    integer(1, 1_000_000, 'connections'),
    10_000,
    ['up', 'gateway'],
    'Most connections to each API (HTTP, gRPC) of a gateway at once. At the bound a new HTTP connection replaces the one that has been idle for longest.',
  ),
  SIGNMESH_CORS_ORIGINS: optional(
    origins(32),
    ['up', 'gateway'],
    'Origins of web pages that may call the HTTP API (CORS), e.g. `https://app.example.com`; `*` for all. Unset: only the gateway’s own, and in a sandbox those of this machine (`http://localhost:3000`, `http://127.0.0.1:3000`).',
  ),
  SIGNMESH_ALLOWED_HOSTS: optional(
    hostNames(32),
    ['up', 'gateway'],
    'Further names under which the HTTP API of a sandbox answers, e.g. `sandbox.example.com`; `*` for any. Without them it answers to addresses, `localhost`, `*.localhost`, `host.docker.internal` and names without a dot alone (421 otherwise), since a web page can let its own name resolve to this host. Production does not check.',
  ),
  SIGNMESH_TENANT_BYTES: variable(
    integer(1_000, 1e15, 'bytes'),
    4 * 1024 ** 3,
    ['up', 'gateway', 'coordinator'],
    'Bytes that one tenant may store in Redis: its records, sessions and stored answers. At the bound the service refuses new records and sessions (429 `tenant_quota_exceeded`, `TENANT_QUOTA_EXCEEDED`); existing ones continue. The event log has separate bounds.',
  ),
  SIGNMESH_LOAD_CALLS: variable(
    integer(1, 100_000, 'calls'),
    4096,
    ['up', 'gateway'],
    'Most calls of one class (reads, writes, transfers, signing) that a gateway handles at once. It accepts fewer while it is late.',
  ),
  SIGNMESH_LOAD_WAIT_MS: variable(
    duration(60_000),
    500,
    ['up', 'gateway'],
    'Longest wait of a call in a burst, in milliseconds; in a lasting overload a quarter of it. A gateway refuses a call that would wait longer at once: 429, RESOURCE_EXHAUSTED.',
  ),
  SIGNMESH_CHAIN_BLOCK_MS: variable(
    integer(10, 600_000, 'milliseconds'),
    1000,
    ['up', 'gateway', 'worker'],
    'Time between two blocks of the simulated chains, in milliseconds. It determines how long a transfer takes to be confirmed.',
  ),
  SIGNMESH_PROVIDER_TIMEOUT_MS: variable(
    duration(14_000),
    10_000,
    ['up', 'gateway'],
    'Deadline of a request to a hosted provider or the venue, in milliseconds: after it the client gets 503 and repeats with the same Idempotency-Key.',
  ),
  SIGNMESH_WORKERS: variable(
    integer(1, 16, 'workers'),
    1,
    ['up'],
    'Number of worker processes that `signmesh up` starts. They deliver webhooks.',
  ),
  SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS: optional(
    integers(1, 7 * dayMs, 20, 'pauses in milliseconds'),
    ['up', 'worker'],
    'Pauses between the tries of a webhook delivery, in milliseconds, e.g. `100,200,400`: four tries at most. Only for a sandbox. Unset: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h.',
  ),
  SIGNMESH_COORDINATOR_HOST: variable(
    host(),
    '127.0.0.1',
    ['coordinator'],
    'Address the coordinator listens on for nodes and gateways. On other addresses than loopback it accepts links only over TLS, with the certificates of `signmesh init`.',
  ),
  SIGNMESH_LINK_TLS: optional(
    onOff(),
    ['coordinator', 'node', 'gateway'],
    'Whether the links between coordinator, nodes and gateways use TLS. Unset: across hosts they must, and on loopback they follow SIGNMESH_COORDINATOR_URL. `on`: on loopback too. `off`: plain links across hosts are allowed; anyone on the network path can read and change messages.',
  ),
  SIGNMESH_TLS_CERT: optional(
    path(),
    ['coordinator', 'node', 'gateway', 'worker'],
    'A certificate (PEM, with its chain) for the servers of this process: REST, gRPC and `/metrics` then accept only TLS. Unset: they are plain.',
  ),
  SIGNMESH_TLS_KEY: optional(
    path(),
    ['coordinator', 'node', 'gateway', 'worker'],
    'The file of its private key (PEM). Needed with a certificate.',
  ),
  SIGNMESH_TLS_CLIENT_CA: optional(
    path(),
    ['coordinator', 'node', 'gateway', 'worker'],
    'Certificates (PEM) of the authorities of clients: every client of these servers then needs a certificate that one of them issued. Unset: none.',
  ),
  SIGNMESH_CERTIFICATE_WARN_DAYS: variable(
    integer(0, 3650, 'days'),
    30,
    ['coordinator', 'node', 'gateway', 'worker'],
    'A process warns at its start when its certificate expires within this number of days.',
  ),
  SIGNMESH_COORDINATOR_PORT: variable(portOrFree(), 0, ['up', 'coordinator'], 'Port the coordinator listens on.'),
  SIGNMESH_COORDINATOR_URL: optional(
    urls(clustersMax, 'ws:', 'wss:'),
    ['coordinator', 'node', 'gateway'],
    'The URL of the coordinator for nodes and gateways. `signmesh up` sets it for its children. For a gateway of several clusters: the URLs of cluster 1, 2, …; a gateway finds other coordinators in the registry in Redis, where each announces the address in this variable, or the address it listens on.',
  ),
  SIGNMESH_SIGNING_LIFETIME_MS: variable(
    duration(30 * dayMs),
    signingLifetimeMs,
    ['up', 'coordinator'],
    'Lifetime of a signing session, in milliseconds.',
  ),
  SIGNMESH_PENDING_LIFETIME_MS: variable(
    duration(30 * dayMs),
    pendingLifetimeMs,
    ['up', 'coordinator'],
    'Lifetime of a session that waits for a human, in milliseconds.',
  ),
  SIGNMESH_DKG_LIFETIME_MS: variable(
    duration(30 * dayMs),
    dkgLifetimeMs,
    ['up', 'coordinator'],
    'Lifetime of a DKG session, in milliseconds.',
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
    'Whether `/v1/sandbox/…` can inject faults into a sandbox that `signmesh up` runs, and take and restore snapshots of it. Unset: on in a sandbox. Off removes the proxy from every link between the processes: for load tests. Production never has it.',
  ),
  SIGNMESH_DOOR_FAULTS: variable(
    onOff(),
    false,
    ['up'],
    'Whether `signmesh up` runs a proxy in front of the gateway of a sandbox, which can inject API faults (`answer_lost` and others). Every request then passes one more hop.',
  ),
  SIGNMESH_ALLOW_CLIENT_DEALERS: optional(
    onOff(),
    ['up', 'node'],
    'Whether a node accepts client-supplied commitments and shares in key generation; never for a wallet’s key. Only for a sandbox. Unset: on in a sandbox that `signmesh up` runs, off in a node started by itself.',
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
    'Whether a gateway logs a line for every request, at level `info`. Turn it off for load tests.',
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
    'Address of the server of `/metrics`. It requires no token: choose an address that only Prometheus reaches.',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(
    url('http:', 'https:'),
    everyone,
    'Endpoint for traces by OTLP over HTTP, e.g. `http://127.0.0.1:4318`; OpenTelemetry’s other variables apply as well. Unset: no traces.',
  ),
  NO_COLOR: optional(text(64), ['up'], 'Any value turns off colours on the terminal (see no-color.org).'),
} as const;

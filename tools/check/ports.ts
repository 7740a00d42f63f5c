/**
 * The rule of ports: the control plane and the delivery of events may wait and may be asynchronous, but they take clock, timers,
 * randomness, queue, stores and the network as ports, so that a simulated world can run them. Only the listed files reach the
 * world.
 *
 * It searches the syntax tree, as purity.ts does, with the same limits.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ambientRandomness, breachesOf, type Impurity, type Node, type Report, sourceFiles } from './purity.ts';

const portedRooms = 'api controls custody delivery gateway modules openapi providers redis store'.split(' ');
const portedFiles = ['core/actors/waiting.ts'];

interface Exemption {
  /** The parts of the world that the file reaches: prefixes of reports. */
  readonly reaches: RegExp;
  readonly why: string;
}

const redis = /^import of ioredis/;
const anything = /^/;

/** Adapters, which implement a port, and compositions, which pass live ports in. */
export const worldlyFiles: ReadonlyMap<string, Exemption> = new Map([
  ['gateway/main.ts', { reaches: anything, why: 'composes the process gateway' }],
  ['gateway/worker.ts', { reaches: anything, why: 'composes the process worker' }],
  ['gateway/live-wallet-ports.ts', { reaches: /^(import of ioredis|system)/, why: 'the ports of a gateway process' }],
  ['gateway/redis-wallet-ports.ts', { reaches: redis, why: 'the ports that lie in Redis' }],
  ['gateway/redis.ts', { reaches: redis, why: 'opens connections' }],
  ['gateway/record-sealing.ts', { reaches: redis, why: 'a first start and a restore, over the whole database' }],
  ['gateway/auth/token-store.ts', { reaches: redis, why: 'stores tokens' }],
  ['gateway/limits/rate-limits.ts', { reaches: redis, why: 'counts calls' }],
  ['wallets/store/redis-tenant-store.ts', { reaches: redis, why: 'implements TenantStore' }],
  ['wallets/store/redis-address-book.ts', { reaches: redis, why: 'implements AddressBook' }],
  ['wallets/store/seal-records.ts', { reaches: redis, why: 'a first start and a restore, over the whole database' }],
  ['wallets/store/tenants-with.ts', { reaches: redis, why: 'a search of the whole database, for commands' }],
  ['wallets/store/scripts.ts', { reaches: redis, why: 'a part of redis-tenant-store.ts' }],
  ['core/redis/lua.ts', { reaches: /^import of (ioredis|node:fs)/, why: 'reads scripts and makes them commands' }],
  ['core/redis/connect.ts', { reaches: redis, why: 'opens connections' }],
  ['core/redis/command-timeout.ts', { reaches: /^(import of ioredis|setTimeout|performance)/, why: 'a part of connect.ts' }],
  ['core/redis/gathered-writes.ts', { reaches: /^(import of ioredis|setImmediate)/, why: 'a part of connect.ts' }],
  ['core/redis/replicas.ts', { reaches: /^(import of ioredis|setImmediate)/, why: 'a part of connect.ts' }],
  [
    'core/redis/subscriber.ts',
    { reaches: /^(import of ioredis|setTimeout|Math.random)/, why: 'opens connections that subscribe' },
  ],
  ['core/redis/redis-clusters.ts', { reaches: redis, why: 'implements ClusterRegistry' }],
  ['gateway/live-cluster-links.ts', { reaches: /^system/, why: 'holds the links of a gateway process' }],
  ['core/redis/redis-due-work.ts', { reaches: /^(import of ioredis|performance)/, why: 'implements DueWork' }],
  [
    'simulation/redis/memory-redis.ts',
    { reaches: /^import of (ioredis|node:events)/, why: 'stands in for a client of ioredis' },
  ],
  ['wallets/store/secrets/file-key-ring.ts', { reaches: /^import of node:fs/, why: 'implements KeyRing' }],
  ['wallets/providers/chains/redis-chain.ts', { reaches: redis, why: 'what the ledgers in Redis share' }],
  ['wallets/providers/chains/redis-ledgers.ts', { reaches: redis, why: 'implements ChainLedgers' }],
  ['wallets/providers/simulated/redis-custodian-books.ts', { reaches: redis, why: 'implements CustodianBooks' }],
  ['wallets/providers/simulated/redis-drifts.ts', { reaches: redis, why: 'implements Drifts' }],
  ['wallets/companions/recon/bull-queue.ts', { reaches: /^import of (ioredis|bullmq)/, why: 'implements ReconQueue' }],
  ['wallets/providers/simulated/redis-custodian-records.ts', { reaches: redis, why: 'implements CustodianRecords' }],
  ['wallets/delivery/deliveries/redis-outbox-store.ts', { reaches: redis, why: 'implements OutboxStore' }],
  ['wallets/delivery/deliveries/scripts.ts', { reaches: redis, why: 'a part of redis-hook-store.ts' }],
  ['wallets/delivery/deliveries/bull-queue.ts', { reaches: /^import of (ioredis|bullmq)/, why: 'implements WebhookQueue' }],
  ['wallets/delivery/events/redis-wakes.ts', { reaches: redis, why: 'implements Wakes' }],
  ['wallets/delivery/egress/connections.ts', { reaches: /^import of undici/, why: 'holds connections to receivers' }],
  [
    'wallets/delivery/egress/send.ts',
    { reaches: /^(import of (undici|node:dns)|performance|AbortSignal)/, why: 'implements Send: network and resolver' },
  ],
  [
    'wallets/providers/vendor/server.ts',
    { reaches: /^(import of node:(fs|http)|fetch|AbortSignal)/, why: 'the simulated vendor is a server of its own' },
  ],
  ['gateway/api/version.ts', { reaches: /^import of node:fs/, why: 'reads the version from package.json' }],
]);

const forbiddenGlobals = new Map<string, string>([
  ['performance', 'take elapsedMs from the timers port'],
  ['console', 'take a log'],
  ['globalThis', 'name what you need as an argument'],
  ['fetch', 'take an egress port'],
  ...['setTimeout', 'setInterval', 'setImmediate'].map((name) => [name, 'take timers'] as const),
]);
/** Members of globals that read the world. */
const forbiddenMembers = new Map<string, string>([
  ['Date.now', 'take a clock'],
  ['Math.random', 'take random'],
  ['AbortSignal.timeout', 'take timers'],
]);
/** Members of a process; a variable of that name may hold its id. */
const processMembers =
  /^(argv|cpuUsage|cwd|emitWarning|env|exit|exitCode|hrtime|kill|memoryUsage|nextTick|off|on|once|pid|platform|send|std(in|out|err)|uptime)$/;
/** Modules without access to the world, and modules of which only these names have none. */
const pureBuiltins = new Set(['node:crypto', 'node:buffer', 'node:path', 'node:stream', 'node:util', 'node:zlib']);
const pureNames: Readonly<Record<string, readonly string[]>> = {
  'node:http': ['STATUS_CODES'],
  'node:net': ['isIP'],
};
const forbiddenPackages = /^(ioredis|bullmq|undici|ws)$/;
/** The live ports (core/actors/live/ports.ts). */
const livePorts = /^(system(Clock|Timers|Random|Ports)|shiftSystemClock)$/;

/** Every breach in the rooms under `root`, in the order of files and lines. */
export function findAmbient(root: string): Impurity[] {
  return portedSources(root)
    .flatMap((file) => ambientOf(file, readFileSync(join(root, file), 'utf8')))
    .filter(({ file, what }) => worldlyFiles.get(file)?.reaches.test(what) !== true);
}

export function portedSources(root: string): string[] {
  return [...portedFiles, ...sourceFiles(root, portedRooms)];
}

export function ambientOf(file: string, source: string): Impurity[] {
  return breachesOf(file, source, inspect);
}

function inspect(node: Node, report: Report): void {
  switch (node.type) {
    case 'Identifier': {
      const name = String(node.value);
      const hint = forbiddenGlobals.get(name);
      if (hint !== undefined) report(node, `${name}: ${hint}`);
      return;
    }
    case 'MemberExpression': {
      const member = nameOf(node.property);
      if (nameOf(node.object) === 'process' && processMembers.test(member))
        report(node, `process.${member}: take settings as arguments`);
      const hint = forbiddenMembers.get(`${nameOf(node.object)}.${member}`);
      if (hint !== undefined) report(node, `${nameOf(node.object)}.${member}: ${hint}`);
      if (ambientRandomness.test(member)) report(node, `${member}: take random`);
      return;
    }
    case 'NewExpression':
      if (nameOf(node.callee) === 'Date' && ((node.arguments as unknown[] | undefined) ?? []).length === 0)
        report(node, 'new Date(): take a clock');
      return;
    case 'CallExpression':
      if (nameOf(node.callee) === 'Date') report(node, 'Date(): take a clock');
      return;
    case 'ImportDeclaration':
      inspectImport(node, report);
  }
}

/** Types of the forbidden packages are forbidden too: code that takes a connection to Redis takes no port. */
function inspectImport(node: Node, report: Report): void {
  const from = nameOf(node.source);
  if (forbiddenPackages.test(from)) report(node, `import of ${from}: take a port`);
  if (node.typeOnly === true) return;
  const names = ((node.specifiers ?? []) as Node[])
    .filter(({ isTypeOnly }) => isTypeOnly !== true)
    .map((specifier) => nameOf(specifier.imported ?? specifier.local));
  const isWorldly = from.startsWith('node:') && !pureBuiltins.has(from);
  if (isWorldly && !names.every((name) => pureNames[from]?.includes(name) === true)) report(node, `import of ${from}`);
  for (const name of names) {
    if (ambientRandomness.test(name)) report(node, `${name}: take random`);
    if (livePorts.test(name)) report(node, `${name}: take the port`);
  }
}

function nameOf(node: unknown): string {
  return String((node as Node | undefined)?.value ?? '');
}

/**
 * A whole custody service in one process: the simulated world of simulation/service/, its time paced by the real clock, with real
 * cryptography, served on real ports. It needs no installation, and leaves nothing behind when it stops.
 *
 * It lacks the properties of separate processes: kills by the operating system, sockets between members, more than one core.
 */
import { type Log, silentLog, systemPorts, systemRandom } from '../../core/actors/live/ports.ts';
import { cryptoBackend } from '../../core/crypto/group.ts';
import { seedOfNode } from '../../core/crypto/polynomial.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import { noTelemetry, type Telemetry } from '../../core/telemetry/port.ts';
import { allOf, type RequestWatcher } from '../../gateway/access-log/access-log.ts';
import { TokenStore } from '../../gateway/auth/token-store.ts';
import { docsPage } from '../../gateway/http/docs-page.ts';
import { sealStored } from '../../gateway/record-sealing.ts';
import { Inboxes } from '../../gateway/sandbox/inboxes.ts';
import { RequestLog } from '../../gateway/sandbox/request-log.ts';
import type { Serve } from '../../gateway/serve/contract.ts';
import { plainRequest } from '../../gateway/serve/plain-request.ts';
import type { ReadyMadeKeys } from '../../gateway/signing/wallet-terms.ts';
import { measureGateway } from '../../gateway/telemetry/gateway.ts';
import { measureRequests } from '../../gateway/telemetry/requests.ts';
import { measureSending } from '../../gateway/telemetry/worker.ts';
import { defaultSharing } from '../../proto/roster.ts';
import type { WireEnvelope } from '../../proto/wire.ts';
import { processIn, splitName } from '../../scenarios/faults/cluster-names.ts';
import { frameText } from '../../scenarios/faults/frame-text.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import { pauseFor } from '../../scenarios/injection/api-proxy-ports.ts';
import type { ScenarioHost } from '../../scenarios/injection/ports.ts';
import { Recording } from '../../scenarios/injection/recording.ts';
import { SandboxController } from '../../scenarios/injection/sandbox-control.ts';
import { CustodyWorld, type WorldOptions, type WorldSnapshot } from '../service/custody-world.ts';
import { faultyServe } from '../service/faulty-serve.ts';
import type { ServedGateway } from '../service/gateway-process.ts';
import { type ApiServers, type ListenAddress, openApiServers } from './api-servers.ts';
import { RealEgress } from './egress.ts';
import { CallsThrough, HealthThrough, serveThrough } from './gateway-proxy.ts';
import { PacedTime } from './paced-time.ts';
import { randomnessOf } from './randomness.ts';
import type { ServiceRecorder } from './service-recorder.ts';
import type { StoredSandbox, StoredState } from './state-file.ts';
import { States } from './states.ts';
import { WorldInjector, WorldProcesses, type WorldUsage } from './world-injector.ts';

export interface EmbeddedOptions
  extends Pick<
    WorldOptions,
    'chainBlockMs' | 'providerTimeoutMs' | 'rateLimits' | 'retryScheduleMs' | 'config' | 'clientDealers'
  > {
  readonly http: ListenAddress;
  /** Runs scenario files; undefined: none can be. */
  readonly scenarios?: ScenarioHost | undefined;
  readonly grpc: ListenAddress;
  /** 1 by default. */
  readonly clusters?: number | undefined;
  /** Of each cluster. */
  readonly nodes: number;
  /** The default threshold of a key, of all nodes; undefined: 3 of 5. */
  readonly threshold?: number | undefined;
  readonly sandbox: StoredSandbox;
  /** Its ready-made keys: their schemes by session. */
  readonly readyMade: ReadyMadeKeys;
  /** This package's. */
  readonly version: string;
  readonly acceptAnyTestToken: boolean;
  readonly corsOrigins?: readonly string[] | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  /** Of its page at `/`; undefined: it has none. */
  readonly consoleFiles?: ServedGateway['consoleFiles'];
  /** Makes or finds the ready-made keys, before the API servers open. */
  readonly makeKeys: (ask: AskService) => Promise<unknown>;
  /** The state of an earlier run. */
  readonly stored?: StoredState | undefined;
  /** It is of a version whose records had no MACs: they get theirs. */
  readonly sealsStored?: boolean;
  readonly logOf?: (process: ProcessName) => Log;
  readonly requests?: RequestWatcher | undefined;
  readonly recorder?: ServiceRecorder | undefined;
  /** Of its gateway and its worker; by default nothing is measured. */
  readonly telemetry?: Telemetry | undefined;
}

/** A request of the service's own, with the sandbox's token. */
export type AskService = (
  path: string,
  request: { readonly method: 'GET' | 'POST'; readonly body?: string },
) => Promise<{ readonly status: number; readonly text: string }>;

export interface EmbeddedService {
  readonly world: CustodyWorld;
  /** host:port. */
  readonly httpAddress: string;
  readonly grpcAddress: string;
  state(): StoredState;
  stop(): Promise<void>;
}

/** Frames and commands take no virtual time: their cost is real. */
const noWay = { minMs: 0, maxMs: 0 } as const;
/** Nodes make few ahead at first, since a start and a reset mostly cost nonces. Batches double while they run low. */
const nonceBatchFirst = 4;

/** As many as a test reads back; each takes about a kilobyte. */
const eventsMax = 10_000;
/** Values in a block of Redis: reading one inflates about 60 KB. */
const packing = { values: 64, charsMin: 200 } as const;
/** Beyond that, the record of a frame has only its kind. */
const wordsPerSecondMax = 300;

/** Resolves when everything serves. Rejects with ApiServerError when a port is not available. */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedService> {
  const {
    sandbox,
    readyMade,
    stored,
    clusters = firstCluster,
    nodes,
    threshold,
    logOf = () => silentLog,
    recorder,
  } = options;
  const {
    telemetry = noTelemetry,
    rateLimits,
    chainBlockMs,
    providerTimeoutMs,
    retryScheduleMs,
    clientDealers,
  } = options;
  const clusterSecret = stored?.clusterSecret ?? systemRandom(32);
  const randomOf = randomnessOf(clusterSecret, systemRandom);
  const time = new PacedTime();
  const health = new HealthThrough();
  const recording = new Recording(eventsMax);
  const now = (): CustodyWorld => world;
  const injector = new WorldInjector(now, { recording, beganMs: time.beganMs });
  const processes = new WorldProcesses(now, ownUsage);
  const states = new States(now, systemRandom);
  const egress = new RealEgress(recorder && ((url, note) => recorder.delivered(url, note)));
  const { tenant, schemes } = readyMade;
  const page = { version: options.version, ...(sandbox.kind === 'public' && { publicToken: sandbox.token }) };
  const secrets = {
    token: randomOf('embedded/token')(32),
    receipt: randomOf('embedded/receipt')(32),
    record: randomOf('embedded/record')(32),
    seal: randomOf('embedded/seal')(32),
  };
  const shared = threshold ?? defaultSharing(nodes).threshold;
  const each = Array.from({ length: clusters }, (_, index) => ({
    number: index + firstCluster,
    threshold: shared,
    nodes,
  }));
  const about = { world: 'embedded', clusters: each } as const;
  const control = new SandboxController({
    injector,
    processes,
    snapshots: states,
    about,
    scenarios: options.scenarios,
  });
  const seen = new RequestLog(systemPorts.timers);
  const inboxes = new Inboxes(systemPorts);
  let doors: ApiServers | undefined;
  const world = new CustodyWorld({
    ...{ time, randomOf, clusters, nodes, secrets, logOf, rateLimits },
    ...(threshold !== undefined && { sharing: { threshold, totalNodes: nodes } }),
    seed: Buffer.from(randomOf('embedded/id')(8)).toString('hex'),
    ...(stored !== undefined && { startsBefore: stored.starts }),
    onFailure: (error) => logOf('service').error({ reason: reasonOf(error) }, 'a process failed'),
    readyMade: { seedOf: seedOfEach(sandbox), tenant, sessions: Object.keys(schemes) },
    ...{ latency: noWay, redisWay: noWay, codec: 'none', packing },
    ...{ sweeping: true, keepTrace: false, onBug: 'record', cryptoBackend: cryptoBackend() },
    config: { nonceBatchFirst, ...options.config },
    ...(clientDealers !== undefined && { clientDealers }),
    ...(chainBlockMs !== undefined && { chainBlockMs }),
    ...(providerTimeoutMs !== undefined && { providerTimeoutMs }),
    ...(retryScheduleMs !== undefined && { retryScheduleMs }),
    egress: (life) => measureSending(telemetry, systemPorts.timers, egress.sender(life)),
    frameText: fewWords(() => time.nowMs()),
    record: (event) => {
      recording.add(event);
      heard(event);
    },
    served: {
      ...page,
      docsPage: docsPage(page),
      consoleFiles: options.consoleFiles,
      readyMadeKeys: readyMade,
      control: recorder?.control(control) ?? control,
      ...{ requests: seen, inboxes },
      ...(recorder && { through: (calls) => recorder.calls(calls) }),
      acceptAnyTestToken: options.acceptAnyTestToken,
      ...(options.corsOrigins !== undefined && { corsOrigins: options.corsOrigins }),
      allowedHosts: options.allowedHosts ?? [],
    },
  });

  function heard(event: RunEvent): void {
    if (event.kind === 'violation') logOf('coordinator').error({ text: event.text }, event.invariant);
    if (event.kind === 'actor' && event.level !== 'debug') {
      const { address, type, level, fields } = event;
      logOf(processAt(address))[level]({ ...fields, address, event: type }, type);
    }
    if (event.kind !== 'process') return;
    const { process, what } = event;
    if (what === 'up') processes.started(process, Math.floor(time.nowMs()));
    if (process !== 'gateway') return;
    // The gateway exists when its process has started.
    if (what === 'up') time.after(0, () => health.watch(world), true);
    if (what !== 'down') return;
    health.down();
    doors?.cut();
  }

  /** The state becomes that of the world, with the MACs that it lacks. */
  const sealed = async (state: WorldSnapshot): Promise<WorldSnapshot> => {
    await world.restore(state);
    const ports = { clock: { nowMs: () => Math.floor(world.nowMs) }, random: systemRandom };
    await sealStored(world.redis.client(), { tokenKey: secrets.token, recordKey: secrets.record }, ports);
    return world.snapshot();
  };
  let first = stored?.first;
  if (stored !== undefined) {
    await injector.rightClocks(stored.clockOffsetMs, stored.ownClocksMs);
    if (options.sealsStored === true) first = await sealed(stored.first);
    if (options.sealsStored === true) await sealed(stored.world);
    else await world.restore(stored.world);
  }
  await registerTokens(world, secrets.token, sandbox, tenant);
  const serve = serveThrough(world);
  const faulty = faultyServe(serve, (request) => world.apiServerVerdict(request), pauseFor);
  await options.makeKeys((path, request) => ask(serve, sandbox.token, path, request));
  measureGateway(telemetry.metrics, { calls: new CallsThrough(world), cluster: health });
  recorder?.begin();
  const begun = states.begin(first);
  try {
    doors = await openApiServers({
      ...{ world, health, readyMadeKeys: readyMade, serve: recorder?.serve(faulty) ?? faulty },
      ...{ http: options.http, grpc: options.grpc, log: logOf('gateway') },
      requests: allOf([options.requests, telemetry.isOn ? measureRequests(telemetry) : undefined, seen]),
    });
  } catch (error) {
    time.stop();
    throw error;
  }
  const { http: httpAddress, grpc: grpcAddress } = doors;
  inboxes.reachedAt(httpAddress);
  return {
    ...{ world, httpAddress, grpcAddress },
    state: () => ({
      ...{ clusterSecret, clusters, nodes, threshold, first: begun, sandbox, clockOffsetMs: injector.clockOffsetMs },
      ownClocksMs: injector.ownClocksMs,
      starts: Math.max(
        ...world.clusters.each.flatMap((cluster) => cluster.processes().map((one) => cluster.startsOf(one))),
      ),
      world: world.snapshot(),
    }),
    stop: async () => {
      await doors?.stop();
      time.stop();
      await egress.stop();
    },
  };
}

/** The process of an actor, both by their full names. */
function processAt(address: string): ProcessName {
  const { cluster, name } = splitName(address);
  return processIn(cluster, name.startsWith('node/') ? name.split('/', 2).join('/') : 'coordinator');
}

/** The text costs more than the frame: in a flood few frames get one. */
function fewWords(nowMs: () => number): (envelope: WireEnvelope) => string {
  let second = 0;
  let left = 0;
  return (envelope) => {
    const now = Math.floor(nowMs() / 1_000);
    if (now !== second) left = wordsPerSecondMax;
    second = now;
    if (left <= 0) return envelope.message.body.case;
    left -= 1;
    return frameText(envelope);
  };
}

function ownUsage(): ReturnType<WorldUsage> {
  const { user, system } = process.cpuUsage();
  return { residentBytes: process.memoryUsage.rss(), cpuMs: (user + system) / 1_000 };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function registerTokens(
  world: CustodyWorld,
  tokenKey: Uint8Array,
  { token, approverToken }: StoredSandbox,
  tenant: string,
): Promise<void> {
  const clock = { nowMs: () => Math.floor(world.nowMs) };
  const store = new TokenStore(world.redis.client(), tokenKey, { clock, random: systemRandom });
  await store.ensureSandboxToken(token, tenant, approverToken);
}

async function ask(serve: Serve, token: string, path: string, { method, body }: Parameters<AskService>[1]) {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const request = plainRequest({ method, target: path, headers, body });
  const { status, body: given = '' } = await serve(request);
  request.leave();
  return { status, text: typeof given === 'string' ? given : Buffer.from(given).toString('utf8') };
}

/** Of a secret seed each node has a secret of its own, as set-up gives it (cli/cluster-files/sandbox.ts). */
function seedOfEach({ kind, seed }: StoredSandbox): (nodeId: number) => Uint8Array {
  return (nodeId) => (kind === 'public' ? seed : seedOfNode(seed, nodeId));
}

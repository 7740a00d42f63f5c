/** `signmesh up`: starts a whole cluster on this machine, prints a banner, and stops it again without leftovers. */
import { join } from 'node:path';
import { setImmediate as untilIdle } from 'node:timers/promises';
import { firstCluster } from '../../core/redis/clusters.ts';
import { defaultSharing, type Roster } from '../../proto/roster.ts';
import { processIn } from '../../scenarios/faults/cluster-names.ts';
import type { Steps } from '../cluster-files/cluster-material.ts';
import { clustersInSteps } from '../cluster-files/clusters.ts';
import { checkDataFormat } from '../cluster-files/data-format.ts';
import { ensureSandbox, type Sandbox } from '../cluster-files/sandbox.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import { makeDataDirectory, replaceShortLived } from '../common/files.ts';
import { reachable } from '../common/gateway-health.ts';
import { type Lock, takeLock } from '../common/lock.ts';
import { checkPortFree, checkPortsDiffer, type Listener, listenFailure } from '../common/ports.ts';
import { type HostedSandbox, hostedScenarios } from '../scenario/hosted.ts';
import { clientDealersAllowed, type Environment, faultsOn, type Settings } from '../settings/config.ts';
import { bannerLines, readyLine } from '../start/banner.ts';
import type { ArmedChaos, ChaosRequest } from '../start/chaos.ts';
import { watchParent } from '../start/parent-watch.ts';
import { askAt, type ReadyKey, readyKeys } from '../start/ready-keys.ts';
import { lockFile, readyFile } from '../start/running.ts';
import { duration, Screen } from '../start/screen.ts';
import { Cluster } from './cluster.ts';
import { LiveFaultInjection } from './fault-injection.ts';
import { endLeftovers } from './leftovers.ts';
import { MetricsTargets } from './metrics-targets.ts';
import { privateRedis } from './private-redis.ts';
import { type SimulatedVendor, startSimulatedVendor } from './simulated-vendor.ts';
import { Snapshots } from './snapshots.ts';
import { startProcesses } from './start-processes.ts';

export interface UpOptions {
  readonly settings: Settings;
  readonly environment: Environment;
  /** undefined: the number in the data directory, else the default. */
  readonly seed: string | undefined;
  readonly nodes: number | undefined;
  /** Prints one machine-readable line on standard output when ready; text for people goes to standard error. */
  readonly json: boolean;
  /** Shows every record of level info and above, including a line a request. */
  readonly verbose: boolean;
  /** Once ready, it outlives the process that started it (detach.ts). */
  readonly detached: boolean;
  /** Faults to arm when it is ready. */
  readonly chaos?: ChaosRequest | undefined;
}

/** npm forwards a Ctrl-C that the terminal has already sent us: a second one within this time is the same one. */
const sameSignalMs = 700;

/** Resolves, with an exit code, when everything has stopped. */
export async function up(options: UpOptions): Promise<number> {
  if (options.settings.SIGNMESH_TLS_CERT !== undefined || options.settings.SIGNMESH_TLS_KEY !== undefined) {
    throw new Failure(
      'SIGNMESH_TLS_CERT is for gateways that run alone; "signmesh up" runs a cluster on one machine, with plain REST and gRPC. Unset it, or see docs/deployment.md.',
      exitCodes.usage,
    );
  }
  const { chaos, settings } = options;
  if (chaos !== undefined && (settings.SIGNMESH_ENVIRONMENT !== 'sandbox' || !faultsOn(settings))) {
    throw new Failure('--chaos needs a sandbox with SIGNMESH_FAULTS=on.', exitCodes.usage);
  }
  const run = new Run(options);
  return run.toTheEnd();
}

/** The configured addresses; other listeners bind any port and report it. */
function fixedListeners(settings: Settings): Listener[] {
  const { SIGNMESH_HTTP_HOST: httpHost, SIGNMESH_GRPC_HOST: grpcHost, SIGNMESH_COORDINATOR_PORT: port } = settings;
  const gateways = Array.from({ length: settings.SIGNMESH_GATEWAYS }, (_, index) => index);
  const { SIGNMESH_HTTP_PORT: httpPort, SIGNMESH_GRPC_PORT: grpcPort } = settings;
  return [
    ...gateways.flatMap((index) => [
      { host: httpHost, port: httpPort && httpPort + index, what: 'REST', variable: 'SIGNMESH_HTTP_PORT' },
      { host: grpcHost, port: grpcPort && grpcPort + index, what: 'gRPC', variable: 'SIGNMESH_GRPC_PORT' },
    ]),
    { host: '127.0.0.1', port, what: 'coordinator', variable: 'SIGNMESH_COORDINATOR_PORT' },
  ].filter((listener) => listener.port !== 0);
}

class Run {
  readonly #options: UpOptions;
  readonly #screen: Screen;
  #cluster: Cluster | undefined;
  #injector: LiveFaultInjection | undefined;
  #vendor: SimulatedVendor | undefined;
  /** Of the proxies before the first gateway; undefined: callers go to it directly. */
  #apiServerPorts: { readonly http: number; readonly grpc: number } | undefined;
  #lock: Lock | undefined;
  #askedToStopAtMs: number | undefined;
  #stopping = false;
  #askToStop: (why: string) => void = () => undefined;
  #endWatch: () => void = () => undefined;

  constructor(options: UpOptions) {
    this.#options = options;
    const stream = options.json ? process.stderr : process.stdout;
    const terminal = stream.isTTY === true;
    this.#screen = new Screen({ stream, terminal, colour: terminal && options.settings.NO_COLOR === undefined });
    for (const output of [process.stdout, process.stderr]) {
      // The reader of our output has ended: continue stopping.
      output.on('error', () => undefined);
    }
  }

  async toTheEnd(): Promise<number> {
    const asked = new Promise<string>((resolve) => {
      this.#askToStop = resolve;
    });
    const onSignal = (signal: NodeJS.Signals) => this.#onSignal(signal);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
    this.#endWatch = watchParent(() => this.#askToStop('the process that started it has ended'));
    try {
      const why = await Promise.race([asked, this.#start().then(() => asked)]);
      this.#screen.endProgress();
      this.#screen.line(`\nStopping: ${why}.`);
      return exitCodes.ok;
    } finally {
      await this.#stop();
      this.#endWatch();
    }
  }

  #onSignal(signal: NodeJS.Signals): void {
    const nowMs = performance.now();
    if (this.#askedToStopAtMs !== undefined) {
      if (nowMs - this.#askedToStopAtMs < sameSignalMs) return;
      this.#cluster?.kill();
      this.#lock?.release();
      process.exit(exitCodes.interrupted);
    }
    this.#askedToStopAtMs = nowMs;
    this.#askToStop(signal === 'SIGINT' ? 'Ctrl-C (again: at once)' : signal);
  }

  async #stop(): Promise<void> {
    this.#stopping = true;
    this.#injector?.release();
    if (Object.keys(this.#cluster?.pids ?? {}).length > 0) {
      const beganMs = performance.now();
      await this.#cluster?.stop();
      this.#screen.line(`All processes have stopped (${duration(performance.now() - beganMs)}).`);
    }
    await this.#cluster?.stop();
    await this.#injector?.stop();
    await this.#vendor?.server.stop();
    this.#lock?.release();
  }

  async #start(): Promise<void> {
    const { settings, seed, nodes } = this.#options;
    const beganMs = performance.now();
    const faults = faultsOn(settings);
    const clientDealers = clientDealersAllowed(settings, true);
    const dataDir = settings.SIGNMESH_DATA_DIR;
    const say = (line: string) => this.#screen.notice(line);

    const runDir = join(dataDir, 'run');
    checkPortsDiffer(fixedListeners(settings));
    makeDataDirectory(dataDir, ['run', 'logs']);
    this.#lock = takeLock(lockFile(dataDir), dataDir);
    await endLeftovers(runDir, say);
    checkDataFormat(dataDir);
    for (const listener of fixedListeners(settings)) await checkPortFree(listener);
    // Before the sandbox: a production cluster's directory gets no ready-made keys.
    const making = clustersInSteps(dataDir, {
      clusters: settings.SIGNMESH_CLUSTERS,
      nodes,
      nodesDefault: settings.SIGNMESH_NODES,
      threshold: settings.SIGNMESH_THRESHOLD,
      environment: settings.SIGNMESH_ENVIRONMENT,
    });
    const rosters = await this.#screen.step(
      'identities',
      () => this.#inSteps(making),
      (made) =>
        made === undefined
          ? 'making and checking the files of the nodes'
          : `${made.reduce((sum, { nodes: members }) => sum + members.length, 0)} nodes`,
    );
    const [first] = rosters as [Roster, ...Roster[]];
    const isSandbox = settings.SIGNMESH_ENVIRONMENT === 'sandbox';
    const sandbox = isSandbox
      ? ensureSandbox(
          dataDir,
          seed ?? settings.SIGNMESH_SEED,
          first.nodes.map(({ id }) => id),
        )
      : undefined;

    const cluster = await this.#makeCluster(rosters, sandbox, faults, clientDealers);
    if (this.#stopping) return;
    this.#cluster = cluster;
    await startProcesses(cluster, rosters, {
      settings,
      screen: this.#screen,
      httpUrl: () => this.#httpUrl,
      isStopping: () => this.#stopping,
    });
    const keys = await this.#makeKeys(sandbox, first.nodes.length);
    if (this.#stopping) return;
    cluster.showFrom(this.#options.verbose ? 'info' : 'warn');
    const chaos = await this.#armChaos(sandbox, first);
    this.#announce(sandbox, keys, rosters, chaos, performance.now() - beganMs);
    await cluster.broken;
  }

  /** A signal is obeyed between two steps. */
  async #inSteps<T>(work: Steps<T>): Promise<T> {
    for (;;) {
      const { done, value } = work.next();
      if (done) return value;
      await untilIdle();
      if (this.#stopping) throw new Failure('The start was interrupted.');
    }
  }

  async #makeCluster(
    rosters: readonly Roster[],
    sandbox: Sandbox | undefined,
    faults: boolean,
    clientDealers: boolean,
  ): Promise<Cluster> {
    const say = (line: string, isNews = true) => (isNews ? this.#screen.notice(line) : this.#screen.line(line));
    const { settings, environment } = this.#options;
    const dataDir = settings.SIGNMESH_DATA_DIR;
    const nodesPerProcess = settings.SIGNMESH_NODES_PER_PROCESS;
    const nodeProcesses = rosters.map(({ nodes }) => Math.ceil(nodes.length / nodesPerProcess));
    const { SIGNMESH_WORKERS: workers, SIGNMESH_GATEWAYS: gateways } = settings;
    const processCount = nodeProcesses.reduce((sum, count) => sum + count, rosters.length + workers + gateways);
    // Coordinator, nodes, gateway, workers.
    const metrics = new MetricsTargets(settings, processCount);
    const configured = [...fixedListeners(settings), ...metrics.listeners];
    checkPortsDiffer(configured);
    const reservedPorts = new Set(configured.map(({ port }) => port));
    const redis =
      settings.REDIS_URL === undefined
        ? await privateRedis({
            dataDir,
            reservedPorts,
            onMoved: () => this.#cluster?.redisMoved(),
            fsync: settings.SIGNMESH_REDIS_FSYNC,
            program: settings.SIGNMESH_REDIS_SERVER,
            logFile: join(dataDir, 'logs', 'redis.log'),
            recordFile: join(dataDir, 'run', 'redis.pid'),
          })
        : undefined;
    const doors = faults && settings.SIGNMESH_DOOR_FAULTS ? this.#doors() : undefined;
    const injector = faults
      ? new LiveFaultInjection({
          dataDir,
          rosters,
          coordinatorUrl: (number) => this.#cluster?.coordinatorUrl(number),
          reservedPorts,
          redisUrl: () => this.#cluster?.redisUrl ?? '',
          ownsRedis: redis !== undefined,
          doors,
          vendor: () => this.#vendor?.server,
          say,
          scenarios: hostedScenarios(() => this.#hosted(sandbox, doors !== undefined)),
        })
      : undefined;
    this.#injector = injector;
    const proxies = await injector?.start().catch((error: unknown) => {
      // Taken since it was checked.
      const { port } = error as { readonly port?: number };
      const listener = configured.find((each) => each.port === port);
      throw listener === undefined ? error : listenFailure(listener, error);
    });
    const [http, grpc] = proxies?.doors ?? [];
    this.#apiServerPorts = http !== undefined && grpc !== undefined ? { http, grpc } : undefined;
    for (const port of proxies?.doors ?? []) reservedPorts.add(port);
    const nodes = rosters.flatMap(({ number = firstCluster, nodes }) =>
      nodes.map(({ id }) => processIn(number, `node/${id}`)),
    );
    this.#vendor = await this.#startVendor(sandbox, reservedPorts);
    const cluster = new Cluster({
      dataDir,
      clusters: rosters.map((roster, index) => ({
        number: index + 1,
        nodes: roster.nodes.length,
        coordinatorPort: index === 0 ? settings.SIGNMESH_COORDINATOR_PORT : 0,
        proxyUrl: proxies?.urls[index],
      })),
      nodesPerProcess,
      gateways,
      workers,
      httpPort: settings.SIGNMESH_HTTP_PORT,
      grpcPort: settings.SIGNMESH_GRPC_PORT,
      hasProxiedServers: doors !== undefined,
      reservedPorts,
      redis: redis ?? { url: settings.REDIS_URL ?? '' },
      environment,
      metrics,
      nodeEnvironment: this.#vendor?.environment ?? {},
      clientDealers,
      say,
      onCoordinatorMoved: (number) => injector?.coordinatorMoved(number),
    });
    injector?.govern(cluster, (processes) =>
      redis === undefined || sandbox === undefined
        ? undefined
        : new Snapshots({
            dataDir,
            nodes,
            get redisUrl() {
              return cluster.redisUrl;
            },
            processes,
            untilLinked: () => injector.untilLinked(),
            makeReadyKeys: () =>
              readyKeys({ ask: askAt(this.#httpUrl, sandbox.token), nodes: rosters[0]!.nodes.length }),
          }),
    );
    return cluster;
  }

  /** undefined: the settings name another vendor, or none. */
  async #startVendor(
    sandbox: Sandbox | undefined,
    reservedPorts: ReadonlySet<number>,
  ): Promise<SimulatedVendor | undefined> {
    const { settings } = this.#options;
    if (sandbox === undefined || settings.SIGNMESH_VENDOR_URL !== undefined || !settings.SIGNMESH_SIMULATED_VENDOR) {
      return undefined;
    }
    const { SIGNMESH_DATA_DIR: dataDir, SIGNMESH_SIMULATED_VENDOR_DECIDES_MS: decideMs } = settings;
    return startSimulatedVendor(dataDir, decideMs, () => this.#injector?.injector.clockOffsetMs ?? 0, reservedPorts);
  }

  /** The proxies take the gateway's ports, and it listens on loopback behind them. */
  #doors() {
    const { settings } = this.#options;
    const upstream = (of: 'http' | 'grpc') => () => {
      const port = this.#cluster?.gatewayPorts(0)[of] ?? 0;
      return port === 0 ? undefined : { host: '127.0.0.1', port };
    };
    return {
      http: {
        listen: { host: settings.SIGNMESH_HTTP_HOST, port: settings.SIGNMESH_HTTP_PORT },
        upstream: upstream('http'),
      },
      grpc: {
        listen: { host: settings.SIGNMESH_GRPC_HOST, port: settings.SIGNMESH_GRPC_PORT },
        upstream: upstream('grpc'),
      },
    };
  }

  async #makeKeys(sandbox: Sandbox | undefined, nodes: number): Promise<readonly ReadyKey[]> {
    if (sandbox === undefined || this.#stopping) return [];
    let waitingFor = '';
    const { token } = sandbox;
    return this.#screen.step(
      'keys',
      () =>
        readyKeys({
          ask: askAt(this.#httpUrl, token),
          nodes,
          pids: () => Object.values(this.#cluster?.pids ?? {}),
          onWaiting: (why) => (waitingFor = why),
        }),
      (keys) => {
        if (keys) return `${keys.length} ready-made`;
        return waitingFor === '' ? 'making the ready-made ones' : `waiting: ${waitingFor}`;
      },
    );
  }

  async #armChaos(sandbox: Sandbox | undefined, { nodes }: Roster): Promise<ArmedChaos | undefined> {
    const { chaos, settings } = this.#options;
    if (chaos === undefined || sandbox === undefined) return undefined;
    const { armChaos } = await import('../start/chaos.ts');
    const { threshold } = defaultSharing(nodes.length);
    const size = { nodes: nodes.length, threshold: settings.SIGNMESH_THRESHOLD ?? threshold };
    const ask = askAt(this.#httpUrl, sandbox.token);
    return armChaos(chaos, { ...size, ask, dataDir: settings.SIGNMESH_DATA_DIR });
  }

  /** undefined: it is starting. */
  #hosted(sandbox: Sandbox | undefined, hasApiFaults: boolean): HostedSandbox | undefined {
    if (sandbox === undefined || this.#cluster === undefined) return undefined;
    const count = this.#options.settings.SIGNMESH_GATEWAYS;
    const gateways = Array.from({ length: count }, (_, index) => this.#gatewayAddress(index));
    return { gateways, token: sandbox.token, hasApiFaults };
  }

  #announce(
    sandbox: Sandbox | undefined,
    keys: readonly ReadyKey[],
    rosters: readonly Roster[],
    chaos: ArmedChaos | undefined,
    tookMs: number,
  ): void {
    const { settings, json, detached } = this.#options;
    const ready = readyLine({
      httpUrl: this.#httpUrl,
      grpcAddress: this.#gatewayAddress(0).grpc,
      token: sandbox?.token,
      approverToken: sandbox?.approverToken,
      keys,
      secretSeed: sandbox !== undefined && sandbox.kind !== 'public',
      data: { kind: 'directory', path: settings.SIGNMESH_DATA_DIR },
      tookMs,
      clusters: rosters.map(({ number = firstCluster, nodes }) => ({ cluster: number, nodes: nodes.length })),
      gateways: Array.from({ length: settings.SIGNMESH_GATEWAYS }, (_, index) => this.#gatewayAddress(index)),
      bytesPerNode: this.#cluster?.bytesPerNode,
      pids: { up: process.pid, ...this.#cluster?.pids },
      chaos,
    });
    const line = JSON.stringify(ready);
    // The command that started it detached ends when it reads that everything is ready.
    if (detached) this.#endWatch();
    replaceShortLived(readyFile(settings.SIGNMESH_DATA_DIR), `${line}\n`);
    if (!detached) for (const each of bannerLines(ready, 'Ctrl-C', this.#screen)) this.#screen.line(each);
    if (json) process.stdout.write(`${line}\n`);
  }

  get #httpUrl(): string {
    return this.#gatewayAddress(0).http;
  }

  /** For callers, once the gateway has reported its ports. */
  #gatewayAddress(index: number): { readonly http: string; readonly grpc: string } {
    const { SIGNMESH_HTTP_HOST: httpHost, SIGNMESH_GRPC_HOST: grpcHost } = this.#options.settings;
    const own = this.#cluster?.gatewayPorts(index);
    const ports = index === 0 ? (this.#apiServerPorts ?? own) : own;
    return { http: `http://${reachable(httpHost)}:${ports?.http}`, grpc: `${reachable(grpcHost)}:${ports?.grpc}` };
  }
}

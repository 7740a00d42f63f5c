/**
 * `signmesh up --embedded`: the whole service in this process, with nothing else to install or start (simulation/embedded/service.ts), from
 * its banner to its last output.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setImmediate as untilIdle } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { consoleFiles } from '../../clients/console/files.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import { type LiveTelemetry, openTelemetry } from '../../core/telemetry/live.ts';
import { logRequests } from '../../gateway/access-log/access-log.ts';
import { packageVersion } from '../../gateway/api/version.ts';
import { defaultSharing } from '../../proto/roster.ts';
import { ApiServerError } from '../../simulation/embedded/api-servers.ts';
import type { EmbeddedService } from '../../simulation/embedded/service.ts';
import { startEmbedded } from '../../simulation/embedded/service.ts';
import type { ServiceRecorder } from '../../simulation/embedded/service-recorder.ts';
import { loadState, StateFileError, type StoredState, saveState } from '../../simulation/embedded/state-file.ts';
import { dataFormat, firstSealedFormat, isReadable } from '../cluster-files/data-format.ts';
import { newSandbox, type Sandbox, sandboxSchemes, sandboxTenant, seedMatches } from '../cluster-files/sandbox.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import { makeDataDirectory, replaceShortLived } from '../common/files.ts';
import { type Lock, takeLock } from '../common/lock.ts';
import { listenFailure } from '../common/ports.ts';
import { type HostedSandbox, hostedScenarios } from '../scenario/hosted.ts';
import { clientDealersAllowed, rateLimitsOf, type Settings } from '../settings/config.ts';
import { bannerLines, type Ready, type ReadyLineFacts, readyLine } from '../start/banner.ts';
import type { ArmedChaos, ChaosRequest } from '../start/chaos.ts';
import { readable } from '../start/log-record.ts';
import { watchParent } from '../start/parent-watch.ts';
import { askAt, type ReadyKey, readyKeys } from '../start/ready-keys.ts';
import { announceEmbedded, lockFile, readyFile } from '../start/running.ts';
import { duration, Screen } from '../start/screen.ts';
import { checkSettings, sizeOf } from './requested.ts';

export interface EmbeddedUp {
  readonly settings: Settings;
  /** undefined: the number in the state, else the default. */
  readonly seed: string | undefined;
  readonly nodes: number | undefined;
  readonly json: boolean;
  readonly verbose: boolean;
  /** A file to load if it exists, and to save at the end; undefined: the state is lost then. */
  readonly state: string | undefined;
  /** A file that gets, at the end, a scenario of the clients' calls and the faults. */
  readonly record: string | undefined;
  /** It runs in the background, and has its data directory to itself. */
  readonly detached: boolean;
  /** Faults to arm when it is ready. */
  readonly chaos?: ChaosRequest | undefined;
}

/**
 * V8 would let the heap grow to several times the used size before it collects, and its nursery to 32 MB. After a start that
 * has 16 MB, with which a signature takes the same CPU time.
 */
const memoryFlags = ['--heap-growing-percent=30', '--semi-space-growth-factor=1'];
/** npm forwards a Ctrl-C that the terminal has already sent us: a second one within this time is the same one. */
const sameSignalMs = 700;

/** Resolves, with an exit code, when it has stopped. */
export async function upEmbedded(options: EmbeddedUp): Promise<number> {
  checkSettings(options.settings);
  const stateFile = options.state === undefined ? undefined : stateFileAt(resolve(options.state));
  const recording = options.record === undefined ? undefined : await recordingTo(options.record);
  for (const file of [stateFile, recording?.path]) if (file !== undefined) checkWritable(file);
  const locks: Lock[] = [];
  try {
    return await served(options, stateFile, recording, locks);
  } finally {
    for (const lock of locks) lock.release();
  }
}

/** From the locks to the last output. Takes them into `locks`. */
async function served(
  options: EmbeddedUp,
  stateFile: string | undefined,
  recording: Recording | undefined,
  locks: Lock[],
): Promise<number> {
  const { settings, json } = options;
  if (stateFile !== undefined) locks.push(takeLock(`${stateFile}.lock`, stateFile, '--state file'));
  const stored = stateFile === undefined ? undefined : stateIn(stateFile);
  for (const flag of memoryFlags) setFlagsFromString(flag);
  const stream = json ? process.stderr : process.stdout;
  const terminal = stream.isTTY === true;
  const screen = new Screen({ stream, terminal, colour: terminal && settings.NO_COLOR === undefined });
  // The reader of our output has ended: continue stopping.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
  const dataDir = settings.SIGNMESH_DATA_DIR;
  const place = options.detached ? takePlace(dataDir) : undefined;
  if (place !== undefined) locks.push(place.lock);
  let saveAtOnce = (): void => undefined;
  const { asked, endWatch } = whenAskedToStop(() => {
    saveAtOnce();
    for (const lock of locks) lock.release();
  });
  const telemetry = await telemetryOf(settings);
  const starting = start(options, { screen, stored, stateFile, recorder: recording?.recorder, telemetry });
  const started = await Promise.race([asked, starting]).catch(async (error: unknown) => {
    await telemetry.stop();
    throw error;
  });
  if (typeof started === 'string') {
    // It has served nothing: there is nothing to save.
    screen.endProgress();
    screen.line(`\nStopping: ${started}.`);
    await telemetry.stop();
    return exitCodes.ok;
  }
  const { service, ready } = started;
  if (stateFile !== undefined) saveAtOnce = () => saveState(stateFile, dataFormat, service.state());
  if (place === undefined) {
    const unfound = announce(dataDir, ready, locks);
    for (const line of bannerLines(ready, 'Ctrl-C', screen)) screen.line(line);
    if (unfound !== undefined) screen.line(`  ${unfound}\n`);
  } else {
    // The starting command ends when it reads that everything is ready.
    endWatch();
    replaceShortLived(place.readyFile, `${JSON.stringify(ready)}\n`);
  }
  if (json) process.stdout.write(`${JSON.stringify(ready)}\n`);
  screen.line(`\nStopping: ${await asked}.`);
  const beganMs = performance.now();
  await recording?.recorder.finish();
  // The file must contain every answered request: no new requests from here on.
  await service.stop();
  await telemetry.stop();
  const failures: string[] = [];
  if (stateFile !== undefined) {
    await attempt(failures, `the state was not saved to ${stateFile}`, () =>
      saveState(stateFile, dataFormat, service.state()),
    );
  }
  if (recording !== undefined) {
    await attempt(failures, `the recording was not written to ${recording.path}`, async () => {
      const isWritten = await writeScenario(recording, ready.clusters, settings);
      screen.line(
        isWritten
          ? `The recording is in ${recording.path}: signmesh scenario run ${recording.path}`
          : `No client made a call that a scenario can repeat: ${recording.path} was not written.`,
      );
    });
  }
  if (failures.length > 0) throw new Failure(`${failures.join('; ')}.`, exitCodes.failed);
  screen.line(
    `It has stopped${stateFile === undefined ? '' : `; its state is in ${stateFile}`} (${duration(performance.now() - beganMs)}).`,
  );
  return exitCodes.ok;
}

/** Other commands find the service by a file, for as long as it runs; what to do where they do not. */
function announce(dataDir: string, ready: ReadyLineFacts, locks: Lock[]): string | undefined {
  const remedy = 'Commands such as "signmesh faults" find this one with --url and --token';
  try {
    const release = announceEmbedded(dataDir, ready);
    if (release === undefined) return `Another service runs in ${dataDir}. ${remedy}, or give each its own --data-dir.`;
    locks.push({ release });
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return `${error.message} ${remedy}.`;
    throw error;
  }
}

/** Throws a Failure when another service runs there. */
function takePlace(dataDir: string): { readonly lock: Lock; readonly readyFile: string } {
  makeDataDirectory(dataDir, ['run']);
  return { lock: takeLock(lockFile(dataDir), dataDir), readyFile: readyFile(dataDir) };
}

/** Notes the reason of a failure: the other files are still saved. */
async function attempt(failures: string[], what: string, run: () => void | Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Throws a Failure now instead of at the save, after hours of work. */
function checkWritable(path: string): void {
  // Under a name of its own: another process may be saving.
  const probe = `${path}.${randomUUID()}`;
  try {
    writeFileSync(probe, '', { mode: 0o600 });
    rmSync(probe);
  } catch (error) {
    throw new Failure(`${path} cannot be written: ${(error as Error).message.replace(probe, path)}.`);
  }
}

/** What a service starts with beside its options. */
interface StartParts {
  readonly screen: Screen;
  readonly stored: StoredState | undefined;
  readonly stateFile: string | undefined;
  readonly recorder: ServiceRecorder | undefined;
  readonly telemetry: LiveTelemetry;
}

/** Throws a Failure when the port of the metrics is not available. */
function telemetryOf(settings: Settings): Promise<LiveTelemetry> {
  const { SIGNMESH_METRICS_HOST: host, SIGNMESH_METRICS_PORT: port } = settings;
  return openTelemetry({
    about: { role: 'embedded' },
    metrics: port === undefined ? undefined : { host, port },
    traces: settings.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
  }).catch((error: unknown) => {
    throw listenFailure({ host, port: port ?? 0, what: 'metrics', variable: 'SIGNMESH_METRICS_PORT' }, error);
  });
}

async function start(options: EmbeddedUp, { screen, stored, stateFile, recorder, telemetry }: StartParts) {
  const { settings, seed = settings.SIGNMESH_SEED, verbose } = options;
  const { clusters, nodes, threshold } = sizeOf(options, stored, stateFile);
  const sandbox = stored?.sandbox ?? newSandbox(seed);
  if (stored !== undefined && seed !== undefined && !seedMatches(sandbox, seed)) {
    throw new Failure(`${stateFile} was made with another seed: omit --seed, or choose another file.`, exitCodes.usage);
  }
  let keys: ReadyKey[] = [];
  let doing = `making ${clusters * nodes} nodes`;
  const logOf = logsOn(screen, verbose);
  let hosted: HostedSandbox | undefined;
  const begin = async () => {
    // Makes room for a signal, and for the first note.
    await untilIdle();
    return startEmbedded({
      http: { host: settings.SIGNMESH_HTTP_HOST, port: settings.SIGNMESH_HTTP_PORT },
      grpc: { host: settings.SIGNMESH_GRPC_HOST, port: settings.SIGNMESH_GRPC_PORT },
      sealsStored: (stored?.format ?? dataFormat) < firstSealedFormat,
      ...{ clusters, nodes, threshold, sandbox, stored, logOf, recorder, telemetry: telemetry.telemetry },
      readyMade: { tenant: sandboxTenant, schemes: sandboxSchemes },
      version: packageVersion(),
      consoleFiles,
      scenarios: hostedScenarios(() => hosted),
      acceptAnyTestToken: settings.SIGNMESH_ACCEPT_ANY_TEST_TOKEN,
      corsOrigins: settings.SIGNMESH_CORS_ORIGINS,
      allowedHosts: settings.SIGNMESH_ALLOWED_HOSTS,
      chainBlockMs: settings.SIGNMESH_CHAIN_BLOCK_MS,
      providerTimeoutMs: settings.SIGNMESH_PROVIDER_TIMEOUT_MS,
      rateLimits: rateLimitsOf(settings),
      clientDealers: () => clientDealersAllowed(settings, true),
      ...(settings.SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS !== undefined && {
        retryScheduleMs: settings.SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS,
      }),
      config: {
        lifetimes: {
          signingMs: settings.SIGNMESH_SIGNING_LIFETIME_MS,
          pendingMs: settings.SIGNMESH_PENDING_LIFETIME_MS,
          dkgMs: settings.SIGNMESH_DKG_LIFETIME_MS,
        },
        nodesWaitMs: settings.SIGNMESH_NODES_WAIT_MS,
        partialTimeoutMs: settings.SIGNMESH_PARTIAL_TIMEOUT_MS,
      },
      requests: verbose && settings.SIGNMESH_ACCESS_LOG ? logRequests(logOf('gateway')) : undefined,
      makeKeys: async (ask) => {
        doing = 'making the ready-made keys';
        keys = await readyKeys({ ask, nodes });
        doing = 'opening its ports';
      },
    });
  };
  const service = await screen
    .step('service', begin, (made) =>
      made === undefined ? doing : `${clusters * nodes} nodes, ${keys.length} ready-made keys`,
    )
    .catch((error: unknown) => {
      throw error instanceof ApiServerError ? listenFailure(error.listener, error.cause) : error;
    });
  const gateways = [{ http: `http://${service.httpAddress}`, grpc: service.grpcAddress }];
  hosted = { gateways, token: sandbox.token, hasApiFaults: true };
  const { metricsUrl } = telemetry;
  let chaos: ArmedChaos | undefined;
  if (options.chaos !== undefined) {
    const { armChaos } = await import('../start/chaos.ts');
    const ask = askAt(`http://${service.httpAddress}`, sandbox.token);
    const size = { nodes, threshold: threshold ?? defaultSharing(nodes).threshold };
    chaos = await armChaos(options.chaos, { ...size, ask, dataDir: settings.SIGNMESH_DATA_DIR });
  }
  return { service, ready: readyOf(service, sandbox, keys, { kind: 'embedded', stateFile, metricsUrl }, chaos) };
}

function readyOf(
  service: EmbeddedService,
  sandbox: Sandbox,
  keys: readonly ReadyKey[],
  data: Ready['data'],
  chaos: ArmedChaos | undefined,
) {
  const { httpAddress, grpcAddress: grpc } = service;
  const http = `http://${httpAddress}`;
  const ready: Ready = {
    ...{ httpUrl: http, grpcAddress: grpc, token: sandbox.token, approverToken: sandbox.approverToken, keys },
    secretSeed: sandbox.kind !== 'public',
    data,
    // Since Node began.
    tookMs: performance.now(),
    clusters: service.world.clusters.each.map(({ roster }, index) => ({
      cluster: index + firstCluster,
      nodes: roster.nodes.length,
    })),
    gateways: [{ http, grpc }],
    bytesPerNode: undefined,
    pids: { up: process.pid },
    chaos,
  };
  return readyLine(ready);
}

interface Recording {
  readonly path: string;
  /** The name of the scenario, by its file. */
  readonly name: string;
  readonly recorder: ServiceRecorder;
}

/** Throws a Failure when the file's name is no valid scenario name. */
async function recordingTo(file: string): Promise<Recording> {
  const path = resolve(file);
  const name = /(?:^|[/\\])([a-z0-9][a-z0-9-]{0,79})\.yaml$/.exec(path)?.[1];
  if (name === undefined) {
    throw new Failure('--record takes a file such as my-session.yaml: lower case, digits and dashes.', exitCodes.usage);
  }
  const { startRecording } = await import('../../simulation/embedded/recording.ts');
  return { path, name, recorder: startRecording(() => performance.now()) };
}

/** false: there was nothing to write. */
async function writeScenario(
  { path, name, recorder }: Recording,
  clusters: Ready['clusters'],
  settings: Settings,
): Promise<boolean> {
  const { recordedScenario } = await import('../../simulation/embedded/recorded-scenario.ts');
  const { recorded, left, unsaid, receivers, finals, tokens } = recorder;
  const times = {
    partialTimeoutMs: settings.SIGNMESH_PARTIAL_TIMEOUT_MS,
    nodesWaitMs: settings.SIGNMESH_NODES_WAIT_MS,
  };
  const seen = { recorded, left, unsaid, receivers, finals, tokens };
  const size = { clusters: clusters.length, nodes: clusters[0]!.nodes };
  const text = recordedScenario({ ...seen, ...times, ...size, ...{ name, readyMade: sandboxSchemes } });
  if (text === undefined) return false;
  writeFileSync(path, text, { mode: 0o600 });
  return true;
}

/** A link is followed, so that its file is replaced and not the link, and has one lock. Throws a Failure. */
function stateFileAt(path: string): string {
  if (!existsSync(path)) return path;
  const file = realpathSync(path);
  // A device has no end, a pipe perhaps no writer.
  if (!statSync(file).isFile()) throw new Failure(`${path} cannot be read: it is no file. Name another one.`);
  return file;
}

function stateIn(path: string): StoredState | undefined {
  try {
    return loadState(path, isReadable);
  } catch (error) {
    throw error instanceof StateFileError ? new Failure(error.message) : error;
  }
}

/**
 * `asked` resolves with the reason. A second signal calls `saveAtOnce` and ends the process. `endWatch`: lets it outlive the
 * process that started it.
 */
function whenAskedToStop(saveAtOnce: () => void): { readonly asked: Promise<string>; endWatch(): void } {
  let endWatch = (): void => undefined;
  const asked = new Promise<string>((resolveAsked) => {
    let atMs: number | undefined;
    const onSignal = (signal: NodeJS.Signals) => {
      const nowMs = performance.now();
      if (atMs !== undefined && nowMs - atMs >= sameSignalMs) {
        saveAtOnce();
        process.exit(exitCodes.interrupted);
      }
      atMs ??= nowMs;
      resolveAsked(signal === 'SIGINT' ? 'Ctrl-C (again: at once)' : signal);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
    endWatch = watchParent(() => resolveAsked('the process that started it has ended'));
  });
  return { asked, endWatch: () => endWatch() };
}

const levels = { debug: 20, info: 30, warn: 40, error: 50 } as const;

/** Shows warnings and errors, with `--verbose` also records of level info. */
function logsOn(screen: Screen, verbose: boolean): (process: string) => Log {
  const from = verbose ? levels.info : levels.warn;
  return (name) => {
    const say = (level: keyof typeof levels) => (fields: object, msg: string) => {
      if (levels[level] < from) return;
      screen.line(`${name.padEnd(12)} ${readable({ ...fields, level: levels[level], msg })}`);
    };
    return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
  };
}

/**
 * One role as a separate process: started by `up` with a channel, or by itself (containers, other supervisors).
 *
 * It ends in order on SIGTERM and SIGINT, and when the channel closes: then `up` has ended, for any reason. Each role loads only
 * the rooms that it needs; a node never loads the gateway's libraries.
 */
import { pino } from 'pino';
import { consoleFiles } from '../clients/console/files.ts';
import type { LinkTls } from '../core/actors/live/link-tls.ts';
import { openTelemetry } from '../core/telemetry/live.ts';
import type { Telemetry } from '../core/telemetry/port.ts';
import type { SandboxControl } from '../scenarios/faults/control.ts';
import { isToSeal } from './cluster-files/record-sealing.ts';
import { startWarnings } from './cluster-files/start-warnings.ts';
import { type ListensMessage, type PortTakenMessage, readyMessage, type WaitingMessage } from './common/channel.ts';
import { errorCode, errorText, exitCodes } from './common/failure.ts';
import { listenFailure } from './common/ports.ts';
import { ipcControl, refusingControl } from './ipc-control.ts';
import { claimRedisPatiently } from './redis/redis-owner.ts';
import { sealOnceAt } from './redis/seal-records.ts';
import { Restartable, type Running } from './restartable.ts';
import { apiServerTlsOf, coordinatorConfig, gatewayConfig, nodeConfig, workerConfig } from './role-configs.ts';
import { holdPort, portOf, RolePorts } from './role-ports.ts';
import { faultsOn, type Settings } from './settings/config.ts';

export type RoleName = 'coordinator' | 'node' | 'gateway' | 'worker';

/** Shorter than the time before `up` kills it. */
const stopWithinMs = 4500;
const sealedPollMs = 100;

/** Resolves with an exit code when the role has stopped. */
export async function runRole(role: RoleName, nodeIds: readonly number[], settings: Settings): Promise<number> {
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
  const asked = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => resolve());
    process.once('disconnect', resolve);
  });
  const ports = new RolePorts(process.env, process.send && tell);
  const running = new Restartable(() => start(role, nodeIds, settings, ports));
  const started = running.start().catch((error: unknown) => {
    // `up` decides, and ends us.
    if (ports.reportTaken(error)) return asked;
    throw error;
  });
  // The awaited thing may never come (a Redis that refuses): then there is nothing to stop yet.
  const wasAsked = await Promise.race([started.then(() => false), asked.then(() => true)]);
  if (wasAsked) return exitCodes.ok;
  // `up` may have died during our start: then the channel is closed already, and its event is past.
  const wasSupervised = process.send !== undefined;
  if (wasSupervised && process.connected) process.send?.(readyMessage);
  if (!wasSupervised || process.connected) await asked;
  const exitCode = await stop(running);
  // `up` has ended and no longer reads our output: at an ordinary exit the log would try for ever to write its last lines.
  // Everything has stopped in order; only those lines are lost.
  if (wasSupervised && !process.connected) process.kill(process.pid, 'SIGKILL');
  return exitCode;
}

async function start(
  role: RoleName,
  nodeIds: readonly number[],
  settings: Settings,
  ports: RolePorts,
): Promise<Running> {
  const { SIGNMESH_METRICS_HOST: host, SIGNMESH_METRICS_PORT: port } = settings;
  const open = (chosen: number | undefined) =>
    openTelemetry({
      about: { role, ...(role === 'node' && { node: nodeIds.join('+') }) },
      metrics: chosen === undefined ? undefined : { host, port: chosen, tls: apiServerTlsOf(settings) },
      traces: settings.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
    }).catch((error: unknown) => {
      throw listenFailure({ host, port: chosen ?? 0, what: 'metrics', variable: 'SIGNMESH_METRICS_PORT' }, error);
    });
  const { telemetry, stop } =
    port === undefined
      ? await open(undefined)
      : await ports.open('SIGNMESH_METRICS_PORT', port, {
          open,
          portOf: ({ metricsUrl }) => Number(new URL(metricsUrl!).port),
          close: (opened) => opened.stop(),
        });
  try {
    const running = await startRole(role, nodeIds, settings, telemetry, ports);
    return { ...running, stop: () => running.stop().finally(stop) };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startRole(
  role: RoleName,
  nodeIds: readonly number[],
  settings: Settings,
  telemetry: Telemetry,
  ports: RolePorts,
): Promise<Running> {
  switch (role) {
    case 'coordinator': {
      const config = coordinatorConfig(settings);
      warnAtStart(role, settings, [config.linkTls]);
      const { listenHost: host, listenPort: port } = config;
      const cannotListen = (error: unknown, chosen = port) =>
        listenFailure({ host, port: chosen, what: 'coordinator', variable: 'SIGNMESH_COORDINATOR_PORT' }, error);
      // Nodes and gateways start once it is known, while the store opens. By itself it listens when it can serve.
      const listenOn = ports.isSupervised
        ? await ports.open('SIGNMESH_COORDINATOR_PORT', port, {
            open: (chosen) =>
              holdPort(host, chosen).catch((error: unknown) => Promise.reject(cannotListen(error, chosen))),
            portOf,
            close: async (held) => held.close(),
          })
        : undefined;
      const log = pino({ level: settings.SIGNMESH_LOG_LEVEL, base: { role } });
      // The only writer of a cluster's state: it checks that the state is its own before it writes any.
      await claimRedisPatiently(config.redisUrl, config.roster, {
        mayWait: () => true,
        onWaiting: (why) => {
          log.warn({ event: 'redis.refuses' }, `${why} Retrying.`);
          waitFor(why);
        },
      });
      const { runCoordinator } = await import('../coordinator/main.ts');
      return runCoordinator(config, { onTrouble: waitFor, telemetry, listenOn }).catch((error: unknown) => {
        listenOn?.close();
        if ((error as { syscall?: unknown }).syscall !== 'listen' && errorCode(error) !== 'ENOTFOUND') throw error;
        throw cannotListen(error);
      });
    }
    case 'node': {
      const configs = nodeIds.map((nodeId) => nodeConfig(settings, nodeId, ports.reserved));
      warnAtStart(
        role,
        settings,
        configs.map(({ linkTls }) => linkTls),
        nodeIds,
      );
      const { runNode } = await import('../nodes/main.ts');
      return together(configs.map((config) => runNode(config, telemetry)));
    }
    case 'gateway': {
      const config = gatewayConfig(settings, sandboxControl(settings));
      warnAtStart(role, settings, [config.linkTls]);
      const sealed = await sealOnceAt(settings.SIGNMESH_DATA_DIR, config.redisUrl);
      if (sealed !== undefined) {
        const log = pino({ level: settings.SIGNMESH_LOG_LEVEL, base: { role } });
        log.info({ event: 'store.sealed', ...sealed }, 'the records of the earlier version have got their MACs');
      }
      const { GatewayStartError, runGateway } = await import('../gateway/main.ts');
      const configured = { SIGNMESH_HTTP_PORT: config.httpPort, SIGNMESH_GRPC_PORT: config.grpcPort };
      return ports.openLasting(configured, ({ SIGNMESH_HTTP_PORT: httpPort = 0, SIGNMESH_GRPC_PORT: grpcPort = 0 }) =>
        runGateway({ ...config, httpPort, grpcPort, consoleFiles }, telemetry).catch((error: unknown) => {
          if (!(error instanceof GatewayStartError)) throw error;
          throw listenFailure(error.listener, error.cause);
        }),
      );
    }
    case 'worker': {
      const config = workerConfig(settings);
      warnAtStart(role, settings, []);
      for (let said = false; isToSeal(settings.SIGNMESH_DATA_DIR); said = true) {
        if (!said) waitFor('A gateway gives the records of the earlier version their MACs.');
        await new Promise((resolve) => setTimeout(resolve, sealedPollMs));
      }
      const { runWorker } = await import('../gateway/worker.ts');
      return runWorker(config, { telemetry });
    }
  }
}

/** Writes to the log: a remotely operated process has no other output. */
function warnAtStart(
  role: RoleName,
  settings: Settings,
  links: readonly (LinkTls | undefined)[],
  nodeIds: readonly number[] = [],
): void {
  const certs = { links: links.flatMap((tls) => (tls ? [tls.cert] : [])), door: apiServerTlsOf(settings)?.cert };
  const log = pino({ level: settings.SIGNMESH_LOG_LEVEL, base: { role } });
  for (const { event, text } of startWarnings(role, settings, certs, Date.now(), nodeIds)) log.warn({ event }, text);
}

/** Nodes in one process start and stop together; if one cannot start, none of them runs. */
async function together(starting: readonly Promise<Running>[]): Promise<Running> {
  const started = await Promise.allSettled(starting);
  const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const stop = () => Promise.all(running.map((one) => one.stop()));
  const failed = started.find((one) => one.status === 'rejected');
  if (failed === undefined) return { stop };
  await stop();
  throw failed.reason;
}

/** Reports the cause of a wait to `up`, if `up` started us; undefined: none. */
function waitFor(what: string | undefined): void {
  tell({ kind: 'waiting', ...(what !== undefined && { what }) });
}

/** To `up`, if it started us and still runs. */
function tell(message: WaitingMessage | ListensMessage | PortTakenMessage): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

/** undefined: production has none. */
function sandboxControl(settings: Settings): SandboxControl | undefined {
  const on = faultsOn(settings);
  if (settings.SIGNMESH_ENVIRONMENT !== 'sandbox') return undefined;
  if (!on) {
    return refusingControl('faults are off: start the sandbox without SIGNMESH_FAULTS=off');
  }
  if (process.send === undefined) {
    return refusingControl('this gateway runs alone: only a cluster started by `signmesh up` can inject faults');
  }
  control ??= ipcControl();
  return control;
}

let control: SandboxControl | undefined;

async function stop(running: Running): Promise<number> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not stop within ${stopWithinMs} ms`)), stopWithinMs);
  });
  try {
    await Promise.race([running.stop(), late]);
    return exitCodes.ok;
  } catch (error) {
    process.stderr.write(`stopping failed: ${errorText(error)}\n`);
    return exitCodes.failed;
  } finally {
    clearTimeout(timer);
  }
}

/** How `up` starts a role process as its child: its environment at each start, and the ports that it reports or finds taken. */
import { join } from 'node:path';
import { builtFile } from '../common/built.ts';
import { reservedPortsVariable } from '../common/channel.ts';
import type { Environment } from '../settings/config.ts';
import { type ChildPort, ChildPorts } from './child-ports.ts';
import { type MetricsTargets, metricsVariable } from './metrics-targets.ts';
import { clockEnvironment } from './process-control.ts';
import type { ChildSpec } from './supervisor.ts';

/** Our variables that a child must not inherit: each role gets its own, and no other role's secret. Links stay on loopback. */
const notInherited = /^(REDIS_URL$|SIGNMESH_LINK_TLS$|SIGNMESH_TLS_|SIGNMESH_SEED$|npm_|NODE_CHANNEL_)/;

/**
 * Each thread collects its own young objects. V8 would spread that over the cores: but here more processes than cores want to
 * run, and each collection would wait until its helpers run (measured: up to seven times as long).
 */
const roleFlags = ['--no-parallel-scavenge'];

export interface RoleOptions {
  readonly name: string;
  readonly processes: readonly string[];
  readonly args: readonly string[];
  readonly flags?: readonly string[];
  readonly ports?: Readonly<Record<string, ChildPort>>;
  /** Read at each start. */
  readonly environment: () => Environment;
  /** `hasMoved`: a port is another than before, or is known for the first time. */
  readonly onListens?: (hasMoved: boolean) => void;
}

/** What all roles of one `up` share. */
export interface RoleSurroundings {
  readonly dataDir: string;
  readonly environment: Environment;
  /** Ports that no process may choose; announced ones are added once they are known. */
  readonly reservedPorts: Set<number>;
  readonly metrics: MetricsTargets;
}

/** `clocks`: offsets by process, read at each start. */
export function roleChild(
  { name, processes, args, flags = roleFlags, ports: own = {}, environment, onListens }: RoleOptions,
  { dataDir, environment: inherited, reservedPorts, metrics }: RoleSurroundings,
  clocks: ReadonlyMap<string, number>,
): { readonly spec: ChildSpec; readonly ports: ChildPorts } {
  const ports = new ChildPorts({ ...own, ...metrics.next(name) });
  const kept = Object.entries(inherited).filter(([variable]) => !notInherited.test(variable));
  const spec: ChildSpec = {
    name,
    command: process.execPath,
    args: [...flags, builtFile('cli/main.js'), ...args],
    environment: { ...Object.fromEntries(kept), SIGNMESH_DATA_DIR: dataDir },
    environmentNow: () => ({
      ...environment(),
      ...ports.environment,
      [reservedPortsVariable]: [...reservedPorts].join(','),
      ...clockEnvironment(clocks, processes),
    }),
    channel: true,
    onListens: (bound) => {
      const hasMoved = ports.report(bound);
      const { [metricsVariable]: metricsPort } = bound;
      for (const [variable, port] of Object.entries(bound)) if (own[variable]?.isAnnounced) reservedPorts.add(port);
      // It comes by itself.
      if (metricsPort !== undefined) metrics.report(name, metricsPort, dataDir);
      else onListens?.(hasMoved);
    },
    onPortTaken: async ({ variable }, wasReady) => ports.taken(variable, wasReady),
    logFile: join(dataDir, 'logs', `${name}.log`),
    recordFile: join(dataDir, 'run', `${name}.pid`),
  };
  return { spec, ports };
}

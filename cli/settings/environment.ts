/** The settings of this process: its environment, overridden by the options of its call. */
import { loadSettings, type Settings } from './config.ts';

export interface PlaceFlags {
  readonly dataDir?: string;
  readonly port?: string;
  readonly grpcPort?: string;
  readonly doorFaults?: boolean;
  readonly clusters?: string;
  readonly threshold?: string;
  readonly gateways?: string;
  readonly workers?: string;
  readonly nodesPerProcess?: string;
}

const variableOf: Readonly<Record<Exclude<keyof PlaceFlags, 'doorFaults'>, string>> = {
  dataDir: 'SIGNMESH_DATA_DIR',
  port: 'SIGNMESH_HTTP_PORT',
  grpcPort: 'SIGNMESH_GRPC_PORT',
  clusters: 'SIGNMESH_CLUSTERS',
  threshold: 'SIGNMESH_THRESHOLD',
  gateways: 'SIGNMESH_GATEWAYS',
  workers: 'SIGNMESH_WORKERS',
  nodesPerProcess: 'SIGNMESH_NODES_PER_PROCESS',
};

/** Writes warnings to standard error. Throws a Failure for an invalid setting. */
export function readEnvironment(flags: PlaceFlags): { settings: Settings; environment: NodeJS.ProcessEnv } {
  const given = Object.entries(variableOf).flatMap(([flag, variable]) => {
    const value = flags[flag as keyof PlaceFlags];
    return value === undefined ? [] : [[variable, value] as const];
  });
  const doors = flags.doorFaults === true && { SIGNMESH_DOOR_FAULTS: 'on' };
  const environment = { ...process.env, ...Object.fromEntries(given), ...doors };
  const { settings, warnings } = loadSettings(environment);
  for (const warning of warnings) process.stderr.write(`signmesh: ${warning}\n`);
  return { settings, environment };
}

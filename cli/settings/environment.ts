/** The settings of this process: its environment, with the options of its call laid over it. */
import { loadSettings, type Settings } from './config.ts';

export interface PlaceFlags {
  readonly dataDir?: string;
  readonly port?: string;
  readonly grpcPort?: string;
  readonly doorFaults?: boolean;
}

/** Writes warnings to standard error. Throws a Failure for what a setting cannot be. */
export function readEnvironment(flags: PlaceFlags): { settings: Settings; environment: NodeJS.ProcessEnv } {
  const { dataDir, port, grpcPort, doorFaults } = flags;
  const environment = {
    ...process.env,
    ...(dataDir !== undefined && { SIGNMESH_DATA_DIR: dataDir }),
    ...(port !== undefined && { SIGNMESH_HTTP_PORT: port }),
    ...(grpcPort !== undefined && { SIGNMESH_GRPC_PORT: grpcPort }),
    ...(doorFaults === true && { SIGNMESH_DOOR_FAULTS: 'on' }),
  };
  const { settings, warnings } = loadSettings(environment);
  for (const warning of warnings) process.stderr.write(`signmesh: ${warning}\n`);
  return { settings, environment };
}

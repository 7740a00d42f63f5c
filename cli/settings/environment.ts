/** The settings of this process: its environment, overridden by the options of its call. */
import { Failure } from '../common/failure.ts';
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
  const { settings, warnings } = loadNamed(environment, new Set(given.map(([variable]) => variable)));
  for (const warning of warnings) process.stderr.write(`signmesh: ${warning}\n`);
  return { settings, environment };
}

/** An invalid value that came by an option is reported under the option's name too. */
function loadNamed(environment: NodeJS.ProcessEnv, given: ReadonlySet<string>): ReturnType<typeof loadSettings> {
  try {
    return loadSettings(environment);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const message = error.message.replace(/^(\w+):/gm, (text, variable: string) => {
      const flag = Object.entries(variableOf).find(([, name]) => name === variable && given.has(name))?.[0];
      return flag === undefined
        ? text
        : `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} (${variable}):`;
    });
    throw new Failure(message, error.exitCode);
  }
}

/** The service that an events command calls: the one in its options, or the sandbox that runs in the data directory. */
import type { Command } from 'commander';
import { exitCodes, Failure } from '../common/failure.ts';
import { loadSettings } from '../settings/config.ts';
import { readReady } from '../up/public.ts';

export interface TargetFlags {
  readonly url?: string;
  readonly token?: string;
  readonly dataDir?: string;
}

export interface Target {
  /** Without a slash at the end. */
  readonly url: string;
  /** Secret. */
  readonly token: string;
  /** Address of the gRPC API, where known. */
  readonly grpc: string | undefined;
  /** Another person's token of the same tenant, where there is one. Secret. */
  readonly approverToken: string | undefined;
}

export function withTarget(command: Command): Command {
  return command
    .option('--url <url>', 'the service, such as http://127.0.0.1:8080')
    .option('--token <token>', 'token of the tenant; by default the sandbox’s own')
    .option('--data-dir <path>', 'data directory of the sandbox (SIGNMESH_DATA_DIR)');
}

/** Throws a Failure when a value is missing and no running sandbox provides it. */
export function targetOf(flags: TargetFlags, environment: NodeJS.ProcessEnv = process.env): Target {
  const { url, token } = flags;
  if (url !== undefined && !/^https?:\/\/./.test(url)) {
    throw new Failure('--url must begin with http:// or https://.', exitCodes.usage);
  }
  if (url !== undefined && token !== undefined) {
    return { url: url.replace(/\/+$/, ''), token, grpc: undefined, approverToken: undefined };
  }
  const { dataDir } = flags;
  const { settings } = loadSettings({ ...environment, ...(dataDir !== undefined && { SIGNMESH_DATA_DIR: dataDir }) });
  const place = settings.SIGNMESH_DATA_DIR;
  const ready = readReady(place);
  if (ready === undefined) {
    throw new Failure(`No cluster runs in ${place}: start one with "signmesh up", or give --url and --token.`);
  }
  const isOwn = token === undefined || token === ready.token;
  const found = isOwn ? ready.token : token;
  if (typeof found !== 'string') {
    throw new Failure('A production cluster has no ready-made token: give --token.', exitCodes.usage);
  }
  return {
    url: (url ?? ready.http).replace(/\/+$/, ''),
    token: found,
    grpc: url === undefined ? ready.grpc : undefined,
    approverToken: isOwn ? (ready.approver_token ?? undefined) : undefined,
  };
}

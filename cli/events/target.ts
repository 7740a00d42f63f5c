/** The service that an events command calls: the one in its options, or the sandbox that runs in the data directory. */
import type { Command } from 'commander';
import { isLoopback } from '../../core/actors/live/link-tls.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import { loadSettings } from '../settings/config.ts';
import type { ReadyLineFacts } from '../start/banner.ts';
import { readReady, runningCluster } from '../start/running.ts';

export interface TargetFlags {
  readonly url?: string;
  readonly token?: string;
  readonly dataDir?: string;
  /** Address of the gRPC API, of commands that call it. */
  readonly grpc?: string;
}

/** The sandbox's token would go to another host. */
export class TokenKept extends Failure {}

export interface ServiceTarget {
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
    .option('--token <token>', 'token of the tenant; by default the sandbox’s own, on this host')
    .option('--data-dir <path>', 'data directory of the sandbox (SIGNMESH_DATA_DIR)');
}

/** Throws a Failure when a value is missing and no running sandbox provides it, and when its token would go to another host. */
export function targetOf(flags: TargetFlags, environment: NodeJS.ProcessEnv = process.env): ServiceTarget {
  const { url, token, grpc } = flags;
  if (url !== undefined && !(/^https?:\/\/./.test(url) && URL.canParse(url))) {
    throw new Failure('--url must begin with http:// or https://, and name a host.', exitCodes.usage);
  }
  if (url !== undefined && token !== undefined) {
    return { url: url.replace(/\/+$/, ''), token, grpc, approverToken: undefined };
  }
  const { dataDir } = flags;
  const { settings } = loadSettings({ ...environment, ...(dataDir !== undefined && { SIGNMESH_DATA_DIR: dataDir }) });
  const place = settings.SIGNMESH_DATA_DIR;
  const ready = runningCluster(place)?.ready ?? readReady(place);
  if (ready === undefined) {
    const what = url === undefined ? 'start one with "signmesh up", or give --url and --token' : 'give --token, too';
    throw new Failure(`No cluster runs in ${place}: ${what}.`);
  }
  const isOwn = token === undefined || token === ready.token;
  const found = isOwn ? ready.token : token;
  if (typeof found !== 'string') {
    throw new Failure('A production cluster has no ready-made token: give --token.', exitCodes.usage);
  }
  const strange = token === undefined ? [url, grpc].find((address) => isForeign(address, ready)) : undefined;
  if (strange !== undefined) {
    throw new TokenKept(
      `Give --token: the token of the sandbox in ${place} is not sent to ${strange}, which is another host.`,
      exitCodes.usage,
    );
  }
  return {
    url: (url ?? ready.http).replace(/\/+$/, ''),
    token: found,
    grpc: grpc ?? (url === undefined ? ready.grpc : undefined),
    approverToken: isOwn ? (ready.approver_token ?? undefined) : undefined,
  };
}

/** Of a URL, or of host:port: neither on this host, nor an address of the sandbox itself. */
function isForeign(address: string | undefined, { http, grpc, gateways }: ReadyLineFacts): boolean {
  if (address === undefined) return false;
  const place = placeOf(address);
  const own = [http, grpc, ...gateways.flatMap((each) => [each.http, each.grpc])];
  return place === undefined || !(isLoopback(place.hostname) || own.some((each) => placeOf(each)?.host === place.host));
}

/** undefined: no address. */
function placeOf(address: string): { readonly hostname: string; readonly host: string } | undefined {
  const url = /^https?:\/\//.test(address) ? address : `http://${address}`;
  if (!URL.canParse(url)) return undefined;
  const { hostname, protocol, port } = new URL(url);
  return { hostname, host: `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}` };
}

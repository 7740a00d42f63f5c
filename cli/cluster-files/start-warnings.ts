/** Warnings of a role at its start: certificates that expire soon, plain-text links between hosts, secrets that others can read. */
import { isLoopback } from '../../core/actors/live/link-tls.ts';
import { redisAddress, redisHosts } from '../../core/redis/address.ts';
import type { Settings } from '../settings/config.ts';
import type { Role } from '../settings/variables.ts';
import { expiryWarning } from './certificate-checks.ts';
import { exposureWarning } from './exposed-files.ts';

export interface StartWarning {
  readonly event: 'certificate.expires' | 'transport.plain' | 'coordinator.unreachable' | 'files.exposed';
  readonly text: string;
}

/** `certs`: PEM texts of the used ones. `nodeIds`: the nodes of this process. */
export function startWarnings(
  role: Role,
  settings: Settings,
  certs: { readonly links: readonly string[]; readonly door: string | undefined },
  nowMs: number,
  nodeIds: readonly number[] = [],
): readonly StartWarning[] {
  const days = settings.SIGNMESH_CERTIFICATE_WARN_DAYS;
  const texts = [
    ...certs.links.map((pem) => expiryWarning(pem, 'The certificate for links', days, nowMs)),
    certs.door && expiryWarning(certs.door, `${settings.SIGNMESH_TLS_CERT}`, days, nowMs),
  ];
  const expiring = texts.flatMap((text) => (text ? [{ event: 'certificate.expires' as const, text }] : []));
  const plain = plainTexts(role, settings, certs).map((text) => ({ event: 'transport.plain' as const, text }));
  const exposed = exposureWarning(role, settings, nodeIds);
  return [
    ...expiring,
    ...plain,
    ...unreachable(role, settings),
    ...(exposed === undefined ? [] : [{ event: 'files.exposed' as const, text: exposed }]),
  ];
}

function plainTexts(
  role: Role,
  settings: Settings,
  { links, door }: { readonly links: readonly string[]; readonly door: string | undefined },
): string[] {
  const { SIGNMESH_HTTP_HOST: http, SIGNMESH_GRPC_HOST: grpc, SIGNMESH_COORDINATOR_HOST: host } = settings;
  const texts: string[] = [];
  if (role === 'coordinator' && links.length === 0 && !isLoopback(host)) {
    texts.push(
      `Links on ${host} are plain (SIGNMESH_LINK_TLS=off): anyone on the network path can read and change messages.`,
    );
  }
  if (role === 'gateway' && door === undefined && !(isLoopback(http) && isLoopback(grpc))) {
    texts.push(
      'REST and gRPC are plain and reachable from other hosts: tokens cross the network in clear. Set SIGNMESH_TLS_CERT, or put a TLS proxy in front.',
    );
  }
  const { REDIS_URL: url = '' } = settings;
  const redis = role === 'node' ? undefined : redisAddress(url);
  if (redis !== undefined && !redis.isTls && !redis.nodes.every((node) => isLoopback(node.host))) {
    texts.push(
      `REDIS_URL is plain: its password and all data cross the network to ${redisHosts(url)} in clear. Use rediss://.`,
    );
  }
  return texts;
}

/** Gateways find cluster 1 by configuration, the others by the announcements of their coordinators. */
function unreachable(role: Role, settings: Settings): StartWarning[] {
  const { SIGNMESH_COORDINATOR_HOST: host, SIGNMESH_COORDINATOR_URL: url, SIGNMESH_CLUSTER: cluster } = settings;
  if (role !== 'coordinator' || cluster === 1 || url !== undefined || !['0.0.0.0', '::'].includes(host)) return [];
  const text = `Gateways on other hosts cannot find this coordinator: it announces ${host}. Set SIGNMESH_COORDINATOR_URL to an address that they reach.`;
  return [{ event: 'coordinator.unreachable', text }];
}

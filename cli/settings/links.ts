/** The links that use TLS, by the settings: across hosts all do, unless SIGNMESH_LINK_TLS says otherwise. */
import { isLoopback, isPlainAcross } from '../../core/actors/live/link-tls.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import type { Settings } from './config.ts';

type LinkSettings = Pick<Settings, 'SIGNMESH_LINK_TLS' | 'SIGNMESH_COORDINATOR_HOST' | 'SIGNMESH_COORDINATOR_URL'>;

const explicitly = 'or set SIGNMESH_LINK_TLS=off to allow plain links';

/** Throws a Failure (exit 2) for settings that contradict each other, and for plain links on an address that other hosts reach. */
export function coordinatorTakesTls(settings: LinkSettings): boolean {
  const { SIGNMESH_LINK_TLS: asked, SIGNMESH_COORDINATOR_HOST: host, SIGNMESH_COORDINATOR_URL: urls } = settings;
  const [announced] = urls ?? [];
  const isAnnounced = announced === undefined ? undefined : isTls(announced);
  const takes = asked ?? isAnnounced ?? !isLoopback(host);
  if (asked === undefined && !takes && !isLoopback(host)) {
    throw new Failure(
      `SIGNMESH_COORDINATOR_URL: ${announced} is plain, and other hosts reach ${host}. Use wss://, ${explicitly}.`,
      exitCodes.usage,
    );
  }
  if (isAnnounced !== undefined && isAnnounced !== takes) {
    throw new Failure(
      `SIGNMESH_COORDINATOR_URL: ${announced} contradicts SIGNMESH_LINK_TLS=${takes ? 'on' : 'off'}. Write ${takes ? 'wss' : 'ws'}://, or unset one.`,
      exitCodes.usage,
    );
  }
  return takes;
}

/** Whether a node or gateway needs a certificate for its links. Throws a Failure (exit 2) for a plain link that is not allowed. */
export function linksUseTls({ SIGNMESH_LINK_TLS: asked }: LinkSettings, urls: readonly string[]): boolean {
  for (const url of urls) {
    if (isTls(url) || asked === false) continue;
    if (asked === true || isPlainAcross(url)) {
      const why = asked === true ? 'as SIGNMESH_LINK_TLS=on asks' : `since links to other hosts use TLS, ${explicitly}`;
      throw new Failure(`SIGNMESH_COORDINATOR_URL: ${url} is plain. Use wss://, ${why}.`, exitCodes.usage);
    }
  }
  return urls.some(isTls);
}

function isTls(url: string): boolean {
  return url.startsWith('wss:');
}

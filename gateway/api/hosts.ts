/**
 * The names under which a sandbox answers. A page that a browser loaded from any site can have that site's name resolve to this
 * host (DNS rebinding): the browser then takes this service for the page's own origin, and no CORS rule stops it. Its requests
 * still name the site in Host. Addresses, and names that no public DNS serves, cannot be such a site.
 *
 * The port does not matter. X-Forwarded-Host is not read: a page can set it.
 */
import { isIP } from 'node:net';
import { ServiceError } from './errors/service-error.ts';

const localNames = ['localhost', 'host.docker.internal'];

/** Probes ask for it by any name. */
const healthTarget = /^\/v1\/health(\?|$)/;

export interface HostedRequest {
  readonly target: string;
  readonly headers: { readonly host?: string | undefined };
}

/** Throws a ServiceError for the Host of another site. `allowed`: further names, or "*" for all. */
export function needLocalHost({ target, headers }: HostedRequest, allowed: readonly string[]): void {
  if (healthTarget.test(target)) return;
  const name = nameIn(headers.host ?? '');
  if (allowed.includes('*') || allowed.some((one) => one.toLowerCase() === name)) return;
  if (!name.includes('.') || isIP(name) !== 0 || localNames.includes(name) || name.endsWith('.localhost')) return;
  throw new ServiceError(
    'misdirected',
    `this sandbox does not answer as ${name.slice(0, 253)}: if the name is yours, add it to SIGNMESH_ALLOWED_HOSTS (* for any)`,
  );
}

/** Whether a browser's page comes from this machine. */
export function isLoopbackOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { hostname, origin: canonical } = new URL(origin);
  return canonical === origin && isLoopbackHost(hostname);
}

/** Whether a Host header names this machine alone. */
export function isLoopbackHost(host: string): boolean {
  const name = nameIn(host);
  const isLoopback = name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
  return isLoopback || name === 'localhost' || name.endsWith('.localhost');
}

/** Of "name:port" or "[address]:port", in lower case. What has another form stays as it is. */
function nameIn(host: string): string {
  const lower = host.toLowerCase();
  return /^\[([^\]]*)\](?::\d*)?$/.exec(lower)?.[1] ?? /^([^:]*)(?::\d*)?$/.exec(lower)?.[1] ?? lower;
}

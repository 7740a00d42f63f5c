/**
 * The names under which a sandbox answers. A page that a browser loaded from any site can have that site's name resolve to this
 * host (DNS rebinding): the browser then takes this service for the page's own origin, and no CORS rule stops it. Its requests
 * still name the site in Host. Addresses, and names that no public DNS serves, cannot be such a site.
 *
 * The port does not matter. X-Forwarded-Host is not read: a page can set it.
 */
import { isIP } from 'node:net';
import { ServiceError } from './errors/service-error.ts';

/** Labels and dots: "evil.example/.localhost" is none, and a browser takes it for evil.example. */
const hostName = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

/** Probes ask for it by any name. */
const healthTarget = /^\/v1\/health(\?|$)/;

export interface HostedRequest {
  readonly target: string;
  readonly headers: { readonly host?: string | undefined };
}

/** Throws a ServiceError for the Host of another site. `allowed`: further names, or "*" for all. */
export function needLocalHost({ target, headers }: HostedRequest, allowed: readonly string[]): void {
  if (healthTarget.test(target)) return;
  const { host } = headers;
  // Every browser sends one.
  if (host === undefined || allowed.includes('*')) return;
  const name = nameIn(host);
  if (name !== undefined && (isLocal(name) || allowed.some((one) => one.toLowerCase() === name))) return;
  throw new ServiceError(
    'misdirected',
    `this sandbox does not answer as "${host.slice(0, 253)}": if the name is yours, add it to SIGNMESH_ALLOWED_HOSTS (* for any)`,
  );
}

function isLocal(name: string): boolean {
  return isIP(name) !== 0 || !name.includes('.') || name.endsWith('.localhost') || name === 'host.docker.internal';
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
  if (name === undefined) return false;
  const isLoopback = name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
  return isLoopback || name === 'localhost' || name.endsWith('.localhost');
}

/** Of "name:port" or "[address]:port", in lower case; undefined: neither a name nor an address. */
function nameIn(host: string): string | undefined {
  const [, bracketed, name = bracketed] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.toLowerCase()) ?? [];
  return name !== undefined && (isIP(name) !== 0 || hostName.test(name)) ? name : undefined;
}

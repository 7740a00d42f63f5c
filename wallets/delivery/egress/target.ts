/**
 * Checks a caller's URL by itself: scheme, credentials, port, and the address if it contains one. The WHATWG parser normalizes
 * it first, so that decimal, octal, hexadecimal and shortened IPv4 addresses appear in normal form.
 */
import { isIP } from 'node:net';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { evaluateAddress } from './addresses.ts';

export const targetCharsMax = 2048;

/** `issue` in lower_snake for an error's details, `message` for the person who reads it. */
export interface TargetProblem {
  readonly issue: string;
  readonly message: string;
}

/** In production: the usual ports of https, and those that need no privilege. */
const productionPorts = (port: number) => port === 443 || port === 8443 || port >= 1024;

export function checkTarget(text: string, environment: ClusterEnvironment): URL | TargetProblem {
  if (text.length > targetCharsMax) return { issue: 'too_long', message: `at most ${targetCharsMax} characters` };
  if (!URL.canParse(text)) return { issue: 'invalid_format', message: 'it must be an absolute URL' };
  const url = new URL(text);
  const production = environment === 'production';
  if (url.protocol !== 'https:' && (production || url.protocol !== 'http:')) {
    const schemes = production ? 'https' : 'https or http';
    return { issue: 'scheme_not_allowed', message: `its scheme must be ${schemes}` };
  }
  if (url.username !== '' || url.password !== '') {
    return { issue: 'credentials_not_allowed', message: 'it must not hold a user name or a password' };
  }
  if (url.hash !== '') return { issue: 'fragment_not_allowed', message: 'it must not have a fragment (#…)' };
  const port = portOf(url);
  if (port === 0 || (production && !productionPorts(port))) {
    const ports = production ? '443, 8443, or 1024 and above' : 'from 1 to 65535';
    return { issue: 'port_not_allowed', message: `its port must be ${ports}` };
  }
  const host = hostOf(url);
  if (isIP(host) !== 0) {
    const verdict = evaluateAddress(host, environment);
    if (!verdict.allowed) {
      return { issue: 'address_not_allowed', message: `its address is not allowed here (${verdict.range})` };
    }
  } else if (production && isLocalName(host)) {
    return { issue: 'address_not_allowed', message: 'its host is local to this machine or network' };
  }
  return url;
}

/** Without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** Names that no public resolver answers. Others are checked when they are resolved. */
function isLocalName(host: string): boolean {
  const name = host.replace(/\.$/, '').toLowerCase();
  return !name.includes('.') || /(^|\.)(localhost|local|internal|lan|home\.arpa)$/.test(name);
}

/**
 * The certificates of a data directory: an authority (`authority/ca.key`, only for the set-up machine, and `ca.crt`, which every
 * process pins), and a certificate and key for each coordinator and node, and for the gateways. `signmesh init` makes missing
 * ones; `signmesh certificates` renews, lists and issues further ones.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { firstCluster } from '../../core/redis/clusters.ts';
import { certificateName, type LinkRole } from '../../proto/link-names.ts';
import type { Roster } from '../../proto/roster.ts';
import { Failure } from '../common/failure.ts';
import { makeDirectory, readIfThere, replaceFile, writeOnce } from '../common/files.ts';
import { authorityFile } from './certificate-file.ts';
import { clusterFolder } from './cluster-material.ts';
import { issue, type KeyAndCertificate, type Leaf, makeAuthority, type Validity } from './x509.ts';

export const authorityKeyFile = 'authority/ca.key';

const dayMs = 24 * 3_600_000;
const authorityDays = 3650;
export const leafDays = 365;
/** Tolerance for differing clocks of two hosts. */
const backdatedMs = 3_600_000;

/** The owner of a certificate, and its place in the data directory: the paths without `.crt` and `.key`. */
export interface Holder {
  readonly path: string;
  readonly leaf: Leaf;
}

/** Of every process that has links, in order. */
export function holdersOf(rosters: readonly Roster[]): readonly Holder[] {
  return rosters.flatMap((roster) => {
    const { number = firstCluster, nodes } = roster;
    const folder = clusterFolder('', number);
    const holder = (role: LinkRole, part: string, nodeId?: number): Holder => ({
      path: join(folder, part, 'tls'),
      leaf: {
        title: `${role}${nodeId === undefined ? '' : ` ${nodeId}`} of ${roster.clusterId}`,
        uris: [certificateName(roster, role, nodeId)!],
        usage: [role === 'coordinator' ? 'server' : 'client'],
      },
    });
    return [
      holder('coordinator', 'coordinator'),
      ...nodes.map(({ id }) => holder('node', `node-${id}`, id)),
      ...(number === firstCluster ? [holder('gateway', 'gateway')] : []),
    ];
  });
}

/** Makes missing certificates; changes no existing one. Returns the number that it made. */
export function ensureCertificates(dataDir: string, rosters: readonly Roster[], now: Date): number {
  const missing = holdersOf(rosters).filter(({ path }) => !existsSync(join(dataDir, `${path}.crt`)));
  if (missing.length === 0) return 0;
  const authority = ensureAuthority(dataDir, rosters[0]!, now);
  for (const { path, leaf } of missing) writePair(join(dataDir, path), issue(authority, leaf, leafValidity(now)));
  return missing.length;
}

/** New keys and certificates for every folder that exists here. Returns their paths. Throws a Failure without an authority. */
export function renewCertificates(dataDir: string, rosters: readonly Roster[], now: Date): readonly string[] {
  const authority = readAuthority(dataDir);
  const here = holdersOf(rosters).filter(({ path }) => existsSync(join(dataDir, path, '..')));
  for (const { path, leaf } of here) writePair(join(dataDir, path), issue(authority, leaf, leafValidity(now)));
  return here.map(({ path }) => `${path}.crt`);
}

/** For an API server, a Redis or a client of one: writes `<path>.crt` and `<path>.key`. */
export function issueFor(dataDir: string, path: string, leaf: Leaf, now: Date): void {
  const pair = issue(readAuthority(dataDir), leaf, leafValidity(now));
  if (existsSync(`${path}.crt`) || existsSync(`${path}.key`)) {
    throw new Failure(`${path}.crt or ${path}.key exists already. Choose another --out, or remove the files.`);
  }
  writePair(path, pair);
}

function leafValidity(now: Date): Validity {
  return validityOf(now, leafDays);
}

function validityOf(now: Date, days: number): Validity {
  // X.509 counts in seconds.
  const atMs = Math.floor(now.getTime() / 1000) * 1000;
  return { notBefore: new Date(atMs - backdatedMs), notAfter: new Date(atMs + days * dayMs) };
}

function ensureAuthority(dataDir: string, { installation, clusterId }: Roster, now: Date): KeyAndCertificate {
  const hasKey = existsSync(join(dataDir, authorityKeyFile));
  if (!hasKey && existsSync(join(dataDir, authorityFile))) readAuthority(dataDir);
  if (!hasKey) {
    const { key, cert } = makeAuthority(
      `signmesh authority of ${installation ?? clusterId}`,
      validityOf(now, authorityDays),
    );
    makeDirectory(join(dataDir, 'authority'));
    // One text, so that a kill cannot leave a key without its certificate.
    writeOnce(join(dataDir, authorityKeyFile), key + cert);
  }
  const [, cert = ''] = splitAuthority(dataDir);
  writeOnce(join(dataDir, authorityFile), cert);
  return readAuthority(dataDir);
}

/** Throws a Failure where the authority's key is missing, as on every host except the set-up machine. */
function readAuthority(dataDir: string): KeyAndCertificate {
  const [key, cert] = splitAuthority(dataDir);
  if (key === undefined || cert === undefined) {
    throw new Failure(
      `${join(dataDir, authorityKeyFile)} is missing: run this command on the machine of "signmesh init".`,
    );
  }
  if (readIfThere(join(dataDir, authorityFile)) !== cert) {
    throw new Failure(`${join(dataDir, authorityFile)} is not the certificate of ${authorityKeyFile}.`);
  }
  return { key, cert };
}

function splitAuthority(dataDir: string): readonly string[] {
  const text = readIfThere(join(dataDir, authorityKeyFile)) ?? '';
  return text.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----\n/g) ?? [];
}

/** Writes the certificate last: a certificate on disk implies its key. */
function writePair(path: string, { key, cert }: KeyAndCertificate): void {
  makeDirectory(join(path, '..'));
  replaceFile(`${path}.key`, key);
  replaceFile(`${path}.crt`, cert);
}

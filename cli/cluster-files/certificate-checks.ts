/**
 * Checks a process's own certificates before it starts: they exist, belong together, contain its name and are valid now. So the
 * host with a wrong file reports the file, and not a connection that the other side closed.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import type { LinkTls } from '../../core/actors/live/link-tls.ts';
import type { ApiServerTls } from '../../gateway/http/server-tls.ts';
import { certificateName, type LinkRole } from '../../proto/link-names.ts';
import type { Roster } from '../../proto/roster.ts';
import { errorText, exitCodes, Failure } from '../common/failure.ts';
import { readIfThere } from '../common/files.ts';
import { authorityFile, readCertificate } from './certificate-file.ts';

const dayMs = 24 * 3_600_000;
const renewal =
  'Renew it with "signmesh certificates renew" where the authority is, and copy it here (docs/deployment.md).';

export interface LinkEnd {
  readonly dataDir: string;
  /** Of its key and certificate. */
  readonly folder: string;
  readonly roster: Roster;
  readonly role: LinkRole;
  /** Of a node. */
  readonly nodeId: number | undefined;
  readonly nowMs: number;
}

/** The certificate of a role for its links, from `<folder>/tls.crt` and `.key`. Throws a Failure that names the fault. */
export function readLinkTls({ dataDir, folder, roster, role, nodeId, nowMs }: LinkEnd): LinkTls {
  const certFile = join(folder, 'tls.crt');
  const ca = readCertificate(join(dataDir, authorityFile));
  const own = readCertificate(certFile);
  const key = readKey(join(folder, 'tls.key'), own, certFile);
  if (!own.checkIssued(ca) || !own.verify(ca.publicKey)) {
    throw new Failure(
      `${certFile} was not issued by ${join(dataDir, authorityFile)}: copy both from one data directory.`,
    );
  }
  const name = certificateName(roster, role, nodeId);
  if (name === undefined || !(own.subjectAltName ?? '').split(', ').includes(`URI:${name}`)) {
    const who = role === 'node' ? `node ${nodeId}` : `the ${role}`;
    throw new Failure(`${certFile} is not the certificate of ${who} in cluster.json.`);
  }
  checkTimes(certFile, own, nowMs);
  return { ca: ca.toString(), cert: own.toString(), key };
}

/** Files of the operator's choice. It does not verify their chains. */
export function readApiServerTls(files: {
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly clientCa: string | undefined;
  readonly nowMs: number;
}): ApiServerTls | undefined {
  const { cert: certFile, key: keyFile, clientCa: caFile, nowMs } = files;
  if (certFile === undefined || keyFile === undefined) {
    if (certFile === keyFile && caFile === undefined) return undefined;
    throw new Failure(
      'SIGNMESH_TLS_CERT and SIGNMESH_TLS_KEY belong together: set both, or unset both and SIGNMESH_TLS_CLIENT_CA.',
      exitCodes.usage,
    );
  }
  const cert = readCertificate(certFile);
  checkTimes(certFile, cert, nowMs);
  if (caFile !== undefined) readCertificate(caFile);
  return {
    cert: readIfThere(certFile)!,
    key: readKey(keyFile, cert, certFile),
    clientCa: caFile === undefined ? undefined : readIfThere(caFile),
  };
}

/** A sentence about the expiry; undefined while there is time. */
export function expiryWarning(pem: string, what: string, warnDays: number, nowMs: number): string | undefined {
  const { validTo } = new X509Certificate(pem);
  const days = (Date.parse(validTo) - nowMs) / dayMs;
  if (days > warnDays) return undefined;
  return `${what} expires in ${Math.max(0, Math.floor(days))} days, on ${new Date(validTo).toISOString()}. ${renewal}`;
}

function checkTimes(path: string, { validFrom, validTo }: X509Certificate, nowMs: number): void {
  if (Date.parse(validTo) < nowMs) {
    throw new Failure(`${path} has expired on ${new Date(validTo).toISOString()}. ${renewal}`);
  }
  if (Date.parse(validFrom) > nowMs) {
    throw new Failure(
      `${path} is valid from ${new Date(validFrom).toISOString()} on only. Is the clock of this host right?`,
    );
  }
}

function readKey(path: string, cert: X509Certificate, certPath: string): string {
  const key = readIfThere(path);
  if (key === undefined) throw new Failure(`${path} is missing.`);
  let fits: boolean;
  try {
    fits = cert.checkPrivateKey(createPrivateKey(key));
  } catch (error) {
    throw new Failure(`${path} holds no private key in PEM: ${errorText(error)}`);
  }
  if (!fits) throw new Failure(`${path} is not the key of ${certPath}.`);
  return key;
}

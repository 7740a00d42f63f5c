/** Reads a certificate: every role does at its start, without loading the code that makes certificates (x509.ts). */
import { X509Certificate } from 'node:crypto';
import { errorText, Failure } from '../common/failure.ts';
import { readIfThere } from '../common/files.ts';

/** In the data directory. */
export const authorityFile = 'ca.crt';

/** Throws a Failure that names the file. */
export function readCertificate(path: string): X509Certificate {
  const text = readIfThere(path);
  if (text === undefined) throw new Failure(`${path} is missing. "signmesh init" makes it.`);
  try {
    return new X509Certificate(text);
  } catch (error) {
    throw new Failure(`${path} holds no certificate in PEM: ${errorText(error)}`);
  }
}

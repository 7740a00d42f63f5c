/**
 * Makes certificates (RFC 5280): an authority's own, and those that it signs. Structures and DER come from @peculiar/asn1-x509;
 * keys and signatures from Node, ECDSA over P-256 with SHA-256, which every TLS stack accepts.
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import * as x509 from '@peculiar/asn1-x509';

/** PEM texts. `key` is secret. */
export interface KeyAndCertificate {
  readonly key: string;
  readonly cert: string;
}

export interface Leaf {
  /** Common name, for people. */
  readonly title: string;
  /** Subject alternative names. */
  readonly uris?: readonly string[];
  /** DNS names and IP addresses. */
  readonly hosts?: readonly string[];
  readonly usage: readonly ('server' | 'client')[];
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const ecdsaWithSha256 = '1.2.840.10045.4.3.2';
const commonName = '2.5.4.3';
const serialBytes = 16;

export function makeAuthority(title: string, validity: Validity): KeyAndCertificate {
  const keys = newKeys();
  const { digitalSignature, keyCertSign, cRLSign } = x509.KeyUsageFlags;
  const cert = certificateOf({
    ...{ subject: title, issuer: title, validity, publicKey: keys.publicKey, signingKey: keys.key },
    extensions: [
      extension(x509.id_ce_basicConstraints, new x509.BasicConstraints({ cA: true, pathLenConstraint: 0 }), true),
      extension(x509.id_ce_keyUsage, new x509.KeyUsage(digitalSignature | keyCertSign | cRLSign), true),
      extension(x509.id_ce_subjectKeyIdentifier, new x509.SubjectKeyIdentifier(keyIdOf(keys.publicKey))),
    ],
  });
  return { key: keys.key, cert };
}

/** With a fresh key. */
export function issue(authority: KeyAndCertificate, leaf: Leaf, validity: Validity): KeyAndCertificate {
  const { title, uris = [], hosts = [], usage } = leaf;
  const keys = newKeys();
  const issuer = AsnConvert.parse(derOf(authority.cert), x509.Certificate).tbsCertificate;
  const names = [
    ...uris.map((uniformResourceIdentifier) => new x509.GeneralName({ uniformResourceIdentifier })),
    ...hosts.map((host) => new x509.GeneralName(isIP(host) === 0 ? { dNSName: host } : { iPAddress: host })),
  ];
  const purposes = { server: x509.id_kp_serverAuth, client: x509.id_kp_clientAuth };
  const issuerKeyId = new x509.AuthorityKeyIdentifier({
    keyIdentifier: new x509.KeyIdentifier(keyIdOf(AsnConvert.serialize(issuer.subjectPublicKeyInfo))),
  });
  const cert = certificateOf({
    ...{ subject: title, issuer: issuer.subject, validity, publicKey: keys.publicKey, signingKey: authority.key },
    extensions: [
      extension(x509.id_ce_basicConstraints, new x509.BasicConstraints(), true),
      extension(x509.id_ce_keyUsage, new x509.KeyUsage(x509.KeyUsageFlags.digitalSignature), true),
      extension(x509.id_ce_extKeyUsage, new x509.ExtendedKeyUsage(usage.map((one) => purposes[one]))),
      extension(x509.id_ce_subjectAltName, new x509.SubjectAlternativeName(names)),
      extension(x509.id_ce_subjectKeyIdentifier, new x509.SubjectKeyIdentifier(keyIdOf(keys.publicKey))),
      extension(x509.id_ce_authorityKeyIdentifier, issuerKeyId),
    ],
  });
  return { key: keys.key, cert };
}

interface Parts {
  readonly subject: string;
  readonly issuer: string | x509.Name;
  readonly validity: Validity;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: ArrayBuffer;
  /** PEM. */
  readonly signingKey: string;
  readonly extensions: x509.Extension[];
}

function certificateOf({ subject, issuer, validity, publicKey, signingKey, extensions }: Parts): string {
  const algorithm = new x509.AlgorithmIdentifier({ algorithm: ecdsaWithSha256 });
  const serial = randomBytes(serialBytes);
  // Positive, and no leading zero byte (RFC 5280 §4.1.2.2).
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  const tbsCertificate = new x509.TBSCertificate({
    version: x509.Version.v3,
    serialNumber: bufferOf(serial),
    signature: algorithm,
    issuer: typeof issuer === 'string' ? nameOf(issuer) : issuer,
    validity: new x509.Validity(validity),
    subject: nameOf(subject),
    subjectPublicKeyInfo: AsnConvert.parse(publicKey, x509.SubjectPublicKeyInfo),
    extensions: new x509.Extensions(extensions),
  });
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), createPrivateKey(signingKey));
  const certificate = new x509.Certificate({
    ...{ tbsCertificate, signatureAlgorithm: algorithm },
    signatureValue: bufferOf(signature),
  });
  const base64 = Buffer.from(AsnConvert.serialize(certificate)).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`;
}

function newKeys(): { readonly key: string; readonly publicKey: ArrayBuffer } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, publicKey: bufferOf(publicKey) };
}

function extension(id: string, value: unknown, critical = false): x509.Extension {
  return new x509.Extension({ extnID: id, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

function nameOf(title: string): x509.Name {
  const value = new x509.AttributeValue({ utf8String: title });
  return new x509.Name([
    new x509.RelativeDistinguishedName([new x509.AttributeTypeAndValue({ type: commonName, value })]),
  ]);
}

/** RFC 5280 §4.2.1.2 leaves the method open: 20 bytes of SHA-256 over the whole SubjectPublicKeyInfo (RFC 7093, method 4). */
function keyIdOf(publicKey: ArrayBuffer): ArrayBuffer {
  return bufferOf(createHash('sha256').update(Buffer.from(publicKey)).digest().subarray(0, 20));
}

function derOf(pem: string): ArrayBuffer {
  return bufferOf(Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64'));
}

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

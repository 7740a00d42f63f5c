/**
 * TLS below a link: when plain links are allowed, the checks of both certificates, and the names of refusals.
 *
 * Only TLS 1.3, with certificates of both ends under the deployment's own authority. A certificate names its holder by one URI;
 * host names do not matter. The handshake above it (handshake.ts) signs the channel binding of RFC 9266, and the identities are
 * pinned, so even an authority that issues certificates to an attacker does not make a man in the middle possible.
 */
import { constants } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ServerOptions } from 'node:https';
import type { ConnectionOptions, TLSSocket } from 'node:tls';

/** PEM texts. `key` is secret. */
export interface LinkTls {
  /** Of the authority that both ends' certificates come from. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** What TLS knows of the link that runs over it. */
export interface Channel {
  /** RFC 9266: 32 bytes that both ends of this TLS connection know, and no other connection has. */
  readonly binding: Uint8Array;
  /** The URIs in the peer's certificate, which the authority has signed. */
  readonly names: readonly string[];
}

/** Why TLS failed or was refused. */
export type TlsRefusalCode =
  | 'NOT_TLS'
  | 'TLS_VERSION'
  | 'NO_CERTIFICATE'
  | 'UNKNOWN_AUTHORITY'
  | 'CERTIFICATE_EXPIRED'
  | 'CERTIFICATE_NOT_YET_VALID'
  | 'CERTIFICATE_PURPOSE'
  | 'CERTIFICATE_MISMATCH'
  | 'TLS_FAILED';

const version = 'TLSv1.3';
const bindingLabel = 'EXPORTER-Channel-Binding';
export const bindingBytes = 32;

/** OpenSSL's and Node's error codes for each of our codes. The first match counts. */
const wordings: readonly (readonly [RegExp, TlsRefusalCode])[] = [
  [/^CERT_HAS_EXPIRED$|ALERT_CERTIFICATE_EXPIRED/, 'CERTIFICATE_EXPIRED'],
  [/^CERT_NOT_YET_VALID$/, 'CERTIFICATE_NOT_YET_VALID'],
  [/^INVALID_PURPOSE$|UNSUITABLE_CERTIFICATE/i, 'CERTIFICATE_PURPOSE'],
  [/^CERTIFICATE_MISMATCH$/, 'CERTIFICATE_MISMATCH'],
  [/DID_NOT_RETURN_A_CERTIFICATE|CERTIFICATE_REQUIRED/, 'NO_CERTIFICATE'],
  [
    /^(UNABLE_TO_(GET_ISSUER_CERT(_LOCALLY)?|VERIFY_LEAF_SIGNATURE)|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|CERT_(SIGNATURE_FAILURE|UNTRUSTED|REJECTED)|INVALID_CA|PATH_LENGTH_EXCEEDED)$|ALERT_UNKNOWN_CA/,
    'UNKNOWN_AUTHORITY',
  ],
  [/HTTP_REQUEST|WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|RECORD_LAYER_FAILURE|HTTPS_PROXY_REQUEST/, 'NOT_TLS'],
  [
    /UNSUPPORTED_PROTOCOL|PROTOCOL_VERSION|NO_PROTOCOLS_AVAILABLE|UNKNOWN_PROTOCOL|INAPPROPRIATE_FALLBACK/,
    'TLS_VERSION',
  ],
  [/^ERR_(SSL|TLS)_/, 'TLS_FAILED'],
];

/** undefined: the error is none of TLS. */
export function tlsRefusal(code: string | undefined): TlsRefusalCode | undefined {
  return code === undefined ? undefined : wordings.find(([pattern]) => pattern.test(code))?.[1];
}

/** A client reports a non-TLS answer as EPROTO, with OpenSSL's reason only in the message. */
export function clientRefusal({ code, message }: NodeJS.ErrnoException): TlsRefusalCode | undefined {
  if (code !== 'EPROTO') return tlsRefusal(code);
  return tlsRefusal(message.replaceAll(' ', '_').toUpperCase()) ?? 'TLS_FAILED';
}

/**
 * What a refusal on the server's side says: of the certificate if it was looked at, else of the handshake. undefined: the peer
 * ended the connection without a word, as port probes do.
 */
export function refusalOf(
  error: NodeJS.ErrnoException,
  socket: TLSSocket,
): { readonly code: TlsRefusalCode; readonly reason: string } | undefined {
  const { authorizationError } = socket as { authorizationError?: Error | string | null };
  const found = typeof authorizationError === 'string' ? authorizationError : authorizationError?.message;
  if (!found && error.code === 'ECONNRESET') return undefined;
  const reason = found || (error.code ?? error.name);
  return { code: tlsRefusal(reason) ?? 'TLS_FAILED', reason };
}

/**
 * For servers that ask for certificates. OpenSSL does not verify the certificate of a resumed session again, and gives it a new
 * ticket: a peer could keep resuming after its certificate has expired.
 */
export const withoutResumption = Object.freeze({ secureOptions: constants.SSL_OP_NO_TICKET });

export function serverTls({ ca, cert, key }: LinkTls, handshakeTimeoutMs: number): ServerOptions {
  return {
    ...{ ca, cert, key, handshakeTimeout: handshakeTimeoutMs },
    minVersion: version,
    requestCert: true,
    rejectUnauthorized: true,
    ...withoutResumption,
  };
}

/** `coordinatorName`: the URI that its certificate must hold. */
export function clientTls({ ca, cert, key }: LinkTls, coordinatorName: string): ConnectionOptions {
  return {
    ...{ ca, cert, key },
    minVersion: version,
    rejectUnauthorized: true,
    checkServerIdentity: (_host, { subjectaltname = '' }) => {
      if (namesIn(subjectaltname).includes(coordinatorName)) return undefined;
      const error = new Error(`the certificate is not that of ${coordinatorName}`);
      return Object.assign(error, { code: 'CERTIFICATE_MISMATCH' });
    },
  };
}

/** undefined: the connection is plain. */
export function channelOf({ socket }: Pick<IncomingMessage, 'socket'>): Channel | undefined {
  const tls = socket as TLSSocket;
  if (tls.encrypted !== true) return undefined;
  const binding = tls.exportKeyingMaterial(bindingBytes, bindingLabel, Buffer.alloc(0));
  return { binding, names: namesIn(tls.getPeerCertificate().subjectaltname ?? '') };
}

/** Node quotes a name that contains a comma or a quote: our names contain neither. */
function namesIn(subjectAltName: string): readonly string[] {
  const prefix = 'URI:';
  return subjectAltName.split(', ').flatMap((part) => (part.startsWith(prefix) ? [part.slice(prefix.length)] : []));
}

/** "localhost", 127.0.0.0/8, ::1. Other names count as other hosts, since they could resolve to any address. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase();
  return bare === 'localhost' || bare === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(bare);
}

/** Whether a link to this URL would cross between hosts in clear. */
export function isPlainAcross(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol !== 'wss:' && !isLoopback(hostname);
}

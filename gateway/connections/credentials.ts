/**
 * Credentials of a connection: checked against what the provider takes, sealed for their record, told apart by a
 * fingerprint. Nothing here says a value: errors name fields alone.
 */
import { createHmac } from 'node:crypto';
import { encodeParts, utf8 } from '../../crypto/bytes.ts';
import { type FieldIssue, ServiceError } from '../errors/service-error.ts';
import type { ProviderKind } from '../providers/kinds.ts';
import type { ProviderInfo } from '../providers/port.ts';
import { open, type SealAbout, seal } from '../secrets/envelope.ts';
import type { KeyRing } from '../secrets/key-ring.ts';
import { connectionType } from './record.ts';

/** By field name. Secret. */
export type Credentials = Readonly<Record<string, string>>;

/** A private key in PEM of 4096 bits has about 3,300 characters. */
export const credentialCharsMax = 16_384;

/** The credentials as they were given. Throws ServiceError 400 that names every missing, empty and unknown field. */
export function checkCredentials(info: ProviderInfo, given: Credentials): Credentials {
  const known = info.credentialFields.map(({ name }) => name);
  const details: FieldIssue[] = [];
  for (const { name, required, description } of info.credentialFields) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    const field = `credentials.${name}`;
    if (value === undefined && required) details.push({ field, issue: 'missing_required', message: description });
    if (value?.trim() === '') details.push({ field, issue: 'too_short', message: description });
  }
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const message = known.length === 0 ? `${info.kind} takes no credentials` : `${info.kind} takes ${known.join(', ')}`;
    details.push({ field: `credentials.${name}`, issue: 'unknown_field', message });
  }
  if (details.length === 0) return given;
  throw new ServiceError('invalidRequest', `these are not the credentials that ${info.kind} takes`, {
    details: details.slice(0, 20),
  });
}

/** What the envelope of a connection's credentials is sealed for. */
function aboutCredentials(tenant: string, connectionId: string): SealAbout {
  return { purpose: 'credentials', tenant, kind: connectionType.name, id: connectionId };
}

/** An envelope (../secrets/envelope.ts) for the record's `credentials`. */
export function sealCredentials(ring: KeyRing, tenant: string, connectionId: string, credentials: Credentials): string {
  return seal(ring, aboutCredentials(tenant, connectionId), JSON.stringify(credentials));
}

/** Throws EnvelopeBroken. */
export function openCredentials(ring: KeyRing, tenant: string, connectionId: string, sealed: string): Credentials {
  return JSON.parse(open(ring, aboutCredentials(tenant, connectionId), sealed)) as Credentials;
}

/**
 * 16 hex digits that are the same for the same credentials of a tenant and provider. An HMAC under a secret of the
 * installation: who sees it, or a dump of the store, cannot try passwords against it.
 *
 * @param key 32 secret bytes, the same for ever
 */
export function fingerprintOf(
  key: Uint8Array,
  tenant: string,
  provider: ProviderKind,
  credentials: Credentials,
): string {
  const fields = Object.entries(credentials).sort(([one], [other]) => (one < other ? -1 : 1));
  const words = ['signmesh/credential-fingerprint/v1', tenant, provider, ...fields.flat()];
  return createHmac('sha256', key)
    .update(encodeParts(...words.map(utf8)))
    .digest('hex')
    .slice(0, 16);
}

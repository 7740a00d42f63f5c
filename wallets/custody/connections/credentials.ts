/**
 * Credentials of a connection: validates them against the provider's fields, seals them for their record, and fingerprints
 * them. Nothing here exposes a value: errors name only fields.
 */
import { createHmac } from 'node:crypto';
import { encodeParts, utf8 } from '../../../core/crypto/bytes.ts';
import { type FieldIssue, ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { joinField } from '../../../gateway/api/schema-text.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import type { CredentialField, ProviderInfo } from '../../providers/port/port.ts';
import { open, type SealAbout, seal } from '../../store/secrets/envelope.ts';
import type { KeyRing } from '../../store/secrets/key-ring.ts';
import { connectionType } from './record.ts';

/** By field name. Secret. */
export type Credentials = Readonly<Record<string, string>>;

/** A private key in PEM of 4096 bits has about 3,300 characters. */
export const credentialCharsMax = 16_384;

/**
 * The credentials under the provider's own names. Throws ServiceError 400 that names every missing, empty, unknown and
 * twofold field, and all names that the provider takes.
 */
export function checkCredentials(info: ProviderInfo, given: Credentials): Credentials {
  const details: FieldIssue[] = [];
  const taken: [string, string][] = [];
  for (const field of info.credentialFields) {
    const { name, required } = field;
    const [said, ...more] = namesOf(field).filter((each) => Object.hasOwn(given, each));
    const message = describeCredential(field);
    for (const again of more) details.push({ field: fieldOf(again), issue: 'duplicate_field', message });
    if (said === undefined) {
      if (required) details.push({ field: fieldOf(name), issue: 'missing_required', message });
    } else if (given[said]!.trim() === '' && !info.takesAnyCredentials)
      details.push({ field: fieldOf(said), issue: 'too_short', message });
    else taken.push([name, given[said]!]);
  }
  const known = info.credentialFields.flatMap(namesOf);
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    if (info.takesAnyCredentials) taken.push([name, given[name]!]);
    else details.push({ field: fieldOf(name), issue: 'unknown_field', message: takes(info) });
  }
  if (details.length === 0) return Object.fromEntries(taken);
  throw new ServiceError('invalidRequest', `${info.kind} does not accept these credentials: it ${takes(info)}`, {
    details: details.slice(0, 20),
  });
}

function namesOf({ name, aliases = [] }: CredentialField): readonly string[] {
  return [name, ...aliases];
}

/** The caller's text is cut short. */
function fieldOf(name: string): string {
  return joinField('credentials', name);
}

function describeCredential(field: CredentialField): string {
  return `${namesOf(field).join(' or ')}: ${field.description}`;
}

/** e.g. "takes api_key, private_key (or secret, api_secret), workspace_id (or workspace; optional)". */
function takes({ credentialFields }: ProviderInfo): string {
  if (credentialFields.length === 0) return 'takes no credentials';
  const words = credentialFields.map(({ name, aliases = [], required }) => {
    const notes = [aliases.length === 0 ? '' : `or ${aliases.join(', ')}`, required ? '' : 'optional'];
    const said = notes.filter((note) => note !== '').join('; ');
    return said === '' ? name : `${name} (${said})`;
  });
  return `takes ${words.join(', ')}`;
}

/** JSON Schema 2020-12 of what `checkCredentials` takes. */
export function credentialSchema({ credentialFields, takesAnyCredentials = false }: ProviderInfo): object {
  const text = { type: 'string', maxLength: credentialCharsMax };
  const aliased = credentialFields.filter(({ aliases }) => aliases !== undefined);
  const notBlank = takesAnyCredentials ? {} : { pattern: '\\S' };
  return {
    type: 'object',
    properties: Object.fromEntries(
      credentialFields.flatMap((field) =>
        namesOf(field).map((name) => [
          name,
          { ...text, ...notBlank, description: describeCredential(field), writeOnly: field.secret },
        ]),
      ),
    ),
    additionalProperties: takesAnyCredentials ? text : false,
    required: credentialFields.filter((field) => field.required && !field.aliases).map(({ name }) => name),
    ...(aliased.length > 0 && { allOf: aliased.map(oneOfItsNames) }),
  };
}

/** A field with aliases stands there under one of its names; under none if it is optional. */
function oneOfItsNames(field: CredentialField): object {
  const named = namesOf(field).map((name) => ({ required: [name] }));
  return { oneOf: field.required ? named : [...named, { not: { anyOf: named } }] };
}

/** What the envelope of a connection's credentials is sealed for. */
function aboutCredentials(tenant: string, connectionId: string): SealAbout {
  return { purpose: 'credentials', tenant, kind: connectionType.name, id: connectionId };
}

/** An envelope (wallets/store/secrets/envelope.ts) for the record's `credentials`. */
export function sealCredentials(ring: KeyRing, tenant: string, connectionId: string, credentials: Credentials): string {
  return seal(ring, aboutCredentials(tenant, connectionId), JSON.stringify(credentials));
}

/** Throws EnvelopeBroken. */
export function openCredentials(ring: KeyRing, tenant: string, connectionId: string, sealed: string): Credentials {
  return JSON.parse(open(ring, aboutCredentials(tenant, connectionId), sealed)) as Credentials;
}

/**
 * 16 hex digits that are the same for the same credentials of a tenant and provider. An HMAC under a secret of the
 * installation: a reader of the fingerprint, or of a dump of the store, cannot test guesses against it.
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

/**
 * The record of a token, in Redis a hash of plain strings. Its field `mac` covers all others and the key that holds them, so that
 * a writer to Redis who lacks the gateways' token key can change no right, and pass no record for another's.
 */

import { RecordMacs } from '../../core/crypto/record-macs.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';
import { allScopes, isScope, type Scope } from '../api/scopes.ts';

export interface TokenRecord {
  /** `tok_` and a UUIDv7: names the token in listings and revocations. No secret. */
  readonly id: string;
  /** The actor: the id of the first token of its line before any rotation, which every rotation preserves. */
  readonly actorId: string;
  /**
   * The line of tokens that issued it, the first one first: ids, or the actor of a test token that was never issued. Empty: the
   * operator issued it. All tokens of a line are one actor, and revoking one ends all that follow it.
   */
  readonly issuers: readonly string[];
  readonly tenant: string;
  readonly environment: ClusterEnvironment;
  readonly scopes: readonly Scope[];
  /** A label for people; may be empty. */
  readonly name: string;
  /** Milliseconds since the Unix epoch; undefined: never. */
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
  /** undefined: every connection of the tenant. */
  readonly providerConnectionIds: readonly string[] | undefined;
  readonly createdAtMs: number;
}

/** Tokens that a line may have before the last one. */
export const issuersMax = 8;
/** Tokens of a tenant, those that ended in the last 30 days included. */
export const tokensMax = 10_000;

/** The record of a token has no right MAC: something else than this service wrote it. */
export class TokenTampered extends Error {
  override readonly name = 'TokenTampered';
  /** What is stored, if it reads as a record. Nothing in it can be relied on. */
  readonly found: TokenRecord | undefined;

  constructor(found: TokenRecord | undefined) {
    super(
      `the record of ${found?.id ?? 'a token'} was changed by something else than this service: revoke it, and issue another`,
    );
    this.found = found;
  }
}

export function recordToFields(record: TokenRecord): Record<string, string> {
  return {
    id: record.id,
    actor_id: record.actorId,
    tenant: record.tenant,
    environment: record.environment,
    scopes: record.scopes.join(','),
    name: record.name,
    expires_at: record.expiresAtMs?.toString() ?? '',
    revoked_at: record.revokedAtMs?.toString() ?? '',
    provider_connection_ids: record.providerConnectionIds?.join(',') ?? '',
    created_at: record.createdAtMs.toString(),
    ...(record.issuers.length > 0 && { issuers: record.issuers.join(',') }),
  };
}

/** undefined when these are not the fields of a token. */
export function recordFromFields(fields: Readonly<Record<string, string>>): TokenRecord | undefined {
  const { id, tenant, environment } = fields;
  if (!id || !tenant || (environment !== 'sandbox' && environment !== 'production')) return undefined;
  const listed = new Set((fields.scopes ?? '').split(',').filter(isScope));
  const connections = fields.provider_connection_ids ?? '';
  return {
    id,
    // Records older than actors have none.
    actorId: fields.actor_id || id,
    issuers: fields.issuers ? fields.issuers.split(',') : [],
    tenant,
    environment,
    scopes: allScopes.filter((scope) => listed.has(scope)),
    name: fields.name ?? '',
    expiresAtMs: toMs(fields.expires_at),
    revokedAtMs: toMs(fields.revoked_at),
    providerConnectionIds: connections === '' ? undefined : connections.split(','),
    createdAtMs: toMs(fields.created_at) ?? 0,
  };
}

/** A field that is not a number counts as long past, so that damage refuses a token and never revives one. */
function toMs(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : 0;
}

export const tokenKeyPrefix = 'sm:tok:';

export function tokenRecordKey(hash: string): string {
  return `${tokenKeyPrefix}${hash}`;
}

/** The MACs of token records. `tokenKey`: secret, the same for every gateway and command of an installation. */
export function tokenMacs(tokenKey: Uint8Array): RecordMacs {
  return new RecordMacs(tokenKey, 'signmesh/token-record/v1');
}

/** What the MAC of a record covers: its key, and every field that the hash has, known or not, by name. */
export function macParts(key: string, { mac: _, ...fields }: Readonly<Record<string, string>>): readonly string[] {
  return [
    key,
    ...Object.keys(fields)
      .sort()
      .flatMap((name) => [name, fields[name]!]),
  ];
}

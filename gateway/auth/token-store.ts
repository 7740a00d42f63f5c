/**
 * Tokens in Redis, stored only as keyed hashes: a reader of the store cannot call the service.
 *
 * Keys: `sm:tok:<hash>` holds the record (the hash is all that a request brings, so it stands without a tenant);
 * `sm:{t:<tenant>}:tok` maps a tenant's token ids to hashes. The record is written first: a crash in between leaves a
 * token that works and that no listing shows, never a listed one that does not work.
 *
 * Revoking a token writes its own record alone. What it issued ends with it, since a lookup reads the records of the whole line:
 * so no token escapes that is issued or rotated at the same moment.
 */
import type { Redis } from 'ioredis';
import type { Clock, Ports, RandomBytes } from '../../core/actors/contract.ts';
import type { RecordMacs } from '../../core/crypto/record-macs.ts';
import { type LuaCommand, luaCommand, luaScript } from '../../core/redis/lua.ts';
import { uuidV7 } from '../../proto/ids.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';
import { storeKeys } from '../../wallets/store/layout.ts';
import { tenantBeganAtMs } from '../../wallets/store/tenant-beginning.ts';
import { allScopes, type Scope, sandboxScopes, withinProviders } from '../api/scopes.ts';
import { hashToken, newToken, tokenEnvironment } from './token-format.ts';
import {
  macParts,
  recordFromFields,
  recordToFields,
  type TokenRecord,
  TokenTampered,
  tokenMacs,
  tokenRecordKey,
  tokensMax,
} from './token-record.ts';

/** All that authentication needs of the store. Rejects when the store cannot be reached, or with TokenTampered. */
export interface TokenLookup {
  lookup(hash: string): Promise<TokenRecord | undefined>;
  /** The tenant begins now, unless it has begun. */
  opened(tenant: string): Promise<void>;
}

export interface TokenRequest {
  readonly tenant: string;
  readonly environment: ClusterEnvironment;
  readonly scopes: readonly Scope[];
  readonly name?: string;
  /** Live tokens: 90 days by default. Test tokens do not expire unless told to. */
  readonly lifetimeMs?: number;
  /** When it ends, instead of a lifetime. */
  readonly expiresAtMs?: number | undefined;
  readonly providerConnectionIds?: readonly string[] | undefined;
  /** The actor and the line of the token that issues it. */
  readonly issuer?: Pick<TokenRecord, 'actorId' | 'issuers'>;
}

/** The token itself exists only here: it is shown once and cannot be read back. */
export interface IssuedToken {
  readonly token: string;
  readonly record: TokenRecord;
}

interface RevokeCall {
  readonly keys: { readonly recordKey: string };
  readonly args: { readonly revokedAt: string; readonly mac: string };
}

const revokeScript = luaScript<RevokeCall, number>('gateway/auth/revoke-token.lua');

/** A record as it is stored. */
interface Found {
  readonly key: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly record: TokenRecord;
}

export const liveTokenLifetimeMs = 90 * 24 * 3_600_000;
/** After its end a token may be dropped. */
const retainedMs = 30 * 24 * 3_600_000;
export const tenantPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** Id of the token that a sandbox prints in its banner. */
export const sandboxTokenId = 'tok_sandbox';
/** Id of the second one, which approves what the first has initiated. */
export const approverTokenId = 'tok_approver';

export class TokenStore implements TokenLookup {
  readonly #redis: Redis;
  readonly #tokenKey: Uint8Array;
  readonly #macs: RecordMacs;
  readonly #clock: Clock;
  readonly #random: RandomBytes;
  readonly #revoke: LuaCommand<RevokeCall, number>;

  /** `tokenKey`: 32 secret bytes, the same for every gateway and command of an installation. */
  constructor(redis: Redis, tokenKey: Uint8Array, { clock, random }: Pick<Ports, 'clock' | 'random'>) {
    this.#redis = redis;
    this.#tokenKey = tokenKey;
    this.#macs = tokenMacs(tokenKey);
    this.#clock = clock;
    this.#random = random;
    this.#revoke = luaCommand(redis, revokeScript);
  }

  async lookup(hash: string): Promise<TokenRecord | undefined> {
    return (await this.#find(hash))?.record;
  }

  /** undefined: the tenant has no such token. Throws TokenTampered. */
  async read(tenant: string, id: string): Promise<TokenRecord | undefined> {
    return (await this.#findOf(tenant, id))?.record;
  }

  /** The record of a hash; that of a token whose line has a revoked or missing one is revoked. */
  async #find(hash: string): Promise<Found | undefined> {
    const found = await this.#findAlone(hash);
    if (found === undefined || found.record.revokedAtMs !== undefined) return found;
    const { tenant, issuers, createdAtMs } = found.record;
    // The actor of a token that was never issued has no record, and is never revoked.
    const ids = issuers.filter((id) => id !== `tenant:${tenant}`);
    const line = await Promise.all(ids.map((id) => this.#findOf(tenant, id, (one) => this.#findAlone(one))));
    const ends = line.map((one) => (one === undefined ? createdAtMs : one.record.revokedAtMs));
    const revokedAtMs = ends.find((endedAtMs) => endedAtMs !== undefined);
    return revokedAtMs === undefined ? found : { ...found, record: { ...found.record, revokedAtMs } };
  }

  async #findAlone(hash: string): Promise<Found | undefined> {
    const key = tokenRecordKey(hash);
    const fields = await this.#redis.hgetall(key);
    if (Object.keys(fields).length === 0) return undefined;
    const record = recordFromFields(fields);
    if (record === undefined || !this.#macs.holds(macParts(key, fields), fields.mac)) throw new TokenTampered(record);
    return { key, fields, record };
  }

  async #findOf(tenant: string, id: string, find = (hash: string) => this.#find(hash)): Promise<Found | undefined> {
    const hash = await this.#redis.hget(storeKeys.tokens(tenant), id);
    const found = hash === null ? undefined : await find(hash);
    // The index has no MAC: it may name another token's record.
    return found?.record.id === id && found.record.tenant === tenant ? found : undefined;
  }

  async opened(tenant: string, nowMs: number = this.#clock.nowMs()): Promise<void> {
    await tenantBeganAtMs(this.#redis, tenant, nowMs);
  }

  /** Throws RangeError when the request makes no sense (tenant, empty scopes or connections). */
  async issueToken(request: TokenRequest): Promise<IssuedToken> {
    return this.#issue(this.#newRecord(request));
  }

  async #issue(record: TokenRecord): Promise<IssuedToken> {
    const token = newToken(record.environment, this.#random);
    await this.#write(token, record);
    return { token, record };
  }

  /**
   * False when the tenant has no such token. Revoking twice keeps the first time; a record that was changed is removed. Gateways
   * follow within 5 s.
   */
  async revokeToken(tenant: string, id: string): Promise<boolean> {
    let found: Found | undefined;
    try {
      found = await this.#findOf(tenant, id);
    } catch (error) {
      if (!(error instanceof TokenTampered)) throw error;
      // It is refused already, and nothing in it is worth keeping.
      await this.#remove(tenant, id);
      return true;
    }
    if (found === undefined) return false;
    await this.#end(found);
    return true;
  }

  /**
   * Issues a token with the same rights and the same actor and revokes the old one; undefined when the tenant has no such valid
   * token, or another call revokes it meanwhile. It lasts as long as the old one did from its beginning, if it `isRenewed` and
   * no token issued it; else it ends when the old one would have. Throws TokenTampered.
   */
  async rotateToken(tenant: string, id: string, isRenewed = true): Promise<IssuedToken | undefined> {
    const found = await this.#findOf(tenant, id);
    if (found === undefined || endOf(found.record) <= this.#clock.nowMs()) return undefined;
    const old = found.record;
    const { environment, scopes, name, expiresAtMs, createdAtMs, providerConnectionIds } = old;
    const ends =
      isRenewed && old.issuers.length === 0
        ? { ...(expiresAtMs !== undefined && { lifetimeMs: expiresAtMs - createdAtMs }) }
        : { expiresAtMs };
    const request = { tenant, environment, scopes, name, ...ends, providerConnectionIds };
    const issued = await this.#issue({ ...this.#newRecord(request), actorId: old.actorId, issuers: old.issuers });
    if (await this.#end(found)) return issued;
    await this.#remove(tenant, issued.record.id);
    return undefined;
  }

  /** False when its record is revoked already, or removed. */
  async #end({ key, fields, record }: Found): Promise<boolean> {
    if (record.revokedAtMs !== undefined) return false;
    const revokedAt = this.#clock.nowMs().toString();
    const mac = this.#macs.of(macParts(key, { ...fields, revoked_at: revokedAt }));
    return (await this.#revoke({ recordKey: key }, { revokedAt, mac })) === 1;
  }

  async #remove(tenant: string, id: string): Promise<void> {
    const hash = await this.#redis.hget(storeKeys.tokens(tenant), id);
    if (hash !== null) await this.#redis.del(tokenRecordKey(hash));
    await this.#redis.hdel(storeKeys.tokens(tenant), id);
  }

  /** The newest that `isShown`, and that come after this id. Throws TokenTampered. */
  async listPage(
    tenant: string,
    { limit, afterId }: { readonly limit: number; readonly afterId?: string },
    isShown: (record: TokenRecord) => boolean,
  ): Promise<{ readonly items: readonly TokenRecord[]; readonly hasMore: boolean }> {
    const ids = (await this.#redis.hkeys(storeKeys.tokens(tenant))).sort().reverse();
    const left = afterId === undefined ? ids : ids.filter((id) => id < afterId);
    const items: TokenRecord[] = [];
    while (left.length > 0 && items.length <= limit) {
      const records = await Promise.all(left.splice(0, limit + 1).map((id) => this.read(tenant, id)));
      items.push(...records.flatMap((record) => (record !== undefined && isShown(record) ? [record] : [])));
    }
    return { items: items.slice(0, limit), hasMore: items.length > limit };
  }

  /** Whether the tenant may have one more. If it has too many, those that ended long ago are removed first. */
  async hasRoom(tenant: string): Promise<boolean> {
    const isFull = async () => (await this.#redis.hlen(storeKeys.tokens(tenant))) >= tokensMax;
    if (!(await isFull())) return true;
    const longAgoMs = this.#clock.nowMs() - retainedMs;
    const ended = (await this.listTokens(tenant)).filter((record) => endOf(record) <= longAgoMs);
    for (const { id } of ended) await this.#remove(tenant, id);
    return !(await isFull());
  }

  /** Every token of a tenant, revoked and expired ones too, oldest first. Throws TokenTampered. */
  async listTokens(tenant: string): Promise<TokenRecord[]> {
    const hashes = await this.#redis.hvals(storeKeys.tokens(tenant));
    const records = await Promise.all(hashes.map((hash) => this.lookup(hash)));
    return records
      .flatMap((record) => (record?.tenant === tenant ? [record] : []))
      .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
  }

  /**
   * Registers the sandbox's own token: of a fixed tenant, with every scope and `sandbox:admin`. With `approverToken` a
   * second one of that tenant, without `sandbox:admin`. May be repeated; a revocation stays.
   */
  async ensureSandboxToken(token: string, tenant: string, approverToken?: string): Promise<TokenRecord> {
    const record = await this.#ensureFixed(token, sandboxTokenId, {
      tenant,
      environment: 'sandbox',
      scopes: allScopes,
      name: 'sandbox',
    });
    if (approverToken !== undefined) {
      const request = { tenant, environment: 'sandbox', scopes: sandboxScopes, name: 'approver' } as const;
      await this.#ensureFixed(approverToken, approverTokenId, request);
    }
    return record;
  }

  async #ensureFixed(token: string, id: string, request: TokenRequest): Promise<TokenRecord> {
    if (tokenEnvironment(token) !== 'sandbox') throw new RangeError('the sandbox token must be a svc_sk_test_ token');
    const fresh = this.#newRecord(request);
    const hash = hashToken(token, this.#tokenKey);
    // Of the sandbox's own tokens everything but a revocation is known: a record that was changed is written anew.
    const known = await this.lookup(hash).catch(async (error: unknown) => {
      if (!(error instanceof TokenTampered)) throw error;
      // With fields that are not the service's, which its MAC would not cover.
      await this.#redis.del(tokenRecordKey(hash));
      return undefined;
    });
    const record: TokenRecord = {
      ...fresh,
      id,
      actorId: id,
      createdAtMs: known?.createdAtMs ?? fresh.createdAtMs,
      revokedAtMs: known?.revokedAtMs,
    };
    await this.#write(token, record);
    return record;
  }

  #newRecord(request: TokenRequest): TokenRecord {
    const { tenant, environment, providerConnectionIds, issuer, expiresAtMs } = request;
    if (!tenantPattern.test(tenant)) throw new RangeError('tenant must be 1 to 64 characters of A-Z a-z 0-9 _ -');
    if (providerConnectionIds?.length === 0) throw new RangeError('give at least one provider connection');
    const allowed = providerConnectionIds ? withinProviders(request.scopes) : request.scopes;
    const asked = new Set(allowed);
    if (asked.size === 0) throw new RangeError('a token needs at least one permitted scope');
    const nowMs = this.#clock.nowMs();
    const isEndless = environment === 'sandbox' || expiresAtMs !== undefined;
    const lifetimeMs = request.lifetimeMs ?? (isEndless ? undefined : liveTokenLifetimeMs);
    if (lifetimeMs !== undefined && !(lifetimeMs > 0)) throw new RangeError('the lifetime must be above 0');
    const id = `tok_${uuidV7(nowMs, this.#random)}`;
    return {
      id,
      actorId: issuer?.actorId ?? id,
      issuers: issuer?.issuers ?? [],
      tenant,
      environment,
      scopes: allScopes.filter((scope) => asked.has(scope)),
      name: request.name ?? '',
      expiresAtMs: lifetimeMs === undefined ? expiresAtMs : nowMs + lifetimeMs,
      revokedAtMs: undefined,
      providerConnectionIds,
      createdAtMs: nowMs,
    };
  }

  async #write(token: string, record: TokenRecord): Promise<void> {
    const hash = hashToken(token, this.#tokenKey);
    await this.#put(hash, record);
    await this.opened(record.tenant, record.createdAtMs);
    await this.#redis.hset(storeKeys.tokens(record.tenant), record.id, hash);
  }

  async #put(hash: string, record: TokenRecord): Promise<void> {
    const key = tokenRecordKey(hash);
    const fields = recordToFields(record);
    await this.#redis.hset(key, { ...fields, mac: this.#macs.of(macParts(key, fields)) });
  }
}

function endOf({ revokedAtMs, expiresAtMs }: TokenRecord): number {
  return Math.min(revokedAtMs ?? Number.POSITIVE_INFINITY, expiresAtMs ?? Number.POSITIVE_INFINITY);
}

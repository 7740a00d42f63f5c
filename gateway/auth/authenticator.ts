/**
 * From an `authorization` header to a principal. Every refusal is the same 401, so that no caller learns whether a token
 * exists, is expired or was revoked.
 *
 * The hot path has no round trip: the store's answer is cached under the token's keyed hash for up to `freshMs`, so a
 * revocation takes up to that long to apply. While the store is unreachable, the cached record is used for up to `staleMs`;
 * tokens that this gateway has not seen get 503.
 */
import type { LRUCache } from 'lru-cache';
import type { Clock, Timers } from '../../core/actors/contract.ts';
import { type Log, silentLog } from '../../core/actors/live/ports.ts';
import { recentlyUsed } from '../../core/actors/recently-used.ts';
import { latin1, utf8 } from '../../core/crypto/bytes.ts';
import { hkdfSha256, mac } from '../../core/crypto/hashing.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import type { Principal } from '../api/principal.ts';
import { type Scope, sandboxScopes, withinProviders } from '../api/scopes.ts';
import { readBearer } from './bearer.ts';
import { hashToken, tenantOfHash, tokenEnvironment } from './token-format.ts';
import { type TokenRecord, TokenTampered } from './token-record.ts';
import { type TokenLookup, tenantPattern } from './token-store.ts';

export interface AuthenticatorOptions {
  readonly environment: ClusterEnvironment;
  /** Sandbox only: a well-formed test token that was never issued opens a tenant of its own. */
  readonly acceptAnyTestToken: boolean;
  readonly tokenKey: Uint8Array;
  readonly store: TokenLookup;
  /** Tokens end by it. */
  readonly clock: Clock;
  /** Cached answers grow old by these. */
  readonly timers: Pick<Timers, 'elapsedMs'>;
  readonly log?: Log;
  /** A token's record was changed by something else, which also wrote this tenant and id. */
  readonly onTampered?: (tenant: string, id: string, reason: string) => void;
  /** Tokens remembered, the least recently used go first. 10,000. */
  readonly cachedTokensMax?: number;
  /** Tokens of a fixed tenant: until they are registered they get 503, and do not open a tenant of their own. */
  readonly reserved?: {
    /** Keyed hashes. */
    readonly hashes: ReadonlySet<string>;
    /** A caller used one of them before it was registered. */
    register(): unknown;
  };
}

export const freshMs = 5_000;
export const staleMs = 10 * 60_000;

interface CacheEntry {
  /** undefined: the store knows the token not at all, or as revoked, and nothing else accepts it. */
  readonly principal: Principal | undefined;
  readonly expiresAtMs: number;
  /** By the timers. */
  readonly readAtMs: number;
}

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #cachedTokensMax: number;
  /** By keyed hash, the least recently used first. No token stays in memory. */
  readonly #cache = new Map<string, CacheEntry>();
  /** Keyed hashes of tokens, by a MAC of them under a key that follows from that of the hashes. */
  readonly #hashes: LRUCache<string, string>;
  readonly #nameKey: Uint8Array;
  /** Lookups under way: requests that bring the same token at once share one. */
  readonly #lookups = new Map<string, Promise<Principal | ServiceError>>();
  #storeUnreachable = false;
  #storeGeneration = 0;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#log = options.log ?? silentLog;
    this.#cachedTokensMax = options.cachedTokensMax ?? 10_000;
    this.#hashes = recentlyUsed(this.#cachedTokensMax);
    this.#nameKey = hkdfSha256(options.tokenKey, utf8('signmesh/token-name/v1'), new Uint8Array(0), 32);
  }

  /** Answers at once when the token is cached. Never throws and never rejects. */
  authenticate(authorization: string | undefined): Principal | ServiceError | Promise<Principal | ServiceError> {
    const token = readBearer(authorization);
    if (token === undefined || tokenEnvironment(token) !== this.#options.environment) return refusal();
    const hash = this.#hashOf(token);
    const nowMs = this.#clock.nowMs();
    const entry = this.#cache.get(hash);
    if (entry !== undefined && this.#ageMs(entry) < freshMs) {
      this.#touch(hash, entry);
      return verdict(entry, nowMs);
    }
    let lookup = this.#lookups.get(hash);
    if (lookup === undefined) {
      const begun = this.#read(hash).finally(() => {
        if (this.#lookups.get(hash) === begun) this.#lookups.delete(hash);
      });
      lookup = begun;
      this.#lookups.set(hash, begun);
    }
    // A store that hangs must not delay every call: the lookup continues, but the caller does not wait for it.
    if (this.#storeUnreachable && entry !== undefined && this.#ageMs(entry) < staleMs) return verdict(entry, nowMs);
    return lookup;
  }

  /** The caller's principal if its token is cached and valid; otherwise `authenticate` says why not. */
  cached(authorization: string | undefined): Principal | undefined {
    const token = readBearer(authorization);
    const hash = token === undefined ? undefined : this.#hashes.get(this.#nameOf(token));
    const entry = hash === undefined ? undefined : this.#cache.get(hash);
    if (entry === undefined || this.#ageMs(entry) >= freshMs) return undefined;
    return this.#clock.nowMs() < entry.expiresAtMs ? entry.principal : undefined;
  }

  /** Its keyed hash, which is made once and found again by a quicker one of this process alone. */
  #hashOf(token: string): string {
    const name = this.#nameOf(token);
    const known = this.#hashes.get(name);
    if (known !== undefined) return known;
    const hash = hashToken(token, this.#options.tokenKey);
    this.#hashes.set(name, hash);
    return hash;
  }

  #nameOf(token: string): string {
    return latin1(mac(this.#nameKey, utf8(token)));
  }

  /** The store was replaced: drops every cached answer of the old one. */
  clearCache(): void {
    this.#cache.clear();
    this.#lookups.clear();
    this.#storeGeneration += 1;
  }

  async #read(hash: string): Promise<Principal | ServiceError> {
    const seen = this.#storeGeneration;
    try {
      const record = await this.#options.store.lookup(hash);
      this.#storeIs('back');
      const { reserved } = this.#options;
      if (record === undefined && reserved?.hashes.has(hash)) {
        reserved.register();
        return new ServiceError('unavailable', 'the sandbox’s own tokens are not registered yet');
      }
      const entry = this.#toEntry(hash, record);
      const opens = record === undefined && entry.principal !== undefined && !this.#cache.has(hash);
      // Nothing but a date depends on it.
      if (opens) await this.#options.store.opened(entry.principal.tenant).catch(() => undefined);
      if (seen === this.#storeGeneration) this.#touch(hash, entry);
      return verdict(entry, this.#clock.nowMs());
    } catch (error) {
      if (error instanceof TokenTampered) return this.#tampered(hash, error);
      this.#storeIs('away', error);
      const entry = this.#cache.get(hash);
      if (entry !== undefined && this.#ageMs(entry) < staleMs) return verdict(entry, this.#clock.nowMs());
      return new ServiceError('unavailable', 'the token store does not answer', { cause: error });
    }
  }

  /** Refused like an unknown token, also where any test token is accepted; said once in each `freshMs`. */
  #tampered(hash: string, { found, message }: TokenTampered): ServiceError {
    this.#storeIs('back');
    this.#touch(hash, { principal: undefined, expiresAtMs: 0, readAtMs: this.#clock.nowMs() });
    this.#log.error({ event: 'token.tampered', token: found?.id ?? '', tenant: found?.tenant ?? '' }, message);
    if (found !== undefined && tenantPattern.test(found.tenant))
      this.#options.onTampered?.(found.tenant, found.id, message);
    return refusal();
  }

  #toEntry(hash: string, record: TokenRecord | undefined): CacheEntry {
    const readAtMs = this.#options.timers.elapsedMs();
    const { environment, acceptAnyTestToken } = this.#options;
    if (record === undefined) {
      const opens = environment === 'sandbox' && acceptAnyTestToken;
      return { principal: opens ? firstSight(hash) : undefined, expiresAtMs: Number.POSITIVE_INFINITY, readAtMs };
    }
    const valid = record.revokedAtMs === undefined && record.environment === environment;
    return {
      principal: valid ? principalOf(record) : undefined,
      expiresAtMs: record.expiresAtMs ?? Number.POSITIVE_INFINITY,
      readAtMs,
    };
  }

  #ageMs({ readAtMs }: CacheEntry): number {
    return this.#options.timers.elapsedMs() - readAtMs;
  }

  #touch(hash: string, entry: CacheEntry): void {
    this.#cache.delete(hash);
    this.#cache.set(hash, entry);
    if (this.#cache.size > this.#cachedTokensMax) {
      const oldest = this.#cache.keys().next();
      if (!oldest.done) this.#cache.delete(oldest.value);
    }
  }

  #storeIs(state: 'away' | 'back', error?: unknown): void {
    const away = state === 'away';
    if (away === this.#storeUnreachable) return;
    this.#storeUnreachable = away;
    const reason = error instanceof Error ? error.message : '';
    if (away) this.#log.warn({ reason }, 'the token store does not answer: only recently used tokens are accepted');
    else this.#log.info({}, 'the token store answers again');
  }
}

function verdict(entry: CacheEntry, nowMs: number): Principal | ServiceError {
  return entry.principal !== undefined && nowMs < entry.expiresAtMs ? entry.principal : refusal();
}

function refusal(): ServiceError {
  return new ServiceError('authenticationFailed', 'the access token is missing, expired or invalid', {
    headers: { 'www-authenticate': 'Bearer realm="signmesh"' },
  });
}

/** Throwaway tenants of a sandbox share one set. */
const sandboxScopeSet: ReadonlySet<Scope> = new Set(sandboxScopes);

function firstSight(hash: string): Principal {
  return {
    tenant: tenantOfHash(hash),
    environment: 'sandbox',
    scopes: sandboxScopeSet,
    tokenId: '',
    actorId: '',
    providerConnectionIds: undefined,
  };
}

function principalOf(record: TokenRecord): Principal {
  const { providerConnectionIds, name, createdAtMs, expiresAtMs, issuers } = record;
  return {
    tenant: record.tenant,
    environment: record.environment,
    scopes: new Set(providerConnectionIds ? withinProviders(record.scopes) : record.scopes),
    tokenId: record.id,
    actorId: record.actorId,
    token: { name, createdAtMs, expiresAtMs, issuers },
    providerConnectionIds,
  };
}

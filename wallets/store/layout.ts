/**
 * The layout of the tenant store in Redis: every key, in one place. All keys of a tenant carry its hash tag, so that one script
 * may touch them and Redis Cluster can hold them. The same tag also holds the coordinator's `session: intent: key: fence` and
 * more (coordinator/store/layout.ts), `tok` and `rl:`.
 *
 * | Under `sm:{t:<tenant>}:` | Kind | What |
 * |---|---|---|
 * | `r:<id>` | hash | a record: `v` version, `s` status word, `k` kind, `d` JSON, packed if long and final (event-text.ts), `n` allocated number, `e` end of its lifetime, if it has one |
 * | `ix:<index>` | sorted set | ids, all with score 0: they sort by themselves, by the time of their making |
 * | `bal:<walletId>` | hash | `<asset>` available, `<asset>\|r` reserved: decimal integers |
 * | `mov:<walletId>` | stream | its movements: entry ids are `<number>-0`; `a` asset, `u` units, `b` balance after it, `t` time, `c` JSON of its cause |
 * | `seq` | hash | `n` sequence of the last event, `m` latest time that an event has had, `b` bytes of the log |
 * | `use` | hash | bytes that the tenant stores, by the hour in which they expire (core/redis/usage.lua) |
 * | `evt` | stream | events; entry ids are `<sequence>-0`; large objects are packed (event-text.ts); the coordinator writes here too |
 * | `due` | sorted set | members, by the time they fall due |
 * | `old` | sorted set | records with a lifetime, by its end: JSON of id and indices, to take them out of these |
 * | `idem:<key hash>` | hash | `b` body hash, `o` owner, `s` seed, `t` started, `l` end of lease, `a` answer, `w` balances that it shows, `f` set free, `e` end of its lifetime |
 * | `ctr:<counter>` | integer | the next number |
 * | `free:<counter>` | sorted set | released numbers |
 * | `began` | string | when the tenant began, milliseconds (tenant-beginning.ts) |
 * | `claim:<name>` | string | a claimed name: the end of its lifetime, or 1 |
 * | `closed:<key>` | string | the key of an archived wallet signs nothing any more (proto/closed-keys.ts) |
 * | `hk`, `hk:…`, `hko:…`, `hkr:…` | | the outboxes of webhooks (../deliveries/keys.ts) |
 *
 * Lifetimes are by the service's time, and readers compare them; Redis drops what has one a day later (core/redis/lifetime.lua).
 *
 * The scripts get a tenant's prefix as their only key, which determines their slot, and build the names
 * themselves: the keys depend on the data. The list of tenants with due work is separate, in the
 * registry of due work (core/redis/due-work.ts).
 */
import { tenantPrefix } from '../../core/redis/event-log.ts';

export { tenantPrefix };

export const storeKeys = {
  record: (tenant: string, id: string) => `${tenantPrefix(tenant)}r:${id}`,
  index: (tenant: string, index: string) => `${tenantPrefix(tenant)}ix:${index}`,
  balances: (tenant: string, walletId: string) => `${tenantPrefix(tenant)}bal:${walletId}`,
  idempotency: (tenant: string, keyHash: string) => `${tenantPrefix(tenant)}idem:${keyHash}`,
  began: (tenant: string) => `${tenantPrefix(tenant)}began`,
  /** Hashes of the tenant's tokens, by token id (gateway/auth/token-store.ts). */
  tokens: (tenant: string) => `${tenantPrefix(tenant)}tok`,
  /** Over all tenants: tenant and wallet, with a space between them. */
  address: (network: string, address: string) => `sm:addr:${network}:${address}`,
};

/** The suffix of the field for an asset's reserved amount; commit.lua has it too. */
export const reservedSuffix = '|r';

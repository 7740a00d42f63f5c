/**
 * Gives the records of an earlier version, which had no MACs, theirs. It believes what it finds, so only the first start of this
 * version and a restore by an operator may call it (gateway/record-sealing.ts). It may stop at any point and run again.
 */
import type { Redis } from 'ioredis';
import { mastersOf } from '../../core/redis/connect.ts';
import { luaCommand, luaScript } from '../../core/redis/lua.ts';
import { storeKeys, tenantPrefix } from './layout.ts';
import { RecordSeal, unsealed } from './secrets/record-seal.ts';

const scannedAtOnce = 500;

interface SealRecord {
  readonly keys: { readonly [name: string]: string; readonly prefixKey: string };
  readonly args: { readonly id: string; readonly before: string; readonly after: string };
}

const sealRecord = luaScript<SealRecord, number>('wallets/store/seal-record.lua');

export interface OldRecord {
  readonly tenant: string;
  readonly id: string;
  readonly kind: string;
  readonly status: string | null;
}

/**
 * Resolves to the number of records that have got their MACs. `unsealedKind`: has none. `onSealed`: for each. Rejects when Redis
 * does not answer.
 */
export async function sealRecords(
  redis: Redis,
  recordKey: Uint8Array,
  unsealedKind: string,
  onSealed: (record: OldRecord) => Promise<void>,
): Promise<number> {
  const seal = new RecordSeal(recordKey);
  const write = luaCommand(redis, sealRecord);
  return eachKey(redis, storeKeys.record('*', '*'), async (key) => {
    const [tenant, id] = namesIn(key);
    const [kind, before, status = null] = await redis.hmget(key, 'k', 'd', 's');
    if (typeof kind !== 'string' || typeof before !== 'string' || kind === unsealedKind) return 0;
    if (before !== unsealed(before)) return 0;
    const after = seal.seal({ key, kind }, before);
    if ((await write({ prefixKey: tenantPrefix(tenant) }, { id, before, after })) !== 1) return 0;
    await onSealed({ tenant, id, kind, status });
    return 1;
  });
}

const [head, between] = storeKeys.record('*', '*').split('*') as [string, string];

function namesIn(key: string): [tenant: string, id: string] {
  const at = key.indexOf(between, head.length);
  return [key.slice(head.length, at), key.slice(at + between.length)];
}

/** The sum of what `work` answers for each key of the whole database. */
export async function eachKey(redis: Redis, pattern: string, work: (key: string) => Promise<number>): Promise<number> {
  let sum = 0;
  for (const master of mastersOf(redis)) {
    let cursor = '0';
    do {
      const [next, keys] = await master.scan(cursor, 'MATCH', pattern, 'COUNT', scannedAtOnce);
      for (const done of await Promise.all(keys.map(work))) sum += done;
      cursor = next;
    } while (cursor !== '0');
  }
  return sum;
}

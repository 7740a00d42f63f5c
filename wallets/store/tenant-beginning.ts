/**
 * When a tenant began: its first token was issued, or in a sandbox a gateway first saw the token that opens it. Stored once. A tenant
 * of a version that did not store it began with its earliest token, whose id holds the time.
 */
import type { Redis } from 'ioredis';
import { idTimeMs } from '../../proto/ids.ts';
import { storeKeys } from './layout.ts';

/** Notes that it began by now, unless that is known. */
export async function tenantBeganAtMs(redis: Redis, tenant: string, nowMs: number): Promise<number> {
  const key = storeKeys.began(tenant);
  const noted = timeIn(await redis.get(key));
  if (noted !== undefined) return noted;
  const tokens = (await redis.hkeys(storeKeys.tokens(tenant))).flatMap((id) => idTimeMs(id) ?? []);
  const earliest = tokens.reduce((a, b) => Math.min(a, b), nowMs);
  // Another gateway may have been first; a Redis that takes no writes still answers reads.
  const isNoted = (await redis.set(key, String(earliest), 'NX').catch(() => null)) === 'OK';
  return isNoted ? earliest : (timeIn(await redis.get(key)) ?? earliest);
}

function timeIn(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

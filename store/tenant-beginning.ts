/**
 * When a tenant began: its first token was issued, or in a sandbox a gateway first saw the token that opens it. Stored once. A tenant
 * of a version that did not store it began with its earliest token, whose id holds the time.
 */
import type { Redis } from 'ioredis';
import { idTimeMs } from '../proto/ids.ts';
import { storeKeys } from './layout.ts';

/** undefined: nothing says it. */
export async function tenantBeganAtMs(redis: Redis, tenant: string): Promise<number | undefined> {
  const noted = await redis.get(storeKeys.began(tenant));
  if (noted !== null && /^\d{1,15}$/.test(noted)) return Number(noted);
  const times = (await redis.hkeys(storeKeys.tokens(tenant))).flatMap((id) => idTimeMs(id) ?? []);
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
}

/** Notes that it began by now; the first note stays. */
export async function noteTenantBegan(redis: Redis, tenant: string, nowMs: number): Promise<void> {
  if ((await redis.exists(storeKeys.began(tenant))) === 1) return;
  const earliest = (await tenantBeganAtMs(redis, tenant)) ?? nowMs;
  await redis.set(storeKeys.began(tenant), String(Math.min(earliest, nowMs)), 'NX');
}

/** When a tenant began: its first token, also where a version before did not store it. */
import { expect, test } from 'vitest';
import { systemRandom } from '../../../core/actors/live/ports.ts';
import { TokenStore } from '../../../gateway/auth/token-store.ts';
import { MemoryRedis } from '../../../simulation/redis/memory-redis.ts';
import { storeKeys } from '../../../wallets/store/layout.ts';
import { tenantBeganAtMs } from '../../../wallets/store/tenant-beginning.ts';

const tenant = 'tn_acme';

function open() {
  const clock = { nowMs: () => open.nowMs };
  const redis = new MemoryRedis(clock).client();
  const tokens = new TokenStore(redis, new Uint8Array(32), { clock, random: systemRandom });
  const issuedAt = (nowMs: number) => {
    open.nowMs = nowMs;
    return tokens.issueToken({ tenant, environment: 'sandbox', scopes: ['wallets:read'] });
  };
  return { redis, tokens, issuedAt, began: () => tenantBeganAtMs(redis, tenant, open.nowMs) };
}
open.nowMs = 0;

test('is the time of its first token, whatever comes later', async () => {
  const { tokens, issuedAt, began } = open();
  const { record } = await issuedAt(5_000);
  await issuedAt(7_000);
  await tokens.rotateToken(tenant, record.id);
  await tokens.opened(tenant);
  expect(await began()).toBe(5_000);
});

test('is the first sight of a token that was never issued', async () => {
  const { tokens, issuedAt, began } = open();
  open.nowMs = 3_000;
  await tokens.opened(tenant);
  await issuedAt(9_000);
  expect(await began()).toBe(3_000);
});

test('is the first question where nothing else says it', async () => {
  const { began } = open();
  open.nowMs = 4_000;
  expect(await began()).toBe(4_000);
  open.nowMs = 5_000;
  expect(await began()).toBe(4_000);
});

test.each([
  ['was not stored', undefined],
  ['is no time', 'soon'],
])('is the time of the earliest token where it %s', async (_, stored) => {
  const { redis, issuedAt, began } = open();
  await issuedAt(8_000);
  await issuedAt(6_000);
  await redis.del(storeKeys.began(tenant));
  if (stored !== undefined) await redis.set(storeKeys.began(tenant), stored);
  expect(await began()).toBe(6_000);
  expect(await redis.get(storeKeys.began(tenant))).toBe(stored ?? '6000');
});

/** Seals what an earlier version stored (gateway/record-sealing.ts), with the keys of the data directory. */
import type { Redis } from 'ioredis';
import { systemPorts } from '../../core/actors/live/ports.ts';
import { readSecret, secretFiles } from '../cluster-files/cluster-material.ts';
import { isToSeal, noteSealed } from '../cluster-files/record-sealing.ts';

/** An operator has restored an older state. Rejects when Redis does not answer. */
export async function sealRestored(dataDir: string, redis: Redis): Promise<object> {
  const { sealStored } = await import('../../gateway/record-sealing.ts');
  const tokenKey = readSecret(dataDir, secretFiles.gatewayToken);
  const recordKey = readSecret(dataDir, secretFiles.gatewayRecord);
  return sealStored(redis, { tokenKey, recordKey }, systemPorts);
}

/** The first use of an older directory; later nothing. Resolves to what was sealed. */
export async function sealOnce(dataDir: string, redis: Redis): Promise<object | undefined> {
  if (!isToSeal(dataDir)) return undefined;
  const sealed = await sealRestored(dataDir, redis);
  noteSealed(dataDir, sealed, Date.now());
  return sealed;
}

/** The same for a role, which waits for its Redis. */
export async function sealOnceAt(dataDir: string, redisUrl: string): Promise<object | undefined> {
  if (!isToSeal(dataDir)) return undefined;
  const { connectRedis } = await import('./redis-client.ts');
  const redis = connectRedis(redisUrl, { isPatient: true });
  redis.on('error', () => undefined);
  try {
    return await sealOnce(dataDir, redis);
  } finally {
    redis.disconnect();
  }
}

/** The data directory says whether what an earlier version stored still has to get its MACs; Redis does not. */
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ensureClusterMaterial, readSecret, secretFiles } from '../../cli/cluster-files/cluster-material.ts';
import { dataFormat } from '../../cli/cluster-files/data-format.ts';
import { isToSeal } from '../../cli/cluster-files/record-sealing.ts';
import { sealOnce } from '../../cli/redis/seal-records.ts';
import { hashToken } from '../../gateway/auth/token-format.ts';
import { TokenStore } from '../../gateway/auth/token-store.ts';
import { startStore } from '../support/store.ts';
import { storePorts } from '../support/store-ports.ts';
import { temporaryFolder } from './support/temporary.ts';

const six = fileURLToPath(new URL('./fixtures/data-format-6', import.meta.url));

test('a new directory has its key, and takes nothing without a MAC', () => {
  const dataDir = temporaryFolder();
  ensureClusterMaterial(dataDir, 2, 5, 'sandbox');
  expect(readSecret(dataDir, secretFiles.gatewayRecord)).toHaveLength(32);
  expect(isToSeal(dataDir)).toBe(false);
});

test('a directory of format 6 seals at its first start alone', async () => {
  const under = await startStore();
  const dataDir = join(temporaryFolder(), 'six');
  cpSync(six, dataDir, { recursive: true });
  ensureClusterMaterial(dataDir, undefined, 5, 'sandbox');
  expect(JSON.parse(readFileSync(join(dataDir, 'cluster.json'), 'utf8'))).toMatchObject({ data_format: dataFormat });
  expect(isToSeal(dataDir)).toBe(true);
  const tokenKey = readSecret(dataDir, secretFiles.gatewayToken);
  const tokens = new TokenStore(under.redis, tokenKey, storePorts);
  const old = async () => {
    const { token } = await tokens.issueToken({ tenant: 'acme', environment: 'sandbox', scopes: ['wallets:read'] });
    const hash = hashToken(token, tokenKey);
    await under.redis.hdel(`sm:tok:${hash}`, 'mac');
    return hash;
  };
  const first = await old();
  expect(await sealOnce(dataDir, under.redis)).toEqual({ tokens: 1, records: 0 });
  expect(await tokens.lookup(first)).toMatchObject({ tenant: 'acme' });
  // Another start, and an emptied Redis, change nothing.
  const later = await old();
  ensureClusterMaterial(dataDir, undefined, 5, 'sandbox');
  expect(await sealOnce(dataDir, under.redis)).toBeUndefined();
  await expect(tokens.lookup(later)).rejects.toThrow('revoke it');
  // Without the note nothing is taken either.
  rmSync(join(dataDir, 'gateway/records.json'));
  expect(isToSeal(dataDir)).toBe(false);
  await under.stop();
});

/** An attacker edits the Redis of a running cluster between a session's beginning and its signature. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { SigningApi } from '../support/client.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { until } from '../support/until.ts';

const digest = new Uint8Array(32).fill(0x3c);
let cluster: BorrowedCluster;
let api: SigningApi;
let redis: Redis;
let tenantPrefix = '';

const share = (signingSessionId: string) => api.submitSignatureShare({ signingSessionId });

async function begin(transactionIntentId: string) {
  const keystoreType = KeystoreType.MPC_FROST;
  const begun = await api.initiateSigning({ transactionIntentId, walletId: 'k', messageHash: digest, keystoreType });
  expect(begun.receipt?.reasonCode).toBe('SESSION_ACCEPTED');
  return begun.signingSessionId;
}

/** So that it reads what stands in Redis: a coordinator that continues knows better. */
async function restartCoordinator(): Promise<void> {
  await cluster.back('coordinator', await cluster.kill('coordinator'));
  await cluster.untilHealth('ok');
}

function signedBy(sessionId: string): number {
  return cluster.nodeIds.flatMap((id) =>
    cluster.records(`node-${id}`, 'signer.partial.signed').filter((record) => record.session === sessionId),
  ).length;
}

function reported(key: string): number {
  return cluster.records('coordinator', 'store.tampered').filter((record) => record.record === key).length;
}

beforeAll(async () => {
  cluster = await borrowCluster();
  api = cluster.http();
  redis = new Redis(cluster.redisUrl());
  for (const sessionId of ['k', 'k2']) {
    await api.initiateDkg({ sessionId, derivation: { curve: 'secp256k1' } });
    expect((await api.exchangeDkgShares({ sessionId })).verified).toBe(true);
  }
  const [at] = await redis.keys('sm:{t:*}:key:k');
  tenantPrefix = at!.slice(0, -'key:k'.length);
}, borrowWithinMs);
afterAll(async () => {
  redis?.disconnect();
  await cluster?.stop();
});

describe.sequential('what was changed in Redis', () => {
  test('of a session (message, key, scheme, path) is refused by name, and nothing is signed', async () => {
    const edits: Readonly<Record<string, (data: string) => string>> = {
      message: (data) => data.replace('3c'.repeat(32), 'ee'.repeat(32)),
      key: (data) => data.replace('"keyId":"k"', '"keyId":"k2"'),
      scheme: (data) => data.replaceAll('"keystoreType":4', '"keystoreType":1'),
      path: (data) => data.replace('"derivationPath":""', '"derivationPath":"m/7"'),
    };
    const sessions = new Map<string, string>();
    for (const [what, edit] of Object.entries(edits)) {
      const sessionId = await begin(what);
      const at = `${tenantPrefix}session:${sessionId}`;
      const data = (await redis.hget(at, 'data'))!;
      expect(edit(data), what).not.toBe(data);
      await redis.hset(at, 'data', edit(data));
      sessions.set(what, sessionId);
    }
    const untouched = await begin('untouched');
    await restartCoordinator();
    const tenant = /\{t:(.*)\}/.exec(tenantPrefix)![1]!;
    for (const [what, sessionId] of sessions) {
      const { receipt, fullSignature } = await share(sessionId);
      expect([receipt?.reasonCode, receipt?.state, receipt?.resumable], what).toEqual([
        'STORE_TAMPERED',
        ReceiptState.BACKEND_FAILED,
        false,
      ]);
      expect(fullSignature.length).toBe(0);
      await until(() => reported(`session/${tenant}/${sessionId}`) > 0, `a line in the log about the ${what}`);
    }
    expect((await share(untouched)).isComplete).toBe(true);
    // By then the logs of the nodes have come to where the others would stand.
    await until(() => signedBy(untouched) >= 3, 'the nodes to log what they signed');
    for (const [what, sessionId] of sessions) expect(signedBy(sessionId), what).toBe(0);
  });

  test('of a key is refused by name until it is put back, and nothing is signed', async () => {
    const at = `${tenantPrefix}key:k`;
    const right = (await redis.get(at))!;
    const sessionId = await begin('before the key was changed');
    const other = JSON.parse((await redis.get(`${tenantPrefix}key:k2`))!.slice(22)) as { publicKey: string };
    await redis.set(at, right.replace(/"publicKey":"[0-9a-f]+"/, `"publicKey":"${other.publicKey}"`));
    await restartCoordinator();
    expect((await share(sessionId)).receipt?.reasonCode).toBe('STORE_TAMPERED');
    const begun = await api.initiateSigning({ transactionIntentId: 'after', walletId: 'k', messageHash: digest });
    expect([begun.receipt?.reasonCode, begun.signingSessionId]).toEqual(['STORE_TAMPERED', '']);
    expect(signedBy(sessionId)).toBe(0);
    await redis.set(at, right);
    expect((await share(sessionId)).isComplete).toBe(true);
  });
});

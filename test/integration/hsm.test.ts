/** A key in a PKCS#11 token, through every process; and a cluster that has none. */

import { createHash, createPublicKey, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { expect, onTestFinished, test } from 'vitest';
import { InitiateDkgRequestSchema, KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { wireScheme } from '../../proto/key-schemes.ts';
import { startCluster, type TestCluster } from '../support/cluster.ts';
import { liveWalletService } from '../support/live-wallet-service.ts';
import { RestClient } from '../support/rest.ts';
import { type SharedCluster, sharedCluster } from '../support/shared-cluster.ts';
import { softHsm, TestToken } from '../support/softhsm.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';

const found = softHsm();
const digest = new Uint8Array(32).fill(0x5b);

async function makeKey(cluster: SharedCluster, sessionId: string) {
  const service = await liveWalletService(cluster);
  const keyScheme = wireScheme('hsm_ecdsa');
  const about = { tenant: 'tn_sandbox', correlationId: '', traceparent: '', walletService: true, keyScheme };
  return (await service.ask('makeKey', create(InitiateDkgRequestSchema, { sessionId }), about)).response;
}

test('no module is configured: KEYSTORE_UNAVAILABLE', async () => {
  const cluster = await sharedCluster();
  const made = await makeKey(cluster, 'wal_no_token');
  expect([made?.receipt?.reasonCode, made?.receipt?.backendRoute]).toEqual([
    'KEYSTORE_UNAVAILABLE',
    'm0/hsm-keys/secp256k1',
  ]);
});

// SoftHSM2 itself: test/nodes/hsm-process.test.ts; its keys in a cluster: test/coordinator/hsm.test.ts.
test.runIf(isThorough && found.kind === 'ready')(
  'SoftHSM2 makes the key and signs, also for a vault to its end; the node outlives the death of the module',
  async () => {
    const token = new TestToken();
    onTestFinished(() => token.delete());
    const pinFile = join(token.folder, 'pin');
    writeFileSync(pinFile, `${token.pin}\n`);
    const environment = {
      ...token.environment,
      SIGNMESH_PKCS11_MODULE: found.kind === 'ready' ? found.module : '',
      SIGNMESH_PKCS11_TOKEN: token.label,
      SIGNMESH_PKCS11_PIN_FILE: pinFile,
      SIGNMESH_PKCS11_TIMEOUT_MS: '9000',
    };
    const cluster = await startCluster({ nodesApart: true, nodes: 3, environment });
    onTestFinished(() => cluster.stop());
    const made = await makeKey(cluster, 'wal_token');
    expect(made?.receipt?.reasonCode).toBe('DKG_COMPLETED');

    const api = cluster.http();
    const signing = { walletId: 'wal_token', messageHash: digest, keystoreType: KeystoreType.HSM_PKCS11 };
    const sign = async (transactionIntentId: string) => {
      const { signingSessionId } = await api.initiateSigning({ ...signing, transactionIntentId });
      return api.submitSignatureShare({ signingSessionId });
    };
    const done = await sign('t1');
    expect([done.receipt?.reasonCode, done.receipt?.backendRoute]).toEqual([
      'SIGNATURE_COMPLETED',
      'm0/hsm-pkcs11/secp256k1',
    ]);
    const signature = secp256k1.Signature.fromBytes(done.fullSignature, 'compact').addRecoveryBit(done.recoveryId[0]!);
    expect(Buffer.from(signature.recoverPublicKey(digest).toBytes(true))).toEqual(Buffer.from(made!.publicKey));

    const pidOf = () => cluster.records('node-1', 'hsm process started').at(-1)?.pid as number;
    const pid = pidOf();
    process.kill(pid, 'SIGKILL');
    const isNoticed = () => cluster.records('node-1', 'hsm process ended').some((record) => record.pid === pid);
    await until(isNoticed, 'the end of the module’s process');
    expect((await sign('t2')).receipt?.reasonCode).toBe('SIGNATURE_COMPLETED');
    expect(pidOf()).not.toBe(pid);
    for (const curve of ['secp256k1', 'ed25519']) await vaultToItsEnd(cluster, token, curve);
  },
);

// biome-ignore lint/suspicious/noExplicitAny: the service's own JSON
type Answered = any;

const message = Buffer.from('a message of the treasury');
const messageDigest = createHash('sha256').update(message).digest();

/** A vault is made in the token, signs raw messages and digests, derives nothing, and leaves the token when it is archived. */
async function vaultToItsEnd(cluster: TestCluster, token: TestToken, curve: string): Promise<void> {
  const api = new RestClient(cluster.httpUrl, cluster.token);
  const before = token.files;
  const vault = await api.made<Answered>('/v1/vaults', { name: curve, keystore_type: 'hsm_pkcs11', curve });
  expect([vault.threshold, vault.total_nodes]).toEqual([1, 1]);
  const during = token.files;
  expect(during).toBeGreaterThan(before);
  const keyOf = async () => (await api.get<Answered>(`/v1/vaults/${vault.id}/keys`)).body.keys[0];
  const key = await keyOf();
  expect(key).toMatchObject({ id: vault.primary_key_id, status: 'active', xpub: null, chain_code: null });
  const sign = (body: object) =>
    api.post<Answered>(`/v1/vaults/${vault.id}/sign`, { key_id: vault.primary_key_id, message_type: 'raw', ...body });
  const publicKey = createPublicKey({ format: 'jwk', key: key.jwk });
  for (const [messageType, bytes] of [
    ['raw', message],
    ['digest', messageDigest],
  ] as const) {
    const { body } = await sign({ message: bytes.toString('base64'), message_type: messageType });
    expect([body.status, body.receipt.backend_route]).toEqual(['completed', `m0/hsm-pkcs11/${curve}`]);
    const signature = Buffer.from(body.signature, 'base64');
    const isGood =
      curve === 'ed25519'
        ? verify(null, bytes, publicKey, signature)
        : verify('sha256', message, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature);
    expect(isGood, `${curve} ${messageType}`).toBe(true);
  }
  const derived = await sign({ message: 'AAAA', derivation_path: 'm/0' });
  expect([derived.status, derived.body.error.details[0].field]).toEqual([400, 'derivation_path']);
  expect((await api.post(`/v1/vaults/${vault.id}/archive`, {})).status).toBe(200);
  await until(async () => (await keyOf()).status === 'deleted', 'the key has left the token');
  expect(token.files).toBeLessThan(during);
  expect((await sign({ message: 'AAAA' })).status).toBe(409);
}

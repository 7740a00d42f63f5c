/** A key in a PKCS#11 token, through every process; and a cluster that has none. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { expect, onTestFinished, test } from 'vitest';
import { InitiateDkgRequestSchema, KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { wireScheme } from '../../proto/key-schemes.ts';
import { isAlive } from '../support/alive.ts';
import { startCluster } from '../support/cluster.ts';
import { liveWalletService } from '../support/live-wallet-service.ts';
import { type SharedCluster, sharedCluster } from '../support/shared-cluster.ts';
import { softHsm, TestToken } from '../support/softhsm.ts';
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

test.runIf(found.kind === 'ready')(
  'SoftHSM2 makes the key and signs; the node outlives the death of the module',
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
    const cluster = await startCluster({ nodes: 3, environment });
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
    await until(() => !isAlive(pid), 'the end of the module’s process');
    expect((await sign('t2')).receipt?.reasonCode).toBe('SIGNATURE_COMPLETED');
    expect(pidOf()).not.toBe(pid);
  },
);

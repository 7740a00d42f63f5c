/** New shares of a key through every process: gateway, coordinator, nodes and Redis. */
import { expect, test } from 'vitest';
import { KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { sharedCluster } from '../support/shared-cluster.ts';

test('a key signs before and after a refresh, under one public key', async () => {
  const cluster = await sharedCluster();
  const api = cluster.http();
  const sessionId = 'refreshed-live';
  const derivation = { curve: 'secp256k1' };
  await api.initiateDkg({ sessionId, threshold: 2, totalNodes: 3, derivation });
  expect((await api.exchangeDkgShares({ sessionId })).verified).toBe(true);
  const sign = async (transactionIntentId: string) => {
    const messageHash = new Uint8Array(32).fill(0x5a);
    const asked = { transactionIntentId, walletId: sessionId, messageHash, keystoreType: KeystoreType.MPC_FROST };
    const { signingSessionId } = await api.initiateSigning(asked);
    expect((await api.submitSignatureShare({ signingSessionId })).receipt?.reasonCode).toBe('SIGNATURE_COMPLETED');
  };
  await sign('before the refresh');
  const { status, body } = await cluster.rest.post(`/v1/sandbox/keys/${sessionId}/refresh`, { version: 2 });
  expect([status, body]).toMatchObject([200, { version: 2, state: 'RECEIPT_STATE_BACKEND_COMPLETED' }]);
  await sign('after the refresh');
  await cluster.stop();
});

/** Keys of the keystore types whose keys are not shared, through every process: gateway, coordinator, nodes and Redis. */
import { create } from '@bufbuild/protobuf';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { expect, test } from 'vitest';
import { evmAddressOf } from '../../core/crypto/evm-address.ts';
import { InitiateDkgRequestSchema, KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { wireScheme } from '../../proto/key-schemes.ts';
import { liveWalletService } from '../support/live-wallet-service.ts';
import { sharedCluster } from '../support/shared-cluster.ts';

const digest = new Uint8Array(32).fill(0x5a);
const sessionId = 'wal_live_owners';

test('MULTISIG_EVM_WALLET: owners are made, and the signing API signs with them', async () => {
  const cluster = await sharedCluster();
  const service = await liveWalletService(cluster);
  const about = { tenant: 'tn_sandbox', correlationId: '', traceparent: '', walletService: true };
  const request = create(InitiateDkgRequestSchema, { sessionId, threshold: 3, totalNodes: 5 });
  const { response } = await service.ask('makeKey', request, { ...about, keyScheme: wireScheme('owner_ecdsa') });
  expect(response?.receipt?.reasonCode).toBe('DKG_COMPLETED');
  expect([response?.ownerKeys.length, response?.publicKey.length]).toEqual([5, 0]);

  const api = cluster.http();
  const signing = { transactionIntentId: 'live owners', walletId: sessionId, messageHash: digest };
  const begun = await api.initiateSigning({ ...signing, keystoreType: KeystoreType.MULTISIG_EVM_WALLET });
  expect(begun.receipt?.backendRoute).toBe('m0/multisig-evm');
  const { fullSignature } = await api.submitSignatureShare({ signingSessionId: begun.signingSessionId });
  expect(fullSignature).toHaveLength(3 * 65);
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  const signers = [0, 1, 2].map((index) => {
    const one = fullSignature.slice(index * 65, index * 65 + 65);
    const signature = secp256k1.Signature.fromBytes(one.subarray(0, 64), 'compact').addRecoveryBit(one[64]! - 27);
    return signature.recoverPublicKey(digest).toBytes(true);
  });
  const owners = response!.ownerKeys.map(hex);
  expect(signers.every((signer) => owners.includes(hex(signer)))).toBe(true);
  const addresses = signers.map((signer) => hex(evmAddressOf(signer)));
  expect(addresses).toEqual([...addresses].sort());

  const other = await api.initiateSigning({
    ...signing,
    transactionIntentId: 'x',
    keystoreType: KeystoreType.MPC_FROST,
  });
  expect(other.receipt?.reasonCode).toBe('KEYSTORE_MISMATCH');
  await cluster.stop();
});

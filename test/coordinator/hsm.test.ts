/** Keys in the PKCS#11 token of a node: what a client is told when the token does not sign, and how the session continues. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import { hsmSignature } from '../../core/crypto/hsm.ts';
import type { HsmFault } from '../../nodes/records/hsm-port.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { wireScheme } from '../../proto/key-schemes.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { begin, blamed, codeOf, digest, tenant, tokenOf } from './support/world.ts';

const keyId = 'wal_hsm';
const caller = { walletService: true, keyScheme: wireScheme('hsm_ecdsa') };
const faults: readonly (readonly [HsmFault, string])[] = [
  ['HSM_UNCONFIGURED', 'KEYSTORE_UNAVAILABLE'],
  ['HSM_SESSION_LOST', 'HSM_SESSION_LOST'],
  ['HSM_PIN_REFUSED', 'HSM_PIN_REFUSED'],
  ['HSM_TIMEOUT', 'HSM_TIMEOUT'],
  ['HSM_TOKEN_ABSENT', 'HSM_TOKEN_ABSENT'],
  ['HSM_FAILED', 'HSM_FAILED'],
];

const make = (cluster: SimCluster, more: object = {}) =>
  cluster.makeKey({ sessionId: keyId, ...more }, tenant, caller).result();

function world(): SimCluster {
  const cluster = new SimCluster({ seed: 'hsm', nodes: 3 });
  expect(codeOf(make(cluster))).toBe('DKG_COMPLETED');
  return cluster;
}

describe.each(faults)('a token that fails with %s', (fault, reason) => {
  test('pauses the session with a reason of its own, blames no node, and a resume continues', () => {
    const cluster = world();
    const { signingSessionId: sessionId } = begin(cluster, 't', { walletId: keyId });
    cluster.token(1).fault = fault;
    const failed = cluster.submitSignatureShare({ signingSessionId: sessionId }).result();
    expect([codeOf(failed), failed.receipt!.state, failed.receipt!.resumable]).toEqual([
      reason,
      ReceiptState.BACKEND_FAILED,
      true,
    ]);
    cluster.token(1).fault = undefined;
    cluster.resumeSession({ sessionId, resumeToken: tokenOf(failed) }).result();
    expect(cluster.submitSignatureShare({ signingSessionId: sessionId }).result().isComplete).toBe(true);
    expect(blamed(cluster)).toEqual([]);
  });

  test('leaves the session of a single step as it was', () => {
    const cluster = world();
    const { signingSessionId } = begin(cluster, 't', { walletId: keyId });
    cluster.token(1).fault = fault;
    const told = cluster.submitSignatureShare({ signingSessionId, nodeId: 1 }).result();
    expect([codeOf(told), told.checkpoint!.epoch]).toEqual([reason, 1n]);
    cluster.token(1).fault = undefined;
    expect(cluster.submitSignatureShare({ signingSessionId, nodeId: 1 }).result().isComplete).toBe(true);
  });

  test('makes no key, and the next call makes it', () => {
    const cluster = new SimCluster({ seed: 'hsm', nodes: 1 });
    cluster.token(1).fault = fault;
    expect(codeOf(make(cluster))).toBe(reason);
    cluster.token(1).fault = undefined;
    expect(codeOf(make(cluster))).toBe('DKG_COMPLETED');
  });
});

test('the key lies in the token of its one node, and in no node’s store', () => {
  const cluster = world();
  expect([1, 2, 3].map((id) => cluster.token(id).labels.length)).toEqual([1, 0, 0]);
  const record = JSON.parse(Buffer.from(cluster.nodeStore(1).loadNow(`key/${tenant}/${keyId}`)!).toString()) as object;
  expect(record).toMatchObject({ scheme: 'hsm_ecdsa', signing_share: '', threshold: 1, total_nodes: 1 });
});

test('a key of several nodes is refused', () => {
  const cluster = new SimCluster({ seed: 'hsm', nodes: 3 });
  expect(codeOf(make(cluster, { threshold: 2, totalNodes: 3 }))).toBe('INVALID_THRESHOLD');
});

test('the node’s process dies while its token signs: the session continues when it is back', () => {
  const cluster = world();
  const { signingSessionId } = begin(cluster, 't', { walletId: keyId });
  const call = cluster.submitSignatureShare({ signingSessionId });
  cluster.crash('node/1');
  cluster.start('node/1');
  expect(call.result().isComplete).toBe(true);
});

test('whatever s and recovery id a token gives, what leaves the node is low-s and recovers to the key', () => {
  const secret = new Uint8Array(32).fill(7);
  const publicKey = secp256k1.getPublicKey(secret, true);
  for (let index = 0; index < 20; index += 1) {
    const message = new Uint8Array(32).fill(index);
    const low = secp256k1.sign(message, secret, { prehash: false, lowS: true });
    const { r, s } = secp256k1.Signature.fromBytes(low, 'compact');
    const high = new secp256k1.Signature(r, secp256k1.Point.CURVE().n - s).toBytes('compact');
    for (const given of [low, high]) {
      const made = hsmSignature('secp256k1', given, message, publicKey)!;
      expect(made.subarray(0, 64)).toEqual(low);
      const recovered = secp256k1.Signature.fromBytes(low, 'compact')
        .addRecoveryBit(made[64]!)
        .recoverPublicKey(message);
      expect(recovered.toBytes(true)).toEqual(publicKey);
    }
    expect(hsmSignature('secp256k1', low, digest, publicKey)).toBeUndefined();
  }
});

/** The pure actors of all processes, driven in one process without a socket: DKG, signatures, crashes. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import { KeystoreType, ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';

const digest = Uint8Array.from({ length: 32 }, (_, index) => index + 1);

function makeKey(cluster: SimCluster, sessionId: string, curve: string, threshold = 0, totalNodes = 0): Uint8Array {
  const begun = cluster.initiateDkg({ sessionId, threshold, totalNodes, derivation: { curve } }).result();
  expect(begun.receipt!.reasonCode).toBe('SESSION_ACCEPTED');
  const done = cluster.exchangeDkgShares({ sessionId }).result();
  expect(done.receipt!.message).toMatch(/^group public key/);
  expect(done.receipt!.state).toBe(ReceiptState.BACKEND_COMPLETED);
  expect(done.verified).toBe(true);
  return Buffer.from(cluster.storedKey('tn_sim', sessionId)!.publicKey, 'hex');
}

describe('a simulated cluster', () => {
  test('makes a secp256k1 key and an ECDSA signature that another library verifies', () => {
    const cluster = new SimCluster({ seed: 'ecdsa' });
    const publicKey = makeKey(cluster, 'k1', 'secp256k1');
    const begun = cluster.initiateSigning({ transactionIntentId: 't1', walletId: 'k1', messageHash: digest }).result();
    expect(begun.receipt!.reasonCode).toBe('SESSION_ACCEPTED');
    const signed = cluster.submitSignatureShare({ signingSessionId: begun.signingSessionId }).result();
    expect(signed.receipt!.reasonCode).toBe('SIGNATURE_COMPLETED');
    expect(signed.isComplete).toBe(true);
    expect(secp256k1.verify(signed.fullSignature, digest, publicKey, { prehash: false, lowS: true })).toBe(true);
    const recovered = secp256k1.recoverPublicKey(
      Uint8Array.of(signed.recoveryId[0]!, ...signed.fullSignature),
      digest,
      { prehash: false },
    );
    expect(Buffer.from(recovered).toString('hex')).toBe(Buffer.from(publicKey).toString('hex'));
  });

  test('makes an ed25519 key and a FROST signature that another library verifies', () => {
    const cluster = new SimCluster({ seed: 'frost' });
    const publicKey = makeKey(cluster, 'k2', 'ed25519');
    const message = Buffer.from('any message');
    const begun = cluster.initiateSigning({ transactionIntentId: 't1', walletId: 'k2', messageHash: message }).result();
    const signed = cluster.submitSignatureShare({ signingSessionId: begun.signingSessionId }).result();
    expect(signed.receipt!.reasonCode).toBe('SIGNATURE_COMPLETED');
    expect(ed25519.verify(signed.fullSignature, message, publicKey)).toBe(true);
    expect(signed.recoveryId).toHaveLength(0);
  });

  test('makes a BIP-340 signature under the x-only key', () => {
    const cluster = new SimCluster({ seed: 'bip340' });
    const publicKey = makeKey(cluster, 'k3', 'secp256k1', 2, 4);
    const keystoreType = KeystoreType.MPC_FROST;
    const begun = cluster
      .initiateSigning({ transactionIntentId: 't1', walletId: 'k3', messageHash: digest, keystoreType })
      .result();
    const signed = cluster.submitSignatureShare({ signingSessionId: begun.signingSessionId }).result();
    expect(schnorr.verify(signed.fullSignature, digest, publicKey.subarray(1))).toBe(true);
  });

  test('gives the same trace for the same seed, byte for byte', () => {
    const run = () => {
      const cluster = new SimCluster({ seed: 'again' });
      makeKey(cluster, 'k', 'ed25519');
      const begun = cluster.initiateSigning({ transactionIntentId: 't', walletId: 'k', messageHash: digest }).result();
      cluster.submitSignatureShare({ signingSessionId: begun.signingSessionId }).result();
      return cluster.trace.join('\n');
    };
    const first = run();
    expect(first.length).toBeGreaterThan(1000);
    expect(run()).toBe(first);
  });

  test.each(['secp256k1', 'ed25519'])('signs with the nodes that are left, on %s', (curve) => {
    const cluster = new SimCluster({ seed: `left ${curve}` });
    makeKey(cluster, 'k', curve);
    const begun = cluster.initiateSigning({ transactionIntentId: 't', walletId: 'k', messageHash: digest }).result();
    cluster.crash('node/1');
    cluster.crash('node/2');
    const signed = cluster.submitSignatureShare({ signingSessionId: begun.signingSessionId }).result();
    expect(signed.receipt!.reasonCode).toBe('SIGNATURE_COMPLETED');
    expect(signed.receipt!.message).toContain('nodes 3, 4, 5');
  });

  test.each(['secp256k1', 'ed25519'])(
    'says who is missing below the threshold, and continues after a resume, on %s',
    (curve) => {
      const cluster = new SimCluster({ seed: `below ${curve}` });
      makeKey(cluster, 'k', curve);
      const begun = cluster.initiateSigning({ transactionIntentId: 't', walletId: 'k', messageHash: digest }).result();
      for (const id of [1, 2, 3]) cluster.crash(`node/${id}`);
      const signingSessionId = begun.signingSessionId;
      const failed = cluster.submitSignatureShare({ signingSessionId }).result();
      expect(failed.receipt!.reasonCode).toBe('QUORUM_UNAVAILABLE');
      expect(failed.receipt!.resumable).toBe(true);
      cluster.start('node/1');
      const { resumeToken } = failed.checkpoint!;
      const resumed = cluster.resumeSession({ sessionId: signingSessionId, resumeToken }).result();
      expect(resumed.state).toBe(ReceiptState.RESUMED);
      expect(cluster.resumeSession({ sessionId: signingSessionId, resumeToken }).result().receipt!.reasonCode).toBe(
        'RESUME_TOKEN_REUSED',
      );
      const signed = cluster.submitSignatureShare({ signingSessionId }).result();
      expect(signed.receipt!.reasonCode).toBe('SIGNATURE_COMPLETED');
    },
  );

  test.each(['secp256k1', 'ed25519'])('loses no session when the coordinator crashes, on %s', (curve) => {
    const cluster = new SimCluster({ seed: `crash ${curve}` });
    cluster.initiateDkg({ sessionId: 'k', derivation: { curve } }).result();
    cluster.crash('coordinator');
    cluster.start('coordinator');
    expect(cluster.exchangeDkgShares({ sessionId: 'k' }).result().receipt!.reasonCode).toBe('DKG_COMPLETED');
    const begun = cluster.initiateSigning({ transactionIntentId: 't', walletId: 'k', messageHash: digest }).result();
    cluster.crash('coordinator');
    cluster.start('coordinator');
    const { signingSessionId } = begun;
    const signed = cluster.submitSignatureShare({ signingSessionId }).result();
    expect(signed.receipt!.reasonCode).toBe('SIGNATURE_COMPLETED');
    cluster.crash('coordinator');
    cluster.start('coordinator');
    const again = cluster.submitSignatureShare({ signingSessionId }).result();
    expect(Buffer.from(again.fullSignature)).toEqual(Buffer.from(signed.fullSignature));
  });

  test.each(['secp256k1', 'ed25519'])('takes one step a node, on %s', (curve) => {
    const cluster = new SimCluster({ seed: `steps ${curve}` });
    makeKey(cluster, 'k', curve);
    const begun = cluster.initiateSigning({ transactionIntentId: 't', walletId: 'k', messageHash: digest }).result();
    const { signingSessionId } = begun;
    const first = cluster.submitSignatureShare({ signingSessionId, nodeId: 2 }).result();
    expect(first.receipt!.reasonCode).toBe('SHARE_ACCEPTED');
    expect(first.receipt!.epoch).toBe(2n);
    expect(cluster.submitSignatureShare({ signingSessionId, nodeId: 2 }).result().receipt!.reasonCode).toBe(
      'DUPLICATE_SHARE',
    );
    expect(cluster.submitSignatureShare({ signingSessionId, nodeId: 6 }).result().receipt!.reasonCode).toBe(
      'NODE_NOT_PARTICIPANT',
    );
    expect(cluster.submitSignatureShare({ signingSessionId, nodeId: 5 }).result().receipt!.reasonCode).toBe(
      'SHARE_ACCEPTED',
    );
    const last = cluster.submitSignatureShare({ signingSessionId, nodeId: 4 }).result();
    expect(last.receipt!.reasonCode).toBe('SIGNATURE_COMPLETED');
    expect(last.receipt!.message).toContain('nodes 2, 4, 5');
  });

  test('exchanges shares pair by pair', () => {
    const cluster = new SimCluster({ seed: 'pairs' });
    const sessionId = 'k';
    cluster.initiateDkg({ sessionId, threshold: 2, totalNodes: 2 }).result();
    const pairs = [
      [1, 2],
      [2, 1],
    ] as const;
    const codes = pairs.map(([senderNodeId, recipientNodeId]) => {
      const said = cluster.exchangeDkgShares({ sessionId, senderNodeId, recipientNodeId }).result();
      expect(said.verified).toBe(true);
      return said.receipt!.reasonCode;
    });
    expect(codes).toEqual(['SHARE_VERIFIED', 'DKG_COMPLETED']);
  });

  test('names the nodes that a DKG waits for, and continues after a resume', () => {
    const cluster = new SimCluster({ seed: 'away' });
    const sessionId = 'k';
    cluster.crash('node/4');
    cluster.initiateDkg({ sessionId }).result();
    const failed = cluster.exchangeDkgShares({ sessionId }).result();
    expect(failed.receipt!.reasonCode).toBe('NODES_UNAVAILABLE');
    expect(failed.errorMessage).toContain('node 4');
    cluster.start('node/4');
    const { resumeToken } = failed.checkpoint!;
    expect(cluster.resumeSession({ sessionId, resumeToken }).result().state).toBe(ReceiptState.RESUMED);
    expect(cluster.exchangeDkgShares({ sessionId }).result().receipt!.reasonCode).toBe('DKG_COMPLETED');
  });
});

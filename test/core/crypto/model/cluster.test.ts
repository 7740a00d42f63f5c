/**
 * Whole simulated ceremonies on the model: the actors run unchanged with every scheme, and what is wrong is refused and
 * blamed as with the real cryptography, which is untouched afterwards.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import { type Cryptography, cryptography } from '../../../../core/crypto/backend.ts';
import { type ReleasedKind, verifyReleased } from '../../../../core/crypto/frost/released.ts';
import { withCryptography } from '../../../../core/crypto/model/switch.ts';
import { KeystoreType } from '../../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster } from '../../../../simulation/cluster/cluster.ts';
import type { SimOptions } from '../../../../simulation/cluster/options.ts';
import { useModelCryptography, useRealCryptography, withTheModel } from './support.ts';

withTheModel();

const digest = Uint8Array.from({ length: 32 }, (_, index) => index + 1);

function makeKey(cluster: SimCluster, curve: string): Uint8Array {
  cluster.initiateDkg({ sessionId: 'k', threshold: 3, totalNodes: 5, derivation: { curve } }).result();
  const done = cluster.exchangeDkgShares({ sessionId: 'k' }).result();
  expect(done.receipt!.reasonCode).toBe('DKG_COMPLETED');
  return Buffer.from(cluster.storedKey('tn_sim', 'k')!.publicKey, 'hex');
}

function sign(cluster: SimCluster, kind: ReleasedKind, intent = 't') {
  const keystoreType = kind === 'bip340' ? KeystoreType.MPC_FROST : KeystoreType.UNSPECIFIED;
  const begun = cluster
    .initiateSigning({ transactionIntentId: intent, walletId: 'k', messageHash: digest, keystoreType })
    .result();
  return cluster.submitSignatureShare({ signingSessionId: begun.signingSessionId }).result();
}

const curveOf = (kind: ReleasedKind) => (kind === 'ed25519' ? 'ed25519' : 'secp256k1');
const kinds: readonly ReleasedKind[] = ['ecdsa', 'bip340', 'ed25519'];

describe.each(kinds)('a cluster that computes with the model, %s', (kind) => {
  test('makes keys and signatures that the model verifies and no real library does', () => {
    for (const seed of ['one', 'two', 'three']) {
      const cluster = new SimCluster({ seed });
      const publicKey = makeKey(cluster, curveOf(kind));
      for (const intent of ['a', 'b']) {
        const { receipt, fullSignature } = sign(cluster, kind, intent);
        expect(receipt!.reasonCode).toBe('SIGNATURE_COMPLETED');
        expect(verifyReleased(kind, publicKey, digest, fullSignature)).toBe(true);
        expect(withCryptography('real', () => verifyReleased(kind, publicKey, digest, fullSignature))).toBe(false);
      }
    }
  });

  test('names the node whose partial is wrong, and signs with the others', () => {
    let liar = 0;
    const onFrame: SimOptions['onFrame'] = (envelope) => {
      const { body } = envelope.message;
      if (body.case !== 'partialReply' || body.value.outcome?.case !== 'partial') return true;
      liar ||= body.value.nodeId ?? 0;
      if (body.value.nodeId !== liar) return true;
      const partial = Uint8Array.from(body.value.outcome.value);
      partial[kind === 'ed25519' ? 0 : 31]! ^= 1;
      const value = { ...body.value, outcome: { case: 'partial' as const, value: partial } };
      return { ...envelope, message: { ...envelope.message, body: { case: 'partialReply', value } } };
    };
    const cluster = new SimCluster({ seed: 'liar', onFrame });
    const publicKey = makeKey(cluster, curveOf(kind));
    const { receipt, fullSignature, signingSessionId } = sign(cluster, kind);
    expect(liar).toBeGreaterThan(0);
    expect(receipt!.reasonCode).toBe('SIGNATURE_COMPLETED');
    const { ceremony } = cluster.storedSession('tn_sim', signingSessionId)!;
    expect(ceremony).toMatchObject({ excluded: [liar], submitted: expect.not.arrayContaining([liar]) });
    expect(verifyReleased(kind, publicKey, digest, fullSignature)).toBe(true);
    const blamed = cluster.events.filter(({ event }) => JSON.stringify(event).includes('"culprit'));
    expect(blamed.length).toBeGreaterThan(0);
    for (const { event } of blamed) expect(JSON.stringify(event)).toContain(String(liar));
  });

  test('gives the same trace for the same seed, byte for byte, and another than the real one', () => {
    const run = () => {
      const cluster = new SimCluster({ seed: 'again' });
      makeKey(cluster, curveOf(kind));
      sign(cluster, kind);
      return cluster.trace.join('\n');
    };
    const first = run();
    const real = withCryptography('real', run);
    expect(run()).toBe(first);
    expect(real).not.toBe(first);
    // The same messages in the same order at the same times: only their bytes differ.
    const outline = (trace: string) => trace.split('\n').map((line) => line.split(' ').slice(0, 5).join(' '));
    expect(outline(real).length).toBe(outline(first).length);
  });
});

test('the real cryptography is untouched by what the model did', () => {
  useRealCryptography();
  const cluster = new SimCluster({ seed: 'real again' });
  const publicKey = makeKey(cluster, 'secp256k1');
  const { fullSignature } = sign(cluster, 'ecdsa');
  expect(secp256k1.verify(fullSignature, digest, publicKey, { prehash: false, lowS: true })).toBe(true);
  useModelCryptography();
});

test('runs with either cryptography take turns in one process, and each is what it is alone', () => {
  /** A run of many steps, each of which begins where the last one ended. */
  const steps = () => {
    const cluster = new SimCluster({ seed: 'in turns' });
    const begin = () => void cluster.initiateDkg({ sessionId: 'k', threshold: 3, totalNodes: 5 });
    const share = () => void cluster.exchangeDkgShares({ sessionId: 'k' });
    const later = Array.from({ length: 40 }, () => () => cluster.advance(5));
    return { cluster, steps: [begin, ...later, share, ...later, () => void sign(cluster, 'ecdsa'), ...later] };
  };
  const alone = (which: Cryptography) =>
    withCryptography(which, () => {
      const run = steps();
      for (const step of run.steps) step();
      return run.cluster.trace.join('\n');
    });
  const [model, real] = [withCryptography('model', steps), withCryptography('real', steps)];
  for (const [index, step] of model.steps.entries()) {
    withCryptography('model', step);
    // Also within a step of the other.
    withCryptography('model', () => withCryptography('real', real.steps[index]!));
  }
  expect(model.cluster.trace.join('\n')).toBe(alone('model'));
  expect(real.cluster.trace.join('\n')).toBe(alone('real'));
  expect(alone('real')).not.toBe(alone('model'));
});

test('a choice of cryptography is refused to a task that returns a promise', () => {
  expect(() => withCryptography('real', async () => undefined)).toThrow('a promise');
  expect(cryptography()).toBe('model');
});

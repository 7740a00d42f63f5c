/** MakeKey: the key of a wallet in one call of the wallet service, whatever dies on the way. */
import { describe, expect, test } from 'vitest';
import type { MakeKeyResponse } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster, type SimOptions } from '../../simulation/cluster/cluster.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { codeOf, tenant } from './support/world.ts';

useModelCryptography();

const service = { walletService: true };
const wallet = 'wal_1';
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function clusterOf(options: Omit<SimOptions, 'seed'> = {}): SimCluster {
  return new SimCluster({ seed: 'make-key', nodes: 3, ...options });
}

const make = (cluster: SimCluster, curve = 'secp256k1') =>
  cluster.makeKey({ sessionId: wallet, derivation: { curve } }, tenant, service);

function expectMade(cluster: SimCluster, made: MakeKeyResponse): void {
  const key = cluster.storedKey(tenant, wallet)!;
  expect([codeOf(made), hex(made.publicKey), hex(made.chainCode)]).toEqual([
    'DKG_COMPLETED',
    key.publicKey,
    key.chainCode,
  ]);
  expect([made.participants, made.culprits]).toEqual([[1, 2, 3], []]);
}

test.each(['secp256k1', 'ed25519'])('the answer is the key on %s, and again the same', (curve) => {
  const cluster = clusterOf();
  const made = make(cluster, curve).result();
  expectMade(cluster, made);
  expect(made.publicKey).toHaveLength(curve === 'ed25519' ? 32 : 33);
  const again = make(cluster, curve).result();
  expectMade(cluster, again);
  expect(again.publicKey).toEqual(made.publicKey);
});

test('calls at the same time make one key', () => {
  const cluster = clusterOf();
  const calls = [make(cluster), make(cluster), make(cluster)];
  const keys = calls.map((call) => hex(call.result().publicKey));
  expect(new Set(keys)).toEqual(new Set([cluster.storedKey(tenant, wallet)!.publicKey]));
});

test('a key that was begun otherwise is gone on with', () => {
  const cluster = clusterOf();
  cluster.initiateDkg({ sessionId: wallet }, tenant, service).result();
  expectMade(cluster, make(cluster).result());
});

test('without its nodes there is no key; the next call resumes the session', () => {
  const cluster = clusterOf();
  cluster.crash('node/2');
  const failed = make(cluster).result();
  expect([codeOf(failed), failed.receipt!.state]).toEqual(['NODES_UNAVAILABLE', ReceiptState.BACKEND_FAILED]);
  expect([failed.publicKey.length, failed.chainCode.length, failed.culprits]).toEqual([0, 0, []]);
  cluster.start('node/2');
  const made = make(cluster).result();
  expectMade(cluster, made);
  expect(made.receipt!.sessionId).toBe(failed.receipt!.sessionId);
});

test('a dealer that cheats is named, and the next call makes the key without its lie', () => {
  const cluster = clusterOf({ faults: [{ fault: 'bad_share', target: 'node/2', count: 1 }] });
  const failed = make(cluster).result();
  expect([failed.publicKey.length, failed.culprits]).toEqual([0, [2]]);
  const made = make(cluster).result();
  expect(hex(made.publicKey)).toBe(cluster.storedKey(tenant, wallet)!.publicKey);
});

test('a client is refused, and so is a key that is no wallet’s', () => {
  const cluster = clusterOf();
  const byClient = cluster.makeKey({ sessionId: wallet }, tenant);
  expect(() => byClient.result()).toThrow('call failed: invalidRequest');
  for (const sessionId of ['', 'k', 'sig_1']) {
    const answer = cluster.makeKey({ sessionId }, tenant, service).result();
    expect([codeOf(answer), answer.publicKey.length]).toEqual(['INVALID_REQUEST', 0]);
  }
  const bad = cluster.makeKey({ sessionId: wallet, threshold: 9 }, tenant, service).result();
  expect([codeOf(bad), cluster.storedSession(tenant, wallet)]).toEqual(['INVALID_THRESHOLD', undefined]);
});

describe('a crash anywhere', () => {
  const framesMax = 100;

  test.each(['coordinator', 1] as const)('of %s leaves a key that the next calls finish', (target) => {
    let crashed = true;
    for (let at = 0; crashed; at += 1) {
      expect(at).toBeLessThan(framesMax);
      crashed = false;
      let frames = 0;
      const cluster: SimCluster = clusterOf({
        onFrame: () => {
          frames += 1;
          if (frames !== at + 1) return true;
          crashed = true;
          if (target === 'coordinator') cluster.crash('coordinator');
          else cluster.crash(`node/${target}`);
          cluster.time.after(50, () =>
            target === 'coordinator' ? cluster.start('coordinator') : cluster.start(`node/${target}`),
          );
          return true;
        },
      });
      let made: MakeKeyResponse | undefined;
      for (let times = 0; times < 5 && (made?.publicKey.length ?? 0) === 0; times += 1) {
        try {
          made = make(cluster).result();
        } catch {
          // Its fate is unknown.
        }
      }
      expectMade(cluster, made!);
    }
  });
});

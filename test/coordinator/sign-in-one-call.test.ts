/** Sign: a session and its signature in one call of the wallet service, whatever dies on the way. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import type { SignResponse } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { MockDirective } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster, type SimOptions } from '../../simulation/cluster/cluster.ts';
import type { WriteFate } from '../../simulation/cluster/memory-stores.ts';
import { codeOf, digest, tenant } from './support/world.ts';

const service = { walletService: true };
const wallet = 'wal_1';

type Asked = Parameters<SimCluster['sign']>[0];
const order = (more: Asked = {}): Asked => ({
  transactionIntentId: 'txi_1',
  walletId: wallet,
  messageHash: digest,
  ...more,
});

type Signed = Pick<SignResponse, 'signature' | 'recoveryId'>;

class World {
  readonly cluster: SimCluster;
  readonly publicKey: Uint8Array;

  constructor(options: Omit<SimOptions, 'seed'> = {}) {
    this.cluster = new SimCluster({ seed: 'one-call', nodes: 3, ...options });
    this.publicKey = this.cluster.makeKey({ sessionId: wallet }, tenant, service).result().publicKey;
  }

  sign(more: Asked = {}): SignResponse {
    return this.cluster.sign(order(more), tenant, service).result();
  }

  /** As the gateway continues: again after an error, and with the session that the answer names. */
  insist(): Signed {
    for (let times = 0; times < 5; times += 1) {
      try {
        const begun = this.sign();
        if (codeOf(begun) !== 'DUPLICATE_INTENT') return begun;
        const { sessionId: signingSessionId } = begun.receipt!;
        const share = this.cluster.submitSignatureShare({ signingSessionId }, tenant, service).result();
        return { signature: share.fullSignature, recoveryId: share.recoveryId };
      } catch {
        // Its fate is unknown.
      }
    }
    throw new Error('it does not sign');
  }

  expectSigned({ signature, recoveryId }: Signed): void {
    const recovered = secp256k1.recoverPublicKey(Buffer.concat([recoveryId, signature]), digest, {
      prehash: false,
    });
    expect(Buffer.from(recovered)).toEqual(Buffer.from(this.publicKey));
  }
}

test('the answer is the signature, of a session like any other', () => {
  const world = new World();
  const signed = world.sign();
  world.expectSigned(signed);
  expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
  const { sessionId } = signed.receipt!;
  expect([signed.signers, signed.culprits]).toEqual([[1, 2, 3], []]);
  expect(world.cluster.storedSession(tenant, sessionId)).toMatchObject({ epoch: 2, ceremony: { kind: 'signing' } });
});

test('a second one names the session that stands, and signs nothing', () => {
  const world = new World();
  const { receipt } = world.sign();
  const again = world.sign();
  expect([codeOf(again), again.signature.length, again.signers]).toEqual(['DUPLICATE_INTENT', 0, []]);
  expect(again.receipt!.sessionId).toBe(receipt!.sessionId);
});

test('a message that is too large to wait in memory is signed all the same', () => {
  const world = new World();
  world.cluster.makeKey({ sessionId: 'wal_ed', derivation: { curve: 'ed25519' } }, tenant, service).result();
  expect(world.sign({ walletId: 'wal_ed', messageHash: new Uint8Array(4096).fill(7) }).signature).toHaveLength(64);
});

test.each<[Asked, string]>([
  [{ walletId: 'wal_2' }, 'WALLET_KEY_NOT_FOUND'],
  [{ messageHash: new Uint8Array(5) }, 'INVALID_MESSAGE_HASH'],
  [{ mockDirective: MockDirective.FORCE_DENIED }, 'MOCK_FORCED_DENIED'],
  [{ approvalMode: 2 }, 'HUMAN_APPROVAL_REQUIRED'],
])('what opens no session, or one that waits, is answered at once: %o', (more, code) => {
  const answer = new World().sign(more);
  expect([codeOf(answer), answer.signature.length]).toEqual([code, 0]);
});

test('a client is refused', () => {
  const call = new World().cluster.sign(order(), tenant);
  expect(() => call.result()).toThrow('call failed: invalidRequest');
});

test('without a quorum the session is given up, and a later call signs in a new one', () => {
  const world = new World();
  world.cluster.crash('node/1');
  const answer = world.sign();
  expect([codeOf(answer), answer.signature.length]).toEqual(['QUORUM_UNAVAILABLE', 0]);
  world.cluster.start('node/1');
  world.expectSigned(world.sign());
});

describe('a crash anywhere', () => {
  const framesMax = 60;

  test.each(['coordinator', 1, 2, 3] as const)('of %s leaves a purpose that is signed once', (target) => {
    let crashed = true;
    for (let at = 0; crashed; at += 1) {
      expect(at).toBeLessThan(framesMax);
      crashed = false;
      // Counted once the key is made.
      let frames = Number.NEGATIVE_INFINITY;
      const world: World = new World({
        onFrame: () => {
          frames += 1;
          if (frames !== at + 1) return true;
          crashed = true;
          const { cluster } = world;
          if (target === 'coordinator') cluster.crash('coordinator');
          else cluster.crash(`node/${target}`);
          cluster.time.after(50, () =>
            target === 'coordinator' ? cluster.start('coordinator') : cluster.start(`node/${target}`),
          );
          return true;
        },
      });
      frames = 0;
      const signed = world.insist();
      world.expectSigned(signed);
      expect(world.insist().signature).toEqual(signed.signature);
    }
  });

  test.each<[WriteFate, number]>([
    ['lost', 1],
    ['lost', 2],
    ['unanswered', 1],
    ['unanswered', 2],
  ])('a write that is %s (number %s) is an error, and a repeat ends in one signature', (fate, number) => {
    let writes = Number.NEGATIVE_INFINITY;
    const world = new World({
      onCoordinatorWrite: () => {
        writes += 1;
        return writes === number ? fate : 'answered';
      },
    });
    writes = 0;
    expect(() => world.sign()).toThrow('call failed: unavailable');
    const signed = world.insist();
    world.expectSigned(signed);
    expect(world.insist().signature).toEqual(signed.signature);
  });
});

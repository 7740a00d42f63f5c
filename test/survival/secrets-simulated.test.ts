/**
 * The same for what only one process can show: in the simulated cluster every nonce is caught where it is dealt, then
 * looked for in every event, every answer and every frame. Frames carry by design the mock nonces (disclosed to the
 * coordinator: that is the mock) and their inverse, and nothing else that is secret.
 */
import { toJson } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import type * as Frost from '../../core/crypto/frost/frost.ts';
import { groupOf } from '../../core/crypto/group.ts';
import type * as MockEcdsa from '../../core/crypto/mock-ecdsa.ts';
import type * as Polynomial from '../../core/crypto/polynomial.ts';
import {
  DkgShareExchangeResponseSchema,
  InitiateSigningResponseSchema,
  KeystoreType,
  SignatureShareResponseSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { encodeFrame } from '../../proto/wire.ts';
import type * as Cluster from '../../simulation/cluster/cluster.ts';
import { replacedModules } from '../support/replaced-modules.ts';
import { Needles } from './support/needles.ts';
import { addSecretsOf } from './support/node-secrets.ts';

type Curve = 'secp256k1' | 'ed25519';

const caught = {
  mockNonces: [] as bigint[],
  frostNonces: [] as bigint[],
  polynomials: [] as { curve: Curve; coefficients: readonly bigint[] }[],
};

const load = replacedModules({
  'core/crypto/frost/frost.ts': {
    dealFrostNonce:
      (real: typeof Frost.dealFrostNonce): typeof real =>
      (input) => {
        const dealt = real(input);
        caught.frostNonces.push(dealt.nonces.hiding, dealt.nonces.binding);
        return dealt;
      },
  },
  'core/crypto/mock-ecdsa.ts': {
    dealMockNonce:
      (real: typeof MockEcdsa.dealMockNonce): typeof real =>
      (random) => {
        const nonce = real(random);
        caught.mockNonces.push(nonce);
        return nonce;
      },
    combineMockNonces:
      (real: typeof MockEcdsa.combineMockNonces): typeof real =>
      (contributions) => {
        const combined = real(contributions);
        caught.mockNonces.push(
          combined.kInverse,
          contributions.reduce((sum, part) => sum + part) % groupOf('secp256k1').order,
        );
        return combined;
      },
  },
  'core/crypto/polynomial.ts': {
    randomPolynomial:
      (real: typeof Polynomial.randomPolynomial): typeof real =>
      (curve, threshold, random) => {
        const coefficients = real(curve, threshold, random);
        caught.polynomials.push({ curve, coefficients });
        return coefficients;
      },
  },
});
const { SimCluster } = (await load('simulation/cluster/cluster.ts')) as typeof Cluster;

test('no nonce, share or seed is in an event or an answer, and none in a frame but the mock’s own', () => {
  const frames: Uint8Array[] = [];
  const cluster = new SimCluster({
    seed: 'secrets',
    // As many dealt ahead as by a live coordinator.
    config: { nonceBatchFirst: 32 },
    onFrame: (envelope) => {
      frames.push(encodeFrame(envelope));
      return true;
    },
  });
  const answers: string[] = [];
  const digest = Buffer.alloc(32, 0x24);
  const secrets = new Needles();
  const fields = new Set<string>();

  for (const sessionId of ['secp256k1', 'schnorr', 'ed25519'] as const) {
    const curve = sessionId === 'schnorr' ? 'secp256k1' : sessionId;
    cluster.initiateDkg({ sessionId, derivation: { curve } }).result();
    cluster.exchangeDkgShares({ sessionId, senderNodeId: 1, recipientNodeId: 2 }).result();
    const collect = () => {
      for (let id = 1; id <= 5; id += 1) {
        for (const kind of ['dkg', 'key']) {
          const record = cluster.nodeStore(id).loadNow(`${kind}/tn_sim/${sessionId}`);
          if (record)
            addSecretsOf(JSON.parse(new TextDecoder().decode(record)), `${kind} of node ${id}`, secrets, fields);
        }
      }
    };
    collect();
    const done = cluster.exchangeDkgShares({ sessionId }).result();
    collect();
    expect(done.receipt!.reasonCode).toBe('DKG_COMPLETED');
    answers.push(JSON.stringify(toJson(DkgShareExchangeResponseSchema, done)));
  }
  for (const [walletId, keystoreType] of [
    ['secp256k1', KeystoreType.MOCK_THRESHOLD],
    ['schnorr', KeystoreType.MPC_FROST],
    ['ed25519', KeystoreType.MPC_FROST],
  ] as const) {
    for (const step of [1, 2, 3]) {
      const transactionIntentId = `${walletId}-${keystoreType}-${step}`;
      const begun = cluster
        .initiateSigning({ transactionIntentId, walletId, keystoreType, messageHash: digest })
        .result();
      answers.push(JSON.stringify(toJson(InitiateSigningResponseSchema, begun)));
      const { signingSessionId } = begun;
      // A step, a crash of its node, and the rest: attempts that are given up, nonces that are void.
      cluster.submitSignatureShare({ signingSessionId, nodeId: step }).result();
      cluster.crash(`node/${step}`);
      const signed = cluster.submitSignatureShare({ signingSessionId }).result();
      expect(signed.isComplete).toBe(true);
      answers.push(JSON.stringify(toJson(SignatureShareResponseSchema, signed)));
      cluster.start(`node/${step}`);
    }
  }

  for (const nonce of caught.frostNonces) secrets.addScalar('FROST nonce', nonce);
  for (const { curve, coefficients } of caught.polynomials) {
    const { order } = groupOf(curve);
    for (const coefficient of coefficients) secrets.addScalar('coefficient', coefficient);
    for (let x = 1n; x <= 5n; x += 1n) {
      const share = coefficients.reduceRight((sum, coefficient) => (sum * x + coefficient) % order, 0n);
      secrets.addScalar('dealt share', share);
    }
  }
  const mockNonces = new Needles();
  for (const nonce of caught.mockNonces) mockNonces.addScalar('mock nonce', nonce);
  expect(caught.frostNonces.length).toBeGreaterThan(100);
  expect(caught.mockNonces.length).toBeGreaterThan(50);
  // Five dealers of three keys.
  expect(caught.polynomials).toHaveLength(15);
  expect([...fields].sort()).toEqual(['box_seed', 'polynomial', 'sealing_seed', 'share', 'signing_share']);

  const events = cluster.events.map(({ address, event }) => `${address} ${event.type} ${JSON.stringify(event.fields)}`);
  expect(events.length).toBeGreaterThan(30);
  for (const needles of [secrets, mockNonces]) {
    expect(needles.search('events', events.join('\n'))).toEqual([]);
    expect(needles.search('answers', answers.join('\n'))).toEqual([]);
  }
  const wire = Buffer.concat(frames);
  expect(secrets.search('frames', wire)).toEqual([]);
  // Which shows that the search sees what frames carry.
  expect(mockNonces.search('frames', wire)).not.toEqual([]);
});

/** One step a node: partials made by nodes, supplied by clients, and their fate when the signers change. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import { groupOf } from '../../core/crypto/group.ts';
import { mockEcdsaPartial } from '../../core/crypto/mock-ecdsa.ts';
import { decodeKeyRecord } from '../../nodes/records/key-record.ts';
import { KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import { type FrameFate, SimCluster } from '../../simulation/cluster/cluster.ts';
import { begin, codeOf, digest, makeKey, tenant } from './support/world.ts';

type Body<C extends WireBodyInit['case']> = Extract<WireBodyInit, { case: C }>['value'];

/** A cluster of five whose frames of the signing round a test sees, and may drop. */
function watched(seed: string) {
  const requests = new Map<number, Body<'partialRequest'>>();
  const replies = new Map<number, Body<'partialReply'>>();
  const counts = new Map<number, number>();
  const world = { drop: new Set<number>() };
  const cluster = new SimCluster({
    seed,
    onFrame: ({ from, to, message: { body } }): FrameFate => {
      if (body.case === 'partialRequest') {
        const id = Number(to.split('/')[1]);
        requests.set(id, body.value);
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }
      if (body.case !== 'partialReply') return true;
      replies.set(Number(from.split('/')[1]), body.value);
      return !world.drop.has(Number(from.split('/')[1]));
    },
  });
  return { cluster, requests, replies, counts, world };
}

/** What node `id` would answer, made from its stored share and the disclosed nonce. */
function ownPartial(cluster: SimCluster, id: number, request: Body<'partialRequest'>): Uint8Array {
  const group = groupOf('secp256k1');
  const { signingShare } = decodeKeyRecord(cluster.nodeStore(id).loadNow(`key/${tenant}/k`)!).keyPackage;
  const kInverse = group.decodeScalar(request.mockNonceInverse!);
  const r = group.reduce(request.noncePoint!.subarray(1));
  return group.encodeScalar(mockEcdsaPartial({ kInverse, r, digest, signingShare }));
}

const givenTo =
  (cluster: SimCluster, signingSessionId: string) =>
  (nodeId: number, more: object = {}) =>
    cluster.submitSignatureShare({ signingSessionId, nodeId, ...more }).result();

describe('mock ECDSA', () => {
  test('takes partials from callers and nodes alike, and refuses wrong ones without blame', () => {
    const { cluster, requests } = watched('given partials');
    const publicKey = makeKey(cluster, 'k', 'secp256k1', 3, 5);
    const { signingSessionId } = begin(cluster, 't');
    const step = givenTo(cluster, signingSessionId);
    expect(step(1).receipt!.message).toContain('1 of 3');
    const request = requests.get(1)!;
    const ephemeralPublicKey = request.noncePoint!;

    const partialSignature = ownPartial(cluster, 2, request);
    const wrong = step(3, { partialSignature });
    expect([codeOf(wrong), wrong.receipt!.state]).toEqual(['INVALID_PARTIAL_SIGNATURE', ReceiptState.DENIED]);
    expect(wrong.receipt!.message).toContain('node 3');
    expect(wrong.checkpoint!.epoch).toBe(2n);
    expect(codeOf(step(2, { partialSignature, ephemeralPublicKey: new Uint8Array(33).fill(2) }))).toBe(
      'INVALID_REQUEST',
    );
    const second = step(2, { partialSignature, ephemeralPublicKey });
    expect([codeOf(second), second.receipt!.epoch]).toEqual(['SHARE_ACCEPTED', 3n]);
    for (const more of [{}, { partialSignature }, { partialSignature: wrong.fullSignature }]) {
      expect(codeOf(step(2, more))).toBe('DUPLICATE_SHARE');
    }
    const last = step(3, {
      partialSignature: ownPartial(cluster, 3, request),
      ephemeralPublicKey: ephemeralPublicKey.subarray(1),
    });
    expect(last.receipt!.message).toContain('signature by nodes 1, 2, 3');
    expect(secp256k1.verify(last.fullSignature, digest, publicKey, { prehash: false })).toBe(true);
    expect(cluster.events.flatMap(({ event }) => event.fields.culprits ?? [])).toEqual([]);
  });

  test('asks again what nodes had made when the coordinator restarts, and says what callers must give again', () => {
    const { cluster, requests } = watched('restart between steps');
    makeKey(cluster, 'k', 'secp256k1', 3, 5);
    const { signingSessionId } = begin(cluster, 't');
    const step = givenTo(cluster, signingSessionId);
    step(1);
    step(2, { partialSignature: ownPartial(cluster, 2, requests.get(1)!) });
    cluster.crash('coordinator');
    cluster.start('coordinator');
    expect(codeOf(step(1))).toBe('DUPLICATE_SHARE');
    const third = step(3).receipt!;
    expect(third.message).toContain('2 of 3');
    expect(third.message).toContain('what was given for node 2 is void');
    expect(step(2).isComplete).toBe(true);
  });

  test('lets one of two concurrent steps for a node win', () => {
    const { cluster } = watched('concurrent steps');
    makeKey(cluster, 'k', 'secp256k1', 3, 5);
    const { signingSessionId } = begin(cluster, 't');
    const calls = [1, 1, 1].map((nodeId) => cluster.submitSignatureShare({ signingSessionId, nodeId }));
    expect(calls.map((call) => codeOf(call.result()))).toEqual([
      'SHARE_ACCEPTED',
      'DUPLICATE_SHARE',
      'DUPLICATE_SHARE',
    ]);
    const both = [2, 0].map((nodeId) => cluster.submitSignatureShare({ signingSessionId, nodeId }).result());
    expect(both.map((answer) => answer.isComplete)).toContain(true);
  });

  test('says that a node is away, and takes another', () => {
    const { cluster } = watched('step away');
    makeKey(cluster, 'k', 'secp256k1', 3, 5);
    const { signingSessionId } = begin(cluster, 't');
    cluster.crash('node/4');
    const away = givenTo(cluster, signingSessionId)(4);
    expect([codeOf(away), away.checkpoint!.state, away.checkpoint!.epoch]).toEqual([
      'NODES_UNAVAILABLE',
      ReceiptState.ACCEPTED,
      1n,
    ]);
    expect(away.receipt!.message).toContain('node 4');
    expect([1, 2, 3].map((id) => givenTo(cluster, signingSessionId)(id).isComplete)).toEqual([false, false, true]);
  });
});

describe.each([
  ['ed25519', KeystoreType.UNSPECIFIED],
  ['secp256k1', KeystoreType.MPC_FROST],
])('FROST on %s', (curve, keystoreType) => {
  function ceremony(seed: string) {
    const it = watched(`${seed} ${curve}`);
    makeKey(it.cluster, 'k', curve, 3, 5);
    const { signingSessionId } = begin(it.cluster, 't', { keystoreType });
    return { ...it, signingSessionId, step: givenTo(it.cluster, signingSessionId) };
  }

  test('replaces a signer when a node outside the set takes a step, and asks again what nodes had made', () => {
    const { step, requests, counts } = ceremony('replace');
    step(1);
    const outside = [2, 3, 4, 5].find((id) => !requests.get(1)!.signers!.some(({ nodeId }) => nodeId === id))!;
    const second = step(outside);
    expect([codeOf(second), counts.get(1)]).toEqual(['SHARE_ACCEPTED', 2]);
    expect(second.receipt!.message).toContain('2 of 3 (attempt 2)');
    const inside = requests.get(outside)!.signers!.map(({ nodeId }) => nodeId!);
    expect(inside).toEqual(expect.arrayContaining([1, outside]));
    expect(step(inside.find((id) => id !== 1 && id !== outside)!).isComplete).toBe(true);
  });

  test('voids what a caller gave when the set changes, and says so', () => {
    const { cluster, step, replies, requests, world } = ceremony('void');
    world.drop.add(1);
    expect(codeOf(step(1))).toBe('NODES_UNAVAILABLE');
    world.drop.clear();
    const partialSignature = { ...replies.get(1)! }.outcome!.value as Uint8Array;
    const signers = requests.get(1)!.signers!.map(({ nodeId }) => nodeId!);
    const outside = [2, 3, 4, 5].find((id) => !signers.includes(id))!;
    const misplaced = step(outside, { partialSignature });
    expect(codeOf(misplaced)).toBe('INVALID_PARTIAL_SIGNATURE');
    expect(misplaced.receipt!.message).toContain(`node ${outside}`);
    expect(codeOf(step(signers.find((id) => id !== 1)!, { partialSignature }))).toBe('INVALID_PARTIAL_SIGNATURE');
    expect(codeOf(step(1, { partialSignature }))).toBe('SHARE_ACCEPTED');

    const replaced = step(outside);
    expect(replaced.receipt!.message).toContain('1 of 3 (attempt 2); what was given for node 1 is void');
    expect(codeOf(step(1, { partialSignature }))).toBe('INVALID_PARTIAL_SIGNATURE');
    expect(cluster.submitSignatureShare({ signingSessionId: replaced.signingSessionId }).result().isComplete).toBe(
      true,
    );
    expect(cluster.events.flatMap(({ event }) => event.fields.culprits ?? [])).toEqual([]);
  });

  test('does not burn nonces while it waits for the one node that was asked for', () => {
    const { step, counts, world } = ceremony('silent step');
    world.drop.add(2);
    expect(codeOf(step(2))).toBe('NODES_UNAVAILABLE');
    expect(counts.get(2)).toBe(1);
    world.drop.clear();
    expect([2, 3, 4].map((id) => step(id).isComplete)).toEqual([false, false, true]);
  });
});

test.each([
  ['ed25519', {}],
  ['secp256k1', { keystoreType: KeystoreType.MPC_FROST }],
] as const)('FROST on %s: steps at once for one node more than sign together all get their answer', (curve, more) => {
  const { cluster, counts } = watched('more steps than signers');
  makeKey(cluster, 'k', curve, 2, 3);
  const { signingSessionId } = begin(cluster, 't', more);
  const beganMs = cluster.scenarioMs;
  const calls = [1, 2, 3].map((nodeId) => cluster.submitSignatureShare({ signingSessionId, nodeId }));
  const codes = calls.map((call) => codeOf(call.result()));
  expect(codes.filter((code) => code === 'SIGNATURE_COMPLETED').length).toBeGreaterThan(0);
  expect(codes.every((code) => code === 'SHARE_ACCEPTED' || code === 'SIGNATURE_COMPLETED')).toBe(true);
  expect(cluster.scenarioMs - beganMs).toBeLessThan(200);
  expect(Math.max(...counts.values())).toBeLessThan(4);
});

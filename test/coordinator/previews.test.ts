/** Seeing what a node would submit: it counts only when it is wanted, and no nonce signs twice for it. */
import { afterEach, describe, expect, test } from 'vitest';
import type { ActorEvent } from '../../core/actors/contract.ts';
import { KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { signingLifetimeMs } from '../../proto/limits.ts';
import { SimCluster, type SimOptions } from '../../simulation/cluster/cluster.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { begin, codeOf, makeKey, tenant } from './support/world.ts';

useModelCryptography();

const schemes = [
  ['mock ECDSA', 'secp256k1', {}],
  ['FROST on ed25519', 'ed25519', {}],
  ['FROST on secp256k1', 'secp256k1', { keystoreType: KeystoreType.MPC_FROST }],
] as const;

let cluster: SimCluster;

/** A cluster with the key "k", 3 of 5, and a session of it. */
function session(curve: string, more: object, options: Partial<SimOptions> = {}): string {
  cluster = new SimCluster({ seed: 'previews', nodes: 5, ...options });
  makeKey(cluster, 'k', curve, 3, 5);
  return begin(cluster, 'intent', more).signingSessionId;
}

const preview = (sessionId: string, nodeId: number) => cluster.previewPartial({ sessionId, nodeId }).result();
const submit = (signingSessionId: string, nodeId = 0, more: object = {}) =>
  cluster.submitSignatureShare({ signingSessionId, nodeId, ...more }).result();

function changed(partial: Uint8Array): Uint8Array {
  const bytes = Uint8Array.from(partial);
  bytes[31]! ^= 1;
  return bytes;
}

/** Of every run: no nonce of any node signs twice. */
afterEach(() => {
  const signed = cluster.events
    .filter(({ event }) => event.type === 'signer.partial.signed' && event.fields.nonce !== 0)
    .map(({ address, event }) => nonceName(address, event));
  expect(new Set(signed).size).toBe(signed.length);
});

function nonceName(address: string, { fields }: ActorEvent): string {
  return [address, fields.boot, fields.coordinatorBoot, fields.scheme, fields.nonce].join(' ');
}

describe.each(schemes)('%s', (_, curve, more) => {
  test('a client supplies the partials that nodes would have submitted, changes a byte, and replays', () => {
    const id = session(curve, more);
    const before = cluster.storedSession(tenant, id);
    const first = preview(id, 1);
    expect(first).toMatchObject({ attempt: expect.any(Number), reasonCode: '' });
    expect(first.partial).toHaveLength(32);
    const second = preview(id, 2);
    expect(cluster.storedSession(tenant, id)).toEqual(before);
    // Where the set binds, seeing the second node may have begun another attempt: both are seen in the last one.
    const one = preview(id, 1);
    expect(one.attempt).toBe(second.attempt);
    const give = (nodeId: number, partialSignature: Uint8Array) =>
      submit(id, nodeId, { partialSignature, ephemeralPublicKey: one.noncePoint });
    expect(codeOf(give(1, changed(one.partial)))).toBe('INVALID_PARTIAL_SIGNATURE');
    expect(codeOf(give(1, second.partial))).toBe('INVALID_PARTIAL_SIGNATURE');
    expect(codeOf(give(1, one.partial))).toBe('SHARE_ACCEPTED');
    expect(codeOf(give(1, one.partial))).toBe('DUPLICATE_SHARE');
    expect(cluster.inspectSession({ sessionId: id }).result()).toMatchObject({
      submitted: [1],
      given: [1],
      culprits: [],
    });
    expect(codeOf(give(2, second.partial))).toBe('SHARE_ACCEPTED');
    const done = submit(id);
    expect([codeOf(done), done.isComplete]).toEqual(['SIGNATURE_COMPLETED', true]);
    expect(preview(id, 1)).toMatchObject({ reasonCode: 'SIGNATURE_COMPLETED', attempt: 0 });
  });

  test('asked again in the same attempt it is the same, before and after it counts', () => {
    const id = session(curve, more);
    const seen = preview(id, 3);
    expect(preview(id, 3)).toEqual(seen);
    expect(codeOf(submit(id, 3))).toBe('SHARE_ACCEPTED');
    expect(preview(id, 3)).toEqual(seen);
    expect(submit(id).isComplete).toBe(true);
  });

  test('all nodes can be seen one after the other, and the signature is made with what they gave', () => {
    const id = session(curve, more);
    for (const nodeId of [5, 4, 3, 2, 1]) expect(preview(id, nodeId).partial).toHaveLength(32);
    expect(submit(id).isComplete).toBe(true);
  });

  test('previews at once are all answered', () => {
    const id = session(curve, more);
    const calls = [1, 2, 3, 4, 5, 1].map((nodeId) => cluster.previewPartial({ sessionId: id, nodeId }));
    expect(calls.map((call) => call.result().partial.length)).toEqual([32, 32, 32, 32, 32, 32]);
    expect(submit(id).isComplete).toBe(true);
  });

  test('previews at once of one node more than sign together are shown before a node counts as silent', () => {
    cluster = new SimCluster({ seed: 'previews', nodes: 3 });
    makeKey(cluster, 'k', curve, 2, 3);
    const sessionId = begin(cluster, 'intent', more).signingSessionId;
    const beganMs = cluster.scenarioMs;
    const calls = [1, 2, 3].map((nodeId) => cluster.previewPartial({ sessionId, nodeId }));
    expect(calls.map((call) => call.result().partial.length)).toEqual([32, 32, 32]);
    expect(cluster.scenarioMs - beganMs).toBeLessThan(200);
  });

  test('seen while the signature is gathered, it delays no call', () => {
    const id = session(curve, more);
    const gathering = cluster.submitSignatureShare({ signingSessionId: id });
    const seen = [1, 2, 3, 4, 5].map((nodeId) => cluster.previewPartial({ sessionId: id, nodeId }));
    expect(gathering.result().isComplete).toBe(true);
    for (const call of seen) {
      const { partial, reasonCode } = call.result();
      expect(partial.length === 32 || reasonCode === 'SIGNATURE_COMPLETED').toBe(true);
    }
  });

  test('a crash of the coordinator begins another attempt, in which it is seen anew', () => {
    const id = session(curve, more);
    const seen = preview(id, 2);
    cluster.crash('coordinator');
    cluster.start('coordinator');
    const again = preview(id, 2);
    expect(again.partial).toHaveLength(32);
    expect(again.noncePoint).not.toEqual(seen.noncePoint);
    const stale = submit(id, 2, { partialSignature: seen.partial, ephemeralPublicKey: seen.noncePoint });
    expect(codeOf(stale)).toBe('INVALID_REQUEST');
    const given = submit(id, 2, { partialSignature: again.partial, ephemeralPublicKey: again.noncePoint });
    expect(codeOf(given)).toBe('SHARE_ACCEPTED');
    expect(submit(id).isComplete).toBe(true);
  });

  test('a crash of the node after it was seen costs nothing: what it gave is kept', () => {
    const id = session(curve, more);
    const seen = preview(id, 2);
    cluster.crash('node/2');
    expect(preview(id, 2)).toEqual(seen);
    cluster.start('node/2');
    expect(codeOf(submit(id, 2, { partialSignature: seen.partial }))).toBe('SHARE_ACCEPTED');
    expect(submit(id).isComplete).toBe(true);
  });

  test('a byzantine node’s bytes are shown as they are, and name it once they count', () => {
    const id = session(curve, more, { onFrame: lies(4) });
    const seen = preview(id, 4);
    expect(seen.partial).toHaveLength(32);
    expect(cluster.inspectSession({ sessionId: id }).result().culprits).toEqual([]);
    const given = submit(id, 4, { partialSignature: seen.partial });
    expect(codeOf(given)).toBe('INVALID_PARTIAL_SIGNATURE');
    expect(cluster.inspectSession({ sessionId: id }).result().culprits).toEqual([]);
    expect(codeOf(submit(id, 4))).toBe('INVALID_PARTIAL_SIGNATURE');
    expect(cluster.inspectSession({ sessionId: id }).result().culprits).toEqual([4]);
    expect(preview(id, 4)).toMatchObject({ reasonCode: 'NODE_NOT_PARTICIPANT', attempt: 0 });
    expect(submit(id).isComplete).toBe(true);
  });

  test('a silent node is reported within its time, and nothing is changed', () => {
    let silent = true;
    const drop: NonNullable<SimOptions['onFrame']> = ({ from, message }) =>
      !(silent && from === 'node/5' && message.body.case === 'partialReply');
    const id = session(curve, more, { onFrame: drop });
    const startedMs = cluster.time.nowMs();
    expect(preview(id, 5)).toMatchObject({ reasonCode: 'NODES_UNAVAILABLE' });
    expect(cluster.time.nowMs() - startedMs).toBeLessThan(2_500);
    silent = false;
    expect(submit(id).isComplete).toBe(true);
  });

  test('answers that come twice or late do not count', () => {
    const twice: NonNullable<SimOptions['onFrame']> = (envelope) =>
      envelope.message.body.case === 'partialReply' ? [0, 3, 9_000].map((ms) => ({ envelope, afterMs: 1 + ms })) : true;
    const id = session(curve, more, { onFrame: twice });
    preview(id, 1);
    const endMs = cluster.time.nowMs() + 10_000;
    cluster.time.after(10_000, () => undefined);
    cluster.time.runUntil(() => cluster.time.nowMs() >= endMs);
    expect(cluster.inspectSession({ sessionId: id }).result()).toMatchObject({ submitted: [], epoch: 1n });
    expect(codeOf(submit(id, 1))).toBe('SHARE_ACCEPTED');
  });
});

/** A node whose partials have a bit changed on their way. */
function lies(liar: number): NonNullable<SimOptions['onFrame']> {
  return (envelope) => {
    const { body } = envelope.message;
    if (envelope.from !== `node/${liar}` || body.case !== 'partialReply') return true;
    const { outcome } = body.value;
    if (outcome?.case !== 'partial') return true;
    const value = { ...body.value, outcome: { case: 'partial' as const, value: changed(outcome.value!) } };
    return { ...envelope, message: { ...envelope.message, body: { case: 'partialReply' as const, value } } };
  };
}

describe('there is none', () => {
  test('of a node that is away', () => {
    const id = session('secp256k1', {});
    cluster.crash('node/4');
    expect(preview(id, 4)).toMatchObject({
      reasonCode: 'NODES_UNAVAILABLE',
      message: expect.stringMatching(/^node 4 (is away|does not answer)$/),
    });
  });

  test('without a quorum', () => {
    const id = session('ed25519', {});
    preview(id, 1);
    cluster.crash('coordinator');
    for (const nodeId of [2, 3, 4]) cluster.crash(`node/${nodeId}`);
    cluster.start('coordinator');
    expect(preview(id, 1).reasonCode).toBe('NODES_UNAVAILABLE');
    expect(cluster.storedSession(tenant, id)).toMatchObject({ state: ReceiptState.ACCEPTED, epoch: 1 });
  });

  test.each([0, 6, 100])('of node %s, which holds no share', (nodeId) => {
    const id = session('secp256k1', {});
    expect(preview(id, nodeId)).toMatchObject({ reasonCode: 'NODE_NOT_PARTICIPANT' });
  });

  test('for a session that is unknown, another tenant’s, or a key’s', () => {
    const id = session('secp256k1', {});
    for (const sessionId of ['sig_unknown', 'k', '', 'a/b']) {
      expect(preview(sessionId, 1)).toMatchObject({ reasonCode: 'SESSION_NOT_FOUND' });
    }
    const foreign = cluster.previewPartial({ sessionId: id, nodeId: 1 }, 'tn_other').result();
    expect(foreign).toMatchObject({ reasonCode: 'SESSION_NOT_FOUND' });
  });

  test('for a session that waits for a human, or whose time is over', () => {
    const id = session('secp256k1', {});
    const pending = cluster
      .initiateSigning({
        walletId: 'k',
        messageHash: new Uint8Array(32).fill(3),
        transactionIntentId: 'pending',
        approvalMode: 2,
      })
      .result();
    expect(preview(pending.signingSessionId, 1)).toMatchObject({ reasonCode: 'HUMAN_APPROVAL_REQUIRED' });
    const endsMs = cluster.time.nowMs() + signingLifetimeMs + 1;
    cluster.time.after(signingLifetimeMs + 1, () => undefined);
    cluster.time.runUntil(() => cluster.time.nowMs() >= endsMs);
    expect(preview(id, 1)).toMatchObject({ reasonCode: 'SESSION_EXPIRED' });
    expect(cluster.storedSession(tenant, id)!.state).toBe(ReceiptState.ACCEPTED);
  });
});

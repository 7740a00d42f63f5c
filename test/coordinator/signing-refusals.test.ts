/** Nodes that refuse to sign, sign wrongly, or answer what was not asked: what their calls are told, and who signs instead. */
import { describe, expect, test } from 'vitest';
import { PartialRefusalCode as Code } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import {
  nodeIds,
  partialBody,
  partialOf,
  refusalOf,
  SigningAlone,
  schemes,
  wrongPartial,
} from './support/signing-alone.ts';

useModelCryptography();

/** What a step of the node is told; what a preview of it shows; and why a session pauses when too few nodes are left. */
const refusals = [
  ['KEYSTORE_MISMATCH', 'KEYSTORE_MISMATCH', 'NODES_UNAVAILABLE', 'KEYSTORE_MISMATCH'],
  ['INTENT_MESSAGE_CHANGED', 'INTENT_MESSAGE_CHANGED', 'NODES_UNAVAILABLE', 'INTENT_MESSAGE_CHANGED'],
  ['ORDER_MISSING', 'ORDER_REFUSED', 'ORDER_REFUSED', 'ORDER_REFUSED'],
  ['ORDER_INVALID', 'ORDER_REFUSED', 'ORDER_REFUSED', 'ORDER_REFUSED'],
  ['ORDER_EXPIRED', 'ORDER_REFUSED', 'ORDER_REFUSED', 'ORDER_REFUSED'],
  ['KEY_UNKNOWN', 'NODES_UNAVAILABLE', 'NODES_UNAVAILABLE', 'QUORUM_UNAVAILABLE'],
  ['REQUEST_INVALID', 'NODES_UNAVAILABLE', 'NODES_UNAVAILABLE', 'QUORUM_UNAVAILABLE'],
] as const;

describe.each(schemes)('under %s', (scheme) => {
  test.each(refusals)(
    'a node that refuses with %s is told as %s, is not asked again, and others sign',
    (name, told, shown) => {
      const t = new SigningAlone(scheme);
      t.opens();
      const call = t.step(2);
      const preview = t.preview(2);
      t.unchanged(() => t.refuses(2, Code[name]));
      expect([t.code(call), t.code(preview)]).toEqual([told, shown]);
      expect([t.code(t.preview(2)), t.askedNodes.includes(2)]).toEqual([shown, false]);
      t.signs();
      // A node that did not hold the key may hold it by the next call.
      if (name !== 'KEY_UNKNOWN') expect(t.record.ceremony.submitted).not.toContain(2);
    },
  );

  test.each(refusals)('two nodes that refuse with %s leave no quorum: the session pauses', (name, _, __, reason) => {
    const t = new SigningAlone(scheme);
    t.opens();
    const call = t.gather();
    t.refuses(t.askedNodes[0]!, Code[name]);
    expect(t.code(call)).toBe('waits');
    t.refuses(t.askedNodes.find((id) => id !== 0)!, Code[name]);
    if (reason === 'QUORUM_UNAVAILABLE') t.pass(t.config.nodesWaitMs);
    expect([t.code(call), t.record.state]).toEqual([reason, ReceiptState.BACKEND_FAILED]);
    expect(t.code(t.resume(t.tokenOf(call)))).toBe('SESSION_RESUMED');
    // A resume may have cured the order, and nothing else.
    if (reason === 'ORDER_REFUSED') t.signs();
  });

  test('steps that nodes refuse fail alone: a session changes only for a call that waits for the whole signature', () => {
    const t = new SigningAlone(scheme);
    t.opens();
    const calls = nodeIds.map((id) => t.step(id));
    t.unchanged(() => {
      for (const id of t.askedNodes.slice(0, 2)) t.refuses(id, Code.ORDER_INVALID);
    });
    const codes = calls.map((call) => t.code(call)).sort();
    expect(codes).toEqual(['ORDER_REFUSED', 'ORDER_REFUSED', 'waits']);
  });

  test('a partial that was in and that its node refuses to make again is in no more', () => {
    const t = new SigningAlone(scheme);
    t.opens();
    const first = t.step(1);
    t.serve();
    expect(t.code(first)).toBe('SHARE_ACCEPTED');
    t.restart();
    const next = t.step(2);
    expect(t.code(t.step(1))).toBe('DUPLICATE_SHARE');
    t.refuses(1, Code.ORDER_INVALID);
    const again = t.step(1);
    t.serve();
    expect(t.code(next)).toBe('SHARE_ACCEPTED');
    expect(t.code(again)).not.toBe('DUPLICATE_SHARE');
  });

  test('a node whose partial does not verify is excluded, its call told once, and others sign', () => {
    const t = new SigningAlone(scheme);
    t.opens();
    const calls = [t.step(2), t.step(2)];
    const answer = t.answerOf(2);
    t.hear(answer, partialBody(answer));
    expect(calls.map((call) => t.code(call))).toEqual(['INVALID_PARTIAL_SIGNATURE', 'INVALID_PARTIAL_SIGNATURE']);
    t.unchanged(() => {
      expect(t.record.ceremony.excluded).toEqual([2]);
      expect([t.step(2), t.preview(2)].map((call) => t.code(call))).toEqual([
        'NODE_NOT_PARTICIPANT',
        'NODE_NOT_PARTICIPANT',
      ]);
    });
    t.signs();
  });

  test.each([
    ['too short', (right: Uint8Array) => right.subarray(1)],
    ['too long', (right: Uint8Array) => Buffer.concat([right, Uint8Array.of(0)])],
    ['above the order', (right: Uint8Array) => new Uint8Array(right.length).fill(255)],
    ['wrong', wrongPartial],
  ])('a node whose partial is %s is excluded from a gathering', (_, change) => {
    const t = new SigningAlone(scheme);
    t.opens();
    const call = t.gather();
    const [liar] = t.askedNodes as [number];
    t.serve((answer) => (answer.node === liar ? [partialBody(answer, change(partialOf(answer)))] : undefined));
    expect([t.code(call), t.record.ceremony.excluded]).toEqual(['SIGNATURE_COMPLETED', [liar]]);
  });

  test('answers that were not asked for change nothing', () => {
    const t = new SigningAlone(scheme);
    t.opens();
    const call = t.gather();
    const [id, other] = t.askedNodes as [number, number];
    const outside = nodeIds.find((node) => !t.askedNodes.includes(node))!;
    const answer = t.answerOf(id);
    const { value } = answer.body as { value: { attemptTag: bigint } };
    t.unchanged(() => {
      t.hear(answer, { ...answer.body, value: { ...value, attemptTag: value.attemptTag ^ 1n } });
      for (const from of ['node/9', 'node/x', 'gateway/a']) t.hear({ ...answer, from });
      // Outside the signers that the round binds, or with another node's share.
      if (t.bindsSigners) t.hear({ ...answer, from: `node/${outside}` });
      // Nonces of a draw that the session no longer waits for.
      t.tell(t.address, { kind: 'drawn', ticket: 1, nonces: [] }, 'cluster');
      t.hear(answer);
      t.hear(answer);
      t.hear(answer, partialBody(answer));
      t.hear(answer, refusalOf(answer, Code.KEY_UNKNOWN));
    });
    expect([t.code(call), t.askedNodes]).toEqual(['waits', [other]]);
    t.serve();
    expect([t.code(call), t.record.ceremony.excluded]).toEqual(['SIGNATURE_COMPLETED', []]);
    t.unchanged(() => t.hear(answer));
  });
});

describe('a node that does not know its nonce', () => {
  test.each([1, 2, 3])(
    'is asked again twice at most (%s refusals), and no other session gets a nonce of that batch',
    (times) => {
      const t = new SigningAlone('mock_ecdsa');
      t.opens();
      const call = t.gather();
      const [id] = t.askedNodes as [number];
      const before = t.requestTo(id)!.nonceNumber;
      for (let left = times; left > 0; left -= 1) t.refuses(id, Code.NONCE_UNKNOWN);
      const again = t.requestTo(id);
      expect(again?.nonceNumber).toBe(times < 3 ? 0n : undefined);
      t.serve();
      expect(t.code(call)).toBe('SIGNATURE_COMPLETED');
      // The batch of two that the node dealt first is void.
      for (let session = 0; session < 3; session += 1) {
        t.opens();
        t.gather();
        const next = t.requestTo(id)?.nonceNumber;
        if (next !== undefined) expect(next).toBeGreaterThan(before + 1n);
        t.serve();
      }
    },
  );

  test('begins another attempt where the round binds its signers', () => {
    const t = new SigningAlone('frost_bip340');
    t.opens();
    const call = t.gather();
    const attempts = () => new Set(t.asked.map(({ names }) => names.attempt));
    expect(attempts()).toEqual(new Set([1]));
    const [id] = t.askedNodes as [number];
    t.asked = t.asked.filter(({ node }) => node === id);
    t.refuses(id, Code.NONCE_UNKNOWN);
    expect(attempts()).toEqual(new Set([2]));
    t.serve();
    expect(t.code(call)).toBe('SIGNATURE_COMPLETED');
  });
});

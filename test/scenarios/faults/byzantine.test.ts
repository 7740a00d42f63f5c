/** Byzantine faults: the right node is named, an honest one never is, and the session ends as the table in behaviours.ts says. */
import { describe, expect, test } from 'vitest';
import { dkgRefusals } from '../../../nodes/dkg/codes.ts';
import { PartialRefusalCode } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { KeystoreType, ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBody } from '../../../proto/wire.ts';
import type { FaultOf } from '../../../scenarios/faults/vocabulary/fault.ts';
import type { LieKind } from '../../../scenarios/faults/vocabulary/kinds.ts';
import { dkgRefusalCodes, partialRefusalCodes } from '../../../scenarios/faults/vocabulary/refusal-codes.ts';
import { begin, blamed, codeOf, makeKey, tokenOf } from '../../coordinator/support/world.ts';
import { useModelCryptography } from '../../support/model-cryptography.ts';
import { isThorough } from '../../support/thorough.ts';
import { FaultFixture } from './support/fault-fixture.ts';

useModelCryptography();

const curves = ['secp256k1', 'ed25519'] as const;

function isReply({ frame }: FaultFixture['frames'][number]): boolean {
  return frame.point === 'partial_reply';
}

/** Runs a DKG of three with one liar. */
function dkg(fixture: FaultFixture, curve: string) {
  fixture.cluster.initiateDkg({ sessionId: 's', threshold: 2, totalNodes: 3, derivation: { curve } }).result();
  return fixture.cluster.exchangeDkgShares({ sessionId: 's' }).result();
}

/** The fault ends, and the session continues. */
function resumed(fixture: FaultFixture, id: string, { receipt, checkpoint }: ReturnType<typeof dkg>) {
  const { cluster, engine } = fixture;
  engine.disarm(id, cluster.time.nowMs());
  cluster.resumeSession({ sessionId: receipt!.sessionId, resumeToken: checkpoint!.resumeToken }).result();
  return cluster.exchangeDkgShares({ sessionId: 's' }).result();
}

const lies: [FaultOf<LieKind>, string][] = [
  [{ fault: 'bad_share', target: 'node/2' }, 'does not verify'],
  [{ fault: 'bad_share', target: 'node/2', for: [3] }, 'node 3 on dealer 2'],
  [{ fault: 'bad_share', target: 'node/2', how: 'zero' }, 'does not verify'],
  [{ fault: 'bad_share', target: 'node/2', how: 'unopenable' }, 'does not open'],
  [{ fault: 'bad_share', target: 'node/2', how: 'malformed' }, 'does not open'],
  [{ fault: 'bad_commitment', target: 'node/2', how: 'too_few' }, 'its opening is malformed'],
  [{ fault: 'bad_commitment', target: 'node/2', how: 'too_many' }, 'its opening is malformed'],
  [{ fault: 'bad_commitment', target: 'node/2', how: 'identity' }, 'its opening is malformed'],
  [{ fault: 'bad_commitment', target: 'node/2', how: 'malformed' }, 'its opening is malformed'],
  [{ fault: 'bad_commitment', target: 'node/2' }, 'node 2 broke the protocol'],
  [{ fault: 'bad_proof', target: 'node/2' }, 'prove possession'],
  [{ fault: 'equivocate', target: 'node/2' }, 'the same result'],
  [{ fault: 'false_report', target: 'node/2' }, 'node 2 on dealer 1'],
  [{ fault: 'false_report', target: 'node/2', about: 3 }, 'node 2 on dealer 3'],
];

describe.each(curves)('a DKG on %s', (curve) => {
  test.each(lies)('names the node behind %j as long as it lies, and continues after that', (fault, told) => {
    const fixture = new FaultFixture(`${JSON.stringify(fault)} ${curve}`);
    const id = fixture.arm(fault);
    const failed = dkg(fixture, curve);
    expect([codeOf(failed), failed.receipt!.state, failed.receipt!.resumable]).toEqual([
      'DEALER_MISBEHAVED',
      ReceiptState.BACKEND_FAILED,
      true,
    ]);
    expect(failed.errorMessage).toContain(told);
    expect(blamed(fixture.cluster)).toEqual([2]);
    expect(fixture.triggerCount(id)).toBeGreaterThan(0);
    const fired = { kind: 'fired', id, fault: fault.fault, victims: ['node/2'] };
    expect(fixture.orders.filter(({ kind }) => kind === 'fired')).toEqual([fired]);

    fixture.cluster.resumeSession({ sessionId: 's', resumeToken: tokenOf(failed) }).result();
    const again = fixture.cluster.exchangeDkgShares({ sessionId: 's' }).result();
    expect(codeOf(again)).toBe('DEALER_MISBEHAVED');

    fixture.engine.disarm(id, fixture.cluster.time.nowMs());
    fixture.cluster.resumeSession({ sessionId: 's', resumeToken: tokenOf(again) }).result();
    expect(codeOf(fixture.cluster.exchangeDkgShares({ sessionId: 's' }).result())).toBe('DKG_COMPLETED');
    expect(blamed(fixture.cluster)).toEqual([2]);
  });

  test.each(['too_few', 'malformed', 'identity', 'other'] as const)(
    'takes a lie (%s) about an opening without commitments',
    (how) => {
      const fixture = new FaultFixture(`nothing left ${how} ${curve}`);
      fixture.arm({ fault: 'altered_answer', target: 'node/2', field: 'opening.commitments', change: 'empty' });
      const id = fixture.arm({ fault: 'bad_commitment', target: 'node/2', how });
      const failed = dkg(fixture, curve);
      expect(codeOf(failed)).toBe('DEALER_MISBEHAVED');
      expect(fixture.triggerCount(id)).toBeGreaterThan(0);
      expect(blamed(fixture.cluster)).toEqual([2]);
    },
  );

  test('names a dealer that shows another opening when it is asked again', () => {
    const fixture = new FaultFixture(`asked again ${curve}`);
    fixture.arm({ fault: 'equivocate', target: 'node/2' });
    // The first answer of another node is lost, so that all that are not open yet are asked again.
    fixture.arm({ fault: 'drop', target: 'node/2', at: { point: 'dkg_open', nth: 2 }, count: 1 });
    fixture.arm({ fault: 'duplicate', target: 'node/2', direction: 'in', at: { point: 'dkg_open' } });
    const failed = dkg(fixture, curve);
    expect(codeOf(failed)).toBe('DEALER_MISBEHAVED');
    expect(failed.errorMessage).toContain('it dealt twice');
    expect(blamed(fixture.cluster)).toEqual([2]);
  });

  test('is stopped by a false key, and its reporter named', () => {
    const fixture = new FaultFixture(`false key ${curve}`);
    fixture.arm({ fault: 'false_report', target: 'node/2', at: { step: 'the last dealer' } });
    fixture.cluster.initiateDkg({ sessionId: 's', threshold: 2, totalNodes: 3, derivation: { curve } }).result();
    // Its last verdict is about itself alone, so that no dealer is left to complain of.
    for (const senderNodeId of [1, 3]) {
      for (const recipientNodeId of [1, 2, 3]) {
        fixture.cluster.exchangeDkgShares({ sessionId: 's', senderNodeId, recipientNodeId }).result();
      }
    }
    fixture.orders.push(...fixture.engine.step('the last dealer', fixture.cluster.time.nowMs()));
    const failed = fixture.cluster.exchangeDkgShares({ sessionId: 's' }).result();
    expect(codeOf(failed)).toBe('DEALER_MISBEHAVED');
    expect(failed.errorMessage).toContain('the same result');
    expect(blamed(fixture.cluster)).toEqual([2]);
  });

  test.each([
    ['sealing_key', 'node 2 refused: OPENING_INVALID'],
    ['commitments', 'node 2 on dealer 1: the opening is malformed or not signed by its dealer'],
  ] as const)('is refused by a node to which the coordinator relays other openings: %s', (how, told) => {
    const fixture = new FaultFixture(`substituted ${how} ${curve}`);
    const id = fixture.arm({ fault: 'substitute_opening', target: 'coordinator', for: [2], how });
    const failed = dkg(fixture, curve);
    expect(failed.errorMessage).toContain(told);
    expect(failed.receipt!.resumable).toBe(true);
    expect(blamed(fixture.cluster).filter((one) => one !== 2)).toEqual([]);
    expect(fixture.triggerCount(id)).toBe(1);
    expect(codeOf(resumed(fixture, id, failed))).toBe('DKG_COMPLETED');
  });

  test('is refused by a node that is shown other results than the rest', () => {
    const fixture = new FaultFixture(`split ${curve}`);
    const id = fixture.arm({ fault: 'split_confirm', target: 'coordinator', for: [2] });
    const failed = dkg(fixture, curve);
    expect(failed.errorMessage).toContain('node 2 refused: SIGNATURE_INVALID');
    expect(fixture.cluster.nodeStore(2).loadNow('key/tn_sim/s')).toBeUndefined();
    expect(codeOf(resumed(fixture, id, failed))).toBe('DKG_COMPLETED');
  });

  test('blames no node for silence', () => {
    const fixture = new FaultFixture(`withhold ${curve}`);
    const id = fixture.arm({ fault: 'withhold', target: 'node/2', at: { point: 'dkg_sealed' } });
    const failed = dkg(fixture, curve);
    expect([codeOf(failed), failed.receipt!.resumable]).toEqual(['NODES_UNAVAILABLE', true]);
    expect(failed.errorMessage).toMatch(/^node 2 did not answer/);
    expect(blamed(fixture.cluster)).toEqual([]);
    expect(fixture.triggerCount(id)).toBeGreaterThan(0);
  });

  test('takes no notice of frames of another session', () => {
    const fixture = new FaultFixture(`stale ${curve}`);
    const id = fixture.arm({ fault: 'stale_replay', target: 'node/*' });
    makeKey(fixture.cluster, 'first', curve);
    expect(codeOf(dkg(fixture, curve))).toBe('DKG_COMPLETED');
    expect(blamed(fixture.cluster)).toEqual([]);
    expect(fixture.triggerCount(id)).toBeGreaterThan(0);
    const stale = fixture.frames.filter(({ arrivals }) => arrivals.length === 2);
    expect(stale.some(({ arrivals }) => arrivals[0]!.message.session === 'first')).toBe(true);
  });

  test('blames no honest node when a coordinator restarts under an equivocating dealer', () => {
    const fixture = new FaultFixture(`two coordinators ${curve}`);
    fixture.arm({ fault: 'equivocate', target: 'node/2' });
    const { cluster } = fixture;
    cluster.initiateDkg({ sessionId: 's', threshold: 2, totalNodes: 3, derivation: { curve } }).result();
    cluster.exchangeDkgShares({ sessionId: 's', senderNodeId: 2, recipientNodeId: 1 }).result();
    cluster.crash('coordinator');
    cluster.start('coordinator');
    const failed = cluster.exchangeDkgShares({ sessionId: 's' }).result();
    expect(['TRANSCRIPT_MISMATCH', 'DEALER_MISBEHAVED']).toContain(codeOf(failed));
    expect(blamed(cluster).filter((one) => one !== 2)).toEqual([]);
  });
});

describe.each([
  ['mock ECDSA', 'secp256k1', KeystoreType.UNSPECIFIED],
  ['FROST on ed25519', 'ed25519', KeystoreType.UNSPECIFIED],
  ['FROST on secp256k1', 'secp256k1', KeystoreType.MPC_FROST],
])('a signature by %s', (name, curve, keystoreType) => {
  function ceremony(label: string) {
    const fixture = new FaultFixture(`${label} ${name}`, 5);
    makeKey(fixture.cluster, 'k', curve, 3, 5);
    return fixture;
  }

  test('is made without a node whose partial is wrong, which is named', () => {
    const fixture = ceremony('bad partial');
    const id = fixture.arm({ fault: 'bad_partial', target: 'node/2' });
    const { signingSessionId } = begin(fixture.cluster, 't', { keystoreType });
    const step = fixture.cluster.submitSignatureShare({ signingSessionId, nodeId: 2 }).result();
    expect([codeOf(step), step.receipt!.state]).toEqual(['INVALID_PARTIAL_SIGNATURE', ReceiptState.DENIED]);
    expect(codeOf(fixture.cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    expect(blamed(fixture.cluster)).toEqual([2]);
    expect(fixture.triggerCount(id)).toBe(1);
  });

  test('is made by the honest nodes, when all are asked at once', () => {
    const fixture = ceremony('two bad partials');
    fixture.arm({ fault: 'bad_partial', target: ['node/1', 'node/2'] });
    const { signingSessionId } = begin(fixture.cluster, 't', { keystoreType });
    const signed = fixture.cluster.submitSignatureShare({ signingSessionId }).result();
    expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
    expect(signed.receipt!.message).toContain('nodes 3, 4, 5');
    expect(blamed(fixture.cluster).sort()).toEqual([1, 2]);
  });

  test('has no quorum when too many lie', () => {
    const fixture = ceremony('three bad partials');
    fixture.arm({ fault: 'bad_partial', target: ['node/1', 'node/2', 'node/3'] });
    const { signingSessionId } = begin(fixture.cluster, 't', { keystoreType });
    const failed = fixture.cluster.submitSignatureShare({ signingSessionId }).result();
    expect([codeOf(failed), failed.receipt!.resumable]).toEqual(['QUORUM_UNAVAILABLE', true]);
    expect(blamed(fixture.cluster).sort()).toEqual([1, 2, 3]);
  });

  test('is made without a node that withholds, which is not blamed', () => {
    const fixture = ceremony('withheld');
    const id = fixture.arm({ fault: 'withhold', target: 'node/1', at: { point: 'partial_reply' } });
    const { signingSessionId } = begin(fixture.cluster, 't', { keystoreType });
    const signed = fixture.cluster.submitSignatureShare({ signingSessionId }).result();
    expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
    expect(signed.receipt!.message).not.toMatch(/nodes [^,]*\b1\b/);
    expect(blamed(fixture.cluster)).toEqual([]);
    expect(fixture.triggerCount(id)).toBeGreaterThan(0);
  });

  // What a refusal does depends on no scheme: all codes on one of them, a few on the others.
  const codes = partialRefusalCodes.filter((_, index) => isThorough || curve === 'ed25519' || index % 4 === 0);
  test.each(codes)('is made without a node that refuses with %s and could sign', (code) => {
    const fixture = ceremony(`refuses ${code}`);
    const id = fixture.arm({ fault: 'false_refusal', target: 'node/2', code, at: { point: 'partial_reply' } });
    for (const intent of ['t1', 't2', 't3']) {
      const { signingSessionId } = begin(fixture.cluster, intent, { keystoreType });
      expect(codeOf(fixture.cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    }
    expect(blamed(fixture.cluster)).toEqual([]);
    expect(fixture.triggerCount(id)).toBeGreaterThan(0);
  });

  test.each(['identity', 'invalid', 'duplicate', 'malformed'] as const)(
    'uses no nonce of a node that deals bad ones, and names the node: %s',
    (how) => {
      const fixture = new FaultFixture(`bad nonces ${how} ${name}`, 5, { nonceBatchFirst: 2 });
      const id = fixture.arm({ fault: 'bad_nonces', target: 'node/2', how });
      // What it deals next, when its link comes back, is bad.
      fixture.cluster.crash('node/2');
      fixture.cluster.start('node/2');
      makeKey(fixture.cluster, 'k', curve, 3, 5);
      for (const intent of ['t1', 't2', 't3']) {
        const { signingSessionId } = begin(fixture.cluster, intent, { keystoreType });
        const signed = fixture.cluster.submitSignatureShare({ signingSessionId }).result();
        expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
      }
      const named = fixture.cluster.events.flatMap(({ event: { type, fields } }) =>
        type === 'node.nonces_malformed' ? [fields.culprits] : [],
      );
      expect(named.length).toBeGreaterThan(0);
      expect(new Set(named.flat())).toEqual(new Set([2]));
      expect(fixture.triggerCount(id)).toBeGreaterThan(0);
      const used = fixture.frames.flatMap(({ frame: { envelope } }) => {
        const body = envelope.message.body as WireBody;
        return body.case === 'partialRequest' && envelope.to === 'node/2' ? [body.value.nonceNumber] : [];
      });
      expect(used.filter((number) => number !== 0n)).toEqual([]);
    },
  );

  test('is made without a signer that was asked for another message', () => {
    const fixture = ceremony('other message');
    const id = fixture.arm({ fault: 'other_message', target: 'coordinator', for: [2] });
    const { signingSessionId } = begin(fixture.cluster, 't', { keystoreType });
    const step = fixture.cluster.submitSignatureShare({ signingSessionId, nodeId: 2 }).result();
    expect(codeOf(step)).toBe('ORDER_REFUSED');
    expect(codeOf(fixture.cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    expect([fixture.triggerCount(id), blamed(fixture.cluster)]).toEqual([1, []]);
    const refusals = fixture.cluster.events.filter(({ event }) => event.type === 'signing.node_refused');
    expect(refusals.map(({ event }) => event.fields.code)).toEqual(['ORDER_INVALID']);
  });

  test('gets no second partial out of a nonce', () => {
    const fixture = ceremony('nonce again');
    const id = fixture.arm({ fault: 'reuse_nonce', target: 'coordinator' });
    const { signingSessionId } = begin(fixture.cluster, 't', { keystoreType });
    expect(codeOf(fixture.cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    // The answer to the second request is behind the one that completed the signature.
    fixture.cluster.time.runUntil(() => fixture.frames.filter(isReply).length === 6, 1_000);
    const replies = fixture.frames.filter(isReply).map(({ frame: { envelope } }) => {
      const body = envelope.message.body as Extract<WireBody, { case: 'partialReply' }>;
      return body.value.outcome;
    });
    const refusals = replies.filter((outcome) => outcome?.case === 'refusal');
    expect(refusals.map((outcome) => outcome?.value)).toEqual(
      Array(3).fill(expect.objectContaining({ code: PartialRefusalCode.NONCE_UNKNOWN })),
    );
    expect([replies.length, fixture.triggerCount(id), blamed(fixture.cluster)]).toEqual([6, 3, []]);
  });

  test('takes no notice of what an earlier session was told', () => {
    const fixture = ceremony('replayed');
    const id = fixture.arm({ fault: 'stale_replay', target: 'node/*' });
    for (const intent of ['t1', 't2', 't3']) {
      const { signingSessionId } = begin(fixture.cluster, intent, { keystoreType });
      expect(codeOf(fixture.cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    }
    expect(blamed(fixture.cluster)).toEqual([]);
    expect(fixture.triggerCount(id)).toBeGreaterThan(0);
  });
});

describe.each([
  ['ed25519', KeystoreType.UNSPECIFIED],
  ['secp256k1', KeystoreType.MPC_FROST],
] as const)('a FROST signature on %s', (curve, keystoreType) => {
  test.each([
    ['own', 'the round does not hold the commitments of these nonces'],
    ['fewer', '1 signers are fewer than the threshold 3'],
    ['unsorted', 'the signers are not ascending and distinct'],
  ] as const)('is made after a node refused a false list of signers: %s', (how, told) => {
    const fixture = new FaultFixture(`signers ${how} ${curve}`, 5);
    makeKey(fixture.cluster, 'k', curve, 3, 5);
    const id = fixture.arm({ fault: 'other_signers', target: 'coordinator', how, count: 1 });
    const { signingSessionId } = begin(fixture.cluster, 't', { keystoreType });
    expect(codeOf(fixture.cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    const refusals = fixture.cluster.events.filter(({ event }) => event.type === 'signing.node_refused');
    expect(refusals.map(({ event }) => event.fields.message)).toEqual([expect.stringContaining(told)]);
    expect([fixture.triggerCount(id), blamed(fixture.cluster)]).toEqual([1, []]);
  });

  test('is made after a partial for other commitments of another signer, which fits nowhere', () => {
    const fixture = new FaultFixture(`commitments ${curve}`, 5);
    makeKey(fixture.cluster, 'k', curve, 3, 5);
    const id = fixture.arm({ fault: 'other_signers', target: 'coordinator', for: [2] });
    const { signingSessionId } = begin(fixture.cluster, 't', { keystoreType });
    const step = fixture.cluster.submitSignatureShare({ signingSessionId, nodeId: 2 }).result();
    expect(codeOf(step)).toBe('INVALID_PARTIAL_SIGNATURE');
    expect(codeOf(fixture.cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    expect(fixture.triggerCount(id)).toBe(1);
  });
});

test('the codes of refusals are those of the nodes', () => {
  expect([...dkgRefusalCodes].sort()).toEqual(Object.keys(dkgRefusals).sort());
  expect(partialRefusalCodes).toContain('NONCE_UNKNOWN');
});

/** Byzantine faults: the right node is named, an honest one never is, and the session ends as the table in liars.ts says. */
import { describe, expect, test } from 'vitest';
import type { LieKind } from '../../faults/engine/kinds.ts';
import type { FaultOf } from '../../faults/fault.ts';
import { KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { begin, blamed, codeOf, makeKey, tokenOf } from '../coordinator/support/world.ts';
import { Theatre } from './support/theatre.ts';

const curves = ['secp256k1', 'ed25519'] as const;

/** Runs a DKG of three with one liar. */
function dkg(theatre: Theatre, curve: string) {
  theatre.cluster.initiateDkg({ sessionId: 's', threshold: 2, totalNodes: 3, derivation: { curve } }).result();
  return theatre.cluster.exchangeDkgShares({ sessionId: 's' }).result();
}

const lies: [FaultOf<LieKind>, string][] = [
  [{ fault: 'bad_share', target: 'node/2' }, 'does not verify'],
  [{ fault: 'bad_share', target: 'node/2', for: [3] }, 'node 3 on dealer 2'],
  [{ fault: 'bad_commitment', target: 'node/2' }, 'node 2 broke the protocol'],
  [{ fault: 'bad_proof', target: 'node/2' }, 'prove possession'],
  [{ fault: 'equivocate', target: 'node/2' }, 'the same result'],
  [{ fault: 'false_report', target: 'node/2' }, 'node 2 on dealer 1'],
  [{ fault: 'false_report', target: 'node/2', about: 3 }, 'node 2 on dealer 3'],
];

describe.each(curves)('a DKG on %s', (curve) => {
  test.each(lies)('names the node behind %j as long as it lies, and goes on after that', (fault, told) => {
    const theatre = new Theatre(`${JSON.stringify(fault)} ${curve}`);
    const id = theatre.arm(fault);
    const failed = dkg(theatre, curve);
    expect([codeOf(failed), failed.receipt!.state, failed.receipt!.resumable]).toEqual([
      'DEALER_MISBEHAVED',
      ReceiptState.BACKEND_FAILED,
      true,
    ]);
    expect(failed.errorMessage).toContain(told);
    expect(blamed(theatre.cluster)).toEqual([2]);
    expect(theatre.strikes(id)).toBeGreaterThan(0);
    expect(theatre.orders.filter(({ kind }) => kind === 'fired')).toEqual([{ kind: 'fired', id, fault: fault.fault }]);

    theatre.cluster.resumeSession({ sessionId: 's', resumeToken: tokenOf(failed) }).result();
    const again = theatre.cluster.exchangeDkgShares({ sessionId: 's' }).result();
    expect(codeOf(again)).toBe('DEALER_MISBEHAVED');

    theatre.engine.disarm(id, theatre.cluster.time.nowMs());
    theatre.cluster.resumeSession({ sessionId: 's', resumeToken: tokenOf(again) }).result();
    expect(codeOf(theatre.cluster.exchangeDkgShares({ sessionId: 's' }).result())).toBe('DKG_COMPLETED');
    expect(blamed(theatre.cluster)).toEqual([2]);
  });

  test('names a dealer that shows another opening when it is asked again', () => {
    const theatre = new Theatre(`asked again ${curve}`);
    theatre.arm({ fault: 'equivocate', target: 'node/2' });
    // The first answer of another node is lost, so that all that are not open yet are asked again.
    theatre.arm({ fault: 'drop', target: 'node/2', at: { point: 'dkg_open', nth: 2 }, count: 1 });
    theatre.arm({ fault: 'duplicate', target: 'node/2', direction: 'in', at: { point: 'dkg_open' } });
    const failed = dkg(theatre, curve);
    expect(codeOf(failed)).toBe('DEALER_MISBEHAVED');
    expect(failed.errorMessage).toContain('it dealt twice');
    expect(blamed(theatre.cluster)).toEqual([2]);
  });

  test('is stopped by a false key, and its reporter named', () => {
    const theatre = new Theatre(`false key ${curve}`);
    theatre.arm({ fault: 'false_report', target: 'node/2', at: { step: 'the last dealer' } });
    theatre.cluster.initiateDkg({ sessionId: 's', threshold: 2, totalNodes: 3, derivation: { curve } }).result();
    // Its last verdict is about itself alone, so that nobody is left to complain of.
    for (const senderNodeId of [1, 3]) {
      for (const recipientNodeId of [1, 2, 3]) {
        theatre.cluster.exchangeDkgShares({ sessionId: 's', senderNodeId, recipientNodeId }).result();
      }
    }
    theatre.orders.push(...theatre.engine.step('the last dealer', theatre.cluster.time.nowMs()));
    const failed = theatre.cluster.exchangeDkgShares({ sessionId: 's' }).result();
    expect(codeOf(failed)).toBe('DEALER_MISBEHAVED');
    expect(failed.errorMessage).toContain('the same result');
    expect(blamed(theatre.cluster)).toEqual([2]);
  });

  test('blames nobody for silence', () => {
    const theatre = new Theatre(`withhold ${curve}`);
    const id = theatre.arm({ fault: 'withhold', target: 'node/2', at: { point: 'dkg_sealed' } });
    const failed = dkg(theatre, curve);
    expect([codeOf(failed), failed.receipt!.resumable]).toEqual(['NODES_UNAVAILABLE', true]);
    expect(failed.errorMessage).toMatch(/^node 2 did not answer/);
    expect(blamed(theatre.cluster)).toEqual([]);
    expect(theatre.strikes(id)).toBeGreaterThan(0);
  });

  test('takes no notice of frames of another session', () => {
    const theatre = new Theatre(`stale ${curve}`);
    const id = theatre.arm({ fault: 'stale_replay', target: 'node/*' });
    makeKey(theatre.cluster, 'first', curve);
    expect(codeOf(dkg(theatre, curve))).toBe('DKG_COMPLETED');
    expect(blamed(theatre.cluster)).toEqual([]);
    expect(theatre.strikes(id)).toBeGreaterThan(0);
    const stale = theatre.frames.filter(({ arrivals }) => arrivals.length === 2);
    expect(stale.some(({ arrivals }) => arrivals[0]!.message.session === 'first')).toBe(true);
  });

  test('blames no honest node when a coordinator restarts under an equivocating dealer', () => {
    const theatre = new Theatre(`two coordinators ${curve}`);
    theatre.arm({ fault: 'equivocate', target: 'node/2' });
    const { cluster } = theatre;
    cluster.initiateDkg({ sessionId: 's', threshold: 2, totalNodes: 3, derivation: { curve } }).result();
    cluster.exchangeDkgShares({ sessionId: 's', senderNodeId: 2, recipientNodeId: 1 }).result();
    cluster.crashCoordinator();
    cluster.startCoordinator();
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
    const theatre = new Theatre(`${label} ${name}`, 5);
    makeKey(theatre.cluster, 'k', curve, 3, 5);
    return theatre;
  }

  test('is made without a node whose partial is wrong, which is named', () => {
    const theatre = ceremony('bad partial');
    const id = theatre.arm({ fault: 'bad_partial', target: 'node/2' });
    const { signingSessionId } = begin(theatre.cluster, 't', { keystoreType });
    const step = theatre.cluster.submitSignatureShare({ signingSessionId, nodeId: 2 }).result();
    expect([codeOf(step), step.receipt!.state]).toEqual(['INVALID_PARTIAL_SIGNATURE', ReceiptState.DENIED]);
    expect(codeOf(theatre.cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    expect(blamed(theatre.cluster)).toEqual([2]);
    expect(theatre.strikes(id)).toBe(1);
  });

  test('is made by whoever is honest, when all are asked at once', () => {
    const theatre = ceremony('two bad partials');
    theatre.arm({ fault: 'bad_partial', target: ['node/1', 'node/2'] });
    const { signingSessionId } = begin(theatre.cluster, 't', { keystoreType });
    const signed = theatre.cluster.submitSignatureShare({ signingSessionId }).result();
    expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
    expect(signed.receipt!.message).toContain('nodes 3, 4, 5');
    expect(blamed(theatre.cluster).sort()).toEqual([1, 2]);
  });

  test('has no quorum when too many lie', () => {
    const theatre = ceremony('three bad partials');
    theatre.arm({ fault: 'bad_partial', target: ['node/1', 'node/2', 'node/3'] });
    const { signingSessionId } = begin(theatre.cluster, 't', { keystoreType });
    const failed = theatre.cluster.submitSignatureShare({ signingSessionId }).result();
    expect([codeOf(failed), failed.receipt!.resumable]).toEqual(['QUORUM_UNAVAILABLE', true]);
    expect(blamed(theatre.cluster).sort()).toEqual([1, 2, 3]);
  });

  test('is made without a node that withholds, which nobody blames', () => {
    const theatre = ceremony('withheld');
    const id = theatre.arm({ fault: 'withhold', target: 'node/1', at: { point: 'partial_reply' } });
    const { signingSessionId } = begin(theatre.cluster, 't', { keystoreType });
    const signed = theatre.cluster.submitSignatureShare({ signingSessionId }).result();
    expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
    expect(signed.receipt!.message).not.toMatch(/nodes [^,]*\b1\b/);
    expect(blamed(theatre.cluster)).toEqual([]);
    expect(theatre.strikes(id)).toBeGreaterThan(0);
  });

  test('takes no notice of what an earlier session was told', () => {
    const theatre = ceremony('replayed');
    const id = theatre.arm({ fault: 'stale_replay', target: 'node/*' });
    for (const intent of ['t1', 't2', 't3']) {
      const { signingSessionId } = begin(theatre.cluster, intent, { keystoreType });
      expect(codeOf(theatre.cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    }
    expect(blamed(theatre.cluster)).toEqual([]);
    expect(theatre.strikes(id)).toBeGreaterThan(0);
  });
});

/** Byzantine and unlucky nodes in a signing round: the culprit alone is named, and the round continues. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, test } from 'vitest';
import type { Envelope } from '../../core/actors/contract.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireMessage } from '../../proto/wire.ts';
import { type FrameFate, SimCluster } from '../../simulation/cluster/cluster.ts';
import { begin, blamed, codeOf, makeKey } from './support/world.ts';

type Frame = Envelope<WireMessage>;

function nodeOf(frame: Frame): number {
  const address = frame.from.startsWith('node/') ? frame.from : frame.to;
  return Number(address.split('/')[1]);
}

/** The partial of a node with one bit changed, as if the node had made it. */
function spoiled(frame: Frame): Frame {
  const { body } = frame.message;
  if (body.case !== 'partialReply' || body.value.outcome?.case !== 'partial') return frame;
  const value = Uint8Array.from(body.value.outcome.value);
  value[16]! ^= 1;
  const changed = { ...body.value, outcome: { case: 'partial' as const, value } };
  return { ...frame, message: { ...frame.message, body: { case: 'partialReply', value: changed } } as WireMessage };
}

/** A reply with another R than the node computed, or with none. */
const lyingAbout =
  (how: 'wrong' | 'none') =>
  (frame: Frame): Frame => {
    const { body } = frame.message;
    if (body.case !== 'partialReply') return frame;
    const noncePoint = how === 'none' ? new Uint8Array() : Uint8Array.from(body.value.noncePoint ?? []);
    if (noncePoint.length > 0) noncePoint[9]! ^= 1;
    const value = { ...body.value, noncePoint };
    return { ...frame, message: { ...frame.message, body: { case: 'partialReply', value } } as WireMessage };
  };

const isReply = (frame: Frame) => frame.message.body.case === 'partialReply';

describe.each([
  ['mock ECDSA', 'secp256k1', KeystoreType.UNSPECIFIED],
  ['FROST on ed25519', 'ed25519', KeystoreType.UNSPECIFIED],
  ['FROST on secp256k1', 'secp256k1', KeystoreType.MPC_FROST],
])('%s', (name, curve, keystoreType) => {
  /** Begins a session in a cluster of five, three of which sign; `fate` rules the frames from then on. */
  function ceremony(seed: string, fate: (frame: Frame, cluster: SimCluster) => FrameFate) {
    let live = false;
    const cluster: SimCluster = new SimCluster({
      seed: `${seed} ${name}`,
      onFrame: (frame) => (live ? fate(frame, cluster) : true),
    });
    makeKey(cluster, 'k', curve, 3, 5);
    const { signingSessionId } = begin(cluster, 't', { keystoreType });
    live = true;
    const culprits = () => blamed(cluster);
    return { cluster, signingSessionId, culprits };
  }

  test('names and excludes a node whose partial is wrong, and signs without it', () => {
    let bad = 0;
    const { cluster, signingSessionId, culprits } = ceremony('one bad', (frame) => {
      if (!isReply(frame)) return true;
      bad ||= nodeOf(frame);
      return nodeOf(frame) === bad ? spoiled(frame) : true;
    });
    const signed = cluster.submitSignatureShare({ signingSessionId }).result();
    expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
    expect(signed.receipt!.message).not.toMatch(new RegExp(`nodes [^,]*\\b${bad}\\b`));
    expect(culprits()).toEqual([bad]);
    const excluded = cluster.submitSignatureShare({ signingSessionId, nodeId: bad }).result();
    expect(codeOf(excluded)).toBe('NODE_NOT_PARTICIPANT');
    expect(excluded.receipt!.message).toContain(`node ${bad}`);
  });

  test.runIf(name.startsWith('FROST'))(
    'believes no R that a node says with a right partial, and blames no node for it',
    () => {
      for (const lie of [lyingAbout('wrong'), lyingAbout('none')]) {
        let lies = 0;
        const { cluster, signingSessionId, culprits } = ceremony('a wrong R', (frame) => {
          if (!isReply(frame)) return true;
          lies += 1;
          return lie(frame);
        });
        expect(codeOf(cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
        expect(lies).toBe(3);
        expect(culprits()).toEqual([]);
      }
    },
  );

  test('names a node whose partial is wrong where others lie about R', () => {
    let bad = 0;
    const { cluster, signingSessionId, culprits } = ceremony('both', (frame) => {
      if (!isReply(frame)) return true;
      bad ||= nodeOf(frame);
      return nodeOf(frame) === bad ? spoiled(frame) : lyingAbout('wrong')(frame);
    });
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    expect(culprits()).toEqual([bad]);
  });

  test('names two of them, and tells a step about its own', () => {
    const { cluster, signingSessionId, culprits } = ceremony('two bad', (frame) =>
      isReply(frame) && [2, 4].includes(nodeOf(frame)) ? spoiled(frame) : true,
    );
    const step = cluster.submitSignatureShare({ signingSessionId, nodeId: 4 }).result();
    expect([codeOf(step), step.receipt!.state]).toEqual(['INVALID_PARTIAL_SIGNATURE', ReceiptState.DENIED]);
    expect(step.receipt!.message).toContain('node 4');
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId, nodeId: 2 }).result())).toBe(
      'INVALID_PARTIAL_SIGNATURE',
    );
    const signed = cluster.submitSignatureShare({ signingSessionId }).result();
    expect(signed.receipt!.message).toContain('nodes 1, 3, 5');
    expect(culprits().sort()).toEqual([2, 4]);
  });

  test('has no quorum when nodes got older stores back, and says which do not hold the key', () => {
    const cluster = new SimCluster({ seed: 'older stores', nodes: 5 });
    const before = cluster.snapshot();
    makeKey(cluster, 'k', 'secp256k1', 3, 5);
    const after = cluster.snapshot();
    cluster.restore({ ...after, nodes: [...before.nodes.slice(0, 3), ...after.nodes.slice(3)] });
    const { signingSessionId } = begin(cluster, 'older stores');
    const failed = cluster.submitSignatureShare({ signingSessionId }).result();
    expect([codeOf(failed), failed.receipt!.resumable]).toEqual(['QUORUM_UNAVAILABLE', true]);
    expect(failed.receipt!.message).toMatch(/ready: nodes 4, 5, without the key: nodes 1, 2, 3$/);
    expect(blamed(cluster)).toEqual([]);
  });

  test('has no quorum when too many cheat, and says who', () => {
    const { cluster, signingSessionId, culprits } = ceremony('three bad', (frame) =>
      isReply(frame) && nodeOf(frame) <= 3 ? spoiled(frame) : true,
    );
    for (const nodeId of [1, 2, 3]) cluster.submitSignatureShare({ signingSessionId, nodeId }).result();
    const failed = cluster.submitSignatureShare({ signingSessionId }).result();
    expect([codeOf(failed), failed.receipt!.resumable]).toEqual(['QUORUM_UNAVAILABLE', true]);
    expect(failed.receipt!.message).toContain('excluded: nodes 1, 2, 3');
    expect(culprits().sort()).toEqual([1, 2, 3]);
  });

  test('replaces a silent node, and names no culprit', () => {
    const asked = new Set<number>();
    let silent = 0;
    const { cluster, signingSessionId, culprits } = ceremony('silent', (frame) => {
      if (frame.message.body.case === 'partialRequest') asked.add(nodeOf(frame));
      if (!isReply(frame)) return true;
      silent ||= nodeOf(frame);
      return nodeOf(frame) !== silent;
    });
    const before = cluster.time.nowMs();
    const signed = cluster.submitSignatureShare({ signingSessionId }).result();
    expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
    expect(cluster.time.nowMs() - before).toBeLessThan(2500);
    expect(asked.size).toBeGreaterThan(3);
    expect(culprits()).toEqual([]);
  });

  test('asks again when a frame was lost and no other node is left', () => {
    let lost = 0;
    const { cluster, signingSessionId, culprits } = ceremony('lossy', (frame) => {
      if (!isReply(frame) || lost >= 2) return true;
      lost += 1;
      return false;
    });
    for (const id of [1, 2]) cluster.crash(`node/${id}`);
    expect(cluster.submitSignatureShare({ signingSessionId }).result().isComplete).toBe(true);
    expect(culprits()).toEqual([]);
  });

  test('takes back a node that was silent because it restarted', () => {
    const { cluster, signingSessionId, culprits } = ceremony('restarted', () => true);
    for (const id of [1, 2]) cluster.crash(`node/${id}`);
    cluster.crash('node/3');
    const call = cluster.submitSignatureShare({ signingSessionId });
    cluster.time.advance(5000);
    expect(call.isDone).toBe(false);
    cluster.start('node/3');
    expect(call.result().isComplete).toBe(true);
    expect(culprits()).toEqual([]);
  });

  test('continues with a node that restarted, unseen, and forgot its nonces', () => {
    const { cluster, signingSessionId } = ceremony('forgot', () => true);
    for (const id of [1, 2, 3, 4, 5]) {
      cluster.crash(`node/${id}`);
      cluster.start(`node/${id}`);
    }
    expect(cluster.submitSignatureShare({ signingSessionId }).result().isComplete).toBe(true);
  });

  test('is not disturbed by frames that come twice, late and out of order', () => {
    const nonces = new Set<string>();
    const { cluster, signingSessionId, culprits } = ceremony('disorder', (envelope) => {
      const late =
        envelope.message.body.case === 'callReply' ? 1 : 1 + ((envelope.from.length * 7 + nonces.size * 5) % 11);
      nonces.add(`${nonces.size}`);
      return [
        { envelope, afterMs: late },
        { envelope, afterMs: late + 3 },
        { envelope, afterMs: late + 40 },
      ];
    });
    expect(cluster.submitSignatureShare({ signingSessionId }).result().isComplete).toBe(true);
    for (let count = 0; count < 12; count += 1) {
      const next = begin(cluster, `t${count}`, { keystoreType });
      const signed = cluster.submitSignatureShare({ signingSessionId: next.signingSessionId }).result();
      expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
    }
    expect(culprits()).toEqual([]);
    const signed = cluster.events.filter(
      ({ event }) => event.type === 'signer.partial.signed' && event.fields.nonce !== 0,
    );
    const names = signed.map(({ address, event: { fields } }) => `${address} ${fields.boot} ${fields.nonce}`);
    expect(new Set(names).size).toBe(names.length);
  });

  test('ignores a partial of an earlier attempt, session and coordinator', () => {
    const kept: Frame[] = [];
    let replays = 0;
    const { cluster, signingSessionId, culprits } = ceremony('stale', (envelope) => {
      if (!isReply(envelope)) return true;
      const stale = kept.filter((old) => old.from === envelope.from).map((old) => ({ ...old, to: envelope.to }));
      kept.push(envelope);
      replays += stale.length;
      return [...stale, envelope].map((one) => ({ envelope: one, afterMs: 1 }));
    });
    expect(cluster.submitSignatureShare({ signingSessionId }).result().isComplete).toBe(true);
    const again = begin(cluster, 'again', { keystoreType });
    cluster.crash('coordinator');
    cluster.start('coordinator');
    expect(cluster.submitSignatureShare({ signingSessionId: again.signingSessionId }).result().isComplete).toBe(true);
    expect(replays).toBeGreaterThan(0);
    expect(culprits()).toEqual([]);
  });
});

/** A point of order 8 on edwards25519. */
const smallOrder = ed25519.Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', true);

/** FROST nonces of an even batch, none of which is a point of the group, and which pass for such in the sum of all. */
function crafted(frame: Frame, half: 'hiding' | 'binding'): Frame {
  const { body } = frame.message;
  if (body.case !== 'noncesDealt' || body.value.scheme !== Scheme.FROST_ED25519) return frame;
  const nonces = body.value.nonces!.map((nonce, index) => {
    const point = ed25519.Point.fromBytes(nonce[half]!);
    return { ...nonce, [half]: point.add(index % 2 === 0 ? smallOrder : smallOrder.negate()).toBytes() };
  });
  const changed = { ...body.value, nonces };
  return { ...frame, message: { ...frame.message, body: { case: 'noncesDealt', value: changed } } as WireMessage };
}

describe.each(['hiding', 'binding'] as const)('nonces whose %s commitments were crafted to pass together', (half) => {
  const craftedBy = (bad: number) => {
    let batches = 0;
    const cluster = new SimCluster({
      seed: `crafted ${half}`,
      onFrame: (frame) => {
        if (nodeOf(frame) !== bad) return true;
        const changed = crafted(frame, half);
        if (changed !== frame) batches += 1;
        return changed;
      },
    });
    makeKey(cluster, 'k', 'ed25519', 3, 5);
    return { cluster, batches: () => batches };
  };

  test('are refused when they are dealt: their dealer alone is named, and all sessions sign without it', () => {
    const { cluster, batches } = craftedBy(2);
    for (let count = 0; count < 5; count += 1) {
      const { signingSessionId } = begin(cluster, `t${count}`);
      const signed = cluster.submitSignatureShare({ signingSessionId }).result();
      expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
      expect(signed.receipt!.message).not.toMatch(/nodes [^,]*\b2\b/);
    }
    expect(batches()).toBeGreaterThan(0);
    const named = cluster.events.flatMap(({ event: { type, fields } }) =>
      type === 'node.nonces_malformed' || type === 'node.suspected' ? [fields.node] : [],
    );
    expect(new Set(named)).toEqual(new Set([2]));
    expect(blamed(cluster)).toEqual([2]);
  });
});

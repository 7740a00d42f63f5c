/** A bad node costs one signature its timeout; the cluster remembers it for a while and draws it last. */
import { describe, expect, test } from 'vitest';
import { isSuspect, restarted, type Suspects, suspect, suspectNodes } from '../../coordinator/cluster/suspects.ts';
import type { Envelope } from '../../core/actors/contract.ts';
import { KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireMessage } from '../../proto/wire.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { begin, blamed, makeKey } from './support/world.ts';

useModelCryptography();

type Frame = Envelope<WireMessage>;

const partialTimeoutMs = 2000;

function isReplyOf(nodeId: number, frame: Frame): boolean {
  return frame.message.body.case === 'partialReply' && frame.from === `node/${nodeId}`;
}

describe.each([
  ['mock ECDSA', 'secp256k1', KeystoreType.UNSPECIFIED],
  ['FROST on ed25519', 'ed25519', KeystoreType.UNSPECIFIED],
  ['FROST on secp256k1', 'secp256k1', KeystoreType.MPC_FROST],
])('%s', (name, curve, keystoreType) => {
  /** Five nodes, of which three sign; node 2 gives no partial while `silent.on`. */
  function cluster(seed: string) {
    const silent = { on: false, asked: 0 };
    const slow = { byMs: 0, all: false };
    const world = new SimCluster({
      seed: `${seed} ${name}`,
      onFrame: (frame) => {
        if (frame.message.body.case === 'partialRequest' && frame.to === 'node/2') silent.asked += 1;
        if (slow.byMs > 0 && (isReplyOf(2, frame) || (slow.all && frame.message.body.case === 'partialReply'))) {
          return [{ envelope: frame, afterMs: slow.byMs }];
        }
        return !(silent.on && isReplyOf(2, frame));
      },
    });
    makeKey(world, 'k', curve, 3, 5);
    const open = (intent: string) => begin(world, intent, { keystoreType }).signingSessionId;
    /** Virtual milliseconds until the session is complete. */
    const finish = (signingSessionId: string) => {
      const before = world.time.nowMs();
      expect(world.submitSignatureShare({ signingSessionId }).result().isComplete).toBe(true);
      return world.time.nowMs() - before;
    };
    return { world, silent, slow, open, finish };
  }

  test('of twelve signatures, one waits for a silent node', () => {
    const { silent, open, finish } = cluster('twelve');
    silent.on = true;
    const waits = Array.from({ length: 12 }, (_, index) => finish(open(`i${index}`)));
    expect(waits.filter((ms) => ms >= partialTimeoutMs)).toHaveLength(1);
  });

  test('sessions that had drawn the silent node before do not wait for it either', () => {
    const { silent, open, finish } = cluster('drawn before');
    const sessions = Array.from({ length: 10 }, (_, index) => open(`i${index}`));
    silent.on = true;
    const waits = sessions.map(finish);
    expect(waits.filter((ms) => ms >= partialTimeoutMs)).toHaveLength(1);
  });

  test('of twelve signatures, one waits for a node that is slower than the others, and answers in time', () => {
    const { world, slow, open, finish } = cluster('slow');
    slow.byMs = 1_200;
    const waits = Array.from({ length: 12 }, (_, index) => finish(open(`i${index}`)));
    expect(waits.filter((ms) => ms >= slow.byMs)).toHaveLength(1);
    expect(blamed(world)).toEqual([]);
    // All alike are slow: none of them is.
    world.time.advance(60_000);
    const before = world.events.length;
    slow.all = true;
    for (let count = 0; count < 6; count += 1) finish(open(`all${count}`));
    expect(world.events.slice(before).filter(({ event }) => event.type === 'node.suspected')).toEqual([]);
  });

  test('a node that stays silent is tried ever more rarely, and one that answers again is drawn again', () => {
    const { world, silent, open, finish } = cluster('decay');
    silent.on = true;
    let waited = 0;
    for (let second = 0; second < 600; second += 8) {
      if (finish(open(`i${second}`)) >= partialTimeoutMs) waited += 1;
      world.time.advance(8000);
    }
    // Suspicions of 10, 20, 40, 80, 160 and 320 s fill the ten minutes.
    expect(waited).toBeGreaterThan(3);
    expect(waited).toBeLessThan(8);

    silent.on = false;
    world.time.advance(320_000);
    silent.asked = 0;
    for (let count = 0; count < 5; count += 1) finish(open(`healed${count}`));
    expect(silent.asked).toBeGreaterThan(0);
  });

  test('a suspect signs where no quorum stands without it', () => {
    const { world, silent, open, finish } = cluster('needed');
    silent.on = true;
    for (let count = 0; count < 4; count += 1) finish(open(`before${count}`));
    silent.on = false;
    for (const id of [4, 5]) world.crash(`node/${id}`);
    expect(finish(open('needs all three'))).toBeLessThan(partialTimeoutMs);
  });

  test('a step that names a suspect asks it', () => {
    const { world, silent, open, finish } = cluster('step');
    silent.on = true;
    for (let count = 0; count < 4; count += 1) finish(open(`before${count}`));
    silent.on = false;
    const signingSessionId = open('step');
    const step = world.submitSignatureShare({ signingSessionId, nodeId: 2 }).result();
    expect(step.receipt!.reasonCode).toBe('SHARE_ACCEPTED');
  });

  test('a node whose partial was wrong is drawn last as well', () => {
    let asked = 0;
    const world = new SimCluster({
      seed: `wrong ${name}`,
      onFrame: (frame) => {
        if (frame.message.body.case === 'partialRequest' && frame.to === 'node/2') asked += 1;
        return isReplyOf(2, frame) ? spoiled(frame) : true;
      },
    });
    makeKey(world, 'k', curve, 3, 5);
    for (let count = 0; count < 12; count += 1) {
      const { signingSessionId } = begin(world, `i${count}`, { keystoreType });
      expect(world.submitSignatureShare({ signingSessionId }).result().isComplete).toBe(true);
    }
    expect([asked, blamed(world)]).toEqual([1, [2]]);
  });
});

test('a node that is asked late in a round has its own time to answer', () => {
  const answersAfterMs = partialTimeoutMs - 200;
  const world = new SimCluster({
    seed: 'asked late',
    onFrame: (frame) =>
      frame.message.body.case === 'partialReply' ? [{ envelope: frame, afterMs: answersAfterMs }] : true,
  });
  makeKey(world, 'k', 'secp256k1', 3, 5);
  const { signingSessionId } = begin(world, 'steps');
  const first = world.submitSignatureShare({ signingSessionId, nodeId: 1 });
  world.time.advance(partialTimeoutMs - 1_000);
  const second = world.submitSignatureShare({ signingSessionId, nodeId: 2 });
  const codes = [first, second].map((call) => call.result().receipt!.reasonCode);
  expect(codes).toEqual(['SHARE_ACCEPTED', 'SHARE_ACCEPTED']);
  expect(world.events.filter(({ event }) => event.fields.reason === 'silent')).toEqual([]);
});

function spoiled(frame: Frame): Frame {
  const { body } = frame.message;
  if (body.case !== 'partialReply' || body.value.outcome?.case !== 'partial') return frame;
  const value = Uint8Array.from(body.value.outcome.value);
  value[16]! ^= 1;
  const changed = { ...body.value, outcome: { case: 'partial' as const, value } };
  return { ...frame, message: { ...frame.message, body: { case: 'partialReply', value: changed } } as WireMessage };
}

describe('a suspicion', () => {
  test('ends by itself, doubles with each further fault, and counts one incident once', () => {
    const suspects: Suspects = new Map();
    expect(suspect(suspects, 3, 'silent', 1000)).toBe(11_000);
    expect(suspect(suspects, 3, 'silent', 2000)).toBeUndefined();
    expect([isSuspect(suspects, 3, 11_999), isSuspect(suspects, 3, 12_000)]).toEqual([true, false]);
    expect(suspect(suspects, 3, 'silent', 12_000)).toBe(32_000);
    expect(suspectNodes(suspects, 12_001)).toEqual([3]);
  });

  test('begins anew after ten minutes without a fault, and never lasts more than 320 s', () => {
    const suspects: Suspects = new Map();
    let nowMs = 0;
    for (let count = 0; count < 10; count += 1) nowMs = suspect(suspects, 1, 'silent', nowMs)!;
    expect(suspect(suspects, 1, 'silent', nowMs)).toBe(nowMs + 320_000);
    const later = nowMs + 320_000 + 600_000;
    expect(suspect(suspects, 1, 'silent', later)).toBe(later + 10_000);
  });

  test('of silence is dropped with a restart of the node, of a wrong value it is not', () => {
    const suspects: Suspects = new Map();
    suspect(suspects, 1, 'silent', 0);
    suspect(suspects, 2, 'bad_partial', 0);
    for (const id of [1, 2]) restarted(suspects, id);
    expect(suspectNodes(suspects, 1)).toEqual([2]);
  });
});

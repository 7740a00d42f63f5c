/**
 * A crash of any process at every frame of a key generation and of a signature, and a failing store at every write: the
 * client repeats its calls, and everything it was told stays true.
 */
import { describe, expect, test } from 'vitest';
import { ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type FrameFate, type SimCall, SimCluster, type SimOptions } from '../../../simulation/cluster/cluster.ts';
import type { WriteFate } from '../../../simulation/cluster/memory-stores.ts';
import { Invariants } from '../../coordinator/support/invariants.ts';
import { type Answered, codeOf, digest, groupKey, tokenOf } from '../../coordinator/support/world.ts';
import { runs } from '../../support/thorough.ts';

type Target = 'coordinator' | 1 | 2 | 3;

/** A client that wants one key and one signature, and repeats whatever met an error. */
class Client {
  readonly invariants = new Invariants();
  readonly cluster: SimCluster;
  readonly #curve: string;
  publicKey: Uint8Array = new Uint8Array();

  constructor(curve: string, options: Omit<SimOptions, 'nodes'>) {
    this.#curve = curve;
    const { onFrame } = options;
    this.cluster = new SimCluster({
      ...options,
      nodes: 3,
      onFrame: (frame) => {
        this.invariants.frame(frame);
        return onFrame?.(frame) ?? true;
      },
    });
  }

  makeKey(): void {
    const { cluster } = this;
    const begun = this.#insist(() =>
      cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3, derivation: { curve: this.#curve } }),
    );
    expect(['SESSION_ACCEPTED', 'DUPLICATE_SESSION']).toContain(codeOf(begun));
    const done = this.#finish('k', () => cluster.exchangeDkgShares({ sessionId: 'k' }));
    expect([codeOf(done), done.verified]).toEqual(['DKG_COMPLETED', true]);
    this.publicKey = groupKey(cluster, 'k');
  }

  sign(transactionIntentId: string): void {
    const { cluster } = this;
    const request = { transactionIntentId, walletId: 'k', messageHash: digest };
    const begun = this.#insist(() => cluster.initiateSigning(request));
    expect(['SESSION_ACCEPTED', 'DUPLICATE_INTENT']).toContain(codeOf(begun));
    const { signingSessionId } = begun;
    const submit = () => cluster.submitSignatureShare({ signingSessionId });
    for (let time = 0; time < 2; time += 1) {
      const signed = this.#finish(signingSessionId, submit);
      expect(signed.isComplete).toBe(true);
      this.invariants.released(transactionIntentId, this.#curve, this.publicKey, digest, signed);
    }
    this.invariants.events(cluster.events.splice(0));
    this.invariants.log(cluster);
  }

  /** Repeats a call until the session is complete, resuming it where it paused. */
  #finish<T extends Answered>(sessionId: string, call: () => SimCall<T>): T {
    for (let count = 0; count < 10; count += 1) {
      const answer = this.#insist(call);
      if (answer.checkpoint!.state === ReceiptState.BACKEND_COMPLETED) return answer;
      if (!answer.receipt!.resumable) continue;
      const resume = { sessionId, resumeToken: tokenOf(answer) };
      const resumed = this.#insist(() => this.cluster.resumeSession(resume));
      expect(['SESSION_RESUMED', 'RESUME_TOKEN_REUSED']).toContain(codeOf(resumed));
    }
    throw new Error(`session ${sessionId} does not come to its end`);
  }

  /** Repeats a call until it has an answer; a session that was reported is never lost. */
  #insist<T extends Answered>(call: () => SimCall<T>): T {
    for (let count = 0; count < 10; count += 1) {
      this.cluster.time.runUntil(() => this.cluster.stateOf('coordinator') !== 'down');
      const asked = call();
      // A lost answer: the client's patience ends, and it asks again.
      if (!this.cluster.time.runUntil(() => asked.isDone)) continue;
      try {
        const answer = asked.result();
        expect(codeOf(answer)).not.toBe('SESSION_NOT_FOUND');
        this.invariants.answered(answer);
        return answer;
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('call failed: ')) throw error;
      }
    }
    throw new Error('the call never has an answer');
  }
}

/** Takes a process down, and up again a little later. */
function crash(cluster: SimCluster, target: Target): void {
  if (target === 'coordinator') {
    if (cluster.stateOf('coordinator') === 'down') return;
    cluster.crash('coordinator');
    cluster.time.after(20, () => cluster.start('coordinator'));
  } else if (cluster.stateOf(`node/${target}`) !== 'down') {
    cluster.crash(`node/${target}`);
    cluster.time.after(20, () => cluster.start(`node/${target}`));
  }
}

type Phase = 'the key generation' | 'the signature';

/** Runs the whole ceremony; `onFrame` and `onWrite` see the frames and writes of one phase by their index. */
function run(
  curve: string,
  phase: Phase,
  seed: string,
  on: {
    frame?: (index: number, cluster: SimCluster) => FrameFate;
    write?: (index: number) => WriteFate;
    nodeWrite?: (index: number) => WriteFate;
  },
): { frames: number; writes: number; nodeWrites: number; client: Client } {
  const counts = { frames: 0, writes: 0, nodeWrites: 0 };
  let live = false;
  const client: Client = new Client(curve, {
    seed,
    onFrame: (frame) => {
      const { body } = frame.message;
      // Nonces dealt ahead are many and all alike: a few of them are looked at.
      if (!live || body.case === 'dealNonces' || (body.case === 'noncesDealt' && counts.frames % 4 !== 0)) return true;
      counts.frames += 1;
      return on.frame?.(counts.frames - 1, client.cluster) ?? true;
    },
    onCoordinatorWrite: () => {
      if (!live) return 'answered';
      counts.writes += 1;
      return on.write?.(counts.writes - 1) ?? 'answered';
    },
    onNodeWrite: () => {
      if (!live) return 'answered';
      counts.nodeWrites += 1;
      return on.nodeWrite?.(counts.nodeWrites - 1) ?? 'answered';
    },
  });
  live = phase === 'the key generation';
  client.makeKey();
  live = phase === 'the signature';
  client.sign('t');
  live = false;
  client.sign('after');
  return { ...counts, client };
}

describe.each(['secp256k1', 'ed25519'])('on %s', (curve) => {
  describe.each(['the key generation', 'the signature'] as const)('%s', (phase) => {
    test.each([
      ['the coordinator, the frame sent', () => 'coordinator' as const, true],
      ['the coordinator, the frame lost', () => 'coordinator' as const, false],
      ['each node in turn, the frame sent', (index: number) => ((index % 3) + 1) as Target, true],
      ['each node in turn, the frame lost', (index: number) => (((index + 1) % 3) + 1) as Target, false],
    ])('survives a crash at many frames: %s', (label, targetOf, sent) => {
      const { frames } = run(curve, phase, 'quiet', {});
      expect(frames).toBeGreaterThan(6);
      // What follows from a crash does not depend on the curve: one of them is tried at every second frame. A lost frame
      // differs from a sent one at its receiver only, so that every third one will do; nodes are alike, and have few frames
      // of their own, so that every second one will do.
      const ofNodes = label.startsWith('each node') ? 2 : 1;
      const stride = runs((curve === 'secp256k1' ? 2 : 6) * (sent ? 1 : 3) * ofNodes, 1);
      for (let at = 0; at < frames; at += stride) {
        run(curve, phase, `${label} ${at}`, {
          frame: (index, cluster) => {
            if (index !== at) return true;
            crash(cluster, targetOf(index));
            return sent;
          },
        });
      }
    });

    test.each(['lost', 'unanswered'] as const)('survives a store whose writes are %s once', (fate) => {
      const { writes, nodeWrites } = run(curve, phase, 'quiet', {});
      const stride = runs(curve === 'secp256k1' ? 2 : 4, 1);
      for (let at = 0; at < writes; at += stride) {
        run(curve, phase, `${fate} ${at}`, { write: (index) => (index === at ? fate : 'answered') });
      }
      for (let at = 0; at < nodeWrites; at += stride) {
        run(curve, phase, `node ${fate} ${at}`, { nodeWrite: (index) => (index === at ? fate : 'answered') });
      }
    });
  });
});

/** Random sequences of calls, right and wrong, one after the other and at once, among crashes: what always holds. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ApprovalMode,
  KeystoreType,
  MockDirective,
  ReceiptState,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type SimCall, SimCluster } from '../../simulation/cluster/cluster.ts';
import { runs } from '../support/thorough.ts';
import { Invariants } from './support/invariants.ts';
import { type Answered, digest, makeKey, witness } from './support/world.ts';

interface Begun extends Answered {
  readonly signingSessionId?: string;
  readonly fullSignature?: Uint8Array;
}

/** One thing that happens. Sessions and tokens are chosen among those seen so far. */
const event = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('initiate' as const),
      intent: fc.constantFrom('t1', 't2'),
      walletId: fc.constantFrom('k', 'k', 'k', 'e', 'unknown'),
      mode: fc.constantFrom(0, 1, 2) as fc.Arbitrary<ApprovalMode>,
      mockDirective: fc.constantFrom(0, 0, 0, 0, 4, 4, 1, 2, 3) as fc.Arbitrary<MockDirective>,
      keystoreType: fc.constantFrom(0, 0, 4, 2) as fc.Arbitrary<KeystoreType>,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('submit' as const),
      session: fc.nat(5),
      nodeId: fc.constantFrom(0, 0, 0, 1, 2, 3, 4, -1),
      given: fc.constantFrom(0, 0, 0, 32, 5),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('resume' as const),
      session: fc.nat(5),
      token: fc.constantFrom('latest', 'latest', 'oldest', 'none', 'other'),
      witness: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('exchange' as const),
      sender: fc.constantFrom(0, 1, 2, 3, 4),
      recipient: fc.constantFrom(0, 1, 2, 3),
      given: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('preview' as const),
      session: fc.nat(5),
      nodeId: fc.constantFrom(1, 1, 2, 2, 3, 3, 0, 4),
      use: fc.constantFrom('nothing', 'submit', 'change'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('inspect' as const), session: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crashNode' as const), node: fc.constantFrom(1, 2, 3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crashCoordinator' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('sweep' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 3, 2000, 12_000, 600_000, 900_000),
    }),
  },
);
type Happening = typeof event extends fc.Arbitrary<infer E> ? E : never;

class World {
  readonly invariants = new Invariants();
  readonly cluster: SimCluster;
  readonly keys: Readonly<Record<string, Uint8Array>>;
  #round = 0;
  #sessions: string[] = [];
  readonly #intents = new Map<string, string>();
  readonly #wallets = new Map<string, string>();
  readonly #tokens = new Map<string, string[]>();
  readonly #pending: { readonly isDone: boolean }[] = [];

  constructor(seed: string) {
    this.cluster = new SimCluster({
      seed,
      nodes: 3,
      onFrame: (frame) => {
        this.invariants.frame(frame);
        return true;
      },
    });
    this.keys = { k: makeKey(this.cluster, 'k'), e: makeKey(this.cluster, 'e', 'ed25519') };
    this.cluster.initiateDkg({ sessionId: 'd', threshold: 2, totalNodes: 3 }).result();
  }

  /** Begins anew, with fresh intents, on the same cluster: making one costs more than what happens on it. */
  nextRound(): void {
    this.#round += 1;
    this.#sessions = [];
    this.#tokens.clear();
    this.cluster.trace.length = 0;
  }

  happen(one: Happening): void {
    const { cluster } = this;
    switch (one.kind) {
      case 'initiate': {
        const { walletId, mockDirective, keystoreType } = one;
        const intent = `${one.intent} of round ${this.#round}`;
        const call = cluster.initiateSigning({
          transactionIntentId: intent,
          walletId,
          messageHash: digest,
          approvalMode: one.mode,
          mockDirective,
          keystoreType,
        });
        this.#hear(call, (answer) => {
          const id = answer.signingSessionId!;
          if (id === '' || this.#intents.has(id)) return;
          this.#sessions.push(id);
          this.#intents.set(id, intent);
          const isFrost = answer.receipt!.keystoreType === KeystoreType.MPC_FROST;
          this.#wallets.set(id, isFrost && walletId === 'k' ? 'bip340' : walletId);
        });
        return;
      }
      case 'submit': {
        const signingSessionId = this.#session(one.session);
        const partialSignature = new Uint8Array(one.given).fill(3);
        this.#hear(cluster.submitSignatureShare({ signingSessionId, nodeId: one.nodeId, partialSignature }));
        return;
      }
      case 'resume': {
        const sessionId = this.#session(one.session);
        const tokens = this.#tokens.get(sessionId) ?? [];
        const other = [...this.#tokens.values()].flat()[0];
        const token = { latest: tokens.at(-1), oldest: tokens[0], none: '', other }[one.token];
        this.#hear(
          cluster.resumeSession({
            sessionId,
            resumeToken: token ?? 'x',
            ...(one.witness ? { humanApprovalWitness: witness } : {}),
          }),
        );
        return;
      }
      case 'exchange': {
        const given = one.given
          ? { encryptedShare: new Uint8Array(32).fill(1), commitments: [this.keys.k!, this.keys.k!] }
          : {};
        this.#hear(
          cluster.exchangeDkgShares({
            sessionId: 'd',
            senderNodeId: one.sender,
            recipientNodeId: one.recipient,
            ...given,
          }),
        );
        return;
      }
      case 'preview': {
        const signingSessionId = this.#session(one.session);
        const { nodeId } = one;
        const call = cluster.previewPartial({ sessionId: signingSessionId, nodeId });
        this.#pending.push(call);
        call.onAnswer(({ partial, noncePoint, reasonCode }) => {
          expect([partial.length, reasonCode !== '']).toEqual(reasonCode === '' ? [32, false] : [0, true]);
          if (one.use === 'nothing' || partial.length === 0) return;
          const partialSignature = Uint8Array.from(partial);
          if (one.use === 'change') partialSignature[31]! ^= 1;
          const given = { signingSessionId, nodeId, partialSignature, ephemeralPublicKey: noncePoint };
          this.#hear(cluster.submitSignatureShare(given), ({ receipt }) => {
            if (one.use === 'change') expect(receipt!.reasonCode).not.toBe('SHARE_ACCEPTED');
          });
        });
        return;
      }
      case 'inspect': {
        const sessionId = one.session === 5 ? 'd' : this.#session(one.session);
        const call = cluster.inspectSession({ sessionId });
        this.#pending.push(call);
        call.onAnswer(({ found, epoch, culprits }) => {
          expect([found, culprits]).toEqual([sessionId !== 'sig_unknown', []]);
          if (found) expect(epoch >= 1n).toBe(true);
        });
        return;
      }
      case 'crashNode':
        if (cluster.stateOf(`node/${one.node}`) === 'down') return;
        cluster.crash(`node/${one.node}`);
        cluster.time.after(5000, () => cluster.start(`node/${one.node}`));
        return;
      case 'crashCoordinator':
        cluster.crash('coordinator');
        cluster.start('coordinator');
        return;
      case 'sweep':
        cluster.sweep();
        return;
      case 'wait':
        cluster.time.advance(one.ms);
        return;
    }
  }

  /** Runs until every call is answered; what each answer says is held against all invariants, in order of arrival. */
  settle(): void {
    this.cluster.time.runUntil(() => this.#pending.every(({ isDone }) => isDone));
    for (const { isDone } of this.#pending) expect(isDone).toBe(true);
    this.#pending.length = 0;
    this.invariants.events(this.cluster.events.splice(0));
    this.invariants.log(this.cluster);
  }

  #session(index: number): string {
    return this.#sessions[index % Math.max(1, this.#sessions.length)] ?? 'sig_unknown';
  }

  #hear<T extends Begun>(call: SimCall<T>, then: (answer: Begun) => void = () => undefined): void {
    const heard = (answer: T): void => {
      then(answer);
      this.invariants.answered(answer);
      const { sessionId, resumable } = answer.receipt!;
      if (resumable) {
        const tokens = this.#tokens.get(sessionId) ?? [];
        if (tokens.at(-1) !== answer.checkpoint!.resumeToken) tokens.push(answer.checkpoint!.resumeToken);
        this.#tokens.set(sessionId, tokens);
      }
      const wallet = this.#wallets.get(sessionId);
      const intent = this.#intents.get(sessionId);
      if (!answer.fullSignature || answer.fullSignature.length === 0 || !intent || !wallet) return;
      // One signature an intent: whichever session it came from.
      const curve = { k: 'secp256k1', e: 'ed25519' }[wallet] ?? 'bip340';
      this.invariants.released(intent, curve, this.keys[wallet] ?? this.keys.k!, digest, answer as never);
    };
    call.onAnswer(heard);
    this.#pending.push(call);
  }
}

describe('random calls', () => {
  test('never break an invariant, and leave no call without an answer', () => {
    const worlds = ['a', 'b', 'c'].map((seed) => new World(seed));
    fc.assert(
      fc.property(fc.array(event, { minLength: 4, maxLength: 30 }), fc.nat(9), (happenings, seed) => {
        const world = worlds[seed % worlds.length]!;
        world.nextRound();
        for (const [index, one] of happenings.entries()) {
          world.happen(one);
          if (index % 3 === 2) world.settle();
        }
        world.settle();
      }),
      { numRuns: runs(60, 100), seed: 20_260_101 },
    );
  });

  test('never give one intent two signatures, however its sessions interleave', () => {
    const calls: fc.Arbitrary<Happening> = fc.oneof(
      fc.record({
        kind: fc.constant('initiate' as const),
        intent: fc.constant('t1'),
        walletId: fc.constant('k'),
        mode: fc.constantFrom(0, 2) as fc.Arbitrary<ApprovalMode>,
        mockDirective: fc.constantFrom(0, 4, 4) as fc.Arbitrary<MockDirective>,
        keystoreType: fc.constant(0 as KeystoreType),
      }),
      fc.record({
        kind: fc.constant('submit' as const),
        session: fc.nat(5),
        nodeId: fc.constant(0 as const),
        given: fc.constant(0 as const),
      }),
      fc.record({
        kind: fc.constant('resume' as const),
        session: fc.nat(5),
        token: fc.constant('latest' as const),
        witness: fc.constant(true),
      }),
      fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 3, 2000, 2000, 2000) }),
    );
    // Crashes are rare: every start of a coordinator has all nonces dealt anew, which takes the most of a run.
    const crash = fc.constant<Happening>({ kind: 'crashCoordinator' });
    const step = fc.oneof({ weight: 40, arbitrary: calls }, { weight: 1, arbitrary: crash });
    const world = new World('interleaved');
    fc.assert(
      fc.property(fc.array(step, { minLength: 6, maxLength: 30 }), (happenings) => {
        world.nextRound();
        for (const one of happenings) world.happen(one);
        world.settle();
      }),
      { numRuns: runs(70, 120), seed: 20_260_102 },
    );
  });

  test('end in a signature once every node is well', () => {
    const world = new World('well');
    world.happen({
      kind: 'initiate',
      intent: 't1',
      walletId: 'k',
      mode: 0,
      mockDirective: MockDirective.FORCE_BACKEND_FAILED,
      keystoreType: 0,
    });
    world.settle();
    world.happen({ kind: 'resume', session: 0, token: 'latest', witness: false });
    world.happen({ kind: 'submit', session: 0, nodeId: 0, given: 0 });
    world.settle();
    expect(ReceiptState[world.cluster.storedSession('tn_sim', 'd')!.state]).toBe('ACCEPTED');
  });
});

/**
 * What the actor contract says of states, held against every actor of coordinator and nodes in simulated runs: a step with
 * a write leaves the state that it was given as it was, so that a refused write takes nothing along; and a session whose
 * write is refused answers every call that waits.
 */
import { describe, expect, test } from 'vitest';
import type * as Coordinator from '../../../coordinator/behaviours.ts';
import type { CoordinatorMessage, CoordinatorWrite, LocalMessage } from '../../../coordinator/contract/messages.ts';
import type { Behaviour, Context, Input, Step } from '../../../core/actors/contract.ts';
import { refusedInput } from '../../../core/actors/kernel/step.ts';
import type * as Nodes from '../../../nodes/behaviours.ts';
import type { SignerState } from '../../../nodes/signer/signer-state.ts';
import type * as Cluster from '../../../simulation/cluster/cluster.ts';
import { type Profile, profiles } from '../../../simulation/search/profiles.ts';
import type * as Workload from '../../../simulation/search/signing/workload.ts';
import { begin, tenant } from '../../coordinator/support/world.ts';
import { replacedModules } from '../../support/replaced-modules.ts';
import { runs } from '../../support/thorough.ts';
import { imageOf } from './support/image.ts';

// biome-ignore lint/suspicious/noExplicitAny: behaviours of both rooms, each with types of its own
type Any = any;
type AnyBehaviour = Behaviour<Any, Any, Any, Any>;

/** What was checked, by the first segment of the actor's address. */
const checked = {
  steps: new Map<string, number>(),
  writes: new Map<string, number>(),
  refused: new Map<string, number>(),
  unanswered: [] as string[],
  changed: [] as string[],
};

const load = replacedModules({
  'coordinator/behaviours.ts': {
    coordinatorBehaviours:
      (real: typeof Coordinator.coordinatorBehaviours): typeof real =>
      (config, backend) =>
        real(config, backend).map((behaviour) => watched(behaviour)),
  },
  'nodes/behaviours.ts': {
    nodeBehaviours:
      (real: typeof Nodes.nodeBehaviours): typeof real =>
      (identity) => {
        const behaviours = Object.entries(real(identity));
        return Object.fromEntries(behaviours.map(([name, behaviour]) => [name, watched(behaviour)])) as Any;
      },
  },
});
const { SimCluster } = (await load('simulation/cluster/cluster.ts')) as typeof Cluster;
const { runSeed } = (await load('simulation/search/signing/workload.ts')) as typeof Workload;

/** Actors that change their state in place where nothing can take it back: their files say so. */
const inPlace = new Set(['cluster', 'node']);

function nameOf(self: string): string {
  const [, inner] = /^node\/\d+\/(dkg|vendor)/.exec(self) ?? [];
  return inner === undefined ? self.split('/')[0]! : `node ${inner}`;
}

function watched(behaviour: AnyBehaviour): Any {
  return {
    ...behaviour,
    receive: (state: unknown, input: Input<Any, Any, Any>, context: Context): Step<Any, Any, Any> => {
      const name = nameOf(context.self);
      const before = imageOfState(name, state);
      const step = behaviour.receive(state, input, context);
      const write = step.effects.find((effect) => effect.kind === 'persist');
      add(checked.steps, name);
      if (input.kind === 'persistRefused') add(checked.refused, name);
      if (write || !inPlace.has(name)) expectSame(name, input, before, imageOfState(name, state));
      if (!write) return step;
      add(checked.writes, name);
      if (inPlace.has(name)) return step;
      const refused = refusedInput(input, write.write, { kind: 'unavailable' as const, message: 'lost' });
      const failed = behaviour.receive(state, refused, { ...context, random: (length) => new Uint8Array(length) });
      expectSame(name, refused, before, imageOfState(name, state));
      const answered = answersOf(failed);
      for (const call of waitingCalls(state, input)) {
        if (!answered.has(call)) checked.unanswered.push(`${name}: call ${call} after ${input.kind}`);
      }
      return step;
    },
  };
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function expectSame(name: string, input: Input<Any, Any, Any>, before: string, after: string): void {
  if (before !== after) checked.changed.push(`${name}: ${input.kind}\n${before}\n${after}`);
}

/** Of a signer what its owner may see: its secrets are private fields. */
function imageOfState(name: string, state: unknown): string {
  if (name !== 'node') return imageOf(state);
  const { pools, waiting, pending, stale } = state as SignerState;
  const { write, effects } = pending.content();
  const nonces = ([1, 2, 3] as const).map((scheme) => pools.waiting(scheme));
  return imageOf({ nonces, waiting: waiting.count, write, effects: effects.length, stale });
}

/** Calls that the session's actor owes an answer: what waits in its state, and what just came. */
function waitingCalls(state: Any, input: Input<Any, Any, Any>): Set<bigint> {
  const found = new Set<bigint>();
  const collect = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array || depth > 6) return;
    if ('callId' in value && 'gateway' in value) found.add(value.callId as bigint);
    const inner = value instanceof Map ? [...value.values()] : Object.values(value);
    for (const one of inner) collect(one, depth + 1);
  };
  if (state?.work) collect([state.work.queue, state.work.sandbox, state.work.inbox, state.work.jobs], 0);
  else collect(state, 0);
  const handled = input.kind === 'persistRefused' ? input.input : input;
  if (handled.kind === 'message' && isClientCall(handled.message)) found.add(handled.message.call.callId);
  return found;
}

function isClientCall(message: CoordinatorMessage): message is Extract<LocalMessage, { kind: 'clientCall' }> {
  return 'kind' in message && message.kind === 'clientCall';
}

function answersOf({ effects }: Step<Any, Any, Any>): Set<bigint> {
  const replies = effects.flatMap((effect) => (effect.kind === 'send' ? [effect.message?.body] : []));
  return new Set(replies.filter((body) => body?.case === 'callReply').map((body) => body.value.callId));
}

describe('a step with a write', () => {
  test.each(profiles)('leaves the old state as it was, in %s runs', (profile: Profile) => {
    for (let seed = 1; seed <= runs(4, 12); seed += 1) {
      expect(runSeed(seed, profile, { crypto: 'model', record: false }).verdict.kind).toBe('passed');
    }
    expect(checked.changed).toEqual([]);
    expect(checked.unanswered).toEqual([]);
  });

  test('leaves it so when a wallet is archived while its sessions wait, and when a store refuses that', () => {
    let fails = 0;
    // Random runs archive wallets too.
    const counts = () => [checked.writes.get('closing') ?? 0, checked.refused.get('closing') ?? 0] as const;
    const [writes, refused] = counts();
    const onCoordinatorWrite = (write: CoordinatorWrite) => {
      if (write.kind !== 'closeKey' || fails > 0) return 'answered';
      fails += 1;
      return 'lost';
    };
    const cluster = new SimCluster({ seed: 'archived', nodes: 3, onCoordinatorWrite });
    const service = { walletService: true };
    const sessionId = 'wal_1';
    cluster.initiateDkg({ sessionId }, tenant, service).result();
    cluster.exchangeDkgShares({ sessionId }, tenant, service).result();
    for (const intent of ['a', 'b', 'c']) begin(cluster, intent, { walletId: sessionId });
    const close = () => cluster.closeKey({ keyId: sessionId }, tenant, service);
    expect(() => close().result()).toThrow('call failed');
    expect(close().result()).toMatchObject({ sessions: 3, pendingNodes: [] });
    expect(counts()).toEqual([writes + 2, refused + 1]);
    expect(checked.changed).toEqual([]);
    expect(checked.unanswered).toEqual([]);
  });

  test('was seen of every actor that writes', () => {
    for (const name of ['signing', 'dkg', 'node', 'node dkg']) {
      expect(checked.writes.get(name), name).toBeGreaterThan(100);
    }
    for (const name of ['signing', 'dkg']) expect(checked.refused.get(name), name).toBeGreaterThan(10);
    for (const name of ['coordinator', 'cluster']) {
      expect(checked.steps.get(name), name).toBeGreaterThan(500);
      expect(checked.writes.get(name), name).toBeUndefined();
    }
  });
});

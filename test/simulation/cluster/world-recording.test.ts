/** What is seen of a run: its trace, its events for reports, and its observations for checkers; the same for the same seed. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import type { SimOptions } from '../../../simulation/cluster/cluster.ts';
import { codeOf, tenant } from '../../coordinator/support/world.ts';
import { withTheModel } from '../../core/crypto/model/support.ts';
import { begin, makeKey, sign, type Watched, watched } from './support/watched.ts';

withTheModel();

const faults: readonly Fault[] = [
  { fault: 'delay', target: 'node/*', min_ms: 0, max_ms: 40, probability: 0.5, for_ms: 20_000 },
  { fault: 'reorder', target: 'node/3', within_ms: 20, for_ms: 20_000 },
  { fault: 'drop', target: 'node/2', probability: 0.1, for_ms: 20_000 },
  { fault: 'duplicate', target: 'gateway', for_ms: 20_000 },
  { id: 'crash', fault: 'crash', target: 'node/1', at: { point: 'partial_reply', phase: 'after' } },
  { id: 'liar', fault: 'bad_partial', target: 'node/2', for_ms: 20_000 },
  { fault: 'corrupt', target: 'node/3', count: 1, at: { after_ms: 50 } },
  { fault: 'redis_gone', for_ms: 300, at: { after_ms: 100 } },
  { fault: 'receiver_status', status: 500, for_ms: 400 },
];

function troubled(options: Partial<SimOptions> = {}): Watched {
  const world = watched({ receiver: true, sweeping: true, latency: { minMs: 1, maxMs: 4 }, faults, ...options });
  const { cluster } = world;
  const patient = (ask: () => unknown) => {
    for (let count = 0; count < 5; count += 1) {
      try {
        return ask();
      } catch {
        cluster.time.advance(500);
      }
    }
    return undefined;
  };
  patient(() => makeKey(cluster));
  patient(() => sign(cluster, 't'));
  cluster.time.advance(25_000);
  cluster.heal();
  cluster.time.runUntil(() => false);
  return world;
}

const textOf = (value: unknown) =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}n` : one instanceof Uint8Array ? [...one] : one));

describe('a run full of faults', () => {
  let world: Watched;
  beforeAll(() => {
    world = troubled();
  });

  test('is the same for the same seed, byte for byte', () => {
    const again = troubled();
    expect(world.cluster.trace.length).toBeGreaterThan(150);
    expect(again.cluster.trace).toEqual(world.cluster.trace);
    expect(textOf(again.events)).toBe(textOf(world.events));
    expect(textOf(again.observations)).toBe(textOf(world.observations));
  });

  test('is another for another seed', () => {
    const other = troubled({ seed: 'another' });
    expect(textOf(other.events)).not.toBe(textOf(world.events));
  });

  test('is the same whether it is watched or not', () => {
    const unwatched = troubled({ keepTrace: false, observe: undefined as never, record: undefined as never });
    expect([unwatched.cluster.trace, unwatched.cluster.events]).toEqual([[], []]);
    expect(unwatched.cluster.scenarioMs).toBe(world.cluster.scenarioMs);
    expect(unwatched.cluster.eventLog(tenant)).toEqual(world.cluster.eventLog(tenant));
    expect(unwatched.cluster.deliveries()).toEqual(world.cluster.deliveries());
  });

  test('is the same when frames are passed on without being encoded', () => {
    const bare = troubled({ codec: 'none' });
    expect(textOf(bare.events)).toBe(textOf(world.events));
    expect(bare.cluster.trace).toEqual(world.cluster.trace);
  });

  test('is told in the order of time, from 0 on, in whole milliseconds', () => {
    const times = world.events.map(({ atMs }) => atMs);
    expect(times[0]).toBe(0);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.every(Number.isInteger)).toBe(true);
    for (const event of world.events) {
      if (event.kind !== 'frame') continue;
      expect(event.arrivesMs.every((ms) => Number.isInteger(ms) && ms > event.atMs)).toBe(true);
    }
  });

  test('names the faults that touched a frame', () => {
    const touched = world.events.flatMap((one) =>
      one.kind === 'frame' && one.faults.includes('liar') ? [one.point] : [],
    );
    expect(new Set(touched)).toEqual(new Set(['partial_reply']));
    const seen = world.observations.filter((one) => one.kind === 'frame' && one.touched);
    expect(seen.length).toBeGreaterThan(0);
    const whats = world.events.flatMap((one) => (one.kind === 'fault' && one.id === 'crash' ? [one.what] : []));
    expect(whats.slice(0, 2)).toEqual(['armed', 'fired']);
  });

  test('holds every kind of event', () => {
    const kinds = new Set(world.events.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(['actor', 'delivery', 'fault', 'frame', 'process', 'state']);
  });
});

describe('a call', () => {
  test('leaves, is promised, and is answered, in that order', () => {
    const { cluster, observations } = watched();
    cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result();
    const seen = observations.filter((one) => 'callId' in one || one.kind === 'logged' || one.kind === 'written');
    expect(seen.map(({ kind }) => kind)).toEqual(['called', 'logged', 'written', 'promised', 'answered']);
    expect(seen[3]).toMatchObject({
      kind: 'promised',
      tenant,
      callId: 1n,
      method: 'initiateDkg',
      request: { sessionId: 'k' },
      response: { receipt: { reasonCode: 'SESSION_ACCEPTED' } },
    });
    expect(seen[4]).toMatchObject({ response: (seen[3] as { response: unknown }).response });
    expect(seen[1]).toMatchObject({ tenant, sequence: 1, event: { type: 'dkg.session.accepted' } });
  });

  test('whose answer is lost was promised, and fails', () => {
    const { cluster, observations } = watched({
      faults: [{ fault: 'drop', target: 'gateway', direction: 'in', at: { point: 'call_reply' } }],
    });
    expect(() => cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result()).toThrow(
      'call failed: deadlineExceeded',
    );
    const seen = observations.filter((one) => 'callId' in one).map(({ kind }) => kind);
    expect(seen).toEqual(['called', 'promised', 'failed']);
  });
});

test('a frame that is held is reported when it leaves, and its event says when it arrives', () => {
  const { cluster, events } = watched({ faults: [{ id: 'held', fault: 'hold', target: 'node/2', for_ms: 1_000 }] });
  cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result();
  expect(codeOf(cluster.exchangeDkgShares({ sessionId: 'k' }).result())).toBe('DKG_COMPLETED');
  const held = events.flatMap((one) => (one.kind === 'frame' && one.faults.includes('held') ? [one] : []));
  expect(held.length).toBeGreaterThan(0);
  for (const { arrivesMs } of held) expect(arrivesMs).toEqual([1_001]);
});

test('the state of actors is shown without what is secret', () => {
  const { cluster, events } = watched();
  makeKey(cluster);
  const signingSessionId = begin(cluster, 't');
  cluster.submitSignatureShare({ signingSessionId, nodeId: 2 }).result();
  const states = events.filter((one): one is Extract<RunEvent, { kind: 'state' }> => one.kind === 'state');
  const last = (address: string) => states.findLast((one) => one.address === address)!;
  expect(last('dkg/tn_sim/k')).toMatchObject({ state: 'BACKEND_COMPLETED', fields: { epoch: 3, verified: 9 } });
  expect(last('node/2/dkg/tn_sim/k')).toMatchObject({ state: 'final', fields: { attempt: 1 } });
  expect(last(`signing/tn_sim/${signingSessionId}`)).toMatchObject({
    state: 'ACCEPTED',
    fields: { epoch: 2, partials: [2], excluded: [] },
  });
  expect(last('cluster')).toMatchObject({ state: '3 ready', fields: { ready: [1, 2, 3], store_ready: true } });
  expect(last('node/1').fields.bip340_nonces).toBeGreaterThan(0);
  // Nothing long enough to be a key, a nonce or a token.
  const words = states.flatMap(({ fields }) => Object.values(fields).flat().map(String));
  expect(words.filter((word) => /[0-9a-fA-F]{32,}/.test(word.replace(/sig_[0-9a-f-]+/, '')))).toEqual([]);
});

describe('an actor that throws', () => {
  /** What no node ever writes: its reader throws. */
  function spoiled(options: Partial<SimOptions>): Watched {
    const world = watched(options);
    makeKey(world.cluster);
    world.cluster.nodeStore(1).writeNow({ puts: [{ key: `key/${tenant}/k`, record: Buffer.from('{}') }], deletes: [] });
    return world;
  }

  test('is a violation, and the world continues', () => {
    const { cluster, events, observations } = spoiled({ onBug: 'record' });
    for (const intent of ['a', 'b', 'c']) expect(sign(cluster, intent)).toBe('SIGNATURE_COMPLETED');
    expect(cluster.bugs.length).toBeGreaterThan(0);
    expect(new Set(cluster.bugs.map(({ address }) => address))).toEqual(new Set(['node/1']));
    const violations = events.flatMap((one) => (one.kind === 'violation' ? [one.invariant] : []));
    expect(violations).toEqual(cluster.bugs.map(() => 'no-bugs'));
    const observed = observations.flatMap((one) => (one.kind === 'bug' ? [one.process] : []));
    expect(observed).toEqual(cluster.bugs.map(() => 'node/1'));
  });

  test('ends the run unless told otherwise', () => {
    const { cluster } = spoiled({});
    expect(() => {
      for (const intent of ['a', 'b', 'c']) sign(cluster, intent);
    }).toThrow();
    expect(cluster.bugs).toEqual([]);
  });
});

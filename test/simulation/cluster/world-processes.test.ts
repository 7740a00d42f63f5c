/** Processes of the simulated world that die, stand still, come back, and have wrong clocks; and what callers see. */
import { describe, expect, test } from 'vitest';
import { codeOf, tenant } from '../../coordinator/support/world.ts';
import { withTheModel } from '../../core/crypto/model/support.ts';
import { begin, makeKey, sign, watched } from './support/watched.ts';

withTheModel();

const day = 24 * 3_600_000;

describe('a node that stands still', () => {
  test('is waited for, and answers when it continues', () => {
    const { cluster, told } = watched();
    cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result();
    cluster.pause('node/2');
    cluster.time.after(1_500, () => cluster.resume('node/2'));
    const done = cluster.exchangeDkgShares({ sessionId: 'k' }).result();
    expect(codeOf(done)).toBe('DKG_COMPLETED');
    expect(cluster.scenarioMs).toBeGreaterThan(1_500);
    expect(told('node/2')).toEqual(['up', 'linkUp', 'paused', 'resumed']);
  });

  test('for longer than the heartbeats has no link any more, and comes back as the same process', () => {
    const { cluster, toldMore, observations } = watched();
    makeKey(cluster);
    cluster.pause('node/2');
    cluster.time.advance(5_999);
    expect(cluster.nodesReady()).toBe(3);
    cluster.time.advance(1);
    expect([cluster.nodesReady(), cluster.stateOf('node/2')]).toEqual([2, 'paused']);
    expect(sign(cluster, 'meanwhile')).toBe('SIGNATURE_COMPLETED');
    cluster.resume('node/2');
    cluster.time.advance(200);
    expect(cluster.nodesReady()).toBe(3);
    expect(toldMore('node/2')).toEqual([
      'up node/2#1',
      'linkUp node/2#1',
      'paused node/2#1',
      'linkDown no sign of life',
      'resumed node/2#1',
      'linkUp node/2#1',
    ]);
    const away = observations.flatMap((one) => (one.kind === 'emitted' ? [one.event.type] : []));
    expect(away.filter((type) => type.startsWith('node.'))).toEqual([
      ...Array.from({ length: 3 }, () => 'node.ready'),
      'node.away',
      'node.ready',
    ]);
  });
});

describe('a node that dies', () => {
  test('comes back by itself, as another process, with what it had stored', () => {
    const { cluster, toldMore } = watched();
    makeKey(cluster);
    const signingSessionId = begin(cluster, 't');
    cluster.crash('node/1', { restartAfterMs: 500 });
    cluster.crash('node/2', { restartAfterMs: 500 });
    expect(cluster.nodesReady()).toBe(1);
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    expect(cluster.scenarioMs).toBeGreaterThan(500);
    expect(toldMore('node/1').slice(-2)).toEqual(['up node/1#2', 'linkUp node/1#2']);
  });

  test('and loses its store holds no share of the key any more', () => {
    const { cluster, observations } = watched();
    makeKey(cluster);
    for (const id of [1, 2]) cluster.crash(`node/${id}`, { loseState: true, restartAfterMs: 10 });
    cluster.time.advance(200);
    expect(sign(cluster, 't')).toBe('QUORUM_UNAVAILABLE');
    const lost = observations.flatMap((one) => (one.kind === 'process' && one.storeLost ? [one.process] : []));
    expect(lost).toEqual(['node/1', 'node/2']);
  });

  test('stays down until it is started, and is linked then', () => {
    const { cluster } = watched();
    cluster.crash('node/3');
    cluster.time.advance(60_000);
    expect([cluster.stateOf('node/3'), cluster.nodesReady()]).toEqual(['down', 2]);
    cluster.start('node/3');
    expect(cluster.nodesReady()).toBe(3);
    // Starting what is up, or taking down what is down, is nothing.
    cluster.start('node/3');
    expect(cluster.bootOf('node/3')).toBe('node/3#2');
  });
});

describe('the coordinator', () => {
  test('that dies fails the calls under way, and others until it is back with its links', () => {
    const { cluster, told } = watched();
    makeKey(cluster);
    const call = cluster.initiateSigning({ walletId: 'k', transactionIntentId: 't' });
    cluster.crash('coordinator', { restartAfterMs: 200 });
    // The call is still on its way, and no process receives it.
    expect(() => call.result()).toThrow('call failed: unavailable: the link to the coordinator was lost');
    expect(() => begin(cluster, 't2')).toThrow('call failed: unavailable: no coordinator is connected');
    cluster.time.advance(400);
    expect([cluster.stateOf('coordinator'), cluster.nodesReady()]).toEqual(['up', 3]);
    expect(sign(cluster, 't3')).toBe('SIGNATURE_COMPLETED');
    expect(told('gateway')).toEqual(['up', 'linkUp', 'linkDown', 'linkUp']);
  });

  test('answers what it had answered before it died', () => {
    const { cluster } = watched({ latency: { minMs: 20, maxMs: 20 } });
    const call = cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 });
    let told: string | undefined;
    call.onDone((outcome) => {
      told = 'answer' in outcome ? codeOf(outcome.answer) : outcome.error.message;
    });
    cluster.time.runUntil(() => cluster.storedSession(tenant, 'k') !== undefined);
    cluster.time.advance(3);
    cluster.crash('coordinator');
    expect(told).toBeUndefined();
    cluster.time.advance(30);
    expect(told).toBe('SESSION_ACCEPTED');
  });

  test('that stands still answers when it continues; after the heartbeats its callers are told that it is gone', () => {
    const { cluster, told } = watched();
    makeKey(cluster);
    cluster.pause('coordinator');
    cluster.time.after(2_000, () => cluster.resume('coordinator'));
    const signingSessionId = begin(cluster, 't');
    expect(cluster.scenarioMs).toBeGreaterThan(2_000);
    cluster.pause('coordinator');
    cluster.time.after(10_000, () => cluster.resume('coordinator'));
    expect(() => cluster.submitSignatureShare({ signingSessionId }).result()).toThrow('call failed: unavailable');
    cluster.time.advance(10_000);
    expect(cluster.nodesReady()).toBe(3);
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
    expect(told('node/1')).toEqual(['up', 'linkUp', 'linkDown', 'linkUp']);
  });
});

describe('the gateway', () => {
  test('that dies breaks the calls under way; their answers find no caller', () => {
    const { cluster, observations } = watched();
    const call = cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 });
    cluster.time.runUntil(() => cluster.storedSession(tenant, 'k') !== undefined);
    cluster.crash('gateway', { restartAfterMs: 100 });
    expect(call.isDone).toBe(true);
    expect(() => call.result()).toThrow('call failed: unavailable: the gateway is gone');
    expect(() => cluster.initiateDkg({ sessionId: 'l' }).result()).toThrow('the gateway is gone');
    cluster.time.advance(300);
    expect(codeOf(cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result())).toBe(
      'DUPLICATE_SESSION',
    );
    expect(observations.filter(({ kind }) => kind === 'answered')).toHaveLength(1);
  });

  test('that stands still reads its calls when it continues', () => {
    const { cluster } = watched();
    cluster.pause('gateway');
    const call = cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 });
    cluster.time.advance(1_000);
    expect([call.isDone, cluster.storedSession(tenant, 'k')]).toEqual([false, undefined]);
    cluster.resume('gateway');
    expect(codeOf(call.result())).toBe('SESSION_ACCEPTED');
    cluster.pause('gateway');
    const unread = cluster.initiateDkg({ sessionId: 'l', threshold: 2, totalNodes: 3 });
    cluster.crash('gateway');
    expect(() => unread.result()).toThrow('the gateway is gone');
  });

  test('checks keys as the live one: one that its nodes did not make as asked for is refused', () => {
    const { cluster } = watched();
    const make = (threshold: number) =>
      cluster.makeKey({ sessionId: 'wal_1', threshold, totalNodes: 3 }, tenant, { walletService: true }).result();
    expect(codeOf(make(2))).toBe('DKG_COMPLETED');
    expect(() => make(3)).toThrow('call failed: providerRejected: the nodes of the cluster did not confirm');
  });
});

test('a call gives up after its time', () => {
  const { cluster } = watched({ onFrame: ({ message }) => message.body.case !== 'callReply' });
  expect(() => cluster.initiateDkg({ sessionId: 'k' }, tenant, { timeoutMs: 1_500 }).result()).toThrow(
    'call failed: deadlineExceeded: the deadline passed',
  );
  expect(cluster.scenarioMs).toBe(1_500);
});

describe('clocks', () => {
  test('all go forward, and virtual time does not', () => {
    const { cluster, toldMore } = watched({ sweeping: true });
    makeKey(cluster);
    const sessionId = begin(cluster, 't');
    const before = cluster.scenarioMs;
    cluster.advance(day);
    expect([cluster.scenarioMs, cluster.clockOffsetMs('node/1'), cluster.clockOffsetMs('coordinator')]).toEqual([
      before,
      day,
      day,
    ]);
    cluster.time.advance(1_100);
    expect(cluster.storedSession(tenant, sessionId)?.reasonCode).toBe('SESSION_EXPIRED');
    expect(toldMore('coordinator').at(-1)).toBe(`clock off by ${day} ms`);
  });

  test('of one process may be off while a fault holds, or for good', () => {
    const { cluster } = watched();
    cluster.arm({ fault: 'clock_jump', target: 'node/1', by_ms: 5_000 });
    const id = cluster.arm({ fault: 'clock_skew', target: 'coordinator', by_ms: -1_000 });
    expect(['node/1', 'node/2', 'coordinator'].map((process) => cluster.clockOffsetMs(process))).toEqual([
      5_000, 0, -1_000,
    ]);
    cluster.disarm(id);
    cluster.heal();
    expect(['node/1', 'coordinator'].map((process) => cluster.clockOffsetMs(process))).toEqual([5_000, 0]);
  });
});

describe('the end of everything', () => {
  test('healing ends every fault, brings up what is down, and continues with what stands still', () => {
    const { cluster } = watched({
      faults: [
        { fault: 'partition', target: 'node/1' },
        { fault: 'crash', target: 'node/2', restart_after_ms: null },
        { fault: 'pause', target: 'node/3', for_ms: 3_600_000 },
        { fault: 'redis_gone', for_ms: 3_600_000 },
        { fault: 'worker_stalled', for_ms: 3_600_000 },
        { fault: 'receiver_status', status: 500 },
      ],
      receiver: true,
    });
    cluster.crash('coordinator');
    cluster.crash('receiver');
    cluster.time.advance(10_000);
    expect(cluster.nodesReady()).toBe(0);
    cluster.heal();
    cluster.time.advance(1_000);
    expect(cluster.processes().map((process) => cluster.stateOf(process))).toEqual(cluster.processes().map(() => 'up'));
    expect(makeKey(cluster)).toBe('DKG_COMPLETED');
    cluster.time.advance(100);
    expect(cluster.delivered()).toEqual(['dkg.session.accepted', 'dkg.session.completed']);
    expect(cluster.faultStatuses().every(({ state }) => state === 'over')).toBe(true);
  });

  test('a world at rest comes to its end, though the coordinator continues looking for what has expired', () => {
    const { cluster } = watched({ sweeping: true, receiver: true });
    makeKey(cluster);
    expect(cluster.time.runUntil(() => false)).toBe(false);
    const restMs = cluster.scenarioMs;
    expect(cluster.time.runUntil(() => false)).toBe(false);
    expect(cluster.scenarioMs).toBe(restMs);
  });

  test('days go by in a world at rest, and a session says in its time that it has expired', () => {
    const { cluster } = watched({ sweeping: true });
    makeKey(cluster);
    const sessionId = begin(cluster, 't');
    const began = cluster.time.tasksRun;
    cluster.time.advance(2 * day);
    expect(cluster.storedSession(tenant, sessionId)?.reasonCode).toBe('SESSION_EXPIRED');
    // One look a second, and next to nothing else.
    expect(cluster.time.tasksRun - began).toBeLessThan((2 * day) / 1_000 + 200);
  });

  test('a snapshot brings back what was durable; what was in memory is void', () => {
    const { cluster, observations } = watched({ receiver: true });
    makeKey(cluster);
    const open = begin(cluster, 't');
    const snapshot = cluster.snapshot();
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId: open }).result())).toBe('SIGNATURE_COMPLETED');
    expect(sign(cluster, 't2')).toBe('SIGNATURE_COMPLETED');
    const events = cluster.eventLog(tenant).length;
    cluster.restore(snapshot);
    expect(cluster.eventLog(tenant)).toHaveLength(events - 3);
    expect(cluster.storedSession(tenant, open)?.reasonCode).toBe('SESSION_ACCEPTED');
    expect(cluster.bootOf('node/1')).toBe('node/1#2');
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId: open }).result())).toBe('SIGNATURE_COMPLETED');
    expect(sign(cluster, 't2')).toBe('SIGNATURE_COMPLETED');
    // No nonce of before signs again.
    const signed = observations.flatMap((one) =>
      one.kind === 'emitted' && one.event.type === 'signer.partial.signed'
        ? [`${one.address} ${one.event.fields.boot} ${one.event.fields.nonce}`]
        : [],
    );
    expect(new Set(signed).size).toBe(signed.length);
  });
});

/** What a live run checks in its events. Each check finds its planted violation. */
import { expect, test } from 'vitest';
import { transitionsOnTable, wrongBlame } from '../../cli/scenario/live-checkers.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { loadScenario } from '../../scenarios/runner/load.ts';

function scenario(clusters: number, faults: string) {
  const text = `scenario: x\nabout: a\ncluster: { nodes: 3, clusters: ${clusters} }\nfaults: [${faults}]\nsteps: [{ step: w, wait: { ms: 1 } }]`;
  return loadScenario(text, { file: 'x' });
}

function event(id: string, culprits: readonly number[], state = 'BACKEND_FAILED', version = 1): LoggedEvent {
  return {
    ...{ id: `evt_${id}_${version}`, type: 'signing.session.failed', atMs: 0, correlationId: '' },
    ...{ provider: null, connectionId: null, resource: { type: 'signing_session', id, version } },
    object: { state: `RECEIPT_STATE_${state}`, culprits },
  };
}

/** Session "sig_2…" is the second cluster's. */
const clusterOf = async (id: string) => (id.startsWith('sig_2') ? 2 : 1);
const liar = '{ fault: bad_partial, target: cluster/2/node/1 }';

test('a liar may be blamed by the sessions of its own cluster', async () => {
  expect(await wrongBlame(scenario(2, liar), [event('sig_1', []), event('sig_2', [1])], clusterOf)).toBeUndefined();
  const ofOne = scenario(1, '{ fault: bad_partial, target: [node/1, node/2] }');
  expect(
    await wrongBlame(ofOne, [event('sig_1', [1, 2])], () => Promise.reject(new Error('not asked'))),
  ).toBeUndefined();
});

test.each([
  [
    'the node of its number in the first cluster',
    [event('sig_1', [1])],
    'session sig_1 blames node/1, which is honest',
  ],
  ['another node of its cluster', [event('sig_2', [1, 3])], 'session sig_2 blames cluster/2/node/3, which is honest'],
])('planted: a session blames %s', async (_, events, text) => {
  expect(await wrongBlame(scenario(2, liar), events, clusterOf)).toEqual({ invariant: 'honest-never-blamed', text });
});

test('planted: an epoch that does not rise, and a state after its end', () => {
  const seen = (events: readonly LoggedEvent[]) => {
    const checker = transitionsOnTable();
    const about = { kind: 'logged', atMs: 0, tenant: '', sequence: 1 } as const;
    return events.map((one) => checker.observe({ ...about, event: one }));
  };
  const accepted = event('sig_1', [], 'ACCEPTED');
  expect(seen([accepted, event('sig_1', [], 'BACKEND_COMPLETED', 2)])).toEqual([undefined, undefined]);
  expect(seen([accepted, accepted])[1]).toMatch(/does not rise/);
  const completed = event('sig_1', [], 'BACKEND_COMPLETED', 2);
  expect(seen([accepted, completed, event('sig_1', [], 'ACCEPTED', 3)])[2]).toMatch(/goes from/);
});

/** The runner in the simulated world: every scenario passes, runs are the same twice, and verdicts say what was wrong. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stepMismatches } from '../../../scenarios/runner/expectations.ts';
import { blameText } from '../../../scenarios/runner/final.ts';
import type { CheckedScenario } from '../../../scenarios/runner/format.ts';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { runSimulated } from '../../../scenarios/runner/simulated-world.ts';
import { usesWalletApi } from '../../../scenarios/runner/wallet-api-use.ts';
import type { Verdict } from '../../../scenarios/runner/world.ts';
import { allCheckers } from '../../../simulation/cluster/invariants/checkers.ts';
import { faultsAsArmed } from '../../../simulation/model/fault-effects.ts';
import { root } from '../../cli/support/up-process.ts';
import { isThorough } from '../../support/thorough.ts';

const folder = join(root, 'scenarios');
const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));

const loaded = new Map(files.map((file) => [file, loadScenario(readFileSync(join(folder, file), 'utf8'), { file })]));
const read = (file: string): CheckedScenario => loaded.get(file)!;

function scenario(steps: readonly string[], more: readonly string[] = []): CheckedScenario {
  const lines = ['scenario: x', 'about: a', ...more, 'steps:', ...steps.map((step) => `  - ${step}`)];
  return loadScenario(lines.join('\n'), { file: 'x.yaml' });
}

function verdictOf(steps: readonly string[], more: readonly string[] = []): Verdict {
  return runSimulated(scenario(steps, more), { crypto: 'model' }).verdict;
}

const key = '{ step: key, call: make_key, session: k }';
const sign = '{ step: pay, call: sign, session: tx, key: k }';

// Those that use the wallet API run in test/simulation/service/scenarios.test.ts.
const simulated = files.filter((file) => read(file).worlds.includes('simulated') && !usesWalletApi(read(file)));

// Besides every invariant, each fault must do what its definition says.
test.each(simulated)('%s passes', (file) => {
  const { clusters = 1, client_dealers: consents } = read(file).cluster;
  const checkers = [...allCheckers({ delivers: true, consents: () => consents }), faultsAsArmed()];
  const options = { crypto: 'model', record: false, ...(clusters === 1 && { checkers }) } as const;
  expect(runSimulated(read(file), options).verdict).toEqual({ kind: 'passed' });
});

// What a scenario does hardly depends on the cryptography, and live ones run with it (test/cli/scenarios-live.test.ts).
test.each(simulated.filter((_, index) => isThorough || index % 12 === 1))(
  '%s passes with real cryptography',
  (file) => {
    expect(runSimulated(read(file), { crypto: 'real', record: false }).verdict).toEqual({ kind: 'passed' });
  },
);

test('a key without a scheme gets no new shares', () => {
  const refresh =
    '{ step: new, call: refresh_key, session: k, version: 2, insist: true, expect: { error: MALFORMED } }';
  expect(verdictOf([key, refresh])).toEqual({ kind: 'passed' });
});

// Random scenarios run twice in search.test.ts.
test('only API faults, which the signing world lacks, keep a scenario to the live one', () => {
  const others = files.filter((file) => !read(file).worlds.includes('simulated'));
  expect(others.every((file) => file.startsWith('door-'))).toBe(true);
});

test.each(simulated.filter((_, index) => isThorough || index % 12 === 0))('%s gives the same run twice', (file) => {
  const [one, two] = [1, 2].map(() => JSON.stringify(runSimulated(read(file), { crypto: 'model' })));
  expect(two).toBe(one);
});

describe('a run', () => {
  test('does not depend on whether it is recorded', () => {
    const one = read('crash-before-partial.yaml');
    const { verdict, tookMs, events } = runSimulated(one, { crypto: 'model', record: false });
    expect([verdict, events]).toEqual([{ kind: 'passed' }, []]);
    expect(tookMs).toBe(runSimulated(one, { crypto: 'model' }).tookMs);
  });

  test('tells of its steps, faults and processes', () => {
    const { events, replay, seed } = runSimulated(read('crash-before-partial.yaml'), { seed: "it's" });
    const steps = events.filter((event) => event.kind === 'step').map(({ step, what }) => `${step} ${what}`);
    expect(steps).toEqual(['key began', 'key ended', 'payment began', 'payment ended']);
    expect(events.some((event) => event.kind === 'fault' && event.id === 'dies' && event.what === 'fired')).toBe(true);
    expect(events.some((event) => event.kind === 'process' && event.what === 'down')).toBe(true);
    expect(seed).toBe("it's");
    expect(replay).toBe(`signmesh scenario run scenarios/crash-before-partial.yaml --seed 'it'\\''s'`);
  });

  test('with another seed is another run', () => {
    const one = scenario([key]);
    const runs = ['a', 'b'].map((seed) => JSON.stringify(runSimulated(one, { seed, crypto: 'model' }).events));
    expect(runs[0]).not.toBe(runs[1]);
  });
});

describe('a verdict', () => {
  test.each([
    ['state', '{ state: DENIED }', 'step pay: expect.state is DENIED, found BACKEND_COMPLETED'],
    [
      'reason_code',
      '{ reason_code: [SHARE_ACCEPTED, MOCK_FORCED_DENIED] }',
      'SHARE_ACCEPTED or MOCK_FORCED_DENIED, found SIGNATURE_COMPLETED',
    ],
    ['message_names', '{ message_names: nowhere }', 'expect.message_names is "nowhere", found BACKEND_COMPLETED'],
    ['is_complete', '{ is_complete: false }', 'expect.is_complete is false, found true'],
    ['resumable', '{ resumable: true }', 'expect.resumable is true, found false'],
    ['error', '{ error: any }', 'expect.error is any, found BACKEND_COMPLETED SIGNATURE_COMPLETED'],
    ['at_least_ms', '{ at_least_ms: 5000 }', 'expect.at_least_ms is 5000 ms or more, found 10 ms'],
    ['within_ms', '{ within_ms: 1 }', 'expect.within_ms is 1 ms or less, found 10 ms'],
  ])('names the field of a step that is not as expected: %s', (_, expectation, what) => {
    const verdict = verdictOf([key, sign.replace(' }', `, expect: ${expectation} }`)]);
    expect(verdict.kind).toBe('failed');
    expect('what' in verdict && verdict.what.replace(/\d+ ms$/, '10 ms')).toContain(what.replace(/\d+ ms$/, '10 ms'));
  });

  test.each([
    ['{ session: tx, state: EXPIRED }', 'expect[0]: state of tx is EXPIRED, found BACKEND_COMPLETED'],
    [
      '{ session: tx, reason_code: SESSION_EXPIRED }',
      'reason_code of tx is SESSION_EXPIRED, found SIGNATURE_COMPLETED',
    ],
    ['{ session: tx, attempts: 3 }', 'attempts of tx is 3, found 1'],
    ['{ session: tx, culprits: [2] }', 'culprits of tx is node 2, found no node'],
    ['{ culprits: [1] }', 'culprits is node 1, found no node'],
    ['{ signatures: 2 }', 'signatures is 2, found 1'],
    ['{ delivered: [wallet.created] }', 'delivered is wallet.created, found dkg.session.accepted'],
    ['{ fired: never }', 'trigger_count of the fault never is at least 1, found 0'],
    ['{ fired: never, strikes: 2 }', 'trigger_count of the fault never is 2, found 0'],
  ])('names what is not so at the end: %s', (expectation, what) => {
    const faults = 'faults: [{ id: never, fault: drop, target: node/1, at: { point: dkg_refused } }]';
    const verdict = verdictOf([key, sign], [faults, `expect: [${expectation}]`]);
    expect(verdict.kind).toBe('failed');
    expect('what' in verdict && verdict.what).toContain(what);
  });

  test('counts the triggers of a fault exactly', () => {
    const faults = 'faults: [{ id: often, fault: duplicate, target: node/1, at: { point: dkg_opened } }]';
    const verdict = verdictOf([key], [faults, 'expect: [{ fired: often, trigger_count: 0 }]']);
    expect('what' in verdict && verdict.what).toMatch(/trigger_count of the fault often is 0, found [1-9]/);
  });

  test('an expected reason code is not that of a call without an answer', () => {
    const failure = { kind: 'LOST', message: '' } as const;
    const found = stepMismatches({ reason_code: 'SIGNATURE_COMPLETED' }, { call: 'sign', failure }, 0, 'simulated');
    expect(found).toEqual([
      { field: 'expect.reason_code', expected: 'SIGNATURE_COMPLETED', found: 'no answer (LOST)' },
    ]);
  });

  test('names everything that is not as expected, in its order, and continues to the end', () => {
    const wrong = sign.replace(' }', ', expect: { state: DENIED, is_complete: false } }');
    const verdict = verdictOf(
      [key, wrong],
      ['expect: [{ session: tx, state: EXPIRED, attempts: 3 }, { signatures: 2 }]'],
    );
    expect(verdict).toMatchObject({
      kind: 'failed',
      what: 'step pay: expect.state is DENIED, found BACKEND_COMPLETED',
    });
    expect('also' in verdict && verdict.also).toEqual([
      'step pay: expect.is_complete is false, found true',
      'expect[0]: state of tx is EXPIRED, found BACKEND_COMPLETED',
      'expect[0]: attempts of tx is 3, found 1',
      'expect[1]: signatures is 2, found 1',
    ]);
  });

  test('says what the session’s record says, and which faults triggered', () => {
    const faults = 'faults: [{ fault: bad_share, target: node/2 }]';
    const verdict = verdictOf(['{ step: key, call: make_key, session: k, expect: { verified: true } }'], [faults]);
    expect(verdict).toEqual({
      kind: 'failed',
      what: 'step key: expect.verified is true, found false',
      cause: expect.stringMatching(
        /BACKEND_FAILED DEALER_MISBEHAVED: .*node 2.*session k is BACKEND_FAILED DEALER_MISBEHAVED.*triggered: bad_share of node\/2 at/,
      ),
    });
  });

  test('is stuck when a client insists in vain, after a minute and not before', () => {
    const faults =
      'faults: [{ fault: crash, target: [node/1, node/2, node/3], restart_after_ms: null, at: { step: pay } }]';
    const one = scenario([key, sign.replace(' }', ', insist: true }')], [faults]);
    const { verdict, tookMs } = runSimulated(one, { crypto: 'model' });
    expect(verdict.kind).toBe('stuck');
    expect('what' in verdict && verdict.what).toMatch(
      /step pay waits for submit_signature_share of tx .* QUORUM_UNAVAILABLE/,
    );
    expect(tookMs).toBeGreaterThan(60_000);
    expect(tookMs).toBeLessThan(70_000);
  });

  test('is stuck when what is waited for does not come', () => {
    const verdict = verdictOf([key, '{ step: w, wait: { session: k, state: EXPIRED, within_ms: 700 } }']);
    expect(verdict).toMatchObject({
      kind: 'stuck',
      what: 'step w: session k in state EXPIRED is waited for since 700 ms, found BACKEND_COMPLETED',
    });
  });

  test('says that a world cannot run a scenario', () => {
    expect(verdictOf([key], ['worlds: [live]'])).toMatchObject({ kind: 'unsupported' });
  });

  test('is a violation when a signature does not verify, whatever was expected', () => {
    const one = scenario([key, sign]);
    expect(runSimulated(one, { verify: () => false, checkers: [] }).verdict).toEqual({
      kind: 'violated',
      invariant: 'signature-verifies',
      cause: 'the signature of session tx does not verify for what was to be signed',
    });
  });

  test('is a violation when a checker says so, also over a failure', () => {
    const checker = { invariant: 'nothing-happens', observe: () => 'something happened' };
    const one = scenario([key.replace(' }', ', expect: { state: DENIED } }')]);
    const { verdict, events } = runSimulated(one, { crypto: 'model', checkers: [checker] });
    expect(verdict).toEqual({ kind: 'violated', invariant: 'nothing-happens', cause: 'something happened' });
    expect(events.some((event) => event.kind === 'violation')).toBe(true);
  });

  test('is a violation when what must come about in the end does not', () => {
    const checker = { invariant: 'ends-well', observe: () => undefined, finish: () => 'it did not' };
    expect(runSimulated(scenario([key]), { crypto: 'model', checkers: [checker] }).verdict.kind).toBe('violated');
  });
});

test('a key that failed names the culprits', () => {
  const liar = 'faults: [{ fault: bad_share, target: node/2 }]';
  expect(verdictOf([key.replace(' }', ', expect: { state: BACKEND_COMPLETED } }')], [liar])).toMatchObject({
    kind: 'failed',
    cause: expect.stringMatching(/session k is BACKEND_FAILED DEALER_MISBEHAVED, attempt 2, and blames node 2/),
  });
});

test.each([
  [[], [], 'blames no node'],
  [[2], [2], 'blames node 2'],
  [[], [2], 'blames no node in its last attempt, node 2 in an earlier one'],
  [[3], [1, 2, 3], 'blames node 3 in its last attempt, node 1, 2 in an earlier one'],
])('a session that blames %j at last, and %j ever, %s', (last, ever, text) => {
  expect(blameText(last, ever)).toBe(text);
});

describe('a client', () => {
  test('that insists finds the session whose making was not answered', () => {
    const lost =
      'faults: [{ fault: drop, target: gateway, direction: in, at: { point: call_reply }, count: 1 }, { fault: drop, target: gateway, direction: in, at: { point: call_reply, step: pay }, count: 1 }]';
    const insisting = [key, sign].map((step) =>
      step.replace(' }', ', insist: true, expect: { state: BACKEND_COMPLETED } }'),
    );
    const { verdict, tookMs } = runSimulated(scenario(insisting, [lost, 'expect: [{ signatures: 1 }]']), {
      crypto: 'model',
    });
    expect(verdict).toEqual({ kind: 'passed' });
    expect(tookMs).toBeGreaterThan(30_000);
  });

  test('that does not insist is told that there is no answer', () => {
    const lost = 'faults: [{ fault: drop, target: gateway, direction: in, at: { point: call_reply }, count: 1 }]';
    expect(verdictOf([key.replace(' }', ', expect: { error: DEADLINE_EXCEEDED } }')], [lost])).toEqual({
      kind: 'passed',
    });
  });

  test('that insists gives no approval in a human’s place', () => {
    const pending =
      '{ step: pay, call: sign, session: tx, key: k, approval: HUMAN_REQUIRED, insist: true, expect: { state: PENDING_HUMAN_APPROVAL } }';
    expect(verdictOf([key, pending])).toEqual({ kind: 'passed' });
  });

  test('signs under a path, on every scheme', () => {
    const steps = [
      key,
      '{ step: ed, call: make_key, session: e, curve: ed25519, threshold: 2, total_nodes: 3 }',
      '{ step: fr, call: make_key, session: f, threshold: 2, total_nodes: 3 }',
      '{ step: a, call: sign, session: a, key: k, path: m/0/1, message: hello }',
      '{ step: b, call: sign, session: b, key: f, path: m/5, keystore: MPC_FROST }',
      '{ step: b2, call: sign, session: b2, key: f }',
      '{ step: c, call: sign, session: c, key: e, path: m/1 }',
      '{ step: d, call: sign, session: d, key: e }',
    ];
    const one = scenario(steps, ['expect: [{ signatures: 5 }]']);
    expect(runSimulated(one).verdict).toEqual({ kind: 'passed' });
    expect(runSimulated(one, { crypto: 'model' }).verdict).toEqual({ kind: 'passed' });
  });

  test('finds a fault on a signing session armed when the session has its id', () => {
    const faults =
      'faults: [{ id: mute, fault: withhold, target: node/*, count: 1, at: { point: partial_reply, session: b } }]';
    const steps = [
      key,
      '{ step: a, call: sign, session: a, key: k }',
      '{ step: b, call: sign, session: b, key: k, expect: { at_least_ms: 300 } }',
    ];
    expect(verdictOf(steps, [faults, 'expect: [{ fired: mute, strikes: 1 }]'])).toEqual({ kind: 'passed' });
  });

  test('does not wait for another that is elsewhere', () => {
    const text = `scenario: x\nabout: a\nclients:\n  a: [${key}]\n  b: [{ step: w, wait: { session: k, state: BACKEND_COMPLETED } }, { step: s, call: sign, session: t, key: k }]`;
    const { events, verdict } = runSimulated(loadScenario(text, { file: 'x' }), { crypto: 'model' });
    expect(verdict).toEqual({ kind: 'passed' });
    const began = events.filter((event) => event.kind === 'step' && event.what === 'began');
    expect(began.slice(0, 2).map(({ atMs }) => atMs)).toEqual([0, 0]);
  });
});

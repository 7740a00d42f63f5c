/** The checks of a random run that compare what was asked with what is shown, and events with each other, find what is planted. */
import { describe, expect, test } from 'vitest';
import { Allowances } from '../../../simulation/search/wallets/allowances.ts';
import { Answers } from '../../../simulation/search/wallets/answer-invariants.ts';
import { checkDated, checkShown } from '../../../simulation/search/wallets/as-asked.ts';
import type { CustodyWorld } from '../../../simulation/service/custody-world.ts';
import { checkConstants } from '../../../simulation/service/invariants/constants.ts';
import { checkSessions, checkTimesTold } from '../../../simulation/service/invariants/dated.ts';
import { keptShare } from '../../../simulation/service/invariants/deleted-shares.ts';
import type { ToldEvent } from '../../../simulation/service/invariants/documented-ledger.ts';

const beganMs = Date.parse('2026-01-01T00:00:00.000Z');
const at = (ms: number) => new Date(beganMs + ms).toISOString();

/** Events a second apart. */
function log(...told: readonly (readonly [type: string, id: string, object?: object])[]) {
  return told.map(
    ([type, id, object = {}], index): ToldEvent => ({
      ...{ id: `evt_${index + 1}`, type, sequence: index + 1, timestamp: at(index * 1_000) },
      resource: { type: type.slice(0, type.lastIndexOf('.')).replace('.', '_'), id, version: 1 },
      data: { object: { id, ...object } },
    }),
  );
}

test('an answer that shows an older version, unless the service was restored', () => {
  const answers = new Answers();
  const read = (version: number, key?: string) => {
    const asked = { tenant: 'tn_1', actor: 'one', method: 'POST', target: '/v1/x', body: { version }, key };
    const body = { id: 'wal_1', version, status: version };
    answers.answered(asked, { status: 200, body, headers: {}, tries: 1 }, answers.asking(asked));
  };
  read(1, 'first');
  const restore = answers.snapshot();
  read(2, 'second');
  expect(() => read(1)).toThrow('shows tn_1 wal_1 at 1, after it was shown at 2');
  restore();
  expect(() => read(1)).not.toThrow();
  // Its key is free again; the key of before is not.
  expect(() => read(2, 'second')).not.toThrow();
  expect(() => read(2, 'first')).toThrow('first answers another request');
});

describe('an answer that shows another allowance', () => {
  /** `read` calls of the class before this one, each answered at once, in a window of two seconds. */
  const shows =
    ({ read = 0, policy = '"reads";q=60;w=2', state = '"reads";r=59;t=2', tookMs = 10 }) =>
    () => {
      const allowances = new Allowances();
      for (let count = 0; count < read; count += 1) allowances.sent('/v1/x', 'reads', 100)({ headers: {} }, 110);
      for (let count = 0; count < 5; count += 1) allowances.sent('/v1/x', 'writes', 100)({ headers: {} }, 110);
      allowances.sent(
        '/v1/x',
        'reads',
        200,
      )({ headers: { 'ratelimit-policy': policy, ratelimit: state } }, 200 + tookMs);
    };

  test('than its class has left', () => {
    expect(shows({})).not.toThrow();
    expect(shows({ state: '"reads";r=58;t=2' })).toThrow('after 1 calls of its class in this window');
    expect(shows({ read: 2, state: '"reads";r=57;t=1' })).not.toThrow();
    expect(shows({ read: 2, state: '"reads";r=56;t=1' })).toThrow('after 3 calls of its class');
    expect(shows({ state: '"reads";r=60;t=2' })).toThrow('r=60');
    expect(shows({ state: '"reads";r=59;t=3' })).toThrow('t=3');
  });

  test('of another class', () => {
    expect(shows({ state: '"writes";r=59;t=2' })).toThrow('of reads, shows');
    expect(shows({ policy: '"writes";q=60;w=2' })).toThrow('of reads, shows');
  });

  test('and none that is counted long before its answer, or is not counted', () => {
    expect(shows({ read: 2, state: '"reads";r=57;t=2', tookMs: 2_500 })).not.toThrow();
    expect(() => new Allowances().sent('/v1/x', 'reads', 0)({ headers: {} }, 10)).not.toThrow();
  });
});

describe('an answer that shows something else than was asked for', () => {
  const shows =
    (asked: object, shown: object, status = 200) =>
    () =>
      checkShown({ method: 'POST', target: '/v1/x', body: asked }, { status, body: shown, headers: {}, tries: 1 });

  test('in a field, at any depth', () => {
    expect(shows({ name: 'a' }, { name: 'b' })).toThrow('POST /v1/x asks for /name "a" and shows "b"');
    expect(shows({ terms: { memo: 'a' } }, { terms: { memo: null } })).toThrow('/terms/memo "a" and shows null');
    expect(shows({ events: ['a', 'b'] }, { events: ['a', 'c'] })).toThrow('/events/1 "b" and shows "c"');
    expect(shows({ amount: '1.5' }, { amount: '1.05' })).toThrow('/amount');
  });

  test('and none that shows it in another form, or not at all', () => {
    expect(shows({ amount: '1.50' }, { amount: '1.5' })).not.toThrow();
    expect(shows({ address: '0xAB' }, { address: '0xab' })).not.toThrow();
    expect(shows({ policy: 'second' }, { policy: { name: 'third', version: 1 } })).not.toThrow();
    expect(shows({ reason: 'a' }, { status: 'frozen' })).not.toThrow();
    expect(shows({ name: 'a' }, { name: 'b' }, 409)).not.toThrow();
  });

  test('in its time', () => {
    const dated =
      (body: object, status = 201) =>
      () =>
        checkDated(
          { method: 'POST', target: '/v1/x', body: {} },
          { status, body, headers: {}, tries: 1 },
          1_500,
          1_600,
        );
    const time = (ms: number) => new Date(ms).toISOString();
    expect(dated({ created_at: time(1_500) })).not.toThrow();
    expect(dated({ created_at: time(1_000) })).toThrow('from 1500 to 1600, makes a resource of 1000');
    expect(dated({ created_at: time(0), updated_at: time(1_600) })).not.toThrow();
    expect(dated({ created_at: time(1_601) })).toThrow('makes a resource of 1601');
    expect(dated({ created_at: time(0) }, 200)).not.toThrow();
  });
});

test('a field that changes, or is forgotten', () => {
  const run =
    (...values: readonly (string | null)[]) =>
    () =>
      checkConstants(log(...values.map((value) => ['wallet.updated', 'wal_1', { network: value }] as const)));
  expect(run(null, 'a', 'a')).not.toThrow();
  expect(run('a', 'b')).toThrow('event 2 wallet.updated: network of wallet wal_1 becomes "b", it was "a"');
  expect(run(null, 'a', null)).toThrow('becomes null');
});

test('a resource of another time than its event', () => {
  const run =
    (updatedAt: string, entered = updatedAt) =>
    () => {
      const object = { status: 'signing', updated_at: updatedAt, status_history: [{ status: 'signing', at: entered }] };
      checkTimesTold(log(['a.b', '1'], ['transaction_intent.signing', 'txi_1', object]));
    };
  expect(run(at(900))).not.toThrow();
  expect(run(at(1_001))).toThrow('shows txi_1 as of');
  expect(run(at(-4_001))).toThrow('shows txi_1 as of');
  expect(run(at(900), at(800))).toThrow(`txi_1 became signing at ${at(800)}`);
});

test('a session that is listed otherwise than its newest event tells', () => {
  const times = { created_at: at(0), expires_at: at(60_000) };
  const object = (state: string) => ({ kind: 'signing', state, reason_code: 'R', epoch: 1, ...times });
  const events = log(
    ['signing.session.accepted', 'sig_1', object('ACCEPTED')],
    ['signing.session.completed', 'sig_1', object('COMPLETED')],
  );
  const listed = { ...object('COMPLETED'), id: 'sig_1', changed_at: at(1_000) };
  const run =
    (change: object, isCalm = true) =>
    () =>
      checkSessions([{ ...listed, ...change }], events, isCalm);
  expect(run({})).not.toThrow();
  expect(run({ state: 'ACCEPTED' })).toThrow('is listed with state ACCEPTED, its newest event has COMPLETED');
  expect(run({ changed_at: at(0) })).toThrow('changed at');
  expect(run({ changed_at: at(0) }, false)).not.toThrow();
  expect(run({ id: 'sig_2' })).toThrow('session sig_2 is COMPLETED without an event');
});

test('a share of an archived wallet or vault that a node still has', () => {
  const events = log(
    ['wallet.archived', 'wal_1'],
    ['vault.key_created', 'vky_1', { vault_id: 'vlt_1' }],
    ['vault.key_created', 'vky_2', { vault_id: 'vlt_2' }],
    ['vault.archived', 'vlt_1'],
  );
  const kept = (...keys: readonly string[]) => {
    const holdersOf = (tenant: string, key: string) => (tenant === 'tn_1' && keys.includes(key) ? [2] : []);
    return keptShare({ clusters: { each: [{ holdersOf }] } } as unknown as CustodyWorld, 'tn_1', events);
  };
  expect(kept('wal_2', 'vky_2')).toBeUndefined();
  expect(kept('wal_1')).toBe('node 2 has a share of wal_1');
  expect(kept('vky_1')).toBe('node 2 has a share of vky_1');
});

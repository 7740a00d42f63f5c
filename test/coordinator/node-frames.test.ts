/** Which frames of a node reach an actor of the coordinator. */
import { expect, it, test } from 'vitest';
import { NodeFrames } from '../../coordinator/node-frames.ts';
import { type Address, type Envelope, noTrace } from '../../core/actors/contract.ts';
import type { WireBodyInit, WireMessage } from '../../proto/wire.ts';

type Case = NonNullable<WireBodyInit['case']>;

const session = 'signing/t/sig_1';
const dkg = 'dkg/t/k';

function frame(from: Address, to: Address, kind: Case, value: object = {}): Envelope<WireMessage> {
  const body = { case: kind, value } as WireMessage['body'];
  return { from, to, message: { tenant: 't', session: '', attempt: 1, body }, trace: noTrace };
}

function setUp(inMemory: readonly Address[] = [session, dkg, 'cluster', 'closing/t/wal_1']) {
  let nowMs = 0;
  const delivered: string[] = [];
  const memory = new Set(inMemory);
  const frames = new NodeFrames({
    elapsedMs: () => nowMs,
    deliver: ({ from, to, message }) => {
      delivered.push(`${from} ${to} ${message.body.case}`);
      memory.add(to);
      return undefined;
    },
    isInMemory: (address) => memory.has(address),
  });
  const say = (from: Address, to: Address, kind: Case, value?: object) => frames.deliver(frame(from, to, kind, value));
  const ask = (to: Address, kind: Case, from: Address = session) => frames.sent(frame(from, to, kind));
  return { delivered, memory, say, ask, pass: (ms: number) => (nowMs += ms) };
}

const rows: readonly (readonly [answer: Case, request: Case, actor: Address])[] = [
  ['partialReply', 'partialRequest', session],
  ['noncesDealt', 'dealNonces', 'cluster'],
  ['keyDeleted', 'deleteKey', 'closing/t/wal_1'],
  ['dkgOpened', 'dkgOpen', dkg],
  ['dkgSealed', 'dkgSeal', dkg],
  ['dkgVerified', 'dkgVerify', dkg],
  ['dkgConfirmed', 'dkgConfirm', dkg],
  ['dkgRefused', 'dkgDiscard', dkg],
];

test.each(rows)(
  'a %s that answers a %s reaches its actor, of that node and that actor alone',
  (kind, request, actor) => {
    const { say, ask, delivered } = setUp();
    ask('node/3/x', request, actor);
    expect(say('node/3/x', actor, kind)).toBeUndefined();
    expect(delivered).toHaveLength(1);
    const useful = kind.startsWith('dkg') ? undefined : 'unasked';
    expect(say('node/2', actor, kind)).toBe(useful);
    expect(say('node/3', `${actor}2`, kind)).toBe(useful);
  },
);

test.each(rows)(
  'a %s for an actor that has left memory starts nothing, and is no unasked one if it was asked for',
  (kind, request, actor) => {
    const { say, ask, delivered, memory } = setUp();
    ask('node/3', request, actor);
    memory.clear();
    expect(say('node/3', actor, kind)).toBeUndefined();
    expect(delivered).toEqual([]);
  },
);

it('an answer counts as asked for a minute, and a few times: a network repeats frames', () => {
  const { say, ask, pass } = setUp();
  ask('node/3', 'partialRequest');
  for (let count = 0; count < 4; count += 1) expect(say('node/3', session, 'partialReply')).toBeUndefined();
  expect(say('node/3', session, 'partialReply')).toBe('unasked');
  ask('node/3', 'partialRequest');
  pass(60_000);
  // Another request shows what is too old.
  ask('node/3', 'partialRequest', 'signing/t/sig_2');
  expect(say('node/3', session, 'partialReply')).toBe('unasked');
  expect(say('node/3', 'signing/t/sig_2', 'partialReply')).toBeUndefined();
});

it('a node cannot make calls, and no kind of frame reaches an actor of another kind', () => {
  const { say, ask, delivered } = setUp();
  ask('node/3', 'partialRequest');
  for (const kind of ['call', 'callReply', 'clusterStatus', 'partialRequest', 'dkgOpen'] as const) {
    expect(say('node/3', 'coordinator', kind)).toBe('unasked');
  }
  for (const to of ['coordinator', 'expiry', 'reading/gateway/x/1', dkg, 'cluster', 'closing/t/wal_1']) {
    expect(say('node/3', to, 'partialReply')).toBe('unasked');
  }
  expect(delivered).toEqual([]);
  expect(say('gateway/x', 'coordinator', 'call')).toBeUndefined();
});

it('of unasked messages of key generations ten a second pass, and each session is started by them once', () => {
  const { say, delivered, memory, pass } = setUp();
  const flood = () => {
    for (let count = 0; count < 1_000; count += 1) say('node/3/dkg/t/x', `dkg/t/k-${count}`, 'dkgConfirmed');
  };
  flood();
  expect(delivered).toHaveLength(10);
  pass(1_000);
  memory.clear();
  // The first ten again: their records were read before.
  for (let count = 0; count < 10; count += 1) expect(say('node/3', `dkg/t/k-${count}`, 'dkgConfirmed')).toBe('unasked');
  pass(1_000);
  flood();
  expect(delivered.length).toBeLessThanOrEqual(20);
  // Another node has its own.
  expect(say('node/4', 'dkg/t/k-0', 'dkgOpened')).toBeUndefined();
});

it('the decision of a vendor whose order the node reported passes at any time; others, a hundred a second', () => {
  const { say, ask, delivered, memory, pass } = setUp();
  const order = { outcome: { case: 'vendorOrder', value: {} } };
  for (let count = 0; count < 300; count += 1) {
    memory.add(`signing/t/v-${count}`);
    ask('node/3', 'partialRequest', `signing/t/v-${count}`);
    say('node/3', `signing/t/v-${count}`, 'partialReply', order);
  }
  memory.clear();
  pass(3_600_000);
  for (let count = 0; count < 300; count += 1) {
    expect(say('node/3/vendor/t/r', `signing/t/v-${count}`, 'vendorSettled')).toBeUndefined();
  }
  expect(delivered).toHaveLength(600);
  for (let count = 0; count < 300; count += 1) say('node/3', 'signing/t/v-0', 'vendorSettled');
  expect(delivered).toHaveLength(700);
});

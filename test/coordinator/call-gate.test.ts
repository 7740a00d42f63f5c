/** The coordinator refuses calls for load before any actor has seen them, and its gateways learn it. */
import { expect, it } from 'vitest';
import { CallGate } from '../../coordinator/call-gate.ts';
import { failureReply } from '../../coordinator/failure-replies.ts';
import { type Envelope, noTrace } from '../../core/actors/contract.ts';
import { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { WireMessage } from '../../proto/wire.ts';
import { VirtualTimers } from '../support/virtual-timers.ts';

const gateway = 'gateway/one';

function callOf(callId: bigint, tenant = 'acme', leftMs = 0, asked = 'initiateSigning'): Envelope<WireMessage> {
  const message = {
    tenant,
    session: '',
    attempt: 0,
    body: { case: 'call', value: { callId, leftMs, request: { case: asked } } },
  };
  return {
    from: gateway,
    to: 'coordinator',
    message: message as unknown as WireMessage,
    trace: noTrace,
  };
}

function setUp() {
  const timers = new VirtualTimers();
  const delivered: bigint[] = [];
  const refused: Envelope<WireMessage>[] = [];
  let full = false;
  const gate = new CallGate({
    timers,
    deliver: ({ message }) => {
      if (full) return 'mailboxFull';
      delivered.push((message.body as { value: { callId: bigint } }).value.callId);
      return undefined;
    },
    refuse: (envelope) => refused.push(envelope),
  });
  const reply = (callId: bigint) => {
    const body = { case: 'callReply', value: { callId } };
    const message = { tenant: '', session: '', attempt: 0, body } as unknown as WireMessage;
    gate.sent({ from: 'coordinator', to: gateway, message, trace: noTrace });
  };
  const fill = (to = true) => {
    full = to;
  };
  return { timers, gate, delivered, refused, reply, fill };
}

it('passes calls in order while there are places, and each reply makes room for one that waits', async () => {
  const { gate, delivered, reply } = setUp();
  for (let id = 1n; id <= 300n; id += 1n) gate.deliver(callOf(id));
  // Three quarters of 256 places: the rest is for other tenants.
  expect(delivered).toHaveLength(192);
  gate.deliver(callOf(301n, 'other'));
  expect(delivered.at(-1)).toBe(301n);
  reply(1n);
  reply(1n);
  expect(delivered.at(-1)).toBe(193n);
  expect(delivered).toHaveLength(194);
});

it('answers OVERLOADED to calls that waited too long; no actor has seen them', async () => {
  const { timers, gate, delivered, refused } = setUp();
  // Its process is late: it takes on no more.
  for (let id = 1n; id <= 5_000n; id += 1n) gate.deliver(callOf(id));
  await timers.advance(20_000);
  expect(delivered.length + refused.length).toBe(5_000);
  expect(refused.length).toBeGreaterThan(0);
  const [one] = refused;
  expect(failureReply(one!, 'overloaded')).toMatchObject({
    to: gateway,
    message: { body: { value: { outcome: { value: { code: CallErrorCode.OVERLOADED } } } } },
  });
});

it('answers OVERLOADED when the mailbox is full, and drops a call whose deadline passed while it waited', async () => {
  const { timers, gate, delivered, refused, reply, fill } = setUp();
  for (let id = 1n; id <= 192n; id += 1n) gate.deliver(callOf(id));
  gate.deliver(callOf(193n, 'acme', 50));
  await timers.advance(60);
  reply(1n);
  expect(delivered).toHaveLength(192);
  expect(refused).toHaveLength(0);
  fill();
  gate.deliver(callOf(194n));
  expect(refused).toHaveLength(1);
});

it('takes calls that continue a session while those that begin one wait, and refuses the latter alone', async () => {
  const { timers, gate, delivered, refused } = setUp();
  for (let id = 1n; id <= 5_000n; id += 1n) gate.deliver(callOf(id));
  const begun = delivered.length;
  const share = (id: bigint) => gate.deliver(callOf(id, 'acme', 0, 'submitSignatureShare'));
  for (let id = 5_001n; id <= 5_100n; id += 1n) share(id);
  expect(delivered.slice(begun)).toEqual(Array.from({ length: 100 }, (_, at) => BigInt(5_001 + at)));
  await timers.advance(20_000);
  share(5_101n);
  expect(delivered.at(-1)).toBe(5_101n);
  const asked = (each: Envelope<WireMessage>) => (each.message.body as { value: { request: { case: string } } }).value;
  expect(new Set(refused.map((each) => asked(each).request.case))).toEqual(new Set(['initiateSigning']));
});

it('begins no session while more is in hand than ends in a quarter of a second, and more when more ends', async () => {
  const { timers, gate, delivered, refused, reply } = setUp();
  const share = (id: bigint) => gate.deliver(callOf(id, 'acme', 0, 'submitSignatureShare'));
  for (let id = 1n; id <= 256n; id += 1n) share(id);
  gate.deliver(callOf(300n));
  await timers.advance(1_200);
  expect(delivered).toHaveLength(256);
  expect(refused).toHaveLength(1);
  // 2 calls end in a millisecond.
  for (let id = 1_000n; id < 2_000n; id += 1n) {
    share(id);
    reply(id);
  }
  await timers.advance(500);
  gate.deliver(callOf(301n));
  expect(delivered.at(-1)).toBe(301n);
});

it('a tenant begins no session while a call waits that continues one of its sessions; other tenants do', async () => {
  const { timers, gate, delivered, refused, reply } = setUp();
  const share = (id: bigint) => gate.deliver(callOf(id, 'acme', 0, 'submitSignatureShare'));
  // 4 calls end in a millisecond: sessions begin while up to 1,000 calls are in hand.
  for (let id = 10_000n; id < 12_000n; id += 1n) {
    share(id);
    reply(id);
  }
  await timers.advance(500);
  // Three quarters of the 1,024 places.
  for (let id = 1n; id <= 769n; id += 1n) share(id);
  expect(delivered.at(-1)).toBe(768n);
  gate.deliver(callOf(2_000n));
  gate.deliver(callOf(2_001n, 'other'));
  expect(delivered.at(-1)).toBe(2_001n);
  reply(1n);
  expect(delivered.slice(-2)).toEqual([769n, 2_000n]);
  expect(refused).toEqual([]);
});

it('a call that continues a session waits for up to five seconds', async () => {
  const { timers, gate, delivered, refused } = setUp();
  for (let id = 1n; id <= 3_200n; id += 1n) gate.deliver(callOf(id, 'acme', 0, 'submitSignatureShare'));
  await timers.advance(4_900);
  // Three quarters of as many places as there are at most.
  expect(delivered).toHaveLength(3_072);
  expect(refused).toEqual([]);
  await timers.advance(300);
  expect(refused).toHaveLength(128);
});

it('gives the places of a gateway free that is gone, and those whose reply never came', async () => {
  const { timers, gate, delivered } = setUp();
  for (let id = 1n; id <= 192n; id += 1n) gate.deliver(callOf(id));
  gate.gatewayGone(gateway);
  for (let id = 200n; id < 392n; id += 1n) gate.deliver(callOf(id));
  expect(delivered).toHaveLength(384);
  await timers.advance(200_000);
  gate.deliver(callOf(400n));
  expect(delivered.at(-1)).toBe(400n);
});

it('passes every other message at once, and no other message frees a place', () => {
  const { gate, delivered, refused } = setUp();
  for (let id = 1n; id <= 192n; id += 1n) gate.deliver(callOf(id));
  const other = callOf(500n);
  const dealt = { ...other.message, body: { case: 'noncesDealt', value: { callId: 500n } } } as unknown as WireMessage;
  expect(gate.deliver({ ...other, message: dealt })).toBeUndefined();
  expect(delivered.at(-1)).toBe(500n);
  gate.deliver(callOf(193n));
  const status = { ...other.message, body: { case: 'clusterStatus', value: { callId: 1n } } } as unknown as WireMessage;
  gate.sent({ from: 'coordinator', to: gateway, message: status, trace: noTrace });
  gate.sent({ from: 'coordinator', to: gateway, message: { kind: 'withdraw' }, trace: noTrace });
  expect(delivered.at(-1)).toBe(500n);
  expect(refused).toEqual([]);
});

it('a call waits until its deadline, by the time that has passed since it came', async () => {
  const { timers, gate, delivered, reply } = setUp();
  await timers.advance(1_000);
  for (let id = 1n; id <= 192n; id += 1n) gate.deliver(callOf(id));
  gate.deliver(callOf(193n, 'acme', 40));
  gate.deliver(callOf(194n, 'acme', 40));
  await timers.advance(39);
  reply(1n);
  expect(delivered.at(-1)).toBe(193n);
  await timers.advance(1);
  reply(2n);
  expect(delivered.at(-1)).toBe(193n);
});

it('a place whose reply never came is free after 150 s, not before', async () => {
  for (const [afterMs, isFree] of [
    [149_999, false],
    [150_000, true],
  ] as const) {
    const { timers, gate, delivered } = setUp();
    await timers.advance(5_000);
    for (let id = 1n; id <= 192n; id += 1n) gate.deliver(callOf(id));
    await timers.advance(afterMs);
    gate.deliver(callOf(200n));
    expect(delivered.includes(200n)).toBe(isFree);
  }
});

it('a call that a full mailbox refused keeps no place', () => {
  const { gate, delivered, refused, fill } = setUp();
  fill();
  for (let id = 1n; id <= 192n; id += 1n) gate.deliver(callOf(id));
  expect(refused).toHaveLength(192);
  fill(false);
  gate.deliver(callOf(193n));
  expect(delivered).toEqual([193n]);
});

it('holds no place for a call that gets no reply: of a node, for another actor, or with a number in use', async () => {
  const { gate, delivered, reply } = setUp();
  for (let id = 1n; id <= 300n; id += 1n) {
    gate.deliver({ ...callOf(id), from: 'node/2' });
    gate.deliver({ ...callOf(id), to: 'cluster' });
    gate.deliver(callOf(1_000n));
  }
  for (let id = 2_000n; id < 2_192n; id += 1n) gate.deliver(callOf(id));
  reply(1_000n);
  expect(delivered.slice(-192)).toEqual(Array.from({ length: 192 }, (_, index) => BigInt(2_000 + index)));
});

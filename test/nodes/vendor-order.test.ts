/** The actor of an intent's order at the vendor, step by step: what it stores, asks, answers and waits for in each phase. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { expect, test } from 'vitest';
import { noTrace } from '../../core/actors/contract.ts';
import type { NodeEffect, NodeInput, NodeMessage, VendorSign } from '../../nodes/records/messages.ts';
import type { NodeRecord } from '../../nodes/records/records.ts';
import type { VendorOrderState, VendorOutcome, VendorRequest } from '../../nodes/records/vendor-port.ts';
import { pollMs, type VendorOrderActorState, vendorOrderBehaviour } from '../../nodes/vendor/order-actor.ts';
import { decodeVendorOrder, type VendorOrderRecord } from '../../nodes/vendor/record.ts';
import { PartialRefusalCode } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { vendorOrderLifetimeMaxMs } from '../../proto/limits.ts';
import type { WireMessage } from '../../proto/wire.ts';

const secret = new Uint8Array(32).fill(7);
const publicKey = ed25519.getPublicKey(secret);
const message = new Uint8Array(Buffer.from('pay 5 to alice'));
const signature = ed25519.sign(message, secret);
const recordKey = `vendor/acme/${'ab'.repeat(16)}`;
const self = `node/2/${recordKey}`;
const weekMs = 7 * 86_400_000;
const behaviour = vendorOrderBehaviour({ nodeId: 2, clusterId: 'cl_test' });

type SignWish = Partial<VendorSign> & { readonly expiresMs?: number };

function signMessage(session: string, { expiresMs = 0, ...over }: SignWish = {}): VendorSign {
  return {
    kind: 'vendorSign',
    asked: {
      from: `signing/acme/${session}`,
      trace: noTrace,
      tenant: 'acme',
      session,
      attempt: 3,
      request: { keySession: 'key-1', message, attemptTag: 99n, order: { expiresEpochMs: BigInt(expiresMs) } },
    } as unknown as VendorSign['asked'],
    curve: 'ed25519',
    publicKey,
    digest: 'd1',
    ...over,
  };
}

/** The actor on a store that always writes. */
class Order {
  nowMs = 1_000_000;
  state: VendorOrderActorState;
  stored: NodeRecord | undefined;
  effects: readonly NodeEffect[];

  constructor(stored?: NodeRecord) {
    this.stored = stored;
    const started = behaviour.start(stored, { self, nowMs: this.nowMs, random: (length) => new Uint8Array(length) });
    this.state = started.state;
    this.effects = started.effects;
  }

  take(input: NodeInput): void {
    const context = { self, nowMs: this.nowMs, random: (length: number) => new Uint8Array(length) };
    const { state, effects } = behaviour.receive(this.state, input, context);
    this.state = state;
    this.effects = effects;
    for (const effect of effects) {
      if (effect.kind !== 'persist') continue;
      for (const { key, record } of effect.write.puts) {
        expect(key).toBe(recordKey);
        this.stored = record;
      }
      if (effect.write.deletes.includes(recordKey)) this.stored = undefined;
    }
  }

  tell(sent: NodeMessage): void {
    this.take({ kind: 'message', from: 'node/2', message: sent, trace: noTrace });
  }

  timer(name: string): void {
    this.take({ kind: 'timer', name });
  }

  sign(session = 'sig-1', over: SignWish = {}): void {
    this.tell(signMessage(session, over));
  }

  answer(outcome: VendorOutcome, externalId = this.record.externalId): void {
    this.tell({ kind: 'vendorAnswered', externalId, outcome });
  }

  hears(bodyCase: 'vendorNoted' | 'vendorCancel', session = 'sig-1'): void {
    this.tell({ tenant: 'acme', session, attempt: 0, body: { case: bodyCase, value: {} } } as unknown as WireMessage);
  }

  get record(): VendorOrderRecord {
    return decodeVendorOrder(this.stored!);
  }

  /** The requests to the vendor. */
  get asked(): VendorRequest[] {
    return this.#sent.flatMap(({ message: sent }) =>
      'kind' in sent && sent.kind === 'vendorAsked' ? sent.request : [],
    );
  }

  /** Receiver and outcome of each message to a session. */
  get replies(): string[] {
    return this.#sent.flatMap(({ to, message: sent }) => {
      if ('kind' in sent) return [];
      const { case: name, value } = sent.body as { case: string; value: { outcome: { case: string; value: unknown } } };
      const { case: outcome, value: content } = value.outcome;
      const code = outcome === 'refusal' ? PartialRefusalCode[(content as { code: number }).code] : outcome;
      return `${to} ${name} ${code}`;
    });
  }

  get timers(): string[] {
    return this.effects.flatMap((effect) => {
      if (effect.kind === 'startTimer') return `${effect.name} in ${effect.afterMs}`;
      return effect.kind === 'cancelTimer' ? `no ${effect.name}` : [];
    });
  }

  get persists(): boolean {
    return this.effects.some(({ kind }) => kind === 'persist');
  }

  get stops(): boolean {
    return this.effects.some(({ kind }) => kind === 'stop');
  }

  get #sent() {
    return this.effects.flatMap((effect) => (effect.kind === 'send' ? [effect] : []));
  }
}

function vendorSays(state: VendorOrderState['state'], over: Partial<VendorOrderState> = {}): VendorOrderState {
  const given = state === 'signed' ? signature : new Uint8Array();
  return { kind: 'order', state, signature: given, expiresMs: 2_000_000, detail: state.toUpperCase(), ...over };
}

const away: VendorOutcome = { kind: 'failed', fault: 'VENDOR_UNAVAILABLE', message: 'no route' };

/** An order that the vendor has and has not decided on; nothing waits for it any more. */
function openOrder(): Order {
  const order = new Order();
  order.sign();
  order.answer(vendorSays('open'));
  order.timer('patience');
  return order;
}

function settledOrder(state: 'signed' | 'rejected' = 'signed'): Order {
  const order = openOrder();
  order.tell({ kind: 'vendorNews' });
  order.answer(vendorSays(state));
  return order;
}

test('its record is that of the intent, and an address of another form has none', () => {
  expect(behaviour.durableKey?.(self)).toBe(recordKey);
  for (const other of ['node/2/vendor/acme', 'node/2/vendor//ab', 'node/2', 'node/2/dkg/acme/ab']) {
    expect(behaviour.durableKey?.(other)).toBeUndefined();
  }
});

test('the first request: the record is placing before the vendor is asked', () => {
  const order = new Order();
  expect(order.timers).toEqual(['idle in 60000']);
  order.sign();
  expect(order.persists).toBe(true);
  expect(order.record).toMatchObject({ phase: 'placing', ordinal: 1, session: 'sig-1', digest: 'd1', expiresMs: 0 });
  expect(order.record.externalId).toMatch(/^[0-9a-f]{32}$/);
  expect(order.asked).toEqual([
    {
      ...{ kind: 'place', externalId: order.record.externalId, label: 'signmesh/acme/key-1', curve: 'ed25519' },
      ...{ message, tenant: 'acme', reference: 'ab'.repeat(16) },
    },
  ]);
  expect(order.timers).toEqual(['patience in 150']);
  // One request at a time.
  order.tell({ kind: 'vendorNews' });
  expect(order.asked).toEqual([]);
  order.timer('poll');
  expect(order.effects).toEqual([]);
});

test('a vendor that signs at once answers the request; the signature is stored before it leaves', () => {
  const order = new Order();
  order.sign();
  order.answer(vendorSays('signed'));
  expect(order.persists).toBe(true);
  expect(order.record).toMatchObject({ phase: 'signed', end: '', noted: false, partial: signature });
  expect(order.replies).toEqual([
    'signing/acme/sig-1 partialReply partial',
    'signing/acme/sig-1 vendorSettled partial',
  ]);
  expect(order.timers).toEqual(['tell in 5000', 'no poll', 'no patience']);
  expect(order.state).toMatchObject({ waiting: [], asking: false });
});

test('how each decision without a signature is reported', () => {
  for (const [outcome, code, detail] of [
    [vendorSays('rejected'), 'VENDOR_REJECTED', 'the vendor says REJECTED'],
    [vendorSays('cancelled'), 'VENDOR_CANCELLED', 'the vendor says CANCELLED'],
    [vendorSays('expired'), 'VENDOR_EXPIRED', 'the vendor says EXPIRED'],
    [
      vendorSays('signed', { signature: new Uint8Array(64) }),
      'VENDOR_SIGNATURE_INVALID',
      'what the vendor gave does not',
    ],
    [vendorSays('rejected', { detail: 'x'.repeat(500) }), 'VENDOR_REJECTED', `the vendor says ${'x'.repeat(100)}`],
  ] as const) {
    const order = new Order();
    order.sign();
    order.answer(outcome);
    expect(order.replies[0]).toBe(`signing/acme/sig-1 partialReply ${code}`);
    expect(order.record).toMatchObject({ phase: 'ended', end: code, partial: new Uint8Array() });
    expect(order.record.detail.startsWith(detail)).toBe(true);
    expect(order.record.detail.length).toBeLessThan(130);
    const settled = order.effects.find(({ kind }) => kind === 'emit');
    expect(settled).toMatchObject({
      event: {
        level: code === 'VENDOR_SIGNATURE_INVALID' ? 'error' : 'info',
        fields: { outcome: code, tenant: 'acme' },
      },
    });
  }
});

test('an undecided vendor: the request learns of the order, once the vendor has given its expiry', () => {
  const order = new Order();
  order.sign();
  order.timer('patience');
  expect([order.replies, order.timers]).toEqual([[], ['patience in 150']]);
  order.answer(vendorSays('open'));
  expect(order.record).toMatchObject({ phase: 'open', expiresMs: 2_000_000 });
  expect(order.timers).toEqual([`poll in ${pollMs}`]);
  order.timer('patience');
  expect(order.replies).toEqual(['signing/acme/sig-1 partialReply vendorOrder']);
  expect(order.persists).toBe(false);
  order.timer('patience');
  expect(order.effects).toEqual([]);
});

test('a vendor’s expiry counts for a day at most', () => {
  const order = new Order();
  order.sign();
  order.answer(vendorSays('open', { expiresMs: Number.MAX_SAFE_INTEGER }));
  expect(order.record.expiresMs).toBe(order.nowMs + vendorOrderLifetimeMaxMs);
});

test('answers about another order, or after the decision, change nothing', () => {
  const order = openOrder();
  order.tell({ kind: 'vendorNews' });
  const { state } = order;
  order.answer(vendorSays('signed'), 'another');
  expect([order.state, order.effects]).toEqual([state, []]);
  const settled = settledOrder();
  settled.answer(vendorSays('rejected'));
  expect(settled.effects).toEqual([]);
  expect(settled.record.phase).toBe('signed');
});

test('an unreachable vendor is told to those that wait, and an open order stays open', () => {
  const order = openOrder();
  order.sign('sig-2');
  expect(order.asked).toHaveLength(1);
  order.answer(away);
  expect(order.replies).toEqual(['signing/acme/sig-2 partialReply VENDOR_UNAVAILABLE']);
  expect(order.effects).toContainEqual({
    kind: 'emit',
    event: {
      type: 'vendor.unreachable',
      level: 'warn',
      fields: { fault: away.fault, reason: 'no route', tenant: 'acme' },
    },
  });
  expect(order.state).toMatchObject({ waiting: [], asking: false });
  expect(order.record.phase).toBe('open');
  order.timer('poll');
  expect(order.asked.map(({ kind }) => kind)).toEqual(['place']);
  expect(order.timers).toEqual([`poll in ${pollMs}`]);
});

test('a poll or a callback during a request asks once more after it, and only then', () => {
  const order = openOrder();
  order.timer('poll');
  expect(order.asked).toHaveLength(1);
  order.tell({ kind: 'vendorNews' });
  order.tell({ kind: 'vendorNews' });
  expect(order.asked).toHaveLength(0);
  order.answer(vendorSays('open'));
  expect(order.asked).toHaveLength(1);
  expect(order.persists).toBe(false);
  order.answer(vendorSays('open'));
  expect(order.asked).toHaveLength(0);
  // The same when the vendor was unreachable.
  order.tell({ kind: 'vendorNews' });
  order.tell({ kind: 'vendorNews' });
  order.answer(away);
  expect(order.asked).toHaveLength(1);
});

test('a second session waits for the same order, which is then reported to it alone', () => {
  const order = openOrder();
  order.sign('sig-2', { expiresMs: 5_000_000 });
  expect(order.persists).toBe(true);
  expect(order.record).toMatchObject({ session: 'sig-2', ordinal: 1, retainUntilMs: 5_000_000 + weekMs });
  expect(order.timers).toEqual(['patience in 150']);
  expect(order.asked.map(({ kind }) => kind)).toEqual(['place']);
  order.sign('sig-2', { expiresMs: 5_000_000 });
  // Neither another write, nor a later answer, nor a second question.
  expect([order.persists, order.timers, order.asked]).toEqual([false, [], []]);
  order.answer(vendorSays('signed'));
  expect(order.replies).toEqual([
    'signing/acme/sig-2 partialReply partial',
    'signing/acme/sig-2 partialReply partial',
    'signing/acme/sig-2 vendorSettled partial',
  ]);
});

test('of many waiting requests the last 32 get an answer', () => {
  const order = openOrder();
  for (let count = 0; count < 40; count += 1) order.sign(`sig-${count}`);
  order.answer(vendorSays('rejected'));
  const replies = order.replies.filter((line) => line.includes('partialReply'));
  expect(replies).toHaveLength(32);
  expect(replies[0]).toContain('sig-8 ');
  expect(replies[31]).toContain('sig-39 ');
});

test('another message is refused while the order may be signed, and once it is', () => {
  for (const order of [openOrder(), settledOrder()]) {
    const { phase } = order.record;
    order.sign('sig-2', { digest: 'd2' });
    expect(order.replies).toEqual(['signing/acme/sig-2 partialReply INTENT_MESSAGE_CHANGED']);
    expect(order.persists).toBe(false);
    expect(order.record.phase).toBe(phase);
  }
  const ended = settledOrder('rejected');
  ended.sign('sig-2', { digest: 'd2' });
  expect(ended.record).toMatchObject({ phase: 'placing', ordinal: 2, digest: 'd2', session: 'sig-2' });
});

test('each order of an intent has an id of its own, and placing one again has the same', () => {
  const order = settledOrder('rejected');
  const first = order.record.externalId;
  order.sign();
  expect(order.record.externalId).not.toBe(first);
  const again = new Order();
  again.sign();
  expect(again.record.externalId).toBe(first);
});

test('no two orders have one id at the vendor, whichever cluster, node, tenant or intent they are of', () => {
  const idOf = (clusterId: string, nodeId: number, name: string) => {
    const actor = vendorOrderBehaviour({ nodeId, clusterId });
    const context = {
      self: `node/${nodeId}/vendor/${name}`,
      nowMs: 0,
      random: (length: number) => new Uint8Array(length),
    };
    const input = { kind: 'message', from: `node/${nodeId}`, message: signMessage('sig-1'), trace: noTrace } as const;
    const { effects } = actor.receive(actor.start(undefined, context).state, input, context);
    const write = effects.find(({ kind }) => kind === 'persist') as Extract<NodeEffect, { kind: 'persist' }>;
    return decodeVendorOrder(write.write.puts[0]!.record).externalId;
  };
  const [one, other] = ['ab'.repeat(16), 'cd'.repeat(16)];
  const ids = [
    ...[idOf('cl_1', 1, `acme/${one}`), idOf('cl_2', 1, `acme/${one}`), idOf('cl_1', 2, `acme/${one}`)],
    ...[idOf('cl_1', 1, `other/${one}`), idOf('cl_1', 1, `acme/${other}`)],
  ];
  expect(new Set(ids).size).toBe(ids.length);
});

test('a signed order answers later requests; a session that is new to it is told as well', () => {
  const order = settledOrder();
  order.sign();
  expect([order.replies, order.persists]).toEqual([['signing/acme/sig-1 partialReply partial'], false]);
  order.hears('vendorNoted');
  order.sign('sig-2');
  expect(order.replies).toEqual([
    'signing/acme/sig-2 partialReply partial',
    'signing/acme/sig-2 vendorSettled partial',
  ]);
  expect(order.persists).toBe(true);
  expect(order.record).toMatchObject({ session: 'sig-2', noted: false });
});

test('an outcome is reported until its session acknowledges it', () => {
  const order = settledOrder();
  order.timer('tell');
  expect(order.replies).toEqual(['signing/acme/sig-1 vendorSettled partial']);
  expect(order.timers).toEqual(['tell in 5000']);
  order.timer('idle');
  expect(order.effects).toEqual([]);
  order.hears('vendorNoted', 'sig-9');
  expect(order.effects).toEqual([]);
  order.hears('vendorNoted');
  expect([order.persists, order.timers, order.record.noted]).toEqual([true, ['no tell', 'idle in 60000'], true]);
  order.hears('vendorNoted');
  expect(order.effects).toEqual([]);
  order.timer('tell');
  expect(order.effects).toEqual([]);
  order.timer('idle');
  expect(order.stops).toBe(true);
});

test('a cancelled session has its order cancelled, until the vendor has decided', () => {
  const order = openOrder();
  order.hears('vendorCancel', 'sig-9');
  expect(order.effects).toEqual([]);
  order.hears('vendorCancel');
  expect(order.asked).toEqual([{ kind: 'cancel', externalId: order.record.externalId }]);
  order.tell({ kind: 'vendorNews' });
  expect(order.asked).toEqual([]);
  order.answer(away);
  expect(order.asked.map(({ kind }) => kind)).toEqual(['cancel']);
  order.answer(away);
  order.timer('poll');
  expect(order.asked.map(({ kind }) => kind)).toEqual(['cancel']);
  order.answer(vendorSays('cancelled'));
  expect(order.record).toMatchObject({ phase: 'ended', end: 'VENDOR_CANCELLED' });
  expect(order.state).toMatchObject({ cancels: false, cancelAsked: false });
  order.hears('vendorCancel');
  expect(order.effects).toEqual([]);
});

test('a cancellation during a request is sent after it', () => {
  const order = openOrder();
  order.timer('poll');
  order.hears('vendorCancel');
  expect(order.asked).toEqual([]);
  order.answer(vendorSays('open'));
  expect(order.asked.map(({ kind }) => kind)).toEqual(['cancel']);
});

test('a session that asks while the order of an ended one is cancelled gets an order of its own', () => {
  const order = openOrder();
  order.hears('vendorCancel');
  order.sign('sig-2');
  order.answer(vendorSays('cancelled'));
  expect(order.record).toMatchObject({ phase: 'placing', ordinal: 2, session: 'sig-2' });
  expect(order.asked.map(({ kind }) => kind)).toEqual(['place']);
  expect(order.replies).toEqual([]);
  order.answer(vendorSays('cancelled'));
  expect(order.replies).toEqual([
    'signing/acme/sig-2 partialReply VENDOR_CANCELLED',
    'signing/acme/sig-2 vendorSettled VENDOR_CANCELLED',
  ]);
});

test('a restart continues by the record: it polls an open order, and reports an outcome that was not acknowledged', () => {
  expect(new Order(openOrder().stored).timers).toEqual([`poll in ${pollMs}`]);
  const settled = settledOrder();
  expect(new Order(settled.stored).timers).toEqual(['tell in 5000']);
  settled.hears('vendorNoted');
  expect(new Order(settled.stored).timers).toEqual(['idle in 60000']);
  const placing = new Order();
  placing.sign();
  const restarted = new Order(placing.stored);
  expect(restarted.timers).toEqual(['idle in 60000']);
  restarted.tell({ kind: 'vendorNews' });
  expect(restarted.asked).toHaveLength(1);
  restarted.timer('idle');
  expect(restarted.timers).toEqual(['idle in 60000']);
  restarted.answer(away);
  restarted.timer('idle');
  expect(restarted.stops).toBe(true);
});

test('an acknowledged order is deleted when its time is over, not before', () => {
  const order = settledOrder();
  order.nowMs = order.record.retainUntilMs;
  order.tell({ kind: 'vendorNews' });
  expect(order.effects).toEqual([]);
  order.hears('vendorNoted');
  order.nowMs -= 1;
  order.tell({ kind: 'vendorNews' });
  expect(order.effects).toEqual([]);
  order.nowMs += 1;
  order.tell({ kind: 'vendorNews' });
  expect([order.stored, order.stops]).toEqual([undefined, true]);
});

test('an actor without a record stops, and one that waits for the vendor stays', () => {
  for (const wakes of [
    (order: Order) => order.tell({ kind: 'vendorNews' }),
    (order: Order) => order.hears('vendorCancel'),
    (order: Order) => order.timer('idle'),
  ]) {
    const order = new Order();
    wakes(order);
    expect(order.stops).toBe(true);
  }
  const order = new Order();
  for (const name of ['tell', 'poll', 'patience']) {
    order.timer(name);
    expect(order.effects).toEqual([]);
  }
  order.sign();
  order.timer('idle');
  expect([order.stops, order.timers]).toEqual([false, ['idle in 60000']]);
  const open = openOrder();
  open.timer('idle');
  expect(open.effects).toEqual([]);
});

test('a refused write: the old record decides, those that wait get no answer, and the vendor is asked again', () => {
  const order = openOrder();
  order.sign('sig-2');
  order.take({ kind: 'persistRefused', write: { puts: [], deletes: [] } } as unknown as NodeInput);
  expect(order.state).toMatchObject({ waiting: [], asking: false });
  expect(order.timers).toEqual([`poll in ${pollMs}`]);
  expect(order.effects[0]).toMatchObject({ event: { type: 'vendor.write.failed', level: 'error' } });
  order.timer('poll');
  expect(order.asked).toHaveLength(1);
});

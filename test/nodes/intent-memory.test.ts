/** A node signs one message for an intent, whatever a coordinator and its store say later. */
import { describe, expect, it } from 'vitest';
import { dkgRecordKey, intentBucketKey, isIntentBucket, keyRecordKey } from '../../nodes/records/records.ts';
import { bucketEntriesMax, IntentMemory, namedIntent, signedDigest } from '../../nodes/signer/intent-memory.ts';
import {
  type NodeOrder,
  PartialRefusalCode,
  type PartialReply,
  type PartialRequest,
  Scheme,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { OrderWish } from '../support/orders.ts';
import { Ceremony, type Plain } from './ceremony.ts';
import { only, rosterOf, type Sent, TestNode } from './harness.ts';

const { INTENT_MESSAGE_CHANGED, NONCE_UNKNOWN } = PartialRefusalCode;
const names = { tenant: 'acme', session: 'sig-1', attempt: 1 };
const coordinatorBoot = 'coordinator-1';
const text = (words: string) => Buffer.from(words);

/** A node that holds "key-1" and "key-2" of 2-of-3 on ed25519, and a stranger's nonce commitment to sign beside. */
function world() {
  const node = new TestNode(1, rosterOf(3), { label: 'intents' });
  for (const session of ['key-1', 'key-2']) {
    const ceremony = new Ceremony({
      curve: 'ed25519',
      threshold: 2,
      totalNodes: 3,
      names: { tenant: 'acme', session, attempt: 1 },
      label: session,
    });
    ceremony.run();
    const recordKey = keyRecordKey('acme', session);
    node.records.set(recordKey, ceremony.nodes[0]!.records.get(recordKey)!);
  }
  return node;
}

/** Asks for a partial with fresh nonces, as another session of the intent would. */
function sign(
  node: TestNode,
  message: Uint8Array,
  wish: OrderWish = {},
  more: Partial<Plain<PartialRequest>> = {},
): Sent[] {
  const deal = { scheme: Scheme.FROST_ED25519, count: 2, coordinatorBoot };
  const dealt = only(
    node.signer({ ...names, tenant: '', session: '' }, { case: 'dealNonces', value: deal }),
    'noncesDealt',
  );
  const [own, other] = dealt.nonces;
  const signers = [own!, other!].map(({ hiding, binding }, index) => ({ nodeId: index + 1, hiding, binding }));
  const asked = {
    scheme: Scheme.FROST_ED25519,
    keySession: 'key-1',
    nodeBoot: node.boot,
    coordinatorBoot,
    attemptTag: 7n,
    nonceNumber: own!.number,
    message,
    signers: signers as PartialRequest['signers'],
    ...more,
  };
  return node.signer(names, { case: 'partialRequest', value: { order: node.order(names, asked, wish), ...asked } });
}

function outcomeOf(sent: readonly Sent[]): PartialRefusalCode | 'partial' | 'silent' {
  if (sent.length === 0) return 'silent';
  const { outcome } = only(sent, 'partialReply');
  return outcome.case === 'refusal' ? outcome.value.code : 'partial';
}

const buckets = (node: TestNode) => [...node.records.keys()].filter(isIntentBucket);

describe('an intent gets one message', () => {
  it('the same again in a later session, another one never, also after a crash', () => {
    const node = world();
    expect(outcomeOf(sign(node, text('pay alice')))).toBe('partial');
    expect(buckets(node)).toHaveLength(1);
    const writes = node.writes;
    expect(outcomeOf(sign(node, text('pay alice')))).toBe('partial');
    expect(node.writes).toBe(writes);
    for (const restart of [() => undefined, () => node.crash(), () => node.restartActor('node/1')]) {
      restart();
      expect(outcomeOf(sign(node, text('pay mallory')))).toBe(INTENT_MESSAGE_CHANGED);
      expect(outcomeOf(sign(node, text('pay alice'), {}, { keySession: 'key-2' }))).toBe(INTENT_MESSAGE_CHANGED);
      expect(outcomeOf(sign(node, text('pay alice'), {}, { derivationPath: 'm/1' }))).toBe(INTENT_MESSAGE_CHANGED);
      expect(outcomeOf(sign(node, text('pay alice')))).toBe('partial');
    }
    // Other intents, and the wallet service's of the same name, are others.
    expect(outcomeOf(sign(node, text('pay mallory'), { intentId: 'another' }))).toBe('partial');
    expect(outcomeOf(sign(node, text('pay mallory'), { walletService: true }))).toBe('partial');
  });

  it('is durable before the partial leaves, and one write serves all that wait', () => {
    const node = world();
    node.holdOwn = true;
    const writes = node.writes;
    expect(outcomeOf(sign(node, text('pay alice')))).toBe('silent');
    expect(outcomeOf(sign(node, text('pay alice')))).toBe('silent');
    expect(outcomeOf(sign(node, text('pay bob'), { intentId: 'another' }))).toBe('silent');
    // Not written yet, and promised all the same.
    expect(outcomeOf(sign(node, text('pay mallory')))).toBe(INTENT_MESSAGE_CHANGED);
    expect(buckets(node)).toEqual([]);
    const released = node.releaseOwn().map(({ message }) => (message.body.value as PartialReply).outcome.case);
    expect(released).toEqual(['partial', 'partial', 'partial']);
    expect(node.writes - writes).toBe(1);
  });

  it('is written again for an order that ends a day later or more', () => {
    const node = world();
    const dayMs = 24 * 3_600_000;
    const firstMs = 2_000_000_000_000;
    const writesFor = (expiresMs: number): number => {
      const before = node.writes;
      expect(outcomeOf(sign(node, text('pay alice'), { expiresMs }))).toBe('partial');
      return node.writes - before;
    };
    writesFor(firstMs);
    expect([firstMs + dayMs - 1, firstMs + dayMs, firstMs + dayMs].map(writesFor)).toEqual([0, 1, 0]);
  });

  it.each(['lost', 'applied'] as const)('a write that fails releases nothing: %s', (fate) => {
    const node = world();
    node.writesFail = fate;
    expect(outcomeOf(sign(node, text('pay alice')))).toBe('silent');
    node.writesFail = 'no';
    expect(outcomeOf(sign(node, text('pay mallory')))).toBe(fate === 'applied' ? INTENT_MESSAGE_CHANGED : 'partial');
    // The next partial for it has a stored promise behind it.
    node.crash();
    const first = fate === 'applied' ? 'pay alice' : 'pay mallory';
    expect(outcomeOf(sign(node, text('pay bob')))).toBe(INTENT_MESSAGE_CHANGED);
    expect(outcomeOf(sign(node, text(first)))).toBe('partial');
  });

  it('a request that is refused for its nonce leaves no memory', () => {
    const node = world();
    expect(outcomeOf(sign(node, text('pay mallory'), {}, { nonceNumber: 99n }))).toBe(NONCE_UNKNOWN);
    expect(buckets(node)).toEqual([]);
    expect(outcomeOf(sign(node, text('pay alice')))).toBe('partial');
  });

  it('no digest of what was signed is in an event', () => {
    const node = world();
    sign(node, text('pay alice'));
    sign(node, text('pay mallory'));
    expect(JSON.stringify(node.events)).not.toMatch(/[0-9a-f]{32}/);
  });
});

describe('the memory', () => {
  const publicKey = new Uint8Array(32).fill(1);
  const order = (id: string, expiresMs: number) =>
    ({ transactionIntentId: id, walletService: false, expiresEpochMs: BigInt(expiresMs) }) as NodeOrder;
  const digest = (words: string) => signedDigest(Scheme.FROST_ED25519, publicKey, text(words));
  const bucket = intentBucketKey('acme', 'ffff');
  /** As if all of these had met in one bucket. */
  const named = (id: string, expiresMs: number) => ({
    ...namedIntent('acme', order(id, expiresMs)),
    recordKey: bucket,
  });

  it('lasts as long as the order, and a later order of the intent prolongs it', () => {
    const memory = new IntentMemory();
    memory.add(bucket, undefined);
    const day = 24 * 3_600_000;
    const first = memory.remember(named('a', 31 * day), digest('x'), 0);
    expect(first).toBeDefined();
    expect(memory.remember(named('a', 31 * day + 1), digest('x'), 0)).toBeUndefined();
    expect(memory.remember(named('a', 40 * day), digest('x'), day)).toBeDefined();
    expect(memory.digestOf(named('a', 0), 39 * day)).toBe(digest('x'));
    expect(memory.digestOf(named('a', 0), 40 * day)).toBeUndefined();
    expect(memory.remember(named('a', 80 * day), digest('y'), 41 * day)).toBeDefined();
    expect(memory.digestOf(named('a', 0), 42 * day)).toBe(digest('y'));
  });

  it('holds so many of a bucket, and forgets those first that end first', () => {
    const memory = new IntentMemory();
    memory.add(bucket, undefined);
    expect(bucketEntriesMax).toBe(32);
    let record: Uint8Array | undefined;
    for (let index = 0; index <= bucketEntriesMax; index += 1) {
      record = memory.remember(named(`intent ${index}`, 1_000 + index), digest(`${index}`), 0);
    }
    const read = new IntentMemory();
    read.add(bucket, record);
    expect(read.digestOf(named('intent 0', 0), 0)).toBeUndefined();
    for (let index = 1; index <= bucketEntriesMax; index += 1) {
      expect(read.digestOf(named(`intent ${index}`, 0), 0)).toBe(digest(`${index}`));
    }
    // What is past its time makes room.
    const next = read.remember(named('late', 9_000), digest('late'), 5_000);
    expect(JSON.parse(Buffer.from(next!).toString()).intents).toHaveLength(1);
  });

  it('spreads a tenant’s intents over its own buckets', () => {
    const keys = new Set(
      Array.from({ length: 2_000 }, (_, index) => namedIntent('acme', order(`${index}`, 1)).recordKey),
    );
    expect(keys.size).toBeGreaterThan(1_900);
    for (const key of keys) expect(key).toMatch(/^intent\/acme\/[0-9a-f]{4}$/);
    expect(isIntentBucket(keyRecordKey('intent', 'x'))).toBe(false);
    expect(isIntentBucket(dkgRecordKey('intent', 'x'))).toBe(false);
    const space = (tenant: string, walletService: boolean) =>
      namedIntent(tenant, { ...order('1', 1), walletService }).intent;
    expect(new Set([space('acme', false), space('other', false), space('acme', true)]).size).toBe(3);
  });

  it('refuses a record that it did not write', () => {
    const memory = new IntentMemory();
    for (const broken of ['{}', '{"v":2,"intents":[]}', '{"v":1}', '{"v":1,"intents":[["a","b",1]]}']) {
      expect(() => memory.add(bucket, text(broken))).toThrow();
    }
  });
});

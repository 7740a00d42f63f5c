/**
 * Keys at a vendor, in the simulated world: a session waits for the vendor's order, completes by itself, survives crashes of
 * every process of ours, and an intent never gets two signatures.
 */
import { describe, expect, test } from 'vitest';
import { verifyReleased } from '../../core/crypto/frost/released.ts';
import { PartialRefusalCode, type PartialReply } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { wireScheme } from '../../proto/key-schemes.ts';
import { vendorOrderLifetimeMaxMs } from '../../proto/limits.ts';
import type { WireMessage } from '../../proto/wire.ts';
import { vendorFailures } from '../../scenarios/faults/vocabulary/fault-parts.ts';
import { SimCluster, type SimOptions } from '../../simulation/cluster/cluster.ts';
import type { VendorConduct } from '../../wallets/providers/vendor/public.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { begin, blamed, codeOf, digest, makeKey, tenant, tokenOf } from './support/world.ts';

useModelCryptography();

const keyId = 'wal_vendor';
const decideMs = 60_000;
const lifetimeMs = 3_600_000;
const { ACCEPTED, BACKEND_COMPLETED, BACKEND_FAILED, EXPIRED, REVOKED } = ReceiptState;

function world(options: Partial<SimOptions> = {}): SimCluster {
  const cluster = new SimCluster({ seed: 'vendor', nodes: 3, vendor: { decideMs, lifetimeMs }, ...options });
  const caller = { walletService: true, keyScheme: wireScheme('vendor_ecdsa') };
  expect(codeOf(cluster.makeKey({ sessionId: keyId }, tenant, caller).result())).toBe('DKG_COMPLETED');
  return cluster;
}

const open = (cluster: SimCluster, intent = 't') => begin(cluster, intent, { walletId: keyId }).signingSessionId;
const submit = (cluster: SimCluster, signingSessionId: string, more: object = {}) =>
  cluster.submitSignatureShare({ signingSessionId, ...more }).result();
const stateOf = (cluster: SimCluster, session: string) => cluster.storedSession(tenant, session)!.state;
const behave = (cluster: SimCluster, by: VendorConduct['by'] | undefined) => {
  cluster.vendor.behave(by && { by });
};

function signatureOf(cluster: SimCluster, session: string): Uint8Array {
  const stored = cluster.storedSession(tenant, session)!;
  return Buffer.from(stored.ceremony.kind === 'signing' ? stored.ceremony.signature : '', 'hex');
}

/** Complete, with a signature that another library verifies, by the one order of the intent that was signed. */
function expectSigned(cluster: SimCluster, session: string, orders = 1): void {
  expect(stateOf(cluster, session)).toBe(BACKEND_COMPLETED);
  const key = Buffer.from(cluster.storedKey(tenant, keyId)!.publicKey, 'hex');
  expect(verifyReleased('ecdsa', key, digest, signatureOf(cluster, session))).toBe(true);
  expect(cluster.vendor.book.orders).toHaveLength(orders);
  expect(blamed(cluster)).toEqual([]);
}

test('a session waits ACCEPTED for a slow vendor, and completes by the vendor’s callback, without a call', () => {
  const cluster = world();
  const session = open(cluster);
  const told = submit(cluster, session);
  expect([codeOf(told), told.receipt!.state, told.isComplete]).toEqual(['VENDOR_ORDER_OPEN', ACCEPTED, false]);
  expect(told.receipt!.backendRoute).toBe('m0/mpc-vendor/secp256k1');
  cluster.time.advance(decideMs);
  expectSigned(cluster, session);
  const types = cluster.eventLog(tenant).map(({ type }) => type);
  expect(types.filter((type) => type === 'signing.session.completed')).toHaveLength(1);
  expect(submit(cluster, session).fullSignature).toEqual(new Uint8Array(signatureOf(cluster, session)));
});

test('calls while the order is open ask for the same order', () => {
  const cluster = world();
  const session = open(cluster);
  for (const more of [{}, { nodeId: 1 }, {}]) expect(codeOf(submit(cluster, session, more))).toBe('VENDOR_ORDER_OPEN');
  cluster.time.advance(decideMs);
  expectSigned(cluster, session);
});

test('the session lives as long as the vendor’s order, longer than other sessions', () => {
  const cluster = world({ sweeping: true, vendor: { decideMs: 50 * 60_000, lifetimeMs } });
  const session = open(cluster);
  submit(cluster, session);
  const [order] = cluster.vendor.book.orders;
  expect(cluster.storedSession(tenant, session)!.expiresMs).toBe(order!.expiresMs);
  cluster.time.advance(20 * 60_000);
  expect(stateOf(cluster, session)).toBe(ACCEPTED);
  cluster.time.advance(31 * 60_000);
  expectSigned(cluster, session);
});

test('a session lives for a bounded time, whatever its node says of the vendor’s order', () => {
  const cluster = world({
    onFrame: (frame) => {
      const { body } = frame.message;
      if (body.case !== 'partialReply' || body.value.outcome?.case !== 'vendorOrder') return true;
      const order = { ...body.value.outcome.value, expiresEpochMs: 2n ** 53n - 1n };
      const value = { ...body.value, outcome: { case: 'vendorOrder', value: order } };
      return { ...frame, message: { ...frame.message, body: { case: 'partialReply', value } as WireMessage['body'] } };
    },
  });
  const session = open(cluster);
  expect(codeOf(submit(cluster, session))).toBe('VENDOR_ORDER_OPEN');
  const livesMs = cluster.storedSession(tenant, session)!.expiresMs - cluster.time.nowMs();
  expect(livesMs).toBeGreaterThan(lifetimeMs);
  expect(livesMs).toBeLessThanOrEqual(vendorOrderLifetimeMaxMs);
});

test('an order that the vendor never decides on ends with its lifetime, and the session with it', () => {
  const cluster = world({ sweeping: true });
  behave(cluster, 'never_answers');
  const session = open(cluster);
  submit(cluster, session);
  cluster.time.advance(lifetimeMs + 60_000);
  expect(stateOf(cluster, session)).toBe(EXPIRED);
  behave(cluster, undefined);
  const next = open(cluster);
  submit(cluster, next);
  cluster.time.advance(decideMs);
  expectSigned(cluster, next, 2);
});

describe('kill -9 between every two steps', () => {
  /** How many steps of the world a whole signature takes; a crash before and after each of them. */
  const steps = 90;
  test.each([
    ['the coordinator', ['coordinator']],
    ['the node', ['node/1']],
    ['coordinator and node', ['coordinator', 'node/1']],
  ] as const)('of %s: the session completes with one order', (_, processes) => {
    for (let at = 0; at < steps; at += 1) {
      const cluster = world({ nodes: 1, vendor: { decideMs: 40, lifetimeMs } });
      const session = open(cluster);
      cluster.submitSignatureShare({ signingSessionId: session });
      const before = cluster.time.tasksRun;
      cluster.time.runUntil(() => cluster.time.tasksRun >= before + at);
      for (const process of processes) cluster.crash(process);
      // At a whole millisecond, as every start.
      cluster.time.advance(100 - (cluster.time.nowMs() % 1));
      for (const process of processes) cluster.start(process);
      cluster.time.advance(60_000);
      // A crash before the vendor had the order leaves the session as it was; a call completes it.
      if (stateOf(cluster, session) !== BACKEND_COMPLETED) {
        const paused = cluster.storedSession(tenant, session)!;
        expect(cluster.vendor.book.orders).toHaveLength(0);
        if (paused.state === BACKEND_FAILED) {
          const told = submit(cluster, session);
          cluster.resumeSession({ sessionId: session, resumeToken: tokenOf(told) }).result();
        }
        submit(cluster, session);
        cluster.time.advance(60_000);
      }
      expectSigned(cluster, session);
    }
  });
});

describe('a vendor that', () => {
  test.each([
    ['reject', 'VENDOR_REJECTED'],
    ['lies', 'VENDOR_SIGNATURE_INVALID'],
  ] as const)('%ss: the session pauses with %s, nothing is released, and a resume orders anew', (by, reason) => {
    const cluster = world();
    behave(cluster, by);
    const session = open(cluster);
    submit(cluster, session);
    cluster.time.advance(decideMs);
    const { state, reasonCode } = cluster.storedSession(tenant, session)!;
    expect([state, reasonCode]).toEqual([BACKEND_FAILED, reason]);
    expect(signatureOf(cluster, session)).toHaveLength(0);
    behave(cluster, undefined);
    const told = submit(cluster, session);
    cluster.resumeSession({ sessionId: session, resumeToken: tokenOf(told) }).result();
    submit(cluster, session);
    cluster.time.advance(decideMs);
    expectSigned(cluster, session, 2);
  });

  test.each(['answers_twice', 'callback_lost', 'callback_out_of_order', 'delay'] as const)(
    '%s: the session completes, once',
    (by) => {
      const cluster = world();
      behave(cluster, by);
      const session = open(cluster);
      submit(cluster, session);
      cluster.time.advance(2 * decideMs + 20_000);
      expectSigned(cluster, session);
    },
  );

  test('is unavailable: the session pauses with VENDOR_UNAVAILABLE, and a resume continues', () => {
    const cluster = world();
    behave(cluster, 'unavailable');
    const session = open(cluster);
    const told = submit(cluster, session);
    expect(codeOf(told)).toBe('VENDOR_UNAVAILABLE');
    behave(cluster, undefined);
    cluster.resumeSession({ sessionId: session, resumeToken: tokenOf(told) }).result();
    expect(codeOf(submit(cluster, session))).toBe('VENDOR_ORDER_OPEN');
    cluster.time.advance(decideMs);
    expectSigned(cluster, session);
  });

  test('becomes unavailable while it has an order: the session waits for it', () => {
    const cluster = world();
    const session = open(cluster);
    submit(cluster, session);
    behave(cluster, 'unavailable');
    cluster.time.advance(2 * decideMs);
    expect(stateOf(cluster, session)).toBe(ACCEPTED);
    behave(cluster, undefined);
    cluster.time.advance(20_000);
    expectSigned(cluster, session);
  });

  test('is not configured: KEYSTORE_UNAVAILABLE, for a key and for a session', () => {
    const cluster = world();
    cluster.vendor.isConfigured = false;
    expect(codeOf(submit(cluster, open(cluster)))).toBe('KEYSTORE_UNAVAILABLE');
    const caller = { walletService: true, keyScheme: wireScheme('vendor_ed25519') };
    const request = { sessionId: 'wal_other', derivation: { curve: 'ed25519' } };
    expect(codeOf(cluster.makeKey(request, tenant, caller).result())).toBe('KEYSTORE_UNAVAILABLE');
  });
});

describe('a later session of the intent', () => {
  /** The first session is paused while its order is open. */
  function paused(cluster: SimCluster): string {
    const first = open(cluster);
    submit(cluster, first);
    cluster.crash('node/1');
    expect(codeOf(submit(cluster, first))).toBe('QUORUM_UNAVAILABLE');
    cluster.start('node/1');
    return first;
  }

  test('waits for the order of the earlier one, and gets its signature', () => {
    const cluster = world();
    const first = paused(cluster);
    const second = open(cluster);
    expect(stateOf(cluster, first)).toBe(REVOKED);
    expect(codeOf(submit(cluster, second))).toBe('VENDOR_ORDER_OPEN');
    cluster.time.advance(decideMs);
    expectSigned(cluster, second);
    expect(signatureOf(cluster, first)).toHaveLength(0);
  });

  test('gets the signature that was made before it began', () => {
    const cluster = world();
    const first = paused(cluster);
    cluster.time.advance(decideMs);
    expect(stateOf(cluster, first)).toBe(BACKEND_FAILED);
    const second = open(cluster);
    expect(submit(cluster, second).isComplete).toBe(true);
    expectSigned(cluster, second);
  });

  test('cannot sign another message while the order may be signed', () => {
    const cluster = world();
    paused(cluster);
    const other = begin(cluster, 't', { walletId: keyId, messageHash: digest.map((byte) => byte ^ 1) });
    expect(codeOf(submit(cluster, other.signingSessionId))).toBe('INTENT_MESSAGE_CHANGED');
    expect(cluster.vendor.book.orders).toHaveLength(1);
  });
});

test.each(['an open order', 'a settled one', 'one that expired'])(
  'of a key that nodes share, a node’s word about %s at a vendor counts for nothing',
  (what) => {
    const refusal = { case: 'refusal' as const, value: { code: PartialRefusalCode.VENDOR_EXPIRED, message: '' } };
    const cluster = new SimCluster({
      seed: 'vendor',
      nodes: 3,
      onFrame: (envelope) => {
        const { body } = envelope.message;
        if (envelope.from !== 'node/2' || body.case !== 'partialReply') return true;
        const value = body.value as PartialReply;
        const vendorOrder = { reference: 'ab'.repeat(16), expiresEpochMs: 1_700_000_900_000n };
        const outcome = what === 'an open order' ? { case: 'vendorOrder' as const, value: vendorOrder } : refusal;
        const lie =
          what === 'a settled one'
            ? { case: 'vendorSettled' as const, value: { nodeId: 2, outcome: refusal } }
            : { case: 'partialReply' as const, value: { nodeId: 2, attemptTag: value.attemptTag, outcome } };
        return { ...envelope, message: { ...envelope.message, body: lie } };
      },
    });
    makeKey(cluster, 'shared', 'secp256k1', 2, 3);
    for (const intent of ['a', 'b', 'c']) {
      const { signingSessionId } = begin(cluster, intent, { walletId: 'shared' });
      expect(codeOf(submit(cluster, signingSessionId))).toBe('SIGNATURE_COMPLETED');
    }
    expect(blamed(cluster)).toEqual([]);
  },
);

test('a closed key has its order cancelled and its key deleted at the vendor', () => {
  const cluster = world();
  const session = open(cluster);
  submit(cluster, session);
  cluster.closeKey({ keyId }, tenant, { walletService: true }).result();
  cluster.time.advance(1_000);
  expect(stateOf(cluster, session)).toBe(REVOKED);
  expect(cluster.vendor.book.orders.map(({ status }) => status)).toEqual(['CANCELLED']);
  expect(cluster.vendor.book.keys).toEqual([]);
});

test('the vendor’s keys follow from nothing that we have: two vendors make other keys of the same names', () => {
  const keys = ['one', 'other'].map((seed) => world({ seed }).storedKey(tenant, keyId)!.publicKey);
  expect(keys[0]).not.toBe(keys[1]);
});

describe('whatever vendor, crashes and clients do', () => {
  const conducts = [...vendorFailures, undefined, undefined];
  const intents = ['a', 'b', 'c'];

  test.each(Array.from({ length: 12 }, (_, seed) => [seed]))(
    'an intent gets one signature, and a session ends once (seed %s)',
    (seed) => {
      const draw = drawFrom(seed);
      const cluster = world({
        seed: `vendor ${seed}`,
        nodes: 1,
        sweeping: true,
        vendor: { decideMs: 30_000, lifetimeMs: 300_000 },
      });
      const sessions: string[] = [];
      const resume = (session: string) => {
        cluster.submitSignatureShare({ signingSessionId: session }).onAnswer((told) => {
          const resumeToken = told.checkpoint?.resumeToken ?? '';
          if (resumeToken !== '') cluster.resumeSession({ sessionId: session, resumeToken });
        });
      };
      for (let step = 0; step < 60; step += 1) {
        const session = draw(sessions);
        const action = draw(['begin', 'submit', 'resume', 'replaced', 'vendor', 'crash', 'start', 'wait'] as const);
        if (action === 'begin') {
          const request = { transactionIntentId: draw(intents)!, walletId: keyId, messageHash: digest };
          cluster.initiateSigning(request).onAnswer(({ signingSessionId: id }) => void (id && sessions.push(id)));
        } else if (action === 'submit' && session) cluster.submitSignatureShare({ signingSessionId: session });
        else if (action === 'resume' && session) resume(session);
        // Paused without its node, it makes way for another session of its intent.
        else if (action === 'replaced' && session) {
          cluster.crash('node/1');
          cluster.submitSignatureShare({ signingSessionId: session });
          cluster.time.advance(12_001 - (cluster.time.nowMs() % 1));
          for (const process of ['coordinator', 'node/1'] as const) cluster.start(process);
          const stored = cluster.storedSession(tenant, session);
          const transactionIntentId = stored?.ceremony.kind === 'signing' ? stored.ceremony.facts.intentId : 'a';
          const request = { transactionIntentId, walletId: keyId, messageHash: digest };
          cluster.initiateSigning(request).onAnswer(({ signingSessionId: id }) => {
            if (id === '') return;
            sessions.push(id);
            cluster.submitSignatureShare({ signingSessionId: id });
          });
        } else if (action === 'vendor') behave(cluster, draw(conducts));
        else if (action === 'crash') cluster.crash(draw(['coordinator', 'node/1'] as const)!);
        else if (action === 'start') for (const process of ['coordinator', 'node/1'] as const) cluster.start(process);
        // At a whole millisecond, as every start.
        cluster.time.advance(draw([10, 500, 4_000, 16_000])! + 1 - (cluster.time.nowMs() % 1));
      }
      behave(cluster, undefined);
      cluster.heal();
      cluster.time.advance(400_000);

      const stored = [...new Set(sessions)].map((id) => cluster.storedSession(tenant, id)!);
      for (const intent of intents) {
        const own = stored.filter(({ ceremony }) => ceremony.kind === 'signing' && ceremony.facts.intentId === intent);
        expect(own.filter(({ state }) => state === BACKEND_COMPLETED).length).toBeLessThanOrEqual(1);
      }
      for (const { sessionId } of stored) {
        const ends = cluster.eventLog(tenant).filter(({ type, resource }) => {
          return resource.id === sessionId && /completed|expired|revoked|denied/.test(type);
        });
        expect(ends.length).toBeLessThanOrEqual(1);
      }
      // At the vendor, too, no intent has two orders that were signed in earnest: one for each that it signed.
      const { orders } = cluster.vendor.book;
      const signed = orders.filter(({ status, fate }) => status === 'COMPLETED' && fate === 'sign');
      const callbacks = signed.map(({ callback }) => callback);
      expect(new Set(callbacks).size).toBe(callbacks.length);
      expect(blamed(cluster)).toEqual([]);
      expect(cluster.bugs).toEqual([]);
    },
  );
});

/** Draws from a list, by a seed: Lehmer's generator. */
function drawFrom(seed: number) {
  let state = seed + 1;
  return <T>(from: readonly T[]): T | undefined => {
    state = (state * 48_271) % 2_147_483_647;
    return from[state % from.length];
  };
}

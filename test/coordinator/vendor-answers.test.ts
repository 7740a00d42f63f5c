/**
 * A session whose key one node has alone, in a token or at a vendor, and what that node says: which of it counts, and what the
 * session acknowledges. The test plays the node.
 */
import { describe, expect, test } from 'vitest';
import { groupOf } from '../../core/crypto/group.ts';
import { hsmSignature } from '../../core/crypto/hsm.ts';
import { ecdsaChecks } from '../../core/crypto/mock-ecdsa.ts';
import { PartialRefusalCode as Code } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { SigningAlone, wrongPartial } from './support/signing-alone.ts';
import { tenant } from './support/steered-store.ts';

useModelCryptography();

const reference = '0123456789abcdef'.repeat(2);
const orderAddress = `node/1/vendor/${tenant}/${reference}`;
const hourMs = 3_600_000;

/** A key of node 1 in place of the wallet's. */
class Alone extends SigningAlone {
  readonly #secret = 7n;

  constructor(holder: 'vendor' | 'hsm') {
    super('mock_ecdsa');
    const group = groupOf('secp256k1');
    const share = Buffer.from(group.baseMultiply(this.#secret)).toString('hex');
    const terms = { threshold: 1, totalNodes: 1, participants: [1], verificationShares: [share], publicKey: share };
    this.setKey({ ...terms, chainCode: '', scheme: `${holder}_ecdsa` });
    this.opens({ keystoreType: 0 });
  }

  get signature(): Uint8Array {
    const message = new Uint8Array(32).fill(5);
    const group = groupOf('secp256k1');
    const { signature } = ecdsaChecks.current.sign(group.encodeScalar(this.#secret), message);
    return hsmSignature('secp256k1', signature, message, group.baseMultiply(this.#secret))!;
  }

  /** The latest request is answered so. */
  says(outcome: object): void {
    const { names, from, to } = this.asked.at(-1)!;
    const value = { nodeId: 1, attemptTag: this.requestTo(1)!.attemptTag, outcome };
    this.asked = [];
    this.hear({ node: 1, from: to, to: from, names, body: { case: 'partialReply', value } } as never);
  }

  orders(of = reference, lastsMs = hourMs): void {
    const value = { reference: of, expiresEpochMs: BigInt(this.nowMs + lastsMs) };
    this.says({ case: 'vendorOrder', value });
  }

  /** The order's node says what the vendor decided; returns whether the session acknowledges it. */
  settles(outcome: object, from = orderAddress, nodeId = 1): boolean {
    this.said = [];
    const body = { case: 'vendorSettled', value: { nodeId, outcome } };
    this.hear({ node: 1, from, to: this.address, names: { tenant, session: this.id, attempt: 0 }, body } as never);
    return this.said.some(({ to, kind }) => to === from && kind === 'vendorNoted');
  }
}

const signed = (t: Alone) => ({ case: 'partial', value: t.signature });
const refused = (code: Code) => ({ case: 'refusal', value: { code, message: 'as it says' } });

describe('the vendor of a key', () => {
  test.each(['', 'x', '../../x', reference.toUpperCase()])('has no order by the name "%s": nothing changes', (name) => {
    const t = new Alone('vendor');
    const call = t.gather();
    t.unchanged(() => t.orders(name));
    expect(t.code(call)).toBe('waits');
  });

  test('has the order: calls are answered, the session lives as long, and the same order again changes nothing', () => {
    const t = new Alone('vendor');
    const call = t.gather();
    t.orders();
    expect([t.code(call), t.record.state, t.record.expiresMs]).toEqual([
      'VENDOR_ORDER_OPEN',
      ReceiptState.ACCEPTED,
      t.nowMs + hourMs,
    ]);
    t.unchanged(() => {
      const again = t.gather();
      t.orders(reference, t.record.expiresMs - t.nowMs);
      expect([t.code(again), t.code(t.preview(1))]).toEqual(['VENDOR_ORDER_OPEN', 'INVALID_REQUEST']);
    });
  });

  test.each([false, true])(
    'signs: the session completes, also from its record (a restart: %s), and acknowledges every repetition',
    (isRestarted) => {
      const t = new Alone('vendor');
      t.gather();
      t.orders();
      if (isRestarted) t.restart();
      t.unchanged(() => {
        // In another's name.
        expect(t.settles(signed(t), orderAddress, 2)).toBe(false);
        expect(t.settles(signed(t), orderAddress.replace('1', '2'))).toBe(false);
      });
      expect([t.settles(signed(t)), t.code(t.gather())]).toEqual([true, 'SIGNATURE_COMPLETED']);
      t.unchanged(() => expect(t.settles(signed(t))).toBe(true));
    },
  );

  test('has not made the signature that its node says: the node is excluded, and no longer heard', () => {
    const t = new Alone('vendor');
    t.gather();
    t.orders();
    t.settles({ case: 'partial', value: wrongPartial(t.signature) });
    expect([t.record.ceremony.excluded, t.record.state]).toEqual([[1], ReceiptState.ACCEPTED]);
    t.unchanged(() => expect(t.settles(signed(t))).toBe(false));
  });

  test.each([
    ['VENDOR_REJECTED', 'VENDOR_REJECTED'],
    ['VENDOR_CANCELLED', 'VENDOR_CANCELLED'],
    ['VENDOR_UNAVAILABLE', 'VENDOR_UNAVAILABLE'],
    ['VENDOR_EXPIRED', 'SESSION_EXPIRED'],
  ] as const)(
    'decides %s: the session says %s, whether its call waited for the node or for the order',
    (decision, code) => {
      const late = new Alone('vendor');
      late.gather();
      late.orders();
      expect([late.settles(refused(Code[decision])), late.code(late.gather())]).toEqual([true, code]);
      const t = new Alone('vendor');
      const call = t.gather();
      t.says(refused(Code[decision]));
      expect([t.code(call), t.record.reasonCode]).toEqual([code, code]);
    },
  );

  test.each(['revoked', 'expired'])(
    'decides after the session was %s: its order is cancelled, and its decision acknowledged',
    (how) => {
      const t = new Alone('vendor');
      t.gather();
      t.orders();
      t.said = [];
      if (how === 'revoked') t.tell(t.address, { kind: 'revoke', clientsOnly: false }, 'closing/acme/x');
      else {
        t.aheadMs = hourMs;
        t.gather();
      }
      expect(t.said).toContainEqual({ to: orderAddress, kind: 'vendorCancel' });
      t.unchanged(() => expect(t.settles(signed(t))).toBe(true));
      expect(t.record.state).not.toBe(ReceiptState.BACKEND_COMPLETED);
    },
  );

  test('decides past the lifetime of the session: it expires, and acknowledges that', () => {
    const t = new Alone('vendor');
    t.gather();
    t.orders();
    t.aheadMs = hourMs;
    expect([t.settles(signed(t)), t.record.state]).toEqual([true, ReceiptState.EXPIRED]);
  });
});

test('of a key that is at no vendor, no order and no decision counts', () => {
  const t = new Alone('hsm');
  const call = t.gather();
  t.unchanged(() => {
    expect([t.settles(signed(t)), t.settles(refused(Code.VENDOR_EXPIRED))]).toEqual([false, false]);
    t.says(refused(Code.VENDOR_EXPIRED));
  });
  expect(t.record.state).toBe(ReceiptState.ACCEPTED);
  expect(['waits', 'NODES_UNAVAILABLE']).toContain(t.code(call));
});

test.each(['vendor', 'hsm'] as const)('a signature that does not verify completes no session (%s)', (holder) => {
  for (const change of [wrongPartial, (right: Uint8Array) => right.subarray(1)]) {
    const t = new Alone(holder);
    t.gather();
    t.says({ case: 'partial', value: change(t.signature) });
    expect([t.record.ceremony.excluded, t.record.state]).toEqual([[1], ReceiptState.ACCEPTED]);
  }
  const t = new Alone(holder);
  const call = t.gather();
  t.says(signed(t));
  expect(t.code(call)).toBe('SIGNATURE_COMPLETED');
});

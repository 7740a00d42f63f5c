/** A node signs nothing that no gateway ordered, whatever a coordinator asks for. */
import { describe, expect, it } from 'vitest';
import { groupOf } from '../../core/crypto/group.ts';
import { combineMockNonces } from '../../core/crypto/mock-ecdsa.ts';
import {
  type DealtNonce,
  PartialRefusalCode,
  type PartialRequest,
  Scheme,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { OrderWish } from '../support/orders.ts';
import { Ceremony, type Plain } from './ceremony.ts';
import { type FrameNames, only, rosterOf, TestNode } from './harness.ts';

const { ORDER_MISSING, ORDER_INVALID, ORDER_EXPIRED, WITNESS_MISSING, NONCE_UNKNOWN } = PartialRefusalCode;
const names = { tenant: 'acme', session: 'sig_1', attempt: 1 };
const coordinatorBoot = 'coordinator-1';
type Request = Partial<Plain<PartialRequest>>;

/** A node with two final keys, and a FROST request with a nonce that it would sign, were it ordered. */
function asked(key = 'key-1') {
  const roster = rosterOf(2);
  const nodes = roster.nodes.map(({ id }) => new TestNode(id, roster, { label: `orders ${id}` }));
  for (const session of ['key-1', 'key-2']) {
    const ceremony = { curve: 'secp256k1', threshold: 2, totalNodes: 2, nodes } as const;
    new Ceremony({ ...ceremony, names: { tenant: 'acme', session, attempt: 1 } }).run();
  }
  const [node, other] = nodes as [TestNode, TestNode];
  const dealt = nodes.map((one) => deal(one, Scheme.FROST_BIP340));
  const signers = [node, other].map(({ nodeId }, index) => {
    const { hiding, binding } = dealt[index]!;
    return { nodeId, hiding, binding };
  });
  const request: Request = {
    scheme: Scheme.FROST_BIP340,
    keySession: key,
    derivationPath: 'm/0/1',
    message: new Uint8Array(32).fill(9),
    signers: signers as PartialRequest['signers'],
    nonceNumber: dealt[0]!.number,
    nodeBoot: node.boot,
    coordinatorBoot,
  };
  return { node, other, request };
}

function deal(node: TestNode, scheme: Scheme): DealtNonce {
  const value = { scheme, count: 1, coordinatorBoot };
  const sent = node.signer({ tenant: '', session: '', attempt: 0 }, { case: 'dealNonces', value });
  return only(sent, 'noncesDealt').nonces[0]!;
}

/** undefined: it signed. */
function refusalOf(node: TestNode, value: Request, about: FrameNames = names): PartialRefusalCode | undefined {
  const { outcome } = only(node.signer(about, { case: 'partialRequest', value }), 'partialReply');
  return outcome.case === 'refusal' ? outcome.value.code : undefined;
}

describe('a node that is asked for a partial', () => {
  it('signs what a gateway ordered', () => {
    const { node, request } = asked();
    expect(refusalOf(node, { ...request, order: node.order(names, request) })).toBeUndefined();
  });

  it('refuses without an order, and burns the nonce that was named', () => {
    const { node, request } = asked();
    expect(refusalOf(node, request)).toBe(ORDER_MISSING);
    expect(refusalOf(node, { ...request, order: node.order(names, request) })).toBe(NONCE_UNKNOWN);
  });

  const substitutes: readonly (readonly [string, (request: Request) => readonly [Request, FrameNames]])[] = [
    ['message', (request) => [{ ...request, message: new Uint8Array(32).fill(8) }, names]],
    ['key', (request) => [{ ...request, keySession: 'key-2' }, names]],
    ['path', (request) => [{ ...request, derivationPath: 'm/0/2' }, names]],
    ['path, of the same child', (request) => [{ ...request, derivationPath: "m/44'/0/1" }, names]],
    ['session', (request) => [request, { ...names, session: 'sig_2' }]],
    ['tenant', (request) => [request, { ...names, tenant: 'other' }]],
    ['intent', (request) => [{ ...request, order: { ...request.order!, transactionIntentId: 'intent-2' } }, names]],
    ['space of intents', (request) => [{ ...request, order: { ...request.order!, walletService: true } }, names]],
    [
      'keystore',
      (request) => [{ ...request, order: { ...request.order!, keystoreType: KeystoreType.MPC_FROST } }, names],
    ],
    ['curve', (request) => [{ ...request, order: { ...request.order!, curve: 'secp256k1' } }, names]],
    ['expiry', (request) => [{ ...request, order: { ...request.order!, expiresEpochMs: 4_100_000_000_000n } }, names]],
    ['negative expiry', (request) => [{ ...request, order: { ...request.order!, expiresEpochMs: -1n } }, names]],
    [
      'keystore that is none',
      (request) => [{ ...request, order: { ...request.order!, keystoreType: -7 as KeystoreType } }, names],
    ],
    ['MAC', (request) => [{ ...request, order: { ...request.order!, mac: new Uint8Array(16) } }, names]],
    ['length of the MAC', (request) => [{ ...request, order: { ...request.order!, mac: new Uint8Array() } }, names]],
  ];
  it.each(substitutes)('refuses an order for another %s', (_, substitute) => {
    const { node, request } = asked();
    const ordered = { ...request, order: node.order(names, request) };
    expect(refusalOf(node, ...substitute(ordered))).toBe(ORDER_INVALID);
  });

  it('refuses an order for another node', () => {
    const { node, other, request } = asked();
    expect(refusalOf(node, { ...request, order: other.order(names, request) })).toBe(ORDER_INVALID);
  });

  it('refuses an order whose time is over, from its very millisecond on', () => {
    for (const [nowMs, expected] of [
      [999, undefined],
      [1_000, ORDER_EXPIRED],
      [2_000, ORDER_EXPIRED],
    ] as const) {
      const { node, request } = asked();
      node.nowMs = nowMs;
      const order = node.order(names, request, { expiresMs: 1_000 });
      expect(refusalOf(node, { ...request, order })).toBe(expected);
    }
  });

  it.each([
    ['MOCK_THRESHOLD', { keystoreType: KeystoreType.MOCK_THRESHOLD }, ORDER_INVALID],
    ['MPC_FROST', { keystoreType: KeystoreType.MPC_FROST }, undefined],
    ['ed25519', { curve: 'ed25519' }, ORDER_INVALID],
    ['secp256k1', { curve: 'secp256k1' }, undefined],
  ] as const)('signs BIP-340 for an order of %s or refuses', (_, wish, expected) => {
    const { node, request } = asked();
    expect(refusalOf(node, { ...request, order: node.order(names, request, wish) })).toBe(expected);
  });

  it('refuses mock ECDSA for an order of MPC_FROST: it would give the key away', () => {
    const { node, request } = asked();
    const group = groupOf('secp256k1');
    const { R, kInverse } = combineMockNonces([5n, 7n]);
    const mock: Request = {
      ...request,
      scheme: Scheme.MOCK_ECDSA,
      nonceNumber: 0n,
      signers: [],
      noncePoint: R,
      mockNonceInverse: group.encodeScalar(kInverse),
    };
    const order = node.order(names, mock, { keystoreType: KeystoreType.MPC_FROST });
    expect(refusalOf(node, { ...mock, order })).toBe(ORDER_INVALID);
  });

  const witnesses: readonly (readonly [string, OrderWish, boolean, PartialRefusalCode | undefined])[] = [
    ['the order of its witness', { needsWitness: true, witness: true }, true, undefined],
    ['no order of a witness', { needsWitness: true }, true, WITNESS_MISSING],
    ['the order of another session’s witness', { needsWitness: true, witness: true }, false, WITNESS_MISSING],
  ];
  it.each(witnesses)('that needs a witness, with %s', (_, wish, own, expected) => {
    const { node, request } = asked();
    const order = node.order(names, request, wish);
    const { witnessMac } = node.order({ ...names, session: own ? names.session : 'sig_2' }, request, wish);
    expect(refusalOf(node, { ...request, order: { ...order, witnessMac } })).toBe(expected);
  });

  it('does not sign an order whose need of a witness was taken away', () => {
    const { node, request } = asked();
    const order = node.order(names, request, { needsWitness: true });
    expect(refusalOf(node, { ...request, order: { ...order, needsWitness: false } })).toBe(ORDER_INVALID);
  });
});

/** Requests for a partial signature that a node must refuse, each with one fault and right in all else, and the code for it. */
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { changed } from '../support/trial.ts';
import type { Signer, Wanted } from './signer.ts';

type Wrong = readonly [what: string, Wanted, code: string];

/** Of a right request: by what they contradict, themselves, their order, or their key. */
export function wrongPartials(signer: Signer, right: Wanted): readonly Wrong[][] {
  return [ofRequest(signer, right), ofOrder(signer, right), ofKey(signer, right)];
}

function ofRequest(signer: Signer, right: Wanted): Wrong[] {
  const isEd = signer.curve === 'ed25519';
  const bad = (what: string, changes: Partial<Wanted>): Wrong => [what, { ...right, ...changes }, 'REQUEST_INVALID'];
  const found = [
    bad('no scheme', { scheme: Scheme.UNSPECIFIED }),
    bad('an unknown scheme', { scheme: 99 as Scheme }),
    bad('no key', { keySession: '' }),
    bad('a malformed key', { keySession: 'a/b' }),
    bad('no message', { message: new Uint8Array(0) }),
    bad('a long message', { message: new Uint8Array(isEd ? 65_537 : 33) }),
    bad('a long path', { derivationPath: `m${'/1234'.repeat(205)}` }),
  ];
  if (!isEd) found.push(bad('a short message', { message: right.message.slice(1) }));
  if (!signer.isDealt) found.push(bad('a nonce of a scheme without nonces', { nonceNumber: 1n }));
  if (signer.scheme === Scheme.MOCK_ECDSA) {
    const { noncePoint } = right;
    found.push(
      bad('a short R', { noncePoint: noncePoint.slice(1) }),
      bad('an R that is not compressed', { noncePoint: noncePoint.with(0, 4) }),
      bad('an R without r', { noncePoint: new Uint8Array(noncePoint.length).fill(2, 0, 1) }),
      bad('no inverse of the nonce', { mockNonceInverse: new Uint8Array(32) }),
    );
  }
  if (!signer.isFrost) return found;
  const { signers } = right;
  const own = signers.filter(({ nodeId }) => nodeId === signer.id);
  const others = signers.filter(({ nodeId }) => nodeId !== signer.id);
  const at = (nodeId: number) => ({ ...others[0]!, nodeId });
  return [
    ...found,
    // With the parts of mock ECDSA, where a nonce may be the coordinator's alone.
    bad('no nonce', {
      nonceNumber: 0n,
      noncePoint: new Uint8Array(33).fill(2),
      mockNonceInverse: new Uint8Array(32).fill(1),
    }),
    bad('other commitments of its own', {
      signers: signers.map((one) => (one.nodeId === signer.id ? { ...one, hiding: one.binding } : one)),
    }),
    bad('no signers', { signers: [] }),
    bad('without the node itself', { signers: others }),
    bad('a signer twice', { signers: [...signers, signers.at(-1)!] }),
    bad('signers in another order', { signers: [...signers].reverse() }),
    bad('a signer zero', { signers: [at(0), ...own] }),
    bad('a signer above every node', { signers: [...own, at(101)] }),
    bad('fewer signers than the threshold', { signers: own }),
    bad('a signer without a share', { signers: [...signers, at(100)] }),
  ];
}

function ofOrder(signer: Signer, right: Wanted): Wrong[] {
  const order = right.order!;
  const { nowMs } = signer.copy;
  const seal = signer.macOf(right, order);
  const invalid = (what: string, changes: Partial<Wanted>): Wrong => [what, { ...right, ...changes }, 'ORDER_INVALID'];
  /** An order of these terms that a gateway gave. */
  const ordered = (what: string, changes: object, code: string): Wrong => [
    what,
    { ...right, order: { ...order, ...changes } },
    code,
  ];
  /** The order is for other terms. */
  const of = (what: string, changes: object) => invalid(what, { order: { ...order, ...changes, mac: seal } });
  const otherCurve = signer.curve === 'ed25519' ? 'secp256k1' : 'ed25519';
  const otherType = signer.scheme === Scheme.OWNER_ECDSA ? KeystoreType.HSM_PKCS11 : KeystoreType.MULTISIG_EVM_WALLET;
  const needs = { needsWitness: true };
  return [
    ['no order', { ...right, order: undefined }, 'ORDER_MISSING'],
    invalid('no MAC', { order: { ...order, mac: new Uint8Array(0) } }),
    invalid('another MAC', { order: { ...order, mac: changed(seal) } }),
    of('another intent', { transactionIntentId: `${order.transactionIntentId}x` }),
    of('another expiry', { expiresMs: order.expiresMs + 1 }),
    of('another wish of a curve', { curve: signer.curve }),
    of('another wish of a keystore', { keystoreType: KeystoreType.MOCK_THRESHOLD }),
    of('another service', { walletService: true }),
    of('a witness too much', { needsWitness: true }),
    invalid('the order of another message', { message: changed(right.message), order: { ...order, mac: seal } }),
    invalid('the order of another session', { session: 'sig_other', order: { ...order, mac: seal } }),
    invalid('the order of another tenant', { tenant: 'tn_other', order: { ...order, mac: seal } }),
    invalid('the order of another key', { keySession: `${right.keySession}x`, order: { ...order, mac: seal } }),
    invalid('the order of another path', {
      derivationPath: `${right.derivationPath || 'm'}/7`,
      order: { ...order, mac: seal },
    }),
    ordered('an order that ends now', { expiresMs: nowMs }, 'ORDER_EXPIRED'),
    ordered('an order that has ended', { expiresMs: nowMs - 1 }, 'ORDER_EXPIRED'),
    ordered('an order for the other curve', { curve: otherCurve }, 'ORDER_INVALID'),
    ordered('an order for another keystore', { keystoreType: otherType }, 'ORDER_INVALID'),
    ordered('no witness', needs, 'WITNESS_MISSING'),
    ordered(
      'the witness of another session',
      { ...needs, witnessMac: signer.witnessFor('sig_other') },
      'WITNESS_MISSING',
    ),
    ordered(
      'the witness of another tenant',
      { ...needs, witnessMac: signer.witnessFor(right.session, 'tn_other') },
      'WITNESS_MISSING',
    ),
  ];
}

/** The order leaves the scheme and the curve to the key. */
function ofKey(signer: Signer, right: Wanted): Wrong[] {
  const bad = (what: string, changes: Partial<Wanted>, code = 'REQUEST_INVALID'): Wrong => [
    what,
    { ...right, ...changes },
    code,
  ];
  const isEd = signer.curve === 'ed25519';
  const without = { nonceNumber: 0n, nodeBoot: '', coordinatorBoot: '', signers: [] };
  const found = [
    bad('a scheme of the other curve', {
      ...without,
      scheme: isEd ? Scheme.OWNER_ECDSA : Scheme.HSM_ED25519,
      message: new Uint8Array(32).fill(7),
    }),
    bad('a path that is none', { derivationPath: 'x/1' }),
    bad('a path with a hardened end', { derivationPath: "m/1/2'" }),
    bad('no such key', { keySession: `${right.keySession}-none` }, 'KEY_UNKNOWN'),
  ];
  if (!signer.parties.isShared) found.push(bad('a path of a key that has no children', { derivationPath: 'm/1' }));
  const others = [
    ...(isEd
      ? [Scheme.HSM_ED25519, Scheme.VENDOR_ED25519]
      : [Scheme.OWNER_ECDSA, Scheme.HSM_ECDSA, Scheme.VENDOR_ECDSA]),
  ].filter((scheme) => scheme !== signer.scheme);
  const path = { derivationPath: '' };
  for (const scheme of others)
    found.push(bad('another scheme than the key’s', { ...without, ...path, scheme }, 'KEYSTORE_MISMATCH'));
  if (isEd || !signer.parties.isShared || !signer.isBound) return found;
  const none = new Uint8Array(0);
  const signers = signer.parties.ids.map((nodeId) => ({ nodeId, hiding: none, binding: none }));
  const other = signer.isFrost ? Scheme.MOCK_ECDSA : Scheme.FROST_BIP340;
  found.push(bad('the other scheme of shared keys', { scheme: other, signers }, 'KEYSTORE_MISMATCH'));
  return found;
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deriveTweak, tweakPoint } from '../../core/crypto/derivation.ts';
import { frostAggregate, verifyFrostPartial, verifySchnorr } from '../../core/crypto/frost/frost.ts';
import { type Curve, groupOf } from '../../core/crypto/group.ts';
import type { KeyPackage } from '../../core/crypto/key-package.ts';
import {
  aggregateMockEcdsa,
  combineMockNonces,
  verifyEcdsa,
  verifyMockEcdsaPartial,
} from '../../core/crypto/mock-ecdsa.ts';
import { decodeKeyRecord } from '../../nodes/records/key-record.ts';
import { keyRecordKey } from '../../nodes/records/records.ts';
import { noncesDealtMax, poolNoncesMax } from '../../nodes/signer/nonce-secrets.ts';
import { type FrostScheme, schemes } from '../../nodes/signer/schemes.ts';
import { keysMax } from '../../nodes/signer/signing-keys.ts';
import { waitingBytesMax, waitingRequestsMax } from '../../nodes/signer/waiting-requests.ts';
import {
  type DealtNonce,
  PartialRefusalCode,
  type PartialReply,
  type PartialRequest,
  Scheme,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { OrderWish } from '../support/orders.ts';
import { runs } from '../support/thorough.ts';
import { Ceremony, type Plain } from './ceremony.ts';
import { only, rosterOf, type Sent, TestNode } from './harness.ts';

const names = { tenant: 'acme', session: 'sig-1', attempt: 1 };
const coordinatorBoot = 'coordinator-1';
const { NONCE_UNKNOWN, KEY_UNKNOWN, REQUEST_INVALID, KEYSTORE_MISMATCH } = PartialRefusalCode;
type Request = Partial<Plain<PartialRequest>>;

/** Nodes that hold a final key "key-1" of 2-of-3. Made once a curve; tests take copies of the records. */
const made = new Map<Curve, { packages: KeyPackage[]; records: ReadonlyMap<string, Uint8Array>[] }>();
function nodesWithKey(curve: Curve): { nodes: TestNode[]; packages: KeyPackage[] } {
  let key = made.get(curve);
  if (key === undefined) {
    const ceremony = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    ceremony.run();
    key = { packages: ceremony.keyPackages(), records: ceremony.nodes.map(({ records }) => records) };
    made.set(curve, key);
  }
  const nodes = rosterOf(3).nodes.map(({ id }) => new TestNode(id, rosterOf(3), { label: `signer ${curve} ${id}` }));
  for (const [index, node] of nodes.entries()) {
    for (const [name, record] of key.records[index]!) node.records.set(name, record);
  }
  return { nodes, packages: key.packages };
}

function deal(node: TestNode, scheme: Scheme, count = 1, boot = coordinatorBoot): DealtNonce[] {
  const value = { scheme, count, coordinatorBoot: boot };
  return only(node.signer({ ...names, tenant: '', session: '' }, { case: 'dealNonces', value }), 'noncesDealt').nonces;
}

/** With a gateway's order for exactly this, unless the request has another. */
function ask(node: TestNode, request: Request, wish: OrderWish = {}): Sent[] {
  const asked = { keySession: 'key-1', nodeBoot: node.boot, coordinatorBoot, attemptTag: 77n, ...request };
  const value = { order: node.order(names, asked, wish), ...asked };
  return node.signer(names, { case: 'partialRequest', value });
}

function partialOf(sent: readonly Sent[]): Uint8Array {
  const { outcome } = only(sent, 'partialReply');
  if (outcome.case !== 'partial') throw new Error(`no partial: ${outcome.case}`);
  return outcome.value;
}

function refusalOf(sent: readonly Sent[]): PartialRefusalCode | undefined {
  const { outcome } = only(sent, 'partialReply');
  return outcome.case === 'refusal' ? outcome.value.code : undefined;
}

/** A mock round of nodes 1 and 2's nonces: what the coordinator computes. */
function mockRound(nodes: readonly TestNode[]) {
  const dealt = nodes.map((node) => deal(node, Scheme.MOCK_ECDSA)[0]!);
  const group = groupOf('secp256k1');
  const nonce = combineMockNonces(dealt.map(({ mockNonce }) => group.decodeScalar(mockNonce)));
  const request: Request = {
    scheme: Scheme.MOCK_ECDSA,
    message: new Uint8Array(32).fill(9),
    noncePoint: nonce.R,
    mockNonceInverse: group.encodeScalar(nonce.kInverse),
  };
  return { dealt, nonce, request };
}

function frostRound(nodes: readonly TestNode[], scheme: FrostScheme) {
  const dealt = nodes.map((node) => deal(node, scheme)[0]!);
  const signers = nodes.map(({ nodeId }, index) => {
    const { hiding, binding } = dealt[index]!;
    return { nodeId, hiding, binding };
  });
  const request: Request = {
    scheme,
    message: new Uint8Array(32).fill(9),
    signers: signers as PartialRequest['signers'],
  };
  return { dealt, signers, request };
}

describe('mock ECDSA', () => {
  it.each([[[]], [[0, 5]]])('signs under the key at path %j, dealers of nonces or not', (path) => {
    const derivationPath = ['m', ...path].join('/');
    const { nodes, packages } = nodesWithKey('secp256k1');
    const { dealt, nonce, request } = mockRound(nodes.slice(0, 2));
    const derived = deriveTweak({ ...packages[0]!, path });
    const digest = request.message!;
    const partials = [1, 3].map((nodeId) => {
      const nonceNumber = nodeId === 3 ? 0n : dealt[0]!.number;
      const sent = ask(nodes[nodeId - 1]!, { ...request, derivationPath, nonceNumber });
      expect(only(sent, 'partialReply')).toMatchObject({ nodeId, attemptTag: 77n });
      const partial = groupOf('secp256k1').decodeScalar(partialOf(sent));
      const share = packages[0]!.verificationShares[nodeId - 1]!;
      const verificationShare = tweakPoint('secp256k1', share, derived.tweak);
      expect(verifyMockEcdsaPartial({ ...nonce, digest, verificationShare, partial })).toBe(true);
      return { nodeId, partial };
    });
    const { signature } = aggregateMockEcdsa({ ...nonce, partials });
    expect(verifyEcdsa({ signature, digest, publicKey: derived.publicKey })).toBe(true);
  });

  it('counts its own nonce once', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const { dealt, request } = mockRound(nodes.slice(0, 2));
    const named = { ...request, nonceNumber: dealt[0]!.number };
    partialOf(ask(nodes[0]!, named));
    expect(refusalOf(ask(nodes[0]!, named))).toBe(NONCE_UNKNOWN);
    partialOf(ask(nodes[0]!, { ...request, nonceNumber: 0n }));
  });

  it('refuses a malformed R, inverse or digest', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const { request } = mockRound(nodes.slice(0, 2));
    const order = new Uint8Array(32).fill(255);
    for (const wrong of [
      { noncePoint: new Uint8Array(33) },
      { noncePoint: new Uint8Array(0) },
      { mockNonceInverse: new Uint8Array(32) },
      { mockNonceInverse: order },
      { mockNonceInverse: new Uint8Array(31).fill(1) },
      { message: new Uint8Array(31) },
    ]) {
      expect(refusalOf(ask(nodes[0]!, { ...request, ...wrong }))).toBe(REQUEST_INVALID);
    }
  });
});

describe.each([Scheme.FROST_ED25519, Scheme.FROST_BIP340] as const)('FROST, scheme %i', (scheme) => {
  const { curve, suite } = schemes[scheme];

  it.each([[[]], [[1, 2, 3]]])('signs under the key at path %j', (path) => {
    const derivationPath = ["m/44'", ...path].join('/');
    const { nodes, packages } = nodesWithKey(curve);
    const signing = [nodes[0]!, nodes[2]!];
    const { dealt, signers, request } = frostRound(signing, scheme);
    const derived = deriveTweak({ ...packages[0]!, path });
    const message = request.message!;
    const round = { suite, groupPublicKey: derived.publicKey, message, commitments: signers };
    const partials = signing.map((node, index) => {
      const nonceNumber = dealt[index]!.number;
      const bytes = partialOf(ask(node, { ...request, derivationPath, nonceNumber }));
      const partial = groupOf(curve).decodeScalar(bytes);
      const share = packages[0]!.verificationShares[node.nodeId - 1]!;
      const verificationShare = tweakPoint(curve, share, derived.tweak);
      expect(verifyFrostPartial({ ...round, nodeId: node.nodeId, verificationShare, partial })).toBe(true);
      return { nodeId: node.nodeId, partial };
    });
    const signature = frostAggregate({ ...round, partials });
    expect(verifySchnorr(suite, signature, message, derived.publicKey)).toBe(true);
  });

  it('refuses a request that contradicts itself or the key, and burns the nonce it names', () => {
    const { nodes } = nodesWithKey(curve);
    const [node, other] = nodes as [TestNode, TestNode, TestNode];
    const contradictions: ((round: ReturnType<typeof frostRound>) => Request)[] = [
      ({ signers }) => ({ signers: signers.slice(0, 1) as PartialRequest['signers'] }),
      ({ signers }) => ({ signers: [...signers].reverse() as PartialRequest['signers'] }),
      ({ signers }) => ({ signers: [signers[0]!, signers[0]!, signers[1]!] as PartialRequest['signers'] }),
      ({ signers }) => ({ signers: signers.slice(1) as PartialRequest['signers'] }),
      ({ signers }) => ({ signers: [{ ...signers[0]!, nodeId: 0 }, ...signers] as PartialRequest['signers'] }),
      ({ signers }) => ({ signers: [...signers, { ...signers[1]!, nodeId: 4 }] as PartialRequest['signers'] }),
      ({ signers }) => ({
        signers: [{ ...signers[0]!, hiding: signers[0]!.binding }, signers[1]!] as PartialRequest['signers'],
      }),
      ({ signers }) => ({
        signers: [signers[0]!, { ...signers[1]!, hiding: new Uint8Array(33) }] as PartialRequest['signers'],
      }),
      () => ({ message: new Uint8Array(0) }),
      () => ({ message: new Uint8Array(65_537) }),
      () => ({ derivationPath: 'm/2147483648' }),
      () => ({ derivationPath: `m${'/0'.repeat(256)}` }),
      () => ({ keySession: 'a/b' }),
      () => ({ keySession: '' }),
    ];
    for (const [index, contradict] of contradictions.entries()) {
      const round = frostRound([node, other], scheme);
      const sound = { ...round.request, nonceNumber: round.dealt[0]!.number };
      expect(refusalOf(ask(node, { ...sound, ...contradict(round) })), `case ${index}`).toBe(REQUEST_INVALID);
      expect(refusalOf(ask(node, sound)), `case ${index}`).toBe(NONCE_UNKNOWN);
    }
  });

  it('refuses a request without a nonce, of another boot or coordinator, or of a dealt but foreign scheme', () => {
    const { nodes } = nodesWithKey(curve);
    const [node, other] = nodes as [TestNode, TestNode, TestNode];
    const { request, dealt } = frostRound([node, other], scheme);
    const sound = { ...request, nonceNumber: dealt[0]!.number };
    expect(refusalOf(ask(node, { ...sound, nonceNumber: 0n }))).toBe(REQUEST_INVALID);
    expect(refusalOf(ask(node, { ...sound, nonceNumber: 1_000_000n }))).toBe(NONCE_UNKNOWN);
    expect(refusalOf(ask(node, { ...sound, nodeBoot: 'another' }))).toBe(NONCE_UNKNOWN);
    expect(refusalOf(ask(node, { ...sound, coordinatorBoot: 'another' }))).toBe(NONCE_UNKNOWN);
    partialOf(ask(node, sound));
  });

  it('refuses a key of the other curve', () => {
    const otherCurve = curve === 'ed25519' ? 'secp256k1' : 'ed25519';
    const { nodes } = nodesWithKey(otherCurve);
    const { request, dealt } = frostRound(nodes.slice(0, 2), scheme);
    expect(refusalOf(ask(nodes[0]!, { ...request, nonceNumber: dealt[0]!.number }))).toBe(REQUEST_INVALID);
  });

  it('holds no nonce any more after a bug has restarted the actor, and numbers on', () => {
    const { nodes } = nodesWithKey(curve);
    const [node, other] = nodes as [TestNode, TestNode, TestNode];
    const { request, dealt } = frostRound([node, other], scheme);
    const sound = { ...request, nonceNumber: dealt[0]!.number };
    // A record that is corrupt in a way only a bug could bring about makes the actor throw on its way to the answer.
    const recordKey = keyRecordKey('acme', 'key-1');
    const record = node.records.get(recordKey)!;
    const share = 'ff'.repeat(32);
    const text = new TextDecoder().decode(record).replace(/"signing_share":"[0-9a-f]+"/, `"signing_share":"${share}"`);
    node.records.set(recordKey, new TextEncoder().encode(text));
    expect(() => ask(node, sound)).toThrow();
    node.records.set(recordKey, record);
    node.restartActor(`node/${node.nodeId}`);
    expect(refusalOf(ask(node, sound))).toBe(NONCE_UNKNOWN);
    // Numbers go on after the restart of the actor, since the boot is the same.
    expect(deal(node, scheme)[0]!.number).toBeGreaterThan(dealt[0]!.number);
  });
});

describe('a key has one scheme', () => {
  const recordKey = keyRecordKey('acme', 'key-1');
  const schemeIn = (node: TestNode) => decodeKeyRecord(node.records.get(recordKey)!).scheme;

  it('its first partial binds it, durably before the partial leaves; another scheme finds no share', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const [node] = nodes as [TestNode];
    const { request, dealt } = frostRound(nodes.slice(0, 2), Scheme.FROST_BIP340);
    expect(schemeIn(node)).toBe('');
    partialOf(ask(node, { ...request, nonceNumber: dealt[0]!.number }));
    expect(schemeIn(node)).toBe('frost_bip340');
    // What a coordinator asks for that wants the share: a mock partial under an inverse of its own choice.
    const mock = mockRound(nodes.slice(0, 2));
    const named = { ...mock.request, nonceNumber: mock.dealt[0]!.number };
    for (const request of [named, mock.request]) expect(refusalOf(ask(node, request))).toBe(KEYSTORE_MISMATCH);
    // The refusal burnt the nonce that was named.
    expect(deal(node, Scheme.MOCK_ECDSA)).toHaveLength(1);
    node.crash();
    expect(refusalOf(ask(node, mock.request))).toBe(KEYSTORE_MISMATCH);
    const again = frostRound(nodes.slice(0, 2), Scheme.FROST_BIP340);
    partialOf(ask(node, { ...again.request, nonceNumber: again.dealt[0]!.number }));
  });

  it('is bound at its making when the maker says so, and on ed25519 always', () => {
    const scheme = Scheme.FROST_BIP340;
    const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 2, scheme });
    ceremony.run();
    for (const node of ceremony.nodes) {
      expect(schemeIn(node)).toBe('frost_bip340');
      expect(refusalOf(ask(node, mockRound(ceremony.nodes).request))).toBe(KEYSTORE_MISMATCH);
    }
    expect(schemeIn(nodesWithKey('ed25519').nodes[0]!)).toBe('frost_ed25519');
    const other = new Ceremony({ curve: 'ed25519', threshold: 2, totalNodes: 2, scheme });
    const value = { curve: 'ed25519', threshold: 2, totalNodes: 2, scheme };
    expect(only(other.node(1).dkg(other.names, { case: 'dkgOpen', value }), 'dkgRefused').code).toBe('REQUEST_INVALID');
  });

  it('nodes that are told different schemes make no key', () => {
    const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 2 });
    ceremony.scheme = Scheme.MOCK_ECDSA;
    const mock = ceremony.open(1);
    ceremony.scheme = Scheme.FROST_BIP340;
    const frost = ceremony.open(2);
    const refused = ceremony.node(1).dkg(ceremony.names, { case: 'dkgSeal', value: { recipients: [frost] } });
    expect(only(refused, 'dkgRefused').code).toBe('OPENING_INVALID');
    expect(
      ceremony.verify(2, [mock], [{ dealer: 1, recipient: 2, box: new Uint8Array(64), signature: new Uint8Array(64) }])
        .verdicts[0]!.code,
    ).toBe('OPENING_INVALID');
    const changed = ceremony.node(1).dkg(ceremony.names, {
      case: 'dkgOpen',
      value: { curve: 'secp256k1', threshold: 2, totalNodes: 2, scheme: Scheme.FROST_BIP340 },
    });
    expect(only(changed, 'dkgRefused').code).toBe('PARAMETERS_CHANGED');
  });

  it('of two first requests that come at once one scheme wins, and one write serves all that wait', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const [node] = nodes as [TestNode];
    const { request: mock } = mockRound(nodes.slice(0, 2));
    const frost = frostRound(nodes.slice(0, 2), Scheme.FROST_BIP340);
    const before = node.writes;
    node.holdOwn = true;
    expect(ask(node, { ...mock, attemptTag: 1n })).toEqual([]);
    expect(ask(node, { ...mock, attemptTag: 2n })).toEqual([]);
    expect(refusalOf(ask(node, { ...frost.request, nonceNumber: frost.dealt[0]!.number }))).toBe(KEYSTORE_MISMATCH);
    expect(schemeIn(node)).toBe('');
    const released = node.releaseOwn().map(({ message }) => message.body.value as PartialReply);
    expect(released.map(({ attemptTag, outcome }) => [attemptTag, outcome.case])).toEqual([
      [1n, 'partial'],
      [2n, 'partial'],
    ]);
    expect(node.writes - before).toBe(1);
    partialOf(ask(node, mock));
    expect(node.writes - before).toBe(1);
  });

  it.each(['lost', 'applied'] as const)('a write that fails releases nothing, and its nonce is spent: %s', (fate) => {
    const { nodes } = nodesWithKey('secp256k1');
    const [node] = nodes as [TestNode];
    const { request, dealt } = frostRound(nodes.slice(0, 2), Scheme.FROST_BIP340);
    const named = { ...request, nonceNumber: dealt[0]!.number };
    node.writesFail = fate;
    expect(ask(node, named)).toEqual([]);
    expect(node.events.map(({ event }) => event.type)).toContain('signer.write.failed');
    node.writesFail = 'no';
    expect(refusalOf(ask(node, named))).toBe(NONCE_UNKNOWN);
    const mock = ask(node, mockRound(nodes.slice(0, 2)).request);
    // Whether it took hold is what the store says.
    if (fate === 'applied') expect(refusalOf(mock)).toBe(KEYSTORE_MISMATCH);
    else partialOf(mock);
  });

  it('a crash between the binding and the answer leaves the key bound, and nothing signed', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const [node] = nodes as [TestNode];
    const { request } = mockRound(nodes.slice(0, 2));
    node.writesFail = 'applied';
    expect(ask(node, request)).toEqual([]);
    node.crash();
    node.writesFail = 'no';
    expect(schemeIn(node)).toBe('mock_ecdsa');
    const frost = frostRound(nodes.slice(0, 2), Scheme.FROST_BIP340);
    expect(refusalOf(ask(node, { ...frost.request, nonceNumber: frost.dealt[0]!.number }))).toBe(KEYSTORE_MISMATCH);
    partialOf(ask(node, mockRound(nodes.slice(0, 2)).request));
  });

  it('a record that was read before the binding was written is read again', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const [node] = nodes as [TestNode];
    const old = node.records.get(recordKey)!;
    const { request } = mockRound(nodes.slice(0, 2));
    node.holdOwn = true;
    expect(ask(node, request)).toEqual([]);
    // So many keys come by that this one leaves memory, and is loaded while its binding is written.
    for (let other = 0; other < keysMax; other += 1) {
      node.records.set(keyRecordKey('acme', `other-${other}`), old);
      expect(refusalOf(ask(node, { ...request, keySession: `other-${other}`, noncePoint: new Uint8Array(33) }))).toBe(
        REQUEST_INVALID,
      );
    }
    const frost = frostRound(nodes.slice(0, 2), Scheme.FROST_BIP340);
    const named = { ...frost.request, nonceNumber: frost.dealt[0]!.number };
    node.holdLoads = true;
    expect(ask(node, named)).toEqual([]);
    partialOf(node.releaseOwn());
    expect(refusalOf(node.releaseLoads([[recordKey, old]]))).toBe(KEYSTORE_MISMATCH);
  });

  it('an older record without a scheme is that of a key that has not signed', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const [node] = nodes as [TestNode];
    const { scheme, ...json } = JSON.parse(Buffer.from(node.records.get(recordKey)!).toString());
    expect(scheme).toBe('');
    node.records.set(recordKey, Buffer.from(JSON.stringify(json)));
    expect(schemeIn(node)).toBe('');
    partialOf(ask(node, mockRound(nodes.slice(0, 2)).request));
    expect(schemeIn(node)).toBe('mock_ecdsa');
  });
});

describe('keys', () => {
  it('are unknown while they are not final, or belong to another tenant', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const { request } = mockRound(nodes.slice(0, 2));
    expect(refusalOf(ask(nodes[0]!, { ...request, keySession: 'key-2' }))).toBe(KEY_UNKNOWN);
    const elsewhere = { ...names, tenant: 'other' };
    const key = { ...request, keySession: 'key-1' };
    const value = { ...key, order: nodes[0]!.order(elsewhere, key) };
    expect(refusalOf(nodes[0]!.signer(elsewhere, { case: 'partialRequest', value }))).toBe(KEY_UNKNOWN);
    const slashed = { ...names, tenant: 'acme/key-1' };
    expect(refusalOf(nodes[0]!.signer(slashed, { case: 'partialRequest', value }))).toBe(REQUEST_INVALID);
  });

  it('are loaded once for all requests that wait, each answered with its own trace', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const [node] = nodes as [TestNode];
    const { request } = mockRound(nodes.slice(0, 2));
    node.holdLoads = true;
    expect(ask(node, { ...request, attemptTag: 1n })).toEqual([]);
    expect(ask(node, { ...request, attemptTag: 2n })).toEqual([]);
    const answers = node.releaseLoads().map(({ message }) => (message.body.value as PartialReply).attemptTag);
    expect(answers).toEqual([1n, 2n]);
    expect(ask(node, request)).toHaveLength(1);
  });

  it('that cannot be read make the node silent, and the next request tries again', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const { request } = mockRound(nodes.slice(0, 2));
    nodes[0]!.loadsFail = true;
    expect(ask(nodes[0]!, request)).toEqual([]);
    nodes[0]!.loadsFail = false;
    partialOf(ask(nodes[0]!, request));
  });

  it('make no more requests wait than the limit', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const { request } = mockRound(nodes.slice(0, 2));
    nodes[0]!.holdLoads = true;
    for (let i = 0; i < waitingRequestsMax + 5; i++) ask(nodes[0]!, request);
    expect(nodes[0]!.releaseLoads()).toHaveLength(waitingRequestsMax);
    partialOf(ask(nodes[0]!, request));
  });

  it('make no more bytes wait than the limit', () => {
    const { nodes } = nodesWithKey('ed25519');
    const { request } = frostRound(nodes.slice(0, 2), Scheme.FROST_ED25519);
    nodes[0]!.holdLoads = true;
    const long = { ...request, nonceNumber: 1n, message: new Uint8Array(65_536) };
    const fit = waitingBytesMax / long.message.length;
    for (let i = 0; i < fit + 5; i++) ask(nodes[0]!, long);
    expect(nodes[0]!.releaseLoads()).toHaveLength(fit);
  });
});

describe('nonces', () => {
  it('come in bounded batches with rising numbers, over all schemes', () => {
    const node = new TestNode(1, rosterOf(3));
    const numbers = [Scheme.MOCK_ECDSA, Scheme.FROST_BIP340, Scheme.MOCK_ECDSA].flatMap((scheme) =>
      deal(node, scheme, 3).map(({ number }) => number),
    );
    expect(numbers).toEqual([1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n]);
    expect(deal(node, Scheme.MOCK_ECDSA, 5_000)).toHaveLength(noncesDealtMax);
    expect(deal(node, Scheme.UNSPECIFIED, 5)).toEqual([]);
    expect(deal(node, Scheme.MOCK_ECDSA, 5, '')).toEqual([]);
  });

  it('of an earlier boot of the coordinator are void', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const { request, dealt } = mockRound(nodes.slice(0, 2));
    deal(nodes[0]!, Scheme.FROST_BIP340, 1, 'coordinator-2');
    const old = { ...request, nonceNumber: dealt[0]!.number };
    expect(refusalOf(ask(nodes[0]!, old))).toBe(NONCE_UNKNOWN);
    expect(refusalOf(ask(nodes[0]!, { ...old, coordinatorBoot: 'coordinator-2' }))).toBe(NONCE_UNKNOWN);
  });

  it('beyond the pool push the oldest out', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const { request, dealt } = mockRound(nodes.slice(0, 2));
    for (let left = poolNoncesMax; left > 0; left -= noncesDealtMax) deal(nodes[0]!, Scheme.MOCK_ECDSA, noncesDealtMax);
    expect(refusalOf(ask(nodes[0]!, { ...request, nonceNumber: dealt[0]!.number }))).toBe(NONCE_UNKNOWN);
  });

  it('are not in any record, event or answer', () => {
    const { nodes } = nodesWithKey('ed25519');
    const { request, dealt } = frostRound(nodes.slice(0, 2), Scheme.FROST_ED25519);
    const before = [...nodes[0]!.records.keys()];
    partialOf(ask(nodes[0]!, { ...request, nonceNumber: dealt[0]!.number }));
    // What was signed for the intent is remembered, by digests alone.
    const added = [...nodes[0]!.records].filter(([name]) => !before.includes(name));
    expect(added.map(([name]) => name)).toEqual([expect.stringMatching(/^intent\/acme\/[0-9a-f]{4}$/)]);
    const kept = JSON.parse(Buffer.from(added[0]![1]).toString()) as { intents: unknown[] };
    expect(kept.intents).toEqual([
      [expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{64}$/), expect.any(Number)],
    ]);
    expect(dealt[0]!.mockNonce).toHaveLength(0);
    expect(JSON.stringify(nodes[0]!.events)).not.toMatch(/[0-9a-f]{32}/);
  });

  it('sign at most once, whatever is repeated, delayed, or restarted', () => {
    const { nodes } = nodesWithKey('secp256k1');
    const template = nodes[0]!;
    const action = fc.oneof(
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('deal' as const), scheme: schemeArbitrary, boot: fc.nat(1) }),
      },
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant('ask' as const),
          pick: fc.nat(),
          message: fc.nat(2),
          fault: fc.constantFrom('none', 'none', 'none', 'signers', 'path', 'key'),
        }),
      },
      { weight: 1, arbitrary: fc.constantFrom({ kind: 'crash' as const }, { kind: 'restart' as const }) },
      { weight: 1, arbitrary: fc.constantFrom({ kind: 'hold' as const }, { kind: 'release' as const }) },
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
        const node = new TestNode(1, rosterOf(3), { label: 'interleavings' });
        for (const [name, record] of template.records) node.records.set(name, record);
        const dealt: { nonce: DealtNonce; scheme: Scheme; nodeBoot: string; boot: string }[] = [];
        const signedWith = new Map<string, number>();
        let tag = 0n;
        const named = new Map<bigint, string>();
        const count = (sent: readonly Sent[]) => {
          for (const { message } of sent) {
            if (message.body.case !== 'partialReply' || message.body.value.outcome.case !== 'partial') continue;
            const id = named.get(message.body.value.attemptTag)!;
            signedWith.set(id, (signedWith.get(id) ?? 0) + 1);
          }
        };
        for (const step of actions) {
          switch (step.kind) {
            case 'deal':
              for (const nonce of deal(node, step.scheme, 2, `coordinator-${step.boot}`)) {
                dealt.push({ nonce, scheme: step.scheme, nodeBoot: node.boot, boot: `coordinator-${step.boot}` });
              }
              break;
            case 'ask': {
              const one = dealt[step.pick % Math.max(1, dealt.length)];
              if (one === undefined) break;
              tag += 1n;
              named.set(tag, `${one.scheme}/${one.nodeBoot}/${one.boot}/${one.nonce.number}`);
              // An intent is for one message.
              count(ask(node, requestFor(one, step.message, step.fault, tag), { intentId: `${step.message}` }));
              break;
            }
            case 'crash':
              node.crash();
              break;
            case 'restart':
              node.restartActor('node/1');
              break;
            case 'hold':
              node.holdLoads = true;
              break;
            case 'release':
              count(node.releaseLoads());
              break;
          }
        }
        count(node.releaseLoads());
        for (const times of signedWith.values()) expect(times).toBe(1);
        // Of all that was asked for under the one key, one scheme alone was signed with.
        expect(new Set([...signedWith.keys()].map((id) => id.split('/')[0])).size).toBeLessThanOrEqual(1);
        const ids = dealt.map(({ nonce, nodeBoot }) => `${nodeBoot}/${nonce.number}`);
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { numRuns: runs(50, 150) },
    );
  });
});

const schemeArbitrary = fc.constantFrom(Scheme.MOCK_ECDSA, Scheme.FROST_BIP340);
const peer = groupOf('secp256k1').generator;

function requestFor(
  one: { nonce: DealtNonce; scheme: Scheme; nodeBoot: string; boot: string },
  message: number,
  fault: string,
  attemptTag: bigint,
): Request {
  const own = { nodeId: 1, hiding: one.nonce.hiding, binding: one.nonce.binding };
  const signers = fault === 'signers' ? [own] : [own, { nodeId: 2, hiding: peer, binding: peer }];
  return {
    scheme: one.scheme,
    keySession: fault === 'key' ? 'key-2' : 'key-1',
    derivationPath: fault === 'path' ? 'm/2147483648' : '',
    message: new Uint8Array(32).fill(message),
    nonceNumber: one.nonce.number,
    nodeBoot: one.nodeBoot,
    coordinatorBoot: one.boot,
    signers: signers as PartialRequest['signers'],
    noncePoint: peer,
    mockNonceInverse: new Uint8Array(32).fill(1),
    attemptTag,
  };
}

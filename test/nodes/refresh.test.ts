/** A refresh at a node: by a gateway's order alone, of its own part of the key, and never without a share that the others share. */
import { beforeEach, describe, expect, it } from 'vitest';
import { identityFromSeed } from '../../core/crypto/identity.ts';
import { gatewayMacs } from '../../core/crypto/order-macs.ts';
import { decodeKeyRecord } from '../../nodes/records/key-record.ts';
import { keyRecordKey } from '../../nodes/records/records.ts';
import { macFor } from '../../proto/call-orders.ts';
import type { DkgOpening } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { PartialRefusalCode, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { refreshSessionId } from '../../proto/ids.ts';
import { Ceremony } from './ceremony.ts';
import { identitySeedOf, only, rosterOf, TestNode } from './harness.ts';

const tenant = 'acme';
const scheme = Scheme.FROST_ED25519;
const expiresMs = 1_000;

interface Wish {
  readonly nodeId?: number;
  readonly orderedKey?: string;
  readonly orderedVersion?: number;
  readonly orderedScheme?: Scheme;
  readonly version?: number;
  readonly seed?: Uint8Array;
}

/** What a coordinator shows a node of the gateway's order. */
function refreshBy({ nodeId = 1, version = 2, seed = identitySeedOf(202), ...ordered }: Wish = {}) {
  const { orderedKey = 'key-1', orderedVersion = version, orderedScheme = scheme } = ordered;
  const terms = { tenant, keyId: orderedKey, version: orderedVersion, scheme: orderedScheme, expiresMs };
  const mac = macFor(nodeId, gatewayMacs(rosterOf(3), identityFromSeed(seed).secretKey).refresh(terms));
  return { keySession: 'key-1', version, expiresEpochMs: BigInt(expiresMs), mac };
}

/** The session that makes version 2, with nodes that have the key; `attempt` of them. */
class Refresh extends Ceremony {
  renounced: DkgOpening | undefined;

  constructor(nodes: Ceremony['nodes'], attempt = 1) {
    const names = { tenant, session: refreshSessionId('key-1', 2), attempt };
    super({ curve: 'ed25519', threshold: 2, totalNodes: 3, nodes, names, scheme });
  }

  asked(nodeId: number, wish: Wish = {}) {
    const { curve, threshold, scheme, renounced } = this;
    const refresh = refreshBy({ nodeId, ...wish });
    const value = { curve, threshold, totalNodes: 3, scheme, refresh, ...(renounced && { renounced }) };
    return this.node(nodeId).dkg(this.names, { case: 'dkgOpen', value });
  }

  override open(nodeId: number): DkgOpening {
    return only(this.asked(nodeId), 'dkgOpened').opening!;
  }
}

let key: Ceremony;
let refresh: Refresh;

beforeEach(() => {
  key = new Ceremony({ curve: 'ed25519', threshold: 2, totalNodes: 3 });
  key.run();
  refresh = new Refresh(key.nodes);
});

const stored = (nodeId: number) => decodeKeyRecord(key.node(nodeId).records.get(keyRecordKey(tenant, 'key-1'))!);
const codeOf = (sent: Parameters<typeof only>[0]) => only(sent, 'dkgRefused').code;

describe('an order', () => {
  it.each<[string, Wish, string]>([
    ['of another key', { orderedKey: 'key-2' }, 'ORDER_INVALID'],
    ['of another version', { orderedVersion: 3 }, 'ORDER_INVALID'],
    ['for another scheme', { orderedScheme: Scheme.FROST_BIP340 }, 'ORDER_INVALID'],
    ['for another node', { nodeId: 2 }, 'ORDER_INVALID'],
    ['of a process that is no gateway', { seed: identitySeedOf(201) }, 'ORDER_INVALID'],
    ['of a version that its session does not make', { version: 3 }, 'REQUEST_INVALID'],
  ])('%s makes a node deal nothing', (_, wish, code) => {
    const before = new Map(key.node(1).records);
    expect(codeOf(refresh.asked(1, wish))).toBe(code);
    expect(key.node(1).records).toEqual(before);
  });

  it('ends with its time, for an attempt that is not dealt yet', () => {
    refresh.open(1);
    for (const node of key.nodes) node.nowMs = expiresMs;
    refresh.open(1);
    expect(codeOf(refresh.asked(2))).toBe('ORDER_INVALID');
  });

  it.each([
    ['another threshold', { threshold: 3 }],
    ['fewer nodes', { totalNodes: 2, participants: [1, 2] }],
    ['another curve', { curve: 'secp256k1' }],
  ])('is for a key as it is shared: it makes no shares of %s', (_, changed) => {
    const value = { curve: 'ed25519', threshold: 2, totalNodes: 3, scheme, refresh: refreshBy(), ...changed };
    expect(codeOf(key.node(1).dkg(refresh.names, { case: 'dkgOpen', value }))).toBe('REQUEST_INVALID');
  });

  it('is needed: a session of that name is no key generation', () => {
    const value = { curve: 'ed25519', threshold: 2, totalNodes: 3, scheme };
    expect(codeOf(key.node(1).dkg(refresh.names, { case: 'dkgOpen', value }))).toBe('REQUEST_INVALID');
  });
});

describe('a node', () => {
  it('replaces its share when it is shown that all have signed, and answers the same again', () => {
    const before = [1, 2, 3].map(stored);
    const results = refresh.finishAll();
    expect([1, 2, 3].map(stored)).toEqual(before);
    for (let count = 0; count < 2; count += 1) {
      for (const id of [1, 2, 3]) only(refresh.confirm(id, results), 'dkgConfirmed');
    }
    for (const [index, { keyPackage }] of before.entries()) {
      const after = stored(index + 1);
      expect([after.version, after.scheme]).toEqual([2, 'frost_ed25519']);
      expect(after.keyPackage.publicKey).toEqual(keyPackage.publicKey);
      expect(after.keyPackage.chainCode).toEqual(keyPackage.chainCode);
      expect(after.keyPackage.signingShare).not.toBe(keyPackage.signingShare);
    }
  });

  it('does not hold another version: it deals nothing for one', () => {
    refresh.run();
    const names = { tenant, session: refreshSessionId('key-1', 4), attempt: 1 };
    const value = { curve: 'ed25519', threshold: 2, totalNodes: 3, scheme, refresh: refreshBy({ version: 4 }) };
    expect(codeOf(key.node(1).dkg(names, { case: 'dkgOpen', value }))).toBe('KEY_UNKNOWN');
  });

  it('binds its key before it deals, if it has not signed with it yet', () => {
    key = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 3, label: 'unbound' });
    key.run();
    expect(stored(1).scheme).toBe('');
    const bip340 = Scheme.FROST_BIP340;
    const shared = { curve: 'secp256k1', threshold: 2, totalNodes: 3, scheme: bip340 };
    const value = { ...shared, refresh: refreshBy({ orderedScheme: bip340 }) };
    only(key.node(1).dkg(refresh.names, { case: 'dkgOpen', value }), 'dkgOpened');
    expect(stored(1)).toMatchObject({ scheme: 'frost_bip340', version: 1 });
  });

  it('complains about a dealer that deals another secret than its part of the key', () => {
    // Its share is of another key: it signs and proves what it deals.
    const other = new Ceremony({ curve: 'ed25519', threshold: 2, totalNodes: 3, label: 'other' });
    other.run();
    const strange = other.node(3);
    const mixed = new Refresh([key.node(1), key.node(2), strange]);
    const { openings, sealedFor } = mixed.dealAll();
    const { verdicts, finished } = mixed.verify(1, openings, sealedFor(1));
    expect(verdicts.map(({ dealer, code }) => [dealer, code])).toEqual([
      [1, ''],
      [2, ''],
      [3, 'PART_INVALID'],
    ]);
    expect(finished).toBeUndefined();
  });

  it('takes no client-supplied dealer', () => {
    const { openings } = refresh.dealAll();
    const dealer = { ...openings[1]!, clientSupplied: true };
    const share = new Uint8Array(32).fill(1);
    const body = { dealers: [dealer], sealed: [], clientSupplied: [{ dealer: 2, share }] };
    const sent = key.node(1).dkg(refresh.names, { case: 'dkgVerify', value: body });
    expect(codeOf(sent)).toBe('CLIENT_DEALERS_NOT_ALLOWED');
  });

  it('that has signed its result keeps it: it discards nothing, and deals anew only when another has not signed', () => {
    const { openings, sealedFor } = refresh.dealAll();
    for (const id of [1, 2]) refresh.verify(id, openings, sealedFor(id));
    expect(codeOf(key.node(1).dkg(refresh.names, { case: 'dkgDiscard', value: {} }))).toBe('RESULT_SIGNED');
    const next = new Refresh(key.nodes, 2);
    expect(codeOf(next.asked(1))).toBe('RESULT_SIGNED');
    // Of the attempt before, and of a node that has signed as well: no proof.
    next.renounced = openings[2];
    expect(codeOf(next.asked(1))).toBe('RESULT_SIGNED');
    next.renounced = undefined;
    expect(codeOf(next.asked(2))).toBe('RESULT_SIGNED');
    // Node 3 has not signed, and will not any more.
    const opening = next.open(3);
    next.renounced = { ...opening, dealer: 2 };
    expect(codeOf(next.asked(1))).toBe('RESULT_SIGNED');
    // Its own, from when it had an older store: it has signed.
    const older = new TestNode(1, rosterOf(3), { label: 'older' });
    const keyName = keyRecordKey(tenant, 'key-1');
    older.records.set(keyName, key.node(1).records.get(keyName)!);
    next.renounced = new Refresh([older], 2).open(1);
    expect(codeOf(next.asked(1))).toBe('RESULT_SIGNED');
    next.renounced = opening;
    next.run();
    expect([1, 2, 3].map((id) => stored(id).version)).toEqual([2, 2, 2]);
  });

  it('confirms when the write of its new share is durable, and its signer has forgotten the old one', () => {
    const results = refresh.finishAll();
    const node = key.node(1);
    node.writesFail = 'lost';
    expect(refresh.confirm(1, results)).toEqual([]);
    expect(stored(1).version).toBe(1);
    node.writesFail = 'no';
    only(refresh.confirm(1, results), 'dkgConfirmed');
    expect(stored(1).version).toBe(2);
  });

  it('signs with no share that it was reading while it was replaced', () => {
    const results = refresh.finishAll();
    const node = key.node(1);
    const about = { tenant, session: 'sig-1', attempt: 1 };
    const coordinatorBoot = 'coordinator-1';
    const dealt = [1, 2].map((nodeId) => {
      const value = { scheme, count: 1, coordinatorBoot };
      return only(key.node(nodeId).signer(about, { case: 'dealNonces', value }), 'noncesDealt').nonces[0]!;
    });
    const signers = dealt.map(({ hiding, binding }, index) => ({ nodeId: index + 1, hiding, binding }));
    const boots = { nodeBoot: node.boot, coordinatorBoot, nonceNumber: dealt[0]!.number };
    const request = { keySession: 'key-1', scheme, message: new Uint8Array(32), signers, ...boots } as never;
    const value = { ...(request as object), order: node.order(about, request) };
    const before = [...node.records];
    node.holdLoads = true;
    expect(node.signer(about, { case: 'partialRequest', value })).toEqual([]);
    only(refresh.confirm(1, results), 'dkgConfirmed');
    const { outcome } = only(node.releaseLoads(before), 'partialReply');
    expect(outcome).toMatchObject({ case: 'refusal', value: { code: PartialRefusalCode.KEY_UNKNOWN } });
  });
});

/** The end of a key at a node: by a gateway's order alone, durable before it is confirmed, and final. */
import { beforeEach, describe, expect, it } from 'vitest';
import { noTrace } from '../../core/actors/contract.ts';
import type { Curve } from '../../core/crypto/group.ts';
import { mac } from '../../core/crypto/hashing.ts';
import { identityFromSeed } from '../../core/crypto/identity.ts';
import { deletionDigest, gatewayMacs } from '../../core/crypto/order-macs.ts';
import type { NodeMessage } from '../../nodes/records/messages.ts';
import { dkgRecordKey, keyRecordKey } from '../../nodes/records/records.ts';
import { nonceHedge } from '../../nodes/signer/nonce-hedge.ts';
import { signerBehaviour } from '../../nodes/signer/signer-actor.ts';
import { macFor } from '../../proto/call-orders.ts';
import { PartialRefusalCode, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireMessage } from '../../proto/wire.ts';
import { Ceremony } from './ceremony.ts';
import { identitySeedOf, only, rosterOf, type Sent, TestNode } from './harness.ts';

const names = { tenant: 'acme', session: 'sig-1', attempt: 1 };
const gatewaySeed = identitySeedOf(202);
const held = [dkgRecordKey('acme', 'key-1'), keyRecordKey('acme', 'key-1')];
const message = new Uint8Array(32).fill(9);

let node: TestNode;
let scheme: Scheme;

/** A node with a key of secp256k1 is not bound to a scheme yet; one of ed25519 is from the start. */
function useNodeWith(curve: Curve): void {
  const ceremony = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
  ceremony.run();
  [node] = ceremony.nodes as [TestNode];
  scheme = curve === 'ed25519' ? Scheme.FROST_ED25519 : Scheme.FROST_BIP340;
}

beforeEach(() => useNodeWith('ed25519'));

const heldNow = () => held.map((key) => node.records.has(key));

function macOf({ tenant = 'acme', keyId = 'key-1', nodeId = 1, seed = gatewaySeed } = {}): Uint8Array {
  return macFor(nodeId, gatewayMacs(rosterOf(3), identityFromSeed(seed).secretKey).deletion({ tenant, keyId }));
}

function deleteKey(mac: Uint8Array, keySession = 'key-1', tenant = 'acme'): Sent[] {
  return node.signer({ tenant, session: '', attempt: 0 }, { case: 'deleteKey', value: { keySession, mac } });
}

/** A partial asked for with a good order. */
function ask(): Sent[] {
  const coordinatorBoot = 'coordinator-1';
  const dealt = [node, new TestNode(2, rosterOf(3), { label: 'other' })].map((each) => {
    const value = { scheme, count: 1, coordinatorBoot };
    return only(each.signer({ tenant: '', session: '', attempt: 0 }, { case: 'dealNonces', value }), 'noncesDealt')
      .nonces[0]!;
  });
  const signers = dealt.map(({ hiding, binding }, index) => ({ nodeId: index + 1, hiding, binding }));
  const asked = { scheme, keySession: 'key-1', message, nodeBoot: node.boot, coordinatorBoot, signers };
  const value = { ...asked, nonceNumber: dealt[0]!.number, order: node.order(names, asked) };
  return node.signer(names, { case: 'partialRequest', value });
}

function outcomeOf(sent: readonly Sent[]): string {
  const { outcome } = only(sent, 'partialReply');
  return outcome.case === 'refusal' ? PartialRefusalCode[outcome.value.code]! : 'signed';
}

describe('a gateway’s order', () => {
  it('deletes the share and the record of the key’s generation; the key signs no more, also after a restart', () => {
    expect(outcomeOf(ask())).toBe('signed');
    expect(only(deleteKey(macOf()), 'keyDeleted')).toMatchObject({ nodeId: 1, keySession: 'key-1' });
    expect(heldNow()).toEqual([false, false]);
    expect(outcomeOf(ask())).toBe('KEY_UNKNOWN');
    node.crash();
    expect(outcomeOf(ask())).toBe('KEY_UNKNOWN');
  });

  it('may be repeated, and is confirmed where the key never was', () => {
    for (let count = 0; count < 2; count += 1) only(deleteKey(macOf()), 'keyDeleted');
    only(deleteKey(macOf({ keyId: 'key-9' }), 'key-9'), 'keyDeleted');
  });

  it.each([
    ['another key', () => macOf({ keyId: 'key-2' })],
    ['another tenant', () => macOf({ tenant: 'other' })],
    ['another node', () => macOf({ nodeId: 2 })],
    ['a process that is no gateway', () => macOf({ seed: identitySeedOf(201) })],
    ['no one at all: an empty MAC', () => new Uint8Array(0)],
  ])('of %s deletes nothing and is answered by nothing', (_, mac) => {
    expect(deleteKey(mac())).toEqual([]);
    expect(heldNow()).toEqual([true, true]);
    expect(node.events.at(-1)!.event.type).toBe('signer.deletion.unordered');
    expect(outcomeOf(ask())).toBe('signed');
  });
});

describe('a deletion', () => {
  it('also asks the token and the vendor to delete the key, once the node has deleted its own part', () => {
    const identity = { nodeId: 1, boot: 'b', orderKey: new Uint8Array(32), hedge: nonceHedge(new Uint8Array(32), 'b') };
    const signer = signerBehaviour(identity);
    const context = { self: 'node/1', nowMs: 0, random: (length: number) => new Uint8Array(length) };
    const terms = { tenant: 'acme', keyId: 'key-1' };
    const value = { keySession: 'key-1', mac: mac(identity.orderKey, deletionDigest(terms)) };
    const asked = { tenant: 'acme', session: '', attempt: 0, body: { case: 'deleteKey', value } } as WireMessage;
    const from = { kind: 'message', from: 'coordinator', trace: noTrace } as const;
    const { state } = signer.start(undefined, context);
    const first = signer.receive(state, { ...from, message: asked as NodeMessage }, context);
    expect(first.effects).toEqual([{ kind: 'send', to: 'node/1', message: { kind: 'flush' } }]);
    const { effects } = signer.receive(first.state, { ...from, message: { kind: 'flush' } }, context);
    expect(effects[0]).toEqual({
      kind: 'persist',
      write: { puts: [], deletes: [keyRecordKey('acme', 'key-1'), dkgRecordKey('acme', 'key-1')] },
    });
    const destroys = effects.flatMap((effect) =>
      effect.kind === 'send' && 'kind' in effect.message ? [{ to: effect.to, ...effect.message }] : [],
    );
    expect(destroys).toMatchObject(
      ['hsm', 'vendor'].map((to) => ({ to, request: { kind: 'destroy', label: 'signmesh/acme/key-1' } })),
    );
  });

  it('is confirmed only when it is durable', () => {
    node.writesFail = 'lost';
    expect(deleteKey(macOf())).toEqual([]);
    expect(heldNow()).toEqual([true, true]);
    node.writesFail = 'no';
    only(deleteKey(macOf()), 'keyDeleted');
    expect(heldNow()).toEqual([false, false]);
  });

  it('undoes a binding that was on its way to the store', () => {
    useNodeWith('secp256k1');
    node.holdOwn = true;
    expect(ask()).toEqual([]);
    expect(deleteKey(macOf())).toEqual([]);
    const sent = node.releaseOwn();
    expect(sent.map(({ message: said }) => said.body.case)).toEqual(['partialReply', 'keyDeleted']);
    expect(heldNow()).toEqual([false, false]);
    expect(outcomeOf(ask())).toBe('KEY_UNKNOWN');
  });

  it('is not undone by a request that was reading the key meanwhile', () => {
    node.crash();
    node.holdLoads = true;
    expect(ask()).toEqual([]);
    const before = [...node.records];
    node.holdOwn = true;
    expect(deleteKey(macOf())).toEqual([]);
    // What the store had read before the deletion arrives before it is written, and once more after.
    expect(outcomeOf(node.releaseLoads(before))).toBe('KEY_UNKNOWN');
    node.holdLoads = true;
    expect(ask()).toEqual([]);
    only(node.releaseOwn(), 'keyDeleted');
    expect(outcomeOf(node.releaseLoads(before))).toBe('KEY_UNKNOWN');
    expect(outcomeOf(ask())).toBe('KEY_UNKNOWN');
  });
});

/** A node in a key generation: openings that only a lying peer makes, messages in another order, and what it does once it has finished. */
import { expect, it } from 'vitest';
import { openingTranscript, sealedShareTranscript, sessionContext } from '../../core/crypto/dkg-transcripts.ts';
import { identityFromSeed, sign } from '../../core/crypto/identity.ts';
import type { DkgOpening } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import { Ceremony, type Plain } from './ceremony.ts';
import { identitySeedOf, only, rosterOf, type Sent, TestNode } from './harness.ts';

const address = 'node/1/dkg/acme/key-1';
const names = { tenant: 'acme', session: 'key-1', attempt: 1 };
const open = { case: 'dkgOpen', value: { curve: 'secp256k1', threshold: 2, totalNodes: 3 } } as const;
const ceremonyOf = (label = 'ceremony') => new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 3, label });

function refusal(sent: readonly Sent[]) {
  const { code, culprits } = only(sent, 'dkgRefused');
  return { code, culprits };
}

/** Signed by its dealer. */
function signed(ceremony: Ceremony, opening: Plain<DkgOpening>): Plain<DkgOpening> {
  const { secretKey } = identityFromSeed(identitySeedOf(opening.dealer));
  return { ...opening, signature: sign(secretKey, openingTranscript(sessionContext(ceremony.terms), opening)) };
}

it('finds another opening in its own name, which only its identity key could have signed', () => {
  const ceremony = ceremonyOf();
  const { openings, sealedFor } = ceremony.dealAll();
  const own = ceremonyOf('twin').open(1);
  const { verdicts, finished } = ceremony.verify(1, [own, ...openings.slice(1)], sealedFor(1));
  expect(verdicts[0]).toMatchObject({ dealer: 1, verified: false, code: 'COMMITMENT_MISMATCH' });
  expect(finished).toBeUndefined();
});

it('seals no share for a key that makes every box readable, and names the node that dealt it', () => {
  const ceremony = ceremonyOf();
  const openings = ceremony.openAll();
  const weak = signed(ceremony, { ...openings[2]!, sealingKey: new Uint8Array(32) });
  const seal: WireBodyInit = { case: 'dkgSeal', value: { recipients: [openings[1]!, weak] } };
  expect(refusal(ceremony.nodes[0]!.dkg(names, seal))).toEqual({ code: 'OPENING_INVALID', culprits: [3] });
});

it('seals shares for other nodes of the session alone, and none where each node has a key of its own', () => {
  const ceremony = ceremonyOf();
  const [, second] = ceremony.openAll();
  const sealFor = (of: Ceremony, recipient: Plain<DkgOpening>) =>
    refusal(of.nodes[0]!.dkg(names, { case: 'dkgSeal', value: { recipients: [recipient] } })).code;
  expect(sealFor(ceremony, { ...second!, dealer: 99 })).toBe('REQUEST_INVALID');
  expect(sealFor(ceremony, { ...second!, clientSupplied: true })).toBe('REQUEST_INVALID');
  const owners = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 2, scheme: Scheme.OWNER_ECDSA });
  expect(sealFor(owners, owners.openAll()[1]!)).toBe('REQUEST_INVALID');
});

it('makes a token’s key alone, and refuses when the token makes none', () => {
  const node = new TestNode(1, rosterOf(3), { tokenSays: { kind: 'destroyed' } });
  const opened = (threshold: number, totalNodes: number) => {
    const value = { curve: 'secp256k1', threshold, totalNodes, scheme: Scheme.HSM_ECDSA };
    return refusal(node.dkg(names, { case: 'dkgOpen', value })).code;
  };
  expect(opened(2, 2)).toBe('REQUEST_INVALID');
  expect(opened(1, 1)).toBe('HSM_FAILED');
  expect(node.records.size).toBe(0);
});

it('takes openings, shares and results of one message in any order', () => {
  const orders = [
    [0, 1, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ];
  for (const order of orders) {
    const ceremony = ceremonyOf();
    const { openings, sealedFor } = ceremony.dealAll();
    const inOrder = <T>(list: readonly T[]) => order.map((index) => list[index]!);
    const results = [1, 2, 3].map((id) => {
      const { verdicts, finished } = ceremony.verify(id, inOrder(openings), sealedFor(id).reverse());
      expect(verdicts.map(({ dealer }) => dealer)).toEqual([1, 2, 3]);
      return finished!;
    });
    only(ceremony.confirm(1, inOrder(results)), 'dkgConfirmed');
    const repeated = only(ceremony.nodes[0]!.dkg(names, { case: 'dkgSeal', value: {} }), 'dkgRefused');
    expect(repeated.results.map(({ nodeId }) => nodeId)).toEqual([1, 2, 3]);
  }
});

it('does not open an attempt again for other participants', () => {
  const node = new TestNode(1, rosterOf(4));
  const among = (participants: number[]) => node.dkg(names, { ...open, value: { ...open.value, participants } });
  const { opening } = only(among([1, 2, 4]), 'dkgOpened');
  expect(refusal(among([1, 2, 3])).code).toBe('PARAMETERS_CHANGED');
  expect(only(among([1, 2, 4]), 'dkgOpened').opening).toEqual(opening);
});

it('runs until its key is final, and an actor of a final key leaves memory', () => {
  const ceremony = ceremonyOf();
  const node = ceremony.nodes[0]!;
  const { openings, sealedFor } = ceremony.dealAll();
  const results = [1, 2, 3].map((id) => ceremony.verify(id, openings, sealedFor(id)).finished!);
  expect(node.isRunning(address)).toBe(true);
  only(ceremony.confirm(1, results), 'dkgConfirmed');
  expect(node.isRunning(address)).toBe(false);
});

it('warns of an attempt that a dealer broke, and of no sound one', () => {
  const ceremony = ceremonyOf();
  const { openings, sealedFor } = ceremony.dealAll();
  const wrong = sealedFor(1).map(({ dealer, recipient, box: sound }) => {
    const share = { dealer, recipient, box: sound.map((byte) => byte ^ 1) };
    const transcript = sealedShareTranscript(sessionContext(ceremony.terms), share);
    return { ...share, signature: sign(identityFromSeed(identitySeedOf(dealer)).secretKey, transcript) };
  });
  ceremony.verify(1, openings, wrong);
  ceremony.verify(2, openings, sealedFor(2));
  const levelsOf = (node: TestNode) => node.events.map(({ event }) => `${event.type} ${event.level}`);
  expect(levelsOf(ceremony.nodes[0]!)).toEqual(['dkg.dealing info', 'dkg.broken warn']);
  expect(levelsOf(ceremony.nodes[1]!)).toEqual(['dkg.dealing info', 'dkg.provisional info']);
});

it('writes a discard once, and that of each attempt', () => {
  const node = new TestNode(1, rosterOf(3));
  only(node.dkg(names, open), 'dkgOpened');
  const discard = (attempt: number) => {
    const before = node.writes;
    expect(node.dkg({ ...names, attempt }, { case: 'dkgDiscard', value: {} })).toEqual([]);
    return node.writes - before;
  };
  expect([discard(1), discard(1), discard(2), discard(2)]).toEqual([1, 0, 1, 0]);
});

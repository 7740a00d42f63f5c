import { describe, expect, it } from 'vitest';
import { equalBytes } from '../../core/crypto/bytes.ts';
import {
  evaluateComplaint,
  finishTranscript,
  openingTranscript,
  sealedShareTranscript,
  sessionContext,
  verifyFinished,
  verifyOpening,
} from '../../core/crypto/dkg-transcripts.ts';
import { type Curve, groupOf } from '../../core/crypto/group.ts';
import { identityFromSeed, sign } from '../../core/crypto/identity.ts';
import type { KeyPackage } from '../../core/crypto/key-package.ts';
import { lagrangeCoefficients, polynomialFromSeed, randomPolynomial } from '../../core/crypto/polynomial.ts';
import { commitTo, shareFor } from '../../core/crypto/vss.ts';
import { decodeDkgRecord } from '../../nodes/dkg/record.ts';
import { type DkgPhase, type DkgRequestCase, dkgTransitions } from '../../nodes/dkg/state.ts';
import { dkgRecordKey, keyRecordKey } from '../../nodes/records/records.ts';
import type { DkgOpening, SealedShare } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import { Ceremony, type Plain } from './ceremony.ts';
import { identitySeedOf, only, rosterOf, type Sent, TestNode } from './harness.ts';

const curves: Curve[] = ['secp256k1', 'ed25519'];
const identityKey = (nodeId: number) => identityFromSeed(identitySeedOf(nodeId)).publicKey;
const empty = new Uint8Array(0);

function refusal(sent: readonly Sent[]): string {
  return only(sent, 'dkgRefused').code;
}

function text(node: TestNode, key: string): string {
  return new TextDecoder().decode(node.records.get(key)!);
}

function flipped(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[copy.length - 1]! ^= 1;
  return copy;
}

/** The group secret from any `threshold` shares: what exists nowhere outside of this test. */
function secretOf(curve: Curve, packages: readonly KeyPackage[]): bigint {
  const lambdas = lagrangeCoefficients(
    curve,
    packages.map(({ nodeId }) => nodeId),
  );
  const { order } = groupOf(curve);
  return packages.reduce((sum, one) => (sum + lambdas.get(one.nodeId)! * one.signingShare) % order, 0n);
}

/** A client-supplied dealer. */
function suppliedDealer(curve: Curve, threshold: number, dealer: number, label: string) {
  const polynomial = randomPolynomial(curve, threshold, randomStream(label, 'polynomial'));
  const opening: Plain<DkgOpening> = {
    dealer,
    commitments: commitTo(curve, polynomial),
    possession: empty,
    sealingKey: empty,
    signature: empty,
    clientSupplied: true,
  };
  const share = (recipient: number) => ({
    dealer,
    share: groupOf(curve).encodeScalar(shareFor(curve, polynomial, recipient)),
  });
  return { opening, share };
}

describe.each(curves)('a key generation on %s', (curve) => {
  it('gives every node the same key, and shares that add up to it', () => {
    const ceremony = new Ceremony({ curve, threshold: 3, totalNodes: 5 });
    const results = ceremony.run();
    const packages = ceremony.keyPackages();
    expect(packages.map(({ nodeId }) => nodeId)).toEqual([1, 2, 3, 4, 5]);
    for (const [index, keyPackage] of packages.entries()) {
      expect(keyPackage.publicKey).toEqual(packages[0]!.publicKey);
      expect(groupOf(curve).baseMultiply(keyPackage.signingShare)).toEqual(keyPackage.verificationShares[index]);
      expect(verifyFinished(ceremony.terms, results[index]!, identityKey(index + 1))).toBe(true);
    }
    const secret = secretOf(curve, [packages[4]!, packages[1]!, packages[2]!]);
    expect(groupOf(curve).baseMultiply(secret)).toEqual(packages[0]!.publicKey);
  });

  it('deals openings that the coordinator can verify', () => {
    const ceremony = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    for (const opening of ceremony.openAll()) {
      expect(verifyOpening(ceremony.terms, opening, identityKey(opening.dealer))).toBeUndefined();
      const elsewhere = { ...ceremony.terms, attempt: 2 };
      expect(verifyOpening(elsewhere, opening, identityKey(opening.dealer))).toBe('OPENING_INVALID');
    }
  });

  it('answers every repeated request the same, also after a crash at every step', () => {
    const calm = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    const crashing = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    crashing.beforeEach = (node) => node.crash();
    for (const ceremony of [calm, crashing]) {
      const openings = ceremony.openAll();
      expect(ceremony.openAll()).toEqual(openings);
      const first = ceremony.seal(1, openings);
      expect(ceremony.seal(1, openings)).toEqual(first);
      const { sealedFor } = ceremony.dealAll();
      const verify = (nodeId: number) => ceremony.verify(nodeId, openings, sealedFor(nodeId));
      const found = [1, 2, 3].map(verify);
      expect([1, 2, 3].map(verify)).toEqual(found);
      // A node that has finished still seals for those that have not.
      expect(ceremony.seal(1, openings)).toEqual(first);
      const results = found.map(({ finished }) => finished!);
      const confirmed = [1, 2, 3].map((nodeId) => ceremony.confirm(nodeId, results));
      expect([1, 2, 3].map((nodeId) => ceremony.confirm(nodeId, results))).toEqual(confirmed);
      expect([1, 2, 3].map(verify)).toEqual(found);
      expect(ceremony.openAll()).toEqual(openings);
      expect(ceremony.verify(2, [], []).finished).toEqual(results[1]);
      for (const { publicKey } of ceremony.keyPackages()) expect(publicKey).toEqual(results[0]!.publicKey);
    }
  });

  it('takes shares one pair at a time, in any order', () => {
    const ceremony = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    const { openings, sealedFor } = ceremony.dealAll();
    for (const dealer of [3, 1, 2]) {
      const sealed = sealedFor(2).filter((share) => share.dealer === dealer);
      const answer = ceremony.verify(2, [openings[dealer - 1]!], sealed);
      expect(answer.verdicts.map(({ verified }) => verified)).toEqual([true]);
      expect(answer.finished !== undefined).toBe(dealer === 2);
    }
  });

  it('accepts a client-supplied dealer, at its own node too, and uses its polynomial', () => {
    const ceremony = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    const { openings, sealedFor } = ceremony.dealAll();
    const { opening, share } = suppliedDealer(curve, 2, 3, 'client');
    for (const nodeId of [1, 2, 3]) {
      const first = ceremony.verify(nodeId, [opening], [], [share(nodeId)]);
      expect(first.verdicts).toMatchObject([{ dealer: 3, verified: true, code: '' }]);
      expect(ceremony.verify(nodeId, [opening], [], [share(nodeId)])).toEqual(first);
    }
    const results = [1, 2, 3].map((nodeId) => {
      const real = sealedFor(nodeId).filter(({ dealer }) => dealer !== 3);
      return ceremony.verify(nodeId, openings.slice(0, 2), real).finished!;
    });
    for (const nodeId of [1, 2, 3]) only(ceremony.confirm(nodeId, results), 'dkgConfirmed');
    const commitments = [openings[0]!, openings[1]!, opening].map((one) => one.commitments[0]!);
    expect(ceremony.keyPackages()[0]!.publicKey).toEqual(groupOf(curve).sum(commitments));
  });

  it.each([
    ['its configuration does not allow it', false, 'key-1'],
    ['the key is a wallet’s', true, 'wal_1'],
  ])('refuses all five client-supplied dealers and stays as it was: %s', (why, allowClientDealers, session) => {
    const roster = rosterOf(5);
    const nodes = roster.nodes.map(({ id }) => new TestNode(id, roster, { allowClientDealers }));
    const names = { tenant: 'acme', session, attempt: 1 };
    const ceremony = new Ceremony({ curve, threshold: 3, totalNodes: 5, names, nodes });
    ceremony.openAll();
    const before = nodes.map((node) => text(node, dkgRecordKey('acme', session)));
    const supplied = [1, 2, 3, 4, 5].map((dealer) => suppliedDealer(curve, 3, dealer, `client ${dealer}`));
    for (const node of nodes) {
      const dealers = supplied.map(({ opening }) => opening);
      const clientSupplied = supplied.map(({ share }) => share(node.nodeId));
      const value = { dealers, sealed: [], clientSupplied };
      const refused = only(node.dkg(names, { case: 'dkgVerify', value }), 'dkgRefused');
      expect(refused).toMatchObject({ code: 'CLIENT_DEALERS_NOT_ALLOWED', culprits: [] });
      expect(refused.message).toContain(why);
    }
    expect(nodes.map((node) => text(node, dkgRecordKey('acme', session)))).toEqual(before);
    // The attempt continues with the nodes' own dealers.
    expect(ceremony.run()).toHaveLength(5);
  });

  it('refuses a wrong client-supplied share, changes nothing, and accepts the right one after', () => {
    const ceremony = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    ceremony.openAll();
    const { opening, share } = suppliedDealer(curve, 2, 1, 'client');
    const before = text(ceremony.nodes[1]!, dkgRecordKey('acme', 'key-1'));
    for (const wrong of [share(3).share, new Uint8Array(32), new Uint8Array(32).fill(255), empty]) {
      const { verdicts } = ceremony.verify(2, [opening], [], [{ dealer: 1, share: wrong }]);
      expect(verdicts).toMatchObject([{ verified: false, code: 'SHARE_INVALID', revealedSealingKey: empty }]);
    }
    expect(text(ceremony.nodes[1]!, dkgRecordKey('acme', 'key-1'))).toBe(before);
    expect(ceremony.verify(2, [opening], [], [share(2)]).verdicts[0]!.verified).toBe(true);
  });

  it('does not let a dealer change: other commitments, client-supplied after real, real after client-supplied', () => {
    const ceremony = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    const { openings, sealedFor } = ceremony.dealAll();
    const supplied = suppliedDealer(curve, 2, 1, 'client');
    const other = suppliedDealer(curve, 2, 1, 'another client');
    const sealedOfOne = (nodeId: number) => sealedFor(nodeId).filter(({ dealer }) => dealer === 1);
    const code = (
      nodeId: number,
      ...request: [Plain<DkgOpening>[], Plain<SealedShare>[], { dealer: number; share: Uint8Array }[]]
    ) => ceremony.verify(nodeId, ...request).verdicts.map((verdict) => verdict.code);

    expect(code(2, [supplied.opening], [], [supplied.share(2)])).toEqual(['']);
    expect(code(2, [other.opening], [], [other.share(2)])).toEqual(['COMMITMENT_MISMATCH']);
    expect(code(2, [openings[0]!], sealedOfOne(2), [])).toEqual(['COMMITMENT_MISMATCH']);
    expect(code(3, [openings[0]!], sealedOfOne(3), [])).toEqual(['']);
    expect(code(3, [supplied.opening], [], [supplied.share(3)])).toEqual(['COMMITMENT_MISMATCH']);
    expect(code(2, [supplied.opening], [], [supplied.share(2)])).toEqual(['']);
  });

  it('complains about a box that does not open, with evidence that convicts the dealer, and gives the attempt up', () => {
    const ceremony = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    const { openings, sealedFor } = ceremony.dealAll();
    const sealed = sealedFor(2).map((share) => (share.dealer === 3 ? resigned(ceremony, share) : share));
    const answer = ceremony.verify(2, openings, sealed);
    expect(answer.finished).toBeUndefined();
    expect(answer.verdicts.map(({ code }) => code)).toEqual(['', '', 'BOX_BROKEN']);
    const judged = evaluateComplaint({
      terms: ceremony.terms,
      dealerOpening: openings[2]!,
      recipientOpening: openings[1]!,
      sealed: sealed.find(({ dealer }) => dealer === 3)!,
      revealedSealingKey: answer.verdicts[2]!.revealedSealingKey,
      dealerIdentityKey: identityKey(3),
    });
    expect(judged).toBe(3);

    const record = text(ceremony.nodes[1]!, dkgRecordKey('acme', 'key-1'));
    expect(record).not.toMatch(/polynomial|"share"/);
    ceremony.nodes[1]!.crash();
    expect(ceremony.verify(2, openings, sealedFor(2))).toEqual(answer);
    const open = { case: 'dkgOpen', value: { curve, threshold: 2, totalNodes: 3 } } as const;
    expect(refusal(ceremony.nodes[1]!.dkg(ceremony.names, open))).toBe('ATTEMPT_BROKEN');
    const next = { ...ceremony.names, attempt: 2 };
    expect(only(ceremony.nodes[1]!.dkg(next, open), 'dkgOpened').opening!.commitments).not.toEqual(
      openings[1]!.commitments,
    );
  });

  it('complains about a share that does not fit, and the evidence acquits an honest dealer', () => {
    const ceremony = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    const { openings, sealedFor } = ceremony.dealAll();
    // A cheat deals one polynomial and seals another: what an honest node of another attempt would seal.
    const cheat = new Ceremony({ curve, threshold: 2, totalNodes: 3, label: 'cheat' });
    cheat.open(3);
    const [bad] = cheat.seal(3, [openings[1]!]);
    const answer = ceremony.verify(2, [openings[2]!], [bad!]);
    expect(answer.verdicts).toMatchObject([{ dealer: 3, verified: false, code: 'SHARE_INVALID' }]);
    const evidence = {
      terms: ceremony.terms,
      dealerOpening: openings[2]!,
      recipientOpening: openings[1]!,
      revealedSealingKey: answer.verdicts[0]!.revealedSealingKey,
      dealerIdentityKey: identityKey(3),
    };
    expect(evaluateComplaint({ ...evidence, sealed: bad! })).toBe(3);
    // The good box convicts a node that complains about it, and another key convicts the node that reveals it.
    const good = sealedFor(2).find(({ dealer }) => dealer === 3)!;
    expect(evaluateComplaint({ ...evidence, sealed: good })).toBe(2);
    expect(evaluateComplaint({ ...evidence, sealed: bad!, revealedSealingKey: new Uint8Array(32) })).toBe(2);
    expect(evaluateComplaint({ ...evidence, sealed: { ...good, box: flipped(good.box) } })).toBeUndefined();
  });

  it('names the one dealer of a wrong share, or of a commitment that is no point, among all at once', () => {
    const cheat = new Ceremony({ curve, threshold: 2, totalNodes: 3, label: 'cheat' });
    cheat.open(3);
    const wrongShare = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    const dealt = wrongShare.dealAll();
    const [bad] = cheat.seal(3, [dealt.openings[1]!]);
    const sealed = dealt.sealedFor(2).map((share) => (share.dealer === 3 ? bad! : share));
    const complaint = wrongShare.verify(2, dealt.openings, sealed);
    expect(complaint.verdicts.map(({ code }) => code)).toEqual(['', '', 'SHARE_INVALID']);
    expect(complaint.verdicts[2]!.revealedSealingKey).toHaveLength(32);

    const noPoint = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    const { openings, sealedFor } = noPoint.dealAll();
    const [first, second] = openings[2]!.commitments;
    const commitments = [first!, new Uint8Array(second!.length).fill(0xff)];
    const garbled = resignedOpening(noPoint, { ...openings[2]!, commitments });
    const refused = noPoint.verify(2, [openings[0]!, openings[1]!, garbled], sealedFor(2));
    expect(refused.verdicts.map(({ code }) => code)).toEqual(['', '', 'OPENING_INVALID']);
    expect(noPoint.verify(2, openings, sealedFor(2)).finished).toBeDefined();
  });

  it('reveals nothing about a box that its dealer did not sign', () => {
    const ceremony = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    const { openings, sealedFor } = ceremony.dealAll();
    const sealed = sealedFor(2).map((share) => (share.dealer === 3 ? { ...share, box: flipped(share.box) } : share));
    const answer = ceremony.verify(2, openings, sealed);
    expect(answer.verdicts[2]).toMatchObject({ code: 'SHARE_UNSIGNED', revealedSealingKey: empty });
    expect(ceremony.verify(2, openings, sealedFor(2)).finished).toBeDefined();
  });

  it('finds a tampered opening and a false proof of possession, and says which', () => {
    const ceremony = new Ceremony({ curve, threshold: 2, totalNodes: 3 });
    const { openings, sealedFor } = ceremony.dealAll();
    const sealed = sealedFor(2).filter(({ dealer }) => dealer === 1);
    const forged = [
      { ...openings[0]!, sealingKey: flipped(openings[0]!.sealingKey) },
      { ...openings[0]!, commitments: openings[1]!.commitments },
      { ...openings[0]!, signature: empty },
    ];
    for (const opening of forged) {
      const { verdicts } = ceremony.verify(2, [opening], sealed);
      expect(verdicts).toMatchObject([{ code: 'OPENING_INVALID', revealedSealingKey: empty }]);
      const sealFor = { case: 'dkgSeal' as const, value: { recipients: [opening] } };
      expect(refusal(ceremony.nodes[1]!.dkg(ceremony.names, sealFor))).toBe('OPENING_INVALID');
    }
    const unproven = resignedOpening(ceremony, { ...openings[0]!, possession: openings[1]!.possession });
    expect(ceremony.verify(2, [unproven], sealed).verdicts).toMatchObject([
      { code: 'POSSESSION_INVALID', revealedSealingKey: empty },
    ]);
    expect(ceremony.verify(2, [openings[0]!], sealed).verdicts[0]!.verified).toBe(true);
  });
});

describe('the echo', () => {
  it('refuses results that are not all equal, and keeps the package provisional', () => {
    const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 3 });
    const results = ceremony.finishAll();
    const transcriptDigest = flipped(results[2]!.transcriptDigest);
    const other = { ...results[2]!, transcriptDigest };
    const transcript = finishTranscript(sessionContext(ceremony.terms), other);
    const signature = sign(identityFromSeed(identitySeedOf(3)).secretKey, transcript);
    const different = [...results.slice(0, 2), { ...other, signature }];
    const told = only(ceremony.confirm(1, different), 'dkgRefused');
    expect(told).toMatchObject({ code: 'TRANSCRIPT_MISMATCH', culprits: [] });
    expect(ceremony.nodes[0]!.records.has(keyRecordKey('acme', 'key-1'))).toBe(false);
    only(ceremony.confirm(1, results), 'dkgConfirmed');
    expect(refusal(ceremony.confirm(1, different))).toBe('TRANSCRIPT_MISMATCH');
  });

  it('finds the dealer that told two nodes different things', () => {
    const ceremony = new Ceremony({ curve: 'ed25519', threshold: 2, totalNodes: 3 });
    const twin = new Ceremony({ curve: 'ed25519', threshold: 2, totalNodes: 3, label: 'twin' });
    const { openings, sealedFor } = ceremony.dealAll();
    const lie = twin.open(3);
    const [liedShare] = twin.seal(3, [openings[0]!]);
    const forOne = [...sealedFor(1).filter(({ dealer }) => dealer !== 3), liedShare!];
    const results = [
      ceremony.verify(1, [openings[0]!, openings[1]!, lie], forOne).finished!,
      ceremony.verify(2, openings, sealedFor(2)).finished!,
      ceremony.verify(3, openings, sealedFor(3)).finished!,
    ];
    for (const nodeId of [1, 2, 3]) expect(refusal(ceremony.confirm(nodeId, results))).toBe('TRANSCRIPT_MISMATCH');
  });

  it('refuses results that are missing, repeated or not signed by their node', () => {
    const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 3 });
    const results = ceremony.finishAll();
    expect(refusal(ceremony.confirm(1, results.slice(0, 2)))).toBe('REQUEST_INVALID');
    expect(refusal(ceremony.confirm(1, [results[0]!, results[0]!, results[1]!]))).toBe('REQUEST_INVALID');
    const borrowed = { ...results[1]!, nodeId: 3 };
    expect(refusal(ceremony.confirm(1, [results[0]!, results[1]!, borrowed]))).toBe('SIGNATURE_INVALID');
  });

  it('leaves neither polynomial nor shares behind in the record of a final session', () => {
    const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 3 });
    ceremony.run();
    for (const node of ceremony.nodes) {
      const record = text(node, dkgRecordKey('acme', 'key-1'));
      expect(record).not.toMatch(/polynomial|seed|"share"|signing_share/);
      expect(text(node, keyRecordKey('acme', 'key-1'))).toMatch(/signing_share/);
    }
  });
});

describe('a request out of order', () => {
  const open = { case: 'dkgOpen', value: { curve: 'secp256k1', threshold: 2, totalNodes: 3 } } as const;
  const names = { tenant: 'acme', session: 'key-1', attempt: 2 };
  const fresh = () => new TestNode(1, rosterOf(3));

  it('is refused before the attempt is open', () => {
    const node = fresh();
    expect(refusal(node.dkg(names, { case: 'dkgSeal', value: {} }))).toBe('NOT_OPEN');
    expect(refusal(node.dkg(names, { case: 'dkgVerify', value: {} }))).toBe('NOT_OPEN');
    expect(refusal(node.dkg(names, { case: 'dkgConfirm', value: {} }))).toBe('NOT_OPEN');
    only(node.dkg(names, open), 'dkgOpened');
    expect(refusal(node.dkg({ ...names, attempt: 3 }, { case: 'dkgSeal', value: {} }))).toBe('NOT_OPEN');
    expect(refusal(node.dkg(names, { case: 'dkgConfirm', value: {} }))).toBe('NOT_FINISHED');
  });

  it('is refused as stale when a later attempt is known, and deals anew for a later one', () => {
    const node = fresh();
    const first = only(node.dkg(names, open), 'dkgOpened').opening!;
    const second = only(node.dkg({ ...names, attempt: 3 }, open), 'dkgOpened').opening!;
    expect(second.commitments).not.toEqual(first.commitments);
    expect(second.sealingKey).not.toEqual(first.sealingKey);
    for (const body of [open, { case: 'dkgVerify', value: {} }, { case: 'dkgDiscard', value: {} }] as const) {
      expect(refusal(node.dkg(names, body))).toBe('STALE_ATTEMPT');
    }
    expect(only(node.dkg({ ...names, attempt: 3 }, open), 'dkgOpened').opening).toEqual(second);
  });

  it('is refused with other parameters, or with impossible ones', () => {
    const node = fresh();
    const other = (value: Partial<typeof open.value> | { curve: string }) =>
      refusal(node.dkg(names, { case: 'dkgOpen', value: { ...open.value, ...value } }));
    expect(other({ curve: 'p256' })).toBe('REQUEST_INVALID');
    expect(other({ threshold: 1 as 2 })).toBe('REQUEST_INVALID');
    expect(other({ threshold: 4 as 2 })).toBe('REQUEST_INVALID');
    expect(other({ totalNodes: 4 as 3 })).toBe('REQUEST_INVALID');
    for (const participants of [
      [1, 2],
      [2, 1, 3],
      [1, 1, 3],
      [1, 2, 4],
    ]) {
      expect(other({ participants } as object)).toBe('REQUEST_INVALID');
    }
    expect(other({ totalNodes: 2 as 3, participants: [2, 3] } as object)).toBe('REQUEST_INVALID');
    only(node.dkg(names, open), 'dkgOpened');
    expect(other({ totalNodes: 2 as 3, participants: [1, 3] } as object)).toBe('PARAMETERS_CHANGED');
    only(node.dkg(names, { case: 'dkgOpen', value: { ...open.value, participants: [1, 2, 3] } }), 'dkgOpened');
    expect(other({ curve: 'ed25519' })).toBe('PARAMETERS_CHANGED');
    expect(other({ threshold: 3 as 2 })).toBe('PARAMETERS_CHANGED');
    expect(
      refusal(new TestNode(3, rosterOf(3)).dkg(names, { case: 'dkgOpen', value: { ...open.value, totalNodes: 2 } })),
    ).toBe('REQUEST_INVALID');
  });

  it('is refused when frame and address name different sessions, or the frame no attempt', () => {
    const node = fresh();
    expect(refusal(node.dkg(names, open, 'node/1/dkg/acme/key-2'))).toBe('REQUEST_INVALID');
    expect(refusal(node.dkg(names, open, 'node/1/dkg/other/key-1'))).toBe('REQUEST_INVALID');
    expect(refusal(node.dkg(names, open, 'node/1/dkg/acme/key-1/more'))).toBe('REQUEST_INVALID');
    expect(refusal(node.dkg({ ...names, attempt: 0 }, open))).toBe('REQUEST_INVALID');
    expect(node.records.size).toBe(0);
  });

  it('is refused when it is none of a key generation, whatever its fields', () => {
    const dealNonces = { case: 'dealNonces', value: { request: 7n } } as const;
    const refused = only(fresh().dkg(names, dealNonces), 'dkgRefused');
    expect(refused).toMatchObject({ code: 'REQUEST_INVALID', request: 0 });
  });

  it('is refused when it contradicts itself', () => {
    const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 3 });
    const { openings, sealedFor } = ceremony.dealAll();
    const [one, , three] = openings as [DkgOpening, DkgOpening, DkgOpening];
    const sealedOne = sealedFor(2).filter(({ dealer }) => dealer === 1);
    const { opening: supplied, share } = suppliedDealer('secp256k1', 2, 1, 'client');
    const contradictions = [
      { dealers: [one, one], sealed: sealedOne },
      { dealers: [one] },
      { dealers: [], sealed: sealedOne },
      { dealers: [three], sealed: sealedOne },
      { dealers: [one], sealed: sealedFor(3).filter(({ dealer }) => dealer === 1) },
      { dealers: [one], sealed: sealedOne, clientSupplied: [share(2)] },
      { dealers: [supplied], sealed: sealedOne },
      { dealers: [{ ...one, dealer: 4 }], sealed: [{ ...sealedOne[0]!, dealer: 4 }] },
      { dealers: [], clientSupplied: [share(2)] },
    ];
    for (const value of contradictions) {
      expect(refusal(ceremony.nodes[1]!.dkg(ceremony.names, { case: 'dkgVerify', value }))).toBe('REQUEST_INVALID');
    }
  });

  it('does not deal a discarded attempt again, and keeps a final key', () => {
    const node = fresh();
    only(node.dkg(names, open), 'dkgOpened');
    expect(node.dkg(names, { case: 'dkgDiscard', value: {} })).toEqual([]);
    expect(node.dkg(names, { case: 'dkgDiscard', value: {} })).toEqual([]);
    expect(text(node, dkgRecordKey('acme', 'key-1'))).not.toMatch(/polynomial|seed/);
    node.crash();
    expect(refusal(node.dkg(names, open))).toBe('ATTEMPT_DISCARDED');
    expect(refusal(node.dkg(names, { case: 'dkgVerify', value: {} }))).toBe('ATTEMPT_DISCARDED');
    const second = { ...names, attempt: 2 };
    expect(node.dkg(second, { case: 'dkgDiscard', value: {} })).toEqual([]);
    expect(refusal(node.dkg(second, open))).toBe('ATTEMPT_DISCARDED');
    only(node.dkg({ ...names, attempt: 3 }, open), 'dkgOpened');

    const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 3 });
    ceremony.run();
    const [first] = ceremony.nodes;
    expect(refusal(first!.dkg(ceremony.names, { case: 'dkgDiscard', value: {} }))).toBe('ALREADY_FINAL');
    expect(refusal(first!.dkg({ ...ceremony.names, attempt: 9 }, open))).toBe('ALREADY_FINAL');
    const late = only(first!.dkg(ceremony.names, { case: 'dkgSeal', value: { request: 7 } }), 'dkgRefused');
    expect([late.code, late.request]).toEqual(['ALREADY_FINAL', 7]);
    first!.crash();
    const { results } = only(first!.dkg(ceremony.names, { case: 'dkgSeal', value: {} }), 'dkgRefused');
    expect(results.map(({ nodeId }) => nodeId)).toEqual([1, 2, 3]);
    for (const result of results) {
      expect(verifyFinished(ceremony.terms, result, identityKey(result.nodeId))).toBe(true);
      expect(verifyFinished({ ...ceremony.terms, attempt: 2 }, result, identityKey(result.nodeId))).toBe(false);
      const changed = { ...result, publicKey: result.verificationShares[0]! };
      expect(verifyFinished(ceremony.terms, changed, identityKey(result.nodeId))).toBe(false);
    }
  });
});

describe('the transition table', () => {
  const names = { tenant: 'acme', session: 'key-1', attempt: 1 };
  const open = { case: 'dkgOpen', value: { curve: 'secp256k1', threshold: 2, totalNodes: 3 } } as const;

  /** A ceremony whose node 1 is in this phase, with what the five requests need. */
  function inPhase(phase: DkgPhase) {
    const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 3 });
    const [node] = ceremony.nodes as [TestNode];
    // The openings and results of a twin ceremony: the same labels give the same randomness.
    const twin = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 3 });
    const { openings, sealedFor } = twin.dealAll();
    const verify = { case: 'dkgVerify' as const, value: { dealers: openings, sealed: sealedFor(1) } };
    const results = [1, 2, 3].map((id) => twin.verify(id, openings, sealedFor(id)).finished!);
    const requests: { readonly [Case in DkgRequestCase]: WireBodyInit } = {
      dkgOpen: open,
      dkgSeal: { case: 'dkgSeal', value: { recipients: openings } },
      dkgVerify: verify,
      dkgConfirm: { case: 'dkgConfirm', value: { results } },
      dkgDiscard: { case: 'dkgDiscard', value: {} },
    };
    const broken = sealedFor(1).map((share) => resigned(twin, share));
    const steps: { readonly [Phase in DkgPhase]: readonly WireBodyInit[] } = {
      unopened: [],
      dealing: [open],
      provisional: [open, verify],
      final: [open, verify, requests.dkgConfirm],
      broken: [open, { case: 'dkgVerify', value: { dealers: openings, sealed: broken } }],
      discarded: [open, requests.dkgDiscard],
    };
    for (const step of steps[phase]) node.dkg(names, step);
    return { node, requests };
  }

  function phaseOf(node: TestNode): DkgPhase {
    const record = node.records.get(dkgRecordKey('acme', 'key-1'));
    return record === undefined ? 'unopened' : decodeDkgRecord(record).phase;
  }

  const phases = Object.keys(dkgTransitions) as DkgPhase[];
  const cases: DkgRequestCase[] = ['dkgOpen', 'dkgSeal', 'dkgVerify', 'dkgConfirm', 'dkgDiscard'];
  const rows = phases.flatMap((phase) =>
    cases.flatMap((request) => [1, 2].map((attempt) => [phase, request, attempt] as const)),
  );

  it.each(rows)('holds for %s, %s, attempt %i', (phase, request, attempt) => {
    const { node, requests } = inPhase(phase);
    expect(phaseOf(node)).toBe(phase);
    const before = node.records.get(dkgRecordKey('acme', 'key-1'));
    const sent = node.dkg({ ...names, attempt }, requests[request]);
    const isRefused = sent[0]?.message.body.case === 'dkgRefused';
    const leadsTo = dkgTransitions[phase][request];
    if (leadsTo === undefined) expect(isRefused).toBe(true);
    if (isRefused) expect(node.records.get(dkgRecordKey('acme', 'key-1'))).toBe(before);
    else expect(leadsTo).toContain(phaseOf(node));
  });
});

describe('a store that fails', () => {
  it.each(['lost', 'applied'] as const)('makes the node silent, and never deal twice (write %s)', (writesFail) => {
    const open = { case: 'dkgOpen', value: { curve: 'ed25519', threshold: 2, totalNodes: 3 } } as const;
    const names = { tenant: 'acme', session: 'key-1', attempt: 1 };
    const node = new TestNode(1, rosterOf(3));
    node.writesFail = writesFail;
    expect(node.dkg(names, open)).toEqual([]);
    expect(node.isRunning('node/1/dkg/acme/key-1')).toBe(false);
    const durable = node.records.get(dkgRecordKey('acme', 'key-1'));
    node.writesFail = 'no';
    const { opening } = only(node.dkg(names, open), 'dkgOpened');
    if (writesFail === 'applied') expect(node.records.get(dkgRecordKey('acme', 'key-1'))).toBe(durable);
    expect(only(node.dkg(names, open), 'dkgOpened').opening).toEqual(opening);
  });

  it('stops a session that has been idle', () => {
    const node = new TestNode(1, rosterOf(3));
    const address = 'node/1/dkg/acme/key-1';
    const names = { tenant: 'acme', session: 'key-1', attempt: 1 };
    node.dkg(names, { case: 'dkgVerify', value: {} });
    node.elapse(59_000);
    expect(node.isRunning(address)).toBe(true);
    node.elapse(1_000);
    expect(node.isRunning(address)).toBe(false);
  });
});

describe('the sandbox seed', () => {
  const sandbox = { seed: new Uint8Array(32).fill(7), tenant: 'sandbox', sessions: ['demo-1'] };
  const nodesOf = (label: string) =>
    rosterOf(3).nodes.map(({ id }) => new TestNode(id, rosterOf(3), { sandbox, label: `${label} ${id}` }));
  const keyOf = (label: string, tenant: string, session: string) => {
    const names = { tenant, session, attempt: 1 };
    const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 3, names, nodes: nodesOf(label) });
    ceremony.run();
    return ceremony.keyPackages()[0]!;
  };

  it('fixes the ready-made keys, and them alone', () => {
    const seeded = keyOf('monday', 'sandbox', 'demo-1');
    expect(keyOf('tuesday', 'sandbox', 'demo-1').publicKey).toEqual(seeded.publicKey);
    expect(keyOf('tuesday', 'sandbox', 'demo-1').chainCode).toEqual(seeded.chainCode);
    const dealt = [1, 2, 3].map(
      (id) => commitTo('secp256k1', polynomialFromSeed('secp256k1', 2, sandbox.seed, id, 'demo-1'))[0]!,
    );
    expect(seeded.publicKey).toEqual(groupOf('secp256k1').sum(dealt));
    for (const [tenant, session] of [
      ['sandbox', 'demo-2'],
      ['other', 'demo-1'],
    ] as const) {
      expect(equalBytes(keyOf('monday', tenant, session).publicKey, keyOf('tuesday', tenant, session).publicKey)).toBe(
        false,
      );
    }
  });

  it('deals them again for the same terms alone, also after a discarded attempt and a restart', () => {
    const terms = { curve: 'secp256k1', threshold: 2, totalNodes: 3, participants: [1, 2, 3] };
    const node = new TestNode(1, rosterOf(4), { sandbox });
    const ask = (session: string, attempt: number, changes: object = {}) =>
      node.dkg({ tenant: 'sandbox', session, attempt }, { case: 'dkgOpen', value: { ...terms, ...changes } });
    const first = only(ask('demo-1', 1), 'dkgOpened').opening!;
    node.dkg({ tenant: 'sandbox', session: 'demo-1', attempt: 1 }, { case: 'dkgDiscard', value: {} });
    node.crash();
    const others = [{ threshold: 3 }, { participants: [1, 2, 4] }, { totalNodes: 4, participants: [1, 2, 3, 4] }];
    for (const changes of others) {
      const { code, message } = only(ask('demo-1', 2, changes), 'dkgRefused');
      expect([code, message]).toEqual(['PARAMETERS_CHANGED', expect.stringContaining('it was 2 of 3 on secp256k1')]);
    }
    expect(only(ask('demo-1', 2), 'dkgOpened').opening!.commitments).toEqual(first.commitments);
    // A key of another name is dealt afresh in each attempt.
    const openings = [1, 2].map((attempt) => only(ask('demo-2', attempt), 'dkgOpened').opening!);
    expect(openings[0]!.commitments).not.toEqual(openings[1]!.commitments);
  });

  it('gives no sealing key, no possession nonce and no box', () => {
    const open = { case: 'dkgOpen', value: { curve: 'secp256k1', threshold: 2, totalNodes: 3 } } as const;
    const names = { tenant: 'sandbox', session: 'demo-1', attempt: 1 };
    const [monday, tuesday] = ['monday', 'tuesday'].map(
      (label) => only(nodesOf(label)[0]!.dkg(names, open), 'dkgOpened').opening!,
    );
    expect(monday!.commitments).toEqual(tuesday!.commitments);
    expect(monday!.sealingKey).not.toEqual(tuesday!.sealingKey);
    expect(monday!.possession).not.toEqual(tuesday!.possession);
  });
});

it('emits no secret, and names tenant and session', () => {
  const ceremony = new Ceremony({ curve: 'secp256k1', threshold: 2, totalNodes: 3 });
  ceremony.run();
  for (const node of ceremony.nodes) {
    expect(node.events.length).toBeGreaterThan(0);
    expect(JSON.stringify(node.events)).not.toMatch(/[0-9a-f]{32}/);
    const ofDkg = node.events.filter(({ event }) => event.type.startsWith('dkg.'));
    expect(ofDkg.length).toBeGreaterThan(0);
    for (const { event } of ofDkg) expect(event.fields).toMatchObject({ tenant: 'acme', session: 'key-1' });
  }
});

/** The same share with a broken box, signed by its (cheating) dealer. */
function resigned(ceremony: Ceremony, share: { dealer: number; recipient: number; box: Uint8Array }) {
  const broken = { dealer: share.dealer, recipient: share.recipient, box: flipped(share.box) };
  return {
    ...broken,
    signature: signedBy(broken.dealer, sealedShareTranscript(sessionContext(ceremony.terms), broken)),
  };
}

function resignedOpening(ceremony: Ceremony, opening: Plain<DkgOpening>): Plain<DkgOpening> {
  return {
    ...opening,
    signature: signedBy(opening.dealer, openingTranscript(sessionContext(ceremony.terms), opening)),
  };
}

function signedBy(nodeId: number, transcript: Uint8Array): Uint8Array {
  return sign(identityFromSeed(identitySeedOf(nodeId)).secretKey, transcript);
}

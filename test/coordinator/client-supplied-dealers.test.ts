/** A DKG with client-supplied dealers beside nodes that deal themselves. */
import { describe, expect, test } from 'vitest';
import { type Curve, groupOf } from '../../core/crypto/group.ts';
import { type Polynomial, randomPolynomial } from '../../core/crypto/polynomial.ts';
import { commitTo, shareFor } from '../../core/crypto/vss.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import { begin, codeOf, groupKey, tenant } from './support/world.ts';

/** A session of three nodes, two of which sign; exchanges as a client calls them. */
function session(curve: Curve, label: string) {
  const cluster = new SimCluster({ seed: `${label} ${curve}`, nodes: 3 });
  const sessionId = 'k';
  cluster.initiateDkg({ sessionId, threshold: 2, totalNodes: 3, derivation: { curve } }).result();
  const group = groupOf(curve);
  const polynomial = (name: string): Polynomial => randomPolynomial(curve, 2, randomStream(label, name));
  const exchange = (senderNodeId: number, recipientNodeId: number, more: object = {}) =>
    cluster.exchangeDkgShares({ sessionId, senderNodeId, recipientNodeId, ...more }).result();
  const dealt = (secret: Polynomial, recipient: number) => ({
    encryptedShare: group.encodeScalar(shareFor(curve, secret, recipient)),
    commitments: commitTo(curve, secret),
  });
  const supply = (secret: Polynomial, dealer: number, recipient: number) =>
    exchange(dealer, recipient, dealt(secret, recipient));
  const stored = () => cluster.storedSession(tenant, sessionId)!;
  return { cluster, group, polynomial, exchange, dealt, supply, stored };
}

describe.each(['secp256k1', 'ed25519'] as const)('on %s', (curve) => {
  test('a client-supplied dealer’s polynomial replaces the node’s own', () => {
    const { cluster, group, polynomial, exchange, supply } = session(curve, 'all supplied');
    const secrets = [polynomial('a'), polynomial('b'), polynomial('c')];
    const answers = [1, 2, 3].flatMap((dealer) => [1, 2, 3].map((to) => supply(secrets[dealer - 1]!, dealer, to)));
    expect(answers.map((answer) => answer.verified)).toEqual(answers.map(() => true));
    // The pair of dealer 3 with itself comes after the end: its share was interpolated, and is the right one.
    const codes = [...Array.from({ length: 7 }, () => 'SHARE_VERIFIED'), 'DKG_COMPLETED', 'DKG_COMPLETED'];
    expect(answers.map(codeOf)).toEqual(codes);
    const secret = secrets.reduce((sum, one) => (sum + one[0]!) % group.order, 0n);
    expect(Buffer.from(groupKey(cluster, 'k'))).toEqual(Buffer.from(group.baseMultiply(secret)));
    expect(codeOf(exchange(0, 0))).toBe('DKG_COMPLETED');

    const right = supply(secrets[0]!, 1, 2);
    expect([codeOf(right), right.verified]).toEqual(['DKG_COMPLETED', true]);
    const wrong = exchange(1, 2, {
      encryptedShare: new Uint8Array(32).fill(1),
      commitments: commitTo(curve, secrets[0]!),
    });
    expect([codeOf(wrong), wrong.verified]).toEqual(['SHARE_VERIFICATION_FAILED', false]);
    const { signingSessionId } = begin(cluster, 't');
    expect(cluster.submitSignatureShare({ signingSessionId }).result().isComplete).toBe(true);
  });

  test('a wrong share changes nothing, and the right one can follow', () => {
    const { polynomial, exchange, dealt, supply, stored } = session(curve, 'wrong then right');
    const secret = polynomial('a');
    const wrong = exchange(1, 2, { ...dealt(secret, 2), encryptedShare: dealt(secret, 3).encryptedShare });
    expect([codeOf(wrong), wrong.verified, wrong.receipt!.state]).toEqual([
      'SHARE_VERIFICATION_FAILED',
      false,
      ReceiptState.DENIED,
    ]);
    expect(wrong.errorMessage).toContain('encrypted_share: dealer 1');
    expect(stored().epoch).toBe(1);
    expect(codeOf(supply(secret, 1, 2))).toBe('SHARE_VERIFIED');
    expect(stored().epoch).toBe(2);
    const again = supply(secret, 1, 2);
    expect([codeOf(again), again.verified, again.receipt!.epoch]).toEqual(['SHARE_VERIFIED', true, 2n]);
    expect(codeOf(exchange(1, 2, { ...dealt(secret, 2), encryptedShare: dealt(secret, 3).encryptedShare }))).toBe(
      'SHARE_VERIFICATION_FAILED',
    );
    expect(exchange(1, 2).verified).toBe(true);
    expect(stored().epoch).toBe(2);
  });

  test('a dealer is client-supplied or real from its first exchange, and always with the same commitments', () => {
    const { polynomial, exchange, supply, stored } = session(curve, 'conflicts');
    const secret = polynomial('a');
    supply(secret, 1, 1);
    expect(codeOf(supply(polynomial('other'), 1, 2))).toBe('COMMITMENT_MISMATCH');
    expect(exchange(2, 1).verified).toBe(true);
    const late = supply(polynomial('late'), 2, 3);
    expect(codeOf(late)).toBe('COMMITMENT_MISMATCH');
    expect(late.errorMessage).toContain('dealer 2 is the node process');
    const notSupplied = exchange(1, 3);
    expect(codeOf(notSupplied)).toBe('INVALID_REQUEST');
    expect(notSupplied.errorMessage).toContain(
      'encrypted_share and commitments are missing: the client supplies dealer 1',
    );
    expect(stored().epoch).toBe(3);
  });

  test('a whole round runs the real dealers and lists the pairs that client-supplied ones owe', () => {
    const { polynomial, exchange, supply } = session(curve, 'whole round');
    const secret = polynomial('a');
    supply(secret, 2, 3);
    const round = exchange(0, 0);
    expect([codeOf(round), round.verified]).toEqual(['SHARE_VERIFIED', true]);
    expect(round.receipt!.message).toBe('5 of 6 pairs have verified, missing 2>1; the client supplies dealer 2');
    expect(exchange(0, 0).receipt!.message).toContain('missing 2>1; the client supplies dealer 2');
    expect(codeOf(supply(secret, 2, 1))).toBe('DKG_COMPLETED');
    expect(codeOf(supply(secret, 2, 2))).toBe('DKG_COMPLETED');
  });

  test('one id alone means a row or a column', () => {
    const { exchange, stored } = session(curve, 'row and column');
    const pairs = () => {
      const { ceremony } = stored();
      return ceremony.kind === 'dkg' ? ceremony.verified : [];
    };
    expect(exchange(2, 0).verified).toBe(true);
    expect(pairs()).toEqual(['2>1', '2>2', '2>3']);
    expect(exchange(0, 3).verified).toBe(true);
    expect(pairs()).toEqual(['1>3', '2>1', '2>2', '2>3', '3>3']);
    expect(exchange(2, 0).receipt!.epoch).toBe(3n);
    expect(codeOf(exchange(0, 0))).toBe('DKG_COMPLETED');
  });

  test('survives a restart of everything between two exchanges', () => {
    const { cluster, polynomial, exchange, supply } = session(curve, 'restart');
    const secret = polynomial('a');
    supply(secret, 1, 1);
    exchange(2, 3);
    cluster.crash('coordinator');
    for (const id of [1, 2, 3]) {
      cluster.crash(`node/${id}`);
      cluster.start(`node/${id}`);
    }
    cluster.start('coordinator');
    expect(codeOf(supply(polynomial('other'), 1, 2))).toBe('COMMITMENT_MISMATCH');
    expect(codeOf(supply(secret, 1, 2))).toBe('SHARE_VERIFIED');
    expect(codeOf(exchange(0, 0))).toBe('SHARE_VERIFIED');
    expect(codeOf(supply(secret, 1, 3))).toBe('DKG_COMPLETED');
  });

  test('client-supplied dealers whose keys cancel out are refused at the last share', () => {
    const { group, polynomial, supply } = session(curve, 'cancel');
    const [a, b] = [polynomial('a'), polynomial('b')];
    const c: Polynomial = [group.order - ((a[0]! + b[0]!) % group.order), b[1]!];
    const answers = [a, b, c].flatMap((secret, index) => [1, 2, 3].map((to) => supply(secret, index + 1, to)));
    expect(answers.slice(0, 6).map(codeOf)).toEqual(Array.from({ length: 6 }, () => 'SHARE_VERIFIED'));
    expect(answers.slice(6).map(codeOf)).toEqual(Array.from({ length: 3 }, () => 'SHARE_VERIFICATION_FAILED'));
  });
});

describe('without a node’s consent', () => {
  const alone = { threshold: 2, totalNodes: 3 };

  test('a client-supplied share is denied by that node, the session is unchanged, and the node deals itself', () => {
    const cluster = new SimCluster({ seed: 'no consent', nodes: 3, clientDealers: (nodeId) => nodeId !== 2 });
    cluster.initiateDkg({ sessionId: 'k', ...alone }).result();
    const secret = randomPolynomial('secp256k1', 2, randomStream('no consent', 'a'));
    const supply = (recipientNodeId: number) =>
      cluster
        .exchangeDkgShares({
          sessionId: 'k',
          senderNodeId: 1,
          recipientNodeId,
          encryptedShare: groupOf('secp256k1').encodeScalar(shareFor('secp256k1', secret, recipientNodeId)),
          commitments: commitTo('secp256k1', secret),
        })
        .result();
    const refused = supply(2);
    expect([codeOf(refused), refused.verified, refused.receipt!.state]).toEqual([
      'CLIENT_DEALERS_NOT_ALLOWED',
      false,
      ReceiptState.DENIED,
    ]);
    expect(refused.errorMessage).toContain('node 2 refuses it');
    expect(cluster.storedSession(tenant, 'k')).toMatchObject({ epoch: 1, ceremony: { played: {} } });
    expect(codeOf(cluster.exchangeDkgShares({ sessionId: 'k' }).result())).toBe('DKG_COMPLETED');
  });

  test('a wallet’s key takes none, whatever the nodes allow', () => {
    const cluster = new SimCluster({ seed: 'wallet', nodes: 3 });
    const service = { walletService: true };
    cluster.initiateDkg({ sessionId: 'wal_1', ...alone }, tenant, service).result();
    const secret = randomPolynomial('secp256k1', 2, randomStream('wallet', 'a'));
    const share = {
      sessionId: 'wal_1',
      senderNodeId: 1,
      recipientNodeId: 2,
      encryptedShare: groupOf('secp256k1').encodeScalar(shareFor('secp256k1', secret, 2)),
      commitments: commitTo('secp256k1', secret),
    };
    const asked = () => cluster.trace.filter((line) => /dkgVerify/i.test(line)).length;
    expect(codeOf(cluster.exchangeDkgShares(share, tenant, service).result())).toBe('CLIENT_DEALERS_NOT_ALLOWED');
    expect(asked()).toBe(0);
    const made = cluster.exchangeDkgShares({ sessionId: 'wal_1' }, tenant, service).result();
    expect(codeOf(made)).toBe('DKG_COMPLETED');
    expect(asked()).toBeGreaterThan(0);
  });
});

test('the key’s record and its events list the dealers that a client supplied', () => {
  const { cluster, polynomial, exchange, supply } = session('secp256k1', 'listed');
  const secret = polynomial('a');
  for (const recipient of [1, 2, 3]) supply(secret, 3, recipient);
  expect(codeOf(exchange(0, 0))).toBe('DKG_COMPLETED');
  expect(cluster.eventLog(tenant).at(-1)).toMatchObject({
    type: 'dkg.session.completed',
    object: { client_supplied_dealers: [3] },
  });
  expect(cluster.eventLog(tenant)[0]).toMatchObject({ object: { client_supplied_dealers: [] } });
  expect(cluster.storedKey(tenant, 'k')).toMatchObject({ clientSuppliedDealers: [3] });
});

test('a client-supplied share for an unreachable node leaves the session as it was', () => {
  const { cluster, polynomial, supply, stored } = session('secp256k1', 'away');
  cluster.crash('node/2');
  const away = supply(polynomial('a'), 1, 2);
  expect([codeOf(away), away.checkpoint!.state, stored().epoch]).toEqual([
    'NODES_UNAVAILABLE',
    ReceiptState.ACCEPTED,
    1,
  ]);
  expect(away.errorMessage).toContain('node 2');
});

describe('the ordered pairs of two different nodes complete a key', () => {
  test.each(['secp256k1', 'ed25519'])('twenty of them, of five real dealers on %s', (curve) => {
    const cluster = new SimCluster({ seed: `twenty ${curve}` });
    cluster.initiateDkg({ sessionId: 'k', threshold: 3, totalNodes: 5, derivation: { curve } }).result();
    const ids = [1, 2, 3, 4, 5];
    const pairs = ids.flatMap((from) => ids.filter((to) => to !== from).map((to) => [from, to] as const));
    const answers = pairs.map(([senderNodeId, recipientNodeId]) =>
      cluster.exchangeDkgShares({ sessionId: 'k', senderNodeId, recipientNodeId }).result(),
    );
    expect(answers.map(codeOf)).toEqual([...Array.from({ length: 19 }, () => 'SHARE_VERIFIED'), 'DKG_COMPLETED']);
    expect(answers[0]!.receipt!.message).toBe(
      '1 of 20 pairs have verified, missing 1>3, 1>4, 1>5, 2>1, 2>3, 2>4, 2>5, 3>1, 3>2, 3>4 and 9 more',
    );
    expect(answers[18]!.receipt!.message).toBe('19 of 20 pairs have verified, missing 5>4');
    expect(answers[19]!.receipt!.message).toMatch(/^group public key [0-9a-f]{64,66}$/);
    expect(cluster.inspectSession({ sessionId: 'k' }).result().verifiedPairs).toHaveLength(25);
    const { signingSessionId } = begin(cluster, 't', { messageHash: new Uint8Array(32).fill(1) });
    expect(cluster.submitSignatureShare({ signingSessionId }).result().isComplete).toBe(true);
  });

  test('after a crash that lost a client’s shares, the receipt asks for the pair of that dealer with itself', () => {
    const { cluster, polynomial, exchange, supply } = session('secp256k1', 'lost shares');
    const secret = polynomial('a');
    supply(secret, 1, 2);
    cluster.crash('coordinator');
    cluster.start('coordinator');
    const last = supply(secret, 1, 3);
    expect(last.receipt!.message).toBe(
      '2 of 6 pairs have verified, missing 1>1, 2>1, 2>3, 3>1, 3>2; the client supplies dealer 1',
    );
    const round = exchange(0, 0);
    expect([codeOf(round), round.receipt!.message]).toEqual([
      'SHARE_VERIFIED',
      '6 of 6 pairs have verified, missing 1>1; the client supplies dealer 1',
    ]);
    expect(codeOf(supply(secret, 1, 1))).toBe('DKG_COMPLETED');
  });

  test('where every node must sign, a client-supplied dealer’s own share is asked for', () => {
    const cluster = new SimCluster({ seed: 'two of two', nodes: 2 });
    const sessionId = 'k';
    cluster.initiateDkg({ sessionId, threshold: 2, totalNodes: 2 }).result();
    const secret = randomPolynomial('secp256k1', 2, randomStream('two of two', 'a'));
    const supply = (to: number) =>
      cluster
        .exchangeDkgShares({
          sessionId,
          senderNodeId: 1,
          recipientNodeId: to,
          encryptedShare: groupOf('secp256k1').encodeScalar(shareFor('secp256k1', secret, to)),
          commitments: commitTo('secp256k1', secret),
        })
        .result();
    expect(supply(2).receipt!.message).toContain('1 of 2 pairs have verified, missing 1>1, 2>1');
    expect(codeOf(cluster.exchangeDkgShares({ sessionId }).result())).toBe('SHARE_VERIFIED');
    expect(codeOf(supply(1))).toBe('DKG_COMPLETED');
  });

  test('the shares of a patient client stay in memory, and nowhere else', () => {
    const { cluster, polynomial, exchange, dealt, supply } = session('secp256k1', 'patient');
    const secret = polynomial('a');
    supply(secret, 1, 2);
    const later = cluster.time.nowMs() + 200_000;
    cluster.time.runUntil(() => cluster.time.nowMs() >= later);
    supply(secret, 1, 3);
    const stored = JSON.stringify(cluster.snapshot().coordinator, (_, value) =>
      value instanceof Map ? [...value] : typeof value === 'bigint' ? `${value}` : value,
    );
    for (const to of [1, 2, 3])
      expect(stored).not.toContain(Buffer.from(dealt(secret, to).encryptedShare).toString('hex'));
    expect(stored).toContain('1>2');
    expect(codeOf(exchange(0, 0))).toBe('DKG_COMPLETED');
  });
});

test.each([
  [3, 0, 'SESSION_ACCEPTED', 3, 5],
  [0, 4, 'SESSION_ACCEPTED', 3, 4],
  [0, 2, 'INVALID_THRESHOLD', 3, 2],
  [6, 0, 'INVALID_THRESHOLD', 6, 5],
  [0, 0, 'SESSION_ACCEPTED', 3, 5],
])('threshold %i and total_nodes %i: %s', (threshold, totalNodes, code, t, n) => {
  const cluster = new SimCluster({ seed: `terms ${threshold} ${totalNodes}`, nodes: 7 });
  const begun = cluster.initiateDkg({ sessionId: 'k', threshold, totalNodes }).result();
  expect(codeOf(begun)).toBe(code);
  const stored = cluster.storedSession(tenant, 'k');
  if (stored === undefined) expect(begun.receipt!.message).toContain(`threshold ${t} and total_nodes ${n}`);
  else expect(stored.ceremony).toMatchObject({ threshold: t, totalNodes: n });
});

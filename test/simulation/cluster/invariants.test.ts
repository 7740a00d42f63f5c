/** Each invariant: what keeps it is let pass, what contradicts it is named. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import { groupOf } from '../../../core/crypto/group.ts';
import type { ErrorKind } from '../../../gateway/api/errors/kinds.ts';
import { Scheme } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ApprovalMode, KeystoreType, ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { allCheckers } from '../../../simulation/cluster/invariants/checkers.ts';
import type { Checker, Observation } from '../../../simulation/cluster/observation.ts';
import type { VendorOrder } from '../../../wallets/providers/vendor/model.ts';
import {
  asked,
  begun,
  changed,
  digest,
  emitted,
  frame,
  given,
  keyMade,
  keyRecord,
  loggedOf,
  makeKeyAnswered,
  partialReply,
  resumeAnswered,
  shareAnswered,
  signing,
  stored,
  tenant,
  verdictOf,
} from './support/observations.ts';

const { ACCEPTED, BACKEND_COMPLETED, BACKEND_FAILED, DENIED, PENDING_HUMAN_APPROVAL, RESUMED, REVOKED } = ReceiptState;

/** What the checker of this name says. */
function says(
  invariant: string,
  observations: readonly Observation[],
  context: Parameters<typeof allCheckers>[0] = {},
) {
  const checker = allCheckers(context).find((one) => one.invariant === invariant) as Checker;
  return verdictOf(checker, observations);
}

const secret = Uint8Array.from({ length: 32 }, (_, index) => index + 7);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const publicKey = secp256k1.getPublicKey(secret);
const ecdsa = secp256k1.sign(digest, secret, { prehash: false, lowS: true });

test('every checker has a name of its own, in kebab-case, and finds nothing in an empty run', () => {
  const checkers = allCheckers();
  expect(new Set(checkers.map(({ invariant }) => invariant)).size).toBe(checkers.length);
  for (const checker of checkers) {
    expect(checker.invariant).toMatch(/^[a-z]+(-[a-z]+)+$/);
    expect(verdictOf(checker, [])).toBeUndefined();
  }
});

describe('nonce-signs-once', () => {
  const fields = { tenant, session: 'sig_a', attempt: 1, scheme: 1, boot: 'b1', coordinatorBoot: 'c1', nonce: 4 };
  const signed = (more = {}) => emitted('signer.partial.signed', { ...fields, ...more });
  const request = (more = {}) =>
    frame('signing/tn_test/sig_a', 'node/1', {
      case: 'partialRequest',
      value: {
        scheme: 1,
        keySession: 'k',
        derivationPath: '',
        message: digest,
        nonceNumber: 4n,
        nodeBoot: 'b1',
        coordinatorBoot: 'c1',
        signers: [],
        noncePoint: publicKey,
        mockNonceInverse: secret,
        attemptTag: 1n,
        ...more,
      },
    });

  test('lets a node sign with many nonces, and without one', () => {
    const seen = [signed(), signed({ nonce: 5 }), signed({ boot: 'b2' }), signed({ nonce: 0 }), signed({ nonce: 0 })];
    expect(says('nonce-signs-once', seen)).toBeUndefined();
  });
  test('finds a nonce that signed twice, even the same', () => {
    expect(says('nonce-signs-once', [signed(), signed()])).toContain('signed twice with nonce 4');
  });
  test('lets a request be repeated', () => {
    expect(says('nonce-signs-once', [request(), request({ attemptTag: 2n })])).toBeUndefined();
  });
  test('finds a nonce that is asked for two contents, and a point that stands in two', () => {
    const other = Uint8Array.from(digest).fill(9);
    expect(says('nonce-signs-once', [request(), request({ message: other })])).toContain('two contents with nonce 4');
    const renamed = request({ message: other, nonceNumber: 9n });
    expect(says('nonce-signs-once', [request(), renamed])).toContain('one nonce point R');
    const frost = { scheme: 2, signers: [{ nodeId: 1, hiding: secret, binding: secret }] };
    const another = request({ ...frost, message: other, nonceNumber: 9n });
    expect(says('nonce-signs-once', [request(frost), another])).toContain('one nonce commitment of node 1');
  });
});

describe('group-key-agreed', () => {
  const group = groupOf('secp256k1');
  const shares = [3n, 4n, 5n].map((value) => ({
    scalar: hex(group.encodeScalar(value)),
    point: hex(group.baseMultiply(value)),
  }));
  const record = (nodeId: number, more = {}) =>
    stored(nodeId, `key/${tenant}/k`, {
      curve: 'secp256k1',
      threshold: 2,
      total_nodes: 3,
      node_id: nodeId,
      signing_share: shares[nodeId - 1]!.scalar,
      public_key: hex(publicKey),
      verification_shares: shares.map(({ point }) => point),
      chain_code: '00'.repeat(32),
      ...more,
    });
  const made = (more = {}) =>
    keyMade(keyRecord(publicKey, { verificationShares: shares.map(({ point }) => point), ...more }));

  const report = (recipient: number, digestByte = 1) => {
    const finished = {
      nodeId: recipient,
      publicKey,
      verificationShares: [],
      chainCode: secret,
      transcriptDigest: new Uint8Array(32).fill(digestByte),
      signature: secret,
    };
    const value = { recipient, verdicts: [], finished };
    return frame(`node/${recipient}/dkg/${tenant}/k`, `dkg/${tenant}/k`, { case: 'dkgVerified', value }, 'k');
  };
  const reports = [report(1), report(2), report(3)];

  test('lets nodes and coordinator agree', () => {
    expect(says('group-key-agreed', [...reports, record(1), record(2), made()])).toBeUndefined();
    // One that told two things, of which one was the truth.
    expect(says('group-key-agreed', [report(2, 9), ...reports, record(1), made()])).toBeUndefined();
  });
  test('finds a key that was made of different results, or without one of a node', () => {
    const lies = [report(1), report(2, 9), report(3), record(1), made()];
    expect(says('group-key-agreed', lies)).toContain('results that are not the same');
    expect(says('group-key-agreed', [report(1), report(2), record(1), made()])).toContain('2 of 3 nodes');
  });
  test('finds nodes that hold different keys', () => {
    const other = record(2, { public_key: shares[0]!.point });
    expect(says('group-key-agreed', [record(1), other])).toContain('node/2 and node/1 hold different results');
  });
  test('finds new shares of another key, or of another chain code', () => {
    expect(says('group-key-agreed', [record(1), record(1, { version: 2 })])).toBeUndefined();
    for (const other of [{ public_key: shares[0]!.point }, { chain_code: shares[0]!.scalar }]) {
      expect(says('group-key-agreed', [record(1), record(1, { version: 2, ...other })])).toContain('another group key');
    }
  });
  test('finds a share that is not its node’s', () => {
    const wrong = record(1, { signing_share: shares[1]!.scalar });
    expect(says('group-key-agreed', [wrong])).toContain('with a share that is not the one');
  });
  test('finds a coordinator with another key, or with one that no node has', () => {
    expect(says('group-key-agreed', [record(1), made({ publicKey: shares[0]!.point })])).toContain('coordinator');
    expect(says('group-key-agreed', [made()])).toContain('no node has made final');
  });
  test('finds an answer with another key, or about a key that no node has', () => {
    const session = signing({ sessionId: 'k', state: BACKEND_COMPLETED, reasonCode: 'DKG_COMPLETED' });
    const answer = (key: Uint8Array) => makeKeyAnswered(session, { publicKey: key });
    expect(says('group-key-agreed', [record(1), answer(publicKey)])).toBeUndefined();
    expect(says('group-key-agreed', [record(1), answer(secret)])).toContain('names another group key');
    expect(says('group-key-agreed', [answer(publicKey)])).toContain('names another group key');
    expect(says('group-key-agreed', [shareAnswered(session)])).toContain('names another group key');
  });
});

describe('signature-verifies', () => {
  const key = keyMade(keyRecord(publicKey));
  const complete = signing({ epoch: 2, state: BACKEND_COMPLETED, ceremony: { signature: hex(ecdsa) } });
  const run = (answer: Observation, more: Observation[] = []) => [
    key,
    asked(),
    begun(signing()),
    ...more,
    changed(complete),
    answer,
  ];

  test('lets a right signature pass, also when it is told again', () => {
    const answer = shareAnswered(complete, ecdsa);
    expect(says('signature-verifies', [...run(answer), answer])).toBeUndefined();
  });
  test('finds one that does not verify, and one of another message', () => {
    const changedByte = Uint8Array.from(ecdsa, (byte, index) => (index === 40 ? byte ^ 1 : byte));
    expect(says('signature-verifies', run(shareAnswered(complete, changedByte)))).toContain('does not verify');
    const other = secp256k1.sign(Uint8Array.from(digest).fill(1), secret, { prehash: false, lowS: true });
    expect(says('signature-verifies', run(shareAnswered(complete, other)))).toContain('does not verify');
  });
  test('finds a session for a message that no client asked to sign', () => {
    const seen = [key, asked({ messageHash: Uint8Array.from(digest).fill(2) }), begun(signing())];
    expect(says('signature-verifies', seen)).toContain('no client asked to sign');
  });
  test('finds a signature of a key that no DKG made, and of no session', () => {
    const answer = shareAnswered(complete, ecdsa);
    expect(says('signature-verifies', [asked(), begun(signing()), answer])).toContain('no DKG made');
    expect(says('signature-verifies', [key, answer])).toContain('nothing is durable');
  });
  test('verifies every scheme, along a path', () => {
    const bip = signing({ epoch: 2, state: BACKEND_COMPLETED, keystoreType: KeystoreType.MPC_FROST });
    const answer = shareAnswered(bip, schnorr.sign(digest, secret, new Uint8Array(32)));
    expect(
      says('signature-verifies', [key, asked(), begun({ ...bip, epoch: 1, state: ACCEPTED }), answer]),
    ).toBeUndefined();
    const edKey = keyMade(keyRecord(ed25519.getPublicKey(secret), { curve: 'ed25519' }));
    const ed = signing({ epoch: 2, state: BACKEND_COMPLETED });
    const signed = shareAnswered(ed, ed25519.sign(digest, secret));
    expect(
      says('signature-verifies', [edKey, asked(), begun({ ...ed, epoch: 1, state: ACCEPTED }), signed]),
    ).toBeUndefined();
    const derived = signing({ ceremony: { facts: { derivationPath: 'm/1' } } });
    const seen = [
      key,
      asked({ derivation: { derivationPath: 'm/1' } }),
      begun(derived),
      shareAnswered(complete, ecdsa),
    ];
    expect(says('signature-verifies', seen)).toContain('does not verify');
  });
});

describe('quorum-signed', () => {
  const key = keyMade(keyRecord(publicKey));
  const complete = (more = {}) =>
    changed(signing({ epoch: 2, state: BACKEND_COMPLETED, ceremony: { submitted: [1, 2] }, ...more }));
  const opened = begun(signing());

  test('lets a threshold of nodes sign, among them one whose partial a client supplied', () => {
    expect(says('quorum-signed', [key, opened, partialReply(1), partialReply(2), complete()])).toBeUndefined();
    expect(says('quorum-signed', [key, opened, given(1), partialReply(2), complete()])).toBeUndefined();
  });
  test('finds a node that counted twice, and partials of two attempts that were added up', () => {
    expect(says('quorum-signed', [key, opened, partialReply(1), partialReply(1), complete()])).toContain('of 1 nodes');
    expect(says('quorum-signed', [key, opened, partialReply(1, 1n), partialReply(2, 2n), complete()])).toContain(
      'of 1 nodes',
    );
    const counted = complete({ ceremony: { submitted: [2, 2] } });
    expect(says('quorum-signed', [key, opened, partialReply(1), partialReply(2), counted])).toContain('counts 1 nodes');
  });
  test('finds a signature after the end of its session’s lifetime', () => {
    const late = complete({ checkpointMs: 900_000 });
    expect(says('quorum-signed', [key, opened, partialReply(1), partialReply(2), late])).toContain(
      '0 ms after the end',
    );
  });
  test('finds a signature without approval', () => {
    const approvalMode = ApprovalMode.HUMAN_REQUIRED;
    const seen = [key, opened, partialReply(1), partialReply(2), complete({ approvalMode })];
    expect(says('quorum-signed', seen)).toContain('approval');
    const witnessed = asked({ humanApprovalWitness: secret });
    expect(says('quorum-signed', [witnessed, ...seen])).toBeUndefined();
  });
  test('finds a signature of a key that was never made', () => {
    expect(says('quorum-signed', [opened, partialReply(1), partialReply(2), complete()])).toContain('never made');
  });
});

describe('what nodes answer', () => {
  const request = (nodeId: number, more: object = {}, touched = true) =>
    frame(
      'signing/tn_test/sig_a',
      `node/${nodeId}`,
      {
        case: 'partialRequest',
        value: {
          scheme: Scheme.FROST_BIP340,
          keySession: 'k',
          message: digest,
          nonceNumber: 4n,
          signers: [
            { nodeId: 1, hiding: publicKey, binding: publicKey },
            { nodeId: 2, hiding: secret, binding: secret },
          ],
          attemptTag: 1n,
          order: { transactionIntentId: 'pay' },
          ...more,
        },
      },
      'sig_a',
      touched,
    );
  const call = asked({ walletId: 'k', messageHash: digest, transactionIntentId: 'pay' });

  test('ordered-by-gateway lets a node sign what a client asked a gateway for, and nothing else', () => {
    const says1 = (...more: Observation[]) => says('ordered-by-gateway', [call, ...more]);
    expect(says1(request(1), partialReply(1))).toBeUndefined();
    expect(says1(request(1, { message: secret }))).toBeUndefined();
    for (const changed of [
      { message: secret },
      { keySession: 'other' },
      { derivationPath: 'm/1' },
      { order: { transactionIntentId: 'other' } },
      { order: undefined },
    ]) {
      expect(says1(request(1, changed), partialReply(1))).toContain('node/1 signed what no gateway ordered');
    }
  });

  test('frost-share-hidden finds two partials of one nonce, and a mock partial under a key of FROST', () => {
    const name = 'frost-share-hidden';
    const again = { attemptTag: 2n, message: secret };
    expect(says(name, [request(1), partialReply(1), request(1), partialReply(1)])).toBeUndefined();
    expect(says(name, [request(1), partialReply(1), request(1, again)])).toBeUndefined();
    expect(says(name, [request(1), partialReply(1), request(1, again), partialReply(1, 2n)])).toContain(
      'node/1 gives two partials with one nonce',
    );
    const otherNonce = { ...again, signers: [{ nodeId: 1, hiding: secret, binding: secret }] };
    expect(says(name, [request(1), partialReply(1), request(1, otherNonce), partialReply(1, 2n)])).toBeUndefined();
    const mock = [request(1, { scheme: Scheme.MOCK_ECDSA, signers: [] }), partialReply(1)];
    const bound = (scheme: string) => stored(1, 'key/tn_test/k', { scheme });
    expect(says(name, [bound('frost_bip340'), ...mock])).toContain('its share is known');
    expect(says(name, [bound('mock_ecdsa'), ...mock])).toBeUndefined();
    expect(says(name, [bound(''), ...mock])).toBeUndefined();
  });

  test('one-order-an-intent finds a second order of an intent at the vendor, and one that no client asked for', () => {
    const name = 'one-order-an-intent';
    const ordered = (more: Partial<VendorOrder> = {}): Observation => {
      const times = { createdMs: 0, decideMs: 1, expiresMs: 2 };
      const placed = {
        externalId: 'a',
        key: `signmesh/${tenant}/k`,
        message: hex(digest),
        callback: `1/${tenant}/pay`,
      };
      const order: VendorOrder = { ...placed, ...times, status: 'SUBMITTED', signature: '', fate: 'sign', ...more };
      return { kind: 'vendor', atMs: 0, order };
    };
    expect(says(name, [asked(), ordered(), ordered({ status: 'COMPLETED' })])).toBeUndefined();
    expect(says(name, [ordered()])).toContain('no client asked for');
    for (const other of [
      { message: hex(secret) },
      { key: `signmesh/${tenant}/other` },
      { key: 'signmesh/tn_other/k' },
    ]) {
      expect(says(name, [asked(), ordered(other)])).toContain('no client asked for');
    }
    const second = ordered({ externalId: 'b' });
    for (const standing of [ordered(), ordered({ status: 'PENDING_SIGNATURE' }), ordered({ status: 'COMPLETED' })]) {
      expect(says(name, [asked(), standing, second])).toContain('two orders of one intent (a, b)');
    }
    const ends = [
      { status: 'REJECTED' },
      { status: 'CANCELLED' },
      { status: 'TIMEOUT' },
      { status: 'COMPLETED', fate: 'lie' },
    ] as const;
    for (const end of ends) expect(says(name, [asked(), ordered(), ordered(end), second])).toBeUndefined();
    expect(
      says(name, [asked(), ordered(), ordered({ externalId: 'b', callback: `1/${tenant}/other` })]),
    ).toBeUndefined();
  });

  test('one-message-an-intent finds a second message of an intent at one node, unless its store was lost between', () => {
    const name = 'one-message-an-intent';
    const other = request(1, { attemptTag: 2n, message: secret });
    const first = [request(1), partialReply(1)];
    const lost: Observation = {
      kind: 'process',
      atMs: 0,
      process: 'node/1',
      what: 'down',
      boot: 'b1',
      storeLost: true,
    };
    expect(says(name, [...first, request(1, { attemptTag: 2n }), partialReply(1, 2n)])).toBeUndefined();
    expect(says(name, [...first, other])).toBeUndefined();
    expect(says(name, [...first, other, partialReply(1, 2n)])).toContain(
      'node/1 signs two messages for the intent pay',
    );
    expect(says(name, [...first, lost, other, partialReply(1, 2n)])).toBeUndefined();
    const ofService = { order: { transactionIntentId: 'pay', walletService: true } };
    expect(
      says(name, [...first, request(1, { attemptTag: 2n, message: secret, ...ofService }), partialReply(1, 2n)]),
    ).toBe(undefined);
  });

  test('dealers-consented finds client-supplied shares at a node that takes none, and under a wallet’s key', () => {
    const dkg = (session: string, played: boolean) =>
      stored(1, `dkg/tn_test/${session}`, { phase: 'dealing', dealers: [{ dealer: 2, played }] });
    const consents = () => false;
    expect(says('dealers-consented', [dkg('k', true)])).toBeUndefined();
    expect(says('dealers-consented', [dkg('k', false)], { consents })).toBeUndefined();
    expect(says('dealers-consented', [dkg('k', true)], { consents })).toContain('dealer 2 for the key tn_test/k');
    expect(says('dealers-consented', [dkg('wal_1', true)])).toContain('did not consent');
  });
});

describe('honest-never-blamed', () => {
  const fired = (fault: 'bad_partial' | 'drop' | 'other_message', what: 'armed' | 'fired' = 'fired'): Observation => ({
    kind: 'fault',
    atMs: 0,
    id: 'f1',
    fault,
    targets: ['node/3'],
    what,
  });
  const event = emitted('signing.session.progressed', { culprits: [3] }, 'signing/tn_test/sig_a');

  test('lets a byzantine node be blamed from the moment its fault fired', () => {
    expect(says('honest-never-blamed', [fired('bad_partial'), event])).toBeUndefined();
    expect(says('honest-never-blamed', [fired('bad_partial', 'armed'), event])).toContain('blames node 3');
    expect(says('honest-never-blamed', [fired('drop'), event])).toContain('blames node 3');
  });
  test('finds an honest node in a logged event, a record and an answer, by their fields alone', () => {
    const failed = signing({ epoch: 2, state: BACKEND_FAILED, ceremony: { excluded: [2] } });
    const logged = loggedOf(changed(failed), 1);
    expect(says('honest-never-blamed', logged)).toContain('the logged event signing.session.failed blames node 2');
    expect(says('honest-never-blamed', [changed(failed)])).toContain('session sig_a blames node 2');
    const blaming = (culprits: readonly number[]) => [fired('bad_partial'), makeKeyAnswered(failed, { culprits })];
    expect(says('honest-never-blamed', blaming([1, 3]))).toContain('an answer blames node 1,');
    expect(says('honest-never-blamed', blaming([3]))).toBeUndefined();
    const message = 'the partial that node 1 made does not verify';
    expect(says('honest-never-blamed', [shareAnswered(failed, undefined, { message })])).toBeUndefined();
  });
  test('lets a coordinator that lies blame the node to which it lied, and no other', () => {
    const to = (nodeId: number, touched: boolean) =>
      frame('signing/tn_test/sig_a', `node/${nodeId}`, { case: 'dkgDiscard', value: {} }, 'sig_a', touched);
    expect(says('honest-never-blamed', [to(3, true), fired('other_message'), event])).toBeUndefined();
    expect(says('honest-never-blamed', [to(2, true), fired('other_message'), event])).toContain('blames node 3');
    expect(says('honest-never-blamed', [to(3, false), fired('other_message'), event])).toContain('blames node 3');
    expect(says('honest-never-blamed', [to(3, true), event])).toContain('blames node 3');
  });
  test('lets a node that lost its store be named, and no other that crashed', () => {
    const down = (storeLost: boolean): Observation => ({
      kind: 'process',
      atMs: 0,
      process: 'node/3',
      what: 'down',
      boot: 'b1',
      ...(storeLost && { storeLost }),
    });
    expect(says('honest-never-blamed', [down(true), event])).toBeUndefined();
    expect(says('honest-never-blamed', [down(false), event])).toContain('blames node 3');
  });
});

describe('transitions-on-table', () => {
  test('lets a session move along the table, and a write be repeated', () => {
    const step = changed(signing({ epoch: 2 }), true);
    const done = changed(signing({ epoch: 3, state: BACKEND_COMPLETED }));
    expect(says('transitions-on-table', [begun(signing()), step, step, done])).toBeUndefined();
  });
  test('finds a way that the table does not have, and what follows the end', () => {
    const pending = signing({ state: PENDING_HUMAN_APPROVAL });
    const skipped = changed(signing({ epoch: 2, state: BACKEND_COMPLETED }));
    expect(says('transitions-on-table', [begun(pending), skipped])).toContain(
      'PENDING_HUMAN_APPROVAL to BACKEND_COMPLETED',
    );
    const denied = begun(signing({ state: DENIED }));
    expect(says('transitions-on-table', [denied, skipped])).toContain('DENIED to BACKEND_COMPLETED');
    expect(says('transitions-on-table', [denied, changed(signing({ epoch: 2, state: DENIED }), true)])).toContain(
      'DENIED to DENIED',
    );
    expect(says('transitions-on-table', [begun(signing({ state: RESUMED }))])).toContain('begins in state RESUMED');
  });
  test('finds an epoch that does not rise by one, and a checkpoint that was there before', () => {
    const again = changed(signing({ epoch: 1, checkpointId: 'ckp_other' }), true);
    expect(says('transitions-on-table', [begun(signing()), again])).toContain('from epoch 1 to 1');
    expect(says('transitions-on-table', [begun(signing()), changed(signing({ epoch: 3 }), true)])).toContain(
      'from epoch 1 to 3',
    );
    const other = begun(signing({ sessionId: 'sig_b', checkpointId: 'ckp_sig_a_1' }));
    expect(says('transitions-on-table', [begun(signing()), other])).toContain('given before');
    expect(says('transitions-on-table', [begun(signing({ epoch: 2 }))])).toContain('begins at epoch 2');
  });
  test('finds a client who is told something older than before', () => {
    const [one, two] = [signing(), signing({ epoch: 2 })];
    expect(says('transitions-on-table', [shareAnswered(two), shareAnswered(one)])).toContain('epoch 1 after 2');
    const duplicate = shareAnswered(one, undefined, { reasonCode: 'DUPLICATE_INTENT' });
    expect(says('transitions-on-table', [shareAnswered(two), duplicate])).toBeUndefined();
    const twin = shareAnswered({ ...two, checkpointId: 'ckp_twin' });
    expect(says('transitions-on-table', [shareAnswered(two), twin])).toContain('two checkpoints');
  });
});

test('one-coordinator-writes: nothing of an earlier coordinator takes effect once a later one has written', () => {
  const by = (boot: string) => ({ ...begun(signing()), boot }) as Observation;
  const of = (...boots: readonly string[]) => says('one-coordinator-writes', boots.map(by));
  expect(of('coordinator#1', 'coordinator#1', 'coordinator#10')).toBeUndefined();
  expect(of('coordinator#1', 'coordinator#10', 'coordinator#9')).toContain('start 9 of the coordinator writes');
  const refused = { ...by('coordinator#9'), outcome: 'conflict' } as Observation;
  expect(says('one-coordinator-writes', [by('coordinator#10'), refused])).toBeUndefined();
});

describe('one-intent-one-effect', () => {
  const failed = signing({ epoch: 2, state: BACKEND_FAILED });
  const second = signing({ sessionId: 'sig_b' });
  const revoked = signing({ epoch: 3, state: REVOKED });

  test('lets a second session take the place of one that ends with its beginning', () => {
    expect(says('one-intent-one-effect', [begun(signing()), changed(failed), begun(second, revoked)])).toBeUndefined();
  });
  test('finds two that stand at once', () => {
    expect(says('one-intent-one-effect', [begun(signing()), begun(second)])).toContain('hold one intent');
    const completed = changed(signing({ epoch: 2, state: BACKEND_COMPLETED }));
    expect(says('one-intent-one-effect', [begun(signing()), completed, begun(second)])).toContain('hold one intent');
  });
  test('finds a session that continues without holding its intent', () => {
    const loose = signing({ state: BACKEND_FAILED, ceremony: { guarded: false } });
    expect(says('one-intent-one-effect', [begun(loose)])).toBeUndefined();
    const resumed = signing({ epoch: 2, state: RESUMED, ceremony: { guarded: false } });
    expect(says('one-intent-one-effect', [begun(loose), changed(resumed)])).toContain('without holding its intent');
  });
  test('finds two signatures, and lets an order of the wallet service have its own', () => {
    const order = signing({ sessionId: 'sig_b', ceremony: { facts: { walletService: true } } });
    const both = [begun(signing()), begun(order), shareAnswered(signing(), ecdsa), shareAnswered(order, secret)];
    expect(says('one-intent-one-effect', both)).toBeUndefined();
    const twice = [begun(signing()), shareAnswered(signing(), ecdsa), shareAnswered(signing(), secret)];
    expect(says('one-intent-one-effect', twice)).toContain('two signatures');
  });
});

describe('promised-is-durable', () => {
  const complete = signing({ epoch: 2, state: BACKEND_COMPLETED, ceremony: { signature: hex(ecdsa) } });

  test('lets an answer leave after its write', () => {
    const seen = [begun(signing()), shareAnswered(signing()), changed(complete), shareAnswered(complete, ecdsa)];
    expect(says('promised-is-durable', seen)).toBeUndefined();
  });
  test('finds an answer that leaves before it, or tells of another state or signature', () => {
    expect(says('promised-is-durable', [shareAnswered(signing())])).toContain('not in the store');
    const early = [begun(signing()), shareAnswered(complete, ecdsa), changed(complete)];
    expect(says('promised-is-durable', early)).toContain('epoch 2 (BACKEND_COMPLETED)');
    const other = [begun(signing()), shareAnswered(signing({ state: DENIED }))];
    expect(says('promised-is-durable', other)).toContain('(DENIED)');
    const swapped = [begun(signing()), changed(complete), shareAnswered(complete, secret)];
    expect(says('promised-is-durable', swapped)).toContain('a signature of session sig_a leaves');
  });
  test('does not take a refused write for one', () => {
    const refused = { ...begun(signing()), outcome: 'conflict' } as Observation;
    expect(says('promised-is-durable', [refused, shareAnswered(signing())])).toContain('not in the store');
  });
  test('finds a node whose word is not in its store', () => {
    const opening = {
      dealer: 1,
      commitments: [],
      possession: secret,
      sealingKey: secret,
      signature: secret,
      clientSupplied: false,
    };
    const address = `node/1/dkg/${tenant}/k`;
    const opened = frame(address, `dkg/${tenant}/k`, { case: 'dkgOpened', value: { opening } }, 'k');
    const kept = (signature: string) =>
      stored(1, `dkg/${tenant}/k`, {
        phase: 'dealing',
        terms: { attempt: 1 },
        dealing: { polynomial: [], opening: { signature } },
        dealers: [],
      });
    expect(says('promised-is-durable', [kept(hex(secret)), opened])).toBeUndefined();
    expect(says('promised-is-durable', [opened])).toContain('another attempt');
    expect(says('promised-is-durable', [kept('00'), opened])).toContain('how it opens');
    const verdicts = [{ dealer: 2, verified: true, code: '', message: '', revealedSealingKey: new Uint8Array() }];
    const verified = frame(address, `dkg/${tenant}/k`, { case: 'dkgVerified', value: { recipient: 1, verdicts } }, 'k');
    expect(says('promised-is-durable', [kept(''), verified])).toContain('a share verified');
    const confirmed = frame(address, `dkg/${tenant}/k`, { case: 'dkgConfirmed', value: { nodeId: 1 } }, 'k');
    expect(says('promised-is-durable', [kept(''), confirmed])).toContain('that it is final');
    const final = stored(1, `dkg/${tenant}/k`, { phase: 'final', terms: { attempt: 1 }, dealers: [] });
    expect(says('promised-is-durable', [final, confirmed])).toBeUndefined();
  });
});

describe('token-used-once', () => {
  const failed = signing({ epoch: 2, state: BACKEND_FAILED });
  const resumed = signing({ epoch: 3, state: RESUMED, usedResumeEpochs: [2] });
  const told = shareAnswered(failed, undefined, { resumeToken: 'rt1_x' });
  const by = (reasonCode: string) => resumeAnswered(resumed, 'rt1_x', { reasonCode });
  const begin = [begun(signing()), changed(failed), told, changed(resumed)];

  test('lets a token work once, and be refused ever after', () => {
    expect(says('token-used-once', [...begin, by('SESSION_RESUMED'), by('RESUME_TOKEN_REUSED')])).toBeUndefined();
    expect(says('token-used-once', [...begin, by('CONTRACT_VERSION_UNSUPPORTED')])).toBeUndefined();
  });
  test('finds a token that worked twice, and one whose use is forgotten', () => {
    expect(says('token-used-once', [...begin, by('SESSION_RESUMED'), by('SESSION_RESUMED')])).toContain(
      'resumed twice',
    );
    expect(says('token-used-once', [...begin, by('SESSION_NOT_RESUMABLE')])).toContain('SESSION_NOT_RESUMABLE');
    const kept = changed(signing({ epoch: 3, state: RESUMED }));
    expect(says('token-used-once', [begun(signing()), changed(failed), kept])).toContain('does not keep');
    const forgets = changed(signing({ epoch: 4, state: BACKEND_COMPLETED }));
    expect(says('token-used-once', [...begin, forgets])).toContain('forgets');
  });
  test('never quotes a token', () => {
    expect(says('token-used-once', [...begin, by('SESSION_NOT_RESUMABLE')])).not.toContain('rt1_');
  });
});

describe('events-complete', () => {
  const opened = begun(signing());
  const done = changed(signing({ epoch: 2, state: BACKEND_COMPLETED }));
  const log = [...loggedOf(opened, 1), ...loggedOf(done, 2)];

  test('lets change and event come together, in either order', () => {
    expect(says('events-complete', [opened, log[0]!, log[1]!, done])).toBeUndefined();
  });
  test('finds a change without its event, an event without its change, and one that is there twice', () => {
    expect(says('events-complete', [opened, done, log[1]!])).toContain('without its event');
    expect(says('events-complete', [opened])).toContain('without its event');
    expect(says('events-complete', [log[0]!])).toContain('no change explains');
    const again = { ...log[0]!, sequence: 2 } as Observation;
    expect(says('events-complete', [opened, log[0]!, again])).toContain('in the log twice');
  });
  test('finds a hole in the sequence, a silent change and an event of a mere step', () => {
    expect(says('events-complete', [opened, ...loggedOf(opened, 2)])).toContain('from sequence 0 to 2');
    const silent = changed(signing({ epoch: 2, state: BACKEND_FAILED }), true);
    expect(says('events-complete', [opened, log[0]!, silent])).toContain('no event says so');
    expect(says('events-complete', [opened, log[0]!, changed(signing({ epoch: 2 }))])).toContain(
      'within a state has an event',
    );
  });
  test('finds an event that says something else', () => {
    const { write } = done as Extract<typeof done, { process: 'coordinator' }>;
    const other = { ...done, write: { ...write, session: signing({ epoch: 2, state: REVOKED }) } } as Observation;
    expect(says('events-complete', [opened, log[0]!, other])).toContain('does not give the outcome');
  });
  test('finds a terminal event that never arrived, where there is a receiver', () => {
    const seen = [opened, log[0]!, done, log[1]!];
    expect(says('events-complete', seen)).toBeUndefined();
    expect(says('events-complete', seen, { delivers: true })).toContain('1 terminal events never reached');
    const { event } = log[1] as Extract<Observation, { kind: 'logged' }>;
    const delivered: Observation = { kind: 'delivered', atMs: 9, tenant, eventId: event.id };
    expect(says('events-complete', [...seen, delivered], { delivers: true })).toBeUndefined();
  });
});

describe('no-secret-in-clear', () => {
  const share = stored(1, `key/${tenant}/k`, { signing_share: hex(secret) });
  const dealing = { polynomial: [hex(secret)], sealing_seed: hex(digest), box_seed: '00', opening: { signature: '' } };
  const dealt = stored(1, `dkg/${tenant}/k`, { phase: 'dealing', dealing, dealers: [] });

  test('lets public values pass', () => {
    const event = emitted('dkg.final', {
      publicKey: hex(publicKey),
      session: 'sig_01900000-0000-7000-8000-000000000000',
    });
    const opening = begun(signing());
    expect(says('no-secret-in-clear', [share, event, opening, ...loggedOf(opening, 1)])).toBeUndefined();
  });
  test('finds a share in an event, however it is written', () => {
    for (const text of [
      hex(secret),
      `x ${hex(secret).toUpperCase()}`,
      Buffer.from(secret).toString('base64'),
      `00${hex(secret)}`,
    ]) {
      expect(says('no-secret-in-clear', [share, emitted('oops', { text })])).toContain('the field text');
    }
  });
  test('finds a nonce, a token, a witness and a secret of the world', () => {
    const nonces = [{ number: 1n, hiding: new Uint8Array(), binding: new Uint8Array(), mockNonce: secret }];
    const batch = frame('node/1', 'cluster', {
      case: 'noncesDealt',
      value: { scheme: 1, nodeBoot: 'b', coordinatorBoot: 'c', nonces },
    });
    const oops = emitted('oops', { text: hex(secret) });
    expect(says('no-secret-in-clear', [batch])).toBeUndefined();
    expect(says('no-secret-in-clear', [batch, oops])).toContain('a secret');
    expect(says('no-secret-in-clear', [oops], { secrets: () => [secret] })).toContain('a secret');
    const token = signing({ message: 'resume with rt1_abc' });
    expect(says('no-secret-in-clear', loggedOf(begun(token), 1))).toContain('the logged event');
    const witness = asked({ humanApprovalWitness: Buffer.from('a human said yes') });
    expect(says('no-secret-in-clear', [witness, emitted('oops', { text: 'since a human said yes' })])).toContain(
      'a secret',
    );
  });
  test('finds a share in a frame, and more than the sealing key in a complaint', () => {
    const reply = frame('node/1', 'signing/x', {
      case: 'partialReply',
      value: { nodeId: 1, attemptTag: 1n, outcome: { case: 'partial', value: secret } },
    });
    expect(says('no-secret-in-clear', [share, reply])).toContain('a secret of its own');
    const complaint = (revealedSealingKey: Uint8Array) => {
      const verdicts = [{ dealer: 2, verified: false, code: 'SHARE_INVALID', message: '', revealedSealingKey }];
      return frame('node/1', 'dkg/x', { case: 'dkgVerified', value: { recipient: 1, verdicts } });
    };
    expect(says('no-secret-in-clear', [dealt, complaint(digest)])).toBeUndefined();
    expect(says('no-secret-in-clear', [dealt, complaint(secret)])).toContain('more than its sealing key');
    const opening = {
      dealer: 1,
      commitments: [],
      possession: secret,
      sealingKey: publicKey,
      signature: digest,
      clientSupplied: false,
    };
    const opened = frame('node/1', 'dkg/x', { case: 'dkgOpened', value: { opening } });
    expect(says('no-secret-in-clear', [dealt, opened])).toContain('in a frame from node/1');
  });
});

test('no-bugs finds an actor that threw and a call that ended in INTERNAL', () => {
  const bug: Observation = {
    kind: 'bug',
    atMs: 0,
    process: 'coordinator',
    address: 'dkg/x',
    text: 'a step has one write',
  };
  expect(says('no-bugs', [bug])).toContain('dkg/x of coordinator threw');
  const failed = (kind: ErrorKind): Observation => ({
    kind: 'failed',
    atMs: 0,
    tenant,
    callId: 1n,
    walletService: false,
    method: 'initiateDkg',
    request: {},
    error: { kind, message: 'x', cause: undefined },
  });
  expect(says('no-bugs', [failed('internalError')])).toContain('by a bug');
  expect(says('no-bugs', [failed('unavailable')])).toBeUndefined();
});

/** What InitiateSigning, SubmitSignatureShare and ResumeSession promise, from a session's first call to its last. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { HDKey } from '@scure/bip32';
import { beforeAll, describe, expect, test } from 'vitest';
import { encodeXpub } from '../../core/crypto/derivation.ts';
import { decodeKeyRecord } from '../../nodes/records/key-record.ts';
import { ApprovalMode, KeystoreType, MockDirective, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { dkgLifetimeMs, pendingLifetimeMs, signingLifetimeMs } from '../../proto/limits.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { begin, codeOf, digest, expectComplete, makeKey, tenant, tokenOf, witness } from './support/world.ts';

const { FORCE_BACKEND_FAILED, FORCE_DENIED, FORCE_EXPIRED, FORCE_REVOKED } = MockDirective;

let cluster: SimCluster;
let publicKey: Uint8Array;

beforeAll(() => {
  cluster = new SimCluster({ seed: 'signing', nodes: 3 });
  publicKey = makeKey(cluster, 'k');
  makeKey(cluster, 'e', 'ed25519');
  makeKey(cluster, 'b');
});

const sign = (signingSessionId: string) => cluster.submitSignatureShare({ signingSessionId }).result();
const initiate = (transactionIntentId: string, more: Parameters<SimCluster['initiateSigning']>[0] = {}) =>
  cluster.initiateSigning({ walletId: 'k', messageHash: digest, transactionIntentId, ...more }).result();

describe('a mock directive', () => {
  test.each([
    [FORCE_DENIED, 'MOCK_FORCED_DENIED', ReceiptState.DENIED],
    [FORCE_REVOKED, 'MOCK_FORCED_REVOKED', ReceiptState.REVOKED],
    [FORCE_EXPIRED, 'MOCK_FORCED_EXPIRED', ReceiptState.EXPIRED],
    [FORCE_BACKEND_FAILED, 'MOCK_FORCED_BACKEND_FAILED', ReceiptState.BACKEND_FAILED],
  ])('%s gives its state with no key, no node and empty fields', (mockDirective, code, state) => {
    const bare = new SimCluster({ seed: 'bare', nodes: 2 });
    for (const id of [1, 2]) bare.crash(`node/${id}`);
    const answer = bare
      .initiateSigning({ mockDirective, approvalMode: 9 as ApprovalMode, keystoreType: 77 as KeystoreType })
      .result();
    expect([codeOf(answer), answer.state, answer.epoch]).toEqual([code, state, 1n]);
    expect(answer.receipt!.resumable).toBe(mockDirective === FORCE_BACKEND_FAILED);
    expectComplete(answer, answer.signingSessionId);
    const later = bare.submitSignatureShare({ signingSessionId: answer.signingSessionId }).result();
    expect([codeOf(later), later.receipt!.state]).toEqual([code, state]);
    const resumed = bare
      .resumeSession({ sessionId: answer.signingSessionId, resumeToken: tokenOf(answer) || 'x' })
      .result();
    // The token stays good: what the directive skipped is a bad call at the resume.
    const resumable = mockDirective === FORCE_BACKEND_FAILED;
    const ended = state === ReceiptState.EXPIRED ? code : 'SESSION_NOT_RESUMABLE';
    expect(codeOf(resumed)).toBe(resumable ? 'INVALID_REQUEST' : ended);
    expect(tokenOf(resumed)).toBe(tokenOf(answer));
  });

  test('comes after the contract version and before everything else', () => {
    const context = { client: { contractVersion: '7.0' } };
    expect(codeOf(initiate('', { mockDirective: FORCE_DENIED, context }))).toBe('CONTRACT_VERSION_UNSUPPORTED');
    const wrong = {
      mockDirective: FORCE_DENIED,
      walletId: 'unknown',
      messageHash: new Uint8Array(3),
      approvalMode: 2,
    } as const;
    expect(codeOf(initiate('', wrong))).toBe('MOCK_FORCED_DENIED');
  });

  test('is given up by a resume: the session then signs', () => {
    const failed = initiate('forced once', { mockDirective: FORCE_BACKEND_FAILED });
    const resume = { sessionId: failed.signingSessionId, resumeToken: tokenOf(failed) };
    const resumed = cluster.resumeSession(resume).result();
    expect([codeOf(resumed), resumed.state, resumed.epoch]).toEqual(['SESSION_RESUMED', ReceiptState.RESUMED, 2n]);
    expect(sign(failed.signingSessionId).isComplete).toBe(true);
  });

  test.each([
    ['WALLET_KEY_NOT_FOUND', { walletId: 'unknown' }],
    ['INVALID_MESSAGE_HASH', { messageHash: new Uint8Array(3) }],
    ['INVALID_DERIVATION_PATH', { derivation: { derivationPath: 'nonsense' } }],
    ['UNSUPPORTED_CURVE', { derivation: { curve: 'ed25519' } }],
    ['KEYSTORE_MISMATCH', { keystoreType: KeystoreType.MPC_VENDOR }],
    ['WITNESS_MISSING', { approvalMode: ApprovalMode.HUMAN_REQUIRED }],
  ])('leaves %s to the resume, and its token good', (code, more) => {
    const failed = initiate(`skipped ${code}`, { mockDirective: FORCE_BACKEND_FAILED, ...more });
    const resume = { sessionId: failed.signingSessionId, resumeToken: tokenOf(failed) };
    for (let time = 0; time < 2; time += 1) {
      const answer = cluster.resumeSession(resume).result();
      expect([codeOf(answer), answer.state, answer.epoch]).toEqual([code, ReceiptState.DENIED, 1n]);
      expect(tokenOf(answer)).toBe(resume.resumeToken);
    }
  });

  test('gives its state for an intent that is taken, and that session never signs', () => {
    const first = begin(cluster, 'taken');
    const forced = initiate('taken', { mockDirective: FORCE_BACKEND_FAILED });
    expect([codeOf(forced), forced.state]).toEqual(['MOCK_FORCED_BACKEND_FAILED', ReceiptState.BACKEND_FAILED]);
    const resume = { sessionId: forced.signingSessionId, resumeToken: tokenOf(forced) };
    expect(codeOf(cluster.resumeSession(resume).result())).toBe('DUPLICATE_INTENT');
    expect(sign(first.signingSessionId).isComplete).toBe(true);
  });
});

describe('human approval', () => {
  test('is waited for, given with a witness, and needed once', () => {
    const pending = initiate('human', { approvalMode: ApprovalMode.HUMAN_REQUIRED });
    expect([codeOf(pending), pending.state]).toEqual(['HUMAN_APPROVAL_REQUIRED', ReceiptState.PENDING_HUMAN_APPROVAL]);
    expect(pending.receipt!.approvalMode).toBe(ApprovalMode.HUMAN_REQUIRED);
    const resume = { sessionId: pending.signingSessionId, resumeToken: tokenOf(pending) };
    expect(codeOf(cluster.resumeSession(resume).result())).toBe('WITNESS_MISSING');
    const resumed = cluster.resumeSession({ ...resume, humanApprovalWitness: witness }).result();
    expect(resumed.state).toBe(ReceiptState.RESUMED);
    expect(sign(pending.signingSessionId).isComplete).toBe(true);
  });

  test('is given at once by a witness in the first call', () => {
    const answer = initiate('human at once', { approvalMode: 2, humanApprovalWitness: witness });
    expect([answer.state, answer.receipt!.approvalMode]).toEqual([ReceiptState.ACCEPTED, ApprovalMode.HUMAN_REQUIRED]);
  });

  test.each([ApprovalMode.APPROVAL_MODE_UNSPECIFIED, ApprovalMode.DIRECT_ALLOWED])(
    'is not asked for in mode %s',
    (approvalMode) => {
      const answer = initiate(`direct ${approvalMode}`, { approvalMode });
      expect([answer.state, answer.receipt!.approvalMode]).toEqual([
        ReceiptState.ACCEPTED,
        ApprovalMode.DIRECT_ALLOWED,
      ]);
    },
  );
});

describe('a resume token', () => {
  test('is looked at in order: used, then the state, then validity, then the witness', () => {
    const pending = initiate('order', { approvalMode: 2 });
    const sessionId = pending.signingSessionId;
    const first = tokenOf(pending);
    const resume = (resumeToken: string, humanApprovalWitness: Uint8Array = new Uint8Array()) =>
      cluster.resumeSession({ sessionId, resumeToken, humanApprovalWitness }).result();
    const other = tokenOf(initiate('order, another', { approvalMode: 2 }));
    const flipped = `${first.slice(0, -1)}${first.endsWith('A') ? 'B' : 'A'}`;
    for (const bad of [other, flipped, `${first}=`, first.slice(0, -2), first.toUpperCase()]) {
      expect(codeOf(resume(bad, witness))).toBe('RESUME_TOKEN_INVALID');
    }
    expect(codeOf(resume(first))).toBe('WITNESS_MISSING');
    // The same in every response of an epoch.
    expect(tokenOf(cluster.submitSignatureShare({ signingSessionId: sessionId }).result())).toBe(first);
    expect(codeOf(resume(first, witness))).toBe('SESSION_RESUMED');
    const reused = resume(first);
    expect([codeOf(reused), reused.state, reused.checkpoint!.state]).toEqual([
      'RESUME_TOKEN_REUSED',
      ReceiptState.REPLAY_REJECTED,
      ReceiptState.RESUMED,
    ]);
    expect(codeOf(resume(flipped))).toBe('SESSION_NOT_RESUMABLE');
    expect(sign(sessionId).isComplete).toBe(true);
    expect(codeOf(resume(first))).toBe('RESUME_TOKEN_REUSED');
    expect(codeOf(resume(flipped))).toBe('SESSION_NOT_RESUMABLE');
  });

  test('resumes once when it comes twice at once', () => {
    const failed = initiate('twice', { mockDirective: FORCE_BACKEND_FAILED });
    const resume = { sessionId: failed.signingSessionId, resumeToken: tokenOf(failed) };
    const calls = [1, 2, 3].map(() => cluster.resumeSession(resume));
    expect(calls.map((call) => codeOf(call.result()))).toEqual([
      'SESSION_RESUMED',
      'RESUME_TOKEN_REUSED',
      'RESUME_TOKEN_REUSED',
    ]);
  });
});

describe('an intent', () => {
  test('has one session however many begin at once', () => {
    const calls = [1, 2, 3, 4].map(() =>
      cluster.initiateSigning({ walletId: 'k', messageHash: digest, transactionIntentId: 'at once' }),
    );
    const answers = calls.map((call) => call.result());
    const accepted = answers.filter((answer) => codeOf(answer) === 'SESSION_ACCEPTED');
    expect(accepted).toHaveLength(1);
    for (const answer of answers) {
      expect(answer.signingSessionId).toBe(accepted[0]!.signingSessionId);
      if (answer !== accepted[0])
        expect([codeOf(answer), answer.state]).toEqual(['DUPLICATE_INTENT', ReceiptState.REPLAY_REJECTED]);
      expectComplete(answer, answer.signingSessionId);
    }
    expect(sign(accepted[0]!.signingSessionId).isComplete).toBe(true);
    expect(codeOf(initiate('at once'))).toBe('DUPLICATE_INTENT');
  });

  test('gives the pending session’s own token to the caller that begins again', () => {
    const pending = initiate('pending twice', { approvalMode: 2 });
    const again = initiate('pending twice');
    expect([codeOf(again), tokenOf(again)]).toEqual(['DUPLICATE_INTENT', tokenOf(pending)]);
  });

  test('revokes a failed session when a new one takes its place', () => {
    const failed = initiate('superseded', { mockDirective: FORCE_BACKEND_FAILED });
    const old = failed.signingSessionId;
    sign(old);
    const fresh = begin(cluster, 'superseded');
    const submitted = sign(old);
    expect([codeOf(submitted), submitted.receipt!.state]).toEqual(['SESSION_REVOKED', ReceiptState.REVOKED]);
    expect(submitted.receipt!.epoch).toBe(2n);
    const resumed = cluster.resumeSession({ sessionId: old, resumeToken: tokenOf(failed) }).result();
    expect([codeOf(resumed), resumed.state, tokenOf(resumed)]).toEqual([
      'SESSION_NOT_RESUMABLE',
      ReceiptState.REVOKED,
      '',
    ]);
    expect(sign(fresh.signingSessionId).isComplete).toBe(true);
  });

  test('answers a resume that races with the session that takes its place', () => {
    const failed = initiate('race', { mockDirective: FORCE_BACKEND_FAILED });
    const asked = { transactionIntentId: 'race', walletId: 'k', messageHash: digest };
    const calls = [
      cluster.initiateSigning({ ...asked, approvalMode: 2 }),
      cluster.resumeSession({ sessionId: failed.signingSessionId, resumeToken: tokenOf(failed) }),
    ];
    const codes = calls.map((call) => codeOf(call.result()));
    expect([
      ['HUMAN_APPROVAL_REQUIRED', 'SESSION_NOT_RESUMABLE'],
      ['DUPLICATE_INTENT', 'SESSION_RESUMED'],
    ]).toContainEqual(codes);
  });

  test('begins anew after a session that ended without a signature', () => {
    for (const mockDirective of [FORCE_DENIED, FORCE_EXPIRED, FORCE_REVOKED]) initiate('ended', { mockDirective });
    begin(cluster, 'ended');
  });
});

describe('a lifetime', () => {
  const expired = (answer: { readonly receipt?: { reasonCode: string; state: ReceiptState } | undefined }) => {
    expect([answer.receipt!.reasonCode, answer.receipt!.state]).toEqual(['SESSION_EXPIRED', ReceiptState.EXPIRED]);
  };

  test('ends an open session after 15 minutes and not before', () => {
    const { signingSessionId } = begin(cluster, 'in time');
    const late = begin(cluster, 'late').signingSessionId;
    cluster.time.advance(signingLifetimeMs - 1000);
    expect(sign(signingSessionId).isComplete).toBe(true);
    cluster.time.advance(1000);
    expired(sign(late));
    expired(cluster.resumeSession({ sessionId: late, resumeToken: 'x' }).result());
    begin(cluster, 'late');
  });

  test('ends a pending one after 24 hours, a failed one after 15 minutes, and starts again with a resume', () => {
    const pending = initiate('pending', { approvalMode: 2 });
    const failed = initiate('failed', { mockDirective: FORCE_BACKEND_FAILED });
    const resumed = initiate('resumed', { mockDirective: FORCE_BACKEND_FAILED });
    cluster.time.advance(signingLifetimeMs - 1000);
    cluster.resumeSession({ sessionId: resumed.signingSessionId, resumeToken: tokenOf(resumed) }).result();
    cluster.time.advance(2000);
    expired(cluster.resumeSession({ sessionId: failed.signingSessionId, resumeToken: tokenOf(failed) }).result());
    expect(sign(resumed.signingSessionId).isComplete).toBe(true);
    cluster.time.advance(pendingLifetimeMs - 2 * signingLifetimeMs);
    expect(codeOf(sign(pending.signingSessionId))).toBe('HUMAN_APPROVAL_REQUIRED');
    cluster.time.advance(signingLifetimeMs * 2);
    const resume = {
      sessionId: pending.signingSessionId,
      resumeToken: tokenOf(pending),
      humanApprovalWitness: witness,
    };
    expired(cluster.resumeSession(resume).result());
  });

  test('ends a DKG after 10 minutes', () => {
    cluster.initiateDkg({ sessionId: 'slow', threshold: 2, totalNodes: 2 }).result();
    cluster.time.advance(dkgLifetimeMs);
    const late = cluster.exchangeDkgShares({ sessionId: 'slow' }).result();
    expired(late);
    expect(late.verified).toBe(false);
  });

  test('ends during a round, and every call in it is told', () => {
    const alone = new SimCluster({
      seed: 'expiry in a round',
      nodes: 2,
      config: { lifetimes: { signingMs: 5000, pendingMs: 5000, dkgMs: 5000 } },
    });
    makeKey(alone, 'k', 'secp256k1', 2, 2);
    const { signingSessionId } = begin(alone, 't');
    alone.initiateDkg({ sessionId: 'd', threshold: 2, totalNodes: 2 }).result();
    alone.crash('node/1');
    const calls = [
      alone.submitSignatureShare({ signingSessionId }),
      alone.submitSignatureShare({ signingSessionId, nodeId: 1 }),
      alone.exchangeDkgShares({ sessionId: 'd' }),
    ];
    for (const call of calls) expired(call.result());
  });
});

describe('a derivation path', () => {
  test.each(['m', '', 'm/0', 'm/0/5', 'm/2147483647', "m/44'/60'/0'/0/7"])(
    '%s signs under the key that BIP-32 derives',
    (derivationPath) => {
      const { signingSessionId } = begin(cluster, `path ${derivationPath}`, { derivation: { derivationPath } });
      const signed = sign(signingSessionId);
      const { chainCode } = decodeKeyRecord(cluster.nodeStore(1).loadNow(`key/${tenant}/k`)!).keyPackage;
      const normal = derivationPath.split('/').filter((part) => /^\d+$/.test(part));
      const child = HDKey.fromExtendedKey(encodeXpub({ publicKey, chainCode })).derive(['m', ...normal].join('/'))
        .publicKey!;
      expect(secp256k1.verify(signed.fullSignature, digest, child, { prehash: false, lowS: true })).toBe(true);
    },
  );

  test('must name the account that the key was made for, if it names one', () => {
    const derivation = { derivationPath: "m/44'/1'/7'" };
    cluster.initiateDkg({ sessionId: 'account', threshold: 2, totalNodes: 2, derivation }).result();
    cluster.exchangeDkgShares({ sessionId: 'account' }).result();
    const code = (derivationPath: string) =>
      codeOf(initiate(`account ${derivationPath}`, { walletId: 'account', derivation: { derivationPath } }));
    for (const path of ["m/44'/1'/7'", "m/44h/1H/7'/0/1", 'm/0/1', 'm', ''])
      expect(code(path)).toBe('SESSION_ACCEPTED');
    for (const path of ["m/44'/1'", "m/44'/1'/8'/0", "m/44'/1'/7'/0'"])
      expect(code(path)).toBe('INVALID_DERIVATION_PATH');
  });
});

describe('a keystore', () => {
  test.each([
    ['k', KeystoreType.UNSPECIFIED, 'm0/mock-ecdsa-secp256k1', KeystoreType.MOCK_THRESHOLD],
    ['k', KeystoreType.MOCK_THRESHOLD, 'm0/mock-ecdsa-secp256k1', KeystoreType.MOCK_THRESHOLD],
    ['b', KeystoreType.MPC_FROST, 'm0/frost-bip340', KeystoreType.MPC_FROST],
    ['b', KeystoreType.UNSPECIFIED, 'm0/frost-bip340', KeystoreType.MPC_FROST],
    ['e', KeystoreType.UNSPECIFIED, 'm0/frost-ed25519', KeystoreType.MOCK_THRESHOLD],
    ['e', KeystoreType.MPC_FROST, 'm0/frost-ed25519', KeystoreType.MPC_FROST],
  ])('%s %s is routed to %s', (walletId, keystoreType, route, shown) => {
    const answer = begin(cluster, `store ${walletId} ${keystoreType}`, { walletId, keystoreType });
    expect([answer.receipt!.backendRoute, answer.receipt!.keystoreType]).toEqual([route, shown]);
    const signed = sign(answer.signingSessionId);
    expect(signed.isComplete).toBe(true);
    expect(signed.recoveryId).toHaveLength(route === 'm0/mock-ecdsa-secp256k1' ? 1 : 0);
  });

  test.each([1, 65_536])('ed25519 signs a message of %s bytes', (length) => {
    const messageHash = new Uint8Array(length).fill(7);
    expect(sign(begin(cluster, `length ${length}`, { walletId: 'e', messageHash }).signingSessionId).isComplete).toBe(
      true,
    );
  });
});

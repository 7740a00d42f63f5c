/**
 * The calls of a signing session beside each other, beside a store that refuses, and past its lifetime: each gets its one answer,
 * which shows nothing that is not stored.
 */
import { describe, expect, test } from 'vitest';
import { keyRecordKey, sessionKey } from '../../coordinator/contract/messages.ts';
import { MockDirective, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { nodeIds, partialOf, SigningAlone, schemes, walletId } from './support/signing-alone.ts';
import { type Fate, tenant } from './support/steered-store.ts';

useModelCryptography();

const tampered = { kind: 'tampered' } as const;
/** More than an actor waits before it reads its record again. */
const retryMs = 6_000;
const keyName = keyRecordKey(tenant, walletId);
const human = { approvalMode: 2 };
const witness = { humanApprovalWitness: Uint8Array.of(1) };
const failing = { mockDirective: MockDirective.FORCE_BACKEND_FAILED };

describe('a session that begins', () => {
  const refused: readonly (readonly [what: string, code: string, arrange: (t: SigningAlone) => void])[] = [
    ['has no place in its tenant’s bound', 'TENANT_QUOTA_EXCEEDED', (t) => t.store.fates.push(conflict('QUOTA'))],
    ['has no place in its wallet’s bound', 'TENANT_QUOTA_EXCEEDED', (t) => t.store.fates.push(conflict('OPEN_QUOTA'))],
    [
      'finds the holder of its intent altered',
      'STORE_TAMPERED',
      (t) => t.store.fates.push(conflict('INTENT_TAKEN', tampered)),
    ],
    ['finds its key altered', 'STORE_TAMPERED', (t) => t.store.shown.set(keyName, tampered)],
    ['finds its key closed', 'WALLET_ARCHIVED', (t) => t.store.fates.push(conflict('KEY_CLOSED'))],
    [
      'finds its intent in another cluster',
      'DUPLICATE_INTENT',
      (t) => t.store.fates.push(conflict('INTENT_ELSEWHERE', { kind: 'elsewhere', sessionId: 'sig_far' })),
    ],
    ['loses its write', 'UNAVAILABLE', (t) => t.store.fates.push('lost')],
    [
      'cannot read its key',
      'UNAVAILABLE',
      (t) => {
        t.store.readsFail = true;
      },
    ],
  ];
  test.each(refused)('and %s is refused with %s', (_, code, arrange) => {
    const t = new SigningAlone();
    arrange(t);
    const begun = t.begin();
    expect(t.code(begun)).toBe(code);
    expect(t.answer(begun).signingSessionId ?? '').toBe(code === 'DUPLICATE_INTENT' ? 'sig_far' : '');
    t.store.readsFail = false;
    t.store.shown.clear();
    t.opens();
  });

  test.each([
    ['mock_directive', { mockDirective: 77 }],
    ['approval_mode', { approvalMode: 77 }],
    ['keystore_type', { keystoreType: 77 }],
    ['context.correlation_id', { context: { correlationId: 'c'.repeat(257) } }],
    ['context.payload', { context: { payload: new Uint8Array(65_537) } }],
    ['policy_approval_token', { policyApprovalToken: new Uint8Array(65_537) }],
    ['derivation.network_id', { derivation: { networkId: 'n'.repeat(257) } }],
    ['wallet_id', { walletId: '' }],
  ])('with a wrong %s is refused by that name', (field, changes) => {
    const t = new SigningAlone();
    t.unchanged(() => {
      const begun = t.begin(changes);
      expect([t.code(begun), t.answer(begun).receipt!.message]).toEqual([
        'INVALID_REQUEST',
        expect.stringContaining(field),
      ]);
    });
  });

  test.each([
    ['VAULT_KEY', { walletId: 'vky_1' }, 'mock_ecdsa'],
    ['UNSUPPORTED_CURVE', { derivation: { curve: 'ed25519' } }, 'mock_ecdsa'],
    ['INVALID_DERIVATION_PATH', { derivation: { derivationPath: 'x/1' } }, 'mock_ecdsa'],
    ['INVALID_DERIVATION_PATH', { derivation: { derivationPath: 'm/1' } }, 'owner_ecdsa'],
    ['CONTRACT_VERSION_UNSUPPORTED', { context: { client: { contractVersion: '2.0' } } }, 'mock_ecdsa'],
  ] as const)('is refused with %s', (code, changes, scheme) => {
    const t = new SigningAlone(scheme);
    t.unchanged(() => expect(t.code(t.begin(changes))).toBe(code));
  });

  test('names the account of its key, or none', () => {
    const t = new SigningAlone();
    t.setKey({ account: [44, 7] });
    const path = (derivationPath: string) => ({ derivation: { derivationPath } });
    expect(t.code(t.begin(path("m/44'/8'/1")))).toBe('INVALID_DERIVATION_PATH');
    for (const right of ["m/44'/7'/1", 'm/1', '']) t.opens(path(right));
  });

  test('under a name that was used is refused, whether its first call was answered or not', () => {
    const t = new SigningAlone();
    t.sessionNamed = 'sig_00000000-0000-7000-8000-000000000001';
    t.store.isHeld = true;
    const calls = [t.begin(), t.begin()];
    expect(calls.map((call) => t.code(call))).toEqual(['waits', 'MALFORMED']);
    t.release();
    expect(t.code(calls[0]!)).toBe('SESSION_ACCEPTED');
    t.unchanged(() => expect(t.code(t.begin())).toBe('MALFORMED'));
  });

  test.each([
    ['holds', undefined],
    ['of another cluster holds', conflict('INTENT_ELSEWHERE', { kind: 'elsewhere', sessionId: 'sig_far' })],
  ])('with a directive has its state also when another session %s its intent, and never signs', (_, fate) => {
    const t = new SigningAlone();
    const transactionIntentId = 'same';
    if (fate === undefined) t.opens({ transactionIntentId });
    else t.store.fates.push(fate);
    const begun = t.opens({ transactionIntentId, ...failing }, 'MOCK_FORCED_BACKEND_FAILED');
    t.unchanged(() => expect(t.code(t.resume(t.tokenOf(begun)))).toBe('DUPLICATE_INTENT'));
  });

  test('after one that a directive failed takes its place', () => {
    const t = new SigningAlone();
    const transactionIntentId = 'same';
    const held = t.opens({ transactionIntentId, ...failing, walletId: 'none' }, 'MOCK_FORCED_BACKEND_FAILED');
    const [first, token] = [t.id, t.tokenOf(held)];
    t.unchanged(() => expect(t.code(t.resume(token))).toBe('WALLET_KEY_NOT_FOUND'));
    t.opens({ transactionIntentId, ...failing }, 'MOCK_FORCED_BACKEND_FAILED');
    t.opens({ transactionIntentId });
    expect(t.code(t.call('resumeSession', { sessionId: first, resumeToken: token }))).toBe('SESSION_NOT_RESUMABLE');
    t.signs();
  });
});

function conflict(code: string, current?: object): Fate {
  return { kind: 'conflict', code, current } as Fate;
}

describe('a resume', () => {
  const refused: readonly (readonly [what: string, code: string, act: (t: SigningAlone, token: string) => bigint])[] = [
    ['without a witness', 'WITNESS_MISSING', (t, token) => t.resume(token)],
    [
      'under a key that was altered',
      'STORE_TAMPERED',
      (t, token) => {
        t.store.shown.set(keyName, tampered);
        t.restart();
        return t.resume(token, witness);
      },
    ],
    [
      'past the lifetime',
      'SESSION_EXPIRED',
      (t, token) => {
        t.pass(t.config.lifetimes.pendingMs);
        return t.resume(token, witness);
      },
    ],
    [
      'of another contract',
      'CONTRACT_VERSION_UNSUPPORTED',
      (t, token) => t.resume(token, { ...witness, context: { client: { contractVersion: '2.0' } } }),
    ],
  ];
  test.each(refused)('%s is refused with %s', (_, code, act) => {
    const t = new SigningAlone();
    const token = t.tokenOf(t.opens(human, 'HUMAN_APPROVAL_REQUIRED'));
    expect(t.code(act(t, token))).toBe(code);
    if (code === 'SESSION_EXPIRED') return;
    t.store.shown.clear();
    t.restart();
    expect(t.code(t.resume(token, witness))).toBe('SESSION_RESUMED');
    t.signs();
  });
});

describe.each(schemes)('under %s', (scheme) => {
  const bytes = scheme === 'owner_ecdsa' ? 65 : 32;
  test.each([
    ['NODE_NOT_PARTICIPANT', { nodeId: 4 }],
    ['INVALID_REQUEST', { partialSignature: new Uint8Array(bytes).fill(1) }],
    ['INVALID_REQUEST', { nodeId: 1, partialSignature: new Uint8Array(bytes - 1) }],
    ['INVALID_REQUEST', { ephemeralPublicKey: new Uint8Array(31) }],
    ['CONTRACT_VERSION_UNSUPPORTED', { context: { client: { contractVersion: '2.0' } } }],
  ] as const)('a wrong share is refused with %s, and asks no node', (code, changes) => {
    const t = new SigningAlone(scheme);
    t.opens();
    t.unchanged(() => expect([t.code(t.gather(changes)), t.asked]).toEqual([code, []]));
    t.signs();
  });

  test('a node’s partial counts once, by node or by client', () => {
    const t = new SigningAlone(scheme);
    t.opens();
    const first = t.step(1);
    const answer = t.answerOf(1);
    const given = { partialSignature: partialOf(answer) };
    expect(t.code(first)).toBe('waits');
    const offered = t.step(1, given);
    const gather = t.gather();
    expect([t.code(first), t.code(offered)]).toEqual(['DUPLICATE_SHARE', 'SHARE_ACCEPTED']);
    t.unchanged(() => t.hear(answer));
    expect(t.code(t.step(1, given))).toBe('DUPLICATE_SHARE');
    t.serve();
    expect(t.code(gather)).toBe('SIGNATURE_COMPLETED');
  });

  test('more calls than may wait are refused, and the others answered once', () => {
    const t = new SigningAlone(scheme, { callsWaitingMax: 4 });
    t.opens();
    const calls = Array.from({ length: 5 }, () => t.gather());
    const previews = Array.from({ length: 5 }, () => t.preview(1));
    t.call('inspectSession', { sessionId: t.id });
    expect([calls, previews].map((each) => each.map((call) => t.code(call)).slice(-2))).toEqual([
      ['waits', 'OVERLOADED'],
      ['waits', 'OVERLOADED'],
    ]);
    t.serve();
    expect(calls.map((call) => t.code(call))).toEqual([...Array(4).fill('SIGNATURE_COMPLETED'), 'OVERLOADED']);
    expect(previews.map((call) => t.code(call))).not.toContain('waits');
  });

  const ways: readonly (readonly [what: string, code: string, fate: Fate | undefined])[] = [
    ['is lost', 'UNAVAILABLE', 'lost'],
    ['has no answer', 'UNAVAILABLE', 'unanswered'],
    ['finds the session altered', 'STORE_TAMPERED', conflict('EPOCH', tampered)],
    ['finds the key closed', 'SESSION_REVOKED', conflict('KEY_CLOSED')],
    ['finds the session ended elsewhere', 'SESSION_REVOKED', undefined],
  ];
  test.each(ways)(
    'when a write %s, every call that waits is told %s, previews and inspections too',
    (_, code, fate) => {
      const t = new SigningAlone(scheme);
      t.opens();
      const calls = [t.gather(), t.gather()];
      const [last, first] = t.askedNodes as [number, number];
      const answers = [t.answerOf(first), t.answerOf(last)];
      t.hear(answers[0]!);
      const preview = t.preview(last);
      if (fate === undefined) t.store.change(t.id, { state: ReceiptState.REVOKED, reasonCode: 'SESSION_REVOKED' });
      else t.store.fates.push(fate);
      t.hear(answers[1]!);
      expect(calls.map((call) => t.code(call))).toEqual([code, code]);
      expect(t.code(preview)).not.toBe('waits');
      // What is stored decides about the next calls.
      const next = t.gather();
      t.serve();
      expect(t.code(next)).toBe(code === 'SESSION_REVOKED' ? code : 'SIGNATURE_COMPLETED');
    },
  );

  test.each([
    ['a call', (t: SigningAlone) => t.gather()],
    ['a preview', (t: SigningAlone) => t.preview(1)],
    ['an inspection', (t: SigningAlone) => t.call('inspectSession', { sessionId: t.id })],
  ])('when the write of an expiry at %s finds the session ended elsewhere, every call is told so', (_, comes) => {
    const t = new SigningAlone(scheme);
    t.opens();
    const waiting = t.gather();
    t.store.change(t.id, { state: ReceiptState.REVOKED, reasonCode: 'SESSION_REVOKED' });
    t.aheadMs = t.config.lifetimes.signingMs;
    const late = comes(t);
    t.tell(t.address, { kind: 'expire' }, 'expiry');
    expect([t.code(waiting), t.code(late)]).toEqual(['SESSION_REVOKED', expect.not.stringContaining('waits')]);
  });

  test('past its lifetime a session expires at whatever comes first, and asks no node', () => {
    const lifetime = 60_000;
    const events: readonly ((t: SigningAlone) => void)[] = [
      (t) => t.tell(t.address, { kind: 'expire' }, 'expiry'),
      (t) => t.gather(),
      (t) => t.step(1),
      (t) => t.pass(t.config.nodesWaitMs),
      (t) => t.linkDown(3),
      (t) => t.serve(),
      (t) => t.tell(t.address, { kind: 'revoke', clientsOnly: false }, 'closing/acme/x'),
    ];
    for (const happens of events) {
      const t = new SigningAlone(scheme);
      t.opens();
      const waiting = t.gather();
      t.aheadMs = lifetime;
      happens(t);
      expect([t.code(waiting), t.record.state]).toEqual(['SESSION_EXPIRED', ReceiptState.EXPIRED]);
      t.asked = [];
      expect([t.code(t.gather()), t.code(t.preview(1)), t.asked]).toEqual(['SESSION_EXPIRED', 'SESSION_EXPIRED', []]);
    }
    const t = new SigningAlone(scheme);
    t.opens();
    t.aheadMs = lifetime;
    // A preview changes nothing, not even the state.
    t.unchanged(() => expect(t.code(t.preview(1))).toBe('SESSION_EXPIRED'));
  });
});

describe('a session', () => {
  test('whose record was altered shows nothing of it', () => {
    const t = new SigningAlone();
    t.opens();
    t.restart();
    t.store.shown.set(sessionKey(tenant, t.id), tampered);
    const call = t.gather();
    expect([t.code(call), t.answer(call).receipt!.sessionId]).toEqual(['STORE_TAMPERED', '']);
    const read = t.call('readSessions', { sessionId: t.id });
    expect(t.answer(read).tampered).toBe(true);
  });

  test('whose record cannot be read answers no call, and does nothing else', () => {
    const t = new SigningAlone();
    t.opens();
    t.restart();
    t.store.readsFail = true;
    const calls = [t.gather(), t.call('readSessions', { sessionId: t.id })];
    t.pass(retryMs);
    expect(calls.map((call) => t.code(call))).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
    t.unchanged(() => t.tell(t.address, { kind: 'expire' }, 'expiry'));
    t.store.readsFail = false;
    t.pass(retryMs);
    t.signs();
  });

  test('takes the first of two equal partials that wait for its key together', () => {
    const t = new SigningAlone('owner_ecdsa');
    t.opens();
    t.step(1);
    // An owner's signature of one message is the same in every session.
    const partialSignature = partialOf(t.answerOf(1));
    t.opens();
    t.restart();
    t.store.isHeld = true;
    const calls = [1, 2].map(() => t.step(1, { partialSignature }));
    t.release();
    expect(calls.map((call) => t.code(call))).toEqual(['SHARE_ACCEPTED', 'DUPLICATE_SHARE']);
  });

  test('whose key is gone says so to every call that needs it', () => {
    const t = new SigningAlone();
    t.opens();
    t.restart();
    t.store.shown.set(keyName, tampered);
    expect([t.code(t.gather()), t.code(t.preview(1))]).toEqual(['STORE_TAMPERED', 'STORE_TAMPERED']);
    const missing = new SigningAlone();
    missing.opens();
    missing.restart();
    missing.store.shown.set(keyName, { kind: 'elsewhere', sessionId: '' });
    const calls = [missing.gather(), missing.step(1), missing.preview(1)];
    expect(calls.map((call) => missing.code(call))).toEqual(Array(3).fill('WALLET_KEY_NOT_FOUND'));
  });

  test('that does not exist: it has ended, has no preview, and its vendor’s decision needs no repetition', () => {
    const t = new SigningAlone();
    t.id = 'sig_none';
    t.unchanged(() => {
      t.tell(t.address, { kind: 'revoke', clientsOnly: false }, 'other/closing');
      t.tell(t.address, { kind: 'expire' }, 'expiry');
      const from = `node/1/vendor/${tenant}/${'0'.repeat(32)}`;
      const outcome = { case: 'partial', value: new Uint8Array(64) };
      const body = { case: 'vendorSettled', value: { nodeId: 1, outcome } };
      t.hear({ node: 1, from, to: t.address, names: { tenant, session: t.id, attempt: 0 }, body } as never);
      expect(t.said).toContainEqual({ to: 'other/closing', kind: 'ended' });
      expect(t.said).toContainEqual({ to: from, kind: 'vendorNoted' });
      expect([t.gather(), t.preview(1)].map((call) => t.code(call))).toEqual([
        'SESSION_NOT_FOUND',
        'SESSION_NOT_FOUND',
      ]);
    });
  });

  test.each([false, true])('is shown with its key by every inspection (after a restart: %s)', (isRestarted) => {
    const t = new SigningAlone();
    t.opens();
    if (isRestarted) t.restart();
    t.store.isHeld = isRestarted;
    const calls = [1, 2].map(() => t.call('inspectSession', { sessionId: t.id }));
    t.release();
    for (const call of calls) {
      expect(t.answer(call)).toMatchObject({ found: true, keySession: walletId, threshold: 2, totalNodes: 3 });
    }
    const [longer] = [`${t.id}/x`];
    expect(t.answer(t.call('inspectSession', { sessionId: longer })).found).toBe(false);
    expect(t.code(t.call('previewPartial', { sessionId: longer, nodeId: 1 }))).toBe('SESSION_NOT_FOUND');
  });

  test('shows nothing of itself outside a sandbox', () => {
    const t = new SigningAlone('mock_ecdsa', { sandbox: false });
    t.opens();
    const calls = [t.preview(1), t.call('inspectSession', { sessionId: t.id })];
    expect(calls.map((call) => t.code(call))).toEqual(['MALFORMED', 'MALFORMED']);
  });

  test('that ended while it waited for nonces leaves them to the next one', () => {
    const t = new SigningAlone();
    t.holdsNonces = true;
    t.restart();
    t.opens();
    const call = t.gather();
    t.pass(t.config.nodesWaitMs);
    expect(t.code(call)).toBe('QUORUM_UNAVAILABLE');
    t.release();
    t.opens();
    t.gather();
    expect(t.asked.map(({ node }) => t.requestTo(node)!.nonceNumber % 2n)).toEqual([1n, 1n]);
  });

  test('whose only quorum is away fails its gathering, and a step leaves it open', () => {
    const t = new SigningAlone();
    t.opens();
    for (const id of nodeIds.slice(1)) t.linkDown(id);
    const step = t.step(3);
    t.pass(t.config.nodesWaitMs);
    expect([t.code(step), t.record.state]).toEqual(['NODES_UNAVAILABLE', ReceiptState.ACCEPTED]);
    const gather = t.gather();
    t.pass(t.config.nodesWaitMs);
    expect([t.code(gather), t.record.state]).toEqual(['QUORUM_UNAVAILABLE', ReceiptState.BACKEND_FAILED]);
  });

  test('whose lifetime ends with its wait for nodes expires', () => {
    const t = new SigningAlone();
    t.opens();
    t.pass(t.config.lifetimes.signingMs - t.config.nodesWaitMs + 500);
    const call = t.gather();
    t.pass(t.config.nodesWaitMs);
    expect(t.code(call)).toBe('SESSION_EXPIRED');
  });
});

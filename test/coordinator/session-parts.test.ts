/** The parts of a session without its actor: waiting calls, what it knows of nodes, resume tokens, names of backends. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CallFacts } from '../../coordinator/contract/messages.ts';
import type { SessionRecord } from '../../coordinator/contract/record.ts';
import { keystoreFor } from '../../coordinator/keystores/public.ts';
import { backendRoute, proofOf } from '../../coordinator/session/receipts.ts';
import { resumeFault } from '../../coordinator/session/resume.ts';
import { readResumeToken, resumeToken } from '../../coordinator/session/resume-token.ts';
import { isOverdue } from '../../coordinator/session/turn.ts';
import { effectiveKeystore } from '../../coordinator/signing/key-scheme.ts';
import {
  fallenSilent,
  foundUnable,
  heardOf,
  noncesForgotten,
  nothingSeen,
  orderRefusers,
  ordersForgiven,
  readyKnown,
  readyNodes,
  refusersFor,
  silenceForgiven,
  watchBegun,
  watchEnded,
} from '../../coordinator/signing/nodes-seen.ts';
import {
  emptyQueue,
  hasCalls,
  type Queue,
  roundAnswered,
  roundFiltered,
  type SubmitCall,
  waitingCalls,
  withoutSteps,
  withStep,
} from '../../coordinator/signing/queue.ts';
import { changeOf, openingOf, readKey, redisKeys } from '../../coordinator/store/layout.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ApprovalMode, KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { opaqueBytesMax, resumeTokenCharsMax } from '../../proto/limits.ts';

const call = (callId: number) => ({ callId: BigInt(callId) }) as SubmitCall;
const ids = (queue: Queue) => waitingCalls(queue).map(({ callId }) => Number(callId));

describe('the calls that wait', () => {
  const full: Queue = {
    inbox: [call(9)],
    gathers: [call(1), call(2)],
    steps: new Map([
      [4, [call(3), call(5)]],
      [6, [call(7)]],
    ]),
    offers: [{ call: call(8), nodeId: 4, partial: new Uint8Array() }],
  };

  test('are those of the round, then those of the inbox', () => {
    expect(ids(full)).toEqual([1, 2, 3, 5, 7, 8, 9]);
    expect(ids(roundAnswered(full))).toEqual([9]);
    expect(hasCalls(full)).toBe(true);
    expect(hasCalls(roundAnswered(full))).toBe(false);
    for (const part of [{ gathers: [call(1)] }, { steps: new Map([[1, [call(1)]]]) }, { offers: full.offers }]) {
      expect(hasCalls({ ...emptyQueue, ...part })).toBe(true);
    }
    expect(hasCalls({ ...emptyQueue, inbox: [call(1)] })).toBe(false);
  });

  test('for a node’s partial are in order, unless one goes first; no queue changes in place', () => {
    const before = structuredClone(full);
    expect(ids(withStep(full, 6, call(10)))).toEqual([1, 2, 3, 5, 7, 10, 8, 9]);
    expect(ids(withStep(full, 6, call(10), true))).toEqual([1, 2, 3, 5, 10, 7, 8, 9]);
    expect(ids(withStep(full, 7, call(10)))).toEqual([1, 2, 3, 5, 7, 10, 8, 9]);
    expect(ids(withoutSteps(full, [4]))).toEqual([1, 2, 7, 8, 9]);
    expect(withoutSteps(full, [5])).toBe(full);
    expect(full).toEqual(before);
  });

  test('may leave the round, and a node without calls leaves with them', () => {
    const kept = roundFiltered(full, ({ callId }) => callId < 7n);
    expect(ids(kept)).toEqual([1, 2, 3, 5, 9]);
    expect([...kept.steps.keys()]).toEqual([4]);
    expect(ids(roundFiltered(full, ({ callId }) => callId === 8n))).toEqual([8, 9]);
  });
});

describe('what a session knows of nodes', () => {
  const watching = readyKnown(watchBegun(nothingSeen), [1, 2]);

  test('begins with the first report of the cluster, and ends with its last call', () => {
    expect(readyNodes(nothingSeen)).toBeUndefined();
    expect(readyNodes(watchBegun(nothingSeen))).toBeUndefined();
    expect(readyNodes(watching)).toEqual(new Set([1, 2]));
    const ended = watchEnded(fallenSilent(watching, [1]));
    expect([ended.watch, ended.silent.size]).toEqual([undefined, 0]);
  });

  test('a silent node is heard again by its answer, or by its return, and not by a report that it is still ready', () => {
    const silent = fallenSilent(watching, [1, 3]);
    expect([...silent.silent]).toEqual([1, 3]);
    expect([...fallenSilent(silent, [2]).silent]).toEqual([1, 3, 2]);
    expect(fallenSilent(silent, [])).toBe(silent);
    expect([...heardOf(silent, 1).silent]).toEqual([3]);
    expect(heardOf(silent, 2)).toBe(silent);
    expect([...readyKnown(silent, [1, 2, 3]).silent]).toEqual([1]);
    expect([...silenceForgiven(silent).silent]).toEqual([]);
    // The first report tells of no return.
    expect([...readyKnown(fallenSilent(watchBegun(nothingSeen), [1]), [1]).silent]).toEqual([1]);
  });

  test('refusals for lack of an order, or by a token, end with a resume; others last', () => {
    let nodes = foundUnable(nothingSeen, 5, { kind: 'lasting', reason: 'KEYSTORE_MISMATCH' });
    nodes = foundUnable(nodes, 2, { kind: 'lasting', reason: 'KEYSTORE_MISMATCH' });
    nodes = foundUnable(nodes, 1, { kind: 'lasting', reason: 'INTENT_MESSAGE_CHANGED' });
    nodes = foundUnable(nodes, 3, { kind: 'order', code: 'ORDER_MISSING' });
    nodes = foundUnable(nodes, 4, { kind: 'token', reason: 'HSM_TIMEOUT', message: 'slow' });
    nodes = foundUnable(nodes, 6, { kind: 'other' });
    expect(orderRefusers(nodes)).toEqual(new Map([[3, 'ORDER_MISSING']]));
    expect(refusersFor(nodes, 'KEYSTORE_MISMATCH')).toEqual([2, 5]);
    expect(refusersFor(nodes, 'INTENT_MESSAGE_CHANGED')).toEqual([1]);
    expect([...ordersForgiven(nodes).unable.keys()].sort()).toEqual([1, 2, 5, 6]);
    expect(noncesForgotten(nodes, 3, 2).forgot.get(3)).toBe(2);
    expect(nodes.forgot.size).toBe(0);
  });
});

const key = new Uint8Array(32).fill(3);
const point = {
  tenant: 'acme',
  sessionId: 'sig-1',
  checkpointId: 'ckp_01890a5d-ac96-774b-bcce-b302099a8057',
  epoch: 7,
};

describe('a resume token', () => {
  test('is read by the key, tenant and session that it was made for, and by no other', () => {
    const token = resumeToken(key, point);
    const { epoch, checkpointId } = point;
    expect(readResumeToken(key, point, token)).toEqual({ epoch, checkpointId });
    expect(readResumeToken(new Uint8Array(32), point, token)).toBeUndefined();
    expect(readResumeToken(key, { ...point, tenant: 'other' }, token)).toBeUndefined();
    expect(readResumeToken(key, { ...point, sessionId: 'sig-2' }, token)).toBeUndefined();
  });

  test('that differs in any character is none, whatever its length', () => {
    const token = resumeToken(key, point);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom('A', 'B', '-', '=', ' '), (at, character) => {
        const other = token.slice(0, at) + character + token.slice(at + 1);
        if (other !== token) expect(readResumeToken(key, point, other)).toBeUndefined();
      }),
    );
    for (const other of [
      '',
      'rt1_',
      token.slice(0, -4),
      `${token}AAAA`,
      `${token}=`,
      `rt2${token.slice(3)}`,
      token.slice(4),
    ]) {
      expect(readResumeToken(key, point, other)).toBeUndefined();
    }
    expect(readResumeToken(key, point, `rt1_${'A'.repeat(resumeTokenCharsMax)}`)).toBeUndefined();
  });

  test('its faults are found in this order: its form, its use, the state of the session, its epoch', () => {
    const record = {
      ...point,
      state: ReceiptState.BACKEND_FAILED,
      reasonCode: 'QUORUM_UNAVAILABLE',
      message: 'too few nodes',
      usedResumeEpochs: [5],
    } as unknown as SessionRecord;
    const fault = (over: object, token = resumeToken(key, point), witness = 0) =>
      resumeFault(
        { ...record, ...over } as SessionRecord,
        { resumeToken: token, humanApprovalWitness: new Uint8Array(witness) } as Parameters<typeof resumeFault>[1],
        key,
      )?.reasonCode;
    const used = resumeToken(key, { ...point, epoch: 5 });
    const completed = { state: ReceiptState.BACKEND_COMPLETED };
    expect(fault({})).toBeUndefined();
    expect(fault({}, undefined, opaqueBytesMax)).toBeUndefined();
    expect(fault({}, '')).toBe('INVALID_REQUEST');
    expect(fault(completed, used, opaqueBytesMax + 1)).toBe('INVALID_REQUEST');
    expect(fault(completed, used)).toBe('RESUME_TOKEN_REUSED');
    expect(fault(completed)).toBe('SESSION_NOT_RESUMABLE');
    expect(fault(completed, 'junk')).toBe('SESSION_NOT_RESUMABLE');
    expect(fault({ state: ReceiptState.EXPIRED, reasonCode: 'SESSION_EXPIRED' })).toBe('SESSION_EXPIRED');
    expect(fault({}, 'junk')).toBe('RESUME_TOKEN_INVALID');
    expect(fault({ epoch: 8 })).toBe('RESUME_TOKEN_INVALID');
    expect(fault({ checkpointId: 'ckp_01890a5d-ac96-774b-bcce-b302099a8058' })).toBe('RESUME_TOKEN_INVALID');
  });
});

test('a session is overdue from the end of its lifetime on, unless it has ended', () => {
  const at = (nowMs: number, state = ReceiptState.ACCEPTED) =>
    isOverdue({ state, expiresMs: 1_000 } as SessionRecord, nowMs);
  expect([at(999), at(1_000), at(1_001)]).toEqual([false, true, true]);
  expect(at(1_001, ReceiptState.BACKEND_COMPLETED)).toBe(false);
  expect(at(1_001, ReceiptState.BACKEND_FAILED)).toBe(true);
});

test('the name of the backend follows from the ceremony, the keystore and the curve', () => {
  const { MOCK_THRESHOLD, MPC_FROST, HSM_PKCS11, MPC_VENDOR, MULTISIG_EVM_WALLET } = KeystoreType;
  const route = (kind: string, keystoreType: KeystoreType, curve: string) =>
    backendRoute({ keystoreType, ceremony: { kind, curve } } as unknown as SessionRecord);
  for (const [keystore, curve, made, signed] of [
    [MOCK_THRESHOLD, 'secp256k1', 'm0/dkg/secp256k1', 'm0/mock-ecdsa-secp256k1'],
    [MPC_FROST, 'secp256k1', 'm0/dkg/secp256k1', 'm0/frost-bip340'],
    [MPC_FROST, 'ed25519', 'm0/dkg/ed25519', 'm0/frost-ed25519'],
    [HSM_PKCS11, 'secp256k1', 'm0/hsm-keys/secp256k1', 'm0/hsm-pkcs11/secp256k1'],
    [HSM_PKCS11, 'ed25519', 'm0/hsm-keys/ed25519', 'm0/hsm-pkcs11/ed25519'],
    [MPC_VENDOR, 'secp256k1', 'm0/vendor-keys/secp256k1', 'm0/mpc-vendor/secp256k1'],
    [MPC_VENDOR, 'ed25519', 'm0/vendor-keys/ed25519', 'm0/mpc-vendor/ed25519'],
    [MULTISIG_EVM_WALLET, 'secp256k1', 'm0/owner-keys', 'm0/multisig-evm'],
  ] as const) {
    expect([route('dkg', keystore, curve), route('signing', keystore, curve)]).toEqual([made, signed]);
  }
  expect(route('signing', MPC_FROST, '')).toBe('m0/mock-directive');
});

test('a FROST signature binds its signers; signers with a key each share no nonce', () => {
  const { MOCK_ECDSA, FROST_ED25519, FROST_BIP340, OWNER_ECDSA, HSM_ECDSA, HSM_ED25519, VENDOR_ECDSA, VENDOR_ED25519 } =
    Scheme;
  const facts = (scheme: Scheme) => [keystoreFor(scheme).bindsSigners, keystoreFor(scheme).sharesNonce];
  expect(facts(MOCK_ECDSA)).toEqual([false, true]);
  for (const scheme of [FROST_ED25519, FROST_BIP340]) expect(facts(scheme)).toEqual([true, true]);
  for (const scheme of [OWNER_ECDSA, HSM_ECDSA, HSM_ED25519, VENDOR_ECDSA, VENDOR_ED25519]) {
    expect(facts(scheme)).toEqual([false, false]);
  }
  expect(() => keystoreFor(Scheme.UNSPECIFIED)).toThrow('has no keystore');
});

test('a keystore type that is not named, or does not exist, is mock ECDSA', () => {
  const { UNSPECIFIED, MOCK_THRESHOLD, MPC_FROST } = KeystoreType;
  expect([UNSPECIFIED, MOCK_THRESHOLD, MPC_FROST, 99 as KeystoreType].map(effectiveKeystore)).toEqual([
    MOCK_THRESHOLD,
    MOCK_THRESHOLD,
    MPC_FROST,
    MOCK_THRESHOLD,
  ]);
});

test('a receipt has the correlation id of the call, else of the session; the session decides about the rest', () => {
  const facts = { receiptId: 'rcp_1', clientName: 'me', clientVersion: '1', trace: noTrace };
  const context = { self: 'signing/acme/sig-1', nowMs: 5, random: (length: number) => new Uint8Array(length) };
  const given = { state: ReceiptState.ACCEPTED, reasonCode: 'X', message: 'm' } as unknown as Parameters<
    typeof proofOf
  >[1];
  const record = {
    ...point,
    state: ReceiptState.BACKEND_FAILED,
    checkpointMs: 3,
    correlationId: 'cor_session',
    approvalMode: ApprovalMode.HUMAN_REQUIRED,
    keystoreType: KeystoreType.MPC_FROST,
    ceremony: { kind: 'signing', curve: 'ed25519' },
  } as unknown as SessionRecord;
  const proof = (correlationId: string, of: SessionRecord | undefined, asked: Parameters<typeof proofOf>[5]) =>
    proofOf({ ...facts, correlationId } as unknown as CallFacts, given, of, key, context, asked);
  const asked = {
    approvalMode: ApprovalMode.DIRECT_ALLOWED,
    keystoreType: KeystoreType.HSM_PKCS11,
    sessionId: 'asked',
  };
  const session = {
    sessionId: 'sig-1',
    approvalMode: ApprovalMode.HUMAN_REQUIRED,
    keystoreType: KeystoreType.MPC_FROST,
    backendRoute: 'm0/frost-ed25519',
    epoch: 7n,
    resumable: true,
  };
  expect(proof('cor_call', record, asked).receipt).toMatchObject({ ...session, correlationId: 'cor_call' });
  expect(proof('', record, asked).receipt.correlationId).toBe('cor_session');
  expect(proof('', record, asked).checkpoint).toEqual({
    checkpointId: point.checkpointId,
    epoch: 7n,
    createdAtEpochMs: 3n,
    state: ReceiptState.BACKEND_FAILED,
    resumeToken: resumeToken(key, point),
  });
  const ended = { ...record, state: ReceiptState.BACKEND_COMPLETED } as SessionRecord;
  expect(proof('', ended, asked)).toMatchObject({ receipt: { resumable: false }, checkpoint: { resumeToken: '' } });
  const none = proof('', undefined, {
    approvalMode: ApprovalMode.HUMAN_REQUIRED,
    ...{ keystoreType: KeystoreType.MPC_FROST },
  });
  expect(none.receipt).toMatchObject({
    sessionId: '',
    approvalMode: ApprovalMode.HUMAN_REQUIRED,
    keystoreType: KeystoreType.MPC_FROST,
    backendRoute: 'm0/coordinator',
    epoch: 0n,
    resumable: false,
  });
  expect(none.receipt.correlationId).toMatch(/^cor_/);
  expect(none.checkpoint).toMatchObject({ createdAtEpochMs: 5n, resumeToken: '', state: ReceiptState.ACCEPTED });
  expect(proof('', undefined, {}).receipt).toMatchObject({
    approvalMode: ApprovalMode.DIRECT_ALLOWED,
    keystoreType: KeystoreType.MOCK_THRESHOLD,
  });
  expect(proof('', undefined, asked).receipt.sessionId).toBe('asked');
});

test('records of a tenant lie under its tag; what belongs to one cluster names it, the first cluster excepted', () => {
  const keys = (cluster?: number) => [
    redisKeys.ending('acme', cluster),
    redisKeys.list('acme', cluster),
    redisKeys.fence('acme', cluster),
  ];
  const own = ['ending', 'sessions', 'fence'].map((name) => `sm:{t:acme}:${name}`);
  expect([keys(), keys(1), keys(3)]).toEqual([own, own, own.map((key) => `${key}:3`)]);
  expect([
    ...[redisKeys.session('acme', 's-1'), redisKeys.key('acme', 'k-1')],
    ...[redisKeys.open('acme', 'wal_1'), redisKeys.closed('acme', 'wal_1')],
  ]).toEqual(['session:s-1', 'key:k-1', 'open:wal_1', 'closed:wal_1'].map((name) => `sm:{t:acme}:${name}`));
  expect([redisKeys.probe, redisKeys.fenceCounter('cl_1')]).toEqual(['sm:probe:coordinator', 'sm:fence:cl_1']);
});

test('a record that is not there is none', () => {
  expect(readKey(null, {} as Parameters<typeof readKey>[1], 1)).toBeUndefined();
});

test('what a session is to the key of its wallet follows from its state; other keys count no sessions', () => {
  const signing = (
    state: ReceiptState,
    more: { readonly keyId?: string; readonly curve?: string; vendorOrder?: object } = {},
  ) => {
    const { keyId = 'wal_1', curve = 'secp256k1', vendorOrder } = more;
    return { state, ceremony: { kind: 'signing', curve, facts: { keyId }, vendorOrder } } as unknown as SessionRecord;
  };
  const S = ReceiptState;
  const states = [
    S.ACCEPTED,
    S.PENDING_HUMAN_APPROVAL,
    S.RESUMED,
    S.BACKEND_FAILED,
    S.BACKEND_COMPLETED,
    S.DENIED,
  ] as const;
  const ended = [S.EXPIRED, S.REVOKED] as const;
  const each = (of: (session: SessionRecord) => string) => [...states, ...ended].map((state) => of(signing(state)));
  const checked = 'checked';
  expect(each(openingOf)).toEqual([checked, checked, checked, checked, '', '', '', '']);
  expect(each(changeOf)).toEqual(['', '', 'goesOn', '', 'completes', 'ends', 'ends', 'ends']);
  // A directive of the sandbox comes before the key is looked at; a vendor's decision prolongs the session.
  expect(openingOf(signing(S.BACKEND_FAILED, { curve: '' }))).toBe('listed');
  expect([S.ACCEPTED, S.BACKEND_FAILED].map((state) => changeOf(signing(state, { vendorOrder: {} })))).toEqual([
    'goesOn',
    '',
  ]);
  for (const state of states) {
    expect([openingOf(signing(state, { keyId: 'k-1' })), changeOf(signing(state, { keyId: 'k-1' }))]).toEqual(['', '']);
    expect(openingOf(signing(state, { keyId: 'vky_1' }))).toBe(openingOf(signing(state)));
  }
});

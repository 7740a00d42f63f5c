/** Every field of the five requests, wrong in every way: refused by name, and nothing changes. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type ApprovalMode,
  MockDirective as Directive,
  type DkgShareExchangeRequestSchema,
  type InitiateDkgRequestSchema,
  type InitiateSigningRequestSchema,
  KeystoreType,
  type MockDirective,
  type OrchestrationContextSchema,
  ReceiptState,
  type SignatureShareRequestSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type ReasonCode, reasonCodes } from '../../proto/reason-codes.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { begin, codeOf, digest, expectComplete, makeKey, tenant, tokenOf, witness } from './support/world.ts';

const long = 'x'.repeat(257);
const huge = 2_147_483_647;
const tooMany = new Uint8Array(65_537);
const client = { clientName: 'suite', clientVersion: '2.1', contractVersion: 'v1.0.9' };

let cluster: SimCluster;
/** An open signing session, an open DKG session, a paused one, a completed one. */
let open: string;
let paused: { sessionId: string; resumeToken: string };
let completed: string;

beforeAll(() => {
  // The sharing of a roster that names none.
  cluster = new SimCluster({ seed: 'bad input', nodes: 3, sharing: { threshold: 3, totalNodes: 5 } });
  makeKey(cluster, 'k');
  makeKey(cluster, 'e', 'ed25519');
  open = begin(cluster, 'open').signingSessionId;
  const failed = cluster
    .initiateSigning({ transactionIntentId: 'p', walletId: 'k', messageHash: digest, approvalMode: 2 })
    .result();
  paused = { sessionId: failed.signingSessionId, resumeToken: tokenOf(failed) };
  completed = begin(cluster, 'done').signingSessionId;
  expect(cluster.submitSignatureShare({ signingSessionId: completed }).result().isComplete).toBe(true);
  cluster.initiateDkg({ sessionId: 'dkg-open', threshold: 2, totalNodes: 3 }).result();
});

/** The stored sessions, as they must still be after a refused call. */
function standing() {
  return ['dkg-open', 'k', open, paused.sessionId, completed].map((id) => cluster.storedSession(tenant, id));
}

function stateOf(code: string): ReceiptState {
  return reasonCodes[code as ReasonCode].state;
}

describe('the orchestration context', () => {
  type Row = [string, MessageInitShape<typeof OrchestrationContextSchema>, string, string];
  const rows: Row[] = [
    ['a correlation id that is too long', { correlationId: long }, 'INVALID_REQUEST', 'context.correlation_id'],
    ['a traceparent that is too long', { traceparent: long }, 'INVALID_REQUEST', 'context.traceparent'],
    ['a payload that is too long', { payload: tooMany }, 'INVALID_REQUEST', 'context.payload'],
    [
      'a client name that is too long',
      { client: { clientName: long } },
      'INVALID_REQUEST',
      'context.client.client_name',
    ],
    [
      'a client version too long',
      { client: { clientVersion: long } },
      'INVALID_REQUEST',
      'context.client.client_version',
    ],
    ...['2.0', '1.1', '0.9', 'x', '2', 'v', '1.', 'v1.0.0.0', ' 1.0', '1.0-beta', long, '99999999999.0'].map(
      (contractVersion): Row => [
        `the contract version ${contractVersion.slice(0, 16)}`,
        { client: { ...client, contractVersion } },
        'CONTRACT_VERSION_UNSUPPORTED',
        'context.client.contract_version',
      ],
    ),
  ];
  test.each(rows)(
    'refuses %s in all five calls, and shows the session where there is one',
    (_, context, code, field) => {
      const before = standing();
      const answers = [
        ['', cluster.initiateDkg({ sessionId: 'never', context })],
        ['', cluster.initiateDkg({ sessionId: 'k', context })],
        ['', cluster.initiateSigning({ transactionIntentId: 'never', walletId: 'k', messageHash: digest, context })],
        ['dkg-open', cluster.exchangeDkgShares({ sessionId: 'dkg-open', context })],
        ['', cluster.exchangeDkgShares({ sessionId: 'unknown', context })],
        [open, cluster.submitSignatureShare({ signingSessionId: open, context })],
        [completed, cluster.submitSignatureShare({ signingSessionId: completed, context })],
        [paused.sessionId, cluster.resumeSession({ ...paused, humanApprovalWitness: witness, context })],
        ['', cluster.resumeSession({ sessionId: 'sig_unknown', resumeToken: 'x', context })],
      ] as const;
      for (const [sessionId, call] of answers) {
        const answer = call.result();
        expect(codeOf(answer)).toBe(code);
        expect(answer.receipt!.state).toBe(stateOf(code));
        expect(answer.receipt!.message).toContain(field);
        expectComplete(answer, sessionId);
      }
      expect(standing()).toEqual(before);
      expect(cluster.storedSession(tenant, 'never')).toBeUndefined();
    },
  );

  test.each(['', '1', 'v1', '1.0', 'v1.0', '1.0.0', '1.0.7', 'v1.0.0'])(
    'serves contract version "%s" and echoes the client',
    (contractVersion) => {
      const context = { correlationId: 'c-1', client: { ...client, contractVersion } };
      const { receipt } = cluster.submitSignatureShare({ signingSessionId: completed, context }).result();
      expect(receipt!.reasonCode).toBe('SIGNATURE_COMPLETED');
      expect(receipt!).toMatchObject({
        correlationId: 'c-1',
        clientName: 'suite',
        clientVersion: '2.1',
        contractVersion: '1.0',
      });
    },
  );
});

describe('InitiateDkg', () => {
  type Row = [string, MessageInitShape<typeof InitiateDkgRequestSchema>, string, string];
  const rows: Row[] = [
    ...['sp ace', 'a/b', 'x'.repeat(129), 'ünï', 'a\n'].map(
      (sessionId): Row => [
        `session id ${JSON.stringify(sessionId.slice(0, 9))}`,
        { sessionId },
        'INVALID_REQUEST',
        'session_id',
      ],
    ),
    ['a wallet-like session id', { sessionId: 'wal_1' }, 'INVALID_REQUEST', 'wal_'],
    ['a signing-like session id', { sessionId: 'sig_1' }, 'INVALID_REQUEST', 'sig_'],
    ...(
      [
        [3, 0],
        [1, 3],
        [4, 3],
        [2, 4],
        [-1, 3],
        [2, -1],
        [-huge - 1, -huge - 1],
        [huge, huge],
        [2, huge],
        [0, 5],
      ] as const
    ).map(
      ([threshold, totalNodes]): Row => [
        `${threshold} of ${totalNodes}`,
        { threshold, totalNodes },
        'INVALID_THRESHOLD',
        'threshold',
      ],
    ),
    ...['p256', 'SECP256K1', ' ed25519', long].map(
      (curve): Row => [
        `curve ${curve.slice(0, 9)}`,
        { derivation: { curve } },
        'UNSUPPORTED_CURVE',
        'derivation.curve',
      ],
    ),
    ['a network id that is too long', { derivation: { networkId: long } }, 'INVALID_REQUEST', 'derivation.network_id'],
    ...["m/0'/1", 'm/5', '44', 'm//', "m/0''", "m/2147483648'", 'm/-1', `m/${"0'/".repeat(400)}`].map(
      (derivationPath): Row => [
        `path ${derivationPath.slice(0, 12)}`,
        { derivation: { derivationPath } },
        'INVALID_DERIVATION_PATH',
        'derivation.derivation_path',
      ],
    ),
  ];
  test.each(rows)('refuses %s and makes no session', (_, request, code, named) => {
    const full = { sessionId: 'refused', threshold: 2, totalNodes: 3, ...request };
    const answer = cluster.initiateDkg(full).result();
    expect(codeOf(answer)).toBe(code);
    expect(answer.state).toBe(ReceiptState.DENIED);
    expect(answer.receipt!.message).toContain(named);
    expect(answer.epoch).toBe(0n);
    expectComplete(answer, '');
    expect(cluster.storedSession(tenant, 'refused')).toBeUndefined();
  });

  test('refuses the default 3 of 5 where the cluster has fewer nodes', () => {
    const answer = cluster.initiateDkg({ sessionId: 'refused' }).result();
    expect(codeOf(answer)).toBe('INVALID_THRESHOLD');
    expect(answer.receipt!.message).toContain('threshold 3 and total_nodes 5');
  });

  test('rejects a known id in any state, and shows its session unchanged', () => {
    for (const sessionId of ['dkg-open', 'k']) {
      const before = cluster.storedSession(tenant, sessionId);
      const answer = cluster.initiateDkg({ sessionId, threshold: 2, totalNodes: 2 }).result();
      expect([codeOf(answer), answer.state]).toEqual(['DUPLICATE_SESSION', ReceiptState.REPLAY_REJECTED]);
      expect(answer.epoch).toBe(BigInt(before!.epoch));
      expectComplete(answer, sessionId);
      expect(codeOf(cluster.initiateDkg({ sessionId, threshold: 9, totalNodes: 2 }).result())).toBe(
        'INVALID_THRESHOLD',
      );
      expect(cluster.storedSession(tenant, sessionId)).toEqual(before);
    }
  });

  test('takes one of two that come at once', () => {
    const calls = [1, 2].map(() => cluster.initiateDkg({ sessionId: 'twice', threshold: 2, totalNodes: 2 }));
    expect(calls.map((call) => codeOf(call.result()))).toEqual(['SESSION_ACCEPTED', 'DUPLICATE_SESSION']);
  });

  test('makes an id where none was given', () => {
    const answer = cluster.initiateDkg({ threshold: 2, totalNodes: 2 }).result();
    expect(answer.sessionId).toMatch(/^dkg_/);
    expectComplete(answer, answer.sessionId);
  });
});

describe('ExchangeDkgShares', () => {
  type Row = [string, MessageInitShape<typeof DkgShareExchangeRequestSchema>, string, string];
  const share = new Uint8Array(32).fill(1);
  const point = Buffer.from('0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798', 'hex');
  const pair = { senderNodeId: 1, recipientNodeId: 2 };
  const rows: Row[] = [
    ...[-1, 4, huge, -huge - 1].flatMap((id): Row[] => [
      [`sender ${id}`, { senderNodeId: id }, 'NODE_NOT_PARTICIPANT', 'sender_node_id'],
      [`recipient ${id}`, { recipientNodeId: id }, 'NODE_NOT_PARTICIPANT', 'recipient_node_id'],
    ]),
    [
      'a share without a sender',
      { recipientNodeId: 1, encryptedShare: share, commitments: [point, point] },
      'INVALID_REQUEST',
      'sender_node_id',
    ],
    [
      'a share without a recipient',
      { senderNodeId: 1, encryptedShare: share, commitments: [point, point] },
      'INVALID_REQUEST',
      'recipient_node_id',
    ],
    ['commitments without a share', { ...pair, commitments: [point, point] }, 'INVALID_REQUEST', 'encrypted_share'],
    ['a share without commitments', { ...pair, encryptedShare: share }, 'INVALID_REQUEST', 'commitments'],
    [
      'a short share',
      { ...pair, encryptedShare: share.subarray(1), commitments: [point, point] },
      'INVALID_REQUEST',
      'encrypted_share',
    ],
    [
      'a long share',
      { ...pair, encryptedShare: tooMany, commitments: [point, point] },
      'INVALID_REQUEST',
      'encrypted_share',
    ],
    [
      'one commitment too few',
      { ...pair, encryptedShare: share, commitments: [point] },
      'INVALID_REQUEST',
      'commitments',
    ],
    [
      'one commitment too many',
      { ...pair, encryptedShare: share, commitments: [point, point, point] },
      'INVALID_REQUEST',
      'commitments',
    ],
    [
      'a commitment that is no point',
      { ...pair, encryptedShare: share, commitments: [point, new Uint8Array(33)] },
      'INVALID_REQUEST',
      'commitments',
    ],
    [
      'an empty commitment',
      { ...pair, encryptedShare: share, commitments: [point, new Uint8Array()] },
      'INVALID_REQUEST',
      'commitments',
    ],
    [
      'a share of zero',
      { ...pair, encryptedShare: new Uint8Array(32), commitments: [point, point] },
      'SHARE_VERIFICATION_FAILED',
      'encrypted_share',
    ],
    [
      'a share above the order',
      { ...pair, encryptedShare: new Uint8Array(32).fill(255), commitments: [point, point] },
      'SHARE_VERIFICATION_FAILED',
      'encrypted_share',
    ],
    [
      'a wrong share',
      { ...pair, encryptedShare: share, commitments: [point, point] },
      'SHARE_VERIFICATION_FAILED',
      'encrypted_share',
    ],
  ];
  test.each(rows)('refuses %s and leaves the session as it was', (_, request, code, named) => {
    const before = standing();
    const answer = cluster.exchangeDkgShares({ sessionId: 'dkg-open', ...request }).result();
    expect(codeOf(answer)).toBe(code);
    expect(answer.receipt!.state).toBe(ReceiptState.DENIED);
    expect(answer.verified).toBe(false);
    expect(answer.errorMessage).toBe(answer.receipt!.message);
    expect(answer.errorMessage).toContain(named);
    expectComplete(answer, 'dkg-open');
    expect(answer.checkpoint!.state).toBe(ReceiptState.ACCEPTED);
    expect(standing()).toEqual(before);
  });

  test('answers a completed round again, and checks what it is given then', () => {
    const again = cluster.exchangeDkgShares({ sessionId: 'k' }).result();
    expect([codeOf(again), again.verified, again.errorMessage]).toEqual(['DKG_COMPLETED', true, '']);
    const given = { sessionId: 'k', ...pair, encryptedShare: share, commitments: [point, point] };
    expect(codeOf(cluster.exchangeDkgShares(given).result())).toBe('COMMITMENT_MISMATCH');
  });
});

describe('InitiateSigning', () => {
  type Row = [string, MessageInitShape<typeof InitiateSigningRequestSchema>, string, string];
  const rows: Row[] = [
    ['no intent', { transactionIntentId: '' }, 'INVALID_REQUEST', 'transaction_intent_id'],
    ['an intent that is too long', { transactionIntentId: long }, 'INVALID_REQUEST', 'transaction_intent_id'],
    ['no wallet', { walletId: '' }, 'INVALID_REQUEST', 'wallet_id'],
    ['a wallet id that is too long', { walletId: long }, 'INVALID_REQUEST', 'wallet_id'],
    ['an unknown wallet', { walletId: 'unknown' }, 'WALLET_KEY_NOT_FOUND', 'wallet_id "unknown"'],
    ['a wallet id that is no id', { walletId: '../k' }, 'WALLET_KEY_NOT_FOUND', 'wallet_id'],
    ['a key that is not made yet', { walletId: 'dkg-open' }, 'WALLET_KEY_NOT_FOUND', 'wallet_id'],
    ...[0, 1, 31, 33, 64, 65_537].map(
      (length): Row => [
        `a digest of ${length} bytes`,
        { messageHash: new Uint8Array(length) },
        'INVALID_MESSAGE_HASH',
        'message_hash',
      ],
    ),
    ['no message on ed25519', { walletId: 'e', messageHash: new Uint8Array() }, 'INVALID_MESSAGE_HASH', 'message_hash'],
    ['too long a message on ed25519', { walletId: 'e', messageHash: tooMany }, 'INVALID_MESSAGE_HASH', 'message_hash'],
    ['the other curve', { derivation: { curve: 'ed25519' } }, 'UNSUPPORTED_CURVE', 'derivation.curve'],
    ['an unknown curve', { derivation: { curve: long } }, 'UNSUPPORTED_CURVE', 'derivation.curve'],
    ['a network id that is too long', { derivation: { networkId: long } }, 'INVALID_REQUEST', 'derivation.network_id'],
    ...["m/0/1'", '/0/1', 'm/', 'm/x', 'm/4294967296', `m/${'0/'.repeat(600)}0`].map(
      (derivationPath): Row => [
        `path ${derivationPath.slice(0, 12)}`,
        { derivation: { derivationPath } },
        'INVALID_DERIVATION_PATH',
        'derivation.derivation_path',
      ],
    ),
    ['a policy token that is too long', { policyApprovalToken: tooMany }, 'INVALID_REQUEST', 'policy_approval_token'],
    ['a witness that is too long', { humanApprovalWitness: tooMany }, 'INVALID_REQUEST', 'human_approval_witness'],
    ...[3, -1, huge].map(
      (mode): Row => [
        `approval mode ${mode}`,
        { approvalMode: mode as ApprovalMode },
        'INVALID_REQUEST',
        `approval_mode ${mode}`,
      ],
    ),
    ...[6, -1, huge].map(
      (type): Row => [
        `keystore ${type}`,
        { keystoreType: type as KeystoreType },
        'INVALID_REQUEST',
        `keystore_type ${type}`,
      ],
    ),
    ...[5, -1, huge].map(
      (directive): Row => [
        `directive ${directive}`,
        { mockDirective: directive as MockDirective },
        'INVALID_REQUEST',
        `mock_directive ${directive}`,
      ],
    ),
    ...[KeystoreType.MULTISIG_EVM_WALLET, KeystoreType.HSM_PKCS11, KeystoreType.MPC_VENDOR].map(
      (keystoreType): Row => [
        `keystore ${KeystoreType[keystoreType]}`,
        { keystoreType },
        'KEYSTORE_MISMATCH',
        'keystore_type',
      ],
    ),
  ];
  test.each(rows)('refuses %s and makes no session', (_, request, code, named) => {
    const whole = { transactionIntentId: 'refused', walletId: 'k', messageHash: digest, context: { client } };
    const answer = cluster.initiateSigning(Object.assign(whole, request)).result();
    expect(codeOf(answer)).toBe(code);
    expect(answer.state).toBe(ReceiptState.DENIED);
    expect(answer.receipt!.message).toContain(named);
    expect(answer.receipt!).toMatchObject({ clientName: 'suite', clientVersion: '2.1' });
    expect([answer.signingSessionId, answer.epoch]).toEqual(['', 0n]);
    expectComplete(answer, '');
  });

  test('left no trace of the refused ones: their intent is free', () => {
    begin(cluster, 'refused');
  });
});

describe('SubmitSignatureShare', () => {
  type Row = [string, MessageInitShape<typeof SignatureShareRequestSchema>, string, string];
  const partial = new Uint8Array(32).fill(1);
  const rows: Row[] = [
    ...[-1, 4, huge, -huge - 1].map(
      (nodeId): Row => [`node ${nodeId}`, { nodeId }, 'NODE_NOT_PARTICIPANT', `node_id ${nodeId}`],
    ),
    ['a partial without its node', { partialSignature: partial }, 'INVALID_REQUEST', 'partial_signature'],
    ['a short partial', { nodeId: 1, partialSignature: partial.subarray(1) }, 'INVALID_REQUEST', 'partial_signature'],
    ['a long partial', { nodeId: 1, partialSignature: tooMany }, 'INVALID_REQUEST', 'partial_signature'],
    [
      'a short nonce point',
      { nodeId: 1, ephemeralPublicKey: partial.subarray(1) },
      'INVALID_REQUEST',
      'ephemeral_public_key',
    ],
    ['a long nonce point', { ephemeralPublicKey: tooMany }, 'INVALID_REQUEST', 'ephemeral_public_key'],
    ['another nonce point', { ephemeralPublicKey: partial }, 'INVALID_REQUEST', 'ephemeral_public_key'],
    ['a partial that does not verify', { nodeId: 2, partialSignature: partial }, 'INVALID_PARTIAL_SIGNATURE', 'node 2'],
    ['a partial of zero', { nodeId: 2, partialSignature: new Uint8Array(32) }, 'INVALID_PARTIAL_SIGNATURE', 'node 2'],
    [
      'a partial above the order',
      { nodeId: 3, partialSignature: new Uint8Array(32).fill(255) },
      'INVALID_PARTIAL_SIGNATURE',
      'node 3',
    ],
  ];
  test.each(rows)('refuses %s and leaves the session as it was', (_, request, code, named) => {
    const before = standing();
    const answer = cluster.submitSignatureShare({ signingSessionId: open, ...request }).result();
    expect(codeOf(answer)).toBe(code);
    expect(answer.receipt!.state).toBe(ReceiptState.DENIED);
    expect(answer.receipt!.message).toContain(named);
    expect([answer.isComplete, answer.fullSignature.length, answer.recoveryId.length]).toEqual([false, 0, 0]);
    expectComplete(answer, open);
    expect(standing()).toEqual(before);
  });

  test('refuses them in a paused and in a completed session too', () => {
    for (const signingSessionId of [paused.sessionId, completed]) {
      const answer = cluster.submitSignatureShare({ signingSessionId, nodeId: 4 }).result();
      expect(codeOf(answer)).toBe('NODE_NOT_PARTICIPANT');
      expectComplete(answer, signingSessionId);
    }
  });

  test('answers a step before the approval with the state of the session', () => {
    const answer = cluster.submitSignatureShare({ signingSessionId: paused.sessionId }).result();
    expect([codeOf(answer), answer.receipt!.state]).toEqual([
      'HUMAN_APPROVAL_REQUIRED',
      ReceiptState.PENDING_HUMAN_APPROVAL,
    ]);
    expect(tokenOf(answer)).toBe(paused.resumeToken);
  });

  test('gives the same signature again after completion, and takes no second partial', () => {
    const first = cluster.submitSignatureShare({ signingSessionId: completed }).result();
    const again = cluster.submitSignatureShare({ signingSessionId: completed, nodeId: 1 }).result();
    expect([codeOf(again), again.isComplete]).toEqual(['SIGNATURE_COMPLETED', true]);
    expect(again.fullSignature).toEqual(first.fullSignature);
    const stored = cluster.storedSession(tenant, completed)!.ceremony;
    const [nodeId] = stored.kind === 'signing' ? stored.submitted : [];
    const given = cluster.submitSignatureShare({
      signingSessionId: completed,
      nodeId: nodeId!,
      partialSignature: partial,
    });
    expect([codeOf(given.result()), given.result().receipt!.state]).toEqual([
      'DUPLICATE_SHARE',
      ReceiptState.REPLAY_REJECTED,
    ]);
  });
});

describe('ResumeSession', () => {
  const rows: [string, { resumeToken?: string; humanApprovalWitness?: Uint8Array }, string, string][] = [
    ['no token', { resumeToken: '' }, 'INVALID_REQUEST', 'resume_token'],
    ['a token that is none', { resumeToken: 'x' }, 'RESUME_TOKEN_INVALID', 'resume_token'],
    ['a token that is too long', { resumeToken: 'rt1_'.repeat(10_000) }, 'RESUME_TOKEN_INVALID', 'resume_token'],
    ['a witness that is too long', { humanApprovalWitness: tooMany }, 'INVALID_REQUEST', 'human_approval_witness'],
    ['no witness', { humanApprovalWitness: new Uint8Array() }, 'WITNESS_MISSING', 'human_approval_witness'],
  ];
  test.each(rows)('refuses %s, and the token stays good', (_, request, code, named) => {
    const before = standing();
    const answer = cluster.resumeSession({ ...paused, humanApprovalWitness: witness, ...request }).result();
    expect(codeOf(answer)).toBe(code);
    expect(answer.receipt!.state).toBe(ReceiptState.DENIED);
    expect(answer.receipt!.message).toContain(named);
    expectComplete(answer, paused.sessionId);
    expect(tokenOf(answer)).toBe(paused.resumeToken);
    expect(standing()).toEqual(before);
  });

  test('has nothing to resume in a live or completed session of either kind', () => {
    const before = standing();
    for (const [sessionId, state] of [
      [open, ReceiptState.ACCEPTED],
      ['dkg-open', ReceiptState.ACCEPTED],
      ['k', ReceiptState.BACKEND_COMPLETED],
      [completed, ReceiptState.BACKEND_COMPLETED],
    ] as const) {
      const answer = cluster.resumeSession({ sessionId, resumeToken: paused.resumeToken }).result();
      expect([codeOf(answer), answer.state, answer.checkpoint!.state]).toEqual(['SESSION_NOT_RESUMABLE', state, state]);
      expectComplete(answer, sessionId);
    }
    expect(standing()).toEqual(before);
  });
});

describe('a session that is unknown, of another kind, or of another tenant', () => {
  test('is answered alike: no session, epoch 0, no token', () => {
    const before = standing();
    const strip = (message: object) =>
      JSON.stringify(message, (key, value) =>
        ['receiptId', 'checkpointId', 'correlationId', 'createdAtEpochMs'].includes(key)
          ? '…'
          : typeof value === 'bigint'
            ? `${value}n`
            : value,
      );
    const foreign = 'tn_other';
    const shapes = {
      exchange: [
        cluster.exchangeDkgShares({ sessionId: 'unknown' }),
        cluster.exchangeDkgShares({ sessionId: 'bad id' }),
        cluster.exchangeDkgShares({ sessionId: open }),
        cluster.exchangeDkgShares({ sessionId: 'dkg-open' }, foreign),
        cluster.exchangeDkgShares({ sessionId: 'k' }, foreign),
      ],
      submit: [
        cluster.submitSignatureShare({ signingSessionId: 'sig_unknown' }),
        cluster.submitSignatureShare({ signingSessionId: 'dkg-open' }),
        cluster.submitSignatureShare({ signingSessionId: open }, foreign),
        cluster.submitSignatureShare({ signingSessionId: completed }, foreign),
      ],
      resume: [
        cluster.resumeSession({ sessionId: 'unknown', resumeToken: 'x' }),
        cluster.resumeSession({ sessionId: 'sig_unknown', resumeToken: 'x' }),
        cluster.resumeSession({ ...paused, humanApprovalWitness: witness }, foreign),
      ],
    };
    for (const calls of Object.values(shapes)) {
      const answers = calls.map((call) => call.result());
      for (const answer of answers) {
        expect([codeOf(answer), answer.receipt!.state]).toEqual(['SESSION_NOT_FOUND', ReceiptState.DENIED]);
        expectComplete(answer, '');
      }
      expect(new Set(answers.map(strip)).size).toBe(1);
    }
    expect(standing()).toEqual(before);
  });

  test('names the field when the id is missing', () => {
    for (const [call, field] of [
      [cluster.exchangeDkgShares({}), 'session_id'],
      [cluster.submitSignatureShare({}), 'signing_session_id'],
      [cluster.resumeSession({ resumeToken: 'x' }), 'session_id'],
    ] as const) {
      const answer = call.result();
      expect(codeOf(answer)).toBe('INVALID_REQUEST');
      expect(answer.receipt!.message).toContain(field);
      expectComplete(answer, '');
    }
  });

  test('does not take another tenant’s key', () => {
    const asked = { transactionIntentId: 'f', walletId: 'k', messageHash: digest };
    expect(codeOf(cluster.initiateSigning(asked, 'tn_other').result())).toBe('WALLET_KEY_NOT_FOUND');
    const forced = { ...asked, mockDirective: Directive.FORCE_BACKEND_FAILED };
    const failed = cluster.initiateSigning(forced, 'tn_other').result();
    const resume = { sessionId: failed.signingSessionId, resumeToken: tokenOf(failed) };
    expect(codeOf(cluster.resumeSession(resume, 'tn_other').result())).toBe('WALLET_KEY_NOT_FOUND');
  });
});

test('fields of exactly the greatest length are taken', () => {
  const longest = new Uint8Array(65_536);
  const transactionIntentId = 'x'.repeat(256);
  begin(cluster, transactionIntentId, { policyApprovalToken: longest, humanApprovalWitness: longest });
  // The intent holds its place like any other.
  const again = cluster.initiateSigning({ transactionIntentId, walletId: 'k', messageHash: digest }).result();
  expect(codeOf(again)).toBe('DUPLICATE_INTENT');
});

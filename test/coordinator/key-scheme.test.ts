/** A key has one scheme: bound at its making or by its first session, in the coordinator's record and in every node's. */
import { describe, expect, test } from 'vitest';
import { decodeKeyRecord } from '../../nodes/records/key-record.ts';
import { PartialRefusalCode, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { KeystoreType, MockDirective, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBody } from '../../proto/wire.ts';
import { SimCluster, type SimOptions } from '../../simulation/cluster/cluster.ts';
import { begin, blamed, codeOf, digest, makeKey, tenant, tokenOf, witness } from './support/world.ts';

const { MOCK_THRESHOLD, MPC_FROST, UNSPECIFIED } = KeystoreType;
const ids = [1, 2, 3];
const service = { walletService: true };

function world(options: Partial<SimOptions> = {}, curve = 'secp256k1') {
  const cluster = new SimCluster({ seed: 'key-scheme', nodes: 3, ...options });
  makeKey(cluster, 'k', curve);
  return cluster;
}

const initiate = (cluster: SimCluster, transactionIntentId: string, keystoreType: KeystoreType, more: object = {}) =>
  cluster.initiateSigning({ transactionIntentId, walletId: 'k', messageHash: digest, keystoreType, ...more }).result();

const sign = (cluster: SimCluster, signingSessionId: string) =>
  cluster.submitSignatureShare({ signingSessionId }).result();

const keyOf = (cluster: SimCluster) => {
  const { scheme, exposed } = cluster.storedKey(tenant, 'k')!;
  return { scheme, exposed };
};

/** What each node holds the key bound to. */
const atNodes = (cluster: SimCluster, keyId = 'k') =>
  ids.map((id) => decodeKeyRecord(cluster.nodeStore(id).loadNow(`key/${tenant}/${keyId}`)!).scheme);

const refusals = (cluster: SimCluster) =>
  cluster.events.filter(({ event }) => event.type === 'signing.node_refused').map(({ event }) => event.fields.code);

describe('the first session binds the key', () => {
  test.each([
    [UNSPECIFIED, MPC_FROST, 'mock_ecdsa', true],
    [MOCK_THRESHOLD, MPC_FROST, 'mock_ecdsa', true],
    [MPC_FROST, MOCK_THRESHOLD, 'frost_bip340', false],
  ] as const)(
    'keystore_type %s: %s is denied from then on, and UNSPECIFIED means the first',
    (first, other, scheme, exposed) => {
      const cluster = world();
      expect(keyOf(cluster)).toEqual({ scheme: '', exposed: false });
      const { signingSessionId } = initiate(cluster, 'first', first);
      // Before a node was asked.
      expect(keyOf(cluster)).toEqual({ scheme, exposed });
      expect(atNodes(cluster)).toEqual(['', '', '']);
      expect(sign(cluster, signingSessionId).isComplete).toBe(true);
      expect(atNodes(cluster).filter((one) => one === scheme)).toHaveLength(2);

      const denied = initiate(cluster, 'other', other);
      expect([codeOf(denied), denied.receipt!.state, denied.signingSessionId]).toEqual([
        'KEYSTORE_MISMATCH',
        ReceiptState.DENIED,
        '',
      ]);
      const again = initiate(cluster, 'again', UNSPECIFIED);
      expect(again.receipt!.keystoreType).toBe(scheme === 'frost_bip340' ? MPC_FROST : MOCK_THRESHOLD);
      expect(sign(cluster, again.signingSessionId).isComplete).toBe(true);
    },
  );

  test('on ed25519 there is one scheme for every keystore type', () => {
    const cluster = world({}, 'ed25519');
    expect([keyOf(cluster), atNodes(cluster)]).toEqual([
      { scheme: 'frost_ed25519', exposed: false },
      ids.map(() => 'frost_ed25519'),
    ]);
    for (const type of [UNSPECIFIED, MOCK_THRESHOLD, MPC_FROST]) {
      expect(sign(cluster, initiate(cluster, `t${type}`, type).signingSessionId).isComplete).toBe(true);
    }
    expect(keyOf(cluster).exposed).toBe(false);
  });

  test('of two first sessions that come at once one wins, and the other is denied and opens nothing', () => {
    const cluster = world();
    const asked = [MOCK_THRESHOLD, MPC_FROST].map((keystoreType, index) =>
      cluster.initiateSigning({ transactionIntentId: `t${index}`, walletId: 'k', messageHash: digest, keystoreType }),
    );
    const answers = asked.map((call) => call.result());
    expect(answers.map(codeOf).sort()).toEqual(['KEYSTORE_MISMATCH', 'SESSION_ACCEPTED']);
    const won = answers.findIndex((one) => codeOf(one) === 'SESSION_ACCEPTED');
    const scheme = won === 0 ? 'mock_ecdsa' : 'frost_bip340';
    expect(keyOf(cluster).scheme).toBe(scheme);
    expect(sign(cluster, answers[won]!.signingSessionId).isComplete).toBe(true);
    expect(new Set(atNodes(cluster))).toEqual(new Set([scheme, '']));
    // The intent of the one that lost is free.
    expect(codeOf(initiate(cluster, `t${1 - won}`, UNSPECIFIED))).toBe('SESSION_ACCEPTED');
  });

  test('a session that waits for a human binds the key, and exposes it when it continues', () => {
    const cluster = world();
    const pending = initiate(cluster, 'pending', MOCK_THRESHOLD, { approvalMode: 2 });
    expect(codeOf(pending)).toBe('HUMAN_APPROVAL_REQUIRED');
    expect(keyOf(cluster)).toEqual({ scheme: 'mock_ecdsa', exposed: false });
    expect(codeOf(initiate(cluster, 'frost', MPC_FROST))).toBe('KEYSTORE_MISMATCH');
    const resumeToken = tokenOf(pending);
    const { signingSessionId: sessionId } = pending;
    cluster.resumeSession({ sessionId, resumeToken, humanApprovalWitness: witness }).result();
    expect(keyOf(cluster)).toEqual({ scheme: 'mock_ecdsa', exposed: true });
    expect(sign(cluster, sessionId).isComplete).toBe(true);
  });

  test('a session that a directive failed is measured by the key at its resume, and binds it then', () => {
    const cluster = world();
    const mockDirective = MockDirective.FORCE_BACKEND_FAILED;
    const paused = [MPC_FROST, MOCK_THRESHOLD, UNSPECIFIED].map((type) =>
      initiate(cluster, `paused ${type}`, type, { mockDirective }),
    );
    expect(keyOf(cluster).scheme).toBe('');
    const resumes = paused.map(({ signingSessionId: sessionId, checkpoint }) =>
      cluster.resumeSession({ sessionId, resumeToken: checkpoint!.resumeToken }),
    );
    const answers = resumes.map((call) => call.result());
    // They race: whichever was first, the other scheme is denied, its session as it was, and UNSPECIFIED goes along.
    const { scheme } = keyOf(cluster);
    const [frost, mock, either] = answers.map(codeOf);
    expect([frost, mock].sort()).toEqual(['KEYSTORE_MISMATCH', 'SESSION_RESUMED']);
    expect(either === 'SESSION_RESUMED' || scheme === 'frost_bip340').toBe(true);
    const lost = frost === 'KEYSTORE_MISMATCH' ? 0 : 1;
    const { signingSessionId } = paused[lost]!;
    expect(cluster.storedSession(tenant, signingSessionId)).toMatchObject({
      epoch: 1,
      state: ReceiptState.BACKEND_FAILED,
    });
    expect(sign(cluster, paused[1 - lost]!.signingSessionId).isComplete).toBe(true);
  });

  test('survives a restart of everything', () => {
    const cluster = world();
    sign(cluster, initiate(cluster, 'first', MPC_FROST).signingSessionId);
    cluster.restore(cluster.snapshot());
    expect(codeOf(initiate(cluster, 'mock', MOCK_THRESHOLD))).toBe('KEYSTORE_MISMATCH');
    expect(sign(cluster, initiate(cluster, 'again', UNSPECIFIED).signingSessionId).isComplete).toBe(true);
  });
});

describe('a key that is bound at its making', () => {
  test('signs with nothing else from the start, at no node', () => {
    const cluster = new SimCluster({ seed: 'bound', nodes: 3 });
    const making = { ...service, keyScheme: Scheme.MOCK_ECDSA };
    cluster.initiateDkg({ sessionId: 'wal_1', threshold: 2, totalNodes: 3 }, tenant, making).result();
    cluster.exchangeDkgShares({ sessionId: 'wal_1' }, tenant, service).result();
    expect(atNodes(cluster, 'wal_1')).toEqual(ids.map(() => 'mock_ecdsa'));
    expect(cluster.storedKey(tenant, 'wal_1')).toMatchObject({ scheme: 'mock_ecdsa', exposed: false });
    expect(codeOf(initiate(cluster, 'frost', MPC_FROST, { walletId: 'wal_1' }))).toBe('KEYSTORE_MISMATCH');
    const begun = initiate(cluster, 'any', UNSPECIFIED, { walletId: 'wal_1' });
    expect(cluster.storedKey(tenant, 'wal_1')).toMatchObject({ exposed: true });
    expect(sign(cluster, begun.signingSessionId).isComplete).toBe(true);
  });

  test('on the wrong curve is refused', () => {
    const cluster = new SimCluster({ seed: 'bound', nodes: 3 });
    const making = { ...service, keyScheme: Scheme.FROST_ED25519 };
    expect(codeOf(cluster.initiateDkg({ sessionId: 'wal_1' }, tenant, making).result())).toBe('UNSUPPORTED_CURVE');
  });
});

describe('nodes do not believe the coordinator', () => {
  /** What it takes for the share x_i of any key: s_i = k⁻¹·(m + r·x_i), with k⁻¹ = 1 and an R of the asker's choice. */
  function asksForShares(body: WireBody): WireBody {
    if (body.case !== 'partialRequest') return body;
    const noncePoint = Buffer.from(`0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798`, 'hex');
    const mockNonceInverse = new Uint8Array(32);
    mockNonceInverse[31] = 1;
    const value = {
      ...body.value,
      scheme: Scheme.MOCK_ECDSA,
      nonceNumber: 0n,
      signers: [],
      noncePoint,
      mockNonceInverse,
    };
    return { case: 'partialRequest', value };
  }

  test('one that asks a FROST key for mock partials gets no share, and blames no node', () => {
    let malicious = false;
    const partials: string[] = [];
    const cluster = world({
      onFrame: (envelope) => {
        const { message } = envelope;
        const body = message.body as WireBody;
        if (malicious && body.case === 'partialReply') partials.push(body.value.outcome.case ?? '');
        if (!malicious || body.case !== 'partialRequest') return true;
        return { ...envelope, message: { ...message, body: asksForShares(body) } };
      },
    });
    // Every node has signed with the key once, so that each has bound it.
    for (const pair of [[1, 2], [3]]) {
      const { signingSessionId } = initiate(cluster, `bind ${pair}`, MPC_FROST);
      for (const nodeId of pair) cluster.submitSignatureShare({ signingSessionId, nodeId }).result();
      sign(cluster, signingSessionId);
    }
    expect(atNodes(cluster)).toEqual(ids.map(() => 'frost_bip340'));
    const { signingSessionId } = initiate(cluster, 'attacked', UNSPECIFIED);
    malicious = true;
    const failed = sign(cluster, signingSessionId);
    expect(partials.length).toBeGreaterThanOrEqual(2);
    expect(new Set(partials)).toEqual(new Set(['refusal']));
    expect(new Set(refusals(cluster))).toEqual(new Set([PartialRefusalCode[PartialRefusalCode.KEYSTORE_MISMATCH]]));
    expect([codeOf(failed), failed.receipt!.state]).toEqual(['KEYSTORE_MISMATCH', ReceiptState.BACKEND_FAILED]);
    expect(blamed(cluster)).toEqual([]);
    malicious = false;
    const { receipt } = cluster.resumeSession({ sessionId: signingSessionId, resumeToken: tokenOf(failed) }).result();
    expect(receipt!.reasonCode).toBe('SESSION_RESUMED');
    expect(sign(cluster, signingSessionId).isComplete).toBe(true);
  });

  test('one whose store was rolled back to before the binding signs with no other scheme', () => {
    const cluster = world();
    const before = cluster.snapshot();
    for (const nodeId of [1, 2, 3]) {
      const { signingSessionId } = initiate(cluster, `bind ${nodeId}`, MPC_FROST);
      cluster.submitSignatureShare({ signingSessionId, nodeId }).result();
    }
    const after = cluster.snapshot();
    cluster.restore({ ...after, coordinator: before.coordinator });
    const begun = begin(cluster, 'rolled back', { keystoreType: MOCK_THRESHOLD });
    expect(codeOf(sign(cluster, begun.signingSessionId))).toBe('KEYSTORE_MISMATCH');
    expect(blamed(cluster)).toEqual([]);
  });

  test('a crash of the coordinator between the binding and the answer leaves one scheme', () => {
    const fates: ('answered' | 'unanswered')[] = [];
    const cluster = world({
      onCoordinatorWrite: (write) => (write.kind === 'create' ? (fates.shift() ?? 'answered') : 'answered'),
    });
    fates.push('unanswered');
    const lost = cluster.initiateSigning({
      transactionIntentId: 'lost',
      walletId: 'k',
      messageHash: digest,
      keystoreType: MPC_FROST,
    });
    expect(() => lost.result()).toThrow('call failed');
    cluster.crash('coordinator');
    cluster.start('coordinator');
    expect(keyOf(cluster).scheme).toBe('frost_bip340');
    expect(codeOf(initiate(cluster, 'mock', MOCK_THRESHOLD))).toBe('KEYSTORE_MISMATCH');
    const again = initiate(cluster, 'lost', MPC_FROST);
    expect(codeOf(again)).toBe('DUPLICATE_INTENT');
    expect(sign(cluster, again.receipt!.sessionId).isComplete).toBe(true);
  });
});

test('a sandbox’s gateway is shown what a key is bound to, and whether it is exposed', () => {
  const cluster = world();
  const seen = (sessionId: string) => {
    const { keyScheme, keyExposed } = cluster.inspectSession({ sessionId }).result();
    return [keyScheme, keyExposed];
  };
  expect(seen('k')).toEqual(['', false]);
  const { signingSessionId } = initiate(cluster, 't', MOCK_THRESHOLD);
  expect(seen('k')).toEqual(['mock_ecdsa', true]);
  expect(seen(signingSessionId)).toEqual(['mock_ecdsa', true]);
});

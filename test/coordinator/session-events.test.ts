/** The events of sessions in the tenant's log: what they show, also of the end of a session that receives no calls. */
import { createHash } from 'node:crypto';
import { HDKey } from '@scure/bip32';
import { describe, expect, test } from 'vitest';
import {
  type InitiateSigningResponse,
  MockDirective,
  ReceiptState,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster, type SimOptions } from '../../simulation/cluster/cluster.ts';
import { begin, codeOf, digest, makeKey, tenant, tokenOf, witness } from './support/world.ts';

interface KeyEvent {
  readonly public_key: string | null;
  readonly chain_code: string | null;
  readonly xpub: string | null;
}

const lifetimes = { signingMs: 1_000, pendingMs: 60_000, dkgMs: 10_000 };

function world(options: Partial<SimOptions> = {}): SimCluster {
  const cluster = new SimCluster({ seed: 'session-events', nodes: 3, ...options });
  makeKey(cluster, 'k');
  return cluster;
}

/** What the log says of one session, or of all but the key's own. */
function told(cluster: SimCluster, sessionId?: string): string[] {
  const log = cluster.eventLog(tenant).filter(({ resource: { id } }) => (sessionId ? id === sessionId : id !== 'k'));
  return log.map(({ type, resource }) => `${resource.version} ${type}`);
}

/** Lets time pass, with a look for overdue sessions at its end. */
function sweepAfter(cluster: SimCluster, delayMs: number): void {
  cluster.time.advance(delayMs);
  cluster.sweep();
  cluster.time.advance(100);
}

describe('the event of a session', () => {
  test('shows the session as it then was, without its signature', () => {
    const cluster = world();
    const context = { correlationId: 'order 7' };
    const derivation = { networkId: 'eip155:1' };
    const { signingSessionId } = begin(cluster, 'pay', { context, derivation });
    const signed = cluster.submitSignatureShare({ signingSessionId }).result();
    expect(told(cluster, signingSessionId)).toEqual(['1 signing.session.accepted', '2 signing.session.completed']);
    const event = cluster.eventLog(tenant).at(-1)!;
    const createdMs = cluster.storedSession(tenant, signingSessionId)!.createdMs;
    expect(event).toEqual({
      id: expect.stringMatching(/^evt_[0-9a-f-]{36}$/),
      type: 'signing.session.completed',
      atMs: Number(signed.checkpoint!.createdAtEpochMs),
      resource: { type: 'signing_session', id: signingSessionId, version: 2 },
      correlationId: 'order 7',
      provider: null,
      connectionId: null,
      object: {
        session_id: signingSessionId,
        kind: 'signing',
        state: 'RECEIPT_STATE_BACKEND_COMPLETED',
        reason_code: 'SIGNATURE_COMPLETED',
        message: signed.receipt!.message,
        epoch: 2,
        checkpoint_id: signed.checkpoint!.checkpointId,
        receipt_id: signed.receipt!.receiptId,
        traceparent: null,
        client_name: null,
        client_version: null,
        transaction_intent_id: 'pay',
        wallet_id: 'k',
        curve: 'secp256k1',
        network_id: 'eip155:1',
        policy_approval_token_sha256: null,
        human_approval_witness_sha256: null,
        keystore_type: 'KEYSTORE_TYPE_MOCK_THRESHOLD',
        approval_mode: 'DIRECT_ALLOWED',
        attempt: 1,
        culprits: [],
        correlation_id: 'order 7',
        created_at: new Date(createdMs).toISOString(),
        expires_at: new Date(createdMs + 15 * 60_000).toISOString(),
      },
    });
    const signature = Buffer.from(signed.fullSignature);
    for (const text of [signature.toString('hex'), signature.toString('base64'), signature.toString('hex', 0, 32)]) {
      expect(JSON.stringify(cluster.eventLog(tenant))).not.toContain(text);
    }
    expect(JSON.stringify(event).length).toBeLessThan(1_400);
  });

  test('of a new key shows what gives its derived keys, and of one that is not made nothing of it', () => {
    const cluster = world();
    const derivation = { curve: 'ed25519' };
    cluster.initiateDkg({ sessionId: 'e', threshold: 2, totalNodes: 3, derivation }).result();
    cluster.exchangeDkgShares({ sessionId: 'e' }).result();
    const objectsOf = (id: string) =>
      cluster.eventLog(tenant).flatMap(({ resource, object }) => (resource.id === id ? [object as KeyEvent] : []));
    const [begun, made] = objectsOf('k');
    expect(begun).toMatchObject({ public_key: null, chain_code: null, xpub: null });
    const exported = HDKey.fromExtendedKey(made!.xpub!);
    expect([exported.depth, exported.parentFingerprint, exported.index]).toEqual([0, 0, 0]);
    expect(Buffer.from(exported.publicKey!).toString('hex')).toBe(made!.public_key);
    expect(Buffer.from(exported.chainCode!).toString('hex')).toBe(made!.chain_code);
    const { signingSessionId } = begin(cluster, 'derived', { derivation: { derivationPath: 'm/0/7' } });
    const { fullSignature } = cluster.submitSignatureShare({ signingSessionId }).result();
    expect(exported.derive('m/0/7').verify(digest, fullSignature)).toBe(true);
    expect(exported.derive('m/0/8').verify(digest, fullSignature)).toBe(false);
    expect(objectsOf('e').at(-1)).toMatchObject({ chain_code: expect.stringMatching(/^[0-9a-f]{64}$/), xpub: null });
  });

  describe('names the call behind its change', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const callBy = (clientName: string) => ({
      correlationId: 'order 7',
      traceparent: traceparent.replace('4bf9', clientName.slice(0, 4).padEnd(4, '0')),
      client: { clientName, clientVersion: `${clientName}.1` },
    });
    /** What the event says, and what it should: of the answer and of the call that had it. */
    type Answered = Pick<InitiateSigningResponse, 'receipt' | 'checkpoint'>;
    const expected = ({ receipt, checkpoint }: Answered, context: ReturnType<typeof callBy>) => ({
      receipt_id: receipt!.receiptId,
      checkpoint_id: checkpoint!.checkpointId,
      traceparent: context.traceparent,
      client_name: context.client.clientName,
      client_version: context.client.clientVersion,
    });

    test('in a ceremony with an approval: each change has its own call', () => {
      const cluster = world();
      const [asker, approver, signer] = ['a1', 'b2', 'c3'].map(callBy) as [ReturnType<typeof callBy>, never, never];
      const wanted = { walletId: 'k', messageHash: digest, transactionIntentId: 't', approvalMode: 2 };
      const pending = cluster.initiateSigning({ ...wanted, context: asker }).result();
      const { signingSessionId } = pending;
      const resumed = cluster
        .resumeSession({
          sessionId: signingSessionId,
          resumeToken: tokenOf(pending),
          humanApprovalWitness: witness,
          context: approver,
        })
        .result();
      const signed = cluster.submitSignatureShare({ signingSessionId, context: signer }).result();
      const again = cluster.submitSignatureShare({ signingSessionId, context: asker }).result();
      expect(again.receipt!.receiptId).not.toBe(signed.receipt!.receiptId);
      const log = cluster.eventLog(tenant).filter(({ resource }) => resource.id === signingSessionId);
      expect(log.map(({ object }) => object)).toMatchObject([
        expected(pending, asker),
        expected(resumed, approver),
        expected(signed, signer),
      ]);
    });

    test('in a DKG', () => {
      const cluster = world();
      const [first, second] = ['a1', 'b2'].map(callBy) as [ReturnType<typeof callBy>, never];
      const begun = cluster.initiateDkg({ sessionId: 'key', threshold: 2, totalNodes: 3, context: first }).result();
      const made = cluster.exchangeDkgShares({ sessionId: 'key', context: second }).result();
      const log = cluster.eventLog(tenant).filter(({ resource }) => resource.id === 'key');
      expect(log.map(({ object }) => object)).toMatchObject([expected(begun, first), expected(made, second)]);
    });

    test('also when it takes the place of an older session, and when it finds that one’s time over', () => {
      const cluster = world();
      const [first, second] = ['a1', 'b2'].map(callBy) as [ReturnType<typeof callBy>, never];
      const wanted = { walletId: 'k', messageHash: digest, transactionIntentId: 't', context: second };
      const mockDirective = MockDirective.FORCE_BACKEND_FAILED;
      const failed = cluster.initiateSigning({ ...wanted, mockDirective, context: first }).result();
      const next = cluster.initiateSigning(wanted).result();
      const revoked = cluster.eventLog(tenant).find(({ type }) => type === 'signing.session.revoked')!;
      expect(revoked.resource.id).toBe(failed.signingSessionId);
      expect(revoked.object).toMatchObject({ receipt_id: next.receipt!.receiptId, client_name: 'b2' });

      const late = begin(cluster, 'late', { context: first });
      cluster.time.advance(16 * 60_000);
      const expired = cluster
        .submitSignatureShare({ signingSessionId: late.signingSessionId, context: second })
        .result();
      expect(codeOf(expired)).toBe('SESSION_EXPIRED');
      expect(cluster.eventLog(tenant).at(-1)!).toMatchObject({
        type: 'signing.session.expired',
        object: expected(expired, second),
      });
    });

    test('and none where no call waited', () => {
      const cluster = world({ config: { lifetimes } });
      const { signingSessionId } = begin(cluster, 't', { context: callBy('a1') });
      sweepAfter(cluster, lifetimes.signingMs);
      expect(told(cluster, signingSessionId)).toEqual(['1 signing.session.accepted', '2 signing.session.expired']);
      expect(cluster.eventLog(tenant).at(-1)!.object).toMatchObject({
        checkpoint_id: cluster.storedSession(tenant, signingSessionId)!.checkpointId,
        receipt_id: null,
        traceparent: null,
        client_name: null,
        client_version: null,
      });
    });
  });

  test('of a key shows what was made', () => {
    const cluster = new SimCluster({ seed: 'key', nodes: 3 });
    const publicKey = Buffer.from(makeKey(cluster, 'k', 'ed25519')).toString('hex');
    const [accepted, completed, ...more] = cluster.eventLog(tenant);
    expect(more).toEqual([]);
    expect(accepted).toMatchObject({ type: 'dkg.session.accepted', resource: { type: 'dkg_session', id: 'k' } });
    expect(accepted!.object).toMatchObject({ curve: 'ed25519', threshold: 2, total_nodes: 3, public_key: null });
    expect(completed).toMatchObject({ type: 'dkg.session.completed', object: { kind: 'dkg', public_key: publicKey } });
  });

  test('shows the SHA-256 of a policy token and of the witness that was given', () => {
    const cluster = world();
    const policyApprovalToken = Buffer.from('a policy said yes');
    const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
    const asked = { walletId: 'k', messageHash: digest, approvalMode: 2, policyApprovalToken };
    const pending = cluster.initiateSigning({ ...asked, transactionIntentId: 't' }).result();
    const { signingSessionId: sessionId } = pending;
    cluster.resumeSession({ sessionId, resumeToken: tokenOf(pending), humanApprovalWitness: witness }).result();
    cluster.initiateSigning({ ...asked, transactionIntentId: 'u', humanApprovalWitness: witness }).result();
    const shown = cluster.eventLog(tenant).map(({ object }) => object as Record<string, unknown>);
    const signing = shown.filter(({ kind }) => kind === 'signing');
    expect(signing.map((object) => object.policy_approval_token_sha256)).toEqual(
      Array(3).fill(sha256(policyApprovalToken)),
    );
    expect(signing.map((object) => object.human_approval_witness_sha256)).toEqual([
      null,
      sha256(witness),
      sha256(witness),
    ]);
  });

  test('never shows a token or a witness', () => {
    const cluster = world();
    const pending = cluster
      .initiateSigning({ walletId: 'k', messageHash: digest, transactionIntentId: 't', approvalMode: 2 })
      .result();
    const { signingSessionId: sessionId } = pending;
    const resumeToken = tokenOf(pending);
    cluster.resumeSession({ sessionId, resumeToken, humanApprovalWitness: witness }).result();
    cluster.submitSignatureShare({ signingSessionId: sessionId }).result();
    expect(told(cluster, sessionId)).toEqual([
      '1 signing.session.pending',
      '2 signing.session.resumed',
      '3 signing.session.completed',
    ]);
    const text = JSON.stringify(cluster.eventLog(tenant));
    for (const secret of [resumeToken, witness.toString(), witness.toString('base64'), witness.toString('hex')]) {
      expect(text).not.toContain(secret);
    }
  });

  test.each([
    [MockDirective.FORCE_DENIED, 'denied'],
    [MockDirective.FORCE_REVOKED, 'revoked'],
    [MockDirective.FORCE_EXPIRED, 'expired'],
    [MockDirective.FORCE_BACKEND_FAILED, 'failed'],
  ])('that directive %s forces is %s, however long the names are that were never checked', (mockDirective, name) => {
    const cluster = world();
    const long = '€'.repeat(50_000);
    const request = { walletId: long, transactionIntentId: long, mockDirective };
    cluster.initiateSigning({ ...request, derivation: { networkId: long } }).result();
    expect(told(cluster)).toEqual([`1 signing.session.${name}`]);
    expect(JSON.stringify(cluster.eventLog(tenant).at(-1)).length).toBeLessThan(2_000);
  });

  test('tells of a session that found no quorum, was resumed, and completed', () => {
    const cluster = world();
    const { signingSessionId } = begin(cluster, 't');
    for (const id of [2, 3]) cluster.crash(`node/${id}`);
    const failed = cluster.submitSignatureShare({ signingSessionId }).result();
    expect(codeOf(failed)).toBe('QUORUM_UNAVAILABLE');
    for (const id of [2, 3]) cluster.start(`node/${id}`);
    cluster.resumeSession({ sessionId: signingSessionId, resumeToken: tokenOf(failed) }).result();
    expect(cluster.submitSignatureShare({ signingSessionId }).result().isComplete).toBe(true);
    expect(told(cluster, signingSessionId)).toEqual([
      '1 signing.session.accepted',
      '2 signing.session.failed',
      '3 signing.session.resumed',
      '4 signing.session.completed',
    ]);
  });

  test('tells of a key whose making paused and went on', () => {
    const cluster = world();
    const sessionId = 'paused';
    cluster.initiateDkg({ sessionId, threshold: 2, totalNodes: 3 }).result();
    cluster.crash('node/3');
    const failed = cluster.exchangeDkgShares({ sessionId }).result();
    expect(codeOf(failed)).toBe('NODES_UNAVAILABLE');
    cluster.start('node/3');
    cluster.resumeSession({ sessionId, resumeToken: tokenOf(failed) }).result();
    expect(codeOf(cluster.exchangeDkgShares({ sessionId }).result())).toBe('DKG_COMPLETED');
    expect(told(cluster, sessionId)).toEqual([
      '1 dkg.session.accepted',
      '2 dkg.session.failed',
      '3 dkg.session.resumed',
      // Epoch 4 says, before any node is asked to confirm, that the key may be final.
      '5 dkg.session.completed',
    ]);
  });

  test('is not written for a call that is refused or only takes a step', () => {
    const cluster = world();
    const { signingSessionId } = begin(cluster, 't');
    const before = cluster.eventLog(tenant).length;
    cluster.initiateSigning({ walletId: 'k', messageHash: digest, transactionIntentId: 't' }).result();
    cluster.initiateSigning({ walletId: 'none', messageHash: digest, transactionIntentId: 'u' }).result();
    cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result();
    const stepped = cluster.submitSignatureShare({ signingSessionId, nodeId: 1 }).result();
    expect([codeOf(stepped), stepped.checkpoint!.epoch]).toEqual(['SHARE_ACCEPTED', 2n]);
    expect(cluster.eventLog(tenant)).toHaveLength(before);
  });
});

describe('a session that another one ends', () => {
  test('is reported before its successor: revoked when it could be resumed', () => {
    const cluster = world();
    const request = { walletId: 'k', messageHash: digest, transactionIntentId: 't' };
    const mockDirective = MockDirective.FORCE_BACKEND_FAILED;
    const first = cluster.initiateSigning({ ...request, mockDirective }).result().signingSessionId;
    const second = begin(cluster, 't').signingSessionId;
    expect(cluster.eventLog(tenant).slice(-2)).toMatchObject([
      { type: 'signing.session.revoked', resource: { id: first, version: 2 } },
      { type: 'signing.session.accepted', resource: { id: second, version: 1 } },
    ]);
    expect(cluster.storedSession(tenant, first)).toMatchObject({ state: ReceiptState.REVOKED, epoch: 2 });
    expect(cluster.submitSignatureShare({ signingSessionId: second }).result().isComplete).toBe(true);
  });

  test('is reported as expired when its lifetime is over, also by a forced successor', () => {
    const cluster = world({ config: { lifetimes } });
    const first = begin(cluster, 't').signingSessionId;
    cluster.time.advance(lifetimes.signingMs);
    const request = { walletId: 'k', messageHash: digest, transactionIntentId: 't' };
    const forced = { ...request, mockDirective: MockDirective.FORCE_BACKEND_FAILED };
    expect(codeOf(cluster.initiateSigning(forced).result())).toBe('MOCK_FORCED_BACKEND_FAILED');
    expect(told(cluster, first)).toEqual(['1 signing.session.accepted', '2 signing.session.expired']);
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId: first }).result())).toBe('SESSION_EXPIRED');
  });

  test('is reported once, whatever the fate of the writes', () => {
    for (const fate of ['lost', 'unanswered'] as const) {
      // The store names who holds the place, then both are written.
      for (let nth = 1; nth <= 2; nth += 1) {
        let writes = Number.NEGATIVE_INFINITY;
        const cluster = world({ onCoordinatorWrite: () => (++writes === nth ? fate : 'answered') });
        const request = { walletId: 'k', messageHash: digest, transactionIntentId: 't' };
        const mockDirective = MockDirective.FORCE_BACKEND_FAILED;
        const first = cluster.initiateSigning({ ...request, mockDirective }).result().signingSessionId;
        writes = 0;
        const call = cluster.initiateSigning(request);
        cluster.time.runUntil(() => call.isDone);
        cluster.time.advance(100);
        cluster.initiateSigning(request).result();
        expect(told(cluster, first)).toEqual(['1 signing.session.failed', '2 signing.session.revoked']);
        expect(told(cluster).filter((one) => one.endsWith('accepted'))).toHaveLength(1);
      }
    }
  });

  test('with the end of its wallet is reported, each of them', () => {
    const service = { walletService: true };
    const cluster = world();
    cluster.initiateDkg({ sessionId: 'wal_1' }, tenant, service).result();
    cluster.exchangeDkgShares({ sessionId: 'wal_1' }, tenant, service).result();
    const open = ['a', 'b'].map((id) => begin(cluster, id, { walletId: 'wal_1' }).signingSessionId);
    cluster.closeKey({ keyId: 'wal_1' }, tenant, service).result();
    cluster.closeKey({ keyId: 'wal_1' }, tenant, service).result();
    for (const id of open) {
      expect(told(cluster, id)).toEqual(['1 signing.session.accepted', '2 signing.session.revoked']);
    }
  });
});

describe('a session that receives no more calls', () => {
  test('expires by itself, once, and says so', () => {
    const cluster = world({ config: { lifetimes } });
    const { signingSessionId } = begin(cluster, 't');
    sweepAfter(cluster, lifetimes.signingMs - 1_000);
    expect(told(cluster, signingSessionId)).toHaveLength(1);
    sweepAfter(cluster, 1_000);
    sweepAfter(cluster, 1_000);
    expect(told(cluster, signingSessionId)).toEqual(['1 signing.session.accepted', '2 signing.session.expired']);
    expect(cluster.storedSession(tenant, signingSessionId)).toMatchObject({ state: ReceiptState.EXPIRED, epoch: 2 });
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SESSION_EXPIRED');
  });

  test('expires whatever it waits for: its nodes, a human, a resume', () => {
    const cluster = world({ config: { lifetimes } });
    const request = { walletId: 'k', messageHash: digest };
    cluster.initiateDkg({ sessionId: 'abandoned', threshold: 2, totalNodes: 3 }).result();
    cluster.initiateSigning({ ...request, transactionIntentId: 'p', approvalMode: 2 }).result();
    const mockDirective = MockDirective.FORCE_BACKEND_FAILED;
    cluster.initiateSigning({ ...request, transactionIntentId: 'f', mockDirective }).result();
    sweepAfter(cluster, 70_000);
    expect(told(cluster)).toEqual([
      '1 dkg.session.accepted',
      '1 signing.session.pending',
      '1 signing.session.failed',
      '2 dkg.session.expired',
      '2 signing.session.expired',
      '2 signing.session.expired',
    ]);
  });

  test('expires also when the coordinator was away at its end, and has left memory', () => {
    const cluster = world({ config: { lifetimes } });
    const open = Array.from({ length: 40 }, (_, index) => begin(cluster, `t${index}`).signingSessionId);
    cluster.crash('coordinator');
    cluster.time.advance(lifetimes.signingMs);
    cluster.start('coordinator');
    sweepAfter(cluster, 0);
    for (const id of open)
      expect(told(cluster, id)).toEqual(['1 signing.session.accepted', '2 signing.session.expired']);
  });

  test('expires at a later look when the coordinator dies, or the write fails, during the first', () => {
    for (let afterMs = 0; afterMs < 5; afterMs += 1) {
      const cluster = world({ config: { lifetimes } });
      const { signingSessionId } = begin(cluster, 't');
      cluster.time.advance(lifetimes.signingMs);
      cluster.sweep();
      cluster.time.advance(afterMs);
      cluster.crash('coordinator');
      cluster.start('coordinator');
      sweepAfter(cluster, 1_000);
      expect(told(cluster, signingSessionId)).toEqual(['1 signing.session.accepted', '2 signing.session.expired']);
    }
    for (const fate of ['lost', 'unanswered'] as const) {
      let next: typeof fate | 'answered' = 'answered';
      const cluster = world({ config: { lifetimes }, onCoordinatorWrite: () => next });
      const { signingSessionId } = begin(cluster, 't');
      next = fate;
      sweepAfter(cluster, lifetimes.signingMs);
      next = 'answered';
      sweepAfter(cluster, 1_000);
      expect(told(cluster, signingSessionId)).toEqual(['1 signing.session.accepted', '2 signing.session.expired']);
    }
  });

  test('is left alone by a look that comes while it completes', () => {
    const cluster = world({ config: { lifetimes } });
    const { signingSessionId } = begin(cluster, 't');
    cluster.time.advance(lifetimes.signingMs - 3);
    const call = cluster.submitSignatureShare({ signingSessionId });
    for (let step = 0; step < 10; step += 1) {
      cluster.time.advance(1);
      cluster.sweep();
    }
    const { isComplete } = call.result();
    cluster.time.advance(100);
    const end = isComplete ? 'completed' : 'expired';
    expect(told(cluster, signingSessionId)).toEqual(['1 signing.session.accepted', `2 signing.session.${end}`]);
  });
});

/** Keys that are named by wallets: who may make and use them, and that a closed one signs nothing any more. */
import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { callRouterBehaviour } from '../../coordinator/call-router.ts';
import { dkgRecordKey, keyRecordKey } from '../../nodes/records/records.ts';
import { CallSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { KeystoreType, MockDirective, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { codeOf, digest, groupKey, tenant, tokenOf, witness } from './support/world.ts';

useModelCryptography();

const service = { walletService: true };
const wallet = 'wal_1';
const otherDigest = digest.map((byte) => byte ^ 1);

type Terms = { intentsOnly?: boolean; approvalMode?: number; archived?: boolean };
type Asked = Parameters<SimCluster['initiateSigning']>[0];

function world(options: Partial<ConstructorParameters<typeof SimCluster>[0]> = {}) {
  const cluster = new SimCluster({ seed: 'wallet-keys', nodes: 3, ...options });
  cluster.initiateDkg({ sessionId: wallet }, tenant, service).result();
  expect(codeOf(cluster.exchangeDkgShares({ sessionId: wallet }, tenant, service).result())).toBe('DKG_COMPLETED');
  return cluster;
}

const order = (transactionIntentId: string, more: Asked = {}): Asked => ({
  transactionIntentId,
  walletId: wallet,
  messageHash: digest,
  ...more,
});

const client = (cluster: SimCluster, id: string, more: Asked = {}, walletTerms: Terms = {}) =>
  cluster.initiateSigning(order(id, more), tenant, { walletTerms }).result();

const byService = (cluster: SimCluster, id: string, more: Asked = {}) =>
  cluster.initiateSigning(order(id, more), tenant, service).result();

const closeKey = (cluster: SimCluster, keyId = wallet) => cluster.closeKey({ keyId }, tenant, service).result();

/** Whether a node's store holds the key, and the record of its generation. */
function heldBy(cluster: SimCluster, nodeId: number, keyId = wallet): boolean[] {
  const store = cluster.nodeStore(nodeId);
  return [keyRecordKey, dkgRecordKey].map((name) => store.loadNow(name(tenant, keyId)) !== undefined);
}

function pass(cluster: SimCluster, delayMs: number): void {
  let passed = false;
  cluster.time.after(delayMs, () => {
    passed = true;
  });
  cluster.time.runUntil(() => passed);
}

const share = (cluster: SimCluster, signingSessionId: string) => cluster.submitSignatureShare({ signingSessionId });

describe('a key that is named by a wallet', () => {
  test('is made by the wallet service alone, with what nodes there are', () => {
    const cluster = new SimCluster({ seed: 'small', nodes: 2 });
    expect(codeOf(cluster.initiateDkg({ sessionId: wallet }).result())).toBe('INVALID_REQUEST');
    expect(codeOf(cluster.initiateDkg({ sessionId: 'sig_1' }, tenant, service).result())).toBe('INVALID_REQUEST');
    expect(codeOf(cluster.initiateDkg({ sessionId: wallet }, tenant, service).result())).toBe('SESSION_ACCEPTED');
    expect(codeOf(cluster.exchangeDkgShares({ sessionId: wallet }, tenant, service).result())).toBe('DKG_COMPLETED');
    expect(groupKey(cluster, wallet)).toHaveLength(33);
  });

  test('does not exist for clients while it is made: no client supplies shares of its dealers', () => {
    const cluster = new SimCluster({ seed: 'hidden', nodes: 3 });
    const begun = cluster.initiateDkg({ sessionId: wallet }, tenant, service).result();
    const supplied = { senderNodeId: 1, recipientNodeId: 2, encryptedShare: new Uint8Array(32).fill(1) };
    expect(codeOf(cluster.exchangeDkgShares({ sessionId: wallet }).result())).toBe('SESSION_NOT_FOUND');
    expect(codeOf(cluster.exchangeDkgShares({ sessionId: wallet, ...supplied }).result())).toBe('SESSION_NOT_FOUND');
    const resumed = cluster.resumeSession({ sessionId: wallet, resumeToken: tokenOf(begun) || 'x' }).result();
    expect(codeOf(resumed)).toBe('SESSION_NOT_FOUND');
    expect(cluster.storedSession(tenant, wallet)?.epoch).toBe(1);
  });

  test('signs for clients when the wallet allows it', () => {
    const cluster = world();
    const begun = client(cluster, 'allowed');
    expect(share(cluster, begun.signingSessionId).result().isComplete).toBe(true);
  });

  test('signs for the wallet service alone when the wallet is for intents only', () => {
    const cluster = world();
    const intentsOnly = { intentsOnly: true };
    expect(codeOf(client(cluster, 'a', {}, intentsOnly))).toBe('WALLET_INTENTS_ONLY');
    const both = cluster.initiateSigning(order('a'), tenant, { ...service, walletTerms: intentsOnly }).result();
    expect(codeOf(both)).toBe('SESSION_ACCEPTED');
  });

  test('a mock directive is no way round: its resume is refused, and the token stays good', () => {
    const cluster = world();
    const forced = { mockDirective: MockDirective.FORCE_BACKEND_FAILED };
    const paused = client(cluster, 'forced', forced, { intentsOnly: true });
    expect(codeOf(paused)).toBe('MOCK_FORCED_BACKEND_FAILED');
    const resume = { sessionId: paused.signingSessionId, resumeToken: tokenOf(paused) };
    for (let times = 0; times < 2; times += 1) {
      expect(codeOf(cluster.resumeSession(resume).result())).toBe('WALLET_INTENTS_ONLY');
    }
  });

  test.each([
    ['neither', 0, 0, 'SESSION_ACCEPTED'],
    ['the wallet', 1, 2, 'HUMAN_APPROVAL_REQUIRED'],
    ['the wallet, the call says nothing', 0, 2, 'HUMAN_APPROVAL_REQUIRED'],
    ['the call', 2, 1, 'HUMAN_APPROVAL_REQUIRED'],
    ['the wallet, and the call no mode at all', 9, 2, 'INVALID_REQUEST'],
  ])('takes the stricter approval mode: %s asks for a human', (_, asked, approvalMode, code) => {
    const cluster = world();
    expect(codeOf(client(cluster, 'mode', { approvalMode: asked }, { approvalMode }))).toBe(code);
  });

  test('keeps the intents of clients and of the wallet service apart', () => {
    const cluster = world();
    const theirs = client(cluster, 'same', { messageHash: otherDigest });
    const ours = byService(cluster, 'same');
    expect([codeOf(theirs), codeOf(ours)]).toEqual(['SESSION_ACCEPTED', 'SESSION_ACCEPTED']);
    const again = byService(cluster, 'same');
    expect([codeOf(again), again.receipt!.sessionId]).toEqual(['DUPLICATE_INTENT', ours.signingSessionId]);
    expect(client(cluster, 'same', { messageHash: otherDigest }).receipt!.sessionId).toBe(theirs.signingSessionId);
  });

  test('gives the wallet service no signature of another message for the same purpose', () => {
    const cluster = world();
    const ours = byService(cluster, 'purpose');
    share(cluster, ours.signingSessionId).result();
    const other = byService(cluster, 'purpose', { messageHash: otherDigest });
    expect([codeOf(other), other.receipt!.sessionId]).toEqual(['INVALID_REQUEST', '']);
    expect(codeOf(byService(cluster, 'purpose'))).toBe('DUPLICATE_INTENT');
  });
});

test('calls that do not come from a gateway are dropped', () => {
  const front = callRouterBehaviour({ resumeKey: new Uint8Array(32), sandbox: true });
  const context = { self: 'coordinator', nowMs: 0, random: (length: number) => new Uint8Array(length) };
  const value = create(CallSchema, { callId: 1n, walletService: true, request: { case: 'initiateDkg', value: {} } });
  const message = { tenant, session: '', attempt: 0, body: { case: 'call', value } } as const;
  const trace = { correlationId: '', traceparent: '' };
  const effects = (from: string) => front.receive(null, { kind: 'message', from, message, trace }, context).effects;
  expect(effects('gateway/1')).toHaveLength(1);
  expect([effects('node/1'), effects('node/1/dkg/t/gateway/x')]).toEqual([[], []]);
});

describe('a closed key', () => {
  test('revokes every open session, whatever it waits for, and leaves what has ended', () => {
    const cluster = world();
    const open = client(cluster, 'open');
    const pending = client(cluster, 'pending', { approvalMode: 2 });
    const forced = client(cluster, 'failed', { mockDirective: MockDirective.FORCE_BACKEND_FAILED });
    const done = client(cluster, 'done');
    const signature = share(cluster, done.signingSessionId).result().fullSignature;
    expect(closeKey(cluster).sessions).toBe(3);
    for (const { signingSessionId } of [open, pending, forced]) {
      const answer = share(cluster, signingSessionId).result();
      expect([codeOf(answer), answer.checkpoint!.state]).toEqual(['SESSION_REVOKED', ReceiptState.REVOKED]);
      expect(answer.receipt!.message).toContain('archived');
      expect(answer.checkpoint!.epoch).toBe(2n);
    }
    expect(share(cluster, done.signingSessionId).result().fullSignature).toEqual(signature);
  });

  test('opens no session, for clients and the wallet service alike; other keys go on', () => {
    const cluster = world();
    closeKey(cluster);
    expect([codeOf(client(cluster, 'a')), codeOf(byService(cluster, 'a'))]).toEqual([
      'WALLET_ARCHIVED',
      'WALLET_ARCHIVED',
    ]);
    cluster.initiateDkg({ sessionId: 'wal_2' }, tenant, service).result();
    cluster.exchangeDkgShares({ sessionId: 'wal_2' }, tenant, service).result();
    expect(codeOf(client(cluster, 'a', { walletId: 'wal_2' }))).toBe('SESSION_ACCEPTED');
  });

  test('takes no place of an intent by a refused session, and revokes no session by it', () => {
    const cluster = world();
    closeKey(cluster);
    cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result();
    cluster.exchangeDkgShares({ sessionId: 'k' }).result();
    const failed = client(cluster, 'i', { walletId: 'k', mockDirective: MockDirective.FORCE_BACKEND_FAILED });
    expect(codeOf(client(cluster, 'i'))).toBe('WALLET_ARCHIVED');
    expect(cluster.storedSession(tenant, failed.signingSessionId)?.state).toBe(ReceiptState.BACKEND_FAILED);
  });

  test('may be closed again, by many at once', () => {
    const cluster = world();
    client(cluster, 'open');
    const calls = Array.from({ length: 5 }, () => cluster.closeKey({ keyId: wallet }, tenant, service));
    for (const call of calls) expect(call.result().sessions).toBeLessThanOrEqual(1);
    expect(closeKey(cluster).sessions).toBe(0);
  });

  test('lets a session that a mock directive opens afterwards go no further', () => {
    const cluster = world();
    closeKey(cluster);
    const paused = client(cluster, 'late', { mockDirective: MockDirective.FORCE_BACKEND_FAILED });
    const resumed = cluster
      .resumeSession({ sessionId: paused.signingSessionId, resumeToken: tokenOf(paused) })
      .result();
    expect([codeOf(resumed), resumed.checkpoint!.state]).toEqual(['SESSION_NOT_RESUMABLE', ReceiptState.REVOKED]);
  });

  test('is deleted from the store of every node, with the record of its generation; other keys stay', () => {
    const cluster = world();
    cluster.initiateDkg({ sessionId: 'wal_2' }, tenant, service).result();
    cluster.exchangeDkgShares({ sessionId: 'wal_2' }, tenant, service).result();
    for (const id of [1, 2, 3]) expect(heldBy(cluster, id)).toEqual([true, true]);
    expect(closeKey(cluster).pendingNodes).toEqual([]);
    for (const id of [1, 2, 3]) {
      expect(heldBy(cluster, id)).toEqual([false, false]);
      expect(heldBy(cluster, id, 'wal_2')).toEqual([true, true]);
    }
    // Repeated: the same answer.
    expect(closeKey(cluster).pendingNodes).toEqual([]);
    expect(codeOf(client(cluster, 'other', { walletId: 'wal_2' }))).toBe('SESSION_ACCEPTED');
  });

  test('names the nodes that have not deleted it; repeated when they are back, it is gone everywhere', () => {
    const cluster = world();
    cluster.crash('node/2');
    expect(closeKey(cluster).pendingNodes).toEqual([2]);
    expect([1, 2, 3].map((id) => heldBy(cluster, id)[0])).toEqual([false, true, false]);
    cluster.start('node/2');
    cluster.time.advance(2_000);
    expect(closeKey(cluster).pendingNodes).toEqual([]);
    expect(heldBy(cluster, 2)).toEqual([false, false]);
  });

  test('stays where only sessions are revoked', () => {
    const cluster = world();
    const { pendingNodes } = cluster.closeKey({ keyId: wallet, revokeOnly: true }, tenant, service).result();
    expect(pendingNodes).toEqual([]);
    for (const id of [1, 2, 3]) expect(heldBy(cluster, id)).toEqual([true, true]);
  });

  test('is closed by the wallet service alone, and only keys of wallets are', () => {
    const cluster = world();
    expect(() => cluster.closeKey({ keyId: wallet }).result()).toThrow('wallet service');
    expect(() => closeKey(cluster, 'k')).toThrow('wallet service');
    expect(codeOf(client(cluster, 'open'))).toBe('SESSION_ACCEPTED');
  });

  test('resumed sessions are revoked too, and sessions past their lifetime stay expired', () => {
    const cluster = world({ config: { lifetimes: { signingMs: 1_000, pendingMs: 60_000, dkgMs: 60_000 } } });
    const expired = client(cluster, 'expired');
    const pending = client(cluster, 'pending', { approvalMode: 2 });
    pass(cluster, 1_000);
    const { signingSessionId: sessionId } = pending;
    cluster.resumeSession({ sessionId, resumeToken: tokenOf(pending), humanApprovalWitness: witness }).result();
    closeKey(cluster);
    expect(cluster.storedSession(tenant, sessionId)?.state).toBe(ReceiptState.REVOKED);
    expect(codeOf(share(cluster, expired.signingSessionId).result())).toBe('SESSION_EXPIRED');
  });

  test.each([KeystoreType.MOCK_THRESHOLD, KeystoreType.MPC_FROST])(
    'releases no signature after it was closed, at whatever moment that is (keystore %s)',
    (keystoreType) => {
      let released = 0;
      let held = 0;
      for (let delayMs = 0; delayMs < 14; delayMs += 1) {
        const cluster = world();
        const begun = client(cluster, 'race', { keystoreType });
        const signing = share(cluster, begun.signingSessionId);
        let closedAtMs = Number.POSITIVE_INFINITY;
        let signedAtMs = Number.POSITIVE_INFINITY;
        signing.onAnswer(({ isComplete }) => {
          if (isComplete) signedAtMs = cluster.time.nowMs();
        });
        pass(cluster, delayMs);
        const close = cluster.closeKey({ keyId: wallet }, tenant, service);
        close.onAnswer(() => {
          closedAtMs = cluster.time.nowMs();
        });
        close.result();
        const answer = signing.result();
        const stored = cluster.storedSession(tenant, begun.signingSessionId);
        expect(stored?.state).toBe(answer.isComplete ? ReceiptState.BACKEND_COMPLETED : ReceiptState.REVOKED);
        if (answer.isComplete) expect(signedAtMs).toBeLessThanOrEqual(closedAtMs);
        else expect(codeOf(answer)).toBe('SESSION_REVOKED');
        released += answer.isComplete ? 1 : 0;
        held += answer.isComplete ? 0 : 1;
      }
      expect([released > 0, held > 0]).toEqual([true, true]);
    },
  );

  test('a session that begins while the key is being closed does not slip through', () => {
    for (let delayMs = 0; delayMs < 10; delayMs += 1) {
      const cluster = world();
      const close = cluster.closeKey({ keyId: wallet }, tenant, service);
      pass(cluster, delayMs);
      const begun = client(cluster, 'late');
      close.result();
      if (codeOf(begun) === 'WALLET_ARCHIVED') continue;
      expect(codeOf(begun)).toBe('SESSION_ACCEPTED');
      expect(codeOf(share(cluster, begun.signingSessionId).result())).toBe('SESSION_REVOKED');
    }
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'is finished by a repeated call when the coordinator dies %s ms into the first',
    (afterMs) => {
      const cluster = world();
      const open = [client(cluster, 'a'), client(cluster, 'b')];
      cluster.closeKey({ keyId: wallet }, tenant, service);
      pass(cluster, afterMs);
      cluster.crash('coordinator');
      cluster.start('coordinator');
      closeKey(cluster);
      for (const { signingSessionId } of open) {
        expect(cluster.storedSession(tenant, signingSessionId)?.state).toBe(ReceiptState.REVOKED);
      }
      expect(codeOf(byService(cluster, 'c'))).toBe('WALLET_ARCHIVED');
    },
  );

  test('of a write that is lost or goes unanswered nothing is promised, and a repeated call finishes', () => {
    for (const fate of ['lost', 'unanswered'] as const) {
      for (let nth = 1; nth <= 3; nth += 1) {
        let writes = Number.NEGATIVE_INFINITY;
        const cluster = world({ onCoordinatorWrite: () => (++writes === nth ? fate : 'answered') });
        const open = [client(cluster, 'a'), client(cluster, 'b')];
        writes = 0;
        const first = cluster.closeKey({ keyId: wallet }, tenant, service);
        try {
          first.result();
        } catch (error) {
          expect(String(error)).toContain('whether the call took effect is unknown');
        }
        closeKey(cluster);
        for (const { signingSessionId } of open) {
          expect(cluster.storedSession(tenant, signingSessionId)?.state).toBe(ReceiptState.REVOKED);
        }
      }
    }
  });
});

describe('a wallet that becomes stricter', () => {
  const revoke = (cluster: SimCluster) =>
    cluster.closeKey({ keyId: wallet, revokeOnly: true }, tenant, service).result();

  test('ends what clients have open with its key, and nothing else', () => {
    const cluster = world();
    const open = client(cluster, 'open');
    const pending = client(cluster, 'pending', { approvalMode: 2 });
    const ours = byService(cluster, 'ours');
    revoke(cluster);
    for (const { signingSessionId } of [open, pending]) {
      const ended = share(cluster, signingSessionId).result();
      expect([codeOf(ended), ended.isComplete]).toEqual(['SESSION_REVOKED', false]);
      expect(ended.receipt!.message).not.toContain('archived');
    }
    expect(share(cluster, ours.signingSessionId).result().isComplete).toBe(true);
    expect(share(cluster, client(cluster, 'next').signingSessionId).result().isComplete).toBe(true);
    expect(revoke(cluster).sessions).toBe(0);
  });

  test('may be archived at the same moment: its key is closed all the same', () => {
    const cluster = world();
    client(cluster, 'open');
    const revoked = cluster.closeKey({ keyId: wallet, revokeOnly: true }, tenant, service);
    closeKey(cluster);
    revoked.result();
    expect(codeOf(client(cluster, 'late'))).toBe('WALLET_ARCHIVED');
  });
});

test('an archived wallet signs nothing, whether or not its key is closed yet', () => {
  const cluster = world();
  expect(codeOf(client(cluster, 'a', {}, { archived: true, intentsOnly: true }))).toBe('WALLET_ARCHIVED');
  const forced = { mockDirective: MockDirective.FORCE_BACKEND_FAILED };
  const paused = client(cluster, 'forced', forced, { archived: true, intentsOnly: true });
  const resume = { sessionId: paused.signingSessionId, resumeToken: tokenOf(paused) };
  expect(codeOf(cluster.resumeSession(resume).result())).toBe('WALLET_ARCHIVED');
});

test('a custodian’s wallet is answered with who holds its key, also to a resume', () => {
  const cluster = world();
  const asked = { walletId: 'wal_hosted' };
  const terms = { custodian: 'fireblocks', intentsOnly: true };
  const refused = client(cluster, 'a', asked, terms);
  expect(codeOf(refused)).toBe('WALLET_KEY_AT_CUSTODIAN');
  expect(refused).toMatchObject({ signingSessionId: '', state: ReceiptState.DENIED });
  expect(refused.receipt!.message).toBe(
    'the custodian fireblocks holds the key of wallet "wal_hosted": sign by a transaction intent',
  );
  expect(codeOf(client(cluster, 'a', { ...asked, transactionIntentId: '' }, terms))).toBe('INVALID_REQUEST');
  const forced = { ...asked, mockDirective: MockDirective.FORCE_BACKEND_FAILED };
  const paused = client(cluster, 'forced', forced, terms);
  const resume = { sessionId: paused.signingSessionId, resumeToken: tokenOf(paused) };
  expect(codeOf(cluster.resumeSession(resume).result())).toBe('WALLET_KEY_AT_CUSTODIAN');
});

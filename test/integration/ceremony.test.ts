/** Whole ceremonies against a real cluster, through HTTP and gRPC, verified by independent libraries. */
import { createPublicKey, verify as nodeVerify } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { HDKey } from '@scure/bip32';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sandboxTenant } from '../../cli/cluster-files/sandbox.ts';
import { redisKeys } from '../../coordinator/store/layout.ts';
import { encodeXpub } from '../../core/crypto/derivation.ts';
import { KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { CallFailed, type SigningApi } from '../support/client.ts';
import { type SharedCluster, sharedCluster } from '../support/shared-cluster.ts';

const digest = Buffer.alloc(32, 0x17);
let cluster: SharedCluster;

beforeAll(async () => {
  cluster = await sharedCluster();
});
afterAll(() => cluster?.stop());

type Curve = 'secp256k1' | 'ed25519';

async function makeKey(api: SigningApi, sessionId: string, curve: Curve): Promise<Buffer> {
  const begun = await api.initiateDkg({ sessionId, derivation: { curve } });
  expect(begun).toMatchObject({ sessionId, state: ReceiptState.ACCEPTED, epoch: 1n });
  const done = await api.exchangeDkgShares({ sessionId });
  expect(done).toMatchObject({ verified: true, errorMessage: '' });
  expect(done.receipt).toMatchObject({ state: ReceiptState.BACKEND_COMPLETED, reasonCode: 'DKG_COMPLETED' });
  return groupKey(sessionId);
}

/** As the sandbox shows the session. */
async function groupKey(sessionId: string): Promise<Buffer> {
  const { status, body } = await cluster.rest.get<{ public_key: string }>(`/v1/sandbox/sessions/${sessionId}`);
  expect(status).toBe(200);
  return Buffer.from(body.public_key, 'hex');
}

interface Wish {
  readonly intent: string;
  readonly keystoreType?: KeystoreType;
  readonly derivationPath?: string;
  readonly message?: Uint8Array;
}

async function sign(api: SigningApi, walletId: string, wish: Wish) {
  const { intent, keystoreType = KeystoreType.MOCK_THRESHOLD, derivationPath = '', message = digest } = wish;
  const correlationId = `correlation of ${intent}`;
  const begun = await api.initiateSigning({
    transactionIntentId: intent,
    walletId,
    messageHash: message,
    keystoreType,
    derivation: { derivationPath },
    context: { correlationId, client: { clientName: 'a test', clientVersion: '7', contractVersion: 'v1.0' } },
  });
  expect(begun.receipt).toMatchObject({
    reasonCode: 'SESSION_ACCEPTED',
    correlationId,
    clientName: 'a test',
    clientVersion: '7',
  });
  const signed = await api.submitSignatureShare({ signingSessionId: begun.signingSessionId });
  expect(signed.receipt).toMatchObject({ state: ReceiptState.BACKEND_COMPLETED, reasonCode: 'SIGNATURE_COMPLETED' });
  expect(signed.isComplete).toBe(true);
  return signed;
}

function recovered(signature: Uint8Array, recoveryId: Uint8Array, message: Uint8Array): Buffer {
  return Buffer.from(
    secp256k1.recoverPublicKey(Uint8Array.of(recoveryId[0]!, ...signature), message, { prehash: false }),
  );
}

/** The key's child by another library, from the chain code that stands beside the key. */
async function childKey(keyId: string, publicKey: Uint8Array, path: string): Promise<Buffer> {
  const redis = new Redis(cluster.redisUrl());
  // Behind its MAC the record is JSON.
  const text = (await redis.get(redisKeys.key(sandboxTenant, keyId)))!;
  const record = JSON.parse(text.slice(text.indexOf('{'))) as { chainCode: string };
  redis.disconnect();
  const xpub = encodeXpub({ publicKey, chainCode: Buffer.from(record.chainCode, 'hex') });
  return Buffer.from(HDKey.fromExtendedKey(xpub).derive(path).publicKey!);
}

describe.each(['HTTP', 'gRPC'] as const)('over %s', (door) => {
  let api: SigningApi;
  beforeAll(() => {
    api = door === 'HTTP' ? cluster.http() : cluster.grpc();
  });

  test('mock ECDSA and BIP-340 under one secp256k1 key, and under its children', async () => {
    const keyId = `secp-${door}`;
    const publicKey = await makeKey(api, keyId, 'secp256k1');
    const schnorrId = `schnorr-${door}`;
    const schnorrPublicKey = await makeKey(api, schnorrId, 'secp256k1');
    for (const derivationPath of ['', 'm/0/5']) {
      const child = derivationPath === '' ? publicKey : await childKey(keyId, publicKey, derivationPath);
      const ecdsa = await sign(api, keyId, { intent: `ecdsa ${door} ${derivationPath}`, derivationPath });
      expect(secp256k1.verify(ecdsa.fullSignature, digest, child, { prehash: false, lowS: true })).toBe(true);
      expect(recovered(ecdsa.fullSignature, ecdsa.recoveryId, digest)).toEqual(child);

      const keystoreType = KeystoreType.MPC_FROST;
      const schnorrKey =
        derivationPath === '' ? schnorrPublicKey : await childKey(schnorrId, schnorrPublicKey, derivationPath);
      const bip340 = await sign(api, schnorrId, {
        intent: `bip340 ${door} ${derivationPath}`,
        derivationPath,
        keystoreType,
      });
      expect(schnorr.verify(bip340.fullSignature, digest, schnorrKey.subarray(1))).toBe(true);
      expect(bip340.recoveryId).toHaveLength(0);
    }
  });

  test('FROST ed25519, over messages of any length', async () => {
    const keyId = `ed-${door}`;
    const publicKey = await makeKey(api, keyId, 'ed25519');
    const prefix = Buffer.from('302a300506032b6570032100', 'hex');
    const key = createPublicKey({ key: Buffer.concat([prefix, publicKey]), format: 'der', type: 'spki' });
    for (const message of [Buffer.from('m'), digest, Buffer.alloc(65_536, 0x61)]) {
      const { fullSignature } = await sign(api, keyId, { intent: `ed ${door} ${message.length}`, message });
      expect(ed25519.verify(fullSignature, message, publicKey)).toBe(true);
      expect(nodeVerify(null, message, key, fullSignature)).toBe(true);
    }
  });

  test('one step a node, then one step a pair', async () => {
    const begun = await api.initiateSigning({
      transactionIntentId: `steps ${door}`,
      walletId: `ed-${door}`,
      messageHash: digest,
    });
    const { signingSessionId } = begun;
    const codes: string[] = [];
    for (const nodeId of [5, 5, 2, 9, 3]) {
      const step = await api.submitSignatureShare({ signingSessionId, nodeId });
      codes.push(step.receipt!.reasonCode);
    }
    expect(codes).toEqual([
      'SHARE_ACCEPTED',
      'DUPLICATE_SHARE',
      'SHARE_ACCEPTED',
      'NODE_NOT_PARTICIPANT',
      'SIGNATURE_COMPLETED',
    ]);

    const sessionId = `pairs-${door}`;
    await api.initiateDkg({ sessionId, threshold: 2, totalNodes: 2 });
    const pairs = [
      [1, 2],
      [2, 1],
      // A pair of a node with itself is implied, and may be called all the same.
      [2, 2],
    ] as const;
    const exchanges: string[] = [];
    for (const [senderNodeId, recipientNodeId] of pairs) {
      const exchange = await api.exchangeDkgShares({ sessionId, senderNodeId, recipientNodeId });
      exchanges.push(exchange.receipt!.reasonCode);
    }
    expect(exchanges).toEqual(['SHARE_VERIFIED', 'DKG_COMPLETED', 'DKG_COMPLETED']);
  });

  test('a client-supplied dealer: its wrong share is refused, its polynomial counts', async () => {
    const { Fn, BASE } = secp256k1.Point;
    const sessionId = `played-${door}`;
    await api.initiateDkg({ sessionId, threshold: 2, totalNodes: 3 });
    // f(x) = a + b·x
    const [a, b] = [123_456_789n, 987_654_321n];
    const commitments = [a, b].map((coefficient) => BASE.multiply(coefficient).toBytes());
    const offer = (recipientNodeId: number, share: bigint) =>
      api.exchangeDkgShares({
        sessionId,
        senderNodeId: 2,
        recipientNodeId,
        encryptedShare: Fn.toBytes(share),
        commitments,
      });
    const wrong = await offer(1, a + b + 1n);
    expect(wrong).toMatchObject({ verified: false, errorMessage: expect.stringMatching(/./) });
    expect(wrong.receipt!.reasonCode).toBe('SHARE_VERIFICATION_FAILED');
    for (const id of [1, 2, 3]) expect((await offer(id, a + b * BigInt(id))).verified).toBe(true);
    const done = await api.exchangeDkgShares({ sessionId });
    expect(done.receipt!.reasonCode).toBe('DKG_COMPLETED');
    const signed = await sign(api, sessionId, { intent: `played ${door}` });
    expect(secp256k1.verify(signed.fullSignature, digest, await groupKey(sessionId), { prehash: false })).toBe(true);
  });

  test('another tenant sees nothing of it', async () => {
    const token = 'svc_sk_test_anotherTenantOfTheTest';
    const stranger = door === 'HTTP' ? cluster.http(token) : cluster.grpc(token);
    const sessionId = `ed-${door}`;
    const mine = await api.initiateSigning({
      transactionIntentId: `mine ${door}`,
      walletId: sessionId,
      messageHash: digest,
    });
    const { signingSessionId } = mine;
    const answers = [
      await stranger.exchangeDkgShares({ sessionId }),
      await stranger.submitSignatureShare({ signingSessionId }),
      await stranger.resumeSession({ sessionId: signingSessionId, resumeToken: 'any' }),
    ];
    for (const { receipt, checkpoint } of answers) {
      expect(receipt).toMatchObject({
        state: ReceiptState.DENIED,
        reasonCode: 'SESSION_NOT_FOUND',
        epoch: 0n,
        sessionId: '',
      });
      expect(checkpoint).toMatchObject({ epoch: 0n, resumeToken: '' });
    }
    const signing = await stranger.initiateSigning({
      transactionIntentId: `mine ${door}`,
      walletId: sessionId,
      messageHash: digest,
    });
    expect(signing.receipt!.reasonCode).toBe('WALLET_KEY_NOT_FOUND');
    // Its own session of that name is its own.
    const own = await stranger.initiateDkg({ sessionId, threshold: 2, totalNodes: 2 });
    expect(own.receipt!.reasonCode).toBe('SESSION_ACCEPTED');
    expect((await api.submitSignatureShare({ signingSessionId })).isComplete).toBe(true);
  });

  test('no token, no answer', async () => {
    const unknown = door === 'HTTP' ? cluster.http('nonsense') : cluster.grpc('nonsense');
    const refused = await unknown.initiateDkg({}).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(CallFailed);
    expect(refused).toMatchObject({ status: door === 'HTTP' ? 401 : 16 });
  });
});

test('one door continues where the other stopped', async () => {
  const [http, grpc] = [cluster.http(), cluster.grpc()];
  const begun = await http.initiateSigning({ transactionIntentId: 'both', walletId: 'ed-HTTP', messageHash: digest });
  const { signingSessionId } = begun;
  const first = await grpc.submitSignatureShare({ signingSessionId });
  const again = await http.submitSignatureShare({ signingSessionId });
  expect(first.isComplete).toBe(true);
  expect(again.fullSignature).toEqual(first.fullSignature);
  expect(again.checkpoint).toEqual(first.checkpoint);
});

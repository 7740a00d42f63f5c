/** The cluster as the wallet control plane uses it, over a whole simulated cluster, and over answers made by hand. */

import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { beforeEach, describe, expect, test } from 'vitest';
import { systemPorts } from '../../../core/actors/live/ports.ts';
import { connectSigning } from '../../../gateway/signing/connect.ts';
import { makeClusterSigner } from '../../../gateway/signing/live-cluster-signer.ts';
import { UnfrozenCalls } from '../../../gateway/signing/unfrozen-calls.ts';
import { CallErrorCode } from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';
import { type CallMeta, ProviderRejected, ProviderUnavailable } from '../../../wallets/providers/port/port.ts';
import type { ClusterSigner, SigningOrder } from '../../../wallets/providers/self-hosted/cluster-signer.ts';
import { type Answer, FakeCoordinator } from '../../support/fake-coordinator.ts';
import { nowhere, unheededOrders } from '../../support/orders.ts';
import { SimLink } from './sim-link.ts';

const meta: CallMeta = { tenant: 'tn_1', nowMs: 0, correlationId: 'cor_1', traceparent: '' };
const wallet = 'wal_1';
const message = Uint8Array.from({ length: 32 }, (_, index) => index);
const order = (purpose: string, more: Partial<SigningOrder> = {}): SigningOrder => ({
  walletId: wallet,
  purpose,
  message,
  networkId: 'eip155:1',
  policyReceipt: 'e30.e30.sig',
  ...more,
});

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('on a cluster', () => {
  let cluster: SimCluster;
  let link: SimLink;
  let signer: ClusterSigner;
  beforeEach(() => {
    cluster = new SimCluster({ seed: 'signer', nodes: 3 });
    link = new SimLink(cluster);
    signer = makeClusterSigner({
      calls: connectSigning({ link, orders: unheededOrders(), roster: cluster.roster, ...systemPorts }).calls,
    });
  });

  /** A session that signs nothing yet, as one stands whose coordinator died right after its first write. */
  async function begin(purpose: string): Promise<string> {
    const opened = cluster.initiateSigning(
      { transactionIntentId: purpose, walletId: wallet, derivation: { networkId: 'eip155:1' }, messageHash: message },
      meta.tenant,
      { walletService: true },
    );
    return opened.result().signingSessionId;
  }

  test('a key is made once: again it is the same', async () => {
    const publicKey = await signer.createKey(meta, wallet, 'secp256k1', 'eip155:1');
    expect(publicKey).toHaveLength(33);
    expect(await signer.createKey(meta, wallet, 'secp256k1', 'eip155:1')).toEqual(publicKey);
    const both = await Promise.all(['a', 'a'].map((id) => signer.createKey(meta, `wal_${id}`, 'ed25519', 'sol')));
    expect(both[0]).toEqual(both[1]);
    expect(both[0]).toHaveLength(32);
  });

  test.each([1])('a key whose making was cut off (answer %s lost) is finished by the next try', async (lost) => {
    link.loseAnswerOf = lost;
    expect(await errorOf(signer.createKey(meta, wallet, 'ed25519', 'sol'))).toBeInstanceOf(ProviderUnavailable);
    expect(await signer.createKey(meta, wallet, 'ed25519', 'sol')).toHaveLength(32);
  });

  test('a key waits for its nodes: unavailable while one is away, made when it is back', async () => {
    cluster.crash('node/2');
    for (let times = 0; times < 2; times += 1) {
      const error = await errorOf(signer.createKey(meta, wallet, 'secp256k1', 'n'));
      expect(error).toBeInstanceOf(ProviderUnavailable);
      expect(String(error)).toContain('NODES_UNAVAILABLE');
    }
    cluster.start('node/2');
    expect(await signer.createKey(meta, wallet, 'secp256k1', 'n')).toHaveLength(33);
  });

  test.each(['secp256k1', 'ed25519'] as const)('a signature on %s verifies, in one call', async (curve) => {
    const publicKey = await signer.createKey(meta, wallet, curve, 'n');
    link.calls = [];
    const { signature, recoveryId, sessionId } = await signer.sign(meta, order('txi_1'));
    expect(link.calls).toEqual(['sign']);
    expect(sessionId).toMatch(/^sig_/);
    if (curve === 'ed25519') {
      expect([ed25519.verify(signature, message, publicKey), recoveryId]).toEqual([true, undefined]);
      return;
    }
    const recovered = secp256k1.recoverPublicKey(Buffer.concat([Uint8Array.of(recoveryId!), signature]), message, {
      prehash: false,
    });
    expect(Buffer.from(recovered)).toEqual(Buffer.from(publicKey));
  });

  test('the same purpose gives the same signature, also many times at once', async () => {
    await signer.createKey(meta, wallet, 'secp256k1', 'n');
    const signed = await Promise.all(Array.from({ length: 8 }, () => signer.sign(meta, order('txi_1'))));
    expect(new Set(signed.map(({ signature }) => Buffer.from(signature).toString('hex'))).size).toBe(1);
    expect(new Set(signed.map(({ sessionId }) => sessionId)).size).toBe(1);
  });

  test('a gateway that dies before it is answered leaves nothing that locks the purpose', async () => {
    await signer.createKey(meta, wallet, 'secp256k1', 'n');
    link.calls = [];
    link.loseAnswerOf = 1;
    expect(await errorOf(signer.sign(meta, order('txi_1')))).toBeInstanceOf(ProviderUnavailable);
    link.calls = [];
    link.loseAnswerOf = 2;
    expect(await errorOf(signer.sign(meta, order('txi_1')))).toBeInstanceOf(ProviderUnavailable);
    expect((await signer.sign(meta, order('txi_1'))).signature).toHaveLength(64);
  });

  test('a coordinator that dies while it signs leaves a session that the next try continues with', async () => {
    await signer.createKey(meta, wallet, 'secp256k1', 'n');
    const sessionId = await begin('txi_1');
    cluster.crash('coordinator');
    cluster.start('coordinator');
    link.calls = [];
    expect(await signer.sign(meta, order('txi_1'))).toMatchObject({ sessionId });
    expect(link.calls).toEqual(['sign', 'submitSignatureShare']);
  });

  test('another message for the same purpose is refused for good', async () => {
    await signer.createKey(meta, wallet, 'secp256k1', 'n');
    await signer.sign(meta, order('txi_1'));
    const error = await errorOf(signer.sign(meta, order('txi_1', { message: message.slice().reverse() })));
    expect(error).toMatchObject({
      name: 'ProviderRejected',
      issue: 'invalid_request',
      providerCode: 'INVALID_REQUEST',
    });
  });

  test('without a quorum it is unavailable, and signs with a new session when nodes are back', async () => {
    await signer.createKey(meta, wallet, 'secp256k1', 'n');
    cluster.crash('node/1');
    const error = await errorOf(signer.sign(meta, order('txi_1')));
    expect(error).toBeInstanceOf(ProviderUnavailable);
    expect(String(error)).toContain('QUORUM_UNAVAILABLE');
    cluster.start('node/1');
    expect((await signer.sign(meta, order('txi_1'))).signature).toHaveLength(64);
  });

  test('a session whose lifetime ended is followed by a new one', async () => {
    await signer.createKey(meta, wallet, 'secp256k1', 'n');
    const sessionId = await begin('txi_1');
    let over = false;
    cluster.time.after(3_600_000, () => {
      over = true;
    });
    cluster.time.runUntil(() => over);
    const signed = await signer.sign(meta, order('txi_1'));
    expect(signed.signature).toHaveLength(64);
    expect(signed.sessionId).not.toBe(sessionId);
  });

  test('a closed key signs nothing any more; closing it again changes nothing', async () => {
    await signer.createKey(meta, wallet, 'secp256k1', 'n');
    await begin('open');
    await signer.closeKey(meta, wallet);
    await signer.closeKey(meta, wallet);
    for (const purpose of ['open', 'new']) {
      const error = await errorOf(signer.sign(meta, order(purpose)));
      expect(error).toBeInstanceOf(ProviderRejected);
      expect(error).toMatchObject({ issue: 'wallet_archived', providerCode: 'WALLET_ARCHIVED', field: '' });
    }
  });

  test('a wallet without a key is refused', async () => {
    const error = await errorOf(signer.sign(meta, order('txi_1')));
    expect(error).toMatchObject({ name: 'ProviderRejected', issue: 'wallet_key_not_found' });
  });
});

describe('on answers made by hand', () => {
  let coordinator: FakeCoordinator;
  let signer: ClusterSigner;
  beforeEach(() => {
    coordinator = new FakeCoordinator();
    signer = makeClusterSigner({
      calls: connectSigning({ link: coordinator, orders: unheededOrders(), roster: nowhere, ...systemPorts }).calls,
    });
  });

  const told = (state: ReceiptState, reasonCode: string, more: object = {}): Answer => ({
    response: {
      receipt: { state, reasonCode, message: reasonCode, sessionId: 'sig_1' },
      checkpoint: { state, resumeToken: state === ReceiptState.BACKEND_FAILED ? 'rt1' : '' },
      ...more,
    },
  });

  test('an order travels as the wallet service’s, with its receipt, network and trace', async () => {
    coordinator.answer = ({ call }) =>
      call.request.case === 'sign'
        ? told(ReceiptState.REPLAY_REJECTED, 'DUPLICATE_INTENT')
        : told(ReceiptState.BACKEND_COMPLETED, 'SIGNATURE_COMPLETED', {
            isComplete: true,
            fullSignature: new Uint8Array(64),
            recoveryId: Uint8Array.of(1),
          });
    const signed = await signer.sign(meta, order('txi_1'));
    expect(signed).toEqual({ sessionId: 'sig_1', signature: new Uint8Array(64), recoveryId: 1 });
    const [initiate, share] = coordinator.sent;
    expect(coordinator.sent.map(({ call }) => call.walletService)).toEqual([true, true]);
    expect(initiate).toMatchObject({
      tenant: 'tn_1',
      trace: { correlationId: 'cor_1' },
      request: {
        transactionIntentId: 'txi_1',
        walletId: wallet,
        approvalMode: 1,
        derivation: { networkId: 'eip155:1', derivationPath: '', curve: '' },
        context: { correlationId: 'cor_1' },
      },
    });
    expect(Buffer.from(initiate!.request.policyApprovalToken as Uint8Array).toString()).toBe('e30.e30.sig');
    expect(share!.request).toMatchObject({ signingSessionId: 'sig_1', nodeId: 0 });
  });

  test.each([
    ['unavailable', CallErrorCode.UNAVAILABLE],
    ['overloaded', CallErrorCode.OVERLOADED],
    ['late', CallErrorCode.DEADLINE_EXCEEDED],
  ])('a coordinator that is %s is to be asked again later', async (_, code) => {
    coordinator.answer = () => ({ error: code });
    for (const call of [
      signer.sign(meta, order('a')),
      signer.createKey(meta, wallet, 'ed25519', 'n'),
      signer.closeKey(meta, wallet),
    ]) {
      const error = await errorOf(call);
      expect(error).toBeInstanceOf(ProviderUnavailable);
      expect(error).toMatchObject({ retryAfterMs: 1_000 });
    }
  });

  test.each([[[2]], [[1, 2, 3, 4, 5]]])(
    'a key is closed only when nodes %j have deleted their shares',
    async (nodes) => {
      coordinator.answer = () => ({ response: { pendingNodes: nodes } });
      const error = await errorOf(signer.closeKey(meta, wallet));
      expect(error).toBeInstanceOf(ProviderUnavailable);
      expect(error).toMatchObject({ retryAfterMs: 15_000 });
      coordinator.answer = () => ({ response: { pendingNodes: [] } });
      await signer.closeKey(meta, wallet);
    },
  );

  test('a link that is down, or goes down, is the same', async () => {
    coordinator.answer = () => 'silence';
    const waiting = errorOf(signer.sign(meta, order('a')));
    coordinator.link(false);
    expect(await waiting).toBeInstanceOf(ProviderUnavailable);
    expect(await errorOf(signer.sign(meta, order('a')))).toBeInstanceOf(ProviderUnavailable);
  });

  test('a tenant that is frozen when the order leaves is asked for again later', async () => {
    const { calls } = connectSigning({ link: coordinator, orders: unheededOrders(), roster: nowhere, ...systemPorts });
    const read = async () => ({ id: 'tenant', version: 1, status: 'frozen' }) as never;
    signer = makeClusterSigner({ calls: new UnfrozenCalls(calls, () => ({ read })) });
    const error = await errorOf(signer.sign(meta, order('a')));
    expect(error).toBeInstanceOf(ProviderUnavailable);
    expect(error).toMatchObject({ retryAfterMs: 5_000 });
    expect(coordinator.sent).toEqual([]);
  });

  test('a bug of the coordinator is no refusal', async () => {
    coordinator.answer = () => ({ error: CallErrorCode.INTERNAL, message: 'oops' });
    expect(await errorOf(signer.sign(meta, order('a')))).toMatchObject({ kind: 'internalError' });
  });

  test.each([ReceiptState.EXPIRED, ReceiptState.REVOKED])(
    'sessions that end repeatedly (state %s) do not keep it for ever',
    async (state) => {
      coordinator.answer = ({ call }) =>
        call.request.case === 'sign'
          ? told(ReceiptState.REPLAY_REJECTED, 'DUPLICATE_INTENT')
          : told(state, 'SESSION_REVOKED');
      expect(await errorOf(signer.sign(meta, order('a')))).toBeInstanceOf(ProviderUnavailable);
      expect(coordinator.sent.length).toBe(6);
    },
  );

  test('a key generation that keeps failing is given up, and can be tried again', async () => {
    coordinator.answer = () => told(ReceiptState.BACKEND_FAILED, 'DEALER_MISBEHAVED');
    const error = await errorOf(signer.createKey(meta, wallet, 'secp256k1', 'n'));
    expect(error).toBeInstanceOf(ProviderUnavailable);
    // The first round, and two that resume it.
    expect(coordinator.sent.map(({ call }) => call.request.case)).toEqual(['makeKey', 'makeKey', 'makeKey']);
  });

  test('a key whose nodes stay away is not waited for twice in one call', async () => {
    coordinator.answer = () => told(ReceiptState.BACKEND_FAILED, 'NODES_UNAVAILABLE');
    expect(await errorOf(signer.createKey(meta, wallet, 'secp256k1', 'n'))).toBeInstanceOf(ProviderUnavailable);
    expect(coordinator.sent).toHaveLength(1);
  });

  test.each([
    ['SESSION_EXPIRED', ReceiptState.EXPIRED],
    ['INVALID_THRESHOLD', ReceiptState.DENIED],
  ])('a key generation that never will be (%s) is refused in the cluster’s words', async (reasonCode, state) => {
    coordinator.answer = () => told(state, reasonCode);
    expect(await errorOf(signer.createKey(meta, wallet, 'secp256k1', 'n'))).toMatchObject({
      name: 'ProviderRejected',
      providerCode: reasonCode,
      issue: reasonCode.toLowerCase(),
    });
  });
});

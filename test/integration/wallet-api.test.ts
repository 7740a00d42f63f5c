/**
 * The wallet control plane over a real cluster: keys made by DKG, transactions signed by a quorum, and checked by
 * independent libraries.
 */

import { networks, payments } from 'bitcoinjs-lib';
import { computeAddress, keccak256, Transaction } from 'ethers';
import { compactVerify, createRemoteJWKSet } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Made, RestClient } from '../support/rest.ts';
import { type SharedCluster, sharedCluster } from '../support/shared-cluster.ts';
import { until } from '../support/until.ts';

const evm = 'eip155:11155111';
const bitcoin = 'bip122:000000000933ea01ad0ee984209779ba';
const solana = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';

let cluster: SharedCluster;
let api: RestClient;
let connectionId: string;
beforeAll(async () => {
  cluster = await sharedCluster();
  api = new RestClient(cluster.httpUrl, cluster.token);
  connectionId = (
    await api.made('/v1/provider-connections', { provider: 'self_hosted', name: 'ours', credentials: {} })
  ).id;
});
afterAll(() => cluster?.stop());

interface Wallet extends Made {
  readonly public_key: string;
  readonly key_scheme: string;
  readonly key_exposed: boolean;
  readonly addresses: readonly { readonly network: string; readonly address: string }[];
  readonly assets: readonly { readonly symbol: string; readonly balance: string; readonly available: string }[];
}

interface Intent extends Made {
  readonly status: string;
  readonly provider_tx_id: string | null;
  readonly policy_receipt: string;
  readonly provider_details?: { readonly raw_transaction?: string } | null;
}

const walletOn = (network: string) =>
  api.made<Wallet>('/v1/wallets', { name: `on ${network}`, provider_connection_id: connectionId, network });

async function ended(walletId: string, intentId: string): Promise<Intent> {
  const path = `/v1/wallets/${walletId}/transaction-intents/${intentId}`;
  let last: Intent | undefined;
  return until(
    async () => {
      last = (await api.get<Intent>(path)).body;
      return ['completed', 'failed', 'denied'].includes(last.status) ? last : undefined;
    },
    () => `the end of ${JSON.stringify(last)}`,
  );
}

describe('an EVM wallet', () => {
  let wallet: Wallet;
  beforeAll(async () => {
    wallet = await walletOn(evm);
  });

  test('has the address that ethers derives from its key', () => {
    expect(wallet.addresses).toEqual([{ network: evm, address: computeAddress(`0x${wallet.public_key}`) }]);
  });

  test('moves money by a real EIP-1559 transaction of its own', async () => {
    const receiver = await walletOn(evm);
    const to = receiver.addresses[0]!.address;
    const body = { asset: 'ETH', amount: '0.25', destination: { address: to } };
    const created = await api.made<Intent>(`/v1/wallets/${wallet.id}/transaction-intents`, body);
    expect(created.status).toBe('approved');
    const intent = await ended(wallet.id, created.id);
    expect(intent.status).toBe('completed');
    const raw = intent.provider_details!.raw_transaction!;
    expect(keccak256(raw)).toBe(intent.provider_tx_id);
    const transaction = Transaction.from(raw);
    expect(transaction).toMatchObject({ type: 2, chainId: 11155111n, to, value: 250_000_000_000_000_000n, nonce: 0 });
    expect(transaction.from).toBe(wallet.addresses[0]!.address);
    await until(async () => {
      const { assets } = (await api.get<Wallet>(`/v1/wallets/${receiver.id}`)).body;
      return assets.find(({ symbol }) => symbol === 'ETH')?.balance === '10.25';
    }, 'the money at its receiver');
  });

  test('numbers thirty transfers at once without a gap', async () => {
    const busy = await walletOn(evm);
    const path = `/v1/wallets/${busy.id}/transaction-intents`;
    const body = { asset: 'ETH', amount: '0.001', destination: { address: wallet.addresses[0]!.address } };
    const intents = await Promise.all(Array.from({ length: 30 }, () => api.made<Intent>(path, body)));
    const ends = await Promise.all(intents.map(({ id }) => ended(busy.id, id)));
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['completed']));
    const nonces = ends.map(({ provider_details }) => Transaction.from(provider_details!.raw_transaction!).nonce);
    expect(nonces.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  test('its receipt verifies with the published keys', async () => {
    const body = { asset: 'USDC', amount: '1.5', destination: { address: wallet.addresses[0]!.address } };
    const { policy_receipt, id } = await api.made<Intent>(`/v1/wallets/${wallet.id}/transaction-intents`, body);
    const keys = createRemoteJWKSet(new URL(`${cluster.httpUrl}/v1/.well-known/jwks.json`));
    const { payload } = await compactVerify(policy_receipt, keys);
    expect(JSON.parse(Buffer.from(payload).toString())).toMatchObject({ sub: id, decision: 'allow' });
  });

  test('signs nothing any more once it is archived', async () => {
    const old = await walletOn(evm);
    const sign = () =>
      api.post<{ receipt: { reason_code: string } }>('/v1/signing/initiate', {
        transaction_intent_id: `x-${Math.random()}`,
        wallet_id: old.id,
        message_hash: Buffer.alloc(32, 1).toString('base64'),
      });
    expect((await sign()).body.receipt.reason_code).toBe('SESSION_ACCEPTED');
    expect((await api.post(`/v1/wallets/${old.id}/archive`, {})).status).toBe(200);
    expect((await sign()).body.receipt.reason_code).toBe('WALLET_ARCHIVED');
  });
});

test('a custodian’s wallet is not signed with at the signing API, which says who holds its key', async () => {
  const connected = await api.made<{ id: string; test_wallets: { id: string }[] }>('/v1/providers/connect', {
    type: 'sandbox',
  });
  const wallet_id = connected.test_wallets[0]!.id;
  const { body } = await api.post<{ receipt: { reason_code: string; state: string; message: string } }>(
    '/v1/signing/initiate',
    { transaction_intent_id: 'hosted', wallet_id, message_hash: Buffer.alloc(32, 1).toString('base64') },
  );
  expect(body.receipt).toMatchObject({
    state: 'RECEIPT_STATE_DENIED',
    reason_code: 'WALLET_KEY_AT_CUSTODIAN',
    message: `the custodian sandbox holds the key of wallet "${wallet_id}": sign by a transaction intent`,
  });
});

test('a Bitcoin wallet has the address that bitcoinjs-lib derives, and pays', async () => {
  const wallet = await walletOn(bitcoin);
  const { address } = payments.p2wpkh({ pubkey: Buffer.from(wallet.public_key, 'hex'), network: networks.testnet });
  expect(wallet.addresses).toEqual([{ network: bitcoin, address }]);
  expect(wallet).toMatchObject({ key_scheme: 'mock_ecdsa', key_exposed: true });
  const body = { asset: 'BTC', amount: '0.01', destination: { address } };
  const created = await api.made<Intent>(`/v1/wallets/${wallet.id}/transaction-intents`, body);
  expect(await ended(wallet.id, created.id)).toMatchObject({ status: 'completed' });
});

test('a Solana wallet pays', async () => {
  const wallet = await walletOn(solana);
  expect(wallet).toMatchObject({ key_scheme: 'frost_ed25519', key_exposed: false });
  const receiver = await walletOn(solana);
  const body = { asset: 'SOL', amount: '1', destination: { address: receiver.addresses[0]!.address } };
  const created = await api.made<Intent>(`/v1/wallets/${wallet.id}/transaction-intents`, body);
  expect(await ended(wallet.id, created.id)).toMatchObject({ status: 'completed' });
});

test('an approval by a second person completes a risky transfer', async () => {
  const wallet = await walletOn(evm);
  const path = `/v1/wallets/${wallet.id}/transaction-intents`;
  const body = { asset: 'ETH', amount: '0.004770', destination: { address: wallet.addresses[0]!.address } };
  const created = await api.made<Intent>(path, body);
  expect(created.status).toBe('pending_approval');
  expect((await api.post(`${path}/${created.id}/approve`, {})).status).toBe(403);
  expect((await api.post(`${path}/${created.id}/approve`, {}, { token: cluster.ready.approver_token })).status).toBe(
    200,
  );
  expect(await ended(wallet.id, created.id)).toMatchObject({ status: 'completed' });
});

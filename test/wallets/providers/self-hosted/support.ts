/** A signer with real keys in one process, and records as the control plane would have made them. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '../../../../core/crypto/hashing.ts';
import type { ConnectionRecord } from '../../../../wallets/custody/connections/record.ts';
import type { IntentRecord } from '../../../../wallets/custody/intents/record.ts';
import type { WalletRecord } from '../../../../wallets/custody/wallets/record.ts';
import { parseAmount } from '../../../../wallets/networks/amounts.ts';
import { assetOf } from '../../../../wallets/networks/assets.ts';
import { type NetworkId, networkOf } from '../../../../wallets/networks/networks.ts';
import type { ApprovedTransfer, CallMeta, ProviderAdapter } from '../../../../wallets/providers/port/port.ts';
import type {
  ClusterSignature,
  ClusterSigner,
  SignerCurve,
  SigningOrder,
} from '../../../../wallets/providers/self-hosted/cluster-signer.ts';
import { childKey } from '../../../support/child-key.ts';

export const startMs = 1_790_000_000_000;
export const sepolia: NetworkId = 'eip155:11155111';
export const testnet: NetworkId = 'bip122:000000000933ea01ad0ee984209779ba';
export const devnet: NetworkId = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';

export interface FakeSigner extends ClusterSigner {
  /** Every signature that was made, not those that were answered again. */
  readonly orders: SigningOrder[];
  /** Thrown by the next calls of `sign`, one each. */
  readonly failures: Error[];
}

export function secretOf(walletId: string): Uint8Array {
  return sha256(Buffer.from(walletId));
}

export function fakeSigner(): FakeSigner {
  const curves = new Map<string, SignerCurve>();
  const made = new Map<string, ClusterSignature>();
  const orders: SigningOrder[] = [];
  const failures: Error[] = [];
  return {
    orders,
    failures,
    async createKey(_meta, walletId, curve) {
      curves.set(walletId, curve);
      const secret = secretOf(walletId);
      return curve === 'secp256k1' ? secp256k1.getPublicKey(secret, true) : ed25519.getPublicKey(secret);
    },
    childKey: async (_meta, walletId, _networkId, path) => childOf(walletId, path).publicKey,
    async sign(_meta, order) {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      const known = made.get(order.purpose);
      if (known !== undefined) return known;
      orders.push(order);
      const signature = signWith(curves.get(order.walletId) ?? 'secp256k1', order, `sig_${orders.length}`);
      made.set(order.purpose, signature);
      return signature;
    },
    async closeKey() {},
    async revokeSessions() {},
  };
}

function childOf(walletId: string, path: string) {
  return childKey(secretOf(walletId), secretOf(`${walletId}/chain`), path);
}

function signWith(
  curve: SignerCurve,
  { walletId, message, path = '' }: SigningOrder,
  sessionId: string,
): ClusterSignature {
  if (curve === 'ed25519') {
    return { sessionId, signature: ed25519.sign(message, secretOf(walletId)), recoveryId: undefined };
  }
  const { secret } = childOf(walletId, path);
  const recovered = secp256k1.sign(message, secret, { prehash: false, format: 'recovered' });
  return { sessionId, signature: recovered.slice(1), recoveryId: recovered[0]! };
}

export function metaAt(nowMs: number): CallMeta {
  return { tenant: 'acme', nowMs, correlationId: 'cor_test', traceparent: '' };
}

export function connection(environment: ConnectionRecord['environment'] = 'sandbox'): ConnectionRecord {
  return {
    id: 'pcn_1',
    version: 1,
    provider: 'self_hosted',
    name: 'Ours',
    environment,
    status: 'connected',
    capabilities: [],
    credentials: '',
    credentialFingerprint: '',
    metadata: {},
    lastSyncedAtMs: null,
    createdAtMs: startMs,
    updatedAtMs: startMs,
  };
}

/** A wallet that the adapter made. */
export async function makeWallet(
  adapter: ProviderAdapter,
  walletId: string,
  network: NetworkId,
  environment: ConnectionRecord['environment'] = 'sandbox',
): Promise<WalletRecord> {
  const made = await adapter.createWallet(metaAt(startMs), connection(environment), {
    walletId,
    name: walletId,
    network,
  });
  return {
    id: walletId,
    version: 1,
    name: walletId,
    provider: 'self_hosted',
    connectionId: 'pcn_1',
    providerWalletId: made.providerWalletId,
    status: 'active',
    environment,
    network,
    addresses: made.addresses,
    publicKey: made.publicKey,
    assets: made.balances.map(({ asset }) => asset),
    approvalMode: 'unspecified',
    signingApi: 'allowed',
    policy: null,
    externalId: null,
    metadata: {},
    createdAtMs: startMs,
    updatedAtMs: startMs,
    archivedAtMs: null,
    archiveReason: null,
  };
}

export type ApprovedIntent = IntentRecord & Pick<ApprovedTransfer, 'decided'>;

/** An approved intent, and what its receipt decided: itself. */
export function intentOf(
  wallet: WalletRecord,
  {
    id,
    asset,
    amount,
    to,
  }: { readonly id: string; readonly asset: string; readonly amount: string; readonly to: string },
): ApprovedIntent {
  const units = parseAmount(amount, assetOf(asset)!.decimals);
  if (typeof units === 'string') throw new Error(units);
  return {
    id,
    version: 1,
    walletId: wallet.id,
    connectionId: wallet.connectionId,
    provider: 'self_hosted',
    kind: 'transfer',
    network: wallet.network,
    status: 'approved',
    subStatus: null,
    asset,
    amount,
    units: String(units),
    fromAddress: wallet.addresses[0]!.address,
    destination: { address: to },
    feeReserve: { asset: 'ETH', units: '0' },
    feePaid: null,
    policy: { name: 'default', id: 'pol_1', version: 1 },
    decisionId: 'dec_1',
    policyReceipt: 'receipt',
    decided: {
      ...{ wallet_id: wallet.id, kind: 'transfer', asset, amount, network: wallet.network, to },
      fee: { asset: networkOf(wallet.network).nativeAsset, limit: '0.01' },
    },
    riskScore: 0,
    screeningId: null,
    initiator: 'tok_1',
    approvals: [],
    approvalsRequired: 0,
    approvers: [],
    providerTxId: null,
    providerStatus: null,
    providerError: null,
    submission: null,
    attempts: 0,
    metadata: {},
    correlationId: 'cor_test',
    statusHistory: [],
    createdAtMs: startMs,
    updatedAtMs: startMs,
    expiresAtMs: startMs + 3_600_000,
  };
}

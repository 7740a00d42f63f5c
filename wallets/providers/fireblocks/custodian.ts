/**
 * A simulated system in the manner of Fireblocks: vault accounts, asset ids, transaction statuses and sub-statuses from its
 * public documentation (https://developers.fireblocks.com/reference/primary-transaction-statuses).
 */
import { toHex } from '../../../core/crypto/bytes.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { networkOf } from '../../networks/networks.ts';
import { CustodianError, type CustodianTerms, hostedCapabilities } from '../simulated/hosted.ts';
import { simulatedHash } from '../simulated/simulated-keys.ts';

/** Its number is the id. */
interface VaultAccount {
  readonly name: string;
  readonly assetId: string;
  readonly address: string;
  readonly publicKey: string;
}

interface StoredTransaction {
  readonly externalTxId: string;
  readonly assetId: string;
  /** Decimal. */
  readonly amount: string;
  readonly vaultAccountId: string;
  readonly oneTimeAddress: string;
  readonly id: string;
  readonly environment: ClusterEnvironment;
  readonly createdAt: number;
}

/** With Fireblocks' names for assets of test networks. */
const assetIds: Readonly<Record<string, string>> = {
  ...{ ETH: 'ETH_TEST5', USDC: 'USDC_ETH_TEST5_0GER', BTC: 'BTC_TEST', SOL: 'SOL_TEST' },
};

export const fireblocks: CustodianTerms<VaultAccount, StoredTransaction> = {
  info: {
    kind: 'fireblocks',
    displayName: 'Fireblocks (simulated)',
    capabilities: [...hostedCapabilities, 'aml_screening'],
    credentialFields: [
      { name: 'api_key', required: true, secret: true, description: 'API key of the API user' },
      {
        name: 'private_key',
        aliases: ['secret', 'api_secret'],
        required: true,
        secret: true,
        description: 'the key that signs the requests of the API user (RSA, PEM)',
      },
      {
        name: 'workspace_id',
        aliases: ['workspace'],
        required: false,
        secret: false,
        description: 'workspace of the API user',
      },
    ],
  },
  calls: {
    ...{ signIn: 'signIn', openWallet: 'createVaultAccount', estimate: 'estimateFee' },
    ...{ submit: 'createTransaction', find: 'getTransaction' },
  },
  assetIds,
  statuses: [
    { status: 'SUBMITTED', fromMs: 0, stage: 'signing' },
    { status: 'PENDING_AML_SCREENING', fromMs: 150, stage: 'signing', subStatus: 'SCREENING_AT_PROVIDER' },
    { status: 'QUEUED', fromMs: 400, stage: 'signing', subStatus: 'QUEUED_AT_PROVIDER' },
    { status: 'PENDING_SIGNATURE', fromMs: 600, stage: 'signing' },
    { status: 'BROADCASTING', fromMs: 1_000, stage: 'broadcasting' },
    { status: 'CONFIRMING', fromMs: 1_300, stage: 'confirming', subStatus: 'AWAITING_CONFIRMATIONS' },
    { status: 'COMPLETED', fromMs: 3_000, stage: 'completed' },
  ],
  points: { queued: 'QUEUED', confirming: 'CONFIRMING', failed: 'FAILED' },
  failure: { code: 'SMART_CONTRACT_EXECUTION_FAILED', message: 'the transaction was mined and failed' },
  refusedStatus: 'REJECTED',
  errors: {
    unavailable: () => new CustodianError(503, 'SERVICE_UNAVAILABLE', 'the service is temporarily unavailable'),
    credentials: () => new CustodianError(401, '-7', 'unauthorized: the API key is not known'),
    quote: () => new CustodianError(400, 'BLOCKED_BY_POLICY', 'the transaction is blocked by the workspace’s policy'),
    funds: () => new CustodianError(400, 'INSUFFICIENT_FUNDS', 'the vault account holds too little'),
    submission: () =>
      new CustodianError(400, 'REJECTED_AML_SCREENING', 'the transaction was rejected by the AML screening'),
  },
  reasons: {
    '-7': { field: 'credentials.api_key', issue: 'invalid_credentials' },
    INSUFFICIENT_FUNDS: { field: 'amount', issue: 'insufficient_funds' },
  },
  families: { wallet: 'vault', order: 'tx' },
  walletRecord: (_tenant, { name, network }, { address, publicKey }) => {
    return { name, assetId: assetIds[networkOf(network).nativeAsset]!, address, publicKey };
  },
  walletOf: ({ address }, number) => ({ id: String(number), address }),
  orderRecord: ({ tenant, reference, wallet, assetId, amount, toAddress, environment, takenAtMs }) => ({
    ...{ externalTxId: reference, assetId, amount, vaultAccountId: wallet, oneTimeAddress: toAddress },
    id: uuidOf(simulatedHash('fireblocks/transaction', tenant, reference)),
    ...{ environment, createdAt: takenAtMs },
  }),
  takenOf: ({ id, externalTxId, assetId, amount, vaultAccountId, oneTimeAddress, environment, createdAt }) => ({
    ...{ id, wallet: vaultAccountId, reference: externalTxId, assetId, amount, toAddress: oneTimeAddress },
    ...{ environment, takenAtMs: createdAt },
  }),
};

/** A UUID in the form of version 4, from a hash. */
function uuidOf(hash: Uint8Array): string {
  const hex = toHex(hash);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/**
 * A simulated system in the manner of BitGo: coins, wallets, transfers with their states, errors with a name and a request
 * id, amounts in base units (https://developers.bitgo.com).
 */
import { toHex } from '../../../core/crypto/bytes.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { networkOf } from '../../networks/networks.ts';
import { CustodianError, type CustodianTerms, hostedCapabilities } from '../simulated/hosted.ts';
import { simulatedHash } from '../simulated/simulated-keys.ts';

interface BitgoWallet {
  /** 32 hex digits. */
  readonly id: string;
  readonly coin: string;
  readonly receiveAddress: string;
  readonly publicKey: string;
}

interface StoredTransfer {
  readonly sequenceId: string;
  readonly walletId: string;
  readonly coin: string;
  /** Base units, a decimal integer. */
  readonly amount: string;
  readonly decimalAmount: string;
  readonly address: string;
  readonly id: string;
  readonly environment: ClusterEnvironment;
  readonly createdMs: number;
}

/** With BitGo's names for coins of test networks. */
const coins: Readonly<Record<string, string>> = { ETH: 'hteth', USDC: 'hteth:usdc', BTC: 'tbtc', SOL: 'tsol' };

export const bitgo: CustodianTerms<BitgoWallet, StoredTransfer> = {
  info: {
    kind: 'bitgo',
    displayName: 'BitGo (simulated)',
    capabilities: [...hostedCapabilities, 'provider_approvals'],
    credentialFields: [
      {
        name: 'api_key',
        aliases: ['access_token'],
        required: true,
        secret: true,
        description: 'long-lived access token',
      },
      {
        name: 'enterprise_id',
        aliases: ['workspace_id', 'workspace'],
        required: false,
        secret: false,
        description: 'enterprise that owns the wallets',
      },
      {
        name: 'wallet_passphrase',
        aliases: ['secret', 'api_secret', 'private_key'],
        required: false,
        secret: true,
        description: 'passphrase of the wallets’ user keys',
      },
    ],
  },
  calls: {
    ...{ signIn: 'getSession', openWallet: 'generateWallet', estimate: 'buildTransaction' },
    ...{ submit: 'sendCoins', find: 'getTransferBySequenceId' },
  },
  assetIds: coins,
  statuses: [
    { status: 'initialized', fromMs: 0, stage: 'signing' },
    { status: 'pendingApproval', fromMs: 300, stage: 'signing', subStatus: 'QUEUED_AT_PROVIDER' },
    { status: 'signed', fromMs: 900, stage: 'broadcasting' },
    { status: 'unconfirmed', fromMs: 1_200, stage: 'confirming', subStatus: 'AWAITING_CONFIRMATIONS' },
    { status: 'confirmed', fromMs: 4_000, stage: 'completed' },
  ],
  points: { queued: 'pendingApproval', confirming: 'unconfirmed', failed: 'failed' },
  failure: { code: 'TransactionFailed', message: 'the transaction failed on the chain' },
  refusedStatus: 'rejected',
  errors: {
    unavailable: () => new CustodianError(503, 'ServiceUnavailable', 'the platform is under maintenance'),
    credentials: () => new CustodianError(401, 'Unauthenticated', 'the access token is not valid'),
    quote: () => new CustodianError(403, 'PolicyViolation', 'the transaction violates a policy of the wallet'),
    funds: () => new CustodianError(400, 'InsufficientBalance', 'the wallet has not enough spendable balance'),
    submission: () =>
      new CustodianError(403, 'PendingApprovalRejected', 'an administrator of the enterprise rejected the transfer'),
  },
  reasons: {
    Unauthenticated: { field: 'credentials.api_key', issue: 'invalid_credentials' },
    InsufficientBalance: { field: 'amount', issue: 'insufficient_funds' },
  },
  families: { wallet: 'wallet', order: 'transfer' },
  walletRecord: (tenant, { walletId, network }, { address, publicKey }) => {
    const id = toHex(simulatedHash('bitgo/wallet', tenant, walletId)).slice(0, 32);
    return { id, coin: coins[networkOf(network).nativeAsset]!, receiveAddress: address, publicKey };
  },
  walletOf: ({ id, receiveAddress }) => ({ id, address: receiveAddress }),
  orderRecord: ({ tenant, reference, wallet, assetId, amount, units, toAddress, environment, takenAtMs }) => ({
    ...{ sequenceId: reference, walletId: wallet, coin: assetId, amount: units, decimalAmount: amount },
    address: toAddress,
    id: toHex(simulatedHash('bitgo/transfer', tenant, reference)).slice(0, 32),
    ...{ environment, createdMs: takenAtMs },
  }),
  takenOf: ({ id, sequenceId, walletId, coin, decimalAmount, address, environment, createdMs }) => ({
    ...{ id, wallet: walletId, reference: sequenceId, assetId: coin, amount: decimalAmount, toAddress: address },
    ...{ environment, takenAtMs: createdMs },
  }),
};

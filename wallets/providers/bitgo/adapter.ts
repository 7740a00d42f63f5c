/** BitGo (simulated, see custodian.ts) behind the provider port: translates its terms into ours. */
import { networkIds, networkOf } from '../../networks/networks.ts';
import type { ProviderAdapter, ProviderInfo } from '../port/port.ts';
import type { BookWords, CustodianBook } from '../simulated/custodian-book.ts';
import { type HostedBridge, hostedAdapter, hostedCapabilities, hostedEnvironments } from '../simulated/hosted.ts';
import type { Stage } from '../simulated/progress.ts';
import { type BitgoSend, bitgoTimeline, type SimulatedBitgo, type TransferState } from './custodian.ts';

const info: ProviderInfo = {
  kind: 'bitgo',
  displayName: 'BitGo (simulated)',
  hosting: 'hosted',
  environments: hostedEnvironments,
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
  networks: networkIds,
};

/** Our asset symbols, with BitGo's names for coins of test networks. */
const coins: Readonly<Record<string, string>> = { ETH: 'hteth', USDC: 'hteth:usdc', BTC: 'tbtc', SOL: 'tsol' };

const stages: Readonly<Record<TransferState, Stage>> = {
  initialized: 'signing',
  pendingApproval: 'signing',
  signed: 'broadcasting',
  unconfirmed: 'confirming',
  confirmed: 'completed',
  failed: 'failed',
};

const subStatuses: Partial<Record<TransferState, string>> = {
  pendingApproval: 'QUEUED_AT_PROVIDER',
  unconfirmed: 'AWAITING_CONFIRMATIONS',
};

export const bitgoWords: BookWords = {
  timeline: bitgoTimeline,
  stageOf: (status) => stages[status as keyof typeof stages],
  assetIds: coins,
};

const reasons: HostedBridge['reasons'] = {
  Unauthenticated: { field: 'credentials.api_key', issue: 'invalid_credentials' },
  InsufficientBalance: { field: 'amount', issue: 'insufficient_funds' },
};

export function bitgoAdapter(custodian: SimulatedBitgo, book: CustodianBook): ProviderAdapter {
  return hostedAdapter({
    ...{ info, book, words: bitgoWords, subStatuses, reasons },
    failure: { code: 'TransactionFailed', message: 'the transaction failed on the chain' },
    refusedStatus: 'rejected',
    signIn: ({ nowMs }, connectionId, credentials, isTest) =>
      custodian.getSession(connectionId, credentials, nowMs, isTest),
    async openWallet({ tenant }, { walletId, network }) {
      const coin = coinOf(networkOf(network).nativeAsset);
      const { id, receiveAddress, publicKey } = await custodian.generateWallet(tenant, coin, walletId, network);
      return { id, address: receiveAddress, publicKey };
    },
    estimate: ({ intentId, wallet, asset, amount, units, toAddress }) =>
      custodian.buildTransaction(
        wallet.environment,
        sendRequest(intentId, wallet.providerWalletId, asset, amount, units.toString(), toAddress),
      ),
    async submit({ tenant, nowMs }, { intent, wallet }) {
      const { id, asset, amount, units, destination, attempts } = intent;
      const request = sendRequest(id, wallet.providerWalletId, asset, amount, units, destination.address);
      return custodian.sendCoins(tenant, wallet.environment, request, attempts, nowMs);
    },
    find: ({ tenant, nowMs }, { intent }) => custodian.getTransferBySequenceId(tenant, intent.id, nowMs),
  });
}

function sendRequest(
  sequenceId: string,
  walletId: string,
  symbol: string,
  decimalAmount: string,
  amount: string,
  address: string,
): BitgoSend {
  return { sequenceId, walletId, coin: coinOf(symbol), amount, decimalAmount, address };
}

function coinOf(symbol: string): string {
  const coin = coins[symbol];
  if (coin === undefined) throw new Error(`no BitGo coin for ${symbol}`);
  return coin;
}

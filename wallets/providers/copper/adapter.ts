/** Copper (simulated, see custodian.ts) behind the provider port: translates its terms into ours. */
import { networkIds } from '../../networks/networks.ts';
import type { ProviderAdapter, ProviderInfo } from '../port/port.ts';
import type { BookWords, CustodianBook } from '../simulated/custodian-book.ts';
import { type HostedBridge, hostedAdapter, hostedCapabilities, hostedEnvironments } from '../simulated/hosted.ts';
import type { Stage } from '../simulated/progress.ts';
import { type CopperStatus, copperTimeline, type SimulatedCopper, type WithdrawRequest } from './custodian.ts';

const info: ProviderInfo = {
  kind: 'copper',
  displayName: 'Copper (simulated)',
  hosting: 'hosted',
  environments: hostedEnvironments,
  capabilities: [...hostedCapabilities, 'provider_approvals'],
  credentialFields: [
    { name: 'api_key', required: true, secret: true, description: 'API key' },
    {
      name: 'api_secret',
      aliases: ['secret', 'private_key'],
      required: true,
      secret: true,
      description: 'secret that signs the requests',
    },
    {
      name: 'organization_id',
      aliases: ['workspace_id', 'workspace'],
      required: false,
      secret: false,
      description: 'organization that owns the portfolios',
    },
  ],
  networks: networkIds,
};

/** Our asset symbols, with Copper's currency names and the main currency of the chain. */
const currencies: Readonly<Record<string, readonly [base: string, main: string]>> = {
  ETH: ['ETH', 'ETH'],
  USDC: ['USDC', 'ETH'],
  BTC: ['BTC', 'BTC'],
  SOL: ['SOL', 'SOL'],
};

const stages: Readonly<Record<CopperStatus, Stage>> = {
  new: 'signing',
  queued: 'signing',
  reserved: 'signing',
  'waiting-approve': 'signing',
  approved: 'signing',
  'full-signed-tx-added': 'broadcasting',
  processing: 'confirming',
  executed: 'completed',
  error: 'failed',
};

const subStatuses: Partial<Record<CopperStatus, string>> = {
  queued: 'QUEUED_AT_PROVIDER',
  'waiting-approve': 'APPROVAL_AT_PROVIDER',
  processing: 'AWAITING_CONFIRMATIONS',
};

export const copperWords: BookWords = {
  timeline: copperTimeline,
  stageOf: (status) => stages[status as CopperStatus],
  assetIds: Object.fromEntries(Object.entries(currencies).map(([symbol, [base]]) => [symbol, base])),
};

const reasons: HostedBridge['reasons'] = {
  unauthorized: { field: 'credentials.api_key', issue: 'invalid_credentials' },
  'insufficient-balance': { field: 'amount', issue: 'insufficient_funds' },
};

export function copperAdapter(custodian: SimulatedCopper, book: CustodianBook): ProviderAdapter {
  return hostedAdapter({
    ...{ info, book, words: copperWords, subStatuses, reasons },
    failure: { code: 'blockchain-transaction-failed', message: 'the transaction failed on the chain' },
    refusedStatus: 'rejected',
    signIn: ({ nowMs }, connectionId, credentials, isTest) =>
      custodian.getAccount(connectionId, credentials, nowMs, isTest),
    async openWallet({ tenant }, { walletId, name, network }) {
      const { portfolioId, address, publicKey } = await custodian.createPortfolio(tenant, walletId, name, network);
      return { id: portfolioId, address, publicKey };
    },
    estimate: ({ intentId, wallet, asset, amount, toAddress }) =>
      custodian.estimateWithdrawal(
        wallet.environment,
        withdrawal(intentId, wallet.providerWalletId, asset, amount, toAddress),
      ),
    async submit({ tenant, nowMs }, { intent, wallet }) {
      const { id, asset, amount, destination, attempts } = intent;
      const request = withdrawal(id, wallet.providerWalletId, asset, amount, destination.address);
      return custodian.createOrder(tenant, wallet.environment, request, attempts, nowMs);
    },
    find: ({ tenant, nowMs }, { intent }) => custodian.getOrder(tenant, intent.id, nowMs),
  });
}

function withdrawal(
  externalOrderId: string,
  portfolioId: string,
  symbol: string,
  amount: string,
  toAddress: string,
): WithdrawRequest {
  const currency = currencies[symbol];
  if (currency === undefined) throw new Error(`no Copper currency for ${symbol}`);
  const [baseCurrency, mainCurrency] = currency;
  return { externalOrderId, portfolioId, baseCurrency, mainCurrency, amount, toAddress };
}

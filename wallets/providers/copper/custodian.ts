/**
 * A simulated system in the manner of Copper: portfolios, deposit targets, orders with their statuses, errors as a code in
 * kebab-case (https://developer.copper.co/enums/OrderStatus).
 */
import { toHex } from '../../../core/crypto/bytes.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { CustodianError, type CustodianTerms, hostedCapabilities } from '../simulated/hosted.ts';
import { simulatedHash } from '../simulated/simulated-keys.ts';

/** A deposit target and the portfolio created for it. */
interface StoredPortfolio {
  readonly name: string;
  readonly portfolioId: string;
  readonly address: string;
  readonly publicKey: string;
}

interface StoredOrder {
  readonly externalOrderId: string;
  readonly portfolioId: string;
  readonly baseCurrency: string;
  readonly mainCurrency: string;
  /** Decimal. */
  readonly amount: string;
  readonly toAddress: string;
  /** Missing in older orders, whose id counts the tenant's orders. */
  readonly orderId?: string;
  readonly environment: ClusterEnvironment;
  readonly createdAt: number;
}

/** Order ids are numbers, all different: a wallet that two tenants pay distinguishes their transfers by them. */
const orderIdBase = 7_000_000;
const orderIdBytes = 6;

export const copper: CustodianTerms<StoredPortfolio, StoredOrder> = {
  info: {
    kind: 'copper',
    displayName: 'Copper (simulated)',
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
  },
  calls: {
    ...{ signIn: 'getAccount', openWallet: 'createPortfolio', estimate: 'estimateWithdrawal' },
    ...{ submit: 'createOrder', find: 'getOrder' },
  },
  assetIds: { ETH: 'ETH', USDC: 'USDC', BTC: 'BTC', SOL: 'SOL' },
  statuses: [
    { status: 'new', fromMs: 0, stage: 'signing' },
    { status: 'queued', fromMs: 100, stage: 'signing', subStatus: 'QUEUED_AT_PROVIDER' },
    { status: 'reserved', fromMs: 350, stage: 'signing' },
    { status: 'waiting-approve', fromMs: 600, stage: 'signing', subStatus: 'APPROVAL_AT_PROVIDER' },
    { status: 'approved', fromMs: 1_100, stage: 'signing' },
    { status: 'full-signed-tx-added', fromMs: 1_400, stage: 'broadcasting' },
    { status: 'processing', fromMs: 1_700, stage: 'confirming', subStatus: 'AWAITING_CONFIRMATIONS' },
    { status: 'executed', fromMs: 5_000, stage: 'completed' },
  ],
  points: { queued: 'queued', confirming: 'processing', failed: 'error' },
  failure: { code: 'blockchain-transaction-failed', message: 'the transaction failed on the chain' },
  refusedStatus: 'rejected',
  errors: {
    unavailable: () => new CustodianError(503, 'service-unavailable', 'the platform is temporarily not available'),
    credentials: () => new CustodianError(401, 'unauthorized', 'the signature of the request is not valid'),
    quote: () => new CustodianError(403, 'rejected-permission', 'the permission engine denies the withdrawal'),
    funds: () => new CustodianError(400, 'insufficient-balance', 'the portfolio holds too little'),
    submission: () => new CustodianError(403, 'rejected-compliance', 'the order was rejected by the compliance checks'),
  },
  reasons: {
    unauthorized: { field: 'credentials.api_key', issue: 'invalid_credentials' },
    'insufficient-balance': { field: 'amount', issue: 'insufficient_funds' },
  },
  families: { wallet: 'portfolio', order: 'order' },
  walletRecord: (tenant, { walletId, name }, { address, publicKey }) => {
    const portfolioId = `pf${toHex(simulatedHash('copper/portfolio', tenant, walletId)).slice(0, 22)}`;
    return { name, portfolioId, address, publicKey };
  },
  walletOf: ({ portfolioId, address }) => ({ id: portfolioId, address }),
  orderRecord: ({ tenant, reference, wallet, assetId, coin, amount, toAddress, environment, takenAtMs }) => {
    const hash = simulatedHash('copper/order', tenant, reference).subarray(0, orderIdBytes);
    return {
      ...{ externalOrderId: reference, portfolioId: wallet, baseCurrency: assetId, mainCurrency: coin },
      ...{ amount, toAddress, orderId: String(orderIdBase + Number.parseInt(toHex(hash), 16)) },
      ...{ environment, createdAt: takenAtMs },
    };
  },
  takenOf: (
    { orderId, portfolioId, externalOrderId, baseCurrency, amount, toAddress, environment, createdAt },
    number,
  ) => ({
    ...{ id: orderId ?? String(orderIdBase + number), wallet: portfolioId, reference: externalOrderId },
    ...{ assetId: baseCurrency, amount, toAddress, environment, takenAtMs: createdAt },
  }),
};

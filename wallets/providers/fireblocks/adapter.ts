/** Fireblocks (simulated, see custodian.ts) behind the provider port: translates its terms into ours. */
import { networkIds, networkOf } from '../../networks/networks.ts';
import type { ProviderAdapter, ProviderInfo, Transfer, TransferDraft } from '../port/port.ts';
import type { BookWords, CustodianBook } from '../simulated/custodian-book.ts';
import { type HostedBridge, hostedAdapter, hostedCapabilities, hostedEnvironments } from '../simulated/hosted.ts';
import type { Stage } from '../simulated/progress.ts';
import {
  type FireblocksStatus,
  fireblocksTimeline,
  type SimulatedFireblocks,
  type TransactionRequest,
} from './custodian.ts';

const info: ProviderInfo = {
  kind: 'fireblocks',
  displayName: 'Fireblocks (simulated)',
  hosting: 'hosted',
  environments: hostedEnvironments,
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
  networks: networkIds,
};

/** Our asset symbols, with Fireblocks' names for assets of test networks. */
const assetIds: Readonly<Record<string, string>> = {
  ETH: 'ETH_TEST5',
  USDC: 'USDC_ETH_TEST5_0GER',
  BTC: 'BTC_TEST',
  SOL: 'SOL_TEST',
};

const stages: Readonly<Record<FireblocksStatus, Stage>> = {
  SUBMITTED: 'signing',
  PENDING_AML_SCREENING: 'signing',
  QUEUED: 'signing',
  PENDING_SIGNATURE: 'signing',
  BROADCASTING: 'broadcasting',
  CONFIRMING: 'confirming',
  COMPLETED: 'completed',
  FAILED: 'failed',
};

const subStatuses: Partial<Record<FireblocksStatus, string>> = {
  PENDING_AML_SCREENING: 'SCREENING_AT_PROVIDER',
  QUEUED: 'QUEUED_AT_PROVIDER',
  CONFIRMING: 'AWAITING_CONFIRMATIONS',
};

export const fireblocksWords: BookWords = {
  timeline: fireblocksTimeline,
  stageOf: (status) => stages[status as keyof typeof stages],
  assetIds,
};

const reasons: HostedBridge['reasons'] = {
  '-7': { field: 'credentials.api_key', issue: 'invalid_credentials' },
  INSUFFICIENT_FUNDS: { field: 'amount', issue: 'insufficient_funds' },
};

export function fireblocksAdapter(custodian: SimulatedFireblocks, book: CustodianBook): ProviderAdapter {
  return hostedAdapter({
    ...{ info, book, words: fireblocksWords, subStatuses, reasons },
    failure: { code: 'SMART_CONTRACT_EXECUTION_FAILED', message: 'the transaction was mined and failed' },
    refusedStatus: 'REJECTED',
    signIn: ({ nowMs }, connectionId, credentials, isTest) =>
      custodian.signIn(connectionId, credentials, nowMs, isTest),
    openWallet: ({ tenant }, { walletId, name, network }) => {
      const assetId = assetIdOf(networkOf(network).nativeAsset);
      return custodian.createVaultAccount(tenant, { customerRefId: walletId, name, assetId, network });
    },
    estimate: (draft) => custodian.estimateFee(draft.wallet.environment, requestOf(draft)),
    async submit({ tenant, nowMs }, transfer) {
      const { wallet, intent } = transfer;
      const request = requestOf(draftOf(transfer));
      return custodian.createTransaction(tenant, wallet.environment, request, intent.attempts, nowMs);
    },
    find: ({ tenant, nowMs }, { intent }) => custodian.getTransaction(tenant, intent.id, nowMs),
  });
}

function requestOf(
  draft: Pick<TransferDraft, 'intentId' | 'wallet' | 'asset' | 'amount' | 'toAddress'>,
): TransactionRequest {
  return {
    externalTxId: draft.intentId,
    assetId: assetIdOf(draft.asset),
    amount: draft.amount,
    vaultAccountId: draft.wallet.providerWalletId,
    oneTimeAddress: draft.toAddress,
  };
}

function draftOf({ intent, wallet }: Transfer) {
  const { id, asset, amount, destination } = intent;
  return { intentId: id, wallet, asset, amount, toAddress: destination.address };
}

function assetIdOf(symbol: string): string {
  const assetId = assetIds[symbol];
  if (assetId === undefined) throw new Error(`no Fireblocks asset id for ${symbol}`);
  return assetId;
}

/** Fireblocks (simulated, see custodian.ts) behind the provider port: translates its terms into ours. */
import { networkIds, networkOf } from '../../networks/networks.ts';
import {
  type ProviderAdapter,
  type ProviderInfo,
  ProviderRejected,
  ProviderUnavailable,
  type Transfer,
  type TransferDraft,
} from '../port/port.ts';
import type { BookWords, CustodianBook } from '../simulated/custodian-book.ts';
import { hostedAdapter, hostedCapabilities, hostedEnvironments } from '../simulated/hosted.ts';
import type { OrderStanding, Stage } from '../simulated/progress.ts';
import {
  FireblocksError,
  type FireblocksStatus,
  type FireblocksTransaction,
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

export function fireblocksAdapter(custodian: SimulatedFireblocks, book: CustodianBook): ProviderAdapter {
  return hostedAdapter({
    info,
    book,
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
      return orderOf(await custodian.createTransaction(tenant, wallet.environment, request, intent.attempts, nowMs));
    },
    async find({ tenant, nowMs }, { intent }) {
      const found = await custodian.getTransaction(tenant, intent.id, nowMs);
      return found === undefined ? undefined : orderOf(found);
    },
    translate,
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

function orderOf({ id, standing, subStatus }: FireblocksTransaction): OrderStanding {
  return {
    providerTxId: id,
    standing,
    subStatus: subStatuses[standing.status] ?? null,
    stage: stages[standing.status],
    memory: { order: id },
    error: { code: subStatus ?? standing.status, message: 'the transaction was mined and failed' },
  };
}

/** The faulty field of our request, and our reason, by Fireblocks' code. */
const reasons: Readonly<Record<string, { readonly field: string; readonly issue: string }>> = {
  '-7': { field: 'credentials.api_key', issue: 'invalid_credentials' },
  INSUFFICIENT_FUNDS: { field: 'amount', issue: 'insufficient_funds' },
  BLOCKED_BY_POLICY: { field: '', issue: 'rejected_by_provider' },
  REJECTED_AML_SCREENING: { field: '', issue: 'rejected_by_provider' },
};

function translate(error: unknown): unknown {
  if (!(error instanceof FireblocksError)) return error;
  if (error.status >= 500) return new ProviderUnavailable(error.message);
  const { field, issue } = reasons[error.code] ?? { field: '', issue: 'rejected_by_provider' };
  return new ProviderRejected(error.message, { field, issue, providerCode: error.code });
}

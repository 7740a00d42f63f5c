/**
 * The sandbox provider: a simulated custodian that accepts every transfer at once and completes it within a second. The state
 * of a transfer follows from its time of acceptance, which the intent stores; its book has a row of it. Its wallets come with
 * test money; their keys are simulated.
 */
import { base58 } from '@scure/base';
import { concatBytes, toHex } from '../../../core/crypto/bytes.ts';
import { assets } from '../../networks/assets.ts';
import { networkIds, networkOf } from '../../networks/networks.ts';
import {
  type ProviderAdapter,
  type ProviderInfo,
  ProviderRejected,
  ProviderUnavailable,
  type Transfer,
} from '../port/port.ts';
import { refuseAttempt, refuseConnecting, refuseQuote, withholdAnswer } from '../port/test-refusals.ts';
import { testCredential, testOutcome } from '../port/test-triggers.ts';
import type { BookWords, CustodianBook } from '../simulated/custodian-book.ts';
import { networkFee, openingBalances } from '../simulated/economy.ts';
import { progressOf, refusedTransfer, type Stage } from '../simulated/progress.ts';
import { simulatedHash, simulatedWallet } from '../simulated/simulated-keys.ts';
import { type StatusTimeline, standing, type TurningPoints, timelineFor } from '../simulated/timeline.ts';

const info: ProviderInfo = {
  kind: 'sandbox',
  displayName: 'Sandbox',
  hosting: 'sandbox',
  environments: ['sandbox'],
  capabilities: ['wallets:create', 'transfers', 'test_wallets'],
  credentialFields: [
    {
      name: 'api_key',
      required: false,
      secret: true,
      description: 'anything; some texts are test triggers',
    },
  ],
  takesAnyCredentials: true,
  networks: networkIds,
};

type SandboxStatus = 'ACCEPTED' | 'MINED' | 'DONE' | 'REVERTED';

const usual: StatusTimeline<SandboxStatus> = [
  { status: 'ACCEPTED', fromMs: 0 },
  { status: 'MINED', fromMs: 400 },
  { status: 'DONE', fromMs: 1_000 },
];

const stages: Readonly<Record<SandboxStatus, Stage>> = {
  ACCEPTED: 'signing',
  MINED: 'confirming',
  DONE: 'completed',
  REVERTED: 'failed',
};

const points: TurningPoints<SandboxStatus> = { queued: 'ACCEPTED', confirming: 'MINED', failed: 'REVERTED' };

export const sandboxWords: BookWords = {
  timeline: (outcome) => timelineFor(usual, points, outcome),
  stageOf: (status) => stages[status as SandboxStatus],
  assetIds: Object.fromEntries(assets.map(({ symbol }) => [symbol, symbol])),
};

const errors = {
  unavailable: () => new ProviderUnavailable('the sandbox was asked not to answer'),
  credentials: () =>
    new ProviderRejected('the API key is not valid', {
      field: 'credentials.api_key',
      issue: 'invalid_credentials',
      providerCode: 'SANDBOX_KEY_INVALID',
    }),
  quote: () =>
    new ProviderRejected('the transfer was refused by the sandbox’s own rules', {
      issue: 'rejected_by_provider',
      providerCode: 'SANDBOX_TRANSFER_REFUSED',
    }),
  funds: () =>
    new ProviderRejected('the wallet holds too little', {
      field: 'amount',
      issue: 'insufficient_funds',
      providerCode: 'SANDBOX_INSUFFICIENT_FUNDS',
    }),
};

export function sandboxAdapter(book: CustodianBook): ProviderAdapter {
  return {
    info,

    async connect({ nowMs }, connectionId, credentials, _environment, isTest) {
      refuseConnecting(errors, testCredential(credentials, connectionId, nowMs, isTest));
      return {
        testWallets: networkIds.map((network) => ({ name: `Sandbox ${networkOf(network).nativeAsset}`, network })),
      };
    },

    async createWallet({ tenant }, connection, { walletId, network }) {
      const { publicKey, address } = simulatedWallet('sandbox', walletId, network);
      const providerWalletId = `sbx_${toHex(simulatedHash('wallet', walletId)).slice(0, 24)}`;
      const balances = openingBalances(network, connection.environment);
      await book.open(tenant, providerWalletId, balances);
      return { providerWalletId, addresses: [{ network, address }], publicKey, balances };
    },

    async quote(_meta, { wallet, asset, amount }) {
      refuseQuote(errors, testOutcome(wallet.environment, amount));
      return { fee: networkFee(asset) };
    },

    sequenceCounter: () => undefined,

    async advance({ tenant, nowMs }, transfer) {
      const { intent, wallet } = transfer;
      const outcome = testOutcome(wallet.environment, intent.amount);
      let takenAtMs = takenAt(intent.submission);
      if (takenAtMs === undefined) {
        refuseAttempt(errors, outcome, intent.attempts);
        if (outcome === 'submit_rejected') {
          const { providerCode, message } = errors.quote();
          return refusedTransfer(transfer, 'REFUSED', { code: providerCode, message });
        }
        takenAtMs = nowMs;
        await book.take(tenant, {
          ...{ id: transactionHash(transfer), wallet: wallet.providerWalletId, reference: intent.id, takenAtMs },
          ...{ assetId: intent.asset, amount: intent.amount, toAddress: intent.destination.address },
          environment: wallet.environment,
        });
        withholdAnswer(errors, outcome);
      }
      const now = standing(timelineFor(usual, points, outcome), takenAtMs, nowMs);
      return progressOf(
        transfer,
        {
          providerTxId: transactionHash(transfer),
          standing: now,
          subStatus: outcome === 'slow_queue' && now.status === 'ACCEPTED' ? 'QUEUED_AT_PROVIDER' : null,
          stage: stages[now.status],
          error: { code: 'SANDBOX_REVERTED', message: 'the transaction was mined and reverted' },
          memory: { takenAtMs },
        },
        nowMs,
      );
    },
  };
}

function takenAt(submission: unknown): number | undefined {
  const value = (submission as { readonly takenAtMs?: unknown } | null)?.takenAtMs;
  return typeof value === 'number' ? value : undefined;
}

/** In the form of the network's explorers; no such transaction exists. */
function transactionHash({ intent }: Transfer): string {
  const hash = simulatedHash('transaction', intent.id);
  switch (networkOf(intent.network).family) {
    case 'evm':
      return `0x${toHex(hash)}`;
    case 'bitcoin':
      return toHex(hash);
    case 'solana':
      return base58.encode(concatBytes(hash, simulatedHash('transaction, second half', intent.id)));
  }
}
